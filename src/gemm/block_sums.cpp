// Chains of sums of 16 products of E2M1 times their scales, in integers.
//
// A group's sum is a multiple of 1/4 of at most 16 * 36, so 2304 in these
// units; eight times each scale's significand is at most 15. The term is below
// 2^20 in units of 2^(place - 8). Aligned, its last bit is 2^(P - 35): it is
// moved up by 27 places, less those that it is below P. So is c, by 12. Four
// terms and c are below 2^50.

#include <algorithm>
#include <cmath>

#include "src/base/float_mode.hpp"
#include "src/gemm/block_tiles.hpp"

namespace zeroulp {
namespace {

constexpr int groups_of_step = 4;
constexpr int nowhere = -100000;

/// The columns of a tile, as a step reads them.
struct step_columns {
  alignas(
      64) std::int16_t elements[groups_of_step][e2m1_rows::group][tile_rows];
  std::uint16_t live[groups_of_step][tile_rows];
  std::int16_t significand[groups_of_step][tile_rows];
  std::int16_t exponent[groups_of_step][tile_rows];
};

void load_columns(const e2m1_rows& b, const tile& t, std::ptrdiff_t first,
                  int groups, step_columns& to) {
  for (int g = 0; g < groups; ++g) {
    for (int j = 0; j < t.cols; ++j) {
      const std::int8_t* from = b.twice(t.col + j, first + g);
      for (int k = 0; k < e2m1_rows::group; ++k) to.elements[g][k][j] = from[k];
      to.live[g][j] = b.live(t.col + j, first + g);
      to.significand[g][j] = b.significand(t.col + j, first + g);
      to.exponent[g][j] = b.exponent(t.col + j, first + g);
    }
  }
}

/// The sums of a group of a row with all columns, four times their value.
void sum_group(const std::int8_t* row, const step_columns& b, int g,
               std::int16_t* sums) {
  std::fill_n(sums, tile_rows, std::int16_t{0});
  for (int k = 0; k < e2m1_rows::group; ++k) {
    const std::int16_t x = row[k];
    if (x == 0) continue;
    const std::int16_t* y = b.elements[g][k];
    for (int j = 0; j < tile_rows; ++j) {
      sums[j] = static_cast<std::int16_t>(sums[j] + x * y[j]);
    }
  }
}

/// x * 2^by toward zero; |x| < 2^24, by <= 27.
std::int64_t moved(std::int64_t x, int by) {
  if (by >= 0) return x * (std::int64_t{1} << by);
  const int down = std::min(-by, 62);
  return (x + (x < 0 ? (std::int64_t{1} << down) - 1 : 0)) >> down;
}

/// A finite float: its integer significand and its place.
struct placed_addend {
  std::int64_t significand;
  int place;
};
placed_addend placed(float c) {
  const auto bits = bit_cast<std::uint32_t>(c);
  const auto field = static_cast<int>(bits >> 23 & 255);
  const auto fraction = static_cast<std::int64_t>(bits & 0x7fffff);
  const std::int64_t size = field == 0 ? fraction : fraction | 0x800000;
  if (size == 0) return {0, nowhere};
  return {bits >> 31 != 0 ? -size : size, std::max(field, 1) - 127};
}

/// total * 2^unit toward zero, in a thread that rounds so.
float converted(std::int64_t total, int unit) {
  const double scaled =
      static_cast<double>(total) *
      bit_cast<double>(static_cast<std::uint64_t>(unit + 1023) << 52);
  if (std::fabs(scaled) >= 0x1p128) return scaled < 0 ? -INFINITY : INFINITY;
  return static_cast<float>(scaled) + 0.0f;  // every zero is +0
}

/// What a row brings to a step.
struct step_row {
  std::int16_t sums[groups_of_step][tile_rows];
  std::uint16_t live[groups_of_step];
  std::int16_t significand[groups_of_step];
  std::int16_t exponent[groups_of_step];
};

float step_of(const step_row& a, const step_columns& b, int j, int groups,
              int floor, float c) {
  if (std::isinf(c)) return c;
  const auto addend = placed(c);
  int largest = std::max(floor, addend.place);
  int place[groups_of_step];
  for (int g = 0; g < groups; ++g) {
    place[g] = (a.live[g] & b.live[g][j]) != 0
                   ? a.exponent[g] + b.exponent[g][j]
                   : nowhere;
    largest = std::max(largest, place[g]);
  }
  std::int64_t total = 0;
  for (int g = 0; g < groups; ++g) {
    const int factor = a.significand[g] * b.significand[g][j];
    const std::int64_t term = std::int64_t{a.sums[g][j]} * factor;
    total += moved(term, 27 - (largest - place[g]));
  }
  if (addend.significand != 0) {
    total += moved(addend.significand, 12 - (largest - addend.place));
  }
  return converted(total, largest - 35);
}

}  // namespace

e2m1_rows::e2m1_rows(const prepared_operand& x,
                     const matrix_view<unpacked>& scales,
                     const block_scaled_path& p)
    : groups_(ceil_div(x.cols(), group)),
      twice_(static_cast<std::size_t>(x.rows() * groups_ * group)),
      live_(static_cast<std::size_t>(x.rows() * groups_)),
      significands_(live_.size()),
      exponents_(live_.size()),
      plain_(static_cast<std::size_t>(x.rows()), 1) {
  const int point = fraction_bits(p.scale);
  for (std::ptrdiff_t i = 0; i < x.rows(); ++i) {
    for (std::ptrdiff_t k = 0; k < x.cols(); ++k) {
      const unpacked v = x.value(i, k);
      if (v.is_zero()) continue;
      const auto size = static_cast<int>(v.significand << (v.exponent + 1));
      const std::ptrdiff_t g = i * groups_ + k / group;
      twice_[static_cast<std::size_t>(g * group + k % group)] =
          static_cast<std::int8_t>(v.negative ? -size : size);
      auto& live = live_[static_cast<std::size_t>(g)];
      live = static_cast<std::uint16_t>(live | 1u << k % group);
    }
    for (std::ptrdiff_t g = 0; g < groups_; ++g) {
      const unpacked s = scales(i, g * group / p.block);
      const auto at = static_cast<std::size_t>(i * groups_ + g);
      if (s.is_nan()) plain_[static_cast<std::size_t>(i)] = 0;
      if (s.kind != kind::finite) {
        live_[at] = 0;
        continue;
      }
      significands_[at] =
          static_cast<std::int16_t>(s.significand << (3 - point));
      exponents_[at] = static_cast<std::int16_t>(s.exponent + point);
    }
  }
}

bool is_summed_fast(const block_scaled_path& p) {
  return p.terms == block_terms::sums && p.unscaled.acc == blackwell_fp4_f32 &&
         is_valid(p) && engine::current_simd() != engine::simd::reference;
}

void run_sums_of_blocks(const e2m1_rows& a, const e2m1_rows& b, const tile& t,
                        int floor, float* c) {
  static thread_local step_columns columns;
  const float_mode mode(float_mode::toward_zero);
  for (std::ptrdiff_t first = 0; first < a.groups(); first += groups_of_step) {
    const auto groups = static_cast<int>(
        std::min<std::ptrdiff_t>(groups_of_step, a.groups() - first));
    load_columns(b, t, first, groups, columns);
    const int cols = t.cols;  // of its own: no store below can change it
    for (int i = 0; i < t.rows; ++i) {
      const std::ptrdiff_t row = t.row + i;
      step_row from;
      for (int g = 0; g < groups; ++g) {
        sum_group(a.twice(row, first + g), columns, g, from.sums[g]);
        from.live[g] = a.live(row, first + g);
        from.significand[g] = a.significand(row, first + g);
        from.exponent[g] = a.exponent(row, first + g);
      }
      float* x = c + i * tile_rows;
      for (int j = 0; j < cols; ++j) {
        x[j] = step_of(from, columns, j, groups, floor, x[j]);
      }
    }
  }
}

}  // namespace zeroulp
