// The rounds of a benchmark, and its random inputs.

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "tools/study/error/distribution.hpp"
#include "tools/zeroulp/bench/bench.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/simd.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace zeroulp::program {
namespace {

constexpr int least_rounds = 5;
constexpr int most_rounds = 50;
constexpr double enough_seconds = 0.3;  // of a group, with enough rounds
constexpr double most_seconds = 15;     // of a group

void set_threads([[maybe_unused]] int count) {
#ifdef _OPENMP
  omp_set_num_threads(count);
#endif
}

const char* name_of_simd() {
  for (const auto& s : engine::named_simds) {
    if (s.value == engine::current_simd()) return s.name;
  }
  return "";
}

std::uint32_t load(const void* at, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return *static_cast<const std::uint8_t*>(at);
    case 2:
      return *static_cast<const std::uint16_t*>(at);
    default:
      return *static_cast<const std::uint32_t*>(at);
  }
}

/// Makes every place wrong, so that the next run must write it.
void spoil(const bench_job& job) {
  for (const auto& o : job.outputs) std::memset(o.at, 0, o.bytes);
  for (const auto& o : job.outputs) {
    if (o.core == 0) std::memset(o.at, 0xff, o.bytes);
  }
}

void hold(const bench_job& job, int threads) {
  for (const auto& o : job.outputs) {
    const auto got = load(o.at, o.bytes);
    if (got == o.core) continue;
    throw bench_mismatch(
        fmt::format("{}, {}, threads {}, {}: {:0{}x}, core {:0{}x}", job.name,
                    job.is_peer ? "peer" : name_of_simd(), threads, o.where,
                    got, 2 * o.bytes, o.core, 2 * o.bytes));
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// A job at a number of threads, and its values.
struct variant {
  std::size_t job;
  int threads;
  std::vector<double> values;
};

/// Returns the seconds of a run whose outputs hold.
double time(const bench_job& job, int threads) {
  set_threads(threads);
  spoil(job);
  const auto start = std::chrono::steady_clock::now();
  job.run();
  const double seconds = seconds_since(start);
  hold(job, threads);
  return seconds;
}

/// Jobs of one group that should not run in the same order each round: what
/// slows down or warms up along the round favours none.
void run_rounds(const bench_group& g, std::vector<variant>& variants,
                bool quick) {
  const auto once = [&g](variant& v, bool counts) {
    const auto& job = g.jobs[v.job];
    const double s = time(job, v.threads);
    if (counts) v.values.push_back(job.work > 0 ? job.work / s : s);
  };
  const auto start = std::chrono::steady_clock::now();
  for (auto& v : variants) once(v, quick);
  if (quick) return;
  const double warm_up = seconds_since(start);
  for (int round = 0; round < most_rounds; ++round) {
    if (round % 2 == 0) {
      for (auto v = variants.begin(); v != variants.end(); ++v) once(*v, true);
    } else {
      for (auto v = variants.rbegin(); v != variants.rend(); ++v) {
        once(*v, true);
      }
    }
    const double spent = seconds_since(start);
    if (round + 1 >= least_rounds && spent >= enough_seconds + warm_up) break;
    if (spent >= most_seconds) break;
  }
}

const variant* find(const std::vector<variant>& variants, std::size_t job,
                    int threads) {
  for (const auto& v : variants) {
    if (v.job == job && v.threads == threads) return &v;
  }
  return nullptr;
}

}  // namespace

int available_threads() {
#ifdef _OPENMP
  static const int count = omp_get_max_threads();
  return count;
#else
  return 1;
#endif
}

void add_peer(bench_group& g, std::size_t ours, bench_job peer) {
  peer.is_peer = true;
  peer.threads = {1};
  g.ratios.push_back(
      {"ratio." + g.jobs[ours].name + peer.name.substr(peer.name.rfind(':')),
       ours, g.jobs.size()});
  g.jobs.push_back(std::move(peer));
}

std::vector<bench_row> measure(bench_group& g, const bench_context& how) {
  std::vector<variant> variants;
  for (std::size_t j = 0; j < g.jobs.size(); ++j) {
    for (const int threads : g.jobs[j].threads) {
      variants.push_back({j, threads, {}});
    }
  }
  run_rounds(g, variants, how.quick);
  set_threads(available_threads());

  std::vector<bench_row> rows;
  for (const auto& v : variants) {
    const auto& job = g.jobs[v.job];
    rows.push_back({job.name, job.unit, v.values, v.threads,
                    job.is_peer ? "" : name_of_simd(), job.size});
  }
  for (const auto& r : g.ratios) {
    for (const auto& over : variants) {
      if (over.job != r.over) continue;
      if (r.threads != 0 && over.threads != r.threads) continue;
      const auto* under =
          find(variants, r.under, r.threads != 0 ? 1 : over.threads);
      if (under == nullptr) continue;
      std::vector<double> values;
      for (std::size_t i = 0; i < over.values.size(); ++i) {
        values.push_back(over.values[i] / under->values[i]);
      }
      rows.push_back({r.name, "x", std::move(values), over.threads,
                      name_of_simd(), g.jobs[r.over].size});
    }
  }
  if (g.others) {
    for (auto& row : g.others()) rows.push_back(std::move(row));
  }
  return rows;
}

template <class Code>
std::vector<Code> normal_codes(format f, std::uint64_t seed, std::ptrdiff_t n,
                               int exponent) {
  constexpr std::size_t draws = 1 << 20;
  const auto to_code = [&](std::size_t i) {
    auto number = decode(draw(standard_normal, 1, i));
    number.exponent += exponent;
    return static_cast<Code>(encode(f, number));
  };
  std::vector<Code> pool(static_cast<std::size_t>(n) < draws
                             ? static_cast<std::size_t>(n)
                             : draws);
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = to_code(i);
  std::vector<Code> codes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = pool[random_bits(seed, i) % pool.size()];
  }
  return codes;
}

template std::vector<std::uint8_t> normal_codes(format, std::uint64_t,
                                                std::ptrdiff_t, int);
template std::vector<std::uint16_t> normal_codes(format, std::uint64_t,
                                                 std::ptrdiff_t, int);
template std::vector<std::uint32_t> normal_codes(format, std::uint64_t,
                                                 std::ptrdiff_t, int);

std::vector<std::uint32_t> random_scales(std::uint64_t seed, std::ptrdiff_t n) {
  std::vector<std::uint32_t> scales(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = 0x3f000000 +
                static_cast<std::uint32_t>(random_bits(seed, i) & 0xffffff);
  }
  return scales;
}

std::ptrdiff_t sampled_place(std::ptrdiff_t n, int i) {
  return static_cast<std::ptrdiff_t>(
      random_bits(3, static_cast<std::uint64_t>(i)) %
      static_cast<std::uint64_t>(n));
}

}  // namespace zeroulp::program
