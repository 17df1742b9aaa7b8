// Defines the operands of attention in device memory: sets with the same
// contents. Needs CUDA's headers.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_ATTENTION_SETS_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_ATTENTION_SETS_HPP_

#include "tools/zeroulp/bench/gpu/attention/attention.hpp"
#include "tools/zeroulp/bench/gpu/lab.hpp"

namespace zeroulp::program {

class attention_sets {
 public:
  /// The sets together are more than twice the L2. Where the row is of the
  /// backward pass, the forward pass has run on each.
  attention_sets(gpu_lab& lab, const attention_row& row);

  std::size_t count() const { return sets_.size(); }
  /// Enqueues the pass that is timed.
  void launch(std::size_t set) const;
  /// Throws bench_mismatch if a head of a sequence, in set 0, has other bits
  /// than the engine's.
  void hold(std::ptrdiff_t sequence, std::ptrdiff_t head) const;
  /// Throws bench_mismatch if the sets do not have the same results.
  void hold_equal() const;

 private:
  /// Places in `operands_`.
  enum operand : std::size_t {
    q,
    k,
    v,
    d_o,
    o,
    largest,
    inverse,
    kept,  ///< o, FP32
    dq,
    dk,
    dv,
    count_of_operands
  };
  /// Tokens of some sequences in memory, of this device or of the host.
  using matrices = std::vector<engine::code_view>;

  static std::vector<gpu_operand> operands_of(const attention_row& row);
  matrices on_device(std::size_t set) const;
  void forward(std::size_t set) const;
  void backward(std::size_t set) const;

  gpu_lab& lab_;
  attention_row row_;
  std::vector<gpu_operand> operands_;
  set_layout layout_;
  std::vector<device_memory> sets_;
  std::size_t work_bytes_;
  device_memory work_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_ATTENTION_SETS_HPP_
