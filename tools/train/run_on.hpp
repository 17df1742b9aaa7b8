// Defines run_on (run.hpp): a step and the held-out loss over a backend.
// Included where a backend is instantiated. SPEC N24. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_RUN_ON_HPP_
#define ZEROULP_TOOLS_TRAIN_RUN_ON_HPP_

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "src/base/sha256.hpp"
#include "tools/train/run.hpp"

namespace zeroulp::train {
namespace detail {

/// Tokens [first, first + count) as a column.
template <class Ops>
typename Ops::indices column(const std::vector<int>& x, std::size_t first,
                             std::size_t count) {
  index_tensor out(static_cast<std::ptrdiff_t>(count), 1);
  std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(first), count,
              out.data.begin());
  return Ops::from_host(std::move(out));
}

/// The balanced tree over a power of two of FP64 numbers.
inline double tree_sum(std::vector<double> x) {
  for (std::size_t n = x.size(); n > 1; n /= 2) {
    for (std::size_t i = 0; i < n / 2; ++i) x[i] = x[2 * i] + x[2 * i + 1];
  }
  return x[0];
}

template <class Ops, class Tensor>
auto all_from_host(std::vector<Tensor> x) {
  std::vector<decltype(Ops::from_host(Tensor{}))> all;
  for (Tensor& one : x) all.push_back(Ops::from_host(std::move(one)));
  return all;
}
template <class Ops, class Tensor>
auto all_on_host(const std::vector<Tensor>& x) {
  std::vector<std::remove_cvref_t<decltype(Ops::on_host(x[0]))>> all;
  for (const Tensor& one : x) all.push_back(Ops::on_host(one));
  return all;
}

template <class Ops>
std::string digest_of(const state_on<Ops>& s) {
  constexpr std::size_t chunk = 1 << 20;
  std::vector<byte_part> chunks;
  for_each_tensor(s, [&](const auto& t) {
    const auto [data, count] = Ops::bytes(t);
    for (std::size_t at = 0; at < count; at += chunk) {
      chunks.push_back(
          {static_cast<const char*>(data) + at, std::min(chunk, count - at)});
    }
  });
  std::string digests = Ops::sha256_of(chunks);
  digests +=
      sha256_hex({reinterpret_cast<const char*>(&s.steps), sizeof s.steps});
  return sha256_hex(digests);
}

template <class Ops>
void scale_blocks(const std::vector<scaled_block>& blocks,
                  std::vector<typename Ops::words>& tensors) {
  for (const scaled_block& b : blocks) {
    Ops::scale(tensors[b.parameter].view().block(b.row, b.col, b.rows, b.cols),
               bit_cast<std::uint32_t>(std::ldexp(1.0f, b.exponent)));
  }
}

}  // namespace detail

template <class Ops>
run_on<Ops>::run_on(run_settings settings, training_data data)
    : any_run(std::move(settings), std::move(data)) {
  set_state(initial_state());
  make_table();
}

template <class Ops>
run_on<Ops>::run_on(run_settings settings, training_data data,
                    state_on<Ops> state)
    : any_run(std::move(settings), std::move(data)), state_(std::move(state)) {
  make_table();
}

template <class Ops>
void run_on<Ops>::make_table() {
  const model_shape& s = settings_.shape;
  word_tensor cosines(s.length, s.turned / 2);
  word_tensor sines = cosines;
  std::vector<double> frequencies;
  for (std::ptrdiff_t i = 0; i < s.turned / 2; ++i) {
    frequencies.push_back(engine::rope_frequency(s.turned, i));
  }
  engine::rope_table(frequencies, 0, cosines.view(), sines.view());
  cosines_ = Ops::from_host(std::move(cosines));
  sines_ = Ops::from_host(std::move(sines));
}

template <class Ops>
std::unique_ptr<any_run> run_on<Ops>::with(run_settings settings,
                                           training_data data) const {
  return std::make_unique<run_on<Ops>>(std::move(settings), std::move(data),
                                       state_);
}

template <class Ops>
pass_outputs<engine_ops> run_on<Ops>::host_pass(const batch& b) const {
  const pass_outputs<Ops> out = pass_of(b);
  return {Ops::on_host(out.losses), Ops::on_host(out.mtp_losses),
          detail::all_on_host<Ops>(out.gradients),
          detail::all_on_host<Ops>(out.experts)};
}

template <class Ops>
const run_state& run_on<Ops>::host_state() const {
  if constexpr (std::is_same_v<Ops, engine_ops>) {
    return state_;
  } else {
    on_host_ = {detail::all_on_host<Ops>(state_.weights),
                detail::all_on_host<Ops>(state_.m),
                detail::all_on_host<Ops>(state_.v),
                detail::all_on_host<Ops>(state_.biases), state_.steps};
    return on_host_;
  }
}

template <class Ops>
void run_on<Ops>::set_state(run_state state) {
  state_.weights = detail::all_from_host<Ops>(std::move(state.weights));
  state_.m = detail::all_from_host<Ops>(std::move(state.m));
  state_.v = detail::all_from_host<Ops>(std::move(state.v));
  state_.biases = detail::all_from_host<Ops>(std::move(state.biases));
  state_.steps = state.steps;
}

template <class Ops>
std::string run_on<Ops>::digest() const {
  return detail::digest_of<Ops>(state_);
}

template <class Ops>
pass_inputs<Ops> run_on<Ops>::inputs(const all_words& weights) const {
  return {
      settings_.shape, parameters_,   arm_of_step(settings_, state_.steps + 1),
      weights,         state_.biases, cosines_,
      sines_};
}

template <class Ops>
template <class Use>
auto run_on<Ops>::with_inputs(const Use& use) const {
  if (settings_.stress.empty()) return use(inputs());
  all_words weights = state_.weights;
  detail::scale_blocks<Ops>(settings_.stress, weights);
  return use(inputs(weights));
}

template <class Ops>
pass_outputs<Ops> run_on<Ops>::pass_of(const batch& b, std::int64_t shard,
                                       const tracer& trace) const {
  const auto count =
      b.inputs.size() / static_cast<std::size_t>(settings_.shards);
  const auto first = static_cast<std::size_t>(shard) * count;
  const double inverse = 1 / static_cast<double>(b.inputs.size());
  const auto factor = bit_cast<std::uint32_t>(static_cast<float>(inverse));
  auto out = with_inputs([&](const pass_inputs<Ops>& in) {
    return step_pass<Ops>(in, trace)(
        detail::column<Ops>(b.inputs, first, count),
        detail::column<Ops>(b.targets, first, count), factor);
  });
  detail::scale_blocks<Ops>(settings_.stress, out.gradients);
  return out;
}

template <class Ops>
std::vector<pass_outputs<Ops>> run_on<Ops>::passes_of(const batch& b,
                                                      const tracer& trace) {
  std::vector<pass_outputs<Ops>> shards;
  for (std::int64_t k = 0; k < settings_.shards; ++k) {
    shards.push_back(pass_of(b, k, trace));
  }
  return shards;
}

template <class Ops>
step_report run_on<Ops>::advance(const tracer& trace) {
  const batch b = data_.training(state_.steps);
  std::vector<pass_outputs<Ops>> shards = passes_of(b, trace);
  std::vector<double> losses;
  for (const auto& shard : shards) {
    losses.push_back(Ops::sum_of_losses(shard.losses));
  }
  auto& gradients = shards[0].gradients;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    std::vector<typename Ops::words*> all;
    for (auto& shard : shards) all.push_back(&shard.gradients[i]);
    Ops::add_shards(all);
  }
  const double norm = clip(gradients);
  ++state_.steps;
  const double rate = rate_of(settings_.rate, state_.steps);
  update(gradients, rate);
  update_biases(shards);
  const double loss = detail::tree_sum(losses);
  return {loss / static_cast<double>(b.inputs.size()), norm, rate};
}

/// Returns the norm of the gradients, which become no longer than the clip.
template <class Ops>
double run_on<Ops>::clip(std::vector<typename Ops::words>& gradients) const {
  double squares = 0;
  for (const double sum : Ops::sums_of_squares(gradients)) squares += sum;
  const double norm = std::sqrt(squares);
  const std::uint32_t factor = clip_factor(norm, settings_.clip);
  if (factor != fp32_one) {
    for (auto& g : gradients) Ops::scale(g.view(), factor);
  }
  return norm;
}

template <class Ops>
void run_on<Ops>::update(const std::vector<typename Ops::words>& gradients,
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
    Ops::adamw(step, gradients[i], state_.m[i], state_.v[i], state_.weights[i]);
  }
}

template <class Ops>
void run_on<Ops>::update_biases(const std::vector<pass_outputs<Ops>>& shards) {
  for (std::size_t l = 0; l < state_.biases.size(); ++l) {
    if (state_.biases[l].cols == 0) continue;
    std::vector<const typename Ops::indices*> all;
    for (const auto& shard : shards) all.push_back(&shard.experts[l]);
    Ops::update_bias(all, settings_.bias_speed, state_.biases[l]);
  }
}

template <class Ops>
double run_on<Ops>::held_out_loss(std::int64_t batches) const {
  double sum = 0;
  std::size_t count = 0;
  for (std::int64_t k = 0; k < batches; ++k) {
    const batch b = data_.held_out(k);
    const auto losses = with_inputs([&](const pass_inputs<Ops>& in) {
      return step_pass<Ops>(in, {}).forward(
          detail::column<Ops>(b.inputs, 0, b.inputs.size()),
          detail::column<Ops>(b.targets, 0, b.targets.size()));
    });
    sum += Ops::sum_of_losses(losses);
    count += b.inputs.size();
  }
  return sum / static_cast<double>(count);
}

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_RUN_ON_HPP_
