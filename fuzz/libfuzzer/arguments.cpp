// Fuzzes the program's command line: arguments, with a NUL after each. All
// options of all subcommands are parsed. Only those subcommands run that
// neither read nor write files, and whose work is bounded by the arguments'
// length.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/libfuzzer/contract.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::fuzz {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const auto end = std::min(text.find('\0'), text.size());
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return arguments;
}

constexpr std::string_view harmless[] = {
    "formats", "conventions", "recipes", "paths", "encode", "decode", "step"};

/// If another subcommand is among the arguments, the program ends when all of
/// them are parsed, before any subcommand runs.
void disarm(CLI::App& app) {
  const auto end = [] { throw CLI::Success(); };
  for (auto* command : app.get_subcommands({})) {
    if (std::find(std::begin(harmless), std::end(harmless),
                  command->get_name()) == std::end(harmless)) {
      command->preparse_callback(
          [&app, end](std::size_t) { app.parse_complete_callback(end); });
    }
  }
}

void check(const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments) {
    demand(
        program::plain(program::protect(argument)) == program::plain(argument),
        "a protected argument is restored");
  }
  int status = 0;
  accepts([&] { status = program::run(arguments, disarm); });
  demand(status == 0, "a harmless subcommand finds no mismatch");
}

}  // namespace
}  // namespace zeroulp::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  zeroulp::fuzz::demand(std::freopen("/dev/null", "w", stdout) != nullptr,
                        "what the program prints is thrown away");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  zeroulp::fuzz::check(
      zeroulp::fuzz::split({reinterpret_cast<const char*>(data), size}));
  return 0;
}
