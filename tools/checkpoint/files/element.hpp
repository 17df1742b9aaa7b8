// Defines `element`: the element types of safetensors files as a table, and
// what each holds as numbers.
//
// Source: the safetensors format's `dtype` names. Left out: what a container
// of bytes (U8, I8) holds, which a family says (families.hpp).

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_ELEMENT_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_ELEMENT_HPP_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "zeroulp/core/format.hpp"

namespace zeroulp::checkpoint {

/// The element types, in the order of the table.
enum class element : std::uint8_t {
  boolean,
  u8,
  i8,
  f4,
  f6_e2m3,
  f6_e3m2,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  u16,
  i16,
  f16,
  bf16,
  u32,
  i32,
  f32,
  u64,
  i64,
  f64,
  c64,
};

struct element_row {
  element type;
  const char* name;             ///< in a header
  int bits;                     ///< of an element
  std::optional<format> holds;  ///< the numbers; none: integers, or bytes
};

/// The row of a type.
const element_row& row_of(element type);
inline std::string name_of(element type) { return row_of(type).name; }
inline int bits_of(element type) { return row_of(type).bits; }

/// The type of this name, if there is one.
std::optional<element> find_element(std::string_view name);
/// All names, for an error.
std::string element_names();
/// The type that stores codes of `f`, if there is one.
std::optional<element> element_of(format f);

/// A set of element types.
class element_set {
 public:
  constexpr element_set() = default;
  constexpr element_set(std::initializer_list<element> types) {
    for (const element t : types) bits_ |= bit(t);
  }
  constexpr bool has(element t) const { return (bits_ & bit(t)) != 0; }
  constexpr element_set operator|(element_set other) const {
    other.bits_ |= bits_;
    return other;
  }
  /// "F32, BF16".
  std::string text() const;

 private:
  static constexpr std::uint32_t bit(element t) {
    return std::uint32_t{1} << static_cast<int>(t);
  }
  std::uint32_t bits_ = 0;
};

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_ELEMENT_HPP_
