#ifdef ZEROULP_HAVE_CONFORMANCE
#include "plugins.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugin_worker.hpp"
#include "sha256.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

using conformance::plugin::plugin_code;

constexpr std::string_view python = "python:";

double limit = 10;  // seconds; --limit
std::string loaded_name;
std::shared_ptr<plugin_code> loaded;

conformance::plugin::command_line command_of(std::string_view name) {
  const bool is_python = name.starts_with(python);
  const std::string file(is_python ? name.substr(python.size()) : name);
  if (!std::filesystem::is_regular_file(file)) {
    throw input_error(fmt::format(
        "{}: no such file: a plug-in is LIB.so or python:FILE.py", file));
  }
  if (!is_python) return {"/proc/self/exe", plugin_worker_command, file};
  const char* const chosen = std::getenv("ZEROULP_PYTHON");
  return {chosen != nullptr ? chosen : "python3", file};
}

}  // namespace

bool is_plugin(std::string_view name) {
  return name.ends_with(".so") || name.starts_with(python);
}

std::string plugin_digest(std::string_view name) {
  const auto start = name.starts_with(python) ? python.size() : 0;
  std::ifstream in(std::string(name.substr(start)), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return sha256_hex(bytes).substr(0, 16);
}

void add_plugin_limit(CLI::App* command) {
  command
      ->add_option("--limit", limit,
                   "seconds that a call of a plug-in may take")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
}

std::shared_ptr<plugin_code> find_plugin(std::string_view name) {
  if (loaded == nullptr) {
    loaded = std::make_shared<plugin_code>(command_of(name), limit);
    loaded_name = name;
  } else if (name != loaded_name) {
    throw input_error("one plug-in at a time");
  }
  return loaded;
}

fuzz::opponent plugin_opponent(std::string_view name, fuzz::target t) {
  const auto code = find_plugin(name);
  if (!code->claims_any(t)) {
    throw input_error(
        fmt::format("{} claims nothing of {}; other claims: conform --plugin",
                    name, fuzz::info_of(t).name));
  }
  return {
      std::string(name), conformance::plugin::implementation_of(code), "", {}};
}

fuzz::pins limits_of_plugin(fuzz::target t) {
  return [code = loaded, t](fuzz::settings& s) { code->keep_to_claims(t, s); };
}

std::string plugin_summary(bool must_answer) {
  if (loaded == nullptr) return "";
  if (loaded->calls() == 0 && must_answer) {
    throw input_error(
        loaded->refusals() > 0
            ? fmt::format("{} answered nothing and refused {} requests",
                          loaded_name, loaded->refusals())
            : fmt::format("{} answered nothing: none of these cases is one "
                          "that it claims",
                          loaded_name));
  }
  return fmt::format("{} answered {} requests{}\n", loaded->name(),
                     loaded->calls(),
                     loaded->refusals() > 0
                         ? fmt::format(" and refused {}", loaded->refusals())
                         : "");
}

}  // namespace zeroulp::program
#endif
