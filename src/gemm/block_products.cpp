// Chains of products under scales that are powers of two: the kernel of the
// unscaled path, a step at a time.
//
// Under one scale for all products of a step, 2^s, every place is s higher and
// every value 2^s times as large, but those of c. So D = 2^s step(c 2^-s),
// where neither a subnormal number nor the floor nor Inf is near: c, c 2^-s,
// the step's result and D are zero or normal, with a bit to spare. Products
// that are not zero have places from -28 on (E5M2), and |s| <= 100, so that the
// floor, -133, is below the largest place with the scales and without. Between
// two steps a number's exponent moves by the difference of their s.

#include "src/gemm/block_tiles.hpp"

namespace zeroulp {
namespace {

constexpr int most_exponent = 50;  ///< of the scale of a row
constexpr int least_field = 2;     ///< of exponents: normal, and one to spare
constexpr int most_field = 253;
constexpr int most_c_field = 227;  ///< of c under the kernel: 2^100

bool is_kernels(const multiplication& m, const block_scaled_path& p) {
  const accumulator& acc = p.unscaled.acc;
  return p.terms == block_terms::products &&
         m.plan.by == chain_plan::kernel::steps && !m.plan.rule.half &&
         acc.stored == fp32 && p.block % acc.length == 0 &&
         acc.exponent_floor <= -129 &&
         p.unscaled.a.min_exponent() + p.unscaled.b.min_exponent() >= -28;
}

}  // namespace

scale_exponents::scale_exponents(const matrix_view<unpacked>& scales, int most)
    : blocks_(scales.cols),
      exponents_(static_cast<std::size_t>(scales.rows * scales.cols)),
      plain_(static_cast<std::size_t>(scales.rows), 1) {
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
      const unpacked& s = scales(i, k);
      const auto at = static_cast<std::size_t>(i * blocks_ + k);
      if (s.kind != kind::finite || s.exponent < -most || s.exponent > most) {
        plain_[static_cast<std::size_t>(i)] = 0;
      } else {
        exponents_[at] = static_cast<std::int8_t>(s.exponent);
      }
    }
  }
}

product_chains::product_chains(const block_scaled_path& p,
                               const prepared_operand& a,
                               const matrix_view<unpacked>& scales_a,
                               const prepared_operand& b,
                               const matrix_view<unpacked>& scales_b)
    : product_(p.unscaled, a, b),
      block_(p.block),
      length_(p.length()),
      least_c_field_(product_.plan.rule.wide ? least_field
                                             : narrow_least_exponent + 127),
      a_(scales_a, most_exponent),
      b_(scales_b, most_exponent),
      fits_(is_kernels(product_, p)) {}

void product_chains::move(const tile& t, std::ptrdiff_t from, std::ptrdiff_t to,
                          float* c, std::uint32_t* by_core) const {
  const auto exponent = [](const scale_exponents& x, std::ptrdiff_t i,
                           std::ptrdiff_t block) {
    return block < 0 ? 0 : x.at(i, block);
  };
  const int cols = t.cols;  // of its own: no store below can change it
  std::int32_t up[tile_rows];
  std::int32_t down[tile_rows];
  for (int j = 0; j < cols; ++j) {
    up[j] = exponent(b_, t.col + j, from);
    down[j] = exponent(b_, t.col + j, to);
  }
  const int least = to < 0 ? least_field : least_c_field_;
  const int most = to < 0 ? most_field : most_c_field;
  for (int i = 0; i < t.rows; ++i) {
    const std::int32_t row_up = exponent(a_, t.row + i, from);
    const std::int32_t row_down = exponent(a_, t.row + i, to);
    float* x = c + i * tile_rows;
    std::uint32_t* left = by_core + i * tile_rows;
    for (int j = 0; j < cols; ++j) {
      const auto bits = bit_cast<std::int32_t>(x[j]);
      const std::int32_t size = bits & 0x7fffffff;
      const std::int32_t field = size >> 23;
      const std::int32_t value = field + row_up + up[j];
      const std::int32_t next = value - row_down - down[j];
      // All bits where a difference is negative, or the number is not zero.
      const std::int32_t outside =
          ((field - least_field) | (most_field - field) |
           (value - least_field) | (most_field - value) | (next - least) |
           (most - next)) >>
          31;
      const std::int32_t number = (size | -size) >> 31;
      left[j] |= static_cast<std::uint32_t>(outside & number & 1);
      const auto moved = static_cast<std::uint32_t>(bits) +
                         (static_cast<std::uint32_t>(next - field) << 23);
      x[j] = bit_cast<float>(moved & ~static_cast<std::uint32_t>(outside));
    }
  }
}

void product_chains::run(const tile& t, float* c,
                         std::uint32_t* by_core) const {
  for_each_output(t, [&](int i, int j, int at) {
    const std::ptrdiff_t row = t.row + i;
    const std::ptrdiff_t col = t.col + j;
    if (!a_.is_plain(row) || !b_.is_plain(col) ||
        product_.needs_core(row, col)) {
      by_core[at] = 1;
      c[at] = 0;
    }
  });
  const std::ptrdiff_t k = product_.a->cols();
  std::ptrdiff_t block = -1;
  for (std::ptrdiff_t first = 0; first < k; first += length_) {
    move(t, block, first / block_, c, by_core);
    block = first / block_;
    product_.run_steps(t, first, 0, 1, c);
  }
  if (block >= 0) move(t, block, -1, c, by_core);
}

}  // namespace zeroulp
