// Defines a cell of the study: one GEMM as a value, from the law of its inputs
// to the accumulator, and the table of its fields by name.
//
//   cell c;  set(c, "k=4096 interval=none a.group=tensor b.group=tensor");
//   impossible(c)   why no kernel can compute it, or nothing
//
// An axis is a list of such settings. Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_CELL_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_CELL_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/study/error/distribution.hpp"
#include "zeroulp/core/scale.hpp"

namespace zeroulp::study {

/// Integers of -127 to 127 as a format: an exponent bit that only tells 64 and
/// more from the rest, so that the grid is even.
inline constexpr format int8{1, 6, -5, specials::finite};

/// What stands out of the law: a channel in 256, a token in 64, or an element
/// in 65521 is `factor` times as large.
enum class outliers : std::uint8_t { none, channels, tokens, single };

struct user_matrix;

/// Numbers that are drawn, or those of a file.
struct input {
  distribution base = standard_normal;
  outliers which = outliers::none;
  double factor = 1;
  std::shared_ptr<const user_matrix> matrix{};
};

/// How scales come about.
enum class scaling : std::uint8_t {
  raw,           ///< none: elements are encoded as they are
  float32,       ///< the rest but one: scale_kind's
  pow2,          ///< up
  pow2_down,     ///<
  pow2_nearest,  ///<
  ocp,           ///< 2^(floor(log2 amax) - floor(log2 max)), as OCP's MX
};

/// Whose amax a whole tensor's scale follows. A tensor one step older starts
/// one row later.
struct timing {
  int history = 0;  ///< previous amaxes; 0: online
  history_rule rule = history_rule::maximum;
};

/// What an operand was before it got its codes.
enum class passage : std::uint8_t {
  direct,
  e5m6,          ///< E5M6 with power-of-two scales in 1x128 tiles
  retiled,       ///< the same format, tiled the other way
  retiled_e5m6,  ///< E5M6, tiled the other way
};

/// Which product of training it is: in Wgrad K runs along tokens.
enum class gemm_pass : std::uint8_t { fprop, dgrad, wgrad };

struct operand {
  input from;
  format element = e4m3;
  granularity group = tile_1x128;
  scaling scale = scaling::float32;
  timing when;
  passage via = passage::direct;
};

/// Which accumulator sums the products.
struct accumulation {
  enum class kind : std::uint8_t {
    hopper,    ///< what the tensor core has for the operands
    fraction,  ///< Hopper's FP8 unit with another number of fraction bits
    fp32,      ///< FP32 fused multiply-adds in k order
    exact,     ///< the reference itself, rounded once to FP32
  };
  kind by = kind::hopper;
  int bits = 13;
};

inline constexpr const char* free_shape = "free";

struct cell {
  std::string shape = free_shape;  ///< or a Linear of DeepSeek-V3
  gemm_pass pass = gemm_pass::fprop;
  std::ptrdiff_t m = 128;  ///< outputs that are computed: m x n
  std::ptrdiff_t n = 128;
  std::ptrdiff_t sample = 0;  ///< measured: the first sample x sample; 0: all
  std::ptrdiff_t k = 4096;
  operand a;
  operand b{{}, e4m3, block_128x128, scaling::float32, {}, passage::direct};
  format values = bf16;  ///< what inputs are rounded to first
  std::string amax_floor = "0";
  double shift = 1;  ///< A's magnitude over what it was
  int age = 0;       ///< steps since it changed
  bool smooth = false;
  accumulation sum;
  std::int32_t interval = 128;  ///< 0: none
  std::uint64_t seed = 73;
};

/// A field of a cell by its name in settings and in the CSV.
struct field {
  const char* name;
  const char* means;
  std::string (*get)(const cell&);
  /// Throws input_error naming the text and what was expected.
  void (*set)(cell&, std::string_view);
};

/// In the order of the CSV.
std::span<const field> fields();

/// Sets one field. An operand's field without "a." or "b." is that of both. A
/// matrix given as input decides M or N, and K: to others they cannot be set
/// then. Throws input_error.
void set(cell& c, std::string_view name, std::string_view value);
/// Sets name=value, separated by spaces, in order.
void set(cell& c, std::string_view settings);

/// The value of every field, in order.
std::vector<std::string> values_of(const cell& c);

/// Splits at `separator` outside of parentheses.
std::vector<std::string> split(std::string_view text, char separator);

/// Why there is no such GEMM, or nothing.
std::optional<std::string> impossible(const cell& c);

/// The outputs whose errors are measured: the first rows and columns of D.
constexpr std::ptrdiff_t measured_rows(const cell& c) {
  return c.sample > 0 && c.sample < c.m ? c.sample : c.m;
}
constexpr std::ptrdiff_t measured_cols(const cell& c) {
  return c.sample > 0 && c.sample < c.n ? c.sample : c.n;
}

/// The recipe of a possible cell that is not `exact`.
recipe recipe_of(const cell& c);

/// FP32 bits.
std::uint32_t floor_of(const cell& c);

/// 2^(floor(log2 x) - floor(log2 max)) times max, FP32 bits: the amax whose
/// scale by scale_kind::pow2 is the OCP rule's for x.
std::uint32_t ocp_amax(std::uint32_t x, format to);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_CELL_HPP_
