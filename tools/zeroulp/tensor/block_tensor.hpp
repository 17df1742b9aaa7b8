// Defines a tensor with block scales on disk: a directory with codes.npy,
// scales.npy (a byte a block), second.npy (FP32 scales of a second level, if
// there is one) and meta.json.

#ifndef ZEROULP_TOOLS_ZEROULP_TENSOR_BLOCK_TENSOR_HPP_
#define ZEROULP_TOOLS_ZEROULP_TENSOR_BLOCK_TENSOR_HPP_

#include <filesystem>
#include <optional>
#include <string>

#include "tools/zeroulp/tensor/tensor_dir.hpp"
#include "zeroulp/block_scaled.hpp"

namespace zeroulp::program {

struct block_tensor {
  format element{};
  block_scale scale = block_scale::power_of_two;
  int block = 32;
  bool interleaved = false;  ///< scales.npy has the layout 128x4
  std::string convention;
  code_matrix codes;
  matrix<std::uint8_t> scales;   ///< one a row and block of K
  matrix<std::uint32_t> second;  ///< FP32 bits: none, 1 x 1 or rows x 1
};

std::string name_of(block_scale s);
const char* name_of(second_level l);
block_scale parse_block_scale(const std::string& text);
second_level parse_second_level(const std::string& text);
/// Returns true iff the layout is 128x4, false for row_major; else throws.
bool parse_block_layout(const std::string& text);

/// Returns true iff `text` names a convention of blocks.
bool is_block_convention(const std::string& text);

/// Returns true iff `dir` has a tensor with block scales.
bool is_block_tensor(const std::filesystem::path& dir);

/// Reads and checks a directory; every inconsistency is an input_error.
block_tensor read_block_tensor(const std::filesystem::path& dir);
/// The bytes of `stored`, of `file`, for the shape of t.codes.
matrix<std::uint8_t> read_block_scales(const array& stored,
                                       const block_tensor& t,
                                       const std::filesystem::path& file);
/// Writes all files of the directory, or none. `extra` joins meta.json.
void write_block_tensor(const std::filesystem::path& dir, const block_tensor& t,
                        const json& extra = json::object());
/// Prints what was written where.
void report(const block_tensor& t, const std::string& out, bool as_json);

/// How a matrix is quantized in blocks, as the options have it; empty: as the
/// convention has it.
struct block_quantize_request {
  std::string convention;
  std::string format;
  std::string second;
  int largest_scale = 448;
  int block_rows = 1;
  /// Stochastic rounding: a file of words, or bits of a source under a seed.
  std::string random{};
  std::optional<std::uint64_t> random_seed{};
  int random_bits = 32;
  std::string random_source{"philox4x32_10"};
};
/// The quantizer of a matrix of `from`. Throws input_error.
block_quantizer block_quantizer_of(const block_quantize_request& q,
                                   format from);
/// The words of stochastic rounding; empty without any. Throws input_error.
matrix<std::uint32_t> random_of(const block_quantize_request& q,
                                std::ptrdiff_t rows, std::ptrdiff_t cols);
block_tensor quantize_in_blocks(const block_quantize_request& q,
                                const input_matrix& x);

/// `dequantize` of such a directory.
code_matrix dequantized(const block_tensor& t, format to);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TENSOR_BLOCK_TENSOR_HPP_
