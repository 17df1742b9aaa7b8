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
#include "tools/train/run_folder.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {
namespace loss {
namespace {

/// Part of a run: something that one thread does.
struct task {
  double passes;
  std::function<void()> work;
};

bool is_on_cpu(const loss_options& o) { return o.on == "cpu"; }

/// A GPU does one thing after the other.
int threads_of(const loss_options& o) {
  if (!is_on_cpu(o)) return 1;
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
      "zeroulp {} loss 3: model {} state {} seeds {} from {} checkpoints {} "
      "every {} batches {} fork {} outliers {} compared {} under outliers {}",
      ZEROULP_VERSION, o.model, o.state, o.seeds, o.seed, o.checkpoints,
      o.every, o.batches, o.fork_steps, o.outlier_steps,
      fmt::join(o.compared, " "), fmt::join(o.under_outliers, " "));
  if (o.rate > 0) line += fmt::format(" rate {} warmup {}", o.rate, o.warmup);
  for (const auto& x : o.outliers) {
    line += fmt::format(" {}:{}", name_of(x.kind), x.exponent);
  }
  if (!o.data.empty()) {
    line += " data " + train::training_data(o.data, shape_of(o), o.seed).name();
  }
  return line;
}

/// A BF16 run, from which others fork, and its receipt.
struct trunk {
  std::unique_ptr<train::any_run> run;
  train::receipt rows;
};

class study {
 public:
  explicit study(const loss_options& o)
      : options_(o), store_(o.folder, describe(o)), threads_(threads_of(o)) {}

  part_numbers operator()() {
    std::vector<seed_run> runs;
    for (int n = 0; n < options_.seeds; ++n) runs.push_back(missing(n));
    for (const seed_run& r : runs) follow(r);
    return std::move(numbers_);
  }

 private:
  /// What is left to do of a BF16 run: parts by checkpoint; the last that has
  /// some, -1: none.
  struct seed_run {
    int number;
    std::vector<std::vector<part>> open;
    int last = -1;
  };

  std::int64_t step(int c) const {
    return std::int64_t{options_.every} * (c + 1);
  }
  /// Where run n keeps its checkpoints.
  train::run_folder folder_of(int n, const train::any_run& run) const {
    return {options_.folder / fmt::format("trunk.{}", n),
            train::settings_json(run, "")};
  }
  bool is_stored() const { return !options_.folder.empty(); }

  seed_run missing(int n) {
    seed_run r{n, {}};
    for (int c = 0; c < options_.checkpoints; ++c) {
      r.open.emplace_back();
      for (part& p : parts_of(options_, n, c)) {
        total_ += p.passes;
        if (auto found = store_.find_numbers(p.name, p.count)) {
          done_ += p.passes;
          numbers_[p.name] = std::move(*found);
        } else {
          r.open.back().push_back(std::move(p));
          r.last = c;
        }
      }
    }
    if (r.last >= 0) total_ += static_cast<double>(step(r.last));
    return r;
  }

  void follow(const seed_run& r) {
    std::optional<trunk> t;
    for (int c = 0; c <= r.last; ++c) {
      const auto& parts = r.open[static_cast<std::size_t>(c)];
      if (parts.empty()) continue;
      if (!t || t->run->steps() != step(c)) t = reach(r.number, c);
      const train::any_run& run = *t->run;
      std::optional<trunk> next;
      std::vector<task> tasks;
      if (c < r.last) {  // the longest: first
        tasks.push_back({0, [&, c] {
                           next =
                               trained({run.under(run.settings().how), t->rows},
                                       r.number, c + 1);
                         }});
      }
      for (const part& p : parts) {
        tasks.push_back({p.passes, [&] { keep(p, p.run(run)); }});
      }
      run_all(tasks);
      if (is_stored()) folder_of(r.number, run).remove(step(c));
      t = std::move(next);
    }
  }

  void keep(const part& p, std::vector<double> numbers) {
    const std::lock_guard lock(mutex_);
    store_.keep_numbers(p.name, numbers);
    numbers_[p.name] = std::move(numbers);
  }

  /// Run n at checkpoint c, from an earlier state of it.
  trunk trained(trunk t, int n, int c) {
    while (t.run->steps() < step(c)) {
      const train::step_report report = t.run->advance();
      const bool there = t.run->steps() == step(c);
      t.rows.add(report, there ? t.run->digest() : "");
      done_something(0, 1);
    }
    if (is_stored()) folder_of(n, *t.run).save(*t.run, t.rows, true);
    return t;
  }

  /// Run n at checkpoint c, from the latest of its states that is kept.
  trunk reach(int n, int c) {
    auto run = start(options_, n);
    const train::run_folder folder = folder_of(n, *run);
    train::receipt rows(train::settings_json(*run, ""));
    for (int at = c; is_stored() && at >= 0 && run->steps() == 0; --at) {
      if (folder.has(step(at))) rows = folder.load(step(at), *run);
    }
    trunk t{std::move(run), std::move(rows)};
    done_something(0, static_cast<double>(t.run->steps()));
    run_all({{0, [&] { t = trained(std::move(t), n, c); }}});
    return t;
  }

  void done_something(double passes, double steps = 0) {
    const std::lock_guard lock(mutex_);
    done_ += passes + steps;
    if (options_.progress) options_.progress(done_, total_);
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
        if (is_on_cpu(options_)) stay_on_one_thread();
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
  store_folder store_;
  int threads_;
  part_numbers numbers_;
  double done_ = 0;
  double total_ = 0;
  std::mutex mutex_;
};

void check(const loss_options& o) {
  const auto need = [](bool good, const char* what) {
    if (!good) throw input_error(what);
  };
  const train::model_shape shape = shape_of(o);
  train::model_shape at_state = state_shape_of(o);
  at_state.sequences = shape.sequences;
  at_state.length = shape.length;
  need(train::fields_json(shape) == train::fields_json(at_state),
       "fields of the same state: use sequences and length");
  need(o.seeds >= 2 && o.seeds <= 64,
       "seeds: use 2 to 64; an interval needs two");
  need(o.checkpoints >= 1 && o.checkpoints <= 64, "checkpoints: use 1 to 64");
  need(o.every >= 1 && o.every <= 10000,
       "steps between checkpoints: use 1 to 10000");
  need(o.batches >= 1 && o.batches <= 64, "batches: use 1 to 64");
  need(o.fork_steps >= 0 && o.fork_steps <= 256,
       "steps of a fork: use 0 (none) to 256");
  need(o.rate >= 0 && o.rate <= 1, "rate: use 0 (the model's usual one) to 1");
  need(o.warmup >= 1, "steps of a growing rate: use 1 or more");
  need(o.outliers.empty() ||
           (o.outlier_steps >= 1 && o.outlier_steps <= o.fork_steps),
       "steps with outliers: use 1 to those of a fork");
  need(o.threads >= 0 && o.threads <= 1024, "threads: use 0 (all) to 1024");
  need(o.on == "cpu" || o.on == "gpu", "backend: use one of cpu, gpu");
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
  constexpr const char* names[] = {"channel", "unit"};
  return names[static_cast<std::size_t>(kind)];
}

std::string dose_arm(int fraction_bits) {
  return fmt::format("tensor_unpromoted+fraction_bits:{}", fraction_bits);
}

namespace {

/// `full` with the head as every other Linear.
std::string fp8_head_arm() {
  std::string arm = "full";
  for (const auto& [name, group] :
       {std::pair{"x", "1x128"}, {"w", "128x128"}, {"dy", "1x128"}}) {
    arm += fmt::format(
        "+head.{0}.format:e4m3+head.{0}.scale:fp32+"
        "head.{0}.group:{1}",
        name, group);
  }
  for (const char* product : {"fprop", "dgrad", "wgrad"}) {
    arm += fmt::format(
        "+head.{0}.accumulator:hopper.wgmma.e4m3.e4m3.f32+"
        "head.{0}.interval:128",
        product);
  }
  return arm;
}

/// Each kind by each exponent.
std::vector<loss_outlier> outliers_of(const std::vector<int>& exponents) {
  std::vector<loss_outlier> all;
  for (const auto kind : {outlier_kind::channel, outlier_kind::unit}) {
    for (const int k : exponents) all.push_back({kind, k});
  }
  return all;
}

/// What most sizes are.
loss_options usual_size() {
  loss_options o;
  o.compared = {"bf16_split_k",      "full",   "tensor",
                "tensor_unpromoted", "te",     "hybrid",
                "block_gradients",   block_arm};
  o.under_outliers = {"full", block_arm, "tensor"};
  o.outliers = outliers_of({8, 12, 16});
  return o;
}

loss_options smoke_size() {
  loss_options o = usual_size();
  o.model = "tiny+sequences:1+length:16";
  o.seeds = o.checkpoints = o.every = o.fork_steps = o.outlier_steps = 2;
  o.batches = 1;
  o.outliers = outliers_of({12});
  return o;
}

loss_options quick_size() {
  loss_options o = usual_size();
  o.every = 30;
  o.batches = 1;
  o.fork_steps = o.outlier_steps = 4;
  o.outliers = outliers_of({16});
  return o;
}

loss_options wide_size() {
  loss_options o = usual_size();
  o.model = "T";
  return o;
}

loss_options tokens_size() {
  loss_options o = usual_size();
  o.state = "+sequences:64+length:256";
  o.checkpoints = o.batches = 1;
  o.every = 200;
  o.fork_steps = 0;
  o.outliers.clear();
  o.compared = {"bf16_split_k",
                "full",
                "tensor",
                "tensor_unpromoted",
                "full/full+fraction_bits:34",
                fmt::format("tensor/{}", exact_arm),
                fmt::format("tensor_unpromoted/{}", exact_arm)};
  return o;
}

/// Four times as many, without what 16384 told already.
loss_options more_tokens_size() {
  loss_options o = tokens_size();
  o.state = "+sequences:256+length:256";
  o.seeds = 2;
  o.compared = {"tensor", fmt::format("tensor/{}", exact_arm),
                fmt::format("tensor_unpromoted/{}", exact_arm)};
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

/// The campaign's model, on a GPU: gradients of K to 65,536, forks of K to
/// 16,384, at one of the campaign's rates (records/train/campaign).
loss_options lite4_size() {
  loss_options o = usual_size();
  o.model = "lite4+sequences:16";
  o.state = "+sequences:64";
  o.seeds = o.checkpoints = 3;
  o.every = 200;
  o.rate = 3e-4;
  o.warmup = 50;
  o.batches = 1;
  o.fork_steps = 32;
  o.outlier_steps = 24;
  o.outliers = {{outlier_kind::channel, 4},
                {outlier_kind::channel, 8},
                {outlier_kind::channel, 14}};
  o.compared.push_back("tensor_unpromoted/tensor");
  o.compared.push_back("full+attention_cache.format:e4m3");
  o.compared.push_back(fp8_head_arm());
  o.compared.push_back("tensor+interval:512");
  o.compared.push_back(
      "full+linear.x.format:e5m2+linear.w.format:e5m2+linear.dy.format:e5m2");
  return o;
}

}  // namespace

const std::vector<loss_size>& loss_sizes() {
  static const std::vector<loss_size> sizes{
      {"smoke", "a second: every part, too small for its verdicts to hold",
       smoke_size()},
      {"quick", "a minute: a look, few and short forks", quick_size()},
      {"full", "minutes: the model tiny", usual_size()},
      {"wide", "an hour: the model T, K of 128 to 1024", wide_size()},
      {"tokens", "gradients alone, of 16384 tokens", tokens_size()},
      {"more_tokens", "gradients alone, of 65536 tokens", more_tokens_size()},
      {"dose", "accumulators of 8 to 13 fraction bits", dose_size()},
      {"lite4", "for a GPU: the model lite4, K of 512 to 65536", lite4_size()}};
  return sizes;
}

loss_result run_loss_study(const loss_options& options) {
  loss::check(options);
  return loss::assemble(options, loss::study(options)());
}

}  // namespace zeroulp
