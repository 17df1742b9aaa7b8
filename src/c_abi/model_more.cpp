// The C ABI: operators of a training step that no arm of `zeroulp train` needs.

#include "zeroulp/model_more.hpp"

#include <vector>

#include "src/c_abi/model_requests.hpp"

namespace zeroulp::c_abi {
namespace {

static_assert(ZEROULP_MLA_UNABSORBED ==
                  static_cast<int>(mla_order::unabsorbed) &&
              ZEROULP_MLA_ABSORBED == static_cast<int>(mla_order::absorbed));

/// Columns of each of `heads`, of a matrix that has `cols`.
std::ptrdiff_t each_of(std::ptrdiff_t cols, std::ptrdiff_t heads,
                       const char* what) {
  if (cols > 0 && cols % heads == 0) return cols / heads;
  refuse("{}: {}, but {} heads, all alike", what, cols, heads);
}

void run_mla_forward(std::int32_t order, const zeroulp_attention* given,
                     const mla_tokens& t, const zeroulp_matrix* o,
                     const zeroulp_matrix* largest,
                     const zeroulp_matrix* inverse) {
  const auto how = enum_of(order, mla_order::absorbed, "order");
  const auto& s = needed(given, "shape");
  if (s.length < 1) refuse("shape.length is {}: use 1 and up", s.length);
  if (s.heads < 1) refuse("shape.heads is {}: use 1 and up", s.heads);
  if (s.scale == 0 || s.scale >= 0x7f800000) {
    refuse("shape.scale is {:08x}: use FP32 bits of a number above 0", s.scale);
  }
  const auto m = t.q.rows;
  if (m % s.length != 0) {
    refuse("q: {} rows, but sequences of {}", m, s.length);
  }
  const auto rope = t.rope_key.cols;
  const auto depth = each_of(t.q.cols, s.heads, "q: columns") - rope;
  if (depth < 1) refuse("q: no elements of a head but rope's {}", rope);
  const auto values = each_of(t.up.rows, s.heads, "up: rows") - depth;
  if (values < 1) refuse("up: no rows of a head but those of {} keys", depth);
  if (t.latent.cols < 1) refuse("latent: no columns");
  engine::mla_forward(
      how, {s.length, s.heads, depth, rope, values, t.latent.cols, s.scale}, t,
      rows_of<bf16_bits>(o, "o", m, s.heads * values),
      rows_of<fp32_bits>(largest, "largest", m, s.heads),
      rows_of<fp32_bits>(inverse, "inverse", m, s.heads));
}

void need_pipe(std::int64_t stages, std::int64_t micro_batches, std::int64_t at,
               const char* what) {
  if (!is_valid(dual_pipe_shape{stages, micro_batches})) {
    refuse(
        "{} stages, {} micro-batches: both are even, and of micro-batches "
        "there are two or more a stage, 2^29 at most",
        stages, micro_batches);
  }
  if (at < 0 || at >= stages) {
    refuse("{} is {}: use 0 to {}", what, at, stages - 1);
  }
}

void run_accumulate(const zeroulp_const_matrix* gradients, std::int64_t count,
                    const zeroulp_const_matrix* order,
                    const zeroulp_matrix* out) {
  if (count < 1) refuse("count is {}: use 1 and up", count);
  needed(gradients, "gradients");
  const auto to = rows_of<fp32_bits>(out, "out");
  const auto from =
      all_rows_of<fp32_bits>(gradients, count, "gradients", to.rows, to.cols);
  engine::accumulate_micro_batches(from, rows_of<row_index>(order, "order"),
                                   to);
}

void need_first(std::int64_t first) {
  if (first < 0) refuse("first is {}: use 0 and up", first);
}

/// A column of indices.
template <class Matrix>
auto column_of(const Matrix* m, const char* what) {
  return rows_of<row_index>(m, what, view_of(m, what).rows, 1);
}

void run_choose(const zeroulp_const_matrix* experts,
                const zeroulp_const_matrix* ends,
                const zeroulp_matrix* replicas) {
  const auto chosen = rows_of<row_index>(experts, "experts");
  engine::choose_replicas(
      {without_empty_rows(chosen), column_of(ends, "ends"),
       without_empty_rows(rows_of<row_index>(replicas, "replicas", chosen.rows,
                                             chosen.cols))});
}

void run_merge(const zeroulp_const_matrix* by_replica,
               const zeroulp_const_matrix* by_expert,
               const zeroulp_matrix* from) {
  const auto expert = rows_of<row_index>(by_expert, "by_expert");
  const auto replica =
      rows_of<row_index>(by_replica, "by_replica", expert.rows, expert.cols);
  engine::merge_replicas({without_empty_rows(replica),
                          without_empty_rows(expert), column_of(from, "from")});
}

void run_indexer_logits(const engine::indexer_inputs& t,
                        const zeroulp_matrix* logits) {
  const auto heads = t.weights.cols;
  if (heads < 1) refuse("weights: no columns, one a head");
  if (t.k.cols < 1) refuse("k: no columns");
  if (t.q.cols != heads * t.k.cols) {
    refuse("q: {} columns, but {} heads of {}", t.q.cols, heads, t.k.cols);
  }
  need_first(t.first);
  engine::indexer_logits(
      t, rows_of<fp32_bits>(logits, "logits", t.q.rows, t.k.rows));
}

void run_indexer_keys(const zeroulp_const_matrix* logits, std::int64_t first,
                      const zeroulp_matrix* keys, const zeroulp_matrix* ties) {
  const auto from = rows_of<fp32_bits>(logits, "logits");
  need_first(first);
  const auto top = view_of(keys, "keys").cols;
  if (top < 1) refuse("keys: no columns, one a key to choose");
  engine::indexer_keys(from, first,
                       rows_of<row_index>(keys, "keys", from.rows, top),
                       rows_of<row_index>(ties, "ties", from.rows, 1));
}

void run_mtp_tokens(const zeroulp_const_matrix* targets, std::int64_t length,
                    std::int64_t depth, const zeroulp_matrix* inputs,
                    const zeroulp_matrix* predictions) {
  const auto from = column_of(targets, "targets");
  const auto m = from.rows;
  if (length < 1) refuse("length is {}: use 1 and up", length);
  if (depth < 1) refuse("depth is {}: use 1 and up", depth);
  if (m % length != 0) {
    refuse("targets: {} rows, but sequences of {}", m, length);
  }
  engine::mtp_tokens({from, length, depth,
                      rows_of<row_index>(inputs, "inputs", m, 1),
                      rows_of<row_index>(predictions, "predictions", m, 1)});
}

engine::mtp_rows mtp_rows_of(const zeroulp_const_matrix* h,
                             const zeroulp_const_matrix* next,
                             const zeroulp_const_matrix* w_h,
                             const zeroulp_const_matrix* w_next) {
  const auto from = rows_of<bf16_bits>(h, "h");
  return {from, rows_of<bf16_bits>(next, "next", from.rows, from.cols),
          rows_of<fp32_bits>(w_h, "w_h", 1, from.cols),
          rows_of<fp32_bits>(w_next, "w_next", 1, from.cols)};
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

zeroulp_status zeroulp_mla_forward(
    std::int32_t order, const zeroulp_attention* shape,
    const zeroulp_const_matrix* q, const zeroulp_const_matrix* latent,
    const zeroulp_const_matrix* rope_key, const zeroulp_const_matrix* up,
    const zeroulp_matrix* o, const zeroulp_matrix* largest,
    const zeroulp_matrix* inverse) {
  return guarded(__func__, [&] {
    const auto queries = rows_of<bf16_bits>(q, "q");
    const auto m = queries.rows;
    const auto rank = view_of(latent, "latent").cols;
    run_mla_forward(
        order, shape,
        {queries, rows_of<bf16_bits>(latent, "latent", m, rank),
         rows_of<bf16_bits>(rope_key, "rope_key", m,
                            view_of(rope_key, "rope_key").cols),
         rows_of<bf16_bits>(up, "up", view_of(up, "up").rows, rank)},
        o, largest, inverse);
  });
}

zeroulp_status zeroulp_dual_pipe_steps(std::int64_t stages,
                                       std::int64_t micro_batches,
                                       std::int64_t rank,
                                       const zeroulp_matrix* steps) {
  return guarded(__func__, [&] {
    need_pipe(stages, micro_batches, rank, "rank");
    zeroulp::engine::dual_pipe_steps(
        {stages, micro_batches}, rank,
        rows_of<row_index>(steps, "steps", 3 * micro_batches,
                           zeroulp::pipe_columns));
  });
}

zeroulp_status zeroulp_dual_pipe_order(std::int64_t stages,
                                       std::int64_t micro_batches,
                                       std::int64_t stage,
                                       const zeroulp_matrix* order) {
  return guarded(__func__, [&] {
    need_pipe(stages, micro_batches, stage, "stage");
    zeroulp::engine::dual_pipe_order(
        {stages, micro_batches}, stage,
        rows_of<row_index>(order, "order", 2, micro_batches / 2));
  });
}

zeroulp_status zeroulp_accumulate_micro_batches(
    const zeroulp_const_matrix* gradients, std::int64_t count,
    const zeroulp_const_matrix* order, const zeroulp_matrix* out) {
  return guarded(__func__,
                 [&] { run_accumulate(gradients, count, order, out); });
}

zeroulp_status zeroulp_choose_replicas(const zeroulp_const_matrix* experts,
                                       const zeroulp_const_matrix* ends,
                                       const zeroulp_matrix* replicas) {
  return guarded(__func__, [&] { run_choose(experts, ends, replicas); });
}

zeroulp_status zeroulp_merge_replicas(const zeroulp_const_matrix* by_replica,
                                      const zeroulp_const_matrix* by_expert,
                                      const zeroulp_matrix* from) {
  return guarded(__func__, [&] { run_merge(by_replica, by_expert, from); });
}

zeroulp_status zeroulp_indexer_logits(const zeroulp_const_matrix* q,
                                      const zeroulp_const_matrix* k,
                                      const zeroulp_const_matrix* q_scales,
                                      const zeroulp_const_matrix* k_scales,
                                      const zeroulp_const_matrix* weights,
                                      std::int64_t first,
                                      const zeroulp_matrix* logits) {
  return guarded(__func__, [&] {
    const auto queries = rows_of<std::uint8_t>(q, "q");
    const auto keys = rows_of<std::uint8_t>(k, "k");
    const auto m = queries.rows;
    const auto heads = view_of(weights, "weights").cols;
    run_indexer_logits(
        {queries, keys, rows_of<fp32_bits>(q_scales, "q_scales", m, heads),
         rows_of<fp32_bits>(k_scales, "k_scales", keys.rows, 1),
         rows_of<fp32_bits>(weights, "weights", m, heads), first},
        logits);
  });
}

zeroulp_status zeroulp_indexer_keys(const zeroulp_const_matrix* logits,
                                    std::int64_t first,
                                    const zeroulp_matrix* keys,
                                    const zeroulp_matrix* ties) {
  return guarded(__func__,
                 [&] { run_indexer_keys(logits, first, keys, ties); });
}

zeroulp_status zeroulp_mtp_tokens(const zeroulp_const_matrix* targets,
                                  std::int64_t length, std::int64_t depth,
                                  const zeroulp_matrix* inputs,
                                  const zeroulp_matrix* predictions) {
  return guarded(__func__, [&] {
    run_mtp_tokens(targets, length, depth, inputs, predictions);
  });
}

zeroulp_status zeroulp_mtp_input(
    const zeroulp_const_matrix* h, const zeroulp_const_matrix* next,
    const zeroulp_const_matrix* w_h, const zeroulp_const_matrix* w_next,
    std::uint32_t eps, const zeroulp_matrix* joined,
    const zeroulp_matrix* rstd_h, const zeroulp_matrix* rstd_next) {
  return guarded(__func__, [&] {
    const auto t = mtp_rows_of(h, next, w_h, w_next);
    const auto m = t.h.rows;
    zeroulp::engine::mtp_input(
        t, eps, rows_of<bf16_bits>(joined, "joined", m, 2 * t.h.cols),
        rows_of<fp32_bits>(rstd_h, "rstd_h", m, 1),
        rows_of<fp32_bits>(rstd_next, "rstd_next", m, 1));
  });
}

zeroulp_status zeroulp_mtp_input_backward(
    const zeroulp_const_matrix* d_joined, const zeroulp_const_matrix* h,
    const zeroulp_const_matrix* next, const zeroulp_const_matrix* w_h,
    const zeroulp_const_matrix* w_next, const zeroulp_const_matrix* rstd_h,
    const zeroulp_const_matrix* rstd_next, const zeroulp_const_matrix* residual,
    const zeroulp_matrix* dh, const zeroulp_matrix* d_next,
    const zeroulp_matrix* dw_h, const zeroulp_matrix* dw_next) {
  return guarded(__func__, [&] {
    const auto t = mtp_rows_of(h, next, w_h, w_next);
    const auto m = t.h.rows;
    const auto d = t.h.cols;
    zeroulp::engine::mtp_input_backward(
        t, {rows_of<bf16_bits>(d_joined, "d_joined", m, 2 * d),
            rows_of<fp32_bits>(rstd_h, "rstd_h", m, 1),
            rows_of<fp32_bits>(rstd_next, "rstd_next", m, 1),
            optional_rows_of<bf16_bits>(residual, "residual", m, d),
            rows_of<bf16_bits>(dh, "dh", m, d),
            rows_of<bf16_bits>(d_next, "d_next", m, d),
            rows_of<fp32_bits>(dw_h, "dw_h", 1, d),
            rows_of<fp32_bits>(dw_next, "dw_next", 1, d)});
  });
}
