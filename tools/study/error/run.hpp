// Defines what a cell of the study gives: its operands, its product and how far
// that is from what was asked for.
//
//   inputs --quantize--> codes --multiply--> D
//   quantization = exact product of dequantized codes - that of the inputs
//   accumulation = D - exact product of dequantized codes
//   total        = D - exact product of the inputs
//
// Every number is a function of the cell alone. Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_RUN_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_RUN_HPP_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/study/error/cell.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/metrics.hpp"

namespace zeroulp::study {

/// Outputs that the GPU and the CPU computed.
struct agreement {
  std::ptrdiff_t compared = 0;
  std::ptrdiff_t differing = 0;
  std::string first;  ///< that differs: its place and both bits
};

/// What a cell gives. The counts are fractions of the elements of A.
struct result {
  error_metrics total;
  error_metrics accumulation;
  error_metrics quantization;
  double saturated = 0;  ///< beyond the largest code by more than half an ulp
  double zeroed = 0;     ///< not 0, but its code is
  double changed = 0;    ///< another value than without the passage
  std::string by;        ///< what computed D
  /// SHA-256 of the measured outputs, FP32 bits by rows, low byte first
  std::string digest;
  agreement both;
};

struct metric {
  std::string name;  ///< such as total.frobenius
  std::function<double(const result&)> of;
};

/// In the order of the CSV.
const std::vector<metric>& metrics();
/// Throws input_error naming the known ones.
const metric& find_metric(std::string_view name);

/// A matrix by rows.
template <class T>
struct dense {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::vector<T> data;

  dense() = default;
  dense(std::ptrdiff_t m, std::ptrdiff_t n)
      : rows(m), cols(n), data(static_cast<std::size_t>(m * n)) {}
  matrix_view<T> view() { return {data.data(), rows, cols}; }
  matrix_view<const T> view() const { return {data.data(), rows, cols}; }
};

/// A quantized operand; without scales, all are 1.
struct codes {
  format element{};
  granularity group{};
  dense<std::uint32_t> elements;
  dense<std::uint32_t> scales;
};

/// The inputs of a cell, FP32 bits: a is m x k, b is n x k.
struct inputs {
  dense<std::uint32_t> a;
  dense<std::uint32_t> b;
};
inputs draw_inputs(const cell& c);

/// Returns side `x` of a cell (c.a or c.b) quantized. `history` holds the
/// amaxes of earlier steps, oldest first, FP32 bits.
codes quantize_side(const cell& c, const operand& x,
                    const dense<std::uint32_t>& values,
                    const std::vector<std::uint32_t>& history);

/// The amaxes before the current step that c.a's or c.b's timing asks for.
std::vector<std::uint32_t> amax_history(const cell& c, bool is_a);

/// Computes D = A B^T by a recipe, m x n FP32 bits as core/gemm.hpp defines
/// them, and says by what. Throws what it cannot.
using multiplier = std::function<std::string(
    const recipe&, const gemm_operand<std::uint32_t>& a,
    const gemm_operand<std::uint32_t>& b, matrix_view<std::uint32_t> d)>;

/// By the engine.
std::string multiply_on_cpu(const recipe& r,
                            const gemm_operand<std::uint32_t>& a,
                            const gemm_operand<std::uint32_t>& b,
                            matrix_view<std::uint32_t> d);

struct product {
  dense<std::uint32_t> d;
  std::string by;
};
/// D of the cell, from its first m and n rows of codes; not of an exact one.
product multiply(const cell& c, const codes& a, const codes& b,
                 const multiplier& by = multiply_on_cpu);

/// Runs cells, and keeps what the next one may share with the last. What `gpu`
/// computes, where there is one, the CPU computes too as far as outputs are
/// measured: `both` says whether the bits are the same.
class runner {
 public:
  explicit runner(multiplier gpu = {});
  ~runner();
  /// `c` must be possible.
  result run(const cell& c);

 private:
  struct memory;
  multiplier gpu_;
  std::unique_ptr<memory> memory_;
};

/// How far an accumulator (a value of the field acc) is from the exact sum of
/// products of N(0, 1) as E4M3 codes, 256 x 256 outputs. `interval`: elements
/// of K between promotions; 0: none.
error_metrics accumulation_error(runner& by, const std::string& accumulator,
                                 std::ptrdiff_t k, int interval);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_RUN_HPP_
