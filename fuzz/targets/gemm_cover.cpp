// Counts what cases of `gemm` reach: how sums are cut and joined, tails of K,
// scales, results, and where FP32 sums lie between codes of BF16.

#include <algorithm>

#include "fuzz/targets/gemm_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum family { updates, tails, intervals, unscaled, scales, results, roundings };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    const bin_axis update{
        "update",
        {"add", "product_of_scales", "one_then_other", "other_then_one"}};
    const bin_axis output{"output", {"fp32", "bf16"}};
    t.add({update,
           {"ranges", {"1", "more"}},
           {"end", {"store", "accumulate"}},
           output});
    t.add({{"tail", {"none", "in_a_step", "in_an_interval"}}, update});
    t.add({{"intervals", {"0", "1", "2", "more"}}, update});
    t.add({{"scales", {"none"}}, update});
    t.add({{"scales", {"a", "b", "both"}}, scale_class_axis("class")});
    t.add({code_axis(), sign_axis(), output},
          [](const bin_table::combination& at) {
            const auto code = static_cast<code_kind>(at[0]);
            if (code == code_kind::nan) return at[1] == 0;  // always positive
            return code != code_kind::largest;
          });
    t.add({position_axis(5), sign_axis()});
    return t;
  }();
  return all;
}

/// Returns row i of `m` as 32-bit words.
std::vector<std::uint32_t> row_of(const matrix& m, std::ptrdiff_t i) {
  const auto begin = m.words.begin() + i * m.cols;
  return {begin, begin + m.cols};
}

/// Returns D(i, j) before it is rounded to the output.
std::uint32_t sum_of(const problem& p, std::ptrdiff_t i, std::ptrdiff_t j) {
  recipe r = recipe_of(p.with);
  r.output = fp32;
  const auto group = [](const matrix& s, std::int32_t by, std::ptrdiff_t at) {
    return s.rows == 0 ? std::vector<std::uint32_t>{}
                       : row_of(s, by > 0 ? at / by : 0);
  };
  const auto a = row_of(p.in[0], i);
  const auto b = row_of(p.in[1], j);
  const auto sa = group(p.in[2], r.a.mn, i);
  const auto sb = group(p.in[3], r.b.mn, j);
  const auto k = static_cast<std::ptrdiff_t>(a.size());
  const auto partial = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    const decoded_row<std::uint32_t> x{a.data(), 1, p.with.unit.a};
    const decoded_row<std::uint32_t> y{b.data(), 1, p.with.unit.b};
    return static_cast<std::uint32_t>(chain(p.with.unit, x, y, begin, end, 0));
  };
  const auto scales_along = [](const std::vector<std::uint32_t>& s,
                               std::int32_t cover) {
    return s.empty() ? row_scales{} : row_scales{s.data(), 1, cover};
  };
  const auto acc = promoted_sum(r, partial, k, scales_along(sa, r.a.k),
                                scales_along(sb, r.b.k));
  return finish(r, acc, static_cast<std::uint32_t>(p.in[4](i, j)));
}

void cover_recipe(const problem& p, bin_counts counts) {
  const recipe r = recipe_of(p.with);
  const std::ptrdiff_t k = p.in[0].cols;
  const std::ptrdiff_t some = std::max<std::ptrdiff_t>(k, 1);
  const std::ptrdiff_t grain = gemm_grain(r, some);
  const std::ptrdiff_t span = split_span(r, some);
  table().hit(counts, updates, r.update, k > span ? 1 : 0, r.end,
              r.output == fp32 ? 0 : 1);
  const std::ptrdiff_t step = std::max<std::ptrdiff_t>(r.acc.length, 1);
  table().hit(counts, tails,
              k % grain == 0  ? 0
              : k % step != 0 ? 1
                              : 2,
              r.update);
  const std::ptrdiff_t count = k == 0            ? 0
                               : r.interval == 0 ? 1
                                                 : ceil_div(k, r.interval);
  table().hit(counts, intervals, std::min<std::ptrdiff_t>(count, 3), r.update);
}

void cover_scales(const problem& p, bin_counts counts) {
  const bool a = p.in[2].rows > 0;
  const bool b = p.in[3].rows > 0;
  if (!a && !b) table().hit(counts, unscaled, 0, p.with.gemm.update);
  for (const matrix* m : {&p.in[2], &p.in[3]}) {
    const auto size = static_cast<std::ptrdiff_t>(m->words.size());
    for_each_sampled(size, 4, [&](std::ptrdiff_t at) {
      table().hit(counts, scales,
                  a && b ? 2
                  : b    ? 1
                         : 0,
                  scale_class_of(m->words[static_cast<std::size_t>(at)]));
    });
  }
}

}  // namespace

std::vector<std::string> gemm_bins() { return table().names(); }

void cover_gemm(const problem& p, const outputs& right, bin_counts counts) {
  cover_recipe(p, counts);
  cover_scales(p, counts);
  const matrix& d = output_of(right, "d");
  const format output = p.with.gemm.output;
  const auto size = static_cast<std::ptrdiff_t>(d.words.size());
  for_each_sampled(size, 16, [&](std::ptrdiff_t at) {
    const auto code = d.words[static_cast<std::size_t>(at)];
    const code_kind what = code_kind_of(output, code);
    // The largest number is too rare for a bin of its own.
    table().hit(counts, results,
                what == code_kind::largest ? code_kind::normal : what,
                (code & output.sign_mask()) != 0, output == fp32 ? 0 : 1);
  });
  if (output == fp32) return;
  for_each_sampled(size, 1, [&](std::ptrdiff_t at) {
    const unpacked sum = decode(fp32, sum_of(p, at / d.cols, at % d.cols));
    if (!sum.is_finite()) return;
    const auto fine = encode(refined(output), sum, {}, keep_specials);
    table().hit(counts, roundings, position_of(output, fine, !sum.is_zero()),
                sum.negative);
  });
}

}  // namespace zeroulp::fuzz
