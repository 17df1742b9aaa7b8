#include "tools/train/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/threads.hpp"
#include "tools/train/run_on.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::train {
namespace {

/// The first weights of a parameter: w is zeros.
void draw(word_tensor& w, const parameter& p, std::uint64_t seed,
          std::size_t index) {
  counter_rng rng(seed, index);
  const std::ptrdiff_t drawn = (p.rows - p.zero_rows) * p.cols;
  for (std::ptrdiff_t i = 0; i < drawn; ++i) {
    const float x = p.is_norm()
                        ? 1.0f
                        : static_cast<float>(nearly_normal(rng) * p.deviation);
    w.data[static_cast<std::size_t>(i)] = bit_cast<std::uint32_t>(x);
  }
}

}  // namespace

rate_schedule usual_rate(const model_shape& s, std::int64_t steps) {
  const std::int64_t warmup = std::min<std::int64_t>(10, steps);
  return {s.width <= 256 ? 3e-3 : 6e-4, warmup,
          std::max(steps - steps / 4, warmup), steps, 0.1};
}

const arm& arm_of_step(const run_settings& s, std::int64_t t) {
  return s.first && t <= s.first->steps ? s.first->how : s.how;
}

run_settings settings_of_first(run_settings s) {
  s.how = s.first.value().how;
  s.first.reset();
  return s;
}

void check(const run_settings& s) {
  const auto refuse = [](const std::string& what) {
    throw input_error("training: " + what);
  };
  check_shape(s.shape);
  check_arm(s.how);
  const std::ptrdiff_t sequences = s.shape.sequences;
  if (s.shards < 1 || (s.shards & (s.shards - 1)) != 0 ||
      sequences % s.shards != 0) {
    refuse(fmt::format(
        "shards is {}: use a power of two that divides {} sequences", s.shards,
        sequences));
  }
  if (!(s.rate.rate > 0) || s.rate.warmup < 0 || s.rate.hold < s.rate.warmup ||
      s.rate.steps < s.rate.hold || !(s.rate.last >= 0 && s.rate.last <= 1)) {
    refuse(
        "the rate is above 0, warm-up ends before the decay begins, which "
        "begins before the last step, and ends at 0 to 1 of the rate");
  }
  if (s.first) {
    check_arm(s.first->how);
    if (s.first->steps < 1 || s.first->steps >= s.rate.steps) {
      refuse(fmt::format("the first arm has {} steps: use 1 to {}",
                         s.first->steps, s.rate.steps - 1));
    }
  }
  if (!(s.clip > 0)) refuse("the norm to clip at is above 0");
}

std::string digest_of(const run_state& s) {
  return detail::digest_of<engine_ops>(s);
}

any_run::any_run(run_settings settings, training_data data)
    : settings_(std::move(settings)),
      data_(std::move(data)),
      parameters_(settings_.shape) {
  check(settings_);
}

std::unique_ptr<any_run> any_run::under(
    const arm& how, std::vector<scaled_block> stress) const {
  run_settings s = settings_;
  s.how = how;
  s.stress = std::move(stress);
  return with(std::move(s), data_);
}

run_state any_run::initial_state() const {
  run_state state = empty_state();
  // Each has a generator of its own.
#pragma omp parallel for schedule(dynamic) num_threads(threads_for())
  for (std::size_t i = 0; i < state.weights.size(); ++i) {
    draw(state.weights[i], parameters_.all()[i], settings_.seed, i);
  }
  return state;
}

run_state any_run::empty_state() const {
  run_state state;
  for (const parameter& p : parameters_.all()) {
    state.weights.emplace_back(p.rows, p.cols);
    state.m.emplace_back(p.rows, p.cols);
    state.v.emplace_back(p.rows, p.cols);
  }
  const model_shape& s = settings_.shape;
  for (std::ptrdiff_t l = 0; l < s.all_layers(); ++l) {
    state.biases.emplace_back(1, s.is_dense(l) ? 0 : s.experts);
  }
  return state;
}

template class run_on<engine_ops>;

#ifndef ZEROULP_TRAIN_HAS_CUDA
std::unique_ptr<any_run> run_on_gpus(std::int64_t, run_settings,
                                     training_data) {
  throw input_error("train --on gpu: the program was built without CUDA");
}
#endif

std::int64_t gpus_of(std::string_view backend) {
  if (backend == "cpu") return 0;
  if (backend == "gpu") return 1;
  for (std::int64_t n = 1; n <= 64; n *= 2) {
    if (backend == fmt::format("gpu:{}", n)) return n;
  }
  throw input_error(fmt::format(
      "on '{}': use cpu, gpu, or gpu:N, N a power of two up to 64", backend));
}

std::unique_ptr<any_run> make_run(std::string_view backend,
                                  run_settings settings, training_data data) {
  const std::int64_t gpus = gpus_of(backend);
  if (gpus == 0) {
    return std::make_unique<training_run>(std::move(settings), std::move(data));
  }
  if (settings.shards % gpus != 0) {
    throw input_error(
        fmt::format("on '{}': {} shards: use a multiple of {}, --shards {}",
                    backend, settings.shards, gpus, gpus));
  }
  return run_on_gpus(gpus, std::move(settings), std::move(data));
}

}  // namespace zeroulp::train
