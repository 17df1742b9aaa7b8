// The C ABI: the operators of a training step but those of experts.

#include "zeroulp/model.hpp"

#include <vector>

#include "src/c_abi/model_rows.hpp"

namespace zeroulp::c_abi {
namespace {

static_assert(ZEROULP_ROPE_ADJACENT == static_cast<int>(rope_pairs::adjacent) &&
              ZEROULP_ROPE_HALVES == static_cast<int>(rope_pairs::halves));
void run_rms_norm_backward(const zeroulp_const_matrix* dy,
                           const zeroulp_const_matrix* x,
                           const zeroulp_const_matrix* w,
                           const zeroulp_const_matrix* rstd,
                           const zeroulp_const_matrix* residual,
                           const zeroulp_matrix* dx, const zeroulp_matrix* dw) {
  const auto from = rows_of<bf16_bits>(dy, "dy");
  const auto m = from.rows;
  const auto n = from.cols;
  const rms_norm_gradients t{
      from,
      rows_of<bf16_bits>(x, "x", m, n),
      rows_of<fp32_bits>(w, "w", 1, n),
      rows_of<fp32_bits>(rstd, "rstd", m, 1),
      optional_rows_of<bf16_bits>(residual, "residual", m, n),
      optional_rows_of<bf16_bits>(dx, "dx", m, n),
      optional_rows_of<fp32_bits>(dw, "dw", 1, n)};
  // Rows without elements are not counted.
  if (n > 0) engine::rms_norm_backward(t);
}

void run_rope(std::int32_t pairs, std::int32_t backward, std::int64_t heads,
              const zeroulp_const_matrix* x,
              const zeroulp_const_matrix* cosines,
              const zeroulp_const_matrix* sines, const zeroulp_matrix* y) {
  const auto how = enum_of(pairs, rope_pairs::halves, "pairs");
  const bool back = checked(backward, 0, 1, "backward") == 1;
  const auto c = rows_of<fp32_bits>(cosines, "cosines");
  const auto s = rows_of<fp32_bits>(sines, "sines", c.rows, c.cols);
  const auto from = rows_of<bf16_bits>(x, "x");
  const auto to = rows_of<bf16_bits>(y, "y", from.rows, from.cols);
  std::int64_t width = 0;
  if (heads < 1 || __builtin_mul_overflow(2 * c.cols, heads, &width) ||
      width != from.cols) {
    refuse("x: {} columns, but {} heads of {} pairs", from.cols, heads, c.cols);
  }
  if (width > 0) engine::rope({how, back, heads, from, c, s, to});
}

void run_rope_table(const zeroulp_const_matrix* frequencies, std::int64_t first,
                    const zeroulp_matrix* cosines,
                    const zeroulp_matrix* sines) {
  const auto by = rows_of<double>(frequencies, "frequencies");
  need_shape(view_of(frequencies, "frequencies"), "frequencies", 1, by.cols,
             "are needed");
  constexpr std::int64_t last = std::int64_t{1} << 20;
  if (first < 0 || first > last)
    refuse("first is {}: use 0 to {}", first, last);
  const auto positions = view_of(cosines, "cosines").rows;
  engine::rope_table({by.data, static_cast<std::size_t>(by.cols)}, first,
                     rows_of<fp32_bits>(cosines, "cosines", positions, by.cols),
                     rows_of<fp32_bits>(sines, "sines", positions, by.cols));
}

attention_shape shape_of(const zeroulp_attention* given,
                         const engine::attention_inputs& t) {
  const auto& s = needed(given, "shape");
  if (s.length < 1) refuse("shape.length is {}: use 1 and up", s.length);
  if (s.heads < 1) refuse("shape.heads is {}: use 1 and up", s.heads);
  const auto depth = [&s](std::ptrdiff_t cols, const char* what) {
    if (cols > 0 && cols % s.heads == 0) return cols / s.heads;
    refuse("{}: {} columns, but {} heads, all as wide", what, cols, s.heads);
  };
  if (t.q.rows % s.length != 0) {
    refuse("q: {} rows, but sequences of {}", t.q.rows, s.length);
  }
  if (s.scale == 0 || s.scale >= 0x7f800000) {
    refuse("shape.scale is {:08x}: use FP32 bits of a number above 0", s.scale);
  }
  return {s.length, s.heads, depth(t.q.cols, "q"), depth(t.v.cols, "v"),
          s.scale};
}

engine::attention_inputs inputs_of(const zeroulp_const_matrix* q,
                                   const zeroulp_const_matrix* k,
                                   const zeroulp_const_matrix* v) {
  const auto queries = rows_of<bf16_bits>(q, "q");
  return {queries, rows_of<bf16_bits>(k, "k", queries.rows, queries.cols),
          rows_of<bf16_bits>(v, "v", queries.rows, view_of(v, "v").cols)};
}

void run_attention_forward(const zeroulp_attention* given,
                           const zeroulp_const_matrix* q,
                           const zeroulp_const_matrix* k,
                           const zeroulp_const_matrix* v,
                           const zeroulp_matrix* o,
                           const zeroulp_matrix* largest,
                           const zeroulp_matrix* inverse) {
  const auto t = inputs_of(q, k, v);
  const auto shape = shape_of(given, t);
  const auto m = t.q.rows;
  engine::attention_forward(
      shape, t, rows_of<bf16_bits>(o, "o", m, t.v.cols),
      rows_of<fp32_bits>(largest, "largest", m, shape.heads),
      rows_of<fp32_bits>(inverse, "inverse", m, shape.heads));
}

void run_attention_backward(
    const zeroulp_attention* given, const zeroulp_const_matrix* q,
    const zeroulp_const_matrix* k, const zeroulp_const_matrix* v,
    const zeroulp_const_matrix* o, const zeroulp_const_matrix* largest,
    const zeroulp_const_matrix* inverse, const zeroulp_const_matrix* d_o,
    const zeroulp_matrix* dq, const zeroulp_matrix* dk,
    const zeroulp_matrix* dv) {
  const auto t = inputs_of(q, k, v);
  const auto shape = shape_of(given, t);
  const auto m = t.q.rows;
  engine::attention_backward(
      shape, t,
      {rows_of<fp32_bits>(o, "o", m, t.v.cols),
       rows_of<fp32_bits>(largest, "largest", m, shape.heads),
       rows_of<fp32_bits>(inverse, "inverse", m, shape.heads)},
      rows_of<bf16_bits>(d_o, "d_o", m, t.v.cols),
      {rows_of<bf16_bits>(dq, "dq", m, t.q.cols),
       rows_of<bf16_bits>(dk, "dk", m, t.q.cols),
       rows_of<bf16_bits>(dv, "dv", m, t.v.cols)});
}

void run_cross_entropy(const zeroulp_const_matrix* logits,
                       const zeroulp_const_matrix* targets,
                       std::uint32_t factor, const zeroulp_matrix* losses,
                       const zeroulp_matrix* dlogits) {
  const auto from = rows_of<fp32_bits>(logits, "logits");
  const auto m = from.rows;
  engine::cross_entropy(
      {from,
       rows_of<row_index>(targets, "targets", m, 1),
       factor,
       rows_of<fp32_bits>(losses, "losses", m, 1),
       optional_rows_of<bf16_bits>(dlogits, "dlogits", m, from.cols),
       {}});
}

void run_add_shards(const zeroulp_const_matrix* shards, std::int64_t count,
                    const zeroulp_matrix* out) {
  needed(shards, "shards");
  if (count < 1 || (count & (count - 1)) != 0) {
    refuse("count is {}: use a power of two", count);
  }
  const auto to = rows_of<fp32_bits>(out, "out");
  std::vector<matrix_view<const fp32_bits>> from;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto name = fmt::format("shards[{}]", i);
    from.push_back(
        rows_of<fp32_bits>(shards + i, name.c_str(), to.rows, to.cols));
  }
  engine::add_shards(from, to);
}

void run_clip_factor(double norm, double clip, std::uint32_t* factor) {
  if (norm < 0) refuse("norm is {}: use 0 and up", norm);
  if (!(clip >= 0)) refuse("clip is {}: use 0 and up", clip);
  needed(factor, "factor") = clip_factor(norm, clip);
}

void run_rate_of(const zeroulp_rate_schedule* given, std::int64_t step,
                 double* rate) {
  const auto& s = needed(given, "schedule");
  if (!(s.rate >= 0 && s.rate < 0x1p128)) {
    refuse("schedule.rate is {}: use 0 to less than 2^128", s.rate);
  }
  if (!(s.last >= 0 && s.last <= 1)) {
    refuse("schedule.last is {}: use 0 to 1", s.last);
  }
  if (s.warmup < 0 || s.hold < s.warmup || s.steps < s.hold) {
    refuse("schedule: warmup {}, hold {}, steps {}: they must ascend from 0",
           s.warmup, s.hold, s.steps);
  }
  if (step < 1 || step > s.steps) {
    refuse("step is {}: use 1 to {}", step, s.steps);
  }
  needed(rate, "rate") =
      rate_of({s.rate, s.warmup, s.hold, s.steps, s.last}, step);
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace engine = zeroulp::engine;

zeroulp_status zeroulp_log(const zeroulp_const_matrix* x,
                           const zeroulp_matrix* out) {
  return guarded(__func__, [&] {
    const auto from = rows_of<fp32_bits>(x, "x");
    engine::log(from, rows_of<fp32_bits>(out, "out", from.rows, from.cols));
  });
}

zeroulp_status zeroulp_rms_norm_backward(const zeroulp_const_matrix* dy,
                                         const zeroulp_const_matrix* x,
                                         const zeroulp_const_matrix* w,
                                         const zeroulp_const_matrix* rstd,
                                         const zeroulp_const_matrix* residual,
                                         const zeroulp_matrix* dx,
                                         const zeroulp_matrix* dw) {
  return guarded(__func__, [&] {
    run_rms_norm_backward(dy, x, w, rstd, residual, dx, dw);
  });
}

zeroulp_status zeroulp_rope(std::int32_t pairs, std::int32_t backward,
                            std::int64_t heads, const zeroulp_const_matrix* x,
                            const zeroulp_const_matrix* cosines,
                            const zeroulp_const_matrix* sines,
                            const zeroulp_matrix* y) {
  return guarded(__func__, [&] {
    run_rope(pairs, backward, heads, x, cosines, sines, y);
  });
}

zeroulp_status zeroulp_rope_frequency(std::int64_t n, std::int64_t i,
                                      double* frequency) {
  return guarded(__func__, [&] {
    needed(frequency, "frequency") = engine::rope_frequency(n, i);
  });
}

zeroulp_status zeroulp_rope_table(const zeroulp_const_matrix* frequencies,
                                  std::int64_t first,
                                  const zeroulp_matrix* cosines,
                                  const zeroulp_matrix* sines) {
  return guarded(__func__,
                 [&] { run_rope_table(frequencies, first, cosines, sines); });
}

zeroulp_status zeroulp_attention_scale(std::int64_t n, std::uint32_t* scale) {
  return guarded(__func__, [&] {
    if (n < 1) refuse("n is {}: use 1 and up", n);
    needed(scale, "scale") = zeroulp::attention_scale(n);
  });
}

zeroulp_status zeroulp_attention_forward(const zeroulp_attention* shape,
                                         const zeroulp_const_matrix* q,
                                         const zeroulp_const_matrix* k,
                                         const zeroulp_const_matrix* v,
                                         const zeroulp_matrix* o,
                                         const zeroulp_matrix* largest,
                                         const zeroulp_matrix* inverse) {
  return guarded(__func__, [&] {
    run_attention_forward(shape, q, k, v, o, largest, inverse);
  });
}

zeroulp_status zeroulp_attention_backward(
    const zeroulp_attention* shape, const zeroulp_const_matrix* q,
    const zeroulp_const_matrix* k, const zeroulp_const_matrix* v,
    const zeroulp_const_matrix* o, const zeroulp_const_matrix* largest,
    const zeroulp_const_matrix* inverse, const zeroulp_const_matrix* d_o,
    const zeroulp_matrix* dq, const zeroulp_matrix* dk,
    const zeroulp_matrix* dv) {
  return guarded(__func__, [&] {
    run_attention_backward(shape, q, k, v, o, largest, inverse, d_o, dq, dk,
                           dv);
  });
}

zeroulp_status zeroulp_cross_entropy(const zeroulp_const_matrix* logits,
                                     const zeroulp_const_matrix* targets,
                                     std::uint32_t factor,
                                     const zeroulp_matrix* losses,
                                     const zeroulp_matrix* dlogits) {
  return guarded(__func__, [&] {
    run_cross_entropy(logits, targets, factor, losses, dlogits);
  });
}

zeroulp_status zeroulp_sum_of_losses(const zeroulp_const_matrix* losses,
                                     double* sum) {
  return guarded(__func__, [&] {
    const auto m = view_of(losses, "losses").rows;
    const auto from = rows_of<fp32_bits>(losses, "losses", m, 1);
    needed(sum, "sum") = engine::sum_of_losses(from);
  });
}

zeroulp_status zeroulp_add_shards(const zeroulp_const_matrix* shards,
                                  std::int64_t count,
                                  const zeroulp_matrix* out) {
  return guarded(__func__, [&] { run_add_shards(shards, count, out); });
}

zeroulp_status zeroulp_update_average(const zeroulp_const_matrix* weights,
                                      std::uint32_t rate,
                                      const zeroulp_matrix* average) {
  return guarded(__func__, [&] {
    const auto from = rows_of<fp32_bits>(weights, "weights");
    engine::update_average(
        from, rate,
        rows_of<fp32_bits>(average, "average", from.rows, from.cols));
  });
}

zeroulp_status zeroulp_sum_of_squares(const zeroulp_const_matrix* g,
                                      double* sum) {
  return guarded(__func__, [&] {
    const auto from = rows_of<fp32_bits>(g, "g");
    needed(sum, "sum") = engine::sum_of_squares(from);
  });
}

zeroulp_status zeroulp_clip_factor(double norm, double clip,
                                   std::uint32_t* factor) {
  return guarded(__func__, [&] { run_clip_factor(norm, clip, factor); });
}

zeroulp_status zeroulp_rate_of(const zeroulp_rate_schedule* schedule,
                               std::int64_t step, double* rate) {
  return guarded(__func__, [&] { run_rate_of(schedule, step, rate); });
}
