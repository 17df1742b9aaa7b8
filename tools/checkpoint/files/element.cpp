#include "tools/checkpoint/files/element.hpp"

namespace zeroulp::checkpoint {
namespace {

constexpr element_row element_rows[] = {
    {element::boolean, "BOOL", 8, {}},
    {element::u8, "U8", 8, {}},
    {element::i8, "I8", 8, {}},
    {element::f4, "F4", 4, e2m1},
    {element::f6_e2m3, "F6_E2M3", 6, e2m3},
    {element::f6_e3m2, "F6_E3M2", 6, e3m2},
    {element::f8_e4m3, "F8_E4M3", 8, e4m3},
    {element::f8_e5m2, "F8_E5M2", 8, e5m2},
    {element::f8_e8m0, "F8_E8M0", 8, ue8m0},
    {element::f8_e4m3fnuz, "F8_E4M3FNUZ", 8, e4m3fnuz},
    {element::f8_e5m2fnuz, "F8_E5M2FNUZ", 8, e5m2fnuz},
    {element::u16, "U16", 16, {}},
    {element::i16, "I16", 16, {}},
    {element::f16, "F16", 16, fp16},
    {element::bf16, "BF16", 16, bf16},
    {element::u32, "U32", 32, {}},
    {element::i32, "I32", 32, {}},
    {element::f32, "F32", 32, fp32},
    {element::u64, "U64", 64, {}},
    {element::i64, "I64", 64, {}},
    {element::f64, "F64", 64, fp64},
    {element::c64, "C64", 64, {}},
};

constexpr bool is_in_order() {
  std::size_t at = 0;
  for (const auto& row : element_rows) {
    if (static_cast<std::size_t>(row.type) != at++) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

const element_row& row_of(element type) {
  return element_rows[static_cast<std::size_t>(type)];
}

std::optional<element> find_element(std::string_view name) {
  for (const auto& row : element_rows) {
    if (row.name == name) return row.type;
  }
  return {};
}

std::string element_names() {
  std::string text;
  for (const auto& row : element_rows) {
    text += text.empty() ? "" : ", ";
    text += row.name;
  }
  return text;
}

std::optional<element> element_of(format f) {
  for (const auto& row : element_rows) {
    if (row.holds == f) return row.type;
  }
  return {};
}

std::string element_set::text() const {
  std::string text;
  for (const auto& row : element_rows) {
    if (!has(row.type)) continue;
    text += text.empty() ? "" : ", ";
    text += row.name;
  }
  return text;
}

}  // namespace zeroulp::checkpoint
