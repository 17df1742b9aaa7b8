// Defines a quantized tensor on disk: a directory with codes.npy, scales.npy
// (absent for a whole-tensor scale, which meta.json holds) and meta.json.

#ifndef ZEROULP_TOOLS_ZEROULP_TENSOR_TENSOR_DIR_HPP_
#define ZEROULP_TOOLS_ZEROULP_TENSOR_TENSOR_DIR_HPP_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/zeroulp/program.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::program {

/// A dense row-major matrix.
template <class T>
struct matrix {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::vector<T> data;

  matrix() = default;
  matrix(std::ptrdiff_t m, std::ptrdiff_t n) : rows(m), cols(n) {
    require_memory(static_cast<double>(m) * static_cast<double>(n) * sizeof(T));
    data.resize(static_cast<std::size_t>(m * n));
  }
  matrix_view<T> view() { return {data.data(), rows, cols}; }
  matrix_view<const T> view() const { return {data.data(), rows, cols}; }
};

/// Codes as a .npy file has them: dense, row-major, unsigned integers of 1, 2
/// or 4 bytes, or floats of that size as bits. They are never widened as a
/// whole.
struct code_matrix {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  array stored;

  code_matrix() = default;
  /// Zeros, in the smallest type that holds codes of `bits` bits.
  code_matrix(std::ptrdiff_t m, std::ptrdiff_t n, int bits);
  /// Throws unless `read`, of `file`, is a matrix of elements of that size.
  code_matrix(array read, const std::filesystem::path& file);

  engine::code_view view();
  engine::const_code_view view() const;
  std::uint32_t operator()(std::ptrdiff_t i, std::ptrdiff_t j) const;
};

/// The same in 32-bit words.
matrix<std::uint32_t> widen(const code_matrix& codes);

/// A quantized tensor. `scales` has one FP32 number (bits) a group, row-major.
struct tensor {
  format element{};
  group_shape group{};
  scale_kind scale = scale_kind::float32;
  scale_layout layout = scale_layout::row_major;
  std::string convention;
  json convention_fields;  ///< null: those of the named one
  code_matrix codes;
  matrix<std::uint32_t> scales;
};

/// The convention of codes that came from elsewhere.
inline constexpr const char* unknown_convention = "unknown";

/// Throws an input_error that names `file` unless each code has no more bits
/// than the format.
void check_codes(const tensor& t, const std::filesystem::path& file);

/// Throws an input_error that names `file` if scale (i, j), FP32 bits, is none
/// that a quantizer gives.
void check_scale(std::uint32_t bits, const tensor& t,
                 const std::filesystem::path& file, std::ptrdiff_t i,
                 std::ptrdiff_t j);

/// Reads and checks a directory; every inconsistency is an input_error.
tensor read_tensor(const std::filesystem::path& dir);

/// Throws unless `out`, of --out, can be written: in a directory that is there,
/// and no part of a tensor. Before the work, which may take minutes.
void check_result(const std::filesystem::path& out);

/// Throws if write_tensor(dir), of --out, would replace `in`.
void check_kept(const std::filesystem::path& in,
                const std::filesystem::path& dir);

/// How many scales its layout has no place for, so that they are stored as NaN:
/// those that are no power of two, in ue8m0.
std::ptrdiff_t count_without_exponent(const tensor& t);

/// Writes all files of the directory, or none. `extra` joins meta.json.
void write_tensor(const std::filesystem::path& dir, const tensor& t,
                  const json& extra = json::object());

/// The bits of an m x n .npy of FP32.
matrix<std::uint32_t> read_fp32(const std::filesystem::path& file);

/// Returns true iff --dtype says that the array is one of BF16. Throws if it
/// says what is not so.
bool holds_bf16(const array& a, const std::string& dtype,
                const std::filesystem::path& file);

/// Reads an m x n .npy of FP32, FP16, or (uint16 with `dtype` bf16) BF16; FP64
/// is refused, since it would round. Returns the bits and their format.
struct input_matrix {
  format element{};
  code_matrix bits;
};
input_matrix read_input(const std::filesystem::path& file,
                        const std::string& dtype);

/// Throws unless quantizing and re-tiling can give codes of `f`.
void check_target(format f, const std::string& option);

/// Returns the dimensions of a rank 2 array, or throws naming `file`.
std::pair<std::ptrdiff_t, std::ptrdiff_t> matrix_shape(
    const array& a, const std::filesystem::path& file);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TENSOR_TENSOR_DIR_HPP_
