// The chain of a training step's kernels: gradients of RMSNorm, gradients
// through slots, cross entropy and the sums behind it.

#include "conformance/device/silicon/chains.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr group_shape groups{1, 128};
constexpr std::uint32_t eps = 0x358637bd;  // 1e-6

class model_chain : public chain {
 public:
  explicit model_chain(const chain_setting& s)
      : chain(chain_room(std::max(s.m, s.n), s.pitch)),
        m(s.m),
        n(s.n),
        scale(s.scale),
        rng(s.seed, 33) {}

  void run(cudaStream_t stream, const step& before) const override {
    const quantizer rows{bf16, e4m3, zeroulp_convention, scale, groups};
    before({&w});
    cuda::widen(span_of<const std::uint16_t>(w), span_of<std::uint32_t>(wide_w),
                stream);
    before({&x, &w});
    cuda::rms_norm({bf16, bf16, eps, rows}, x.view(), w.view(), y.view(),
                   rstd.words(), y_codes.quantized(), stream);
    before({&y, &x, &wide_w, &rstd, &residual});
    cuda::rms_norm_backward(
        {y.as<const std::uint16_t>(), x.as<const std::uint16_t>(),
         wide_w.as<const std::uint32_t>(), rstd.as<const std::uint32_t>(),
         residual.as<const std::uint16_t>(), dx.as<std::uint16_t>(),
         dw.words()},
        span_of<std::uint32_t>(ranges), stream);
    // d_rows, too: a mark that is written early would be turned over.
    before({&dx, &slots, &rstd, &y, &d_rows});
    cuda::slot_backward(
        {dx.as<const std::uint16_t>(), slots.as<const std::int32_t>(),
         rstd.as<const std::uint32_t>(), y.as<const std::uint16_t>(),
         d_rows.as<std::uint16_t>(), d_weights.words()},
        stream);
    // Without rows of experts the slots' kernel is the first.
    before({&dx, &slots, &d_rows});
    cuda::slot_backward({dx.as<const std::uint16_t>(),
                         slots.as<const std::int32_t>(),
                         {},
                         d_rows.as<const std::uint16_t>(),
                         {},
                         dots.words()},
                        stream);
    before({&y_codes});
    cuda::dequantize(e4m3, groups, y_codes.view(), y_codes.scale_view(), fp32,
                     logits.view(), stream);
    before({&logits, &targets});
    cuda::cross_entropy(
        {logits.as<const std::uint32_t>(), targets.as<const std::int32_t>(),
         0x3f800000, losses.words(), d_logits.as<std::uint16_t>(),
         exponentials.words()},
        stream);
    before({&losses});
    cuda::sum_of_losses(losses.as<const std::uint32_t>(),
                        span_of<double>(ranges_of_losses),
                        loss.as<double>().data, stream);
    before({&dw});
    cuda::sum_of_squares(span_of<const std::uint32_t>(dw),
                         span_of<double>(chunks), norm.as<double>().data,
                         stream);
  }

 private:
  /// The elements of a matrix of one row.
  template <class T>
  static std::span<T> span_of(const chain_matrix& x) {
    return {x.as<T>().data, static_cast<std::size_t>(x.cols)};
  }

  std::ptrdiff_t m, n;
  scale_kind scale;
  counter_rng rng;
  const chain_matrix &x = make_numbers(m, n, rng), &w = make_numbers(1, n, rng),
                     &residual = make_numbers(m, n, rng),
                     &slots = make_places(m, rng),
                     &targets = make_row_numbers(m, 1, n, rng);
  const chain_matrix &wide_w = make(1, n, 4), &y = make(m, n, 2),
                     &rstd = make(m, 1, 4), &y_codes = make(m, n, 1),
                     &dx = make(m, n, 2), &dw = make(1, n, 4),
                     &ranges = make(1, ceil_div(m, token_range) * n, 4),
                     &d_rows = make(m, n, 2), &d_weights = make(m, 1, 4),
                     &dots = make(m, 1, 4), &logits = make(m, n, 4),
                     &losses = make(m, 1, 4), &d_logits = make(m, n, 2),
                     &exponentials = make(m, n, 4),
                     &ranges_of_losses = make(1, ceil_div(m, 1024), 8),
                     &loss = make(1, 1, 8), &chunks = make(1, 1, 8),
                     &norm = make(1, 1, 8);
};

}  // namespace

std::unique_ptr<chain> make_model_chain(const chain_setting& s) {
  return std::make_unique<model_chain>(s);
}

}  // namespace zeroulp::conformance::device
