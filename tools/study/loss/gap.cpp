#include "tools/study/loss/gap.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "zeroulp/model.hpp"

namespace zeroulp::loss {
namespace {

struct sums {
  double error = 0;
  double ours = 0;
  double theirs = 0;
  double product = 0;

  void add(const train::word_tensor& a, const train::word_tensor& b) {
    for (std::size_t i = 0; i < a.data.size(); ++i) {
      const auto x = static_cast<double>(bit_cast<float>(a.data[i]));
      const auto y = static_cast<double>(bit_cast<float>(b.data[i]));
      error += (x - y) * (x - y);
      ours += x * x;
      theirs += y * y;
      product += x * y;
    }
  }
  gradient_gap result() const {
    if (ours == 0 && theirs == 0) return {};
    return {std::sqrt(error / theirs), product / std::sqrt(ours * theirs),
            product / theirs};
  }
};

/// Student's t, 95 % one-sided, by degrees of freedom from 1.
constexpr double t95[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895,
                          1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761,
                          1.753, 1.746, 1.740, 1.734, 1.729, 1.725};

}  // namespace

double loss_of(const pass& p) {
  return engine::sum_of_losses(p.losses.view()) /
         static_cast<double>(p.losses.rows);
}

state_gap compare(const pass& ours, const pass& base) {
  state_gap gap;
  const double loss = loss_of(base);
  gap.loss = (loss_of(ours) - loss) / loss;
  sums all;
  for (std::size_t i = 0; i < ours.gradients.size(); ++i) {
    sums one;
    one.add(ours.gradients[i], base.gradients[i]);
    all.add(ours.gradients[i], base.gradients[i]);
    gap.each.push_back(one.result());
  }
  gap.all = all.result();
  return gap;
}

std::vector<double> losses_of(any_run& run, int steps) {
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(run.advance().loss);
  return losses;
}

double fork_gap(const std::vector<double>& losses,
                const std::vector<double>& base_losses, int steps) {
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(steps); ++i) {
    sum += (losses[i] - base_losses[i]) / base_losses[i];
  }
  return sum / steps;
}

interval confidence(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0;
  for (const double value : x) mean += value / n;
  double square = 0;
  for (const double value : x) square += (value - mean) * (value - mean);
  const std::size_t freedom = std::min(x.size() - 1, std::size(t95));
  const double half = t95[freedom - 1] * std::sqrt(square / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

}  // namespace zeroulp::loss
