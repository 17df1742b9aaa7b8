// The C ABI: the values of its enums are those of C++.

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/core/path.hpp"
#include "zeroulp/core/retile.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp::c_abi {
namespace {

/// Returns true iff the C values are those of the C++ enum, in this order, and
/// count from 0.
template <class Enum, std::size_t Size>
constexpr bool are(const int (&c)[Size], const Enum (&cpp)[Size]) {
  for (std::size_t i = 0; i < Size; ++i) {
    if (c[i] != static_cast<int>(i) || static_cast<int>(cpp[i]) != c[i]) {
      return false;
    }
  }
  return true;
}

static_assert(are({ZEROULP_SPECIALS_IEEE, ZEROULP_SPECIALS_FN,
                   ZEROULP_SPECIALS_FNUZ, ZEROULP_SPECIALS_FINITE,
                   ZEROULP_SPECIALS_SCALE},
                  {specials::ieee, specials::fn, specials::fnuz,
                   specials::finite, specials::scale}));

static_assert(are({ZEROULP_NEAREST_EVEN, ZEROULP_NEAREST_AWAY,
                   ZEROULP_TOWARD_ZERO, ZEROULP_UP, ZEROULP_DOWN,
                   ZEROULP_TO_ODD, ZEROULP_STOCHASTIC},
                  {rounding::nearest_even, rounding::nearest_away,
                   rounding::toward_zero, rounding::up, rounding::down,
                   rounding::to_odd, rounding::stochastic}));

static_assert(are({ZEROULP_QUIET, ZEROULP_ALL_ONES, ZEROULP_LOWEST,
                   ZEROULP_LARGEST},
                  {nan_payload::quiet, nan_payload::all_ones,
                   nan_payload::lowest, nan_payload::largest}));

static_assert(
    are({ZEROULP_SCALE_QUOTIENT, ZEROULP_SCALE_TIMES_RECIPROCAL,
         ZEROULP_SCALE_RECIPROCAL_INVERSE, ZEROULP_SCALE_RECIPROCAL_PRODUCT},
        {scale_rule::quotient, scale_rule::times_reciprocal,
         scale_rule::reciprocal_inverse, scale_rule::reciprocal_product}));

static_assert(are({ZEROULP_ELEMENT_EXACT_QUOTIENT, ZEROULP_ELEMENT_QUOTIENT,
                   ZEROULP_ELEMENT_SCALE_RECIPROCAL, ZEROULP_ELEMENT_INVERSE,
                   ZEROULP_ELEMENT_APPROXIMATE_QUOTIENT},
                  {element_rule::exact_quotient, element_rule::quotient,
                   element_rule::scale_reciprocal, element_rule::inverse,
                   element_rule::approximate_quotient}));

static_assert(are(
    {ZEROULP_AMAX_FINITE_ONLY, ZEROULP_AMAX_SKIP_NAN, ZEROULP_AMAX_KEEP_NAN},
    {amax_rule::finite_only, amax_rule::skip_nan, amax_rule::keep_nan}));

static_assert(are({ZEROULP_SCALE_FP32, ZEROULP_SCALE_POW2,
                   ZEROULP_SCALE_POW2_DOWN, ZEROULP_SCALE_POW2_NEAREST,
                   ZEROULP_SCALE_OCP},
                  {scale_kind::float32, scale_kind::pow2, scale_kind::pow2_down,
                   scale_kind::pow2_nearest, scale_kind::ocp}));

static_assert(are({ZEROULP_EXPONENT_EXACT, ZEROULP_EXPONENT_OF_SCALE,
                   ZEROULP_EXPONENT_OF_LOG2},
                  {exponent_rule::exact, exponent_rule::of_scale,
                   exponent_rule::of_log2}));

static_assert(
    are({ZEROULP_THROUGH_NOTHING, ZEROULP_THROUGH_BF16, ZEROULP_THROUGH_FP16},
        {pre_rounding::none, pre_rounding::to_bf16, pre_rounding::to_fp16}));

static_assert(are({ZEROULP_RETILE_AMAX, ZEROULP_RETILE_MAX_SCALE},
                  {retile_rule::amax, retile_rule::max_scale}));

static_assert(are({ZEROULP_ADDEND_ALIGNED, ZEROULP_ADDEND_LAST},
                  {addend::aligned, addend::last}));
static_assert(ZEROULP_UNCUT == uncut && ZEROULP_NO_FLOOR == no_floor);

static_assert(are({ZEROULP_LOWERING_DIRECT, ZEROULP_LOWERING_HMMA_CHAINED,
                   ZEROULP_LOWERING_HMMA_ZERO},
                  {lowering::direct, lowering::hmma_chained,
                   lowering::hmma_zero}));

static_assert(are({ZEROULP_PROMOTION_ADD, ZEROULP_PROMOTION_PRODUCT_OF_SCALES,
                   ZEROULP_PROMOTION_ONE_THEN_OTHER,
                   ZEROULP_PROMOTION_OTHER_THEN_ONE},
                  {promotion::add, promotion::product_of_scales,
                   promotion::one_then_other, promotion::other_then_one}));

static_assert(are({ZEROULP_EPILOGUE_STORE, ZEROULP_EPILOGUE_ACCUMULATE},
                  {epilogue::store, epilogue::accumulate}));

static_assert(are({ZEROULP_HISTORY_MAXIMUM, ZEROULP_HISTORY_MOVING_AVERAGE},
                  {history_rule::maximum, history_rule::moving_average}));

static_assert(are({ZEROULP_LAYOUT_ROW_MAJOR, ZEROULP_LAYOUT_MN_MAJOR,
                   ZEROULP_LAYOUT_BLK128, ZEROULP_LAYOUT_UE8M0},
                  {scale_layout::row_major, scale_layout::mn_major,
                   scale_layout::blk128, scale_layout::packed_ue8m0}));

static_assert(are({ZEROULP_SIMD_REFERENCE, ZEROULP_SIMD_PORTABLE,
                   ZEROULP_SIMD_AVX2, ZEROULP_SIMD_AVX512},
                  {engine::simd::reference, engine::simd::portable,
                   engine::simd::avx2, engine::simd::avx512}));

}  // namespace
}  // namespace zeroulp::c_abi
