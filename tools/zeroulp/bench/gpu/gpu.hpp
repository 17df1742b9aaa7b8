// Defines what `zeroulp bench gpu` times: operations on matrices in device
// memory, each beside a stream, a kernel that reads as many bytes, writes as
// many and does nothing else: the limit.
//
//   ratio = median over the rounds of seconds of the stream / seconds
//
// A round is stream, operation, stream, stream, operation, each so many
// launches; the first ones keep the queue full and do not count. Memory rotates
// through more than twice the L2. An operation is timed if its bits are those
// of the engine, and its time counts if they still are. No CUDA in this header.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GPU_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GPU_HPP_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/zeroulp/bench/arrays.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/record.hpp"
#include "zeroulp/arrays.hpp"

// cudaStream_t is a pointer to this.
struct CUstream_st;

namespace zeroulp::program {

enum class gpu_use {
  read,
  update,
  write,
  scratch,  ///< what it works in: no part of the bytes that it moves
};

/// What a matrix holds before the first launch.
enum class gpu_fill {
  normal,    ///< codes nearest to numbers from N(0, 1)
  positive,  ///< codes nearest to their magnitudes
  scales,    ///< FP32 numbers from [0.5, 2)
  powers,    ///< FP32 powers of two from 2^-6 to 2^6
  bits,      ///< random bytes
  /// As quantized in groups, so that each reaches the largest code: codes
  /// nearest to 128 times numbers from N(0, 1); their scales, 1/128 of `scales`
  /// or of 1/2, 1 and 2.
  cached,
  cached_scales,
  cached_powers,
};

/// A row-major matrix of an operation, without gaps.
struct gpu_operand {
  std::string name;
  gpu_use use;
  format element;
  shape is;
  gpu_fill fill = gpu_fill::normal;
  /// What it holds instead, elements of 4 bytes; empty: what `fill` says.
  std::vector<std::uint32_t> words{};
  /// Columns that are neither read nor written.
  std::ptrdiff_t unused = 0;

  std::ptrdiff_t element_bytes() const { return storage_bytes(element); }
  std::size_t bytes() const { return bytes_of(is.n); }
  std::size_t used_bytes() const { return bytes_of(is.n - unused); }
  bool is_filled() const {
    return use == gpu_use::read || use == gpu_use::update;
  }
  bool is_result() const {
    return use == gpu_use::update || use == gpu_use::write;
  }

 private:
  std::size_t bytes_of(std::ptrdiff_t columns) const {
    return static_cast<std::size_t>(is.m * columns * element_bytes());
  }
};

/// The operands of an operation, in their order, on the device or the host.
using gpu_matrices = std::vector<engine::code_view>;

struct gpu_operation {
  std::vector<gpu_operand> operands;
  std::function<void(const gpu_matrices&, CUstream_st*)> launch;
  /// The same on the host. Views of scratch have no data.
  std::function<void(const gpu_matrices&)> expect;
};

/// A row of the table. Goals are of the ratio to the stream; 0: none.
struct gpu_row {
  std::string name;
  double must;
  double aim;
  std::function<gpu_operation(shape)> make;
  std::vector<shape> sizes{};  ///< empty: the usual ones
};

std::vector<gpu_row> gpu_rows();
/// Those of SwiGLU and RMSNorm.
std::vector<gpu_row> gpu_training_rows();
/// Those of adamw, combine and dispatch.
std::vector<gpu_row> gpu_state_rows();
/// Those of a model's training step, and of these what MLA assembles.
std::vector<gpu_row> gpu_model_rows();
std::vector<gpu_row> gpu_mla_rows(double must, double aim);

struct gpu_effort {
  int rounds;
  int launches;
};

struct gpu_result {
  double read = 0;  ///< bytes of a launch
  double written = 0;
  std::vector<double> seconds;  ///< of a launch, a value a round
  std::vector<double> stream_seconds;
  std::string stream;    ///< the one that was the fastest here
  double clock_mhz = 0;  ///< of the multiprocessors while it ran; 0: not known
  double power_w = 0;
};

/// The GPU that is measured: the current device.
class gpu_bench {
 public:
  /// Throws input_error if there is none of compute capability 9.0.
  /// `overlaps`: the streams begin while those before them end, as kernels do.
  explicit gpu_bench(bool overlaps);
  ~gpu_bench();
  gpu_bench(const gpu_bench&) = delete;
  gpu_bench& operator=(const gpu_bench&) = delete;

  /// Throws bench_mismatch if a bit differs from the engine's.
  gpu_result measure(const gpu_operation& op, const gpu_effort& how);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// The current device, and CUDA's versions.
platform_text gpu_bench_platform();

/// Clock and power of a GPU by the driver's management library, where it is.
class gpu_sensors {
 public:
  explicit gpu_sensors(const std::string& pci_bus_id);
  /// Adds what is known now.
  void sample();
  double clock_mhz() const;  ///< the median of the samples; 0: none
  double power_w() const;
  void clear();

 private:
  using read_clock = int (*)(void*, int, unsigned*);
  using read_power = int (*)(void*, unsigned*);
  void* device_ = nullptr;
  read_clock clock_ = nullptr;
  read_power power_ = nullptr;
  std::vector<double> clocks_, powers_;
};

void add_bench_gpu(cli::app& bench, outcome& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GPU_HPP_
