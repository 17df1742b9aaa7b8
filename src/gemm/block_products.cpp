// Chains of products under scales that are powers of two: the kernel of the
// unscaled path, a step at a time.
//
// Under one scale for all products of a step, 2^s, every place is s higher and
// every value 2^s times as large, but those of c. So D = 2^s step(c 2^-s),
// where neither a subnormal number nor the floor nor Inf is near: c, c 2^-s,
// the step's result and D are zero or normal, with a bit to spare. Products
// that are not zero have places from -28 on (E5M2), and |s| <= 100, so that the
// floor, -133, is below the largest place with the scales and without.

#include <cmath>

#include "src/gemm/block_tiles.hpp"

namespace zeroulp {
namespace {

constexpr int most_exponent = 50;  ///< of the scale of a row
constexpr float least_normal = 0x1p-125f;
constexpr float largest_c = 0x1p100f;

float power(int e) {
  return bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
}

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
      least_(product_.plan.rule.wide ? least_normal
                                     : power(narrow_least_exponent)),
      a_(scales_a, most_exponent),
      b_(scales_b, most_exponent),
      fits_(is_kernels(product_, p)) {}

void product_chains::scale_down(const tile& t, std::ptrdiff_t block, float* c,
                                std::uint32_t* by_core) const {
  float down[tile_rows];
  for (int j = 0; j < t.cols; ++j) down[j] = power(-b_.at(t.col + j, block));
  for (int i = 0; i < t.rows; ++i) {
    const float row = power(-a_.at(t.row + i, block));
    float* x = c + i * tile_rows;
    std::uint32_t* left = by_core + i * tile_rows;
    for (int j = 0; j < t.cols; ++j) {
      const float scaled = x[j] * (row * down[j]);
      const float size = std::fabs(scaled);
      const bool known = x[j] == 0 || (std::fabs(x[j]) >= least_normal &&
                                       size >= least_ && size <= largest_c);
      left[j] |= known ? 0u : 1u;
      x[j] = known ? scaled : 0.0f;
    }
  }
}

void product_chains::scale_up(const tile& t, std::ptrdiff_t block, float* c,
                              std::uint32_t* by_core) const {
  float up[tile_rows];
  for (int j = 0; j < t.cols; ++j) up[j] = power(b_.at(t.col + j, block));
  for (int i = 0; i < t.rows; ++i) {
    const float row = power(a_.at(t.row + i, block));
    float* x = c + i * tile_rows;
    std::uint32_t* left = by_core + i * tile_rows;
    for (int j = 0; j < t.cols; ++j) {
      const float scaled = x[j] * (row * up[j]);
      const float size = std::fabs(scaled);
      const bool known =
          x[j] == 0 || (std::fabs(x[j]) >= least_normal &&
                        size >= least_normal && size <= 0x1p126f);
      left[j] |= known ? 0u : 1u;
      x[j] = known ? scaled : 0.0f;
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
  for (std::ptrdiff_t first = 0; first < k; first += length_) {
    scale_down(t, first / block_, c, by_core);
    product_.run_steps(t, first, 0, 1, c);
    scale_up(t, first / block_, c, by_core);
  }
}

}  // namespace zeroulp
