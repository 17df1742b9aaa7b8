// Faults of the promoted GEMM that change a field of the recipe or promote in
// their own way. gemm_operand_mutants.cpp has the others.

#include <algorithm>
#include <cstddef>

#include "conformance/mutants/gemm_parts.hpp"

namespace zeroulp::conformance {
namespace {

/// The core with the recipe changed.
template <auto Change>
void with(const recipe& r, const operand& a, const operand& b, codes_in c,
          codes_out d) {
  recipe q = r;
  Change(q);
  gemm(q, a, b, c, d);
}

void never_promoted(recipe& r) {
  if (r.update == promotion::add) r.interval = 0;
}
void interval_doubled(recipe& r) { r.interval *= 2; }
void every_step(recipe& r) {
  if (r.interval > 0 && r.acc.length > 0) r.interval = r.acc.length;
}
void product_first(recipe& r) {
  if (r.update == promotion::one_then_other ||
      r.update == promotion::other_then_one) {
    r.update = promotion::product_of_scales;
  }
}
void one_by_one(recipe& r) {
  if (r.update == promotion::product_of_scales) {
    r.update = promotion::one_then_other;
  }
}
void other_first(recipe& r) {
  if (r.update == promotion::one_then_other) {
    r.update = promotion::other_then_one;
  } else if (r.update == promotion::other_then_one) {
    r.update = promotion::one_then_other;
  }
}
void not_split(recipe& r) { r.splits = 1; }
void c_ignored(recipe& r) { r.end = epilogue::store; }
void one_group(recipe& r) {
  if (r.acc.fraction_bits != uncut) r.acc.length = 0;
}

/// One output, with a promotion of one's own: `promote(acc, p, sa, sb)`.
template <class Promote>
void promoted_by(const recipe& r, const operand& a, const operand& b,
                 codes_in c, codes_out d, Promote promote) {
  const path p{a.f, b.f, r.acc};
  const std::ptrdiff_t k_end = a.codes.cols;
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const auto sa = scales_of_row(a.scales, r.a, i);
      const auto sb = scales_of_row(b.scales, r.b, j);
      std::uint32_t acc = 0;
      for (std::ptrdiff_t k = 0; k < k_end; k += r.interval) {
        const std::ptrdiff_t stop = std::min(k_end, k + r.interval);
        const auto partial =
            fp32_word(chain(p, a.row(i), b.row(j), k, stop, 0));
        acc = promote(acc, partial, sa.at(k), sb.at(k));
      }
      d(i, j) = finish(r, acc, c.data == nullptr ? 0 : c(i, j));
    }
  }
}

bool has_scaled_promotion(const recipe& r) {
  return r.interval > 0 && r.splits == 1 && r.update != promotion::add;
}

using detail::fl_add;
using detail::fl_fma;
using detail::fl_multiply;

void fma_twice(const recipe& r, const operand& a, const operand& b, codes_in c,
               codes_out d) {
  if (!has_scaled_promotion(r)) return gemm(r, a, b, c, d);
  promoted_by(r, a, b, c, d, [&r](auto acc, auto p, auto sa, auto sb) {
    switch (r.update) {
      case promotion::one_then_other:
        return fl_add(acc, fl_multiply(fl_multiply(p, sa), sb));
      case promotion::other_then_one:
        return fl_add(acc, fl_multiply(fl_multiply(p, sb), sa));
      default:
        return fl_add(acc, fl_multiply(p, fl_multiply(sa, sb)));
    }
  });
}

void added_then_scaled(const recipe& r, const operand& a, const operand& b,
                       codes_in c, codes_out d) {
  if (!has_scaled_promotion(r)) return gemm(r, a, b, c, d);
  promoted_by(r, a, b, c, d, [](auto acc, auto p, auto sa, auto sb) {
    return fl_multiply(fl_add(acc, p), fl_multiply(sa, sb));
  });
}

void partial_in_bf16(const recipe& r, const operand& a, const operand& b,
                     codes_in c, codes_out d) {
  if (!has_scaled_promotion(r)) return gemm(r, a, b, c, d);
  promoted_by(r, a, b, c, d, [&r](auto acc, auto p, auto sa, auto sb) {
    const auto rounded = recode(bf16, recode(fp32, p, bf16), fp32);
    return promote(r.update, acc, fp32_word(rounded), sa, sb);
  });
}

/// The scales of a tensor, each applied by itself.
void scaled_twice(const recipe& r, const operand& a, const operand& b,
                  codes_in c, codes_out d) {
  if (r.update != promotion::add || a.scales.data == nullptr ||
      b.scales.data == nullptr) {
    return gemm(r, a, b, c, d);
  }
  recipe raw = r;
  raw.output = fp32;
  raw.end = epilogue::store;
  gemm(raw, operand{a.f, a.codes}, operand{b.f, b.codes}, {}, d);
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const auto sa = scales_of_row(a.scales, r.a, i).at(0);
      const auto sb = scales_of_row(b.scales, r.b, j).at(0);
      const auto acc = fl_fma(fl_multiply(d(i, j), sa), sb, 0);
      d(i, j) = finish(r, acc, c.data == nullptr ? 0 : c(i, j));
    }
  }
}

template <rounding Mode>
void bf16_output(const recipe& r, const operand& a, const operand& b,
                 codes_in c, codes_out d) {
  if (r.output != bf16) return gemm(r, a, b, c, d);
  recipe wide = r;
  wide.output = fp32;
  gemm(wide, a, b, c, d);
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      d(i, j) = fp32_word(recode(fp32, d(i, j), bf16, {Mode}, cuda_nosat));
    }
  }
}

void bf16_quiet_nan(const recipe& r, const operand& a, const operand& b,
                    codes_in c, codes_out d) {
  gemm(r, a, b, c, d);
  if (r.output != bf16) return;
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      if (d(i, j) == 0x7fff) d(i, j) = 0x7fc0;
    }
  }
}

/// C is where the FP32 sum starts.
void c_first(const recipe& r, const operand& a, const operand& b, codes_in c,
             codes_out d) {
  if (!has_scaled_promotion(r) || r.end != epilogue::accumulate) {
    return gemm(r, a, b, c, d);
  }
  recipe raw = r;
  raw.end = epilogue::store;
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const path p{a.f, b.f, r.acc};
      const auto sa = scales_of_row(a.scales, r.a, i);
      const auto sb = scales_of_row(b.scales, r.b, j);
      std::uint32_t acc = c(i, j);
      for (std::ptrdiff_t k = 0; k < a.codes.cols; k += r.interval) {
        const std::ptrdiff_t stop = std::min(a.codes.cols, k + r.interval);
        const auto partial =
            fp32_word(chain(p, a.row(i), b.row(j), k, stop, 0));
        acc = promote(r.update, acc, partial, sa.at(k), sb.at(k));
      }
      d(i, j) = finish(raw, acc, 0);
    }
  }
}

}  // namespace

mutant_list gemm_mutants() {
  mutant_list all = {
      multiplies("never_promoted", "as if nothing were promoted",
                 with<never_promoted>),
      multiplies("interval_doubled", "as if promotion came half as often",
                 with<interval_doubled>),
      multiplies("promoted_every_step", "as if every step were promoted",
                 with<every_step>),
      multiplies("product_first", "as if the scales were multiplied first",
                 with<product_first>),
      multiplies("one_by_one", "as if the scales were applied one by one",
                 with<one_by_one>),
      multiplies("other_scale_first", "as if the other scale came first",
                 with<other_first>),
      multiplies("promotion_rounds_twice", "as if the promotion had no fma",
                 fma_twice),
      multiplies("added_then_scaled", "as if p were added before scaling",
                 added_then_scaled),
      multiplies("scaled_twice", "as if tensor scales were applied in turn",
                 scaled_twice),
      multiplies("partial_in_bf16", "as if p left the tensor core as BF16",
                 partial_in_bf16),
      multiplies("one_alignment_group", "as if all of K were aligned at once",
                 with<one_group>),
      multiplies("bf16_truncated", "as if BF16 were cut",
                 bf16_output<rounding::toward_zero>),
      multiplies("bf16_ties_away", "as if ties of BF16 went away from zero",
                 bf16_output<rounding::nearest_away>),
      multiplies("bf16_quiet_nan", "as if a BF16 NaN were 0x7fc0",
                 bf16_quiet_nan),
      multiplies("c_first", "as if C were where the sum starts", c_first),
      multiplies("c_ignored", "as if C were not added", with<c_ignored>),
      multiplies("not_split", "as if K were not split", with<not_split>),
  };
  const auto more = operand_mutants();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace zeroulp::conformance
