// Defines the fast chains of steps with block scales on a tile of outputs.
// Internal.
//
//   products: a step under scales 2^s is 2^s times the step on c 2^-s
//   sums:     16 products of E2M1 are a 16-bit sum; four of them and c, cut,
//             fit 64 bits
//
// What does not fit is left to the core: `by_core`.

#ifndef ZEROULP_SRC_GEMM_BLOCK_TILES_HPP_
#define ZEROULP_SRC_GEMM_BLOCK_TILES_HPP_

#include <cstdint>
#include <vector>

#include "src/gemm/multiplication.hpp"
#include "zeroulp/core/block_scaled.hpp"

namespace zeroulp {

/// The exponents of the scales of an operand's rows, and which rows only the
/// core takes.
class scale_exponents {
 public:
  /// Rows whose scales are powers of two of at most `most` in magnitude.
  scale_exponents(const matrix_view<unpacked>& scales, int most);

  int at(std::ptrdiff_t i, std::ptrdiff_t block) const {
    return exponents_[static_cast<std::size_t>(i * blocks_ + block)];
  }
  bool is_plain(std::ptrdiff_t i) const {
    return plain_[static_cast<std::size_t>(i)] != 0;
  }

 private:
  std::ptrdiff_t blocks_;
  std::vector<std::int8_t> exponents_;
  std::vector<unsigned char> plain_;
};

/// Chains of block_terms::products by the kernel of the unscaled path.
class product_chains {
 public:
  product_chains(const block_scaled_path& p, const prepared_operand& a,
                 const matrix_view<unpacked>& scales_a,
                 const prepared_operand& b,
                 const matrix_view<unpacked>& scales_b);

  /// Returns true iff there is a kernel for such steps.
  bool fits() const { return fits_; }
  /// The chains from c and into it; sets `by_core` for those that it does not
  /// know. Both have the stride tile_rows.
  void run(const tile& t, float* c, std::uint32_t* by_core) const;

 private:
  /// From c under the scales of block `from` to c under those of `to`; -1: as
  /// it is. What is outside becomes 0, for the core.
  void move(const tile& t, std::ptrdiff_t from, std::ptrdiff_t to, float* c,
            std::uint32_t* by_core) const;

  multiplication product_;
  int block_;
  int length_;
  int least_c_field_;  ///< of exponents of c under the kernel
  scale_exponents a_;
  scale_exponents b_;
  bool fits_;
};

/// Rows of E2M1 in groups of 16, padded with zeros, and their scales.
class e2m1_rows {
 public:
  static constexpr int group = summed_products;

  e2m1_rows(const prepared_operand& x, const matrix_view<unpacked>& scales,
            const block_scaled_path& p);

  std::ptrdiff_t groups() const { return groups_; }
  /// Twice the elements of a group.
  const std::int8_t* twice(std::ptrdiff_t i, std::ptrdiff_t g) const {
    return twice_.data() + (i * groups_ + g) * group;
  }
  /// Which elements of a group are not zero; none under a scale of zero.
  std::uint16_t live(std::ptrdiff_t i, std::ptrdiff_t g) const {
    return live_[static_cast<std::size_t>(i * groups_ + g)];
  }
  /// Eight times the significand of a group's scale, and its exponent.
  std::int16_t significand(std::ptrdiff_t i, std::ptrdiff_t g) const {
    return significands_[static_cast<std::size_t>(i * groups_ + g)];
  }
  std::int16_t exponent(std::ptrdiff_t i, std::ptrdiff_t g) const {
    return exponents_[static_cast<std::size_t>(i * groups_ + g)];
  }
  bool is_plain(std::ptrdiff_t i) const {
    return plain_[static_cast<std::size_t>(i)] != 0;
  }

 private:
  std::ptrdiff_t groups_;
  std::vector<std::int8_t> twice_;
  std::vector<std::uint16_t> live_;
  std::vector<std::int16_t> significands_;
  std::vector<std::int16_t> exponents_;
  std::vector<unsigned char> plain_;  ///< no scale is NaN
};

/// Returns true iff run_sums_of_blocks takes the path.
bool is_summed_fast(const block_scaled_path& p);

/// Chains of block_terms::sums from c and into it; c is finite or infinite.
void run_sums_of_blocks(const e2m1_rows& a, const e2m1_rows& b, const tile& t,
                        int floor, float* c);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_GEMM_BLOCK_TILES_HPP_
