// Defines what the subcommands of the program share: registration, exit status,
// numbers as text, JSON output.
//
// A subcommand is a function that adds itself to the app (cli.hpp); its
// callback does the work, prints the result and sets the exit status: 0 held, 1
// a mismatch was found. What is wrong with the request throws input_error: 2.

#ifndef ZEROULP_TOOLS_ZEROULP_PROGRAM_HPP_
#define ZEROULP_TOOLS_ZEROULP_PROGRAM_HPP_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/study/report/report.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/metrics.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/simd.hpp"

namespace CLI {
class App;
}

namespace zeroulp::cli {
class app;
class option;
}  // namespace zeroulp::cli

namespace zeroulp::program {

using json = nlohmann::ordered_json;

/// What the callbacks leave behind.
struct outcome {
  int status = 0;
};

void add_catalog(cli::app& app, outcome& out);
void add_convert(cli::app& app, outcome& out);
void add_step(cli::app& app, outcome& out);
void add_tensor(cli::app& app, outcome& out);
void add_hadamard(cli::app& app, outcome& out);
void add_import(cli::app& app, outcome& out);
void add_gemm(cli::app& app, outcome& out);
void add_compare(cli::app& app, outcome& out);
void add_measure(cli::app& app, outcome& out);
void add_study(cli::app& app, outcome& out);
void add_train(cli::app& app, outcome& out);
void add_parity(cli::app& app, outcome& out);
void add_tensors(cli::app& app, outcome& out);
void add_operator(cli::app& app, outcome& out);
void add_vectors(cli::app& app, outcome& out);
void add_conform(cli::app& app, outcome& out);
void add_fuzz(cli::app& app, outcome& out);
void add_fuzz_mutants(cli::app& fuzz, outcome& out);
void add_fuzz_conventions(cli::app& fuzz, outcome& out);
void add_fuzz_merge(cli::app& fuzz, outcome& out);
void add_identify(cli::app& app, outcome& out);
void add_probe(cli::app& app, outcome& out);
void add_checkpoint(cli::app& app, outcome& out);
void add_bench(cli::app& app, outcome& out);
void add_doctor(cli::app& app, outcome& out);
/// completion and man, made from what `app` has.
void add_manuals(cli::app& app);

/// The program: calls the subcommand that `arguments` (without the program's
/// name) ask for and returns the exit status. `adapt` may change the
/// subcommands before. Throws input_error, and what callbacks throw.
int run(const std::vector<std::string>& arguments,
        const std::function<void(CLI::App&)>& adapt = {});

/// Adds a subcommand with an example under its options.
cli::app* add_command(cli::app& app, const std::string& name,
                      const std::string& what, const std::string& example);

/// Adds --reference: the core computes, not the compiled kernels.
void add_reference(cli::app* command);

/// Adds --seed: a number below 2^64.
void add_seed(cli::app* command, std::uint64_t& seed,
              const std::string& what = "of the random cases");

/// The arguments of a command that has moved, as they are now: says so.
std::vector<std::string> with_current_names(std::vector<std::string> arguments);

/// JSON as text, and a newline. Bytes that are not UTF-8 are replaced.
std::string to_text(const json& value);
void print_json(const json& value);
/// JSON has no number for Inf and NaN: text.
json json_number(double value);
/// To standard output. Throws input_error where it cannot be written.
void print(std::string_view text);
/// As wide as the terminal is, where it goes to one.
void print(const table& t);
/// To standard error. What cannot be written there is lost: the exit status
/// says enough.
void print_error(std::string_view text) noexcept;

// Negative numbers as arguments: `protect` marks the sign of -1.5, -.5, -inf
// and -nan, so that CLI11 does not take them for options; `protect_value` that
// of any word; `plain` undoes it. run() does all of it, around CLI11.
std::string protect(std::string_view argument);
std::string protect_value(std::string_view argument);
std::string plain(std::string text);

/// What a build without CUDA answers.
inline constexpr const char* no_gpu_part =
    "this build has no GPU part: install nvcc and build with -DZEROULP_CUDA=ON";

/// Throws input_error if the machine has less memory than `bytes`: the system
/// may grant more than there is, and end the program when it is used.
void require_memory(double bytes);

/// The value of decimal or C99 hexadecimal text, inf or nan. 120 bits are
/// exact, and the last one says whether anything is below them: no rounding to
/// a format can tell it from the text. Throws input_error.
using parsed_number = number<wide<2>>;
parsed_number parse_number(std::string_view text);

/// A promotion interval: a multiple of `step`, or 0 for none.
int parse_interval(std::string_view text, int step);

/// The code in `text`, hexadecimal with or without 0x, of at most `bits` bits.
std::uint64_t parse_code(std::string_view text, int bits,
                         std::string_view what);

/// The exact decimal value, the shorter of plain and scientific notation.
std::string to_decimal(const unpacked& x);

/// The code in lower-case hexadecimal, the full width of `bits`.
std::string to_hex(std::uint64_t code, int bits);

/// Calls `use` with the elements of `a` as a span of unsigned integers: raw
/// bits.
template <class Use>
void visit_bits(const array& a, Use use) {
  switch (size_of(a.type)) {
    case 1:
      return use(a.as<std::uint8_t>());
    case 2:
      return use(a.as<std::uint16_t>());
    case 4:
      return use(a.as<std::uint32_t>());
    default:
      return use(a.as<std::uint64_t>());
  }
}

/// A code with its bits and its value, for a person.
std::string describe(format f, std::uint64_t code);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PROGRAM_HPP_
