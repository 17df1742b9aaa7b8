// Makes the numbers of gemm: the families of conformance/cases/gemm_cases.hpp,
// sums that cancel from interval to interval, and outputs on midpoints of BF16.

#include <algorithm>

#include "conformance/cases/gemm_cases.hpp"
#include "fuzz/targets/gemm_parts.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::code_family;
using conformance::scale_family;

enum class profile : std::uint8_t {
  normal,
  positive,
  finite,
  sparse,
  huge,
  special,
  scales,
  cancel,
  ties,
};

code_family codes_of(profile how) {
  switch (how) {
    case profile::positive:
      return code_family::positive;
    case profile::finite:
      return code_family::finite;
    case profile::sparse:
      return code_family::sparse;
    case profile::huge:
      return code_family::huge;
    case profile::special:
      return code_family::special;
    case profile::normal:
    case profile::scales:
    case profile::cancel:
    case profile::ties:
      break;
  }
  return code_family::normal;
}

scale_family scales_of(profile how, counter_rng& rng) {
  constexpr scale_family near_one[] = {scale_family::power_of_two,
                                       scale_family::normal};
  constexpr scale_family far[] = {scale_family::subnormal, scale_family::huge};
  if (how == profile::scales || (how == profile::huge && rng.one_in(2))) {
    return one_of(far, rng);
  }
  return one_of(near_one, rng);
}

struct operands_of_gemm {
  explicit operands_of_gemm(problem& p)
      : a(p.in[0]), b(p.in[1]), sa(p.in[2]), sb(p.in[3]), c(p.in[4]) {}
  matrix& a;
  matrix& b;
  matrix& sa;
  matrix& sb;
  matrix& c;
};

void fill_families(operands_of_gemm x, profile how, counter_rng& rng) {
  const code_family codes = codes_of(how);
  for (matrix* m : {&x.a, &x.b}) {
    for (auto& code : m->words) {
      code = conformance::make_code(m->type, codes, rng);
    }
  }
  for (matrix* m : {&x.sa, &x.sb}) {
    const scale_family scales = scales_of(how, rng);
    // In some cases special scales occur throughout the matrix.
    const bool special =
        (how == profile::scales || how == profile::special) && rng.one_in(2);
    for (auto& scale : m->words) {
      scale = special && rng.one_in(3)
                  ? draw_scale(rng)
                  : conformance::make_scale_bits(scales, rng);
    }
  }
  for (auto& word : x.c.words) {
    const bool any = how == profile::special && rng.one_in(3);
    const std::uint64_t near = (115 + rng.below(20)) << 23;
    const std::uint32_t bits = rng.next32();
    word = any ? bits : near | (bits & 0x807fffff);
  }
}

/// Makes each odd interval of A the negative of the one before, except for a
/// last bit here and there; B and the scales repeat. The FP32 sums then consist
/// of the roundings that remain.
void cancel(operands_of_gemm x, std::ptrdiff_t grain, std::int32_t cover_a,
            std::int32_t cover_b, counter_rng& rng) {
  const auto repeat = [](matrix& m, std::ptrdiff_t period, std::uint64_t flip) {
    for (std::ptrdiff_t i = 0; i < m.rows; ++i) {
      for (std::ptrdiff_t j = period; j < m.cols; ++j) {
        if (j / period % 2 == 1) m(i, j) = m(i, j - period) ^ flip;
      }
    }
  };
  repeat(x.a, grain, x.a.type.sign_mask());
  repeat(x.b, grain, 0);
  if (cover_a == grain) repeat(x.sa, 1, 0);
  if (cover_b == grain) repeat(x.sb, 1, 0);
  for (auto& code : x.a.words) {
    if (rng.one_in(256)) code ^= 1;
  }
}

/// Returns FP32 bits on a midpoint of BF16, next to one, or near a code.
std::uint32_t draw_tie(counter_rng& rng) {
  constexpr std::uint32_t tails[] = {0x8000, 0x8000, 0x7fff, 0x8001, 1, 0xffff};
  const std::uint32_t exponent = 100 + rng.below(50);
  const std::uint32_t any = exponent << 7 | rng.below(128);
  const std::uint32_t head = rng.one_in(8) ? 0x7f7f : any;
  return head << 16 | one_of(tails, rng);
}

/// Returns the code of 2^e, e <= 0; 0 where the format has no number so small.
std::uint64_t power(format f, int e) {
  if (e >= f.min_exponent()) {
    return static_cast<std::uint64_t>(e + f.bias) << f.man_bits;
  }
  const int place = e - f.quantum_exponent();
  return place < 0 ? 0 : std::uint64_t{1} << place;
}

/// Makes sums that are midpoints of BF16, or beside one. They are sums of two
/// or more products 2^-8 apart, or a scale of A alone, or C alone.
void fill_ties(operands_of_gemm x, bool accumulates, counter_rng& rng) {
  for (matrix* m : {&x.a, &x.b, &x.c}) {
    std::fill(m->words.begin(), m->words.end(), 0);
  }
  for (matrix* m : {&x.sa, &x.sb}) {
    std::fill(m->words.begin(), m->words.end(), fp32_one);
  }
  const auto sign = [&rng](format f) {
    return rng.one_in(2) ? f.sign_mask() : 0;
  };
  if (accumulates && rng.one_in(2)) {
    for (auto& word : x.c.words) {
      word = draw_tie(rng);
      word |= sign(fp32);
    }
    return;
  }
  const std::ptrdiff_t k = x.a.cols;
  const bool by_scale = x.sa.rows > 0 && rng.one_in(2);
  for (auto& scale : x.sa.words) {
    if (by_scale) scale = draw_tie(rng);
  }
  for (std::ptrdiff_t i = 0; k > 0 && i < x.a.rows; ++i) {
    const std::uint64_t minus = sign(x.a.type);
    x.a(i, 0) = power(x.a.type, 0) | minus;
    if (by_scale) continue;
    // Three more fraction bits (FP8 has no more), 2^-7, 2^-8, 2^-12. FP6 and
    // FP4 do not have them all.
    const int man_bits = x.a.type.man_bits;
    const std::uint64_t fraction = rng.below(4);
    x.a(i, 0) |= man_bits < 2 ? fraction / 2 : fraction << (man_bits - 2);
    const std::uint64_t beside = rng.below(3);
    const std::uint64_t parts[] = {
        power(x.a.type, -4) | minus, power(x.a.type, -3) | minus,
        power(x.a.type, -6) |
            (beside == 1 ? minus : minus ^ x.a.type.sign_mask())};
    x.a(i, std::min<std::ptrdiff_t>(1, k - 1)) = parts[0];
    if (k > 2 && rng.one_in(2)) x.a(i, 2) = parts[1];
    if (k > 3 && beside > 0) x.a(i, 3) = parts[2];
  }
  constexpr int powers[] = {0, -4, -4, -6};
  for (std::ptrdiff_t j = 0; j < x.b.rows; ++j) {
    for (std::ptrdiff_t at = 0; at < std::min<std::ptrdiff_t>(4, k); ++at) {
      x.b(j, at) = power(x.b.type, powers[at]);
    }
  }
}

conformance::gemm_shape draw_shape(const recipe& r, profile how,
                                   counter_rng& rng) {
  auto shape = conformance::make_shape(rng);
  if (how == profile::cancel) {
    // Two or three intervals, and a tail.
    const auto grain = gemm_grain(r, 64);
    shape.m = rng.between(1, 3);
    shape.n = rng.between(1, 3);
    shape.k = grain * rng.between(2, 3);
    shape.k += rng.below(4);
  }
  if (how == profile::ties) shape.k = std::max<std::ptrdiff_t>(shape.k, 4);
  return shape;
}

}  // namespace

void fill_gemm(problem& p, int profile_index, counter_rng& rng) {
  const settings& s = p.with;
  const recipe r = recipe_of(s);
  const auto how = static_cast<profile>(profile_index);
  const auto shape = draw_shape(r, how, rng);
  const std::uint32_t present = rng.below(6);  // 0: none; 1: A; 2: B
  p.in.clear();
  for (const auto& spec : gemm_operands(s)) {
    const bool is_a = std::string_view(spec.name) == "a_scales";
    const bool there = present > 2 || present == (is_a ? 1 : 2);
    p.in.push_back(spec.optional && !there
                       ? matrix(spec.name, spec.type, 0, 0)
                       : make_operand(spec, shape.m, shape.n, shape.k));
  }
  const operands_of_gemm x(p);
  if (how == profile::ties) {
    fill_ties(x, r.end == epilogue::accumulate, rng);
    return;
  }
  fill_families(x, how, rng);
  if (how == profile::cancel) {
    cancel(x, gemm_grain(r, 64), r.a.k, r.b.k, rng);
  }
}

}  // namespace zeroulp::fuzz
