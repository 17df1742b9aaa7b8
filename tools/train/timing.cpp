// A step on the CPU with a clock around its products and its attention.

#include "tools/train/timing.hpp"

#include <chrono>

#include "tools/train/run_on.hpp"
#include "tools/train/wrapped_ops.hpp"

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

struct keep_times {
  template <class Compute, class Out>
  static void product(const Compute& compute, const engine_ops::operand& a,
                      const Out& out) {
    const bool is_fp8 = a.how.to.bits() <= 8;
    product_times& t = is_fp8 ? current->fp8 : current->other;
    t.multiply_adds += static_cast<double>(out.rows) *
                       static_cast<double>(out.cols) *
                       static_cast<double>(a.codes.cols);
    timed(t.seconds, compute);
  }
  template <class Compute, class... Out>
  static void attention(const Compute& compute, const Out&...) {
    timed(current->attention_seconds, compute);
  }
};

}  // namespace

std::unique_ptr<any_run> make_timed_run(run_settings settings,
                                        training_data data, step_times& times) {
  current = &times;
  return std::make_unique<run_on<wrapped_ops<keep_times>>>(std::move(settings),
                                                           std::move(data));
}

}  // namespace zeroulp::train
