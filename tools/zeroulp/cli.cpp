#include "tools/zeroulp/cli.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

namespace zeroulp::cli {

validator::validator(std::shared_ptr<const CLI::Validator> is)
    : is_(std::move(is)) {}

validator::validator(std::function<std::string(std::string&)> complaint,
                     const std::string& name)
    : is_(std::make_shared<CLI::Validator>(std::move(complaint), name)) {}

template <class T>
validator range(T low, T high) {
  return validator(std::make_shared<CLI::Range>(low, high));
}
template validator range(int, int);
template validator range(std::int64_t, std::int64_t);
template validator range(std::uint64_t, std::uint64_t);
template validator range(double, double);

validator is_member(const std::vector<std::string>& values) {
  return validator(std::make_shared<CLI::IsMember>(values));
}

option* option::required() {
  is_.required();
  return this;
}

option* option::capture_default_str() {
  is_.capture_default_str();
  return this;
}

option* option::check(const validator& v) {
  is_.check(v.of_library());
  return this;
}

option* option::needs(option* other) {
  is_.needs(&other->is_);
  return this;
}

option* option::needs(const std::string& name) {
  is_.needs(name);
  return this;
}

option* option::excludes(option* other) {
  is_.excludes(&other->is_);
  return this;
}

option* option::excludes(const std::string& name) {
  is_.excludes(name);
  return this;
}

option* option::type_name(const std::string& name) {
  is_.type_name(name);
  return this;
}

option* option::expected(int count) {
  is_.expected(count);
  return this;
}

option* option::take_all() {
  is_.take_all();
  return this;
}

option* option::allow_extra_args(bool allowed) {
  is_.allow_extra_args(allowed);
  return this;
}

std::string option::get_name() const { return is_.get_name(); }

app::app(const std::string& what)
    : owned_(std::make_unique<CLI::App>(what)), is_(owned_.get()) {}

app::app(CLI::App& is) : is_(&is) {}

app::~app() = default;

app* app::add_subcommand(const std::string& name, const std::string& what) {
  auto* const made = is_->add_subcommand(name, what);
  subcommands_.push_back(std::unique_ptr<app>(new app(*made)));
  return subcommands_.back().get();
}

template <class T>
option* app::add_option(const std::string& names, T& value,
                        const std::string& what) {
  return wrap(is_->add_option(names, value, what));
}

#define ZEROULP_ADDS(...)                                            \
  template option* app::add_option(const std::string&, __VA_ARGS__&, \
                                   const std::string&)
ZEROULP_ADDS(int);
ZEROULP_ADDS(std::int64_t);
ZEROULP_ADDS(std::uint64_t);
ZEROULP_ADDS(double);
ZEROULP_ADDS(std::string);
ZEROULP_ADDS(std::optional<int>);
ZEROULP_ADDS(std::optional<std::uint32_t>);
ZEROULP_ADDS(std::optional<std::int64_t>);
ZEROULP_ADDS(std::optional<std::uint64_t>);
ZEROULP_ADDS(std::optional<double>);
ZEROULP_ADDS(std::optional<std::string>);
ZEROULP_ADDS(std::vector<std::int64_t>);
ZEROULP_ADDS(std::vector<std::string>);
#undef ZEROULP_ADDS

option* app::add_flag(const std::string& names, bool& value,
                      const std::string& what) {
  return wrap(is_->add_flag(names, value, what));
}

option* app::add_flag_callback(const std::string& names,
                               std::function<void()> callback,
                               const std::string& what) {
  return wrap(is_->add_flag_callback(names, std::move(callback), what));
}

app* app::callback(std::function<void()> callback) {
  is_->callback(std::move(callback));
  return this;
}

app* app::footer(const std::string& text) {
  is_->footer(text);
  return this;
}

app* app::require_subcommand(int least) {
  is_->require_subcommand(least);
  return this;
}

app* app::allow_extras() {
  is_->allow_extras();
  return this;
}

option* app::get_option(const std::string& name) {
  return wrap(is_->get_option(name));
}

std::vector<option*> app::get_options() {
  std::vector<option*> all;
  for (auto* is : is_->get_options()) all.push_back(wrap(is));
  return all;
}

std::size_t app::count(const std::string& name) const {
  return is_->count(name);
}

std::vector<std::string> app::subcommand_names() const {
  std::vector<std::string> names;
  for (const auto& sub : subcommands_) names.push_back(sub->is_->get_name());
  return names;
}

bool app::has_subcommand() const { return !is_->get_subcommands().empty(); }

option* app::wrap(CLI::Option* is) {
  const auto known = std::find_if(options_.begin(), options_.end(),
                                  [&](const auto& o) { return o->is(is); });
  if (known != options_.end()) return known->get();
  options_.push_back(std::make_unique<option>(*is));
  return options_.back().get();
}

void end_well() { throw CLI::Success(); }

}  // namespace zeroulp::cli
