#include "tools/zeroulp/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <utility>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/terminal.hpp"

namespace zeroulp::program {

cli::app* add_command(cli::app& app, const std::string& name,
                      const std::string& what, const std::string& example) {
  auto* command = app.add_subcommand(name, what);
  command->footer("Example:\n  " + example);
  return command;
}

void add_reference(cli::app* command) {
  command->add_flag_callback(
      "--reference", [] { engine::use_simd(engine::simd::reference); },
      "compute with the definition itself: the same bits, slower");
}

void add_seed(cli::app* command, std::uint64_t& seed, const std::string& what) {
  const auto natural = [](const std::string& text) {
    const bool digits =
        !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    return digits ? "" : "'" + plain(text) + "' is no whole number from 0";
  };
  command->add_option("--seed", seed, what)
      ->check({natural, ""})
      ->capture_default_str();
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw input_error("standard output: cannot be written");
  }
}

void print(const table& t) { print(zeroulp::to_text(t, terminal_width())); }

void print_error(std::string_view text) noexcept {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string to_text(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void print_json(const json& value) { print(to_text(value)); }

json json_number(double value) {
  return std::isfinite(value) ? json(value) : json(fmt::format("{}", value));
}

void require_memory(double bytes) {
  const double present = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes < present) return;
  constexpr double gib = 1 << 30;
  throw input_error(fmt::format(
      "this needs {:.0f} GiB of memory, the machine has {:.0f}: use "
      "smaller matrices",
      bytes / gib, present / gib));
}

namespace {

/// Undoes `protect` in everything that CLI11 hands out.
void unprotect(CLI::App& app) {
  for (auto* option : app.get_options()) option->transform(plain, "", "");
  for (auto* sub : app.get_subcommands({})) unprotect(*sub);
}

/// The arguments as CLI11 is to see them. It takes an empty value for the
/// default, and what follows `--` for too many values of a list that has begun:
/// here no word behind `--` is an option's.
std::vector<std::string> protected_words(
    const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  const auto values = std::find(arguments.begin(), arguments.end(), "--");
  for (auto a = arguments.begin(); a != values; ++a) {
    if (a->empty() && !words.empty() && words.back().starts_with("--")) {
      throw input_error(
          fmt::format("{} '': give a value, or leave it out", words.back()));
    }
    words.push_back(protect(*a));
  }
  for (auto a = values; a != arguments.end(); ++a) {
    if (a != values) words.push_back(protect_value(*a));
  }
  return words;
}

/// What the arguments lack, or what they have too many of.
std::string explain(const CLI::App& app, const CLI::ParseError& e) {
  std::string command = "zeroulp";
  const auto* at = &app;
  for (; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  // What was not understood comes first: it may be why something is missing.
  const auto unknown = app.remaining(true);
  if (unknown.empty())
    return fmt::format("{}: see {} --help", plain(e.what()), command);
  std::vector<std::string> words;
  for (const auto* c : at->get_subcommands({})) words.push_back(c->get_name());
  for (const auto* o : at->get_options()) words.push_back(o->get_name());
  const auto& text = unknown.front();
  return fmt::format("unknown argument {}: {}see {} --help", plain(text),
                     did_you_mean(text.substr(0, text.find('=')),
                                  {words.begin(), words.end()}),
                     command);
}

}  // namespace

int run(const std::vector<std::string>& arguments,
        const std::function<void(CLI::App&)>& adapt) {
  cli::app app(
      "zeroulp: the bit-exact reference for FP8 training kernels\n"
      "Exit status: 0 held, 1 a mismatch was found or what held says too "
      "little (VACUOUS), 2 bad request or input");
  CLI::App& library = app.of_library();
  library.name("zeroulp");
  library.set_version_flag("--version", ZEROULP_VERSION);
  app.require_subcommand(1);
  outcome out;
  add_measure(app, out);
  add_study(app, out);
  add_train(app, out);
  add_parity(app, out);
  add_tensors(app, out);
  add_operator(app, out);
  add_conform(app, out);
  add_catalog(app, out);
  add_convert(app, out);
  add_step(app, out);
  add_tensor(app, out);
  add_hadamard(app, out);
  add_import(app, out);
  add_gemm(app, out);
  add_compare(app, out);
  add_vectors(app, out);
  add_fuzz(app, out);
  add_identify(app, out);
  add_probe(app, out);
  add_checkpoint(app, out);
  add_bench(app, out);
  add_doctor(app, out);
  add_manuals(app);
  unprotect(library);
  if (adapt) adapt(library);

  std::vector<std::string> words =
      protected_words(with_current_names(arguments));
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    library.parse(std::move(words));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw input_error(explain(library, e));
    library.exit(e);  // --help, --version
    std::cout.flush();
  }
  if (!std::cout || std::fflush(stdout) != 0) {
    throw input_error("standard output: cannot be written");
  }
  return out.status;
}

}  // namespace zeroulp::program
