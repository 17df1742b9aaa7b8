// Measures agreement by chance, and how near D is to the exact sum.

#include "fuzz/identify/gemm_control.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "fuzz/identify/gemm_exact.hpp"

namespace zeroulp::fuzz {
namespace {

/// The words of D in a block.
std::vector<std::uint32_t> words_of(const gemm_evidence& e,
                                    const output_block& at) {
  std::vector<std::uint32_t> words;
  for (std::ptrdiff_t i = at.row; i < at.row + at.rows; ++i) {
    for (std::ptrdiff_t j = at.col; j < at.col + at.cols; ++j) {
      words.push_back(e.d(i, j));
    }
  }
  return words;
}

/// The errors of outputs against the exact sums, relative to their sizes.
struct departure {
  double sum = 0;
  double most = 0;  ///< the largest of an output
  std::uint64_t rounded_apart = 0;

  void add(const departure& more) {
    sum += more.sum;
    most = std::max(most, more.most);
    rounded_apart += more.rounded_apart;
  }
};

/// The departure of the words `d` of a block.
departure departure_of(format f, const exact_block& of,
                       const std::vector<std::uint32_t>& d) {
  departure found;
  const double limit = to_double(decode(f, f.max_code()));
  for (std::size_t n = 0; n < d.size(); ++n) {
    const auto& x = of.sums[n];
    if (!(std::abs(x.sum) <= limit) || x.size == 0) continue;
    const auto range = range_of(f, d[n]);
    double error = std::max({0.0, range.from - x.sum, x.sum - range.to});
    if (!decode(f, d[n]).is_finite()) {
      error = std::numeric_limits<double>::infinity();
    }
    error /= x.size;
    found.add({error, error, d[n] == of.rounded[n] ? 0u : 1u});
  }
  return found;
}

/// The departure of words(block), added up over all blocks.
template <class Words>
departure departure_of(format f, const exact_part& exact, Words words) {
  std::vector<departure> parts(exact.blocks.size());
  for_each_index(parts.size(), [&](std::size_t i) {
    const auto& block = exact.blocks[i];
    parts[i] = departure_of(f, block, words(block));
  });
  departure sum;
  for (const auto& p : parts) sum.add(p);  // in a fixed order
  return sum;
}

/// One of the FP32 sums of each output of a block, in the output's format.
template <class Sum>
std::vector<std::uint32_t> words_of(format f, const exact_block& block,
                                    Sum sum) {
  std::vector<std::uint32_t> words;
  for (const auto& x : block.sums) {
    words.push_back(static_cast<std::uint32_t>(
        recode(fp32, bit_cast<std::uint32_t>(x.*sum), f, {}, cuda_nosat)));
  }
  return words;
}

/// The nearest that Hopper's FP8 accumulator comes, over these intervals.
departure nearest_of_hopper(const gemm_evidence& e, const gemm_blocks& blocks,
                            const exact_part& exact) {
  const auto& as = exact.as;
  const bool late = as.a->covers.k == 0 && as.b->covers.k == 0;
  departure nearest{std::numeric_limits<double>::infinity(), 0, 0};
  for (const std::int32_t interval : {0, 32, 64, 128, 256, 512}) {
    const recipe r{hopper_fp8_f32,
                   interval,
                   late ? promotion::add : promotion::product_of_scales,
                   as.a->covers,
                   as.b->covers,
                   1,
                   epilogue::store,
                   fp32};
    if (!is_valid(r)) continue;
    const auto d = departure_of(e.output, exact, [&](const exact_block& b) {
      // Rows with Inf do not count here.
      const auto sums = blocks.sums({r, as.a, as.b}, b.at);
      return blocks.finished(as.end, b.at, sums);
    });
    if (d.sum < nearest.sum) nearest = d;
  }
  return nearest;
}

bool is_fp8(format f) { return f == e4m3 || f == e5m2; }

/// Returns nothing if D is no FP32 sum, or if Hopper's FP8 accumulator could be
/// as near.
std::optional<fp32_evidence> fp32_sum_of(const gemm_evidence& e,
                                         const gemm_blocks& blocks,
                                         const exact_part& exact) {
  if (!is_fp8(e.a.f) || !is_fp8(e.b.f)) return {};
  const auto given = departure_of(
      e.output, exact, [&](const exact_block& b) { return words_of(e, b.at); });
  // K products and sums in any order, and the scaling, to nearest or cut.
  const double roundings = static_cast<double>(e.a.codes.cols + 8);
  if (!(given.most <= 1.01 * roundings * 0x1p-23)) return {};

  // Adding one after the other is the least accurate of the usual orders.
  const auto usual = departure_of(e.output, exact, [&](const exact_block& b) {
    return words_of(e.output, b, &exact_output::in_turn);
  });
  constexpr double one_output = 0x1p-22;  // rounded differently by chance
  if (!(given.sum <= 4 * std::max(usual.sum, one_output))) return {};

  constexpr std::uint64_t enough = 10;
  const auto hopper = nearest_of_hopper(e, blocks, exact);
  if (hopper.rounded_apart < enough || !(16 * given.sum <= hopper.sum)) {
    return {};
  }
  std::uint64_t count = 0;
  for (const auto& b : exact.blocks) count += b.at.size();
  return fp32_evidence{{count - given.rounded_apart, count},
                       {count - hopper.rounded_apart, count}};
}

/// How many words are equal.
agreement agreement_of(const std::vector<std::uint32_t>& a,
                       const std::vector<std::uint32_t>& b) {
  agreement found{0, a.size()};
  for (std::size_t n = 0; n < a.size(); ++n)
    found.agree += a[n] == b[n] ? 1 : 0;
  return found;
}

}  // namespace

gemm_control control_of(const gemm_evidence& e, const gemm_blocks& blocks,
                        const exact_part& exact) {
  gemm_control control;
  agreement cut;
  const auto add = [](agreement& to, const agreement& more) {
    to.agree += more.agree;
    to.count += more.count;
  };
  for (const auto& b : exact.blocks) {
    const auto d = words_of(e, b.at);
    const auto of = [&](auto sum) {
      return agreement_of(d, words_of(e.output, b, sum));
    };
    add(control.exact, agreement_of(d, b.rounded));
    add(control.unrelated, of(&exact_output::lanes));
    add(cut, of(&exact_output::cut));
  }
  if (cut.agree > control.unrelated.agree) control.unrelated = cut;
  control.fp32_sum = fp32_sum_of(e, blocks, exact);
  return control;
}

}  // namespace zeroulp::fuzz
