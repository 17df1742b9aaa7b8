#include "tools/study/loss/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/study/loss/gap.hpp"

namespace zeroulp::loss {
namespace {

// Numbers of a gap part: BF16's loss, the ideal one; then by arm its loss, the
// L2 error and cosine of all gradients, the share rerouted, and L2 error and
// cosine of each gradient.
constexpr std::size_t gap_head = 2;
constexpr std::size_t arm_head = 4;

std::size_t parameters_of(const loss_options& o) {
  return weight_names(settings_of(o).shape).size();
}
std::size_t arm_numbers(const loss_options& o) {
  return arm_head + 2 * parameters_of(o);
}

std::string gap_name(int c, int batch) {
  return fmt::format("gap.{}.{}", c, batch);
}
std::string fork_name(int c, const char* arm) {
  return fmt::format("fork.{}.{}", c, arm);
}
std::string stress_name(int c, int k, const char* arm) {
  return fmt::format("stress.{}.{}.{}", c, k, arm);
}

/// BF16 and the arms that are compared with it.
std::vector<const arm*> all_arms() {
  std::vector<const arm*> all{&bf16_arm};
  for (const arm& a : compared_arms) all.push_back(&a);
  return all;
}

/// The share of (token, layer) whose set of experts is another.
double rerouted(const pass& a, const pass& b, std::ptrdiff_t top) {
  double differ = 0;
  double count = 0;
  for (std::size_t l = 0; l < a.experts.size(); ++l) {
    const auto& x = a.experts[l];
    const auto& y = b.experts[l];
    for (auto i = x.begin(), j = y.begin(); i != x.end(); i += top, j += top) {
      ++count;
      if (!std::is_permutation(i, i + top, j)) ++differ;
    }
  }
  return differ / count;
}

std::vector<double> measure_gap(const training_settings& s,
                                const training_state& state, int n) {
  const batch b = batch_of(s, state.steps + n);
  const pass right = run(state.model, bf16_arm, b);
  std::vector<double> out{right.loss, s.data.ideal_loss(b)};
  for (const arm& a : compared_arms) {
    const pass ours = run(state.model, a, b);
    const state_gap g = compare(ours, right);
    out.insert(out.end(), {g.loss, g.all.relative, g.all.cosine,
                           rerouted(ours, right, s.shape.top)});
    for (const gradient_gap& e : g.each) {
      out.insert(out.end(), {e.relative, e.cosine});
    }
  }
  return out;
}

loss_series series_of(const char* arm, int exponent, std::vector<double> gaps) {
  const interval i = confidence(gaps);
  return {arm, exponent, std::move(gaps), {i.mean, i.low, i.high}, ""};
}

std::int64_t step_of(const loss_options& o, int c) {
  return static_cast<std::int64_t>(o.every) * (c + 1);
}

/// The same-state part of the result.
void add_gaps(const loss_options& o, const part_numbers& numbers,
              loss_result& r) {
  const auto names = weight_names(settings_of(o).shape);
  for (int c = 0; c < o.checkpoints; ++c) {
    std::vector<double> mean(gap_head +
                             std::size(compared_arms) * arm_numbers(o));
    for (int b = 0; b < o.batches; ++b) {
      const auto& one = numbers.at(gap_name(c, b));
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += one[i] / o.batches;
      }
    }
    const std::int64_t step = step_of(o, c);
    r.checkpoints.push_back({step, mean[0], mean[1]});
    auto x = mean.begin() + gap_head;
    for (const arm& a : compared_arms) {
      r.gaps.push_back({a.name, step, x[0], x[1], x[2], x[3]});
      x += arm_head;
      for (const std::string& name : names) {
        r.gradients.push_back({a.name, step, name, x[0], x[1]});
        x += 2;
      }
    }
  }
  for (const arm& a : compared_arms) {
    std::vector<double> gaps;
    for (const loss_gap& g : r.gaps) {
      if (g.arm == a.name) gaps.push_back(g.loss);
    }
    auto series = series_of(a.name, 0, std::move(gaps));
    const auto same = std::find_if(
        r.same_state.begin(), r.same_state.end(),
        [&](const loss_series& other) { return other.gaps == series.gaps; });
    if (same != r.same_state.end()) series.same_as = same->arm;
    r.same_state.push_back(std::move(series));
  }
}

void add_forks(const loss_options& o, const part_numbers& numbers,
               loss_result& r) {
  const auto by_checkpoint = [&](int steps, auto name_of) {
    std::vector<double> gaps;
    for (int c = 0; c < o.checkpoints; ++c) {
      gaps.push_back(fork_gap(numbers.at(name_of(c)),
                              numbers.at(fork_name(c, bf16_arm.name)), steps));
    }
    return gaps;
  };
  for (const arm& a : compared_arms) {
    r.forks.push_back(
        series_of(a.name, 0, by_checkpoint(o.fork_steps, [&](int c) {
                    return fork_name(c, a.name);
                  })));
  }
  for (const int k : o.stress_exponents) {
    for (const arm* a : all_arms()) {
      r.stress.push_back(
          series_of(a->name, k, by_checkpoint(o.stress_steps, [&](int c) {
                      return stress_name(c, k, a->name);
                    })));
    }
  }
}

std::string percent(double fraction) {
  return fmt::format("{:+.3f} %", 100 * fraction);
}

std::string to_text(const loss_series& s) {
  return fmt::format("{} ({} to {})", percent(s.over.mean), percent(s.over.low),
                     percent(s.over.high));
}

const loss_series& find(const std::vector<loss_series>& all,
                        const std::string& arm, int exponent = 0) {
  return *std::find_if(all.begin(), all.end(), [&](const loss_series& s) {
    return s.arm == arm && s.exponent == exponent;
  });
}

void add_verdicts(const loss_options& o, loss_result& r) {
  const auto add = [&](const char* name, bool held, std::string text,
                       bool can_fail = true) {
    r.verdicts.push_back({name, held, std::move(text), can_fail});
  };
  const loss_checkpoint& first = r.checkpoints.front();
  const loss_checkpoint& last = r.checkpoints.back();
  add("bf16_learns", last.loss - last.ideal < first.loss - first.ideal,
      fmt::format("BF16 comes nearer to what the data allow: {:.3f} nats above "
                  "it at step {}, {:.3f} at step {}",
                  first.loss - first.ideal, first.step, last.loss - last.ideal,
                  last.step));
  const auto& control = find(r.forks, "bf16_split_k");
  add("control_within", control.within(),
      "BF16 with another order of sums, the control: " + to_text(control));
  const auto& full = find(r.forks, "full");
  add("full_recipe_within", full.within(),
      fmt::format("the full recipe lies within +-0.25 % of BF16's loss over {} "
                  "forks of {} steps: {}",
                  o.checkpoints, o.fork_steps, to_text(full)));
  for (const int k : o.stress_exponents) {
    const auto& bf16 = find(r.stress, bf16_arm.name, k);
    add("injection_changes_nothing_in_bf16",
        std::all_of(bf16.gaps.begin(), bf16.gaps.end(),
                    [](double gap) { return gap == 0; }),
        fmt::format("outliers of 2^{}: BF16's losses are the same bits", k));
    const auto& stressed = find(r.stress, "full", k);
    add("full_recipe_within_under_stress", stressed.within(),
        fmt::format("outliers of 2^{}: the full recipe lies within +-0.25 %: "
                    "{}; this cannot fail: whole blocks are moved, and each "
                    "has a scale of its own",
                    k, to_text(stressed)),
        false);
  }
  const int most =
      *std::max_element(o.stress_exponents.begin(), o.stress_exponents.end());
  const auto& coarse = find(r.stress, "per_tensor", most);
  add("stress_pushes_a_coarser_arm_beyond", coarse.beyond(),
      fmt::format("outliers of 2^{}: a scale for the whole tensor lies beyond "
                  "+-0.25 %: {}",
                  most, to_text(coarse)));
}

}  // namespace

training_settings settings_of(const loss_options& o) {
  training_settings s;
  s.shape.width = s.shape.hidden = o.width;
  s.shape.layers = o.layers;
  s.sequences = o.sequences;
  s.length = o.length;
  s.seed = s.data.seed = o.seed;
  return s;
}

std::vector<part> parts_of(const loss_options& o, int c) {
  const training_settings s = settings_of(o);
  std::vector<part> parts;
  for (const arm* a : all_arms()) {
    parts.push_back({fork_name(c, a->name),
                     static_cast<std::size_t>(o.fork_steps),
                     static_cast<double>(o.fork_steps),
                     [s, a, n = o.fork_steps](const training_state& state) {
                       return fork(s, *a, state, n);
                     }});
  }
  for (const int k : o.stress_exponents) {
    for (const arm* a : all_arms()) {
      parts.push_back(
          {stress_name(c, k, a->name), static_cast<std::size_t>(o.stress_steps),
           static_cast<double>(o.stress_steps),
           [s, a, k, n = o.stress_steps](const training_state& state) {
             training_state stressed = state;
             rescale(stressed, k);
             return fork(s, *a, std::move(stressed), n);
           }});
    }
  }
  for (int b = 0; b < o.batches; ++b) {
    parts.push_back({gap_name(c, b),
                     gap_head + std::size(compared_arms) * arm_numbers(o),
                     static_cast<double>(std::size(compared_arms) + 1),
                     [s, b](const training_state& state) {
                       return measure_gap(s, state, b);
                     }});
  }
  return parts;
}

loss_result assemble(const loss_options& o, const part_numbers& numbers) {
  loss_result r{settings_of(o).data.entropy(), {}, {}, {}, {}, {}, {}, {}};
  add_gaps(o, numbers, r);
  add_forks(o, numbers, r);
  add_verdicts(o, r);
  return r;
}

}  // namespace zeroulp::loss
