// Defines `call_failure`: how a call of somebody else's code goes wrong other
// than in its bits.

#ifndef ZEROULP_CONFORMANCE_CONTRACT_CALL_FAILURE_HPP_
#define ZEROULP_CONFORMANCE_CONTRACT_CALL_FAILURE_HPP_

#include <cstdint>
#include <stdexcept>
#include <string>

#include "zeroulp/io.hpp"

namespace zeroulp::conformance {

enum class fault : std::uint8_t {
  signal,   ///< its process died of one
  ended,    ///< its process ended
  hung,     ///< no answer in time
  outside,  ///< wrote or read elsewhere than it may
  wrote_input,
  unwritten,  ///< a part of an output
  unsteady,   ///< other results from the same inputs
  failed,     ///< said so itself
  altered,    ///< left its process otherwise than it found it
};

/// Thrown by an implementation that runs such code.
class call_failure : public std::runtime_error {
 public:
  call_failure(fault f, const std::string& text)
      : std::runtime_error(text), kind(f) {}
  fault kind;
};

/// Thrown where such code gets no process to run in: that says nothing of it.
class no_process : public input_error {
 public:
  using input_error::input_error;
};

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CONTRACT_CALL_FAILURE_HPP_
