// The GEMM kernels against the engine on random shapes; and no bit of a row may
// depend on the number of other rows.

#include "conformance/device/kernels/gemm/trial.hpp"
#include "conformance/device/support/guarded_scales.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::gemm_groups;

std::ptrdiff_t draw_k(std::ptrdiff_t most, counter_rng& rng) {
  return rng.one_in(12)  ? 0
         : rng.one_in(4) ? rng.between(1, 16)
                         : draw_length(most, rng);
}

verdict check_shapes(const effort& e) {
  verdict v;
  const std::ptrdiff_t most = e.level == 0 ? 140 : 400;
  const std::uint64_t count = cases(e, 24, 300);
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed + 20, n);
    const auto r = draw_served_recipe(rng);
    trial_shape s{gemm_groups::none, 1, draw_length(most, rng),
                  draw_length(most, rng), draw_k(2 * most, rng)};
    // Many rows or many columns select other tile sizes, with several tiles for
    // each block.
    if (e.level > 0 && rng.one_in(16)) {
      (rng.one_in(2) ? s.m : s.n) = rng.between(2000, 20000);
      s.k = std::min<std::ptrdiff_t>(s.k, 150);
      (s.m > s.n ? s.n : s.m) %= 70;
    }
    hold_gemm(make_trial(r, s, rng), rng, v);
  }
  return v;
}

/// Returns rows [first, first + count).
word_matrix rows_of(const word_matrix& x, std::ptrdiff_t first,
                    std::ptrdiff_t count) {
  word_matrix some(count, x.cols);
  const auto begin = x.words.begin() + first * x.cols;
  some.words.assign(begin, begin + count * x.cols);
  return some;
}

/// Returns the trial for some rows of A.
gemm_trial part_of(const gemm_trial& t, std::ptrdiff_t first,
                   std::ptrdiff_t count) {
  gemm_trial part = t;
  part.a = rows_of(t.a, first, count);
  if (t.r.a.mn == 1) part.sa = rows_of(t.sa, first, count);
  part.c = rows_of(t.c, first, count);
  part.before = rows_of(t.before, first, count);
  part.shape.m = count;
  return part;
}

verdict check_independence(const effort& e) {
  constexpr int heights[] = {1, 7, 64, 129, 300};
  verdict v;
  const bool few = e.level == 0;
  const std::uint64_t count = cases(e, 3, 5);
  for (std::uint64_t c = 0; c < count; ++c) {
    counter_rng rng(e.seed + 21, c);
    const trial_shape s{gemm_groups::none, 1, few ? 301 : 2100, few ? 40 : 4100,
                        few ? 130 : 300};
    auto t = make_trial(draw_served_recipe(rng), s, rng);
    // The first three cases cover each kind of scaling.
    constexpr recipe scalings[] = {deepgemm_1d2d_recipe, deepgemm_1d1d_recipe,
                                   cublaslt_tensorwise_recipe};
    if (c < std::size(scalings)) t = make_trial(scalings[c], s, rng);
    const auto whole = run_gemm(t, rng);
    for (const int height : heights) {
      const std::ptrdiff_t first =
          rng.between(0, static_cast<int>(s.m) - height);
      const auto right = rows_of(whole, first, height);
      const auto part = part_of(t, first, height);
      const auto got = run_gemm(part, rng);
      compare_codes(part.name() + ", rows from " + std::to_string(first) +
                        " of a product of " + std::to_string(s.m),
                    got.view(), right.view(), v);
    }
  }
  return v;
}

/// Adds a product to D right after a longer GEMM that writes D: the two may
/// overlap on the GPU, so that the second must wait.
verdict check_in_turn(const effort& e) {
  verdict v;
  const std::uint64_t count = cases(e, 2, 20);
  for (std::uint64_t i = 0; i < count; ++i) {
    counter_rng rng(e.seed + 27, i);
    auto r = i % 2 == 0 ? deepgemm_1d2d_recipe : deepgemm_1d1d_recipe;
    r.output = fp32, r.end = epilogue::accumulate;
    const std::ptrdiff_t m = rng.between(1, 70), n = rng.between(1, 70);
    const auto trial_of = [&](std::ptrdiff_t k) {
      auto t = make_trial(r, {gemm_groups::none, 1, m, n, k}, rng);
      t.c_is_d = true;
      return t;
    };
    const auto first = trial_of(16384 + rng.between(0, 1000));
    auto next = trial_of(rng.between(1, 128));
    const auto got = run_gemm(first, rng, &next);
    next.c = run_gemm(first, rng);
    const auto right = run_gemm(next, rng);
    compare_codes(next.name() + " right after " + first.name(), got.view(),
                  right.view(), v);
  }
  return v;
}

}  // namespace

check_list kernel_gemm_checks() {
  check_list all = {
      device_check("kernel.gemm.shapes", "G1 G3 G4 G5 G6 G8 G9 G13", "host",
                   check_shapes),
      device_check("kernel.gemm.rows_stand_alone", "G9 G13", "property",
                   check_independence),
      device_check("kernel.gemm.in_turn", "G9 G13", "property", check_in_turn)};
  for (const auto& list :
       {gemm_group_checks(), gemm_large_checks(), gemm_refusal_checks()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace zeroulp::conformance::device
