// Defines a case of the case engine, `problem` (settings and numbers), and the
// table of targets.
//
//   (target, profile, generator version, seed, index) -> problem
//   (implementation, problem)                         -> outputs
//
// A problem is plain data. Targets differ only in the rows of one table
// (`info_of`), so comparing, shrinking, replaying and counting are each written
// once. Source: SPEC clauses, by target.

#ifndef ZEROULP_FUZZ_CASES_PROBLEM_HPP_
#define ZEROULP_FUZZ_CASES_PROBLEM_HPP_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/placement.hpp"
#include "conformance/contract/model_operators.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::fuzz {

using implementation = conformance::model_implementation;
using conformance::operation;
using conformance::pack_layout;
using conformance::placement;

/// Increases when a generator makes other cases for the same seed and index.
inline constexpr int generator_version = 1;

enum class target : std::uint8_t {
  encode,    ///< codes of one format to another
  decode,    ///< codes to exact values
  arith,     ///< add to square root, div.full
  step,      ///< one instruction of a tensor core
  quantize,  ///< quantize, dequantize, lay out scales, delayed amax
  pack,      ///< 12-bit codes to bytes and back
  retile,
  gemm,
  swiglu,  ///< forward and backward, with the quantizers around it
  adamw,
  dispatch,
  combine,
  rms_norm,  ///< with the quantizer of its output
  rms_norm_backward,
  attention,  ///< forward and backward
  route,      ///< forward and backward
};
inline constexpr int target_count = 16;

/// All of a case but its numbers. A target uses only the settings that are its
/// `options` (options.hpp).
struct settings {
  format from = fp32;
  format to = e4m3;
  rounder round;
  policy overflow = keep_specials;
  operation op = operation::add;
  bool approximate = false;  ///< FP32 divide as PTX div.full
  path unit = hopper_wgmma_e4m3;
  named_convention how = row_named(named_conventions, "zeroulp");
  scale_kind scale = scale_kind::float32;
  group_shape group{1, 128};
  scale_layout layout = scale_layout::row_major;
  history_rule history = history_rule::maximum;
  std::uint32_t decay = 0x3f666666;  // FP32 bits
  pack_layout packing = pack_layout::bytes;
  retile_rule rule = retile_rule::amax;
  std::int32_t tile = 128;
  /// The accumulator of `unit` replaces its own: see recipe_of.
  recipe gemm = deepgemm_1d2d_recipe;
  format value = bf16;     ///< of computed values, before quantization
  format weight = bf16;    ///< of rms_norm's w
  format gradient = bf16;  ///< of dh
  format out_to = e4m3;    ///< of the codes of swiglu's outputs
  scale_kind out_scale = scale_kind::float32;
  std::uint64_t random_seed = 0;  ///< adamw: of stochastic rounding
  std::uint64_t first_index = 0;  ///< adamw: of the first element
  combine_rule sum = combine_rule::fp32_slots;
  router route{};           ///< `top` is the columns of dweights
  std::int32_t heads = 1;   ///< attention: beside each other in a row
  std::int32_t length = 0;  ///< attention: tokens of a sequence; 0: all
  placement place = placement::dense;  ///< of every matrix in its buffer
};

/// Returns the recipe of a GEMM problem.
recipe recipe_of(const settings& s);

struct problem;
/// Returns the router of a problem of `route`, of one expert or more. What its
/// shapes do not allow becomes what they do: one group, fewer kept, fewer
/// slots.
router router_of(const problem& p);
/// Returns the shape of a problem of `attention`; one head, one sequence, or
/// the usual scale where the problem's own make none.
attention_shape attention_of(const problem& p);

/// The rows or columns of an operand: each covers `group` elements of dimension
/// `name`, or all of it (group 0). Name 0: there is one row or column.
struct axis {
  char name;
  std::int32_t group;
};

/// A format for words that are integers, not codes.
inline constexpr format integer{0, 0, 0, specials::finite};

/// A format for words that select a row: 0 is none, w is (w - 1) mod the rows.
inline constexpr format row_word{0, 8, 0, specials::scale};

struct operand_spec {
  const char* name;
  format type;
  axis rows;
  axis cols;
  bool optional = false;   ///< may be absent: 0 x 0
  bool magnitude = false;  ///< without signs
};

/// A dense row-major matrix of codes.
struct matrix {
  const char* name = "";
  format type = integer;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::vector<std::uint64_t> words;

  matrix() = default;
  matrix(const char* n, format f, std::ptrdiff_t m, std::ptrdiff_t k,
         std::uint64_t fill = 0)
      : name(n),
        type(f),
        rows(m),
        cols(k),
        words(static_cast<std::size_t>(m * k), fill) {}
  std::uint64_t& operator()(std::ptrdiff_t i, std::ptrdiff_t j) {
    return words[static_cast<std::size_t>(i * cols + j)];
  }
  std::uint64_t operator()(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return words[static_cast<std::size_t>(i * cols + j)];
  }
  bool operator==(const matrix& m) const {
    return rows == m.rows && cols == m.cols && words == m.words;
  }
};

struct problem {
  target what = target::encode;
  settings with;
  std::vector<matrix> in;  ///< by info_of(what).operands(with)
};

/// An implementation's results for a problem. Each output comes after the
/// outputs that it follows from.
using outputs = std::vector<matrix>;

/// Hits by bin: info_of(what).bins().
using bin_counts = std::span<std::uint64_t>;

/// A row of the table of targets.
struct target_info {
  target what;
  const char* name;
  const char* about;
  std::vector<const char*> options;
  /// Families of cases. `mixed`, besides, draws one of them for each case.
  std::vector<const char*> profiles;
  /// Draws settings that a user may meet.
  void (*draw)(settings&, counter_rng&);
  /// Returns why there is no case with these settings, or "".
  std::string (*refuse)(const settings&);
  std::vector<operand_spec> (*operands)(const settings&);
  /// Makes the numbers, shapes first, for the profile of this index. The
  /// problem's settings were drawn before, and some replaced by a user's.
  void (*fill)(problem&, int profile, counter_rng&);
  outputs (*run)(const implementation&, const problem&);
  /// The clauses of SPEC.md that say what this output must be.
  std::string (*clauses)(const problem&, std::string_view output);
  /// Names of the bins, such as "kind=tie sign=- to=subnormal". A standard run
  /// (20,000 mixed cases) hits every one.
  std::vector<std::string> (*bins)();
  /// Counts the bins that the problem hits; `right` holds the core's outputs.
  void (*cover)(const problem&, const outputs& right, bin_counts);
};

/// Returns the row of a target, made once.
const target_info& info_of(target t);

/// Returns the target called `name`. Throws input_error.
target parse_target(std::string_view name);

/// Returns the index of a profile of `t`; -1 for mixed. Throws input_error.
int parse_profile(target t, std::string_view name);

/// Replaces drawn settings.
using pins = std::function<void(settings&)>;

/// Returns case `index`. Throws input_error if `pinned` settings have no case.
problem generate(target t, int profile, std::uint64_t seed, std::uint64_t index,
                 const pins& pinned = {});

/// Returns the length of a dimension, by name. It is that of an axis with
/// groups of 1 in an operand that is not optional; 0 if there is none.
std::ptrdiff_t length_of(const problem& p, char dimension);

/// Returns a matrix of `spec` for dimensions of these lengths, filled with
/// `fill`.
matrix make_operand(const operand_spec& spec, std::ptrdiff_t m,
                    std::ptrdiff_t n, std::ptrdiff_t k, std::uint64_t fill = 0);

/// Returns `p` with dimensions of these lengths. Element i of a dimension is
/// the former element source(dimension, i). A group takes the value of the
/// former group that held the source of its first element. Absent operands stay
/// absent.
problem rearranged(
    const problem& p, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
    const std::function<std::ptrdiff_t(char, std::ptrdiff_t)>& source);

/// Returns the fault of a problem's operands: their number, a shape, or a code
/// out of range; "" if there is none.
std::string refuse_operands(const problem& p);

// The rows, each in its file under targets/.
target_info encode_info();
target_info decode_info();
target_info arith_info();
target_info step_info();
target_info quantize_info();
target_info pack_info();
target_info retile_info();
target_info gemm_info();
target_info swiglu_info();
target_info adamw_info();
target_info dispatch_info();
target_info combine_info();
target_info rms_norm_info();
target_info rms_norm_backward_info();
target_info attention_info();
target_info route_info();

// Calls of an implementation, in run.cpp, run_training.cpp and run_model.cpp.
outputs run_encode(const implementation&, const problem&);
outputs run_decode(const implementation&, const problem&);
outputs run_arith(const implementation&, const problem&);
outputs run_step(const implementation&, const problem&);
outputs run_quantize(const implementation&, const problem&);
outputs run_pack(const implementation&, const problem&);
outputs run_retile(const implementation&, const problem&);
outputs run_gemm(const implementation&, const problem&);
outputs run_swiglu(const implementation&, const problem&);
outputs run_adamw(const implementation&, const problem&);
outputs run_dispatch(const implementation&, const problem&);
outputs run_combine(const implementation&, const problem&);
outputs run_rms_norm(const implementation&, const problem&);
outputs run_rms_norm_backward(const implementation&, const problem&);
outputs run_attention(const implementation&, const problem&);
outputs run_route(const implementation&, const problem&);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CASES_PROBLEM_HPP_
