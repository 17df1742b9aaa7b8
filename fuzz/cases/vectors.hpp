// Defines vector files: recorded steps as lines of text.
//
//   # zeroulp-vectors 1 path=hopper.wgmma.e4m3.e4m3.f32 device=...
//   A B C D
//
// Operands are raw bits in lower-case hexadecimal at full width, k ascending,
// without separators. TF32 operands are FP32 bits, the low 13 of which are 0.
// Other lines with # are comments. A file may hold several such sections. Left
// out: files that others wrote, which `zeroulp vectors check` reads
// (tools/zeroulp/vectors/file.hpp).

#ifndef ZEROULP_FUZZ_CASES_VECTORS_HPP_
#define ZEROULP_FUZZ_CASES_VECTORS_HPP_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/engine/full_step.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {

/// A section of a vector file: D[i] of cases[i].
struct vector_section {
  named_path of;
  /// name=value in the header, after the path. In values spaces become `_`.
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<std::string> comments;
  std::vector<step_case> cases;
  std::vector<std::uint64_t> d;
};

std::string to_text(const vector_section& s);

/// Returns comments that say how wide the fields of a record are, and which
/// bins of the target `step` the cases hit, how often.
std::vector<std::string> comments_on(const path& p,
                                     const std::vector<step_case>& cases);

/// Receives each record; returns false to stop reading.
using use_record =
    std::function<bool(const named_path&, const step_case&, std::uint64_t d)>;

/// Calls `use` with every `stride`-th record of a text by to_text, from the
/// first on. Throws input_error with the line number if the text is not one.
void read_vectors(std::string_view text, int stride, const use_record& use);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CASES_VECTORS_HPP_
