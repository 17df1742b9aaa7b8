// The runtime of a portable wheel (tools/python/portable) under what GCC makes
// of OpenMP's pragmas. A program of its own: libgomp is not linked.

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

namespace {

/// How often loops over 0 to count - 1, and down from `count` by 3, came by.
template <class Index>
std::vector<int> visits(Index count, int threads) {
  std::vector<int> all(static_cast<std::size_t>(count) + 1);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (Index i = 0; i < count; ++i) ++all[static_cast<std::size_t>(i)];
#pragma omp parallel for schedule(static) num_threads(threads)
  for (Index i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] += 10;
#pragma omp parallel for schedule(dynamic, 7) num_threads(threads)
  for (Index i = count; i > 0; i -= 3) all[static_cast<std::size_t>(i)] += 100;
  return all;
}

template <class Index>
void check_visits(Index count, int threads) {
  const auto all = visits<Index>(count, threads);
  for (Index i = 0; i <= count; ++i) {
    const int expected =
        (i < count ? 11 : 0) + (i > 0 && (count - i) % 3 == 0 ? 100 : 0);
    ASSERT_EQ(all[static_cast<std::size_t>(i)], expected)
        << i << " of " << count << ", " << threads << " threads";
  }
}

/// The sum of 0 to 999, each added within a critical section.
long critical_sum(int threads) {
  long sum = 0;
#pragma omp parallel for num_threads(threads)
  for (int i = 0; i < 1000; ++i) {
#pragma omp critical(sum)
    sum += i;
  }
  return sum;
}

TEST(OpenmpRuntime, LoopsVisitEachIterationOnce) {
  for (const int threads : {1, 2, 3, 8, 40}) {
    for (const int count : {0, 1, 2, 7, 100, 1001}) {
      check_visits<int>(count, threads);
      check_visits<long>(count, threads);
    }
    std::vector<int> all(100);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::size_t i = 0; i < all.size(); ++i) ++all[i];
#pragma omp parallel for schedule(dynamic, 3) num_threads(threads)
    for (std::size_t i = all.size(); i > 0; i -= 2) all[i - 1] += 10;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i], i % 2 == 0 ? 1 : 11);
    }
  }
}

TEST(OpenmpRuntime, ThreadsAreAsManyAsAskedFor) {
  for (const int threads : {1, 2, 5}) {
    std::vector<int> seen(5);
#pragma omp parallel num_threads(threads)
    {
      ++seen[static_cast<std::size_t>(omp_get_thread_num())];
      if (omp_get_num_threads() != threads) seen[0] = 99;
    }
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(seen[static_cast<std::size_t>(i)], i < threads ? 1 : 0);
    }
  }
  omp_set_num_threads(3);
  EXPECT_EQ(omp_get_max_threads(), 3);
  std::atomic<int> threads = 0;
#pragma omp parallel
  ++threads;
  EXPECT_EQ(threads, 3);
}

TEST(OpenmpRuntime, RegionsWithinOneHaveOneThread) {
  std::atomic<int> inner = 0, wrong = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 8; ++i) {
    if (omp_in_parallel() == 0) ++wrong;
#pragma omp parallel for num_threads(4)
    for (int j = 0; j < 8; ++j) {
      ++inner;
      if (omp_get_num_threads() != 1 || omp_get_thread_num() != 0) ++wrong;
    }
    if (omp_get_num_threads() != 4) ++wrong;
#pragma omp parallel for num_threads(4)
    for (int j = 0; j < 2; ++j) {
#pragma omp parallel for num_threads(4)
      for (int k = 0; k < 8; ++k) {
        if (omp_in_parallel() == 0 || omp_get_num_threads() != 1) ++wrong;
      }
    }
  }
  EXPECT_EQ(inner, 64);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(omp_in_parallel(), 0);
}

TEST(OpenmpRuntime, ManyThreadsHaveRegionsAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&right] {
      for (int n = 0; n < 100; ++n) right += critical_sum(3) == 499500 ? 1 : 0;
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(right, 800);
}

// A child has none of its parent's threads.
TEST(OpenmpRuntime, ChildrenHaveRegions) {
  EXPECT_EQ(critical_sum(5), 499500);
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool right = critical_sum(5) == 499500 &&
                         visits<long>(100, 4) == visits<long>(100, 1);
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

// And its parent may be within a region.
TEST(OpenmpRuntime, ChildrenOfAProcessAtWorkHaveRegions) {
  std::atomic<bool> ended = false;
  std::thread busy([&ended] {
    while (!ended) critical_sum(3);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(critical_sum(5) == 499500 ? 0 : 1);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ended = true;
  busy.join();
}

TEST(OpenmpRuntime, EndsWhereNoThreadCanBeStarted) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    // The superuser has no limit.
    if (::geteuid() == 0 && ::setresuid(64999, 64999, 64999) != 0) ::_exit(2);
    const bool right = critical_sum(6) == 499500;
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    ::_exit(right && std::distance(begin(tasks), end(tasks)) == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
