#include "tools/train/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/sha256.hpp"
#include "tools/train/engine_ops.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::train {
namespace {

word_tensor initial(const parameter& p, std::uint64_t seed, std::size_t index) {
  word_tensor w(p.rows, p.cols);
  counter_rng rng(seed, index);
  const std::ptrdiff_t drawn = (p.rows - p.zero_rows) * p.cols;
  for (std::ptrdiff_t i = 0; i < drawn; ++i) {
    const float x = p.is_norm()
                        ? 1.0f
                        : static_cast<float>(nearly_normal(rng) * p.deviation);
    w.data[static_cast<std::size_t>(i)] = bit_cast<std::uint32_t>(x);
  }
  return w;
}

index_tensor column(const std::vector<int>& x, std::size_t first,
                    std::size_t count) {
  index_tensor out(static_cast<std::ptrdiff_t>(count), 1);
  std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(first), count,
              out.data.begin());
  return out;
}

/// The balanced tree over a power of two of FP64 numbers.
double tree_sum(std::vector<double> x) {
  for (std::size_t n = x.size(); n > 1; n /= 2) {
    for (std::size_t i = 0; i < n / 2; ++i) x[i] = x[2 * i] + x[2 * i + 1];
  }
  return x[0];
}

}  // namespace

rate_schedule usual_rate(const model_shape& s, std::int64_t steps) {
  const std::int64_t warmup = std::min<std::int64_t>(10, steps);
  return {s.width <= 256 ? 3e-3 : 6e-4, warmup,
          std::max(steps - steps / 4, warmup), steps, 0.1};
}

void check(const run_settings& s) {
  const model_shape& m = s.shape;
  const auto refuse = [](const std::string& what) {
    throw input_error("training: " + what);
  };
  const std::pair<const char*, std::ptrdiff_t> widths[] = {
      {"width", m.width},
      {"rank", m.rank},
      {"dense hidden width", m.dense_hidden},
      {"expert hidden width", m.hidden}};
  for (const auto& [name, n] : widths) {
    if (n < 128 || n % 128 != 0) {
      refuse(fmt::format("{} {} is no multiple of 128", name, n));
    }
  }
  if (m.layers < 1 || m.dense < 0 || m.dense > m.layers || m.heads < 1 ||
      m.length < 1 || m.sequences < 1 || m.shared < 1) {
    refuse("a model has layers, heads, a shared expert and tokens");
  }
  if (m.top < 1 || m.experts < m.top) {
    refuse(fmt::format("{} experts are fewer than top {}", m.experts, m.top));
  }
  if (s.shards < 1 || (s.shards & (s.shards - 1)) != 0 ||
      m.sequences % s.shards != 0) {
    refuse(fmt::format(
        "{} shards: a power of two that divides {} sequences is needed",
        s.shards, m.sequences));
  }
  if (!(s.rate.rate > 0) || s.rate.warmup < 0 || s.rate.hold < s.rate.warmup ||
      s.rate.steps < s.rate.hold || !(s.rate.last >= 0 && s.rate.last <= 1)) {
    refuse(
        "the rate is above 0, warm-up ends before the decay begins, which "
        "begins before the last step, and ends at 0 to 1 of the rate");
  }
  if (!(s.clip > 0)) refuse("the norm to clip at is above 0");
}

std::vector<std::pair<const void*, std::size_t>> bytes_of(const run_state& s) {
  std::vector<std::pair<const void*, std::size_t>> all;
  const auto add = [&](const auto& tensors) {
    for (const auto& t : tensors) {
      all.emplace_back(t.data.data(), t.data.size() * sizeof(t.data[0]));
    }
  };
  add(s.weights);
  add(s.m);
  add(s.v);
  add(s.biases);
  all.emplace_back(&s.steps, sizeof s.steps);
  return all;
}

std::string digest_of(const run_state& s) {
  constexpr std::size_t chunk = 1 << 20;
  std::string digests;
  for (const auto& [data, count] : bytes_of(s)) {
    const std::string_view bytes(static_cast<const char*>(data), count);
    for (std::size_t at = 0; at < count; at += chunk) {
      digests += sha256_hex(bytes.substr(at, chunk));
    }
  }
  return sha256_hex(digests);
}

training_run::training_run(run_settings settings, training_data data)
    : settings_(std::move(settings)),
      data_(std::move(data)),
      parameters_(settings_.shape) {
  check(settings_);
  const model_shape& s = settings_.shape;
  for (const parameter& p : parameters_.all()) {
    state_.weights.push_back(initial(p, settings_.seed, state_.weights.size()));
    state_.m.emplace_back(p.rows, p.cols);
    state_.v.emplace_back(p.rows, p.cols);
  }
  for (std::ptrdiff_t l = 0; l < s.layers; ++l) {
    state_.biases.emplace_back(1, s.is_dense(l) ? 0 : s.experts);
  }
  cosines_ = word_tensor(s.length, s.turned / 2);
  sines_ = cosines_;
  std::vector<double> frequencies;
  for (std::ptrdiff_t i = 0; i < s.turned / 2; ++i) {
    frequencies.push_back(engine::rope_frequency(s.turned, i));
  }
  engine::rope_table(frequencies, 0, cosines_.view(), sines_.view());
}

pass_inputs training_run::inputs() const {
  return {settings_.shape, parameters_, settings_.how, state_.weights,
          state_.biases,   cosines_,    sines_};
}

pass_outputs training_run::pass_of(const batch& b, std::int64_t shard,
                                   const tracer& trace) const {
  const auto count =
      b.inputs.size() / static_cast<std::size_t>(settings_.shards);
  const auto first = static_cast<std::size_t>(shard) * count;
  const double inverse = 1 / static_cast<double>(b.inputs.size());
  const auto factor = bit_cast<std::uint32_t>(static_cast<float>(inverse));
  const pass_inputs in = inputs();
  return step_pass<engine_ops>(in, trace)(
      column(b.inputs, first, count), column(b.targets, first, count), factor);
}

step_report training_run::advance(const tracer& trace) {
  const batch b = data_.training(state_.steps);
  std::vector<pass_outputs> shards;
  std::vector<double> losses;
  for (std::int64_t k = 0; k < settings_.shards; ++k) {
    shards.push_back(pass_of(b, k, trace));
    losses.push_back(engine::sum_of_losses(shards.back().losses.view()));
  }
  std::vector<word_tensor>& gradients = shards[0].gradients;
  double squares = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    std::vector<word_view> all;
    for (const auto& shard : shards) all.push_back(shard.gradients[i].view());
    if (all.size() > 1) engine::add_shards(all, gradients[i].view());
    squares += engine::sum_of_squares(gradients[i].view());
  }
  const double norm = std::sqrt(squares);
  const std::uint32_t factor = clip_factor(norm, settings_.clip);
  if (factor != fp32_one) {
    for (word_tensor& g : gradients) engine_ops::scale(g.view(), factor);
  }
  ++state_.steps;
  const double rate = rate_of(settings_.rate, state_.steps);
  update(gradients, rate);
  for (std::size_t l = 0; l < state_.biases.size(); ++l) {
    if (state_.biases[l].cols == 0) continue;
    index_tensor all(0, settings_.shape.top);
    for (const auto& shard : shards) {
      all.rows += shard.experts[l].rows;
      all.data.insert(all.data.end(), shard.experts[l].data.begin(),
                      shard.experts[l].data.end());
    }
    engine::update_bias(all.view(), settings_.bias_speed,
                        state_.biases[l].view());
  }
  return {tree_sum(losses) / static_cast<double>(b.inputs.size()), norm, rate};
}

void training_run::update(const std::vector<word_tensor>& gradients,
                          double rate) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const bool norm = parameters_.all()[i].is_norm();
    const adamw_step step{
        make_adamw_factors({rate, settings_.beta1, settings_.beta2,
                            settings_.eps, norm ? 0.0 : settings_.weight_decay,
                            state_.steps}),
        fp32,
        bf16,
        rounding::nearest_even,
        0,
        0};
    engine::adamw(step, gradients[i].view(), state_.m[i].view(),
                  state_.v[i].view(), state_.weights[i].view());
  }
}

double training_run::held_out_loss(std::int64_t batches) const {
  const pass_inputs in = inputs();
  double sum = 0;
  std::size_t count = 0;
  for (std::int64_t k = 0; k < batches; ++k) {
    const batch b = data_.held_out(k);
    const word_tensor losses = step_pass<engine_ops>(in, {}).forward(
        column(b.inputs, 0, b.inputs.size()),
        column(b.targets, 0, b.targets.size()));
    sum += engine::sum_of_losses(losses.view());
    count += b.inputs.size();
  }
  return sum / static_cast<double>(count);
}

}  // namespace zeroulp::train
