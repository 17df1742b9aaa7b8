// Re-tiling and GEMM of small matrices on the device against the host: SPEC
// clauses W and G. A case gives one hash over all its outputs.

#include "conformance/device/support/same_bits.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/core/retile.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

ZEROULP_HD constexpr std::uint64_t combine(std::uint64_t hash,
                                           std::uint64_t value) {
  return mix64(hash ^ value) + value;
}

/// Case i: a random 9 x 7 matrix of codes in tiles of 4.
struct retile_case {
  static constexpr int rows = 9;
  static constexpr int cols = 7;
  struct matrix {
    std::uint16_t codes[rows * cols];
    std::uint32_t scales[rows * 2];
  };

  retiling r;
  std::uint64_t seed;

  ZEROULP_HD std::uint64_t operator()(std::uint64_t i) const {
    const matrix in = input(i);
    std::uint16_t out[cols * rows];
    std::uint32_t out_scales[cols * 3];
    retile(r, matrix_view<const std::uint16_t>(in.codes, rows, cols),
           matrix_view<const std::uint32_t>(in.scales, rows, 2),
           matrix_view<std::uint16_t>(out, cols, rows),
           matrix_view<std::uint32_t>(out_scales, cols, 3));
    std::uint64_t hash = 0;
    for (const auto code : out) hash = combine(hash, code);
    for (const auto scale : out_scales) hash = combine(hash, scale);
    return hash;
  }

  std::string describe(std::uint64_t i) const {
    const matrix in = input(i);
    return name_of(r.from) + " " + name_of(r.to) + ", " +
           std::string(name_of(r.scale)) +
           in_hex("codes", in.codes, rows * cols) +
           in_hex("scales", in.scales, rows * 2);
  }

 private:
  ZEROULP_HD matrix input(std::uint64_t i) const {
    counter_rng rng(seed, i);
    matrix m;
    for (auto& code : m.codes) {
      code = static_cast<std::uint16_t>(rng.next32() & low_bits(r.from.bits()));
    }
    for (auto& scale : m.scales) {
      const int e =
          rng.one_in(16) ? rng.between(-149, 127) : rng.between(-12, 12);
      scale = pow2_as_fp32(e);
      if (r.scale == scale_kind::float32) scale ^= rng.next32() & 0x7fffff;
      if (rng.one_in(64)) scale = rng.one_in(2) ? 0 : fp32_infinity;
    }
    return m;
  }
};

/// Case i: a random product of 2 x 300 and 2 x 300.
struct gemm_case {
  static constexpr int m = 2;
  static constexpr int n = 2;
  static constexpr int k = 300;
  static constexpr int groups = 3;  // of 128 along K
  struct matrices {
    std::uint8_t a[m * k];
    std::uint8_t b[n * k];
    std::uint32_t scales_a[m * groups];
    std::uint32_t scales_b[n * groups];
    std::uint32_t c[m * n];
  };

  recipe r;
  format a;
  format b;
  std::uint64_t seed;

  ZEROULP_HD std::uint64_t operator()(std::uint64_t i) const {
    const matrices in = inputs(i);
    std::uint32_t d[m * n];
    using words = matrix_view<const std::uint32_t>;
    gemm(r,
         gemm_operand<std::uint8_t>{
             a, {in.a, m, k}, words(in.scales_a, m, groups)},
         gemm_operand<std::uint8_t>{
             b, {in.b, n, k}, words(in.scales_b, n, groups)},
         words(in.c, m, n), matrix_view<std::uint32_t>(d, m, n));
    std::uint64_t hash = 0;
    for (const auto e : d) hash = combine(hash, e);
    return hash;
  }

  std::string describe(std::uint64_t i) const {
    const matrices in = inputs(i);
    return name_of(a) + " " + name_of(b) +
           in_hex("scales of a", in.scales_a, m * groups) +
           in_hex("of b", in.scales_b, n * groups) + in_hex("c", in.c, m * n) +
           in_hex("a", in.a, m * k) + in_hex("b", in.b, n * k);
  }

 private:
  ZEROULP_HD matrices inputs(std::uint64_t i) const {
    counter_rng rng(seed, i);
    matrices in;
    for (auto& code : in.a) code = random_code(a, i, rng);
    for (auto& code : in.b) code = random_code(b, i, rng);
    for (auto& scale : in.scales_a) scale = random_scale(rng);
    for (auto& scale : in.scales_b) scale = random_scale(rng);
    for (auto& e : in.c) e = fp32_one ^ (rng.next32() & 0x87ffffff);
    return in;
  }

  /// Returns any code in one case of 16, else a finite one.
  static ZEROULP_HD std::uint8_t random_code(format f, std::uint64_t i,
                                             counter_rng& rng) {
    const auto any = static_cast<std::uint8_t>(rng.next32() >> 24);
    return i % 16 == 0 || decode(f, any).is_finite() ? any : 0;
  }
  static ZEROULP_HD std::uint32_t random_scale(counter_rng& rng) {
    const auto exponent = static_cast<std::uint32_t>(rng.between(112, 134));
    return exponent << 23 | (rng.next32() & 0x7fffff);
  }
};

verdict check_retile(retile_rule rule, const effort& e) {
  verdict total;
  for (const auto& kind : named_scale_kinds) {
    for (const auto& [from, to] :
         {std::pair{e4m3, e4m3}, {e5m6, e5m6}, {e5m6, e4m3}, {e4m3, e5m2}}) {
      total += same_bits(retile_case{{from, to, kind.value, 4, rule}, e.seed},
                         cases(e, 1 << 6, 1 << 14));
    }
  }
  return total;
}

verdict check_gemm(const recipe& r, const effort& e) {
  verdict total;
  for (const auto& [a, b] :
       {std::pair{e4m3, e4m3}, {e4m3, e5m2}, {e5m2, e4m3}, {e5m2, e5m2}}) {
    total += same_bits(gemm_case{r, a, b, e.seed}, cases(e, 1 << 4, 1 << 12));
  }
  return total;
}

}  // namespace

check_list core_retile_checks() {
  return checks_of_each(named_retile_rules, "core.retile.", "W1 W2 W3 W4 W5 W7",
                        "host", check_retile);
}

check_list core_gemm_checks() {
  return checks_of_each(named_recipes, "core.gemm.",
                        "G1 G2 G3 G4 G5 G6 G7 G8 G9", "host", check_gemm);
}

}  // namespace zeroulp::conformance::device
