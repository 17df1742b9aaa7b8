// Defines a batch of matrix products on the device: tiles of 64 x 128 outputs,
// one step each. The tiles lie in global memory, so that separate kernels make
// the operands, multiply and compare:
//
//   fill(batch) -> multiply(batch): the instruction -> compare(batch): the
//   emulator
//
// An operand row is 32 bytes of K as the instruction reads them. TF32 operands
// have random low bits, which the instruction ignores.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_BATCH_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_BATCH_HPP_

#include <cstdint>

#include "conformance/device/support/operands.hpp"
#include "conformance/device/support/test.hpp"
#include "zeroulp/core/path.hpp"

namespace zeroulp::conformance::device {

inline constexpr int batch_rows = 64;
inline constexpr int batch_cols = 128;
inline constexpr int row_bytes = 32;
inline constexpr int batch_outputs = batch_rows * batch_cols;

/// How the operands of a path are stored in a row.
struct element_layout {
  int bytes;        ///< of an element
  int unused_bits;  ///< below the code

  ZEROULP_HD constexpr int length() const { return row_bytes / bytes; }
  __device__ std::uint32_t code(const unsigned char* row, int k) const {
    const std::uint32_t word =
        bytes == 1   ? row[k]
        : bytes == 2 ? reinterpret_cast<const std::uint16_t*>(row)[k]
                     : reinterpret_cast<const std::uint32_t*>(row)[k];
    return word >> unused_bits;
  }
  __device__ void put(unsigned char* row, int k, std::uint32_t code,
                      std::uint32_t noise = 0) const {
    const std::uint32_t low = (std::uint32_t{1} << unused_bits) - 1;
    const std::uint32_t word = code << unused_bits | (noise & low);
    if (bytes == 1) row[k] = static_cast<unsigned char>(word);
    if (bytes == 2) {
      reinterpret_cast<std::uint16_t*>(row)[k] =
          static_cast<std::uint16_t>(word);
    }
    if (bytes == 4) reinterpret_cast<std::uint32_t*>(row)[k] = word;
  }
};

ZEROULP_HD constexpr element_layout layout_of(format f) {
  return f.bits() <= 8 ? element_layout{1, 0}
         : f == tf32   ? element_layout{4, 13}
                       : element_layout{2, 0};
}

/// Tiles in global memory. c and d are codes of the path's result format, one
/// per word.
struct batch {
  path p;
  int tiles;
  unsigned char* a;  // [tile][row][byte]
  unsigned char* b;  // [tile][col][byte]
  std::uint32_t* c;  // [tile][row][col]
  std::uint32_t* d;
};

/// Owns the memory of a batch.
class batch_memory {
 public:
  batch_memory(const path& p, int tiles)
      : a_(static_cast<std::size_t>(tiles) * batch_rows * row_bytes),
        b_(static_cast<std::size_t>(tiles) * batch_cols * row_bytes),
        c_(static_cast<std::size_t>(tiles) * batch_outputs),
        d_(static_cast<std::size_t>(tiles) * batch_outputs),
        value_{p, tiles, a_.data(), b_.data(), c_.data(), d_.data()} {}
  const batch& value() const { return value_; }

 private:
  device_buffer<unsigned char> a_, b_;
  device_buffer<std::uint32_t> c_, d_;
  batch value_;
};

/// The result of a comparison: the count, and one mismatch. Operands are codes.
struct mismatch_record {
  unsigned long long count;
  std::uint32_t a[32];
  std::uint32_t b[32];
  std::uint32_t c;
  std::uint32_t silicon;
  std::uint32_t emulated;
  output_sums sums;
};

/// How the numbers of a batch are made.
enum class filling : std::uint8_t {
  random,      ///< a family; c above, near and below the products
  every_c,     ///< zero products; c is the index of the output
  every_pair,  ///< two products, the codes are bits of the index; c = +0
};

/// Fills tiles; their first output is number `first` of the whole sequence.
void fill(const batch& x, filling how, family of, std::uint64_t seed,
          std::uint64_t first);

enum class unit : std::uint8_t { wgmma, mma };

/// The paths that Hopper's instructions are claimed to follow.
const std::vector<path>& wgmma_paths();
const std::vector<path>& mma_paths();

/// d = the instruction's result for a, b, c.
void multiply(const batch& x, unit by);

/// Counts the outputs of d that differ from the emulator's result for a, b, c.
void compare(const batch& x, mismatch_record* found);

/// Replaces d by the emulator's result for a, b, c.
void emulate(const batch& x);

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_BATCH_HPP_
