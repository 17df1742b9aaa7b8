#include "tools/train/gpu/several_gpus.hpp"

#include <exception>
#include <thread>

#include "tools/train/gpu/cuda_ops.hpp"
#include "tools/train/run_on.hpp"

namespace zeroulp::train {

// In cuda_ops.cpp.
extern template class run_on<cuda_ops>;

namespace {

/// use(i) for each i below count, each on a thread of its own; then throws the
/// first exception of one.
template <class Use>
void at_once(int count, const Use& use) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          use(i);
        } catch (...) {
          thrown[static_cast<std::size_t>(i)] = std::current_exception();
        }
      });
    }
  }
  for (const auto& one : thrown) {
    if (one) std::rethrow_exception(one);
  }
}

/// What with() makes of it is a run on GPU 0 alone, as is the held-out loss.
class several_gpus final : public run_on<cuda_ops> {
  using base = run_on<cuda_ops>;

 public:
  several_gpus(int count, run_settings settings, training_data data)
      : base(std::move(settings), std::move(data)) {
    share_memory(count);
    for (int i = 1; i < count; ++i) {
      const on_device here(i);
      others_.push_back(
          std::make_unique<base>(settings_, data_, state_on<cuda_ops>{}));
    }
  }

 protected:
  std::vector<pass_outputs<cuda_ops>> passes_of(const batch& b,
                                                const tracer& trace) override {
    const int count = static_cast<int>(others_.size()) + 1;
    const std::int64_t each = settings_.shards / count;
    std::vector<pass_outputs<cuda_ops>> shards(
        static_cast<std::size_t>(settings_.shards));
    const auto passes_on = [&](int i) {
      const on_device here(i);
      const base& run = i == 0 ? *this : copied(i);
      for (std::int64_t k = i * each; k < (i + 1) * each; ++k) {
        shards[static_cast<std::size_t>(k)] = run.pass_of(b, k, trace);
      }
      wait_for_device();
    };
    wait_for_device();  // for the update, whose weights all read
    if (trace) {
      for (int i = 0; i < count; ++i) passes_on(i);
    } else {
      at_once(count, passes_on);
    }
    return shards;
  }

 private:
  /// The run on GPU i, with this one's weights.
  const base& copied(int i) {
    base& run = *others_[static_cast<std::size_t>(i) - 1];
    run.state().weights = state().weights;
    run.state().biases = state().biases;
    run.state().steps = state().steps;
    return run;
  }

  std::vector<std::unique_ptr<base>> others_;
};

}  // namespace

std::unique_ptr<any_run> run_on_several(int count, run_settings settings,
                                        training_data data) {
  return std::make_unique<several_gpus>(count, std::move(settings),
                                        std::move(data));
}

}  // namespace zeroulp::train
