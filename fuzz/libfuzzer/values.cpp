// Fuzzes the values of arguments: numbers, codes and names. The first byte
// selects the kind; the rest is the text.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz/libfuzzer/contract.hpp"
#include "tools/zeroulp/operands.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::fuzz {
namespace {

using namespace zeroulp::program;

/// If a text names a thing, the name of that thing must name it, too.
template <class Parse>
void check_name(std::string_view text, const Parse& parse) {
  accepts([&] {
    const auto value = parse(text);
    demand(parse(name_of(value)) == value, "a name names one thing");
  });
}

/// Rows of a table carry their name.
template <class Parse>
void check_row(std::string_view text, const Parse& parse) {
  accepts([&] { demand(parse(text).name == text, "a row has its name"); });
}

bool is_nan(format f, std::uint64_t code) { return decode(f, code).is_nan(); }

/// Compares with the C library, which also rounds once, and correctly.
void check_number(std::string_view text) {
  parsed_number x;
  if (!accepts([&] { x = parse_number(text); })) return;
  const std::string terminated(text);
  const policy overflow = ocp_nonsaturate;
  const auto narrow =
      bit_cast<std::uint32_t>(std::strtof(terminated.c_str(), nullptr));
  const auto code = encode(fp32, x, {}, overflow);
  demand(code == narrow || (is_nan(fp32, code) && is_nan(fp32, narrow)),
         "a number is what strtof reads");
  const auto wide =
      bit_cast<std::uint64_t>(std::strtod(terminated.c_str(), nullptr));
  const auto code64 = encode(fp64, x, {}, overflow);
  demand(code64 == wide || (is_nan(fp64, code64) && is_nan(fp64, wide)),
         "a number is what strtod reads");
}

/// The decimal text of a code is read as that code.
void check_decimal(format f, std::uint64_t code) {
  const unpacked x = decode(f, code);
  const parsed_number again = parse_number(to_decimal(x));
  demand(x.is_nan() ? again.is_nan()
                    : encode(f, again, {}, ocp_nonsaturate) == code,
         "a decimal is read as the code it was made of");
}

void check_code(std::string_view text, int bits) {
  accepts([&] {
    const auto code = parse_code(text, bits, "code");
    demand(parse_code(to_hex(code, bits), bits, "hex") == code,
           "the hexadecimal text of a code is read as that code");
    for (const auto& row : named_formats) {
      if (row.value.bits() == bits) check_decimal(row.value, code);
    }
  });
}

void check_operands(std::string_view text, format f) {
  accepts([&] {
    const auto codes = parse_operands(text, f, "A");
    const int bits = f == tf32 ? 32 : f.bits();
    std::string again;
    for (const auto code : codes) {
      again += to_hex(f == tf32 ? code << 13 : code, bits);
    }
    demand(parse_operands(again, f, "again") == codes,
           "operands are read as they were written");
  });
}

void check(char what, std::string_view text) {
  switch (what) {
    case 'f':
      return check_name(text, parse_format);
    case 'g':
      return check_name(text, parse_group);
    case 'r':
      return check_name(text, parse_rounding);
    case 's':
      return check_name(text, parse_scale_kind);
    case 'l':
      return check_name(text, parse_scale_layout);
    case 't':
      return check_name(text, parse_retile_rule);
    case 'v':
      return check_row(text, parse_convention);
    case 'm':
      return check_row(text, parse_recipe);
    case 'p':
      return check_row(text, parse_path);
    case 'o':
      accepts([&] { parse_policy(text); });
      return;
    case 'i':
      accepts([&] { parse_interval(text, 128); });
      return;
    case 'n':
      return check_number(text);
    case 'b':
      return check_code(text, 8);
    case 'c':
      return check_code(text, 12);
    case 'd':
      return check_code(text, 16);
    case 'w':
      return check_code(text, 32);
    case 'x':
      return check_code(text, 64);
    case '3':
      return check_operands(text, e5m6);
    case '4':
      return check_operands(text, bf16);
    case '8':
      return check_operands(text, tf32);
    default:
      return;
  }
}

}  // namespace
}  // namespace zeroulp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const char* text = reinterpret_cast<const char*>(data);
  zeroulp::fuzz::check(text[0], {text + 1, size - 1});
  return 0;
}
