// Defines `dump`: the tensors of one side as matrices of codes, and how those
// of two sides compare, whatever their size.

#ifndef ZEROULP_TOOLS_PARITY_DUMP_HPP_
#define ZEROULP_TOOLS_PARITY_DUMP_HPP_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/cases/problem.hpp"
#include "fuzz/explain/window.hpp"
#include "tools/checkpoint/files/checkpoint.hpp"

namespace zeroulp::parity {

/// Rows and columns of a tensor: leading dimensions are rows.
struct extent {
  std::uint64_t rows = 1;
  std::uint64_t cols = 1;
};

class dump {
 public:
  /// `names`: the file's name of a chain's tensor, where it is another. Throws
  /// input_error.
  dump(const std::filesystem::path& path,
       std::map<std::string, std::string> names);

  bool has(const std::string& name) const;
  /// Throws input_error that names the dump, if there is no such tensor.
  const checkpoint::tensor& find(const std::string& name) const;
  /// A column has a row for each element, whatever its shape: [n] is [n, 1].
  extent extent_of(const std::string& name, bool is_column = false) const;
  /// What the tensor's elements are as numbers, if they are some.
  std::optional<format> format_of(const std::string& name) const;

  /// Rows `r` of a tensor as codes of `type`; FP32 from any narrower numbers,
  /// words of rows from integers (-1: none).
  /// Throws input_error if the elements cannot be such codes.
  fuzz::matrix read(const std::string& name, const char* as, format type,
                    fuzz::range r, bool is_column = false) const;

  std::string path() const { return files_.path.string(); }
  const checkpoint::checkpoint& files() const { return files_; }

 private:
  checkpoint::checkpoint files_;
  std::map<std::string, std::string> names_;
};

/// The largest group of rows that windows must not cut.
inline constexpr std::uint64_t whole_groups = 128;

/// How a tensor of B differs from A's.
struct tensor_difference {
  std::uint64_t elements = 0;
  std::uint64_t different = 0;
  std::uint64_t first_row = 0;  ///< of those that differ
  std::uint64_t first_col = 0;
  double relative = 0;  ///< |b - a| / |a|; of numbers alone
  bool other_shape = false;
  std::string digest;  ///< SHA-256 of the bytes, where all are equal
  std::string type_a, type_b;
  std::uint64_t rows = 0;
  /// By groups of 128 rows: whether some element of them differs.
  std::vector<bool> groups;

  /// Whether some of these rows differ.
  bool differs_in(std::uint64_t first, std::uint64_t count) const;
  bool same() const { return !other_shape && different == 0; }
};

/// Of all elements. Equal types are compared by bits, others as numbers.
tensor_difference compare(const dump& a, const dump& b, const std::string& name,
                          bool is_column = false);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_DUMP_HPP_
