// The C ABI: comparison of codes, error measures, vector instructions.

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/metrics.hpp"
#include "zeroulp/simd.hpp"
#include "zeroulp/threads.hpp"

namespace zeroulp::c_abi {
namespace {

zeroulp_comparison to_c(const ulp_histogram& h) {
  zeroulp_comparison out{};
  out.count = static_cast<std::int64_t>(h.count);
  out.different = static_cast<std::int64_t>(h.different);
  out.first_row = out.first_col = -1;
  out.max_ulps = h.max_distance;
  out.zero_signs = static_cast<std::int64_t>(h.zero_sign);
  out.nan_payloads = static_cast<std::int64_t>(h.nan_payload);
  out.nan_mismatches = static_cast<std::int64_t>(h.nan_mismatches);
  std::copy(h.buckets.begin(), h.buckets.end(), out.buckets);
  return out;
}

zeroulp_comparison compare_codes(const zeroulp_format* given,
                                 const zeroulp_const_matrix* left,
                                 const zeroulp_const_matrix* right) {
  const auto a = view_of(left, "a");
  const auto b = view_of(right, "b");
  need_shape(b, "b", a.rows, a.cols, "in a");
  need_bytes(b, a.bytes, a.bytes, "b");
  int width = 8 * a.bytes;
  code_order order{0, low_bits(width), low_bits(width), false};
  if (given != nullptr) {
    const format f = format_of(given, "format");
    need_room(f, a, "a");
    width = f.bits();
    order = order_of(f);
  }
  const auto code = [width](const const_code_view& v, const char* what,
                            std::ptrdiff_t i, std::ptrdiff_t j) {
    const std::uint64_t x = read(v, i, j);
    if ((x & ~low_bits(width)) != 0) {
      refuse("{}: element ({}, {}) is {:x}, but codes have {} bits", what, i, j,
             x, width);
    }
    return x;
  };
  ulp_histogram h;
  in_order(a, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const std::uint64_t x = code(a, "a", i, j);
    h.add(x, code(b, "b", i, j), order);
  });
  zeroulp_comparison out = to_c(h);
  if (h.first_difference) {
    const auto at = static_cast<std::int64_t>(*h.first_difference);
    out.first_row = at / a.cols;
    out.first_col = at % a.cols;
    out.first_a = read(a, out.first_row, out.first_col);
    out.first_b = read(b, out.first_row, out.first_col);
    out.first_ulps = difference_of(out.first_a, out.first_b, order)
                         .distance.value_or(ZEROULP_NO_DISTANCE);
  }
  return out;
}

std::vector<double> doubles_of(const const_code_view& v, const char* what) {
  need_bytes(v, 8, 8, what);
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(v.rows * v.cols));
  in_order(v, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    values.push_back(bit_cast<double>(read(v, i, j)));
  });
  return values;
}

zeroulp_errors measure(const zeroulp_const_matrix* computed,
                       const zeroulp_const_matrix* exact,
                       const zeroulp_const_matrix* differences) {
  const auto c = view_of(computed, "computed");
  const auto x = view_of(exact, "exact");
  need_shape(x, "exact", c.rows, c.cols, "in computed");
  const auto got = doubles_of(c, "computed");
  const auto want = doubles_of(x, "exact");
  std::vector<double> errors;
  if (differences != nullptr) {
    const auto e = view_of(differences, "differences");
    need_shape(e, "differences", c.rows, c.cols, "in computed");
    errors = doubles_of(e, "differences");
  } else {
    errors.reserve(got.size());
    std::transform(got.begin(), got.end(), want.begin(),
                   std::back_inserter(errors), std::minus<>());
  }
  error_accumulator sum;
  sum.add(got, want, errors);
  const error_metrics m = sum.result();
  zeroulp_errors out{m.frobenius,
                     m.max_over_max,
                     m.max_over_mean,
                     m.max_over_rms,
                     m.bias,
                     m.sqnr_db,
                     m.one_minus_cosine,
                     {},
                     static_cast<std::int64_t>(m.count),
                     static_cast<std::int64_t>(m.nonfinite_matches),
                     static_cast<std::int64_t>(m.nonfinite_mismatches)};
  std::copy(m.quantiles.begin(), m.quantiles.end(), out.quantiles);
  return out;
}

engine::simd simd_of(std::int32_t set) {
  return enum_of(set, engine::simd::avx512, "set");
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace engine = zeroulp::engine;

zeroulp_status zeroulp_compare(const zeroulp_format* format,
                               const zeroulp_const_matrix* a,
                               const zeroulp_const_matrix* b,
                               zeroulp_comparison* comparison) {
  return guarded(__func__, [&] {
    needed(comparison, "comparison") = compare_codes(format, a, b);
  });
}

zeroulp_status zeroulp_measure_errors(const zeroulp_const_matrix* computed,
                                      const zeroulp_const_matrix* exact,
                                      const zeroulp_const_matrix* differences,
                                      zeroulp_errors* errors) {
  return guarded(__func__, [&] {
    needed(errors, "errors") = measure(computed, exact, differences);
  });
}

zeroulp_status zeroulp_simd_in_use(std::int32_t* set) {
  return guarded(__func__, [&] {
    needed(set, "set") = static_cast<std::int32_t>(engine::current_simd());
  });
}

zeroulp_status zeroulp_simd_is_supported(std::int32_t set,
                                         std::int32_t* supported) {
  return guarded(__func__, [&] {
    const auto wanted = simd_of(set);
    const auto& sets = engine::supported_simd();
    const bool yes = wanted == engine::simd::reference ||
                     std::find(sets.begin(), sets.end(), wanted) != sets.end();
    needed(supported, "supported") = yes ? 1 : 0;
  });
}

zeroulp_status zeroulp_use_simd(std::int32_t set) {
  return guarded(__func__, [&] { engine::use_simd(simd_of(set)); });
}

zeroulp_status zeroulp_threads_in_use(std::int32_t* count) {
  return guarded(__func__,
                 [&] { needed(count, "count") = engine::current_threads(); });
}

zeroulp_status zeroulp_use_threads(std::int32_t count) {
  return guarded(__func__, [&] { engine::use_threads(count); });
}
