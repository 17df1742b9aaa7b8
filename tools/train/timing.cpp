// A step on the CPU with a clock around its products and its attention.

#include "tools/train/timing.hpp"

#include <chrono>

#include "tools/train/run_on.hpp"

namespace zeroulp::train {
namespace {

/// Of the run that this process times.
step_times* current = nullptr;

/// Adds what `work` takes.
template <class Work>
void timed(double& seconds, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
}

struct timed_ops : engine_ops {
  template <class Out>
  static product_times& of(const operand& a, const Out& out) {
    const bool is_fp8 = a.how.to.bits() <= 8;
    product_times& t = is_fp8 ? current->fp8 : current->other;
    t.multiply_adds += static_cast<double>(out.rows) *
                       static_cast<double>(out.cols) *
                       static_cast<double>(a.codes.cols);
    return t;
  }
  static void product(const sum_rule& by, const operand& a, const operand& b,
                      bool b_across, matrix_view<std::uint16_t> out) {
    timed(of(a, out).seconds,
          [&] { engine_ops::product(by, a, b, b_across, out); });
  }
  static void product(const sum_rule& by, const operand& a, const operand& b,
                      matrix_view<std::uint32_t> out) {
    timed(of(a, out).seconds, [&] { engine_ops::product(by, a, b, out); });
  }
  static void attention_forward(const attention_shape& s,
                                const engine::attention_inputs& t,
                                matrix_view<std::uint16_t> o,
                                matrix_view<std::uint32_t> largest,
                                matrix_view<std::uint32_t> inverse) {
    timed(current->attention_seconds,
          [&] { engine_ops::attention_forward(s, t, o, largest, inverse); });
  }
  static void attention_backward(const attention_shape& s,
                                 const engine::attention_inputs& t,
                                 const engine::attention_kept& kept,
                                 half_view d_o,
                                 const engine::attention_gradients_out& out) {
    timed(current->attention_seconds,
          [&] { engine_ops::attention_backward(s, t, kept, d_o, out); });
  }
};

}  // namespace

std::unique_ptr<any_run> make_timed_run(run_settings settings,
                                        training_data data, step_times& times) {
  current = &times;
  return std::make_unique<run_on<timed_ops>>(std::move(settings),
                                             std::move(data));
}

}  // namespace zeroulp::train
