// The calls to OpenMP's runtime that GCC makes for this library's loops, by
// threads of our own: a portable wheel links this in place of libgomp, which is
// not everywhere, and of which a process with torch has one already.
//
// A region has shares, one for each thread asked for. Whoever is free runs
// them: threads that wait here, and the caller, who takes those that nobody has
// begun. So a region ends whether or not a thread could be started, and in the
// child of a fork(), which has none.
//
// Only what loops of ours ask for is here: at most one dynamic loop a region,
// no barrier, no critical section within another. What else GCC calls does not
// link.
//
// Source: "The libgomp ABI", GNU libgomp manual, GCC 12; OpenMP 5.0.

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>

namespace {

using number = unsigned long long;

/// Iterations that shares take as they come, `chunk` at a time: `count` of
/// them, from `begin` on, modulo 2^64.
struct dynamic_loop {
  number begin = 0, step = 0, count = 0, chunk = 1;
  number taken = 0;
  bool is_known = false;
};

struct region {
  void (*run)(void*);
  void* data;
  unsigned shares;
  bool is_parallel;               ///< it, or one around it, has several shares
  unsigned begun = 0, ended = 0;  ///< under the pool's mutex
  std::mutex gate{};              ///< of its loop
  dynamic_loop loop{};
};

/// Where a thread is.
thread_local region* current = nullptr;
thread_local unsigned current_share = 0;
thread_local int wanted = 0;  ///< omp_set_num_threads; 0: not called

/// Threads that run shares, and the regions that have some left. Never ends: at
/// exit() its threads still wait.
class pool {
 public:
  void run(region& r) {
    if (r.shares > 1) {
      const std::scoped_lock lock(mutex_);
      open_.push_back(&r);
      while (threads_ < r.shares - 1 && start_thread()) ++threads_;
      work_.notify_all();
    }
    run_shares(r);
  }

 private:
  /// Runs shares of r until none is left, and returns when all have ended.
  void run_shares(region& r) {
    std::unique_lock lock(mutex_);
    while (r.begun < r.shares) run_one(r, lock);
    done_.wait(lock, [&] { return r.ended == r.shares; });
  }
  void run_one(region& r, std::unique_lock<std::mutex>& lock) {
    const unsigned share = r.begun++;
    if (r.begun == r.shares) std::erase(open_, &r);
    lock.unlock();
    region* const outer = current;
    const unsigned outer_share = current_share;
    current = &r, current_share = share;
    r.run(r.data);
    current = outer, current_share = outer_share;
    lock.lock();
    // Its last share ended, r is its caller's to end.
    if (++r.ended == r.shares) done_.notify_all();
  }
  /// Returns false if the system has no thread more.
  bool start_thread() {
    // What the process is sent is for its own threads, but not their faults.
    sigset_t all, before;
    sigfillset(&all);
    for (const int fault :
         {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const auto wait = [](void* of) -> void* {
      static_cast<pool*>(of)->wait_for_work();
      return nullptr;
    };
    const bool started = pthread_create(&thread, nullptr, wait, this) == 0;
    if (started) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }
  [[noreturn]] void wait_for_work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [&] { return !open_.empty(); });
      run_one(*open_.front(), lock);
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<region*> open_;  ///< regions with shares that nobody has begun
  unsigned threads_ = 0;
};

/// What a child of fork() has anew: threads that it does not have may have
/// locked it.
struct shared_state {
  pool threads;
  std::mutex one_at_a_time;
};
alignas(shared_state) unsigned char memory[sizeof(shared_state)];

shared_state& shared() {
  static const bool made = [] {
    new (memory) shared_state;
    return pthread_atfork(nullptr, nullptr,
                          [] { new (memory) shared_state; }) == 0;
  }();
  static_cast<void>(made);
  return *std::launder(reinterpret_cast<shared_state*>(memory));
}

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// OMP_NUM_THREADS, or the cores of this process.
int threads_at_first() {
  static const int count = [] {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    const long said = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
    return said >= 1 && said <= 65536 ? static_cast<int>(said) : cores();
  }();
  return count;
}

/// The next iterations of this share: [from, to). The first share to come says
/// what the region's one loop is.
bool next(const dynamic_loop& known, number& from, number& to) {
  const std::scoped_lock lock(current->gate);
  dynamic_loop& loop = current->loop;
  if (!loop.is_known) loop = known;
  if (loop.taken == loop.count) return false;
  const number left = loop.count - loop.taken;
  const number more = left < loop.chunk ? left : loop.chunk;
  from = loop.begin + loop.taken * loop.step;
  to = from + more * loop.step;
  loop.taken += more;
  return true;
}

/// A loop from `begin` up or down to `end`; without iterations unless `any`.
dynamic_loop loop_of(bool up, bool any, number begin, number end, number step,
                     number chunk) {
  const number distance = up ? end - begin : begin - end;
  const number width = up ? step : -step;
  const number count =
      any ? distance / width + (distance % width != 0 ? 1 : 0) : 0;
  return {begin, step, count, chunk, 0, true};
}

}  // namespace

extern "C" {

int omp_get_max_threads() { return wanted > 0 ? wanted : threads_at_first(); }
void omp_set_num_threads(int count) { wanted = count > 0 ? count : 1; }
int omp_in_parallel() { return current != nullptr && current->is_parallel; }
int omp_get_thread_num() { return static_cast<int>(current_share); }
int omp_get_num_threads() {
  return current != nullptr ? static_cast<int>(current->shares) : 1;
}

/// `count` 0: as many as there are. A region within one has one share.
void GOMP_parallel(void (*run)(void*), void* data, unsigned count, unsigned) {
  if (count == 0) count = static_cast<unsigned>(omp_get_max_threads());
  const bool within = omp_in_parallel() != 0;
  const unsigned shares = within ? 1 : count;
  region r{run, data, shares, within || shares > 1};
  shared().threads.run(r);
}

bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool up, number begin, number end,
                                              number step, number chunk,
                                              number* from, number* to) {
  const bool any = up ? begin < end : begin > end;
  return next(loop_of(up, any, begin, end, step, chunk), *from, *to);
}
bool GOMP_loop_ull_nonmonotonic_dynamic_next(number* from, number* to) {
  return next({}, *from, *to);
}

bool GOMP_loop_nonmonotonic_dynamic_start(long begin, long end, long step,
                                          long chunk, long* from, long* to) {
  const bool up = step > 0, any = up ? begin < end : begin > end;
  number first = 0, last = 0;
  if (!next(
          loop_of(up, any, static_cast<number>(begin), static_cast<number>(end),
                  static_cast<number>(step), static_cast<number>(chunk)),
          first, last)) {
    return false;
  }
  *from = static_cast<long>(first), *to = static_cast<long>(last);
  return true;
}
bool GOMP_loop_nonmonotonic_dynamic_next(long* from, long* to) {
  return GOMP_loop_nonmonotonic_dynamic_start(0, 0, 1, 1, from, to);
}

void GOMP_loop_end_nowait() {}

void GOMP_critical_name_start(void**) { shared().one_at_a_time.lock(); }
void GOMP_critical_name_end(void**) { shared().one_at_a_time.unlock(); }
void GOMP_atomic_start() { shared().one_at_a_time.lock(); }
void GOMP_atomic_end() { shared().one_at_a_time.unlock(); }

}  // extern "C"
