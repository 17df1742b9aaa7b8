// Defines what the functions of zeroulp.h share: how what they throw becomes a
// status, how arguments are checked, and how values and matrices of C become
// those of C++. Internal.
//
//   status.cpp  errors        names.cpp     names      scales.cpp
//   values.cpp  structs       convert.cpp   recode, arithmetic
//   enums.cpp   enums         quantize.cpp  gemm.cpp
//   matrix.cpp  matrices      compare.cpp   training.cpp
//   model.cpp, experts.cpp    operators of a training step
//   model_requests.hpp        what these are asked, checked; also on a GPU
//   tensors.cpp               its tensors
//   block_scaled.cpp          quantizers and GEMMs with block scales
//
// So do those of zeroulp_cuda.h: cuda/c_abi/c_abi.hpp.
//
// Every check comes before the first write to an output.

#ifndef ZEROULP_SRC_C_ABI_C_ABI_HPP_
#define ZEROULP_SRC_C_ABI_C_ABI_HPP_

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "src/base/threads.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/core/block_scaled.hpp"
#include "zeroulp/core/convention.hpp"
#include "zeroulp/core/training_matrices.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/zeroulp.h"

// The C ABI of the kernels, in a library of its own, has them from a shared
// zeroulp.
#pragma GCC visibility push(default)
namespace zeroulp::c_abi {

/// Keeps the text of the exception that is being handled and returns its
/// status. To be called in a handler.
zeroulp_status keep_error(const char* function) noexcept;

/// Runs the body of the function of this name.
template <class Body>
zeroulp_status guarded(const char* function, Body body) noexcept {
  try {
    body();
    return ZEROULP_OK;
  } catch (...) {
    return keep_error(function);
  }
}

/// An argument is not valid.
template <class... Args>
[[noreturn, gnu::visibility("hidden")]] void refuse(
    fmt::format_string<Args...> text, Args&&... args) {
  throw input_error(fmt::format(text, std::forward<Args>(args)...));
}

/// In what follows `what` is the name of the argument, for the message.

template <class T>
T& needed(T* pointer, const char* what) {
  if (pointer == nullptr) refuse("{} is NULL", what);
  return *pointer;
}

std::int32_t checked(std::int32_t value, std::int32_t low, std::int32_t high,
                     const char* what);

/// Throws unless the members that a later version may name are 0.
template <std::size_t Size>
void check_reserved(const std::int32_t (&values)[Size], const char* what) {
  for (std::size_t i = 0; i < Size; ++i) {
    if (values[i] != 0) {
      refuse("{}.reserved[{}] is {}: use 0", what, i, values[i]);
    }
  }
}

/// An enum whose values count from 0.
template <class Enum>
Enum enum_of(std::int32_t value, Enum last, const char* what) {
  return static_cast<Enum>(
      checked(value, 0, static_cast<std::int32_t>(last), what));
}

format format_of(const zeroulp_format* f, const char* what);
/// A format of at most 32 bits whose numbers are FP32's: an operand's.
format operand_of(const zeroulp_format* f, const char* what);
rounding rounding_of(std::int32_t mode);
policy policy_of(const zeroulp_policy* p, const policy& otherwise);
group_shape group_of(const zeroulp_group& g, const char* what);
scale_kind scale_kind_of(std::int32_t kind);
quantizer quantizer_of(const zeroulp_quantizer* q);
retiling retiling_of(const zeroulp_retiling* r);
path path_of(const zeroulp_path* p);
block_scaled_path path_of(const zeroulp_block_scaled_path* p);
recipe recipe_of(const zeroulp_recipe* r);
swiglu_layer layer_of(const zeroulp_swiglu* layer);
adamw_factors factors_of(const zeroulp_adamw_factors& f);

zeroulp_format to_c(format f);
zeroulp_policy to_c(const policy& p);
zeroulp_group to_c(group_shape g);
::zeroulp_convention to_c(const convention& c);
zeroulp_path to_c(const path& p);
zeroulp_block_scaled_path to_c(const block_scaled_path& p);
zeroulp_recipe to_c(const recipe& r);

/// A matrix of elements of 1, 2, 4 or 8 bytes. The engine takes no 8.
using engine::code_view;
using engine::const_code_view;

const_code_view view_of(const zeroulp_const_matrix* m, const char* what);
/// An output: elements must not overlap.
code_view view_of(const zeroulp_matrix* m, const char* what);

void need_bytes(const const_code_view& v, int least, int most,
                const char* what);
void need_room(format f, const const_code_view& v, const char* what);
void need_shape(const const_code_view& v, const char* what, std::ptrdiff_t rows,
                std::ptrdiff_t cols, const char* why);

/// Elements of 4 bytes.
matrix_view<const std::uint32_t> words_of(const const_code_view& v,
                                          const char* what);
matrix_view<std::uint32_t> words_of(const code_view& v, const char* what);
/// As view_of and words_of; without a matrix, a view with null data.
matrix_view<const std::uint32_t> optional_words_of(
    const zeroulp_const_matrix* m, const char* what);

template <class T>
auto* element_at(const engine::basic_code_view<T>& v, std::ptrdiff_t i,
                 std::ptrdiff_t j) {
  using byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return static_cast<byte*>(v.data) +
         (i * v.row_stride + j * v.col_stride) * v.bytes;
}

/// Elements may be floats or integers to whoever owns them: hence the copies.
inline std::uint64_t read(const const_code_view& v, std::ptrdiff_t i,
                          std::ptrdiff_t j) {
  const auto load = [from = element_at(v, i, j)](auto bits) {
    std::memcpy(&bits, from, sizeof bits);
    return static_cast<std::uint64_t>(bits);
  };
  return v.bytes == 1   ? load(std::uint8_t{})
         : v.bytes == 2 ? load(std::uint16_t{})
         : v.bytes == 4 ? load(std::uint32_t{})
                        : load(std::uint64_t{});
}

inline void write(const code_view& v, std::ptrdiff_t i, std::ptrdiff_t j,
                  std::uint64_t code) {
  const auto store = [to = element_at(v, i, j)](auto bits) {
    std::memcpy(to, &bits, sizeof bits);
  };
  v.bytes == 1   ? store(static_cast<std::uint8_t>(code))
  : v.bytes == 2 ? store(static_cast<std::uint16_t>(code))
  : v.bytes == 4 ? store(static_cast<std::uint32_t>(code))
                 : store(code);
}

/// Calls use(i, j) for each element, row by row.
template <class View, class Use>
void in_order(const View& v, Use use) {
  if (v.cols == 0) return;
  for (std::ptrdiff_t i = 0; i < v.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < v.cols; ++j) use(i, j);
  }
}

/// Writes `compute(i, j)` to each element, on all threads if there are many; an
/// element takes it `each` nanoseconds.
template <class Compute>
void for_each_element(const code_view& out, Compute compute,
                      double each = core_work) {
  if (out.cols == 0) return;
  [[maybe_unused]] const double work =
      each * static_cast<double>(out.rows) * static_cast<double>(out.cols);
#pragma omp parallel for schedule(static) num_threads(threads_for(work))
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      write(out, i, j, compute(i, j));
    }
  }
}

}  // namespace zeroulp::c_abi
#pragma GCC visibility pop

#endif  // ZEROULP_SRC_C_ABI_C_ABI_HPP_
