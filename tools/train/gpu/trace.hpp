// Defines what a GPU ran in some steps, as a table and as a file for a viewer.
// Internal.

#ifndef ZEROULP_TOOLS_TRAIN_GPU_TRACE_HPP_
#define ZEROULP_TOOLS_TRAIN_GPU_TRACE_HPP_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zeroulp::train {

/// A kernel, a copy or a clear; nanoseconds of one clock.
struct gpu_activity {
  std::string name;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Steps lie between two marks that follow each other.
struct gpu_trace {
  std::vector<std::uint64_t> marks;
  std::vector<gpu_activity> activities;  ///< between the marks, by their begin
};

/// Records what the GPU runs while it lives; one at a time.
class trace_recorder {
 public:
  virtual ~trace_recorder() = default;
  /// Waits for the GPU; a step begins or ends here.
  virtual void mark() = 0;
  virtual gpu_trace trace() const = 0;
};

/// By the driver's profiler, CUPTI. Throws input_error where there is none.
std::unique_ptr<trace_recorder> make_trace_recorder();

/// A row for each name: milliseconds and calls a step, its share; then a step's
/// time, and how many times what the GPU ran that is.
std::string trace_table(const gpu_trace& t);

/// In the format that chrome://tracing and Perfetto read.
std::string trace_json(const gpu_trace& t);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_GPU_TRACE_HPP_
