// Holds multi-token prediction against the oracle: its tokens, what its
// projection reads, forward and backward.

#include <fmt/format.h>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::conformance {
namespace {

/// Columns [from, from + count).
grid columns_of(const grid& x, std::ptrdiff_t from, std::ptrdiff_t count) {
  grid out(x.rows, count);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < count; ++j) out(i, j) = x(i, from + j);
  }
  return out;
}

/// S4 and S5 of each row: the factor, and the row in BF16.
struct normed {
  grid y, rstd;
};
normed norm_of(const grid& x, const grid& w, std::uint32_t eps) {
  normed out{grid(x.rows, x.cols), grid(x.rows, 1)};
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    std::vector<float> row;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      row.push_back(oracle::number_of(bf16, x(i, j)));
    }
    const float factor = oracle::rms_factor(row, oracle::to_float(eps));
    out.rstd(i, 0) = oracle::to_bits(factor);
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float scaled = row[static_cast<std::size_t>(j)] * factor;
      out.y(i, j) = oracle::code_of(bf16, scaled * oracle::to_float(w(0, j)));
    }
  }
  return out;
}

}  // namespace

verdict tokens_of_mtp(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 60, [&](counter_rng& rng, auto, verdict& v) {
    const int length = rng.between(1, 9);
    const int sequences = rng.between(0, 3);
    const int depth = rng.between(1, 4);
    const int m = length * sequences;
    grid targets(m, 1), inputs(m, 1, 0xffffffff), predictions(inputs);
    for (int s = 0; s < sequences; ++s) {
      std::vector<std::uint32_t> ids;
      for (int i = 0; i < length; ++i) {
        ids.push_back(rng.one_in(8) ? 0xffffffff : rng.below(99));
        targets(s * length + i, 0) = ids.back();
      }
      // Each token but the first `depth` is predicted once.
      for (int i = depth - 1; i < length; ++i) {
        const auto id = ids[static_cast<std::size_t>(i)];
        inputs(s * length + i - depth + 1, 0) = id;
        if (i >= depth) predictions(s * length + i - depth, 0) = id;
      }
    }
    const index_rows in(targets, rng);
    index_rows to_inputs(m, 1, rng), to_predictions(m, 1, rng);
    t.mtp_tokens(
        {in.input(), length, depth, to_inputs.view(), to_predictions.view()});
    const auto describe = [&] {
      return fmt::format("{}: mtp_tokens of {} sequences of {}, depth {}",
                         t.name, sequences, length, depth);
    };
    count_output(v, to_inputs, inputs, "input ", describe);
    count_output(v, to_predictions, predictions, "prediction ", describe);
  });
}

verdict rows_of_mtp(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 24, [&](counter_rng& rng, auto c, verdict& v) {
    static constexpr int widths[] = {1, 8, 100, 257};
    const int d = widths[c % 4];
    const int m = rng.between(1, 4);
    const grid h = any_numbers(bf16, m, d, rng);
    const grid next = any_numbers(bf16, m, d, rng);
    const grid w_h = any_numbers(fp32, 1, d, rng);
    const grid w_next = any_numbers(fp32, 1, d, rng);
    const std::uint32_t eps = rng.one_in(2) ? 0x358637bd : 0x3727c5ac;
    const normed of_h = norm_of(h, w_h, eps);
    const normed of_next = norm_of(next, w_next, eps);
    const bf16_rows in_h(h, rng), in_next(next, rng);
    const word_rows in_w_h(w_h, rng), in_w_next(w_next, rng);
    const engine::mtp_rows rows{in_h.input(), in_next.input(), in_w_h.input(),
                                in_w_next.input()};
    const auto describe = [&] {
      return fmt::format("{}: mtp_input of {} x {}", t.name, m, d);
    };
    bf16_rows joined(m, 2 * d, rng);
    word_rows rstd_h(m, 1, rng), rstd_next(m, 1, rng);
    t.mtp_input(rows, eps, joined.view(), rstd_h.view(), rstd_next.view());
    grid want(m, 2 * d);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < 2 * d; ++j) {
        want(i, j) = j < d ? of_h.y(i, j) : of_next.y(i, j - d);
      }
    }
    count_output(v, joined, want, "joined ", describe);
    count_output(v, rstd_h, of_h.rstd, "rstd_h ", describe);
    count_output(v, rstd_next, of_next.rstd, "rstd_next ", describe);

    const grid slopes = any_numbers(bf16, m, 2 * d, rng);
    const grid residual = rng.one_in(2) ? any_numbers(bf16, m, d, rng) : grid();
    const auto right_h = oracle::norm_backward(
        {columns_of(slopes, 0, d), h, w_h, of_h.rstd, residual});
    const auto right_next = oracle::norm_backward(
        {columns_of(slopes, d, d), next, w_next, of_next.rstd, {}});
    const bf16_rows in_slopes(slopes, rng), in_residual(residual, rng);
    bf16_rows dh(m, d, rng), d_next(m, d, rng);
    word_rows dw_h(1, d, rng), dw_next(1, d, rng);
    engine::mtp_gradients g{
        in_slopes.input(), rstd_h.input(), rstd_next.input(), {},
        dh.view(),         d_next.view(),  dw_h.view(),       dw_next.view()};
    if (residual.rows > 0) g.residual = in_residual.input();
    t.mtp_input_backward(rows, g);
    count_output(v, dh, right_h.dx, "dh ", describe);
    count_output(v, d_next, right_next.dx, "d_next ", describe);
    count_output(v, dw_h, right_h.dw, "dw_h ", describe);
    count_output(v, dw_next, right_next.dw, "dw_next ", describe);
  });
}

}  // namespace zeroulp::conformance
