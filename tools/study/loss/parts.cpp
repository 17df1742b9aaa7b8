#include "tools/study/loss/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "tools/study/error/run.hpp"
#include "tools/study/loss/comparison.hpp"
#include "tools/study/loss/gap.hpp"
#include "tools/study/loss/stress.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::loss {
namespace {

// Numbers of a gap part: BF16's loss, the ideal one; then by comparison the
// loss, the L2 error, cosine and slope of all gradients, the share rerouted,
// and L2 error, cosine and slope of each gradient.
constexpr std::size_t gap_head = 2;
constexpr std::size_t arm_head = 5;
constexpr std::size_t each_gradient = 3;

train::run_settings settings_of(const loss_options& o,
                                const train::model_shape& shape,
                                std::uint64_t seed) {
  train::run_settings s{shape, parse_arm(bf16_name)};
  s.seed = seed;
  const std::int64_t steps =
      std::int64_t{o.every} * o.checkpoints + o.fork_steps + o.batches;
  s.rate = train::usual_rate(shape, steps);
  if (o.rate > 0) s.rate.rate = o.rate;
  s.rate.warmup = std::min<std::int64_t>(o.warmup, steps);
  s.rate.hold = steps;  // forks are alike whenever they begin
  return s;
}

train::training_data data_of(const loss_options& o,
                             const train::model_shape& shape,
                             std::uint64_t seed) {
  return o.data.empty() ? train::training_data(shape, seed)
                        : train::training_data(o.data, shape, seed);
}

std::vector<train::parameter> parameters_of(const loss_options& o) {
  return train::parameter_list(shape_of(o)).all();
}
std::size_t arm_numbers(const loss_options& o) {
  return arm_head + each_gradient * parameters_of(o).size();
}

/// A checkpoint of a run, both from 0.
struct place {
  int run;
  int checkpoint;
};

std::string gap_name(place at, int batch) {
  return fmt::format("gap.{}.{}.{}", at.run, at.checkpoint, batch);
}
std::string fork_name(place at, const std::string& arm) {
  return fmt::format("fork.{}.{}.{}", at.run, at.checkpoint, arm);
}
std::string outlier_name(place at, const loss_outlier& x,
                         const std::string& arm) {
  return fmt::format("outlier.{}.{}.{}.{}.{}", at.run, at.checkpoint,
                     name_of(x.kind), x.exponent, arm);
}

std::vector<comparison> comparisons_of(const std::vector<std::string>& texts) {
  std::vector<comparison> all;
  all.reserve(texts.size());
  for (const auto& text : texts) all.push_back(parse_comparison(text));
  return all;
}

/// BF16 and the arms that are compared with it under outliers.
std::vector<std::string> arms_with_outliers(const loss_options& o) {
  std::vector<std::string> all{bf16_name};
  all.insert(all.end(), o.under_outliers.begin(), o.under_outliers.end());
  return all;
}

/// The share of (token, layer) whose set of experts is another.
double rerouted(const pass& a, const pass& b) {
  double differ = 0;
  double count = 0;
  for (std::size_t l = 0; l < a.experts.size(); ++l) {
    const auto& x = a.experts[l].data;
    const auto& y = b.experts[l].data;
    const std::ptrdiff_t top = a.experts[l].cols;
    for (auto i = x.begin(), j = y.begin(); i != x.end(); i += top, j += top) {
      ++count;
      if (!std::is_permutation(i, i + top, j)) ++differ;
    }
  }
  return count == 0 ? 0 : differ / count;
}

std::vector<double> measure_gap(const loss_options& o,
                                const train::any_run& run, int n) {
  const train::model_shape shape = state_shape_of(o);
  const std::uint64_t seed = run.settings().seed;
  const auto at =
      run.with(settings_of(o, shape, seed), run.data().with(shape, seed));
  const train::batch b = at->data().training(at->steps() + n);
  const auto all = comparisons_of(o.compared);
  std::map<std::string, pass> passes;
  for (const auto& [name, how] : arms_of(all)) {
    passes.emplace(name, at->under(how)->host_pass(b));
  }
  const auto* known = at->data().known();
  std::vector<double> out{loss_of(passes.at(bf16_name)),
                          known == nullptr ? 0 : known->ideal_loss(b)};
  std::vector<state_gap> gaps(all.size());
  const auto count = static_cast<std::ptrdiff_t>(all.size());
#pragma omp parallel for schedule(dynamic)
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const auto& c = all[static_cast<std::size_t>(i)];
    gaps[static_cast<std::size_t>(i)] =
        compare(passes.at(c.arm), passes.at(c.base));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const state_gap& g = gaps[i];
    out.insert(out.end(),
               {g.loss, g.all.relative, g.all.cosine, g.all.slope,
                rerouted(passes.at(all[i].arm), passes.at(all[i].base))});
    for (const gradient_gap& e : g.each) {
      out.insert(out.end(), {e.relative, e.cosine, e.slope});
    }
  }
  return out;
}

loss_series series_of(const std::string& arm,
                      const std::optional<loss_outlier>& outlier,
                      std::vector<double> gaps) {
  const interval i = confidence(gaps);
  return {arm, outlier, std::move(gaps), {i.mean, i.low, i.high}, ""};
}

std::int64_t step_of(const loss_options& o, int c) {
  return static_cast<std::int64_t>(o.every) * (c + 1);
}

/// The mean over the checkpoints of each run of what `of` says.
template <class Of>
std::vector<double> by_run(const loss_options& o, Of of) {
  std::vector<double> means;
  for (int n = 0; n < o.seeds; ++n) {
    double sum = 0;
    for (int c = 0; c < o.checkpoints; ++c) sum += of(place{n, c});
    means.push_back(sum / o.checkpoints);
  }
  return means;
}

/// What is measured at one checkpoint, by means of its batches.
void add_place(const loss_options& o, const part_numbers& numbers, place at,
               loss_result& r) {
  const auto all = comparisons_of(o.compared);
  std::vector<double> mean(gap_head + all.size() * arm_numbers(o));
  for (int b = 0; b < o.batches; ++b) {
    const auto& one = numbers.at(gap_name(at, b));
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += one[i] / o.batches;
    }
  }
  const std::uint64_t seed = o.seed + static_cast<std::uint64_t>(at.run);
  const std::int64_t step = step_of(o, at.checkpoint);
  r.checkpoints.push_back({seed, step, mean[0], mean[1]});
  auto x = mean.begin() + gap_head;
  for (const auto& a : all) {
    r.gaps.push_back({a.name, seed, step, x[0], x[1], x[2], x[3], x[4]});
    x += arm_head;
    for (const auto& p : parameters_of(o)) {
      r.gradients.push_back({a.name, seed, step, p.name, x[0], x[1], x[2]});
      x += each_gradient;
    }
  }
}

/// The same-state part of the result.
void add_gaps(const loss_options& o, const part_numbers& numbers,
              loss_result& r) {
  for (int n = 0; n < o.seeds; ++n) {
    for (int c = 0; c < o.checkpoints; ++c) add_place(o, numbers, {n, c}, r);
  }
  const auto all = comparisons_of(o.compared);
  for (std::size_t n = 0; n < all.size(); ++n) {
    auto series = series_of(all[n].name, {}, by_run(o, [&](place at) {
                              const auto i = static_cast<std::size_t>(
                                  at.run * o.checkpoints + at.checkpoint);
                              return r.gaps[i * all.size() + n].loss;
                            }));
    for (std::size_t i = 0; i < n && series.same_as.empty(); ++i) {
      const bool same =
          all[i].base == all[n].base && r.same_state[i].gaps == series.gaps;
      if (same) series.same_as = all[i].name;
    }
    r.same_state.push_back(std::move(series));
  }
}

void add_forks(const loss_options& o, const part_numbers& numbers,
               loss_result& r) {
  if (o.fork_steps == 0) return;
  const auto gaps = [&](int steps, const std::string& base, auto name_of) {
    return by_run(o, [&](place at) {
      return fork_gap(numbers.at(name_of(at)), numbers.at(fork_name(at, base)),
                      steps);
    });
  };
  for (const auto& a : comparisons_of(o.compared)) {
    r.forks.push_back(
        series_of(a.name, {}, gaps(o.fork_steps, a.base, [&](place at) {
                    return fork_name(at, a.arm);
                  })));
  }
  for (const auto& x : o.outliers) {
    for (const auto& a : arms_with_outliers(o)) {
      r.outliers.push_back(
          series_of(a, x, gaps(o.outlier_steps, bf16_name, [&](place at) {
                      return outlier_name(at, x, a);
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

const loss_series* find(const std::vector<loss_series>& all,
                        const std::string& arm) {
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const auto& s) { return s.arm == arm; });
  return at == all.end() ? nullptr : &*at;
}

/// A verdict of a run, which has what it is about.
using judge = std::function<void(const char* name, bool held, std::string)>;

void judge_forks(const loss_options& o, const loss_result& r,
                 const judge& add) {
  if (const auto* control = find(r.forks, "bf16_split_k")) {
    add("control_within", control->within(),
        "BF16 with another order of sums, the control: " + to_text(*control));
  }
  if (const auto* full = find(r.forks, "full")) {
    add("full_recipe_within", full->within(),
        fmt::format("the full recipe lies within +-0.25 % of BF16's loss over "
                    "{} runs, {} forks of {} steps of each: {}",
                    o.seeds, o.checkpoints, o.fork_steps, to_text(*full)));
  }
}

/// Of one kind, by arm: the largest exponent up to which all lie within the
/// bound; 0: none does.
std::map<std::string, int> borne(const loss_result& r, outlier_kind kind) {
  std::map<std::string, int> most;
  std::set<std::string> left;
  for (const auto& s : r.outliers) {
    if (s.outlier->kind != kind) continue;
    most.emplace(s.arm, 0);
    if (!s.within()) left.insert(s.arm);
    if (!left.contains(s.arm)) most[s.arm] = s.outlier->exponent;
  }
  return most;
}

void judge_outliers(const loss_options& o, const loss_result& r,
                    const judge& add) {
  if (r.outliers.empty()) return;
  const auto changes_nothing = [](const loss_series& s) {
    return s.arm != bf16_name ||
           std::all_of(s.gaps.begin(), s.gaps.end(),
                       [](double gap) { return gap == 0; });
  };
  add("injection_changes_nothing_in_bf16",
      std::all_of(r.outliers.begin(), r.outliers.end(), changes_nothing),
      "whatever the outlier, BF16's losses are the same bits");
  for (const auto kind : {outlier_kind::channel, outlier_kind::unit}) {
    const auto most = borne(r, kind);
    if (most.empty()) continue;
    std::string text;
    for (const auto& name : o.under_outliers) {
      const int k = most.at(name);
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          k == 0 ? "none" : fmt::format("2^{}", k));
    }
    const auto ordered = std::is_sorted(
        o.under_outliers.begin(), o.under_outliers.end(),
        [&](const auto& a, const auto& b) { return most.at(a) > most.at(b); });
    add(fmt::format("finer_scales_bear_a_larger_{}", name_of(kind)).c_str(),
        ordered,
        fmt::format("one {} larger, the loss stays within +-0.25 % up to: {}",
                    name_of(kind), text));
  }
}

/// The mean over runs and checkpoints of what `of` says of a gradient, by
/// parameter.
template <class Of>
std::map<std::string, double> by_parameter(const loss_options& o,
                                           const loss_result& r,
                                           const std::string& arm, Of of) {
  std::map<std::string, double> mean;
  for (const auto& g : r.gradients) {
    if (g.arm == arm) mean[g.parameter] += of(g) / (o.seeds * o.checkpoints);
  }
  return mean;
}

bool is_linear(const std::string& parameter) {
  return parameter.ends_with("qkv_a") || parameter.ends_with("kv_b") ||
         parameter.ends_with("out") || parameter.ends_with(".up") ||
         parameter.ends_with(".down");
}

/// What promotion does to the gradients of Linears, whose K is tokens.
void judge_gradients(const loss_options& o, const loss_result& r,
                     const judge& add) {
  const std::string exact = exact_arm;
  const auto l2 = [&](const std::string& arm) {
    return by_parameter(o, r, arm, [](const auto& g) { return g.l2; });
  };
  const auto unpromoted = l2("tensor_unpromoted/" + exact);
  const auto promoted = l2("tensor/" + exact);
  const auto quantized = l2("tensor");
  if (unpromoted.empty() || promoted.empty() || quantized.empty()) return;
  const auto slopes = by_parameter(o, r, "tensor_unpromoted/" + exact,
                                   [](const auto& g) { return g.slope; });
  double sum_unpromoted = 0, sum_promoted = 0, sum_quantized = 0, sum_slope = 0;
  double most = 0;
  int count = 0, worse = 0, smaller = 0;
  for (const auto& [name, error] : unpromoted) {
    if (!is_linear(name)) continue;
    ++count;
    sum_unpromoted += error;
    sum_promoted += promoted.at(name);
    sum_quantized += quantized.at(name);
    sum_slope += slopes.at(name);
    most = std::max(most, error / quantized.at(name));
    worse += error > promoted.at(name) ? 1 : 0;
    smaller += slopes.at(name) < 1 ? 1 : 0;
  }
  add("promotion_shows_in_gradients", worse == count,
      fmt::format("the accumulator's error in the gradients of {} Linears: {} "
                  "unpromoted, {} promoted, in the mean; larger unpromoted in "
                  "{}",
                  count, percent(sum_unpromoted / count),
                  percent(sum_promoted / count), worse));
  add("accumulation_is_below_quantization", most < 1,
      fmt::format("unpromoted it is at most {:.3f} of what quantization to one "
                  "scale a tensor does ({} in the mean)",
                  most, percent(sum_quantized / count)));
  add("unpromoted_gradients_are_too_small", smaller == count,
      fmt::format("the slope over exact accumulation is below 1 in {} of {}; "
                  "the mean is 1 {}",
                  smaller, count, percent(sum_slope / count - 1)));
}

/// Whether the loss follows the accumulator's error.
void judge_doses(const loss_options& o, const loss_result& r,
                 const judge& add) {
  if (o.doses.empty() || r.forks.empty()) return;
  const auto [least, most] =
      std::minmax_element(o.doses.begin(), o.doses.end());
  const auto* coarse = find(r.forks, dose_arm(*least));
  const auto* fine = find(r.forks, dose_arm(*most));
  if (coarse == nullptr || fine == nullptr) return;
  add("finest_accumulator_within", fine->within(),
      fmt::format("{} fraction bits lie within +-0.25 % of BF16's loss: {}",
                  *most, to_text(*fine)));
  add("coarsest_accumulator_beyond", coarse->beyond(),
      fmt::format("{} fraction bits lie beyond: {}", *least, to_text(*coarse)));
}

void add_verdicts(const loss_options& o, loss_result& r) {
  const judge add = [&r](const char* name, bool held, std::string text) {
    r.verdicts.push_back({name, held, std::move(text)});
  };
  double first = 0, last = 0;  // nats above what the data allow
  for (const auto& c : r.checkpoints) {
    if (c.step == step_of(o, 0)) first += (c.loss - c.ideal) / o.seeds;
    if (c.step == step_of(o, o.checkpoints - 1)) {
      last += (c.loss - c.ideal) / o.seeds;
    }
  }
  if (o.checkpoints > 1) {
    add("bf16_learns", last < first,
        fmt::format("BF16 comes nearer to what the data allow: {:.3f} nats "
                    "above it at step {}, {:.3f} at step {}",
                    first, step_of(o, 0), last, step_of(o, o.checkpoints - 1)));
  }
  judge_forks(o, r, add);
  judge_outliers(o, r, add);
  judge_gradients(o, r, add);
  judge_doses(o, r, add);
}

/// The errors of the accumulators asked for, at this model's K, and of Hopper's
/// at K = 4096 for a measure.
std::vector<loss_dose> measure_doses(const loss_options& o) {
  std::vector<loss_dose> all;
  if (o.doses.empty()) return all;
  study::runner runner;
  const auto add = [&](int bits, std::ptrdiff_t k, int interval) {
    const auto e = study::accumulation_error(runner, fmt::format("f{}", bits),
                                             k, interval);
    all.push_back({bits, k, interval, e.frobenius, e.max_over_mean});
  };
  for (const int bits : o.doses) add(bits, shape_of(o).width, 0);
  for (const int interval : {0, 128}) add(13, 4096, interval);
  return all;
}

}  // namespace

train::model_shape shape_of(const loss_options& o) {
  return train::parse_shape(o.model);
}
train::model_shape state_shape_of(const loss_options& o) {
  return train::parse_shape(o.model + o.state);
}

std::unique_ptr<train::any_run> start(const loss_options& o, int n) {
  const train::model_shape shape = shape_of(o);
  const std::uint64_t seed = o.seed + static_cast<std::uint64_t>(n);
  return train::make_run(o.on, settings_of(o, shape, seed),
                         data_of(o, shape, seed));
}

std::vector<part> parts_of(const loss_options& o, int n, int c) {
  const place at{n, c};
  const train::model_shape shape = shape_of(o);
  const auto compared = comparisons_of(o.compared);
  const auto arms = arms_of(compared);
  std::vector<part> parts;
  const auto add_fork = [&](std::string name, const arm& how, int steps,
                            std::vector<train::scaled_block> stress) {
    parts.push_back({std::move(name), static_cast<std::size_t>(steps),
                     static_cast<double>(steps),
                     [how, steps, stress](const train::any_run& run) {
                       return losses_of(*run.under(how, stress), steps);
                     }});
  };
  for (const auto& [name, how] : arms) {
    if (o.fork_steps > 0) {
      add_fork(fork_name(at, name), how, o.fork_steps, {});
    }
  }
  for (const auto& x : o.outliers) {
    for (const auto& name : arms_with_outliers(o)) {
      add_fork(outlier_name(at, x, name), parse_arm(name), o.outlier_steps,
               stress_of(shape, x));
    }
  }
  const double larger = static_cast<double>(state_shape_of(o).tokens()) /
                        static_cast<double>(shape.tokens());
  for (int b = 0; b < o.batches; ++b) {
    parts.push_back(
        {gap_name(at, b), gap_head + compared.size() * arm_numbers(o),
         static_cast<double>(arms.size()) * larger,
         [o, b](const train::any_run& run) { return measure_gap(o, run, b); }});
  }
  return parts;
}

loss_result assemble(const loss_options& o, const part_numbers& numbers) {
  loss_result r;
  if (o.data.empty()) {
    r.entropy = data_of(o, shape_of(o), o.seed).known()->entropy();
  }
  add_gaps(o, numbers, r);
  add_forks(o, numbers, r);
  r.doses = measure_doses(o);
  add_verdicts(o, r);
  return r;
}

}  // namespace zeroulp::loss
