// run_loss_study: the parts of a run, each a few numbers by itself, on as many
// threads as there are; what is made of them is in parts.cpp.

#include "tools/study/loss/study.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "src/base/threads.hpp"
#include "tools/study/loss/comparison.hpp"
#include "tools/study/loss/parts.hpp"
#include "tools/study/loss/store.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {
namespace loss {
namespace {

/// Part of a run: something that one thread does.
struct task {
  double passes;
  std::function<void()> work;
};

int threads_of(const loss_options& o) {
#ifdef _OPENMP
  return o.threads > 0 ? o.threads : omp_get_max_threads();
#else
  return std::max(o.threads, 1);
#endif
}

/// What a task calls runs on its own thread alone.
void stay_on_one_thread() {
#ifdef _OPENMP
  omp_set_num_threads(1);
#endif
}

/// All that the parts of a run follow from.
std::string describe(const loss_options& o) {
  std::string line = fmt::format(
      "zeroulp {} loss 2: width {} layers {} sequences {} length {} state {} "
      "{} "
      "checkpoints {} every {} batches {} fork {} outliers {} seed {} compared "
      "{} under outliers {}",
      ZEROULP_VERSION, o.width, o.layers, o.sequences, o.length,
      o.state_sequences, o.state_length, o.checkpoints, o.every, o.batches,
      o.fork_steps, o.outlier_steps, o.seed, fmt::join(o.compared, " "),
      fmt::join(o.under_outliers, " "));
  for (const auto& x : o.outliers) {
    line += fmt::format(" {}:{}", name_of(x.kind), x.exponent);
  }
  return line;
}

class study {
 public:
  explicit study(const loss_options& o)
      : options_(o),
        settings_(settings_of(o)),
        store_(o.folder, describe(o)),
        threads_(threads_of(o)) {}

  part_numbers operator()() {
    std::vector<std::vector<part>> open;
    int last = -1;
    for (int c = 0; c < options_.checkpoints; ++c) {
      open.push_back(missing(c));
      if (!open.back().empty()) last = c;
    }
    if (last >= 0) total_ += static_cast<double>(step(last));
    for (int c = 0; c < options_.checkpoints; ++c) {
      const auto& parts = open[static_cast<std::size_t>(c)];
      if (parts.empty()) continue;
      if (!state_ || state_->steps != step(c)) reach(c);
      std::optional<training_state> next;
      std::vector<task> tasks;
      if (c < last) {  // the longest: first
        tasks.push_back({0, [&, c] { next = trained(*state_, c + 1); }});
      }
      for (const part& p : parts) {
        tasks.push_back({p.passes, [&] { keep(p, p.run(*state_)); }});
      }
      run_all(tasks);
      store_.remove(trunk(c));
      state_ = std::move(next);
    }
    return std::move(numbers_);
  }

 private:
  std::int64_t step(int c) const { return options_.every * (c + 1); }
  static std::string trunk(int c) { return fmt::format("trunk.{}", c); }

  std::vector<part> missing(int c) {
    std::vector<part> open;
    for (part& p : parts_of(options_, c)) {
      total_ += p.passes;
      if (auto found = store_.find_numbers(p.name, p.count)) {
        done_ += p.passes;
        numbers_[p.name] = std::move(*found);
      } else {
        open.push_back(std::move(p));
      }
    }
    return open;
  }

  void keep(const part& p, std::vector<double> numbers) {
    const std::lock_guard lock(mutex_);
    store_.keep_numbers(p.name, numbers);
    numbers_[p.name] = std::move(numbers);
  }

  /// The BF16 run at checkpoint c, from an earlier state of it.
  training_state trained(training_state state, int c) {
    while (state.steps < step(c)) {
      advance(settings_, bf16_arm, state);
      done_something(0, static_cast<double>(state.steps));
    }
    store_.keep_state(trunk(c), state);
    return state;
  }

  /// Sets state_ to checkpoint c, from the latest that is there.
  void reach(int c) {
    std::optional<training_state> from = std::move(state_);
    if (from && from->steps > step(c)) from.reset();
    for (int at = c; at >= 0 && !from; --at) {
      from = store_.find_state(trunk(at), settings_);
    }
    if (!from) from = start(settings_);
    run_all({{0, [&] { state_ = trained(std::move(*from), c); }}});
  }

  void done_something(double passes, double steps = 0) {
    const std::lock_guard lock(mutex_);
    done_ += passes;
    trained_ = std::max(trained_, steps);
    if (options_.progress) options_.progress(done_ + trained_, total_);
  }

  void run_all(const std::vector<task>& tasks) {
    std::exception_ptr failure;
    std::mutex failing;
    const auto failed = [&] {
      const std::lock_guard lock(failing);
      return failure != nullptr;
    };
    const auto count = static_cast<std::ptrdiff_t>(tasks.size());
#pragma omp parallel for schedule(dynamic) \
    num_threads(startable_threads(threads_))
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      if (failed()) continue;
      try {
        stay_on_one_thread();
        const task& t = tasks[static_cast<std::size_t>(i)];
        t.work();
        done_something(t.passes);
      } catch (...) {
        const std::lock_guard lock(failing);
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }

  const loss_options& options_;
  training_settings settings_;
  store_folder store_;
  int threads_;
  std::optional<training_state> state_;
  part_numbers numbers_;
  double done_ = 0;
  double trained_ = 0;  ///< steps
  double total_ = 0;
  std::mutex mutex_;
};

void check(const loss_options& o) {
  const auto need = [](bool good, const char* what) {
    if (!good) throw input_error(what);
  };
  need(o.width >= 128 && o.width <= 512 && o.width % 128 == 0,
       "width of the model: use 128, 256, 384 or 512");
  need(o.layers >= 1 && o.layers <= 16, "layers of the model: use 1 to 16");
  need(o.sequences >= 1 && o.sequences <= 64,
       "sequences of a batch: use 1 to 64");
  need(o.length >= 8 && o.length <= 1024,
       "tokens of a sequence: use 8 to 1024");
  need(o.checkpoints >= 2 && o.checkpoints <= 64,
       "checkpoints: use 2 to 64; an interval needs two");
  need(o.every >= 1 && o.every <= 10000,
       "steps between checkpoints: use 1 to 10000");
  need(o.batches >= 1 && o.batches <= 64, "batches: use 1 to 64");
  need(o.state_sequences >= 0 && o.state_sequences <= 256,
       "sequences of a batch at the same state: use 0 (as in training) to 256");
  need(o.state_length >= 0 && o.state_length <= 1024,
       "their tokens: use 0 (as in training) to 1024");
  need(o.fork_steps >= 0 && o.fork_steps <= 256,
       "steps of a fork: use 0 (none) to 256");
  need(o.outliers.empty() ||
           (o.outlier_steps >= 1 && o.outlier_steps <= o.fork_steps),
       "steps with outliers: use 1 to those of a fork");
  need(o.threads >= 0 && o.threads <= 1024, "threads: use 0 (all) to 1024");
  need(!o.compared.empty(), "arms to compare: name one");
  for (const auto* list : {&o.compared, &o.under_outliers}) {
    for (const auto& text : *list) parse_comparison(text);
  }
  for (const auto& text : o.under_outliers) {
    need(text.find('/') == text.npos, "arms with outliers: beside BF16 alone");
  }
  for (const auto& x : o.outliers) {
    need(x.exponent >= 1 && x.exponent <= 24,
         "exponents of injected outliers: use 1 to 24");
  }
  for (const int bits : o.doses) {
    need(bits >= 8 && bits <= 34, "fraction bits of a dose: use 8 to 34");
  }
}

}  // namespace
}  // namespace loss

const char* name_of(outlier_kind kind) {
  constexpr const char* names[] = {"channel", "token", "unit"};
  return names[static_cast<std::size_t>(kind)];
}

std::string dose_arm(int fraction_bits) {
  return fmt::format("per_tensor_unpromoted+fraction_bits:{}", fraction_bits);
}

namespace {

/// Each kind by each exponent.
std::vector<loss_outlier> outliers_of(const std::vector<int>& exponents) {
  std::vector<loss_outlier> all;
  for (const auto kind :
       {outlier_kind::channel, outlier_kind::token, outlier_kind::unit}) {
    for (const int k : exponents) all.push_back({kind, k});
  }
  return all;
}

/// What most sizes are.
loss_options usual_size() {
  loss_options o;
  for (const auto& a : loss::compared_arms) o.compared.emplace_back(a.name);
  o.under_outliers = {"full", "blocks", "per_tensor"};
  o.outliers = outliers_of({8, 12, 16});
  return o;
}

loss_options smoke_size() {
  loss_options o = usual_size();
  o.layers = o.sequences = 1;
  o.length = 16;
  o.checkpoints = o.every = o.fork_steps = o.outlier_steps = 2;
  o.batches = 1;
  o.outliers = outliers_of({12});
  return o;
}

loss_options quick_size() {
  loss_options o = usual_size();
  o.length = 64;
  o.checkpoints = 5;
  o.every = 30;
  o.batches = 1;
  o.fork_steps = o.outlier_steps = 8;
  o.outliers = outliers_of({16});
  return o;
}

loss_options wide_size() {
  loss_options o = usual_size();
  o.width = 256;
  o.fork_steps = 16;
  return o;
}

loss_options tokens_size() {
  loss_options o = usual_size();
  o.state_sequences = 64;
  o.state_length = 256;
  o.checkpoints = 4;
  o.every = 100;
  o.batches = 2;
  o.fork_steps = 0;
  o.outliers.clear();
  o.compared = {"bf16_split_k",
                "full",
                "per_tensor",
                "per_tensor_unpromoted",
                "full/full+fraction_bits:34",
                fmt::format("per_tensor/{}", exact_arm),
                fmt::format("per_tensor_unpromoted/{}", exact_arm)};
  return o;
}

/// Four times as many, without what 16384 told already.
loss_options more_tokens_size() {
  loss_options o = tokens_size();
  o.state_sequences = 256;
  o.checkpoints = 2;
  o.compared = {"per_tensor", fmt::format("per_tensor/{}", exact_arm),
                fmt::format("per_tensor_unpromoted/{}", exact_arm)};
  return o;
}

loss_options dose_size() {
  loss_options o = usual_size();
  o.outliers.clear();
  o.doses = {8, 9, 10, 11, 12, 13};
  o.compared = {"bf16_split_k", exact_arm};
  for (const int bits : o.doses) {
    o.compared.push_back(dose_arm(bits));
    o.compared.push_back(fmt::format("{}/{}", dose_arm(bits), exact_arm));
  }
  return o;
}

}  // namespace

const std::vector<loss_size>& loss_sizes() {
  static const std::vector<loss_size> sizes{
      {"smoke", "a second: every part, too small for its verdicts to hold",
       smoke_size()},
      {"quick", "half a minute: a look, few and short forks", quick_size()},
      {"full", "minutes: width 128", usual_size()},
      {"wide", "width 256: K is two promotion intervals", wide_size()},
      {"tokens", "gradients alone, of 16384 tokens", tokens_size()},
      {"more_tokens", "gradients alone, of 65536 tokens", more_tokens_size()},
      {"dose", "accumulators of 8 to 13 fraction bits", dose_size()}};
  return sizes;
}

loss_result run_loss_study(const loss_options& options) {
  loss::check(options);
  return loss::assemble(options, loss::study(options)());
}

}  // namespace zeroulp
