#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/conform/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <regex>

#include "fuzz/engine/difference.hpp"
#include "fuzz/engine/opponent.hpp"
#include "tools/zeroulp/compare/where.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

using fuzz::matrix;
using fuzz::outputs;

/// Bits of an integer: as many bytes as the words need.
int width_of(std::uint64_t a, std::uint64_t b) {
  return (std::max(8, static_cast<int>(std::bit_width(a | b))) + 7) / 8 * 8;
}

std::vector<shown_bits::field> fields_of(const matrix& x, std::uint64_t a,
                                         std::uint64_t b) {
  if (x.type == fuzz::integer) return {{"bits", width_of(a, b)}};
  const int sign = x.type.bits() - x.type.exp_bits - x.type.man_bits;
  return {{"sign", sign},
          {"exponent", x.type.exp_bits},
          {"fraction", x.type.man_bits}};
}

std::string value_text(const matrix& x, std::uint64_t word) {
  if (x.type == fuzz::integer) return fmt::format("{:#x}", word);
  return describe(x.type, word);
}

/// The number of the first output that differs.
std::optional<std::size_t> first_output(const outputs& right,
                                        const outputs& got) {
  for (std::size_t n = 0; n < std::min(right.size(), got.size()); ++n) {
    if (right[n].words.size() != got[n].words.size()) return {};
    if (right[n].words != got[n].words) return n;
  }
  return {};
}

shown_map map_of(const outputs& right, const outputs& got, std::size_t n) {
  const matrix& x = right[n];
  shown_map m{static_cast<std::size_t>(x.rows),
              static_cast<std::size_t>(x.cols),
              std::vector<std::uint8_t>(x.words.size()),
              {"another value", "NaN on one side alone", "another NaN",
               "the other sign of zero"}};
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    const auto kind = fuzz::kind_at(right, got, n, i);
    if (kind)
      m.kinds[i] = static_cast<std::uint8_t>(1 + static_cast<int>(*kind));
  }
  return m;
}

/// In how many elements each of the `width` low bits differs.
std::vector<std::uint64_t> differing_bits(const matrix& x, const matrix& y,
                                          int width) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    const std::uint64_t both = x.words[i] ^ y.words[i];
    for (int bit = 0; bit < width; ++bit) {
      counts[static_cast<std::size_t>(width - 1 - bit)] += both >> bit & 1;
    }
  }
  return counts;
}

std::uint64_t parsed(const std::ssub_match& text) {
  std::string digits = text.str();
  if (digits.starts_with("0x")) digits.erase(0, 2);
  std::uint64_t word = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
  return word;
}

}  // namespace

std::optional<failure_picture> picture_of(
    const outputs& right, const outputs& got,
    const std::pair<std::string, std::string>& names) {
  if (fuzz::failure_in(right) || fuzz::failure_in(got)) return {};
  const auto n = first_output(right, got);
  if (!n) return {};
  const matrix& x = right[*n];
  const matrix& y = got[*n];
  const auto at = static_cast<std::size_t>(
      std::mismatch(x.words.begin(), x.words.end(), y.words.begin()).first -
      x.words.begin());
  const auto a = x.words[at], b = y.words[at];
  const auto columns = static_cast<std::size_t>(x.cols);
  failure_picture p;
  p.map = map_of(right, got, *n);
  const auto differing =
      x.words.size() - static_cast<std::size_t>(std::count(
                           p.map->kinds.begin(), p.map->kinds.end(), 0));
  const auto rows = static_cast<std::size_t>(x.rows);
  p.map_caption =
      fmt::format("Where {} ({} x {}) differs: {} element{}, in {}.", x.name,
                  x.rows, x.cols, differing, differing == 1 ? "" : "s",
                  to_text(places_of(x.words, y.words, {rows, columns})));
  p.bits.fields = fields_of(x, a, b);
  p.bits.words = {{names.first, a}, {names.second, b}};
  int width = 0;
  for (const auto& f : p.bits.fields) width += f.bits;
  if (differing > 1) p.bits.differing = differing_bits(x, y, width);
  p.bits_caption = fmt::format(
      "The first: {}({}, {}) is {}, not {}.{}", x.name, at / columns,
      at % columns, value_text(y, b), value_text(x, a),
      p.bits.differing.empty()
          ? ""
          : " The last row: the darker, the more elements differ in that bit.");
  return p;
}

std::optional<failure_picture> picture_of(std::string_view first_failure) {
  const std::string text(first_failure);
  // Words after "not" are decimal in some texts: only those with 0x, or of 4, 8
  // or 16 digits, are taken for hexadecimal.
  const std::string hex = "((?:0x)?[0-9a-f]{1,16})";
  const std::string sure =
      "(0x[0-9a-f]{1,16}|[0-9a-f]{16}|[0-9a-f]{8}|[0-9a-f]{4})";
  static const std::regex forms[] = {
      std::regex("\\bgot " + hex + ",? expected " + hex + "\\b"),
      std::regex("\\b(?:GPU|device) " + hex + ", (?:core|host) " + hex + "\\b"),
      std::regex("\\b" + hex + ", recorded " + hex + "\\b"),
      std::regex("\\b" + sure + ", not " + sure + "(?![0-9a-z])"),
  };
  for (const auto& form : forms) {
    std::smatch found;
    if (!std::regex_search(text, found, form)) continue;
    const auto got = parsed(found[1]), right = parsed(found[2]);
    if (got == right) continue;
    failure_picture p;
    p.bits = {{{"bits", width_of(got, right)}},
              {{"right", right}, {"given", got}}};
    p.bits_caption = fmt::format("The first: {:#x}, not {:#x}.", got, right);
    return p;
  }
  return {};
}

}  // namespace zeroulp::program
#endif
