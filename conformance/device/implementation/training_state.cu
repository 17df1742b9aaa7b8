// The kernels of AdamW, combine and dispatch as training_functions; the engine
// where there is no kernel. The numbers of a call seed the alignment and the
// layout of scales.

#include "conformance/device/implementation/training.hpp"
#include "conformance/device/support/drawn_memory.hpp"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::conformance::device {
namespace {

void adamw_on_gpu(const adamw_step& step, codes_in g, codes_out m, codes_out v,
                  codes_out w, codes_out copy) {
  if (step.moment.bits() < 16) return engine::adamw(step, g, m, v, w, copy);
  if (g.rows == 0 || g.cols == 0) return;
  placing rng(counter_rng(step.seed, step.first));
  const int moment = storage_bytes(step.moment);
  const placed_matrix at_g(g, storage_bytes(step.gradient), rng);
  placed_matrix at_m(m, moment, rng);
  placed_matrix at_v(v, moment, rng);
  placed_matrix at_w(w, 4, rng);
  const bool wants_copy = copy.data != nullptr;
  const bool copies = wants_copy && !rng.one_in(3);
  number_output at_copy(bf16, g.rows, g.cols, copies, rng);
  cuda::adamw(step, at_g.view(), at_m.view(), at_v.view(), at_w.view(),
              at_copy.view());
  finish_kernel();
  at_m.download(m);
  at_v.download(v);
  at_w.download(w);
  at_copy.download(copy);
  if (copies || !wants_copy) return;
  for (std::ptrdiff_t i = 0; i < w.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < w.cols; ++j) {
      copy(i, j) = static_cast<std::uint32_t>(
          recode(fp32, w(i, j), bf16, {}, cuda_nosat));
    }
  }
}

__global__ void compute_factors(adamw_settings s, adamw_factors* out) {
  *out = make_adamw_factors(s);
}

word_matrix words_of(slots_in x) {
  word_matrix words(x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      words.view()(i, j) = static_cast<std::uint32_t>(x(i, j));
    }
  }
  return words;
}

cuda::row_numbers row_numbers_of(const guarded_matrix& x) {
  const cuda::matrix m = x.view();
  return {static_cast<const std::int32_t*>(m.data), m.rows, m.cols, m.stride};
}

/// Seeds choices by a hash of the row numbers, so that a case can be repeated.
counter_rng ways_of(slots_in rows, std::ptrdiff_t cols) {
  std::uint64_t hash = static_cast<std::uint64_t>(cols);
  for (std::ptrdiff_t i = 0; i < rows.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < rows.cols; ++j) {
      hash = mix64(hash + static_cast<std::uint64_t>(rows(i, j)) + golden);
    }
  }
  return {static_cast<std::uint64_t>(rows.rows), hash};
}

void combine_on_gpu(combine_rule rule, codes_in x, slots_in slots,
                    codes_in weights, codes_out out) {
  if (out.rows == 0 || out.cols == 0) return;
  placing rng(ways_of(slots, x.cols));
  const placed_matrix at_x(x, 2, rng);
  const placed_matrix at_slots(words_of(slots).view(), 4, rng);
  guarded_matrix at_out(out.rows, out.cols, 2, draw_margins(out.cols, rng));
  const placed_matrix at_weights(weights, 4, rng);
  cuda::basic_matrix<const std::uint32_t> by;
  if (weights.data != nullptr) {
    by = {at_weights.words(), weights.rows, weights.cols, at_weights.stride()};
  }
  cuda::combine(rule, at_x.view(), row_numbers_of(at_slots), by, at_out.view());
  finish_kernel();
  at_out.download(out);
}

void dispatch_on_gpu(const quantizer& q, codes_in x, slots_in rows,
                     codes_out codes, codes_out scales) {
  const auto has_kernel = [](format f) {
    return f == e4m3 || f == e5m2 || f == e5m6;
  };
  if (!(q.from == bf16 && has_kernel(q.to) && q.group == group_shape{1, 128})) {
    return engine::dispatch(q, x, rows, codes, scales);
  }
  if (codes.rows == 0 || codes.cols == 0) return;
  placing rng(ways_of(rows, x.cols));
  const placed_matrix at_x(x, 2, rng);
  const placed_matrix at_rows(words_of(rows).view(), 4, rng);
  quantized_memory out(q, codes.rows, codes.cols, true, rng);
  cuda::dispatch(q, at_x.view(), row_numbers_of(at_rows), out.view());
  finish_kernel();
  out.download({codes, scales}, [&](const quantized_out& y) {
    engine::dispatch(q, x, rows, y.codes, y.scales);
  });
}

}  // namespace

adamw_factors factors_on_gpu(const adamw_settings& s) {
  const device_buffer<adamw_factors> factors(1);
  compute_factors<<<1, 1>>>(s, factors.data());
  finish_kernel();
  adamw_factors result{};
  factors.copy_to(&result, 1);
  return result;
}

void set_gpu_state(implementation& i) {
  i.adamw = adamw_on_gpu;
  i.combine = combine_on_gpu;
  i.dispatch = dispatch_on_gpu;
}

}  // namespace zeroulp::conformance::device
