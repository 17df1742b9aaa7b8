// Defines what the tests of identify_gemm share: products of the engine by a
// recipe, and products of kernels that follow none.

#ifndef ZEROULP_CONFORMANCE_TESTS_FUZZ_IDENTIFY_GEMM_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_FUZZ_IDENTIFY_GEMM_PARTS_HPP_

#include <utility>
#include <vector>

#include "conformance/cases/gemm_cases.hpp"
#include "conformance/tests/fuzz/identify_parts.hpp"
#include "conformance/tests/level.hpp"
#include "fuzz/identify/gemm.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {

/// Operands, scales and C as a recipe has them; D is zero.
inline gemm_evidence operands_for(const recipe& r, format fa, format fb,
                                  conformance::gemm_shape shape, bool scaled,
                                  std::uint64_t seed) {
  counter_rng rng(seed, 0);
  const auto g = conformance::make_gemm_case(
      {r, fa, fb}, shape, conformance::code_family::normal,
      conformance::scale_family::none, rng);
  gemm_evidence e;
  e.a.f = fa;
  e.b.f = fb;
  e.a.codes = g.a;
  e.b.codes = g.b;
  const auto scales_for = [&](granularity by, std::ptrdiff_t rows) {
    grid s(oracle::groups_along(rows, by.mn),
           by.k == 0 ? 1 : oracle::groups_along(shape.k, by.k));
    for (auto& word : s.words) {
      word =
          conformance::make_scale_bits(conformance::scale_family::normal, rng);
    }
    return s;
  };
  if (scaled) {
    e.a.scales = scales_for(r.a, shape.m);
    e.b.scales = scales_for(r.b, shape.n);
  }
  if (r.end == epilogue::accumulate) e.c = g.c;
  e.output = r.output;
  e.d = grid(shape.m, shape.n);
  return e;
}

/// A GEMM of the engine, as evidence.
inline gemm_evidence multiplied(const recipe& r, format fa, format fb,
                                conformance::gemm_shape shape, bool scaled,
                                std::uint64_t seed) {
  auto e = operands_for(r, fa, fb, shape, scaled, seed);
  engine::gemm(r, {fa, in(e.a.codes)}, scaled ? in(*e.a.scales) : views{},
               {fb, in(e.b.codes)}, scaled ? in(*e.b.scales) : views{},
               e.c ? in(*e.c) : views{}, out(e.d));
  return e;
}

/// Fills in D by a kernel that dequantizes first, and does with the products
/// what `sum` says. Scales are 1x128 and 128x128, or one each, or absent.
inline void multiply_by(float (*sum)(std::vector<float>), bool in_tiles,
                        gemm_evidence& e) {
  const auto rows = [](const operand_evidence& x, granularity by) {
    std::vector<std::vector<float>> all;
    for (std::ptrdiff_t i = 0; i < x.codes.rows; ++i) {
      const auto s = scales_of_row(x.scales ? in(*x.scales) : views{}, by, i);
      all.emplace_back();
      for (std::ptrdiff_t k = 0; k < x.codes.cols; ++k) {
        all.back().push_back(to_float(decode(x.f, x.codes(i, k))) *
                             bit_cast<float>(s.at(k)));
      }
    }
    return all;
  };
  const auto a = rows(e.a, in_tiles ? tile_1x128 : per_tensor);
  const auto b = rows(e.b, in_tiles ? block_128x128 : per_tensor);
  auto d = e.d.words.begin();
  for (const auto& x : a) {
    for (const auto& y : b) {
      std::vector<float> products;
      for (std::size_t k = 0; k < x.size(); ++k)
        products.push_back(x[k] * y[k]);
      const auto bits = bit_cast<std::uint32_t>(sum(std::move(products)));
      *d++ = static_cast<std::uint32_t>(
          recode(fp32, bits, e.output, {}, cuda_nosat));
    }
  }
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_CONFORMANCE_TESTS_FUZZ_IDENTIFY_GEMM_PARTS_HPP_
