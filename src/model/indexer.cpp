// engine::indexer_logits and indexer_keys: a product of FP8 codes a query, and
// rows between.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/arrays/lines.hpp"
#include "src/base/float_mode.hpp"
#include "src/base/threads.hpp"
#include "src/model/checks.hpp"
#include "src/model/products.hpp"
#include "src/model/rows.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/model_more.hpp"

namespace zeroulp::engine {
namespace {

void check_first(std::ptrdiff_t first, const char* what) {
  if (first >= 0) return;
  throw input_error(fmt::format("{}: the first query is at {}, before all keys",
                                what, first));
}

/// The keys that query i sees, of n.
std::ptrdiff_t seen_keys(std::ptrdiff_t first, std::ptrdiff_t i,
                         std::ptrdiff_t n) {
  return first >= n ? n : std::min(first + i + 1, n);
}

}  // namespace

void indexer_logits(const indexer_inputs& t,
                    matrix_view<std::uint32_t> logits) {
  const std::ptrdiff_t m = t.q.rows;
  const std::ptrdiff_t n = t.k.rows;
  const std::ptrdiff_t depth = t.k.cols;
  const std::ptrdiff_t heads = t.weights.cols;
  check_first(t.first, "indexer_logits");
  if (heads < 1 || depth < 1) {
    throw input_error(fmt::format(
        "indexer_logits: {} heads of {}: neither is 0", heads, depth));
  }
  check_rows_of(t.q, m, heads * depth, "indexer_logits, q");
  check_rows_of(t.k, n, depth, "indexer_logits, k");
  check_rows_of(t.q_scales, m, heads, "indexer_logits, q_scales");
  check_shape(t.k_scales, n, 1, "indexer_logits, k_scales", "the keys need");
  check_rows_of(t.weights, m, heads, "indexer_logits, weights");
  check_rows_of(logits, m, n, "indexer_logits, logits");
  if (n == 0) return;
  const prepared_operand k(e4m3, t.k);
  scratch<std::uint32_t> products(heads, n);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    const matrix_view<const std::uint8_t> q{t.q.data + i * t.q.row_stride,
                                            heads, depth};
    gemm(unpromoted_recipe, prepared_operand(e4m3, q), {}, k, {}, {},
         products.view());
    const float_mode mode(float_mode::nearest);
    logits_of_query({products.view(), t.weights.data + i * t.weights.row_stride,
                     t.q_scales.data + i * t.q_scales.row_stride, t.k_scales,
                     seen_keys(t.first, i, n),
                     logits.data + i * logits.row_stride});
  }
}

void indexer_keys(matrix_view<const std::uint32_t> logits, std::ptrdiff_t first,
                  matrix_view<std::int32_t> keys,
                  matrix_view<std::int32_t> ties) {
  const std::ptrdiff_t m = logits.rows;
  const std::ptrdiff_t n = logits.cols;
  check_first(first, "indexer_keys");
  check_rows_of(logits, m, n, "indexer_keys, logits");
  check_rows_of(keys, m, keys.cols, "indexer_keys, keys");
  check_shape(ties, m, 1, "indexer_keys, ties", "the queries need");
  if (keys.cols < 1) throw input_error("indexer_keys, keys: none are chosen");
  for_tiles(
      m, 1, 1, 1,
      [&](std::ptrdiff_t i, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t) {
        ties(i, 0) = largest_keys(logits.data + i * logits.row_stride,
                                  seen_keys(first, i, n), keys.cols,
                                  keys.data + i * keys.row_stride);
      },
      training_work * static_cast<double>(n));
}

}  // namespace zeroulp::engine
