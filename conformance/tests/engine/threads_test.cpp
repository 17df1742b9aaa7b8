// Work goes on with fewer threads where the system starts no more.

#include "src/base/threads.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>

#include "zeroulp/threads.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// LLVM's OpenMP keeps some of what it has of threads that have ended.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libomp"; }
#endif
#endif

namespace zeroulp {
namespace {

/// In all of these tests small matrices have threads, too: what threads share
/// is held on shapes that end soon.
const bool all_work_is_shared = [] {
  share_small_work(true);
  return true;
}();

/// Ends this process, which may start no thread from now on, with 0 iff `held`.
template <class Held>
[[noreturn]] void end_alone(Held held) {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_NPROC, &none);
  // The superuser has no limit.
  if (::geteuid() == 0 && ::setresuid(64999, 64999, 64999) != 0) ::_exit(2);
  ::_exit(held() ? 0 : 1);
}

template <class Held>
void check_alone(Held held) {
  EXPECT_EXIT(end_alone(held), testing::ExitedWithCode(0), "");
}

int count_of(std::size_t threads) {
  std::atomic<int> count = 0;
  on_threads(threads, [&count] { ++count; });
  return count;
}

TEST(Threads, AreAsManyAsAskedFor) {
  EXPECT_EQ(startable_threads(1), 1);
  EXPECT_EQ(startable_threads(5), 5);
  EXPECT_EQ(startable_threads(3), 3);
  EXPECT_EQ(threads_for(0), 1);
  EXPECT_GE(threads_for(), 1);
  EXPECT_EQ(count_of(1), 1);
  EXPECT_EQ(count_of(4), 4);
  auto result = beside([] { return 7; });
  EXPECT_NE(result.wait_for(std::chrono::seconds(0)),
            std::future_status::deferred);
  EXPECT_EQ(result.get(), 7);
}

TEST(Threads, AreFewWhereThereIsLittleWork) {
  share_small_work(false);
  engine::use_threads(4);
  EXPECT_EQ(threads_for(0), 1);
  EXPECT_EQ(threads_for(1), 1);
  EXPECT_EQ(threads_for(1.9 * worth_a_thread), 1);
  EXPECT_EQ(threads_for(2 * worth_a_thread), 2);
  EXPECT_EQ(threads_for(3.5 * worth_a_thread), 3);
  EXPECT_EQ(threads_for(1e30), 4);
  EXPECT_EQ(threads_for(), 4);
  share_small_work(true);
  EXPECT_EQ(threads_for(0), 1);
  EXPECT_EQ(threads_for(1), 4);
  EXPECT_THROW(engine::use_threads(-1), std::invalid_argument);
  engine::use_threads(1);
  EXPECT_EQ(threads_for(), 1);
  engine::use_threads(0);
}

TEST(Threads, AreOneWhereNoneIsStarted) {
  // A process of this test alone: threads remember how many they started.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  check_alone([] { return startable_threads(4) == 1; });
  check_alone([] { return startable_threads(4) + startable_threads(9) == 2; });
  check_alone([] { return threads_for() == 1; });
  check_alone([] { return count_of(4) == 1; });
  check_alone([] { return start_threads(3, [] {}).empty(); });
  check_alone([] { return beside([] { return 7; }).get() == 7; });
}

}  // namespace
}  // namespace zeroulp
