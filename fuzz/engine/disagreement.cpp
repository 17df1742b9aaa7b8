// The disagreement matrix of quantizer conventions.

#include "fuzz/engine/disagreement.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "conformance/cases/matrix_cases.hpp"
#include "fuzz/identify/class.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::matrix_family;
using oracle::grid;

constexpr std::int32_t whole = 64;  // length of a dimension without groups

bool is_finite(std::uint32_t x) { return (x & 0x7fffffff) < fp32_infinity; }

/// A group of directed elements: an amax on which scale rules differ, and
/// neighbours of the midpoints of codes for the scale amax / max.
grid boundary_group(const disagreement_request& q, format from,
                    std::ptrdiff_t m, std::ptrdiff_t n, counter_rng& rng,
                    const std::vector<std::uint32_t>& edges) {
  std::uint32_t amax = 0;
  switch (rng.below(3)) {
    case 0:
      amax = edges[rng.below(static_cast<std::uint32_t>(edges.size()))];
      break;
    case 1:
      amax = conformance::disputed_amax(q.to, rng);
      break;
    default:
      amax = conformance::exact_amax(q.to, rng.between(2, 8),
                                     rng.between(-20, 10), rng);
  }
  const std::uint32_t s = detail::fl_divide(amax, max_as_fp32(q.to));
  std::vector<std::uint32_t> row{amax};
  const bool may = s != 0 && is_finite(s) && is_finite(amax);
  if (may) {
    const std::uint64_t step = 1 + rng.below(7);
    row = conformance::midpoint_row(q.to, bit_cast<float>(s), amax,
                                    rng.below(8), step);
  }
  // After the midpoints, any finite number up to amax: a group has at most one
  // special.
  const std::uint32_t below = std::min(amax, fp32_max) + 1;
  grid x(m, n);
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    const std::uint32_t sign = rng.one_in(2) ? 0x80000000 : 0;
    const std::uint32_t word =
        i < row.size() ? row[i] : rng.below(below) | sign;
    x.words[i] =
        static_cast<std::uint32_t>(recode(fp32, word, from, {}, keep_specials));
  }
  return x;
}

/// Significant bits of a magnitude: the length of an example. Specials last.
int length_of(std::uint32_t x) {
  const auto magnitude = x & 0x7fffffff;
  if (!is_finite(x)) return 64;
  return magnitude == 0 ? 0 : 24 - std::min(24, std::countr_zero(magnitude));
}

/// The shorter example; on a tie, that of the earlier case.
struct best_example {
  int length = 0;
  std::uint64_t index = 0;
  std::optional<disagreement_example> found;

  void offer(std::uint64_t at, const disagreement_example& e) {
    const int bits = length_of(e.amax) + length_of(e.special) + length_of(e.x);
    if (found && (bits > length || (bits == length && at >= index))) return;
    *this = {bits, at, e};
  }
  void merge(const best_example& b) {
    if (!b.found) return;
    const bool later = found && (b.length > length ||
                                 (b.length == length && b.index >= index));
    if (!later) *this = b;
  }
};

/// One thread's counts for a pair.
struct pair_count {
  std::uint64_t scales = 0;
  std::uint64_t codes = 0;
  best_example scale;
  best_example code;

  void merge(const pair_count& p) {
    scales += p.scales;
    codes += p.codes;
    scale.merge(p.scale);
    code.merge(p.code);
  }
};

/// The scale and codes that a convention gives a group.
struct group_result {
  std::uint32_t scale;
  std::vector<std::uint64_t> codes;
};

/// The largest finite magnitude of a group, and its NaN or Inf.
struct group_amaxes {
  std::uint32_t finite = 0;
  std::uint32_t special = 0;
};

/// Compares two conventions on one group: `x` in FP32 bits.
void compare(const std::vector<std::uint32_t>& x, group_amaxes of,
             std::uint64_t index, const group_result& a, const group_result& b,
             pair_count& count) {
  if (a.scale != b.scale) {
    ++count.scales;
    count.scale.offer(index, {of.finite, of.special, 0, a.scale, b.scale});
  }
  if (a.codes == b.codes) return;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (a.codes[i] == b.codes[i]) continue;
    ++count.codes;
    count.code.offer(index,
                     {of.finite, of.special, x[i], a.codes[i], b.codes[i]});
  }
}

using pair_counts = std::vector<pair_count>;

/// Adds case `index` to the counts of all pairs.
void add_case(const disagreement_request& q, format from, group_data data,
              std::uint64_t index, const std::vector<std::uint32_t>& edges,
              pair_counts& counts) {
  const std::ptrdiff_t m = q.group.rows > 0 ? q.group.rows : whole;
  const std::ptrdiff_t n = q.group.cols > 0 ? q.group.cols : whole;
  counter_rng rng(q.seed, index);
  const grid group =
      data == group_data::normal
          ? conformance::make_matrix(matrix_family::normal, from, m, n, rng)
          : boundary_group(q, from, m, n, rng, edges);
  const matrix_view<const std::uint32_t> x(group.words.data(), m, n);
  std::vector<std::uint32_t> wide;
  group_amaxes amaxes;
  for (const auto word : group.words) {
    wide.push_back(as_fp32(from, word));
    const auto magnitude = wide.back() & 0x7fffffff;
    auto& largest = is_finite(magnitude) ? amaxes.finite : amaxes.special;
    largest = std::max(largest, magnitude);
  }
  std::array<group_result, convention_count> results;
  for (std::size_t c = 0; c < convention_count; ++c) {
    const convention& how = named_conventions[c].value;
    const auto own = how.power_of_two ? scale_kind::pow2 : scale_kind::float32;
    const quantizer z{from, q.to, how, q.scale.value_or(own), q.group};
    results[c].codes.resize(group.words.size());
    results[c].scale = quantize_group(
        z, x, group_amax(z, x),
        matrix_view<std::uint64_t>(results[c].codes.data(), m, n));
  }
  std::size_t pair = 0;
  for (std::size_t a = 0; a < convention_count; ++a) {
    for (std::size_t b = a + 1; b < convention_count; ++b) {
      compare(wide, amaxes, index, results[a], results[b], counts[pair++]);
    }
  }
}

disagreement run(const disagreement_request& q, format from, group_data data,
                 const std::function<void(double)>& add_done) {
  constexpr std::uint64_t block = 64;  // cases that a thread takes at a time
  constexpr std::size_t pairs = convention_count * (convention_count - 1) / 2;
  const auto edges = conformance::boundary_amaxes(q.to);
  pair_counts total(pairs);
  std::mutex guard;
  const std::uint64_t blocks = q.cases / block + (q.cases % block != 0 ? 1 : 0);
  for_each_index(blocks, [&](std::size_t i) {
    pair_counts counts(pairs);
    const std::uint64_t end = std::min(q.cases, (i + 1) * block);
    for (std::uint64_t index = i * block; index < end; ++index) {
      add_case(q, from, data, index, edges, counts);
    }
    const std::lock_guard lock(guard);
    for (std::size_t p = 0; p < pairs; ++p) total[p].merge(counts[p]);
    add_done(static_cast<double>(end - i * block));
  });
  const std::uint64_t rows =
      static_cast<std::uint64_t>(q.group.rows > 0 ? q.group.rows : whole);
  const std::uint64_t cols =
      static_cast<std::uint64_t>(q.group.cols > 0 ? q.group.cols : whole);
  disagreement d{from, data, q.cases, q.cases * rows * cols, {}};
  std::size_t pair = 0;
  for (std::size_t a = 0; a < convention_count; ++a) {
    for (std::size_t b = a + 1; b < convention_count; ++b) {
      const pair_count& p = total[pair++];
      d.pairs.push_back({a, b, p.scales, p.codes, p.scale.found, p.code.found});
    }
  }
  return d;
}

}  // namespace

std::vector<disagreement> find_disagreements(
    const disagreement_request& q, const disagreement_progress& progress) {
  double done = 0;
  const auto add_done = [&](double cases) {
    done += cases;
    if (progress) progress(done, 4 * static_cast<double>(q.cases));
  };
  std::vector<disagreement> all;
  for (const format from : {fp32, bf16}) {
    for (const auto data : {group_data::normal, group_data::boundary}) {
      all.push_back(run(q, from, data, add_done));
    }
  }
  return all;
}

}  // namespace zeroulp::fuzz
