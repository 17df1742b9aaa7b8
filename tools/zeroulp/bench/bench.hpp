// Defines what `zeroulp bench` times: groups of jobs that are run in turns, A B
// B A, so that the ratios between them are of the same minutes.
//
//   value = median over the rounds of work / seconds, or of seconds
//
// A result counts if, after each run, a sample of the outputs has the core's
// bits. Google Benchmark times one job at a time and Debian ships no archive of
// it, hence a timer of ours.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_BENCH_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_BENCH_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "zeroulp/core/format.hpp"

namespace zeroulp::program {

class ml_dtypes;

/// What the makers of groups need to know.
struct bench_context {
  bool quick = false;                 ///< small sizes, one round: does it run?
  std::vector<int> threads;           ///< one, and all where there are more
  std::set<std::string> absent;       ///< peers that are not here, and why
  std::shared_ptr<ml_dtypes> python;  ///< null until asked for
  bool python_failed = false;

  template <class T>
  T sized(T usual, T small) const {
    return quick ? small : usual;
  }
};

/// A place of an output, and what the core has there.
struct sampled_output {
  void* at;
  std::size_t bytes;
  std::uint32_t core;
  std::string where;
};

struct bench_job {
  std::string name;
  std::string unit;
  double work;  ///< of a run, in the unit times a second; 0: value in seconds
  std::string size;
  std::vector<int> threads;  ///< of our own code; a peer's is {1}
  bool is_peer = false;
  std::function<void()> run;
  std::vector<sampled_output> outputs;

  template <class T>
  void sample(T& at, std::uint32_t core, std::string where) {
    outputs.push_back({&at, sizeof(T), core, std::move(where)});
  }
};

/// The rate of one job over that of another, round by round.
struct bench_ratio {
  std::string name;
  std::size_t over;
  std::size_t under;
  /// 0: both at the same number of threads. Else `over` at this many, `under`
  /// at one.
  int threads = 0;
};

/// A result, with a value a round.
struct bench_row {
  std::string name;
  std::string unit;
  std::vector<double> values;
  int threads;
  std::string simd;  ///< empty for a peer
  std::string size;
};

struct bench_group {
  std::vector<bench_job> jobs;
  std::vector<bench_ratio> ratios;
  /// Called after the rounds.
  std::function<std::vector<bench_row>()> others;
};

/// A group that is made only if a name of it is asked for.
struct bench_entry {
  std::vector<std::string> names;
  std::function<bench_group(bench_context&)> make;
  bool takes_minutes = false;  ///< it is left out unless it is named
};

std::vector<bench_entry> gemm_benches();
std::vector<bench_entry> conversion_benches();
std::vector<bench_entry> quantizer_benches();
std::vector<bench_entry> layout_benches();
std::vector<bench_entry> training_benches();

/// Adds `peer` and the ratio of job `ours` over it.
void add_peer(bench_group& g, std::size_t ours, bench_job peer);

/// A sample of the outputs differs from the core.
class bench_mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The threads that the library uses unless told otherwise.
int available_threads();

/// Runs the rounds. Throws bench_mismatch.
std::vector<bench_row> measure(bench_group& group, const bench_context& how);

/// Codes of f nearest to 2^exponent times numbers from N(0, 1), saturated: a
/// million draws, picked at random.
template <class Code>
std::vector<Code> normal_codes(format f, std::uint64_t seed, std::ptrdiff_t n,
                               int exponent = 0);

/// FP32 bits of random numbers in [0.5, 2).
std::vector<std::uint32_t> random_scales(std::uint64_t seed, std::ptrdiff_t n);

/// Index i of a sample among n places.
std::ptrdiff_t sampled_place(std::ptrdiff_t n, int i);

inline constexpr int sample_size = 256;

/// Of one value or more.
double median(std::vector<double> values);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_BENCH_HPP_
