// Defines `plugin_memory`: where the matrices of a plug-in's request lie while
// it runs: in the memory shared with zeroulp, or in a copy of it on the device.

#ifndef ZEROULP_TOOLS_ZEROULP_PLUGIN_MEMORY_HPP_
#define ZEROULP_TOOLS_ZEROULP_PLUGIN_MEMORY_HPP_

#include <cstddef>
#include <string>

namespace zeroulp::program {

class plugin_memory {
 public:
  plugin_memory(unsigned char* shared, bool on_device)
      : shared_(shared), on_device_(on_device) {}

  /// Makes the first `bytes` present where the plug-in finds them. Returns what
  /// went wrong, or "".
  std::string enter(std::size_t bytes);
  /// Waits for the device, and brings them back.
  std::string leave();
  /// Of the shared memory, or of its copy.
  unsigned char* data() const { return on_device_ ? copy_ : shared_; }

 private:
  unsigned char* shared_;
  bool on_device_;
  unsigned char* copy_ = nullptr;
  [[maybe_unused]] std::size_t room_ = 0;
  [[maybe_unused]] std::size_t bytes_ = 0;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PLUGIN_MEMORY_HPP_
