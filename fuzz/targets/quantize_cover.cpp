// Counts what cases of `quantize` reach: kinds of amax, where elements lie
// between the codes of the target, edges of groups, conventions, histories.
// Only some groups of a case and some elements of each are counted, so that
// counting costs little.

#include <algorithm>

#include "fuzz/targets/quantize_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class amax_kind {
  zero,
  below_floor,
  subnormal,
  boundary,
  normal,
  infinite,
  nan,
};

/// The kind of `amax` for a convention and a target format.
amax_kind kind_of_amax(const quantizer& q, std::uint32_t amax) {
  if (amax > fp32_infinity) return amax_kind::nan;
  if (amax == fp32_infinity) return amax_kind::infinite;
  if (amax == 0) return amax_kind::zero;
  if (amax < q.how.amax_floor) return amax_kind::below_floor;
  if (amax < 1u << 23) return amax_kind::subnormal;
  const auto odd_part = [](const unpacked& x) {
    return x.significand >> __builtin_ctzll(x.significand);
  };
  const bool boundary =
      odd_part(decode(fp32, amax)) == odd_part(decode(q.to, q.to.max_code()));
  return boundary ? amax_kind::boundary : amax_kind::normal;
}

/// Returns true iff a value at this position can become this kind of code.
bool is_possible(position at, code_kind code) {
  switch (at) {
    case position::exact:
    case position::tie:
      return code <= code_kind::largest;
    case position::below_half:
      return code < code_kind::largest;
    case position::above_half:
      return code > code_kind::zero && code <= code_kind::largest;
    case position::beyond:  // elements saturate
      return code == code_kind::largest;
    case position::infinite:  // depends on the policy and the format
      return code >= code_kind::largest;
    case position::nan:
      break;
  }
  // A format without NaN gives the largest number.
  return code == code_kind::nan || code == code_kind::largest;
}

enum family { amaxes, elements, groups, conventions, histories };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    t.add({{"amax",
            {"zero", "below_floor", "subnormal", "max*2^e", "normal", "inf",
             "nan"}},
           scale_kind_axis()});
    t.add({position_axis(7), sign_axis(), code_axis()},
          [](const bin_table::combination& at) {
            return is_possible(static_cast<position>(at[0]),
                               static_cast<code_kind>(at[2]));
          });
    t.add({group_axis("group_rows"), group_axis("group_cols")},
          [](const bin_table::combination& at) {
            return (at[0] == 2) == (at[1] == 2);  // `all`: the tensor
          });
    t.add({convention_axis(), number_axis("from")});
    t.add({{"history", {"maximum", "moving_average"}},
           {"length", {"0", "1", "more"}},
           {"amax", {"finite", "inf", "nan"}}});
    return t;
  }();
  return all;
}

/// Counts one group: its amax, and some of its elements.
void cover_group(const quantizer& q, matrix_view<const std::uint64_t> x,
                 matrix_view<const std::uint64_t> codes, bin_counts counts) {
  const std::uint32_t amax = group_amax(q, x);
  table().hit(counts, amaxes, kind_of_amax(q, amax), q.scale);
  const group_scale s = make_scale(q, amax);
  quantizer fine = q;
  fine.to = refined(q.to);
  fine.how.conversion = keep_specials;
  for_each_sampled(x.rows * x.cols, 6, [&](std::ptrdiff_t at) {
    const std::ptrdiff_t i = at / x.cols;
    const std::ptrdiff_t j = at % x.cols;
    const std::uint32_t element = as_fp32(q.from, x(i, j));
    const bool nonzero = (element & 0x7fffffff) != 0;
    table().hit(counts, elements,
                position_of(q.to, quantize_element(fine, s, element), nonzero),
                element >> 31, code_kind_of(q.to, codes(i, j)));
  });
}

}  // namespace

std::vector<std::string> quantize_bins() { return table().names(); }

void cover_quantize(const problem& p, const outputs& right, bin_counts counts) {
  const settings& s = p.with;
  const quantizer q = quantizer_of(s);
  const matrix& x = p.in[0];
  const matrix& codes = output_of(right, "codes");
  table().hit(counts, conventions, convention_index(s), number_index(s.from));
  const auto amax = output_of(right, "amax").words[0];
  const auto length = p.in[1].words.size();
  table().hit(counts, histories, s.history, length > 1 ? 2 : length,
              amax > fp32_infinity    ? 2
              : amax == fp32_infinity ? 1
                                      : 0);
  const std::ptrdiff_t h = s.group.height(x.rows);
  const std::ptrdiff_t w = s.group.width(x.cols);
  const std::ptrdiff_t across = ceil_div(x.cols, w);
  const auto edge = [](std::int32_t group, std::ptrdiff_t size) {
    return group == 0 ? 2 : size < group ? 1 : 0;
  };
  for_each_sampled(ceil_div(x.rows, h) * across, 3, [&](std::ptrdiff_t group) {
    const std::ptrdiff_t i = group / across * h;
    const std::ptrdiff_t j = group % across * w;
    const std::ptrdiff_t m = std::min(h, x.rows - i);
    const std::ptrdiff_t n = std::min(w, x.cols - j);
    table().hit(counts, groups, edge(s.group.rows, m), edge(s.group.cols, n));
    const auto block = [&](const matrix& all) {
      return matrix_view<const std::uint64_t>(all.words.data(), all.rows,
                                              all.cols)
          .block(i, j, m, n);
    };
    cover_group(q, block(x), block(codes), counts);
  });
}

}  // namespace zeroulp::fuzz
