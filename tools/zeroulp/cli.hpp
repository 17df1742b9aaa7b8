// Defines the commands of the program and their options, as CLI11 has them and
// by its names. CLI11 is code in headers, seconds of compile time for each file
// that includes them: here only cli.cpp and what walks the tree of commands do.

#ifndef ZEROULP_TOOLS_ZEROULP_CLI_HPP_
#define ZEROULP_TOOLS_ZEROULP_CLI_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace zeroulp::cli {

/// What holds for a value.
class validator {
 public:
  explicit validator(std::shared_ptr<const CLI::Validator> is);
  /// `complaint` says what is wrong with a value, or nothing.
  validator(std::function<std::string(std::string&)> complaint,
            const std::string& name);

  const CLI::Validator& of_library() const { return *is_; }

 private:
  std::shared_ptr<const CLI::Validator> is_;
};

/// From `low` to `high`, of an integer or double.
template <class T>
validator range(T low, T high);
validator is_member(const std::vector<std::string>& values);

class option {
 public:
  explicit option(CLI::Option& is) : is_(is) {}
  option(const option&) = delete;
  option& operator=(const option&) = delete;

  option* required();
  option* capture_default_str();
  option* check(const validator& v);
  option* needs(option* other);
  option* needs(const std::string& name);
  option* excludes(option* other);
  option* excludes(const std::string& name);
  option* type_name(const std::string& name);
  option* expected(int count);
  option* take_all();
  option* allow_extra_args(bool allowed);
  std::string get_name() const;
  bool is(const CLI::Option* o) const { return o == &is_; }

 private:
  CLI::Option& is_;
};

class app {
 public:
  explicit app(const std::string& what);
  ~app();
  app(const app&) = delete;
  app& operator=(const app&) = delete;

  app* add_subcommand(const std::string& name, const std::string& what);
  /// Of the types that cli.cpp lists.
  template <class T>
  option* add_option(const std::string& names, T& value,
                     const std::string& what = "");
  option* add_flag(const std::string& names, bool& value,
                   const std::string& what = "");
  option* add_flag_callback(const std::string& names,
                            std::function<void()> callback,
                            const std::string& what);
  app* callback(std::function<void()> callback);
  app* footer(const std::string& text);
  app* require_subcommand(int least);
  app* allow_extras();

  option* get_option(const std::string& name);
  std::vector<option*> get_options();
  /// How often an option was given.
  std::size_t count(const std::string& name) const;
  std::vector<std::string> subcommand_names() const;
  /// Whether a subcommand was given.
  bool has_subcommand() const;

  CLI::App& of_library() { return *is_; }
  const CLI::App& of_library() const { return *is_; }

 private:
  explicit app(CLI::App& is);
  /// The one wrapper of an option.
  option* wrap(CLI::Option* is);

  std::unique_ptr<CLI::App> owned_;  ///< of the program
  CLI::App* is_;
  std::vector<std::unique_ptr<app>> subcommands_;
  std::vector<std::unique_ptr<option>> options_;
};

/// Ends the run, which held, from a callback.
[[noreturn]] void end_well();

}  // namespace zeroulp::cli

#endif  // ZEROULP_TOOLS_ZEROULP_CLI_HPP_
