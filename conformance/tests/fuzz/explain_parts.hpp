// Defines problems on data as users have them, N(0, 1) in BF16, and whether an
// explanation names a cause.

#ifndef ZEROULP_CONFORMANCE_TESTS_FUZZ_EXPLAIN_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_FUZZ_EXPLAIN_PARTS_HPP_

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "fuzz/engine/opponent.hpp"
#include "fuzz/explain/explain.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::fuzz {

inline std::uint64_t normal(format f, counter_rng& rng) {
  const double u = (static_cast<double>(rng.next() >> 11) + 0.5) * 0x1p-53;
  const double v = (static_cast<double>(rng.next() >> 11) + 0.5) * 0x1p-53;
  return encode(
      f, decode(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v)));
}

inline matrix normals(const char* name, format f, std::ptrdiff_t rows,
                      std::ptrdiff_t cols, std::uint64_t seed) {
  matrix x(name, f, rows, cols);
  counter_rng rng(seed, 0);
  for (auto& word : x.words) word = normal(f, rng);
  return x;
}

inline problem quantizing(const char* convention, scale_kind scale,
                          std::ptrdiff_t rows, std::ptrdiff_t cols,
                          std::uint64_t seed, group_shape group = {1, 128}) {
  problem p;
  p.what = target::quantize;
  p.with.from = bf16;
  p.with.how = parse_convention(convention);
  p.with.scale = scale;
  p.with.group = group;
  p.in = {normals("x", bf16, rows, cols, seed), matrix("history", fp32, 1, 0),
          matrix("current", fp32, 1, 1)};
  return p;
}

/// Re-tiles what a quantizer made: codes of rows with scales that are powers of
/// two.
inline problem retiling(const problem& quantizer) {
  const outputs made = claimed_outputs(quantizer);
  problem p;
  p.what = target::retile;
  p.with.from = e4m3;
  p.with.scale = scale_kind::pow2;
  p.in = {made[1], made[0]};
  p.in[0].name = "codes";
  return p;
}

/// C, A and B of N(0, 1), quantized as DeepGEMM takes them.
inline problem multiplying(const char* name, std::ptrdiff_t m, std::ptrdiff_t n,
                           std::ptrdiff_t k, std::uint64_t seed) {
  problem p;
  p.what = target::gemm;
  settings& s = p.with;
  s.unit = hopper_wgmma_e4m3;
  s.gemm = parse_recipe(name).value;
  s.gemm.acc = s.unit.acc;
  const auto operand = [&](const char* codes, const char* scales,
                           std::ptrdiff_t rows, granularity g,
                           std::uint64_t with) {
    problem q = quantizing("vllm", scale_kind::float32, rows, k, with);
    q.with.group = {g.mn, g.k};
    outputs made = claimed_outputs(q);
    made[1].name = codes;
    made[0].name = scales;
    p.in.push_back(std::move(made[1]));
    return made[0];
  };
  matrix a_scales = operand("a", "a_scales", m, s.gemm.a, 2 * seed);
  matrix b_scales = operand("b", "b_scales", n, s.gemm.b, 2 * seed + 1);
  p.in.push_back(std::move(a_scales));
  p.in.push_back(std::move(b_scales));
  p.in.push_back(normals("c", fp32, m, n, seed));
  return p;
}

inline outputs without(outputs made, std::initializer_list<const char*> names) {
  std::erase_if(made, [&](const matrix& x) {
    return std::find(names.begin(), names.end(), std::string_view(x.name)) !=
           names.end();
  });
  return made;
}

/// What a kernel gives its user: no guards, no amax, no dequantized values.
inline outputs results(const outputs& made) {
  return without(made, {"values", "amax", "guards"});
}

/// True iff the first answer is this cause, or a group that has it.
inline bool names(const explanation& e, std::string_view cause) {
  return !e.likely.empty() && e.likely[0].has(cause);
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_CONFORMANCE_TESTS_FUZZ_EXPLAIN_PARTS_HPP_
