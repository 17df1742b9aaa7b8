// Defines `gemm_trial`: one call of cuda::gemm with its matrices on the host,
// and its comparison with the engine, product by product. SPEC clauses G1 to
// G13.

#ifndef ZEROULP_CONFORMANCE_DEVICE_KERNELS_GEMM_TRIAL_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_KERNELS_GEMM_TRIAL_HPP_

#include <string>
#include <vector>

#include "conformance/cases/gemm_cases.hpp"
#include "conformance/device/support/guarded.hpp"
#include "zeroulp/cuda_gemm.hpp"

namespace zeroulp::conformance::device {

/// The shape of a call: m, n, k of one matrix. If the groups are ranges of rows
/// or of K, m or k counts all groups together.
struct trial_shape {
  cuda::gemm_groups kind = cuda::gemm_groups::none;
  std::ptrdiff_t count = 1;
  std::ptrdiff_t m = 0, n = 0, k = 0;

  bool has_several_a() const { return kind == cuda::gemm_groups::m_masked; }
  bool has_several_b() const {
    return has_several_a() || kind == cuda::gemm_groups::m_contiguous;
  }
  bool has_several_d() const {
    return has_several_a() || kind == cuda::gemm_groups::k_contiguous;
  }
  std::ptrdiff_t a_rows() const { return has_several_a() ? count * m : m; }
  std::ptrdiff_t b_rows() const { return has_several_b() ? count * n : n; }
  std::ptrdiff_t d_rows() const { return has_several_d() ? count * m : m; }
};

/// One product of a call: rows of D, and the rows of A and B that give them.
struct gemm_product {
  std::ptrdiff_t row, rows, a_row, b_row;
  std::ptrdiff_t first_a_scale, first_b_scale;  ///< rows of scales
  std::ptrdiff_t k_begin, k_end;
  bool is_spoiled;  ///< D is NaN
};

/// Returns the products that the table of groups asks for.
std::vector<gemm_product> products_of(const recipe& r, const trial_shape& s,
                                      const std::vector<std::int32_t>& table);

/// Returns the rows or columns of scales for this many elements.
constexpr std::ptrdiff_t scale_count(std::ptrdiff_t length, std::int32_t by) {
  return by == 0 ? 1 : ceil_div(length, by);
}

struct gemm_trial {
  recipe r = deepgemm_1d2d_recipe;
  format fa = e4m3;
  format fb = e4m3;
  word_matrix a{0, 0}, b{0, 0};    ///< codes
  word_matrix sa{0, 0}, sb{0, 0};  ///< without rows: no scales
  word_matrix c{0, 0};
  word_matrix before{0, 0};  ///< D before the call, codes of r.output
  bool c_is_d = false;       ///< then `before` is not used
  bool may_race = false;     ///< products share rows: D is either's
  trial_shape shape{};
  std::vector<std::int32_t> table{};

  const word_matrix& start() const { return c_is_d ? c : before; }
  std::string name() const;
};

/// Draws a recipe that cuda::gemm serves.
recipe draw_served_recipe(counter_rng& rng);

/// Draws formats, numbers, and whether C is D. The caller fills the table.
gemm_trial make_trial(const recipe& r, const trial_shape& s, counter_rng& rng);

/// Returns D by cuda::gemm for matrices placed at random, with NaN around them.
/// Runs twice, in two places; throws if the runs differ or if memory around D
/// changed. `next` is a second call right after it, with the same D.
word_matrix run_gemm(const gemm_trial& t, counter_rng& rng,
                     const gemm_trial* next = nullptr);

/// Counts the elements of D that are not what G13 requires. If several products
/// cover an element, any of them is right.
void hold_gemm(const gemm_trial& t, counter_rng& rng, verdict& v);

/// Draws a length up to `most`: small, near a tile's edge, or any.
std::ptrdiff_t draw_length(std::ptrdiff_t most, counter_rng& rng);

// Parts of the list of checks.
check_list gemm_group_checks();
check_list gemm_large_checks();
check_list gemm_refusal_checks();

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_KERNELS_GEMM_TRIAL_HPP_
