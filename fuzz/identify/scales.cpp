// The layouts of scales in a file.

#include "fuzz/identify/scales.hpp"

#include <algorithm>

#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

constexpr std::ptrdiff_t four = 4;  // padding rounds up to multiples of this

std::ptrdiff_t padded(std::ptrdiff_t n, bool is) {
  return is ? ceil_div(n, four) * four : n;
}

struct way {
  const char* layout;  ///< as zeroulp::name_of has it, where SPEC Q11 has it
  bool packed;
  bool k_in_rows;
  bool mn_pads;
  bool k_pads;
};

// Where two fit, the first counts.
constexpr way ways[] = {{"row_major", false, false, false, false},
                        {"blk128", false, false, false, true},
                        {"mn_major", false, true, true, false},
                        {"row_major, transposed", false, true, false, false},
                        {"blk128, transposed", false, true, false, true},
                        {"mn_major, transposed", false, false, true, false},
                        {"ue8m0", true, true, true, false},
                        {"ue8m0, cut to size", true, true, false, false},
                        {"ue8m0, transposed", true, false, true, false},
                        {"ue8m0, transposed, cut", true, false, false, false}};

}  // namespace

std::vector<scale_place> places_of(scale_words words, layout_shape file,
                                   scale_shape scales,
                                   std::optional<scale_layout> only) {
  const bool packed = words == scale_words::packed;
  const auto of_k = packed ? ceil_div(scales.k, four) : scales.k;
  std::vector<scale_place> found;
  for (const way& w : ways) {
    if (w.packed != packed || (only && name_of(*only) != w.layout)) continue;
    const auto mn = padded(scales.mn, w.mn_pads);
    const auto k = padded(of_k, w.k_pads);
    const bool fits = file.rows == (w.k_in_rows ? k : mn) &&
                      file.cols == (w.k_in_rows ? mn : k);
    const bool one_word = file.rows == 1 && file.cols == 1;
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const scale_place& p) {
          return p.k_in_rows == w.k_in_rows || one_word;
        });
    if (!fits || known) continue;
    found.push_back(
        {words, w.k_in_rows, mn != scales.mn || k != of_k, w.layout});
  }
  return found;
}

scale_position position_of(const scale_place& place, std::ptrdiff_t i,
                           std::ptrdiff_t k) {
  const bool packed = place.words == scale_words::packed;
  const auto at_k = packed ? k / four : k;
  const int byte = packed ? static_cast<int>(k % four) : 0;
  return place.k_in_rows ? scale_position{at_k, i, byte}
                         : scale_position{i, at_k, byte};
}

}  // namespace zeroulp::fuzz
