// Operators of model_more.hpp of multi-token prediction: engine's RMSNorm side
// by side.

#include <fmt/format.h>

#include "src/arrays/lines.hpp"
#include "src/model/checks.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/model.hpp"
#include "zeroulp/model_more.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::engine {
namespace {

void check_mtp_rows(const mtp_rows& t) {
  const std::ptrdiff_t m = t.h.rows;
  const std::ptrdiff_t d = t.h.cols;
  check_rows_of(t.h, m, d, "mtp_input, h");
  check_rows_of(t.next, m, d, "mtp_input, next");
  check_rows_of(t.w_h, 1, d, "mtp_input, w_h");
  check_rows_of(t.w_next, 1, d, "mtp_input, w_next");
}

}  // namespace

void mtp_tokens(const mtp_shift& t) {
  const std::ptrdiff_t m = t.targets.rows;
  if (t.length < 1 || m % t.length != 0 || t.depth < 1) {
    throw input_error(fmt::format(
        "mtp_tokens: {} tokens in sequences of {}, depth {}: sequences are "
        "whole and have tokens, and depth is 1 or more",
        m, t.length, t.depth));
  }
  check_shape(t.targets, m, 1, "mtp_tokens, targets", "a column is");
  check_shape(t.inputs, m, 1, "mtp_tokens, inputs", "the targets are");
  check_shape(t.predictions, m, 1, "mtp_tokens, predictions",
              "the targets are");
  zeroulp::mtp_tokens(t);
}

void mtp_input(const mtp_rows& t, std::uint32_t eps,
               matrix_view<std::uint16_t> joined,
               matrix_view<std::uint32_t> rstd_h,
               matrix_view<std::uint32_t> rstd_next) {
  const std::ptrdiff_t m = t.h.rows;
  const std::ptrdiff_t d = t.h.cols;
  check_mtp_rows(t);
  check_rows_of(joined, m, 2 * d, "mtp_input, joined");
  check_shape(rstd_h, m, 1, "mtp_input, rstd_h", "the tokens need");
  check_shape(rstd_next, m, 1, "mtp_input, rstd_next", "the tokens need");
  rms_layer layer{bf16, fp32, eps, {}};
  layer.out.from = bf16;
  rms_norm(layer, t.h, t.w_h, joined.block(0, 0, m, d), rstd_h);
  rms_norm(layer, t.next, t.w_next, joined.block(0, d, m, d), rstd_next);
}

void mtp_input_backward(const mtp_rows& t, const mtp_gradients& g) {
  const std::ptrdiff_t m = t.h.rows;
  const std::ptrdiff_t d = t.h.cols;
  check_mtp_rows(t);
  check_rows_of(g.d_joined, m, 2 * d, "mtp_input_backward, d_joined");
  check_rows_of(g.rstd_h, m, 1, "mtp_input_backward, rstd_h");
  check_rows_of(g.rstd_next, m, 1, "mtp_input_backward, rstd_next");
  check_if_any(g.residual, m, d, "mtp_input_backward, residual");
  check_rows_of(g.dh, m, d, "mtp_input_backward, dh");
  check_rows_of(g.d_next, m, d, "mtp_input_backward, d_next");
  check_rows_of(g.dw_h, 1, d, "mtp_input_backward, dw_h");
  check_rows_of(g.dw_next, 1, d, "mtp_input_backward, dw_next");
  rms_norm_backward({g.d_joined.block(0, 0, m, d), t.h, t.w_h, g.rstd_h,
                     g.residual, g.dh, g.dw_h});
  rms_norm_backward({g.d_joined.block(0, d, m, d),
                     t.next,
                     t.w_next,
                     g.rstd_next,
                     {},
                     g.d_next,
                     g.dw_next});
}

}  // namespace zeroulp::engine
