// Defines `plugin_code`: somebody's plug-in, its claims, and calls of it, on as
// many processes as there are callers at a time (on a device: one).
//
// It becomes an implementation whose calls go to the plug-in where it claims
// them and to the core elsewhere; how many did says what was held.

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

#include "conformance/contract/implementation.hpp"
#include "conformance/plugin/arena.hpp"
#include "conformance/plugin/process/worker.hpp"
#include "fuzz/cases/problem.hpp"
#include "fuzz/engine/answers.hpp"

namespace zeroulp::conformance::plugin {

/// By zeroulp_plugin_operation.
enum class kind : std::uint8_t {
  quantize,
  dequantize,
  retile,
  gemm,
  swiglu,
  adamw,
  combine,
};

/// Settings by the names that the case engine has for them, as text.
using setting_list = std::vector<std::pair<std::string, std::string>>;

/// zeroulp_plugin_claim.
struct claim {
  kind what = kind::quantize;
  std::string as;  ///< empty: nothing is claimed
  setting_list fixed;
  std::optional<placement> place;
  std::array<std::ptrdiff_t, 3> multiple{1, 1, 1};

  std::string text() const;  ///< "quantize as vllm, from=bf16,..."
};

/// The target of the case engine whose cases have this operation.
fuzz::target target_of(kind k);

/// The outputs of its cases that this operation makes, by name.
std::span<const char* const> outputs_of(kind k);

/// Reads a claim. Throws input_error.
claim parse_claim(kind k, const std::string& as, const std::string& settings,
                  const std::array<std::ptrdiff_t, 3>& multiple);

/// Returns true iff it says of no quantizer or GEMM what its bits follow.
bool lacks_name(const claim& c);

/// Returns true iff these are settings that are claimed.
bool holds(const claim& c, const fuzz::settings& s);

/// A request: its fields by operation_spec (empty: NULL), then its matrices.
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

  /// The claim under which a request for so many rows and columns comes, if
  /// there is one. Of several it is a function of these, so that each is asked.
  const claim* claim_of(kind k, const fuzz::settings& s, std::ptrdiff_t rows,
                        std::ptrdiff_t cols) const;

  /// Makes the request of a claim twice; results come back in its matrices.
  /// Returns false if the plug-in refuses it. Tells fuzz::request_log. Throws
  /// call_failure.
  bool call(const claim& c, request& r);

  std::uint64_t calls() const { return calls_; }  ///< but refusals
  std::uint64_t refusals() const { return refusals_; }

  /// A call of it took longer than it may: nobody should wait for the next.
  bool has_hung() const { return has_hung_; }
  /// What its seal lacks here; empty: nothing.
  const std::string& seal_lacks() const { return seal_lacks_; }
  /// Ends its processes; returns how many others they left behind, all in all.
  int finish();

  /// From now on claim number `i` is held to a convention or recipe; what the
  /// plug-in is told stays the same.
  void adopt(std::size_t i, const std::string& as);

  /// What keeps the settings of a target to those that it claims.
  void keep_to_claims(fuzz::target t, fuzz::settings& s) const;

 private:
  /// As `call`, with a worker.
  bool make(worker& w, const claim& c, request& r);
  /// A worker that nobody else uses.
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

/// The plug-in as an implementation, one at a time: this is the one from now
/// on.
implementation implementation_of(std::shared_ptr<plugin_code> code);

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PLUGIN_HPP_
