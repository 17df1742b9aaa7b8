// Defines `problem` and `operator_kind`: an operator of a chain at work on its
// operands, and what kinds of operators there are.
//
// A kind is a target of the fuzzer, or one that has a row of its own here:
// rope, residual; route and combine, whose operands a pass has in other shapes
// than the fuzzer's cases. Source: SPEC clauses N4, N8 to N10, N20 (d), S9.

#ifndef ZEROULP_TOOLS_PARITY_PROBLEM_HPP_
#define ZEROULP_TOOLS_PARITY_PROBLEM_HPP_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::parity {

struct operator_kind;
class dump;
struct chain_operator;

/// How the four products of a pair become its new elements.
enum class rope_products : std::uint8_t {
  second_fused,  ///< y0 = fma(-x1, s, fl(x0 c)): N4
  first_fused,   ///< y0 = fma(x0, c, -fl(x1 s))
  apart,         ///< y0 = fl(fl(x0 c) - fl(x1 s))
  apart_bf16,    ///< each product and the sum rounded to BF16
};

/// How the angle of a position is computed.
enum class rope_angles : std::uint8_t {
  exact,       ///< N4
  fp32_power,  ///< fl(p f) in FP32, f = fl(base^(-2i/n))
  fp32_ratio,  ///< f = fl(1 / fl(base^fl(2i/n))): torch's usual inv_freq
};

/// FP32 cosines, then sines, of positions.
using rope_rows = std::map<std::ptrdiff_t, std::vector<std::uint32_t>>;

/// Rotary position embedding as a value; heads of a row are alike. The last
/// fields are ways to read it wrongly.
struct rope_settings {
  bool halves = false;    ///< pairs are i and i + n / 2, not 2i and 2i + 1
  bool backward = false;  ///< turn the other way
  std::int32_t base = 10000;
  std::int32_t skip = 0;    ///< columns of a head before those that turn
  std::int32_t turned = 0;  ///< columns that turn; 0: all after these
  rope_products products = rope_products::second_fused;
  rope_angles angles = rope_angles::exact;
  std::optional<format> table;   ///< cosines and sines go through it
  bool one_sequence = false;     ///< positions go on from sequence to sequence
  std::int32_t shift = 0;        ///< of positions
  std::int32_t still_first = 0;  ///< heads that do not turn, from this one
  std::int32_t still_count = 0;
  bool exchanged = false;  ///< cosines and sines
  /// Where a position is in it, it has these instead of what is computed.
  std::shared_ptr<const rope_rows> read;
};

struct problem : fuzz::problem {
  const operator_kind* is = nullptr;
  rope_settings rope;
  std::shared_ptr<class rope_table_cache> tables;  ///< all variants share it
  std::int32_t top = 0;                            ///< slots of a router
  std::uint64_t first_row = 0;  ///< of the pass, which is row 0 here
  /// An operand in FP32, as the operator before makes it, or that of the two
  /// before (`back`); nothing: there are none.
  std::function<std::optional<fuzz::matrix>(std::size_t operand, int back)>
      unrounded;

  std::string name() const;
};

using fuzz::matrix;
using fuzz::outputs;

/// What is another than the claim.
enum class change : std::uint8_t {
  more,  ///< operands, roundings, scales, places
  nothing,
  order,        ///< in which order the same terms are added
  accumulator,  ///< what the sums of the same terms are kept in
};

/// What an operator of one side does.
struct rule {
  std::string name;  ///< "as claimed", "vllm", ...; empty: unknown
  std::string what;
  /// Of an unknown one: the likeliest, with its share. Of a known one that has
  /// not every bit: what it has.
  std::string near;
  std::function<outputs(const problem&)> answer;
  change of = change::more;
  std::vector<std::string> same;  ///< others that give the same bits
  /// Where it has not every bit: the first such element, and patterns.
  std::vector<std::string> where = {};
  /// A rule with numbers of its own, read from what was made: reads more of
  /// them. False: there are none by which it has every bit of these, too.
  std::function<bool(const problem&, const outputs& made)> read_more = {};

  bool is_known() const { return !name.empty(); }
  bool is_exact() const { return is_known() && near.empty(); }
};

/// A rule that implementations have besides the claimed one.
inline rule variant(std::string name, std::string what,
                    std::function<outputs(const problem&)> answer,
                    change of = change::more) {
  return {std::move(name), std::move(what), "", std::move(answer), of, {}};
}

/// A setting that no target of the fuzzer has, or one of a kind that is none.
struct own_setting {
  const char* name;
  /// Throws input_error. Null: that of the fuzzer with this name.
  void (*read)(problem&, std::string_view text);
};

/// A setting that follows from the type of an operand's or output's tensor.
struct followed_setting {
  const char* setting;
  const char* tensor_of;
};

struct operator_kind {
  const char* name;
  /// Whose settings it has, and operands and outputs where none are here.
  std::optional<fuzz::target> of;
  std::vector<followed_setting> follows;
  std::vector<own_setting> settings;
  std::vector<fuzz::operand_spec> (*operands)(const problem&) = nullptr;
  outputs (*run)(const problem&) = nullptr;
  /// What implementations do besides.
  void (*add_variants)(const problem&, std::vector<rule>&) = nullptr;
  /// Takes from the operator what no operand says.
  void (*complete)(problem&, const chain_operator&, const dump&) = nullptr;
  bool whole_pass = false;         ///< a row depends on others
  std::vector<std::string> makes;  ///< empty: those of the target
};

/// Throws input_error that has the names.
const operator_kind& kind_named(std::string_view name);

/// Reads "name=value,..." into a problem of a kind. Throws input_error.
void read_settings(problem& p, std::string_view text);

std::vector<fuzz::operand_spec> operands_of(const problem& p);

/// All names of outputs that a kind may have.
const std::vector<std::string>& outputs_of(const operator_kind& k);

/// Lines "NAME: reads ..., makes ..., with ..." of all kinds.
std::string text_of_kinds();

/// The length of a dimension: of an axis with groups of 1; 0: none has it.
std::ptrdiff_t length_of(const problem& p, char dimension);

/// Returns which operand does not fit the others; "": all do.
std::string refuse_operands(const problem& p);

/// Sets a setting whose value is a format.
void set_format(problem& p, const char* setting, const format& f);

/// The same operator with an output in FP32, not rounded; false: it has none.
bool keep_fp32(problem& p, std::string_view output);

/// The outputs that the library gives. Throws input_error.
outputs claimed_outputs(const problem& p);

// Rows of their own.
operator_kind rope_kind();
operator_kind residual_kind();
operator_kind route_kind();
operator_kind combine_kind();

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_PROBLEM_HPP_
