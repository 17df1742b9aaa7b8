// Holds the lightning indexer against the oracle: logits of any codes and
// scales, and the choice of keys where many are equal or no numbers.

#include <fmt/format.h>

#include <algorithm>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/oracles/model/pipeline_oracle.hpp"

namespace zeroulp::conformance {
namespace {

using byte_rows = guarded_rows<std::uint8_t>;

/// Codes of E4M3: numbers of moderate size, most often.
grid any_codes(std::ptrdiff_t m, std::ptrdiff_t n, counter_rng& rng) {
  if (rng.one_in(3)) return any_numbers(e4m3, m, n, rng);
  return bell_shaped(e4m3, m, n, 0, rng);
}

/// Logits: numbers, a few values, or what is none.
grid any_index_logits(std::ptrdiff_t m, std::ptrdiff_t n, counter_rng& rng) {
  static constexpr std::uint32_t few[] = {0,          0x80000000, 0x3f800000,
                                          0xbf800000, 0x00000001, 0x80000001};
  static constexpr std::uint32_t specials[] = {
      0x7fffffff, 0xffc00000, 0x7f800001, 0xffffffff,
      0x7f800000, 0xff800000, 0x7f7fffff, 0xff7fffff};
  grid z = bell_shaped(fp32, m, n, 0, rng);
  const auto kind = rng.below(5);
  for (auto& word : z.words) {
    if (kind == 1) word = few[rng.below(std::size(few))];
    if (kind == 2 && rng.one_in(2)) word = specials[rng.below(8)];
    if (kind == 3) word = 0x3f800000;
    if (kind == 4) word = specials[rng.below(3)];
  }
  return z;
}

}  // namespace

verdict logits_of_the_indexer(const model_functions& t, const effort& given) {
  effort e = within_reason(t, given);
  const std::uint64_t count = 16ull << (2 * std::max(e.level, 0));
  e.level = 0;
  return for_model_cases(e, count, [&](counter_rng& rng, auto c, verdict& v) {
    struct row {
      int m, n, heads, depth, first;
    };
    static constexpr row shapes[] = {{3, 9, 2, 128, 0}, {2, 20, 4, 128, 18},
                                     {4, 3, 1, 64, 0},  {1, 5, 3, 40, 7},
                                     {3, 7, 2, 1, 2},   {2, 0, 1, 16, 0},
                                     {2, 1, 2, 16, 0}};
    const row& s = shapes[c % std::size(shapes)];
    oracle::indexer_numbers in{
        any_codes(s.m, s.heads * s.depth, rng), any_codes(s.n, s.depth, rng),
        any_numbers(fp32, s.m, s.heads, rng),   any_numbers(fp32, s.n, 1, rng),
        any_numbers(fp32, s.m, s.heads, rng),   s.first};
    // At times keys that are the same, so that logits are.
    for (int i = 1; i < s.n && c % 3 == 2; ++i) {
      for (int d = 0; d < s.depth; ++d) in.k(i, d) = in.k(0, d);
      in.k_scales(i, 0) = in.k_scales(0, 0);
    }
    if (c % 4 == 1) in.q(0, 0) = 0x7f;  // NaN
    const byte_rows q(in.q, rng), k(in.k, rng);
    const word_rows q_scales(in.q_scales, rng), k_scales(in.k_scales, rng),
        weights(in.weights, rng);
    word_rows logits(s.m, s.n, rng);
    t.indexer_logits({q.input(), k.input(), q_scales.input(), k_scales.input(),
                      weights.input(), s.first},
                     logits.view());
    count_output(v, logits, oracle::index_logits(in), "logit ", [&] {
      return fmt::format(
          "{}: indexer_logits of {} queries from {}, {} keys, {} heads of {}",
          t.name, s.m, s.first, s.n, s.heads, s.depth);
    });
  });
}

verdict keys_of_the_indexer(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  std::uint64_t ties = 0;
  verdict v = for_model_cases(e, 120, [&](counter_rng& rng, auto, verdict& w) {
    const int m = rng.between(0, 6);
    const int n = rng.between(0, 40);
    const int top = rng.one_in(4) ? rng.between(1, 50) : rng.between(1, 8);
    const int first = rng.one_in(4) ? n : rng.between(0, n);
    const grid logits = any_index_logits(m, n, rng);
    const auto want = oracle::keys_of(logits, first, top);
    const word_rows in(logits, rng);
    index_rows keys(m, top, rng), census(m, 1, rng);
    t.indexer_keys(in.input(), first, keys.view(), census.view());
    const auto describe = [&] {
      return fmt::format(
          "{}: indexer_keys of {} queries from {}, {} of {} keys", t.name, m,
          first, top, n);
    };
    count_output(w, keys, want.keys, "key ", describe);
    count_output(w, census, want.ties, "tie ", describe);
    for (const auto tie : want.ties.words) ties += tie > 0 ? 1 : 0;
  });
  v.count(ties > 0, [&] { return t.name + ": no case has a tie"; });
  return v;
}

}  // namespace zeroulp::conformance
