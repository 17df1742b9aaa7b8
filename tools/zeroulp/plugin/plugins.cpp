#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/plugin/plugins.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "src/base/sha256.hpp"
#include "src/io/program_folder.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/plugin/worker.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

using conformance::plugin::command_line;
using conformance::plugin::plugin_code;

constexpr std::string_view python = "python:";

/// PYTHONPATH, with the folder of zeroulp_plugin.py behind the user's own: what
/// was installed with this program, or where it was built.
std::string python_path() {
  namespace fs = std::filesystem;
  const char* const given = std::getenv("PYTHONPATH");
  std::string all = given != nullptr ? given : "";
  std::error_code none;
  for (const char* folder :
       {ZEROULP_PYTHON_INSTALLED, ZEROULP_PYTHON_SOURCES}) {
    const auto here = program_folder() / folder;
    if (!fs::exists(here / "zeroulp_plugin.py", none)) continue;
    if (!all.empty()) all += ':';
    return all + here.lexically_normal().string();
  }
  return all;
}

command_line command_of(std::string_view name) {
  const bool is_python = name.starts_with(python);
  const std::string file(is_python ? name.substr(python.size()) : name);
  if (file.empty()) {
    throw input_error("'python:' names no file: use python:FILE.py");
  }
  if (!std::filesystem::is_regular_file(file)) {
    throw input_error(fmt::format(
        "{}: no such file: a plug-in is LIB.so or python:FILE.py", file));
  }
  if (!is_python) {
    return {{"/proc/self/exe", plugin_worker_command, file}, {}, ""};
  }
  const char* const chosen = std::getenv("ZEROULP_PYTHON");
  return {{chosen != nullptr ? chosen : "python3", file},
          {"PYTHONPATH=" + python_path()},
          ": a plug-in in Python ends with zeroulp_plugin.serve(\"NAME\")"};
}

}  // namespace

bool is_plugin(std::string_view name) {
  return name.ends_with(".so") || name.starts_with(python);
}

std::string plugin_digest(std::string_view name) {
  const auto start = name.starts_with(python) ? python.size() : 0;
  const auto bytes = read_file(name.substr(start));
  return sha256_hex(as_text(bytes)).substr(0, 16);
}

void plugin_user::add_options(cli::app* command) {
  const auto seconds = cli::range(0.01, 86400.0);
  command
      ->add_option("--limit", how_.limit,
                   "seconds that a call of a plug-in may take")
      ->check(seconds)
      ->capture_default_str();
  command
      ->add_option("--load-limit", how_.load_limit,
                   "seconds that loading a plug-in may take")
      ->check(seconds)
      ->capture_default_str();
  command->add_flag("--trust", how_.trusted,
                    "do not seal the plug-in: it may do what you may");
}

std::shared_ptr<plugin_code> plugin_user::find(std::string_view name) {
  if (code_ == nullptr) {
    code_ = std::make_shared<plugin_code>(command_of(name), how_);
    name_ = name;
  } else if (name != name_) {
    throw input_error("one plug-in at a time");
  }
  return code_;
}

fuzz::opponent plugin_user::opponent(std::string_view name, fuzz::target t) {
  const auto code = find(name);
  if (!code->claims_any(t)) {
    throw input_error(
        fmt::format("{} claims nothing of {}; other claims: conform --plugin",
                    name, fuzz::info_of(t).name));
  }
  return {std::string(name),
          conformance::plugin::implementation_of(code),
          "",
          {},
          true};
}

fuzz::pins plugin_user::limits(fuzz::target t) const {
  return [code = code_, t](fuzz::settings& s) { code->keep_to_claims(t, s); };
}

std::string plugin_user::seal() const {
  if (how_.trusted) return "none: --trust";
  const auto& lacks = code_->seal_lacks();
  return lacks.empty() ? "whole" : "all but " + lacks;
}

std::string plugin_user::seal_note() const {
  const bool is_whole = how_.trusted || code_->seal_lacks().empty();
  return is_whole ? "" : fmt::format("seal: {}\n", seal());
}

std::string plugin_user::leftovers() {
  const int count = code_ == nullptr ? 0 : code_->finish();
  if (count == 0) return "";
  return fmt::format("{} left {} process{} running, which were ended",
                     code_->name(), count, count == 1 ? "" : "es");
}

std::string plugin_user::summary(std::uint64_t answered,
                                 std::uint64_t refused) const {
  if (code_ == nullptr) return "";
  if (answered + refused == 0) {
    throw input_error(fmt::format(
        "{} answered nothing: none of these cases is one that it claims",
        name_));
  }
  return fmt::format("{} answered {} requests{}\n{}", code_->name(), answered,
                     refused > 0 ? fmt::format(" and refused {}", refused) : "",
                     seal_note());
}

}  // namespace zeroulp::program
#endif
