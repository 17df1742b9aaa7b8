// Defines how the numbers of a tensor are read, a tile at a time: scales, codes
// of any packing, dequantized numbers.
//
//   numbers = fl(code * scale)            one rounding to the target format
//   --via fp32: fl(fl32(code * scale))    two
//
// With two scales s and g the order of the products is a choice:
//   scales: code * fl32(s OP g)           codes: (code * s) OP g, one rounding

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_NUMBERS_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_NUMBERS_HPP_

#include <functional>
#include <vector>

#include "tools/checkpoint/weights/pairing.hpp"

namespace zeroulp::checkpoint {

/// m x n numbers from (i, j) of the matrix `outer` of a tensor.
struct tile {
  std::uint64_t outer = 0;
  std::uint64_t i = 0;
  std::uint64_t j = 0;
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t count() const { return m * n; }
};

/// A tensor as matrices, and how finely tiles may cut it.
struct matrices {
  std::uint64_t outer = 1;
  std::uint64_t rows = 1;
  std::uint64_t cols = 1;
  std::uint64_t height = 1;  ///< tiles begin at multiples of it ...
  std::uint64_t width = 1;   ///< ... and of it
};

/// The numbers that a tile has at most, unless one group is larger.
inline constexpr std::uint64_t tile_numbers = std::uint64_t{1} << 20;

/// Calls use(tile) for all of them, in order.
void for_each_tile(const matrices& m,
                   const std::function<void(const tile&)>& use);

/// Calls use(part) for pieces of a tensor's bytes, of 4 MiB and less.
void for_each_piece(
    std::uint64_t bytes,
    const std::function<void(std::uint64_t from, std::uint64_t bytes)>& use);

matrices matrices_of(const quantized& q);
/// Those of a tensor that is not quantized: leading dimensions are rows.
matrices matrices_of(const tensor& t);

enum class product_order : std::uint8_t { scales, codes };

/// How codes become numbers.
struct reading {
  bool via_fp32 = false;
  product_order order = product_order::scales;
};

/// The scales of the groups of a tile as FP32 bits, row-major, and their number
/// in a row.
struct tile_scales {
  std::vector<std::uint32_t> words;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
};

/// The stored scales, whatever their type, as FP32 bits, of groups (gi, gj) to
/// (gi + gm, gj + gn) of the matrix `outer`.
tile_scales read_scales(const checkpoint& c, const quantized& q,
                        std::uint64_t outer, std::uint64_t gi, std::uint64_t gj,
                        std::uint64_t gm, std::uint64_t gn);
/// Those of a tile, with the second scale.
tile_scales scales_of(const checkpoint& c, const quantized& q, const tile& t);

/// The codes of a tile, one a byte, row-major.
void read_codes(const checkpoint& c, const quantized& q, const tile& t,
                std::vector<std::uint8_t>& codes);

/// Dequantizes a tile to `to`, elements of storage_bytes(to), row-major.
void dequantize_tile(const checkpoint& c, const quantized& q, const tile& t,
                     format to, const reading& how, std::byte* out);

/// The elements of a tile of a tensor that is not quantized, row-major.
void read_elements(const checkpoint& c, const tensor& t, const tile& part,
                   std::vector<std::byte>& out);

/// Whether the elements are numbers that FP32 holds.
bool is_numeric(element type);

/// The tensor as FP32 bits: widened, or dequantized (fl32(code * scale)).
void read_fp32(const checkpoint& c, const tensor& t, const quantized* q,
               const tile& part, const reading& how,
               std::vector<std::uint32_t>& out);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_NUMBERS_HPP_
