// Wrong logits and choices of the lightning indexer: SPEC N30.

#include <algorithm>
#include <numeric>

#include "conformance/mutants/runner/operator_mutants.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;

enum class logit_fault : std::uint8_t {
  nan_is_negative,
  scaled_first,
  key_scale_first,
  heads_backward,
};

std::ptrdiff_t seen_by(std::ptrdiff_t first, std::ptrdiff_t i,
                       std::ptrdiff_t n) {
  return first >= n ? n : std::min(first + i + 1, n);
}

/// One logit, from the products of a query's heads with a key.
template <logit_fault F>
std::uint32_t logit_by(const engine::indexer_inputs& t, std::ptrdiff_t i,
                       std::ptrdiff_t s, const codes_out& products) {
  const std::ptrdiff_t heads = t.weights.cols;
  const A::number y{t.k_scales(s, 0)};
  A::number sum{0};
  for (std::ptrdiff_t at = 0; at < heads; ++at) {
    const bool backward = F == logit_fault::heads_backward;
    const std::ptrdiff_t h = backward ? heads - 1 - at : at;
    const std::uint32_t p = products(h, s);
    const bool negative = p >= 0x80000000u && p <= 0xff800000u;
    const bool nan = (p & 0x7fffffffu) > 0x7f800000u;
    const bool dropped = negative || (F == logit_fault::nan_is_negative && nan);
    const A::number u{dropped ? 0 : p};
    const A::number w{t.weights(i, h)}, x{t.q_scales(i, h)};
    if (F == logit_fault::scaled_first) {
      sum = A::fma(A::multiply(u, x), w, sum);
    } else if (F == logit_fault::key_scale_first) {
      sum = A::fma(u, A::multiply(A::multiply(w, x), y), sum);
    } else {
      sum = A::fma(u, A::multiply(w, x), sum);
    }
  }
  return F == logit_fault::key_scale_first ? sum.value
                                           : A::multiply(sum, y).value;
}

template <logit_fault F>
void logits_by(const engine::indexer_inputs& t, codes_out logits) {
  const std::ptrdiff_t n = t.k.rows, heads = t.weights.cols;
  if (n == 0) return;
  std::vector<std::uint32_t> data(static_cast<std::size_t>(heads * n));
  const codes_out products{data.data(), heads, n};
  for (std::ptrdiff_t i = 0; i < t.q.rows; ++i) {
    const matrix_view<const std::uint8_t> q{t.q.data + i * t.q.row_stride,
                                            heads, t.k.cols};
    gemm(unpromoted_recipe, gemm_operand<std::uint8_t>{e4m3, q, {}},
         gemm_operand<std::uint8_t>{e4m3, t.k, {}}, {}, products);
    const std::ptrdiff_t seen = seen_by(t.first, i, n);
    for (std::ptrdiff_t s = 0; s < n; ++s) {
      logits(i, s) = s < seen ? logit_by<F>(t, i, s, products) : 0xff800000u;
    }
  }
}

enum class key_fault : std::uint8_t { ties_last, nan_first, by_size, all_ties };

template <key_fault F>
void keys_by(codes_in logits, std::ptrdiff_t first,
             matrix_view<std::int32_t> keys, matrix_view<std::int32_t> ties) {
  const std::ptrdiff_t top = keys.cols;
  for (std::ptrdiff_t i = 0; i < logits.rows; ++i) {
    const auto rank = [&](std::int32_t s) {
      const std::uint32_t r = detail::rank_of(logits(i, s));
      return F == key_fault::nan_first && r == 0 ? 0xffffffffu : r;
    };
    std::vector<std::int32_t> order(
        static_cast<std::size_t>(seen_by(first, i, logits.cols)));
    std::iota(order.begin(), order.end(), 0);
    if (F == key_fault::ties_last) std::reverse(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return rank(a) > rank(b); });
    const auto seen = static_cast<std::ptrdiff_t>(order.size());
    const auto chosen = order.begin() + std::min(top, seen);
    ties(i, 0) = 0;
    if (seen > top) {
      const auto least = rank(*(chosen - 1));
      ties(i, 0) = static_cast<std::int32_t>(
          std::count_if(F == key_fault::all_ties ? order.begin() : chosen,
                        order.end(), [&](auto s) { return rank(s) == least; }));
    }
    if (F != key_fault::by_size) std::sort(order.begin(), chosen);
    for (std::ptrdiff_t k = 0; k < top; ++k) {
      keys(i, k) = k < seen ? order[static_cast<std::size_t>(k)] : -1;
    }
  }
}

}  // namespace

operator_mutant_list indexer_mutants() {
  const auto logits = &model_functions::indexer_logits;
  const auto keys = &model_functions::indexer_keys;
  using f = logit_fault;
  return {
      table_but("indexer_nan_is_negative", "as if relu gave 0 for NaN", logits,
                logits_by<f::nan_is_negative>),
      table_but("indexer_scaled_first",
                "as if products were scaled before they are weighted", logits,
                logits_by<f::scaled_first>),
      table_but("indexer_key_scale_first",
                "as if the key's scale were a part of each weight", logits,
                logits_by<f::key_scale_first>),
      table_but("indexer_heads_backward",
                "as if the last head came first in the sum", logits,
                logits_by<f::heads_backward>),
      table_but("indexer_ties_last", "as if of equal logits the last one won",
                keys, keys_by<key_fault::ties_last>),
      table_but("indexer_nan_first", "as if NaN came before all numbers", keys,
                keys_by<key_fault::nan_first>),
      table_but("indexer_keys_by_size",
                "as if keys were listed by their logits", keys,
                keys_by<key_fault::by_size>),
      table_but("indexer_all_ties",
                "as if chosen keys counted as ties of the last one", keys,
                keys_by<key_fault::all_ties>),
  };
}

}  // namespace zeroulp::conformance
