// Defines `npy_fields`, what the header of a .npy file says, and the parser of
// that header: a Python dict literal with the keys 'descr', 'fortran_order' and
// 'shape', each once, in any order. Internal.

#ifndef ZEROULP_SRC_IO_NPY_FIELDS_HPP_
#define ZEROULP_SRC_IO_NPY_FIELDS_HPP_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zeroulp {

inline constexpr std::size_t npy_max_rank = 32;  // NumPy's own limit
inline constexpr std::string_view npy_advice =
    "save it again with numpy.save, or check that it was copied whole";
inline constexpr std::string_view npy_types =
    "float16, float32, float64, uint8, uint16 or uint32";

struct npy_fields {
  std::string descr;
  std::size_t descr_at = 0, shape_at = 0;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
};

/// Throws input_error: `what` is at byte `offset` of the file `name`.
[[noreturn]] void refuse_npy(std::string_view name, std::size_t offset,
                             std::string_view what,
                             std::string_view remedy = npy_advice);

/// Returns the fields of `text`, which starts at byte `base` of the file
/// `name`.
npy_fields parse_npy_fields(std::string_view text, std::size_t base,
                            std::string_view name);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_IO_NPY_FIELDS_HPP_
