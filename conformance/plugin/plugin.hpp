// Defines `plugin_code`: a plug-in under test, its claims, and calls of it.
// Each concurrent caller gets a process of its own; on a device there is only
// one.
//
// As an implementation, it sends the calls that the plug-in claims to the
// plug-in and all others to the core. `calls()` says how many were tested.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PLUGIN_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PLUGIN_HPP_

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/contract/model_operators.hpp"
#include "conformance/plugin/arena.hpp"
#include "conformance/plugin/process/worker.hpp"
#include "fuzz/cases/problem.hpp"
#include "fuzz/engine/answers.hpp"

namespace zeroulp::conformance::plugin {

/// In the order of zeroulp_plugin_operation.
enum class kind : std::uint8_t {
  quantize,
  dequantize,
  retile,
  gemm,
  swiglu,
  adamw,
  combine,
  rms_norm_backward,
  route,
  route_backward,
  attention_forward,
  attention_backward,
};

/// Settings as text, by the case engine's names for them.
using setting_list = std::vector<std::pair<std::string, std::string>>;

/// A zeroulp_plugin_claim as the suite reads it.
struct claim {
  kind what = kind::quantize;
  std::string as;  ///< convention, recipe or rule; empty: none is claimed
  setting_list fixed;
  std::optional<placement> place;
  std::array<std::ptrdiff_t, 3> multiple{1, 1, 1};

  std::string text() const;  ///< "quantize as vllm, from=bf16,..."
};

/// The settings that a claim fixes; of a GEMM unpromoted where it fixes no
/// recipe.
fuzz::settings settings_of(const claim& c);

/// The target of the case engine whose cases have this operation.
fuzz::target target_of(kind k);

/// The outputs of its cases that this operation makes, by name.
std::span<const char* const> outputs_of(kind k);

/// Reads a claim. Throws input_error.
claim parse_claim(kind k, const std::string& as, const std::string& settings,
                  const std::array<std::ptrdiff_t, 3>& multiple);

/// Returns true iff a claim for a quantizer or GEMM fixes no convention or
/// recipe.
bool lacks_name(const claim& c);

/// Returns true iff the claim covers these settings.
bool holds(const claim& c, const fuzz::settings& s);

/// A request: fields by operation_spec (empty: NULL), then the matrices.
struct request {
  std::vector<std::string> fields;
  std::vector<argument> matrices;
};

class plugin_code {
 public:
  /// Starts it and reads its claims. Throws input_error.
  plugin_code(command_line command, const worker_options& options);

  const std::string& name() const { return name_; }
  const std::string& file() const { return command_.file(); }
  bool is_trusted() const { return options_.trusted; }
  bool on_device() const { return on_device_; }
  const std::vector<claim>& claims() const { return claims_; }
  bool claims_any(fuzz::target t) const;

  /// The claim that covers a request of this size, or null. If several do, the
  /// size selects one, so that each of them is tested.
  const claim* claim_of(kind k, const fuzz::settings& s, std::ptrdiff_t rows,
                        std::ptrdiff_t cols) const;

  /// Makes the request of a claim twice; results come back in its matrices.
  /// Returns false if the plug-in refuses it. Tells fuzz::request_log. Throws
  /// call_failure.
  bool call(const claim& c, request& r);

  std::uint64_t calls() const { return calls_; }  ///< without refusals
  std::uint64_t refusals() const { return refusals_; }

  /// A call exceeded its time limit: do not wait for another.
  bool has_hung() const { return has_hung_; }
  /// The parts of the seal that this machine lacks; empty: none.
  const std::string& seal_lacks() const { return seal_lacks_; }
  /// Ends its processes. Returns how many others they left behind, in total.
  int finish();

  /// Holds claim number `i` to a convention or recipe from now on. The plug-in
  /// is still told what it claimed itself.
  void adopt(std::size_t i, const std::string& as);

  /// Replaces settings that no claim covers by those of a claim for the target.
  void keep_to_claims(fuzz::target t, fuzz::settings& s) const;

 private:
  /// Makes both calls of `call` on a worker.
  bool make(worker& w, const claim& c, request& r);
  /// Waits for a worker that nobody else uses.
  std::unique_ptr<worker> acquire();
  void release(std::unique_ptr<worker> w);
  void read_claims(const std::vector<std::string>& lines);

  command_line command_;
  worker_options options_;
  std::string name_;
  bool on_device_ = false;
  std::vector<claim> claims_;
  std::mutex lock_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<worker>> idle_;
  int busy_ = 0;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> refusals_ = 0;
  std::atomic<bool> has_hung_ = false;
  std::string seal_lacks_;
  int left_ = 0;
};

/// The plug-in as an implementation. There is one at a time: this plug-in
/// replaces the one before.
model_implementation implementation_of(std::shared_ptr<plugin_code> code);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PLUGIN_HPP_
