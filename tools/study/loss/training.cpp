#include "tools/study/loss/training.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "zeroulp/training.hpp"

namespace zeroulp::loss {
namespace {

void balance(const training_settings& s, const pass& p, model_state& model) {
  for (std::size_t l = 0; l < p.experts.size(); ++l) {
    std::vector<std::ptrdiff_t> load(model.biases[l].size());
    for (const int e : p.experts[l]) ++load[static_cast<std::size_t>(e)];
    const auto slots = static_cast<std::ptrdiff_t>(p.experts[l].size());
    for (std::size_t e = 0; e < load.size(); ++e) {
      const auto excess =
          load[e] * static_cast<std::ptrdiff_t>(load.size()) - slots;
      if (excess > 0) model.biases[l][e] -= s.bias_speed;
      if (excess < 0) model.biases[l][e] += s.bias_speed;
    }
  }
}

/// BF16 codes times 2^k.
void scale_codes(std::uint16_t* codes, std::ptrdiff_t count, int k) {
  std::for_each(codes, codes + count, [k](std::uint16_t& code) {
    unpacked x = decode(bf16, code);
    x.exponent += k;
    code = static_cast<std::uint16_t>(encode(bf16, x));
  });
}

void scale_block(training_state& state, const scaled_block& b) {
  matrix& w = state.model.weights[b.parameter];
  for (std::ptrdiff_t i = b.row; i < b.row + b.rows; ++i) {
    const std::ptrdiff_t at = i * w.cols + b.col;
    std::for_each(w.data.data() + at, w.data.data() + at + b.cols,
                  [&](float& value) { value = std::ldexp(value, b.k); });
    scale_codes(state.m[b.parameter].data() + at, b.cols, -b.k);
    scale_codes(state.v[b.parameter].data() + at, b.cols, -2 * b.k);
  }
  state.scaled.push_back(b);
}

/// One step of AdamW on a block that is 2^k larger.
void update(const training_settings& s, training_state& state,
            const matrix& gradient, const scaled_block& b) {
  matrix& w = state.model.weights[b.parameter];
  const double warm = std::min(
      1.0, static_cast<double>(state.steps) / static_cast<double>(s.warm_up));
  adamw_factors factors =
      make_adamw_factors({s.rate * warm, s.beta1, s.beta2, s.eps,
                          w.rows == 1 ? 0.0 : s.weight_decay, state.steps});
  const auto scale = [](std::uint32_t bits, int k) {
    return bit_cast<std::uint32_t>(std::ldexp(bit_cast<float>(bits), k));
  };
  factors.step = scale(factors.step, b.k);
  factors.eps = scale(factors.eps, -b.k);
  const auto part = [&](const auto& whole) {
    return whole.block(b.row, b.col, b.rows, b.cols);
  };
  const adamw_step step{factors, fp32, bf16, rounding::nearest_even, 0, 0};
  engine::adamw(step, part(gradient.words()),
                part(matrix_view(state.m[b.parameter].data(), w.rows, w.cols)),
                part(matrix_view(state.v[b.parameter].data(), w.rows, w.cols)),
                part(w.words()));
}

/// Parameter i in blocks of one exponent each.
std::vector<scaled_block> blocks_of(const training_state& state,
                                    std::size_t i) {
  const matrix& w = state.model.weights[i];
  std::set<std::ptrdiff_t> rows{0, w.rows};
  std::set<std::ptrdiff_t> cols{0, w.cols};
  for (const scaled_block& b : state.scaled) {
    if (b.parameter != i) continue;
    rows.insert({b.row, b.row + b.rows});
    cols.insert({b.col, b.col + b.cols});
  }
  std::vector<scaled_block> blocks;
  for (auto row = rows.begin(); std::next(row) != rows.end(); ++row) {
    for (auto col = cols.begin(); std::next(col) != cols.end(); ++col) {
      scaled_block part{
          i, *row, *col, *std::next(row) - *row, *std::next(col) - *col, 0};
      for (const scaled_block& b : state.scaled) {
        const bool inside = b.parameter == i && b.row <= part.row &&
                            part.row < b.row + b.rows && b.col <= part.col &&
                            part.col < b.col + b.cols;
        if (inside) part.k += b.k;
      }
      blocks.push_back(part);
    }
  }
  return blocks;
}

}  // namespace

training_state start(const training_settings& s) {
  training_state state;
  state.model.shape = s.shape;
  state.model.weights = initial_weights(s.shape, s.seed);
  state.model.biases.assign(
      static_cast<std::size_t>(s.shape.layers),
      std::vector<float>(static_cast<std::size_t>(s.shape.experts)));
  state.model.history.resize(state.model.weights.size());
  for (const matrix& w : state.model.weights) {
    state.m.emplace_back(w.data.size());
    state.v.emplace_back(w.data.size());
  }
  return state;
}

batch batch_of(const training_settings& s, std::int64_t step) {
  return s.data.make(static_cast<std::uint64_t>(step), s.sequences, s.length);
}

double advance(const training_settings& s, const arm& how,
               training_state& state) {
  model_state& model = state.model;
  const pass p = run(model, how, batch_of(s, state.steps));
  ++state.steps;
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    for (const scaled_block& b : blocks_of(state, i)) {
      update(s, state, p.gradients[i], b);
    }
    model.history[i].push(p.amaxes[i]);
  }
  balance(s, p, model);
  return p.loss;
}

void rescale(training_state& state, const loss_outlier& by) {
  const model_shape& s = state.model.shape;
  const int k = by.exponent;
  const auto row = [&](std::size_t i, std::ptrdiff_t at, int exponent) {
    scale_block(state, {i, at, 0, 1, state.model.weights[i].cols, exponent});
  };
  const auto column = [&](std::size_t i, std::ptrdiff_t at, int exponent) {
    scale_block(state, {i, 0, at, state.model.weights[i].rows, 1, exponent});
  };
  if (by.kind == outlier_kind::token) state.model.token_exponent = k;
  for (std::ptrdiff_t l = 0; l < s.layers; ++l) {
    const auto at = s.layer(l);
    if (by.kind == outlier_kind::channel) {
      const std::ptrdiff_t channel = s.width / 3;
      column(at.norm1, channel, k);
      column(at.qkv, channel, -k);
      column(at.norm2, channel, k);
      column(at.router, channel, -k);
      for (std::ptrdiff_t e = 0; e <= s.experts; ++e) {
        column(at.up(e), channel, -k);
      }
    }
    if (by.kind == outlier_kind::unit) {
      const std::ptrdiff_t unit = s.hidden / 3;
      for (std::ptrdiff_t e = 0; e <= s.experts; ++e) {
        row(at.up(e), s.hidden + unit, k);
        column(at.down(e), unit, -k);
      }
    }
  }
  state.model.history.assign(state.model.history.size(), {});
}

}  // namespace zeroulp::loss
