// Defines `arena`: the matrices of a request in shared memory, each between
// guards, and the checks of what a call did to them.
//
// A request is made twice, with different bytes in the guards, the gaps and the
// outputs. A byte that is the same after both calls was written; a byte that
// keeps both fillings was not. The arena checks nothing beyond the guards of a
// matrix: on the host the worker takes those pages away (protocol.hpp).

#ifndef ZEROULP_CONFORMANCE_PLUGIN_ARENA_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_ARENA_HPP_

#include <array>
#include <string>
#include <vector>

#include "conformance/cases/placement.hpp"
#include "conformance/contract/call_failure.hpp"
#include "conformance/plugin/process/protocol.hpp"

namespace zeroulp::conformance::plugin {

/// A matrix of a request: one word an element, of which the low `bytes` are
/// sent. No rows: the request has no such matrix. Results return in `words`.
struct argument {
  oracle::grid words;
  int bytes = 4;
  placement how = placement::dense;
};

class arena {
 public:
  /// Lays out the arguments of an operation. `apart` gives each its own pages,
  /// far from the next. Throws input_error if there is no room for them.
  arena(unsigned char* memory, std::size_t room, const operation_spec& of,
        std::vector<argument>& arguments, bool apart);

  /// "bytes=N x=... codes=...".
  std::string words() const;
  /// Writes the fillings of pass 0 or 1, and the inputs.
  void fill(int pass);
  /// Keeps the results of a pass. Throws call_failure if anything but outputs
  /// has changed.
  void take(int pass);
  /// Throws the call_failure of a plug-in that `did` (wrote, read) byte `at` of
  /// the memory, which it may not; the text says which matrix is nearest.
  [[noreturn]] void accuse(std::ptrdiff_t at,
                           const std::string& did = "wrote") const;
  /// After both passes: moves the results to the arguments. Throws call_failure
  /// if the passes differ; the arguments are then unchanged.
  void finish();
  /// The words that a pass left in each output and update.
  std::vector<std::vector<std::uint32_t>> results(int pass) const;

 private:
  struct place {
    std::size_t spec;    ///< index in the operation's matrices
    std::size_t begin;   ///< first byte of the guards before it
    std::size_t first;   ///< byte of element (0, 0)
    std::size_t end;     ///< behind the last element
    std::size_t behind;  ///< the end of the guards behind it
    std::ptrdiff_t row_stride, col_stride;
    std::vector<unsigned char> image;  ///< bytes begin to behind, as filled
  };

  template <class Use>
  void for_each(const place& p, Use use) const;
  /// Throws unless the n-th matrix is the same after both passes.
  void check_results(std::size_t n) const;
  const argument& argument_of(const place& p) const {
    return arguments_[p.spec];
  }
  role role_of(const place& p) const { return of_.matrices[p.spec].as; }

  unsigned char* memory_;
  const operation_spec& of_;
  std::vector<argument>& arguments_;
  std::vector<place> places_;
  std::size_t used_ = 0;
  std::array<std::vector<oracle::grid>, 2> results_;  ///< by pass, by place
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_ARENA_HPP_
