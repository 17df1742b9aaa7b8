// The C ABI: the operators of a training step but those of experts.

#include <vector>

#include "src/c_abi/model_requests.hpp"

namespace zeroulp::c_abi {
namespace {

void run_rope(const rope_rows& t) {
  // Heads without pairs are not counted.
  if (t.x.cols > 0) engine::rope(t);
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

void run_add_shards(const zeroulp_const_matrix* shards, std::int64_t count,
                    const zeroulp_matrix* out) {
  needed(shards, "shards");
  if (count < 1 || (count & (count - 1)) != 0) {
    refuse("count is {}: use a power of two", count);
  }
  const auto to = rows_of<fp32_bits>(out, "out");
  const auto from =
      all_rows_of<fp32_bits>(shards, count, "shards", to.rows, to.cols);
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
    const auto t = rms_norm_gradients_of(dy, x, w, rstd, residual, dx, dw);
    // Rows without elements are not counted.
    if (t.x.cols > 0) engine::rms_norm_backward(t);
  });
}

zeroulp_status zeroulp_rope(std::int32_t pairs, std::int32_t backward,
                            std::int64_t heads, const zeroulp_const_matrix* x,
                            const zeroulp_const_matrix* cosines,
                            const zeroulp_const_matrix* sines,
                            const zeroulp_matrix* y) {
  return guarded(__func__, [&] {
    run_rope(rope_rows_of(pairs, backward, heads, x, cosines, sines, y));
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
    const auto r = attention_of(shape, q, k, v);
    const auto out = outputs_of(r, o, largest, inverse);
    engine::attention_forward(r.shape, r.inputs, out.o, out.largest,
                              out.inverse);
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
    const auto r = attention_of(shape, q, k, v);
    const auto kept = kept_of(r, o, largest, inverse);
    const auto slope =
        rows_of<bf16_bits>(d_o, "d_o", r.inputs.q.rows, r.inputs.v.cols);
    engine::attention_backward(r.shape, r.inputs, kept, slope,
                               gradients_of(r, dq, dk, dv));
  });
}

zeroulp_status zeroulp_cross_entropy(const zeroulp_const_matrix* logits,
                                     const zeroulp_const_matrix* targets,
                                     std::uint32_t factor,
                                     const zeroulp_matrix* losses,
                                     const zeroulp_matrix* dlogits) {
  return guarded(__func__, [&] {
    engine::cross_entropy(
        cross_entropy_rows_of(logits, targets, factor, losses, dlogits));
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
