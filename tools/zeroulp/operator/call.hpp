// Defines `operator_row`, an operator of a model as a row of a table, and
// `operator_call`: its arguments by name, from .npy files and words.
//
// A signature is a text, such as
//
//   q:bf16 heads:count scale:number? pairs:adjacent|halves > y:bf16 r:fp32?
//
//   bf16 fp32 e4m3 index   a matrix: uint16, float32, uint8 or uint32 (-1 is
//                          4294967295); one dimension is a row
//   fp32.column            one dimension is a column
//   fp32.list              files with a comma between them
//   count number           a whole number from 1, a number of FP32
//   a|b                    one of these words; the first is usual
//   ?                      may be left out; outputs always may

#ifndef ZEROULP_TOOLS_ZEROULP_OPERATOR_CALL_HPP_
#define ZEROULP_TOOLS_ZEROULP_OPERATOR_CALL_HPP_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "zeroulp/core/view.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {

struct operator_argument {
  std::string name;
  std::string type;
  bool optional = false;
  bool output = false;
};
std::vector<operator_argument> arguments_of(const std::string& signature);

class operator_call;

struct operator_row {
  std::string name;
  std::string what;
  std::string clauses;
  std::string signature;
  void (*run)(operator_call&);
};

/// The arguments of one call. Each member throws input_error that names what is
/// wrong.
class operator_call {
 public:
  operator_call(const operator_row& row, const std::vector<std::string>& words);

  bool has(const std::string& name) const;

  /// A matrix that was given; of no rows where an optional one was not.
  matrix_view<const std::uint16_t> bf16(const std::string& name);
  matrix_view<const std::uint32_t> fp32(const std::string& name);
  matrix_view<const std::uint8_t> e4m3(const std::string& name);
  matrix_view<const std::int32_t> index(const std::string& name);
  std::vector<matrix_view<const std::uint32_t>> fp32_list(
      const std::string& name);
  /// `usual` where it was not given.
  std::ptrdiff_t count(const std::string& name, std::ptrdiff_t usual = 1);
  /// FP32 bits.
  std::uint32_t number(const std::string& name, std::uint32_t usual);
  /// The place among the words of its type.
  int choice(const std::string& name);

  /// Room for an output, zeros; it is written where a file was named.
  matrix_view<std::uint16_t> to_bf16(const std::string& name, std::ptrdiff_t m,
                                     std::ptrdiff_t n);
  matrix_view<std::uint32_t> to_fp32(const std::string& name, std::ptrdiff_t m,
                                     std::ptrdiff_t n);
  matrix_view<std::int32_t> to_index(const std::string& name, std::ptrdiff_t m,
                                     std::ptrdiff_t n);
  /// An input of the same name and shape is what stands there at first.
  matrix_view<std::uint32_t> to_fp32_from(const std::string& name,
                                          matrix_view<const std::uint32_t> x);

  /// Writes the outputs that were asked for, or none; says which.
  void write();

 private:
  struct matrix {
    std::vector<std::byte> data;
    dtype type;
    std::ptrdiff_t rows, cols;
  };
  const operator_argument& argument(const std::string& name) const;
  const std::string& text_of(const std::string& name) const;
  matrix read(const operator_argument& a, const std::string& path) const;
  template <class T>
  matrix_view<const T> given(const std::string& name);
  template <class T>
  matrix_view<T> made(const std::string& name, dtype type, std::ptrdiff_t m,
                      std::ptrdiff_t n);

  std::vector<operator_argument> arguments_;
  std::map<std::string, std::string> texts_;
  // Where they are stays when others are added.
  std::map<std::string, matrix> inputs_, outputs_;
};

/// Every operator.
const std::vector<operator_row>& operator_rows();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_OPERATOR_CALL_HPP_
