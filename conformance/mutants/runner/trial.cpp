#include "conformance/mutants/runner/trial.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <new>
#include <numeric>
#include <stdexcept>

namespace zeroulp::conformance {
namespace {

/// Memory that children write and the parent reads.
class shared_outcomes {
 public:
  explicit shared_outcomes(std::size_t count)
      : bytes_(std::max<std::size_t>(count, 1) * sizeof(outcome)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<outcome*>(memory);
    for (std::size_t i = 0; i < count; ++i) new (data_ + i) outcome;
  }
  ~shared_outcomes() { munmap(data_, bytes_); }
  shared_outcomes(const shared_outcomes&) = delete;
  shared_outcomes& operator=(const shared_outcomes&) = delete;

  outcome& operator[](std::size_t i) { return data_[i]; }

 private:
  std::size_t bytes_;
  outcome* data_ = nullptr;
};

/// The checks of the candidate's own subject first, cheap ones before others.
std::vector<int> order_for(const std::vector<timed_check>& checks,
                           subject first) {
  std::vector<int> order(checks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const auto& x = checks[static_cast<std::size_t>(a)];
    const auto& y = checks[static_cast<std::size_t>(b)];
    if ((x.list == first) != (y.list == first)) return x.list == first;
    return x.seconds < y.seconds;
  });
  return order;
}

/// The process dies of SIGPROF when it has used `seconds` more of CPU time.
void allow(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec =
      static_cast<suseconds_t>(1e6 * (seconds - std::floor(seconds)));
  setitimer(ITIMER_PROF, &timer, nullptr);
}

void set_limit(int what, double value) {
  const auto soft = static_cast<rlim_t>(value);
  const rlimit limit{soft, soft + 2};
  setrlimit(what, &limit);
}

/// A child's life.
[[noreturn]] void try_candidate(const std::vector<timed_check>& checks,
                                const candidate& c,
                                const trial_options& options, outcome& out) {
  set_limit(RLIMIT_CPU, std::ceil(options.limit));
  set_limit(RLIMIT_CORE, 0);
  // What an allocator has to say before it aborts is not the report.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
  set_limit(RLIMIT_AS, 4.0 * (1 << 30));
  alarm(static_cast<unsigned>(20 * options.limit) + 60);
  const effort e{options.level, 1, true};
  const implementation mutant = c.make();
  double spent = 0;
  const auto place = static_cast<std::size_t>(c.generated);
  for (const int i : order_for(checks, c.first)) {
    out.check = i;
    const auto& timed = checks[static_cast<std::size_t>(i)];
    const auto& check = timed.value;
    if (check.level > options.level) continue;
    // What these take long to see of other mutants, those' own checks see.
    const bool has_own =
        timed.list == subject::training || timed.list == subject::model;
    if (has_own && c.first != timed.list) continue;
    if (options.level == 0) {
      if (c.generated >= 0 && !timed.reaches[place]) continue;
      spent += timed.seconds;
      if (c.brief && spent > options.brief) break;
      allow(options.slack + 10 * timed.seconds);
    }
    const verdict v = run_check(check, mutant, e);
    out.cases += v.cases;
    out.seconds = cpu_seconds();
    if (v.failures == 0) continue;
    v.first_failure.copy(out.first_failure.data(),
                         out.first_failure.size() - 1);
    out.what = fate::killed;
    _exit(0);
  }
  out.what = fate::survived;
  _exit(0);
}

void settle(outcome& out, int status) {
  if (out.what != fate::running) return;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool late = signal == SIGXCPU || signal == SIGPROF ||
                    signal == SIGALRM || signal == SIGKILL;
  out.what = late ? fate::timed_out : fate::crashed;
}

}  // namespace

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

void run_trials(const std::vector<timed_check>& checks,
                const std::vector<const candidate*>& candidates,
                const trial_options& options, const use_outcome& use) {
  shared_outcomes outcomes(candidates.size());
  std::map<pid_t, std::size_t> running;
  const auto wait_for_one = [&] {
    int status = 0;
    const pid_t child = wait(&status);
    const auto found = running.find(child);
    if (found == running.end()) throw std::runtime_error("lost a child");
    settle(outcomes[found->second], status);
    use(found->second, outcomes[found->second]);
    running.erase(found);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (running.size() >= static_cast<std::size_t>(options.jobs)) {
      wait_for_one();
    }
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
      try_candidate(checks, *candidates[i], options, outcomes[i]);
    }
    running[child] = i;
  }
  while (!running.empty()) wait_for_one();
}

}  // namespace zeroulp::conformance
