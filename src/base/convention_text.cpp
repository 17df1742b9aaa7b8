// Conventions as text: a name, or a name and the fields that differ.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/base/fields.hpp"

namespace zeroulp {
namespace {

using kind = field_kind;

/// A member of a convention, or a member of that member.
template <auto... Member>
auto& at(auto& c) {
  return (c.*....*Member);
}

/// FP32 bits of a number that is finite and not negative.
template <auto... Member>
convention_field number_field(const char* name) {
  return {name, kind::number,
          [](const convention& c) {
            return fmt::format("{}", bit_cast<float>(at<Member...>(c)));
          },
          [](convention& c, std::string_view text) {
            double x = 0;
            const auto end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, x);
            const auto narrow = static_cast<float>(x);
            if (error != std::errc() || stop != end || !std::isfinite(narrow) ||
                std::signbit(narrow)) {
              throw input_error("use a number that is finite and not negative");
            }
            at<Member...>(c) = bit_cast<std::uint32_t>(narrow);
          }};
}

template <auto... Member>
convention_field flag_field(const char* name) {
  return {name, kind::flag,
          [](const convention& c) -> std::string {
            return at<Member...>(c) ? "true" : "false";
          },
          [](convention& c, std::string_view text) {
            if (text != "true" && text != "false") {
              throw input_error("use true or false");
            }
            at<Member...>(c) = text == "true";
          }};
}

/// One of `Words`, in the order of the enum.
template <auto Member, const auto& Words>
convention_field word_field(const char* name) {
  return {name, kind::word,
          [](const convention& c) -> std::string {
            return Words[static_cast<std::size_t>(c.*Member)];
          },
          [](convention& c, std::string_view text) {
            const auto found =
                std::find(std::begin(Words), std::end(Words), text);
            if (found == std::end(Words)) {
              throw input_error(fmt::format("use {}", fmt::join(Words, ", ")));
            }
            using value = std::remove_reference_t<decltype(c.*Member)>;
            c.*Member = static_cast<value>(found - std::begin(Words));
          }};
}

constexpr const char* scale_words[] = {
    "quotient", "times_reciprocal", "reciprocal_inverse", "reciprocal_product"};
constexpr const char* element_words[] = {"exact_quotient", "quotient",
                                         "scale_reciprocal", "inverse",
                                         "approximate_quotient"};
constexpr const char* amax_words[] = {"finite_only", "skip_nan", "keep_nan"};
constexpr const char* exponent_words[] = {"exact", "of_scale", "of_log2"};
constexpr const char* through_words[] = {"none", "bf16", "fp16"};

convention_field conversion_field() {
  return {"conversion", kind::word,
          [](const convention& c) -> std::string {
            for (const auto& p : named_policies) {
              if (p.value == c.conversion) return p.name;
            }
            return "?";
          },
          [](convention& c, std::string_view text) {
            c.conversion = parse_policy(text);
          }};
}

/// The fields of `c` that `base` has otherwise, as +FIELD:VALUE each.
std::vector<std::string> changes(const convention& c, const convention& base) {
  std::vector<std::string> all;
  for (const auto& f : convention_fields()) {
    auto text = f.text(c);
    if (text == f.text(base)) continue;
    // 1e+30 has the sign that begins a field.
    std::erase(text, '+');
    all.push_back(fmt::format("+{}:{}", f.name, text));
  }
  return all;
}

}  // namespace

const std::vector<convention_field>& convention_fields() {
  using c = convention;
  using e = scale_edges;
  static const std::vector<convention_field> all = {
      number_field<&c::amax_floor>("amax_floor"),
      number_field<&c::scale_floor>("scale_floor"),
      word_field<&c::scale, scale_words>("scale"),
      word_field<&c::element, element_words>("element"),
      word_field<&c::amax, amax_words>("amax"),
      word_field<&c::exponent, exponent_words>("exponent"),
      word_field<&c::through, through_words>("pre_rounding"),
      number_field<&c::largest>("largest"),
      flag_field<&c::edges, &e::unit_of_zero>("unit_scale_of_zero"),
      flag_field<&c::edges, &e::unit_of_infinity>("unit_scale_of_infinity"),
      flag_field<&c::edges, &e::unit_of_nan>("unit_scale_of_nan"),
      flag_field<&c::edges, &e::finite_inverse>("finite_inverse"),
      flag_field<&c::edges, &e::positive>("positive_scale"),
      flag_field<&c::bf16_amax>("bf16_amax"),
      flag_field<&c::bf16_scale>("bf16_scale"),
      flag_field<&c::unrounded_inverse>("unrounded_inverse"),
      flag_field<&c::power_of_two>("power_of_two"),
      conversion_field()};
  return all;
}

std::string name_of(const convention& c) {
  const char* base = nullptr;
  std::vector<std::string> fewest;
  for (const auto& row : named_conventions) {
    auto differ = changes(c, row.value);
    if (base != nullptr && differ.size() >= fewest.size()) continue;
    base = row.name;
    fewest = std::move(differ);
  }
  return fmt::format("{}{}", base, fmt::join(fewest, ""));
}

named_convention parse_convention(std::string_view text) {
  const auto plus = std::min(text.find('+'), text.size());
  const auto base = text.substr(0, plus);
  for (const auto& row : named_conventions) {
    if (row.name != base) continue;
    if (plus == text.size()) return row;
    convention c = row.value;
    try {
      set_fields(c, convention_fields(), text.substr(plus));
    } catch (const input_error& e) {
      throw input_error(fmt::format("convention '{}': {}", text, e.what()));
    }
    return {kept_name(name_of(c)), c, "somebody's own"};
  }
  throw input_error(fmt::format(
      "unknown convention '{}': {}, or NAME+FIELD:VALUE for one with another "
      "field",
      base, use_one_of(base, named_conventions)));
}

}  // namespace zeroulp
