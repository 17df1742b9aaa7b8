// Defines `plugin_map`: the memory shared with zeroulp, as the process of a
// plug-in has it: in the middle of addresses that are nobody's, and during a
// call only as far as the matrices and their guards reach. Who touches the rest
// ends the process, which says so first.

#ifndef ZEROULP_TOOLS_ZEROULP_PLUGIN_MAP_HPP_
#define ZEROULP_TOOLS_ZEROULP_PLUGIN_MAP_HPP_

#include <cstddef>
#include <vector>

namespace zeroulp::program {

/// Bytes of the shared memory: whole pages.
struct page_range {
  std::size_t begin;
  std::size_t end;
  friend bool operator==(const page_range&, const page_range&) = default;
};

/// At most one in a process.
class plugin_map {
 public:
  plugin_map();
  plugin_map(const plugin_map&) = delete;
  plugin_map& operator=(const plugin_map&) = delete;

  /// NULL: there is none, and errno says why.
  unsigned char* data() const { return data_; }
  /// Answers for a fault from now on; asks whoever did so before, if it is none
  /// of ours. To be called after the plug-in is loaded.
  void watch();
  /// Leaves these pages alone, and takes the others away; returns false, and
  /// errno says why, if the system does not. Without pages a call has returned:
  /// who touches them then is a thread that it left.
  bool open_only(const std::vector<page_range>& pages);

 private:
  unsigned char* data_ = nullptr;
  std::vector<page_range> open_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PLUGIN_MAP_HPP_
