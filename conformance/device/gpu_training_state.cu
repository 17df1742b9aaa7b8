// The kernels of AdamW, combine and dispatch as training_functions: what has no
// kernel is the engine's. A call takes any alignment and layout of scales, by
// its numbers.

#include "conformance/device/gpu_training.hpp"
#include "conformance/device/guarded_scales.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

int bytes_of(format f) { return f.bits() <= 16 ? 2 : 4; }

/// Aligned rows, without gaps or with them, or any.
margins draw_margins(std::ptrdiff_t cols, counter_rng& rng) {
  if (rng.one_in(3)) return {};
  if (rng.one_in(2)) return {0, static_cast<int>(-cols & 15)};
  return {rng.between(0, 3), rng.between(0, 5)};
}

struct placed_matrix : guarded_matrix {
  placed_matrix(codes_in x, int bytes, counter_rng& rng)
      : guarded_matrix(x.rows, x.cols, bytes, draw_margins(x.cols, rng)) {
    upload(x);
  }
};

void adamw_on_gpu(const adamw_step& step, codes_in g, codes_out m, codes_out v,
                  codes_out w, codes_out copy) {
  if (step.moment.bits() < 16) return engine::adamw(step, g, m, v, w, copy);
  counter_rng rng(step.seed, step.first);
  const int moment = bytes_of(step.moment);
  const placed_matrix at_g(g, bytes_of(step.gradient), rng);
  placed_matrix at_m(m, moment, rng);
  placed_matrix at_v(v, moment, rng);
  placed_matrix at_w(w, 4, rng);
  guarded_matrix at_copy(g.rows, g.cols, 2, draw_margins(g.cols, rng));
  const bool copies = copy.data != nullptr;
  cuda::adamw(step, at_g.view(), at_m.view(), at_v.view(), at_w.view(),
              copies ? at_copy.view() : cuda::matrix{});
  finish_kernel();
  at_m.download(m);
  at_v.download(v);
  at_w.download(w);
  if (copies) at_copy.download(copy);
}

__global__ void compute_factors(adamw_settings s, adamw_factors* out) {
  *out = make_adamw_factors(s);
}

adamw_factors factors_on_gpu(const adamw_settings& s) {
  const device_buffer<adamw_factors> factors(1);
  compute_factors<<<1, 1>>>(s, factors.data());
  finish_kernel();
  adamw_factors result{};
  factors.copy_to(&result, 1);
  return result;
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

/// A function of the row numbers, so that a case can be repeated.
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
  counter_rng rng = ways_of(slots, x.cols);
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
  counter_rng rng = ways_of(rows, x.cols);
  const bool is_power = q.scale != scale_kind::float32;
  const auto layout = static_cast<scale_layout>(rng.below(is_power ? 4 : 3));
  const placed_matrix at_x(x, 2, rng);
  const placed_matrix at_rows(words_of(rows).view(), 4, rng);
  guarded_matrix at_codes(codes.rows, codes.cols, q.to.bits() <= 8 ? 1 : 2,
                          draw_margins(codes.cols, rng));
  guarded_scales at_scales(layout, scales.rows, scales.cols,
                           {rng.between(0, 3), rng.between(0, 3)});
  cuda::dispatch(q, at_x.view(), row_numbers_of(at_rows),
                 {at_codes.view(), at_scales.view()});
  finish_kernel();
  at_codes.download(codes);
  if (layout != scale_layout::packed_ue8m0) return at_scales.download(scales);
  // UE8M0 does not hold every scale: the engine's are laid out.
  word_matrix ignored(codes.rows, codes.cols);
  engine::dispatch(q, x, rows, ignored.view(), scales);
  if (at_scales.differences(scales) != 0) {
    throw std::runtime_error("dispatch: scales or padding of layout ue8m0");
  }
}

}  // namespace

void fill_gpu_state(training_functions& f) {
  f.adamw = adamw_on_gpu;
  f.factors = factors_on_gpu;
  f.combine = combine_on_gpu;
  f.dispatch = dispatch_on_gpu;
}

}  // namespace zeroulp::conformance::device
