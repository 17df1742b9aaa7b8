#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "src/base/whole_number.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

constexpr char protected_minus = '\x1f';

/// 2^most_exponent and its inverse are far beyond every format, also for the 32
/// bits that stochastic rounding looks at.
constexpr int most_exponent = 1 << 11;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return result;
}

/// A nonnegative decimal number: 0.d1 d2 d3 ... * 10^exponent, d1 not 0, no
/// trailing zeros; zero has no digits.
struct decimal {
  std::string digits;
  long exponent = 0;
};

/// The exponent in `text`; one beyond int is as good as a very large one.
int parse_exponent(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  constexpr int most = 1 << 20;
  int value = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{}) return text[0] == '-' ? -most : most;
  return std::clamp(value, -most, most);
}

decimal parse_decimal(std::string_view text) {
  decimal result;
  const auto e = text.find_first_of("eE");
  const int exponent =
      e == std::string_view::npos ? 0 : parse_exponent(text.substr(e + 1));
  bool point = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.') {
      point = true;
      continue;
    }
    if (!point) ++result.exponent;
    result.digits += c;
  }
  const auto first = result.digits.find_first_not_of('0');
  if (first == std::string::npos) return {};
  result.exponent += exponent - static_cast<long>(first);
  result.digits.erase(0, first);
  result.digits.erase(result.digits.find_last_not_of('0') + 1);
  return result;
}

void double_it(decimal& x) {
  int carry = 0;
  for (auto digit = x.digits.rbegin(); digit != x.digits.rend(); ++digit) {
    const int value = 2 * (*digit - '0') + carry;
    *digit = static_cast<char>('0' + value % 10);
    carry = value / 10;
  }
  if (carry != 0) {
    x.digits.insert(x.digits.begin(), '1');
    ++x.exponent;
  }
  if (x.digits.back() == '0') x.digits.pop_back();
}

void halve(decimal& x) {
  int rest = 0;
  for (char& digit : x.digits) {
    const int value = 10 * rest + (digit - '0');
    digit = static_cast<char>('0' + value / 2);
    rest = value % 2;
  }
  if (rest != 0) x.digits += '5';
  if (x.digits.front() == '0') {
    x.digits.erase(0, 1);
    --x.exponent;
  }
}

/// Appends the bit that says whether anything is missing below `x`.
parsed_number with_rest(parsed_number x, bool rest) {
  x.significand = shifted<2>(x.significand, 1);
  if (rest) x.significand.word[0] |= 1;
  --x.exponent;
  return x;
}

parsed_number to_binary(decimal x) {
  if (x.digits.empty()) return {};
  parsed_number result{wide<2>(1), 0, kind::finite, false};
  constexpr int far = 400;  // 10^far is beyond every format too
  if (x.exponent > far || x.exponent < -far) {
    result.exponent = x.exponent > 0 ? most_exponent : -most_exponent;
    return result;
  }
  // 38 digits before the point are 123 bits or more, and fit.
  constexpr int whole = 38;
  for (; x.exponent < whole; --result.exponent) double_it(x);
  for (; x.exponent > whole; ++result.exponent) halve(x);
  result.significand = {};
  for (std::size_t i = 0; i < whole; ++i) {
    const auto digit = i < x.digits.size() ? x.digits[i] - '0' : 0;
    result.significand = shifted<2>(result.significand, 3) +
                         shifted<2>(result.significand, 1) +
                         wide<2>(static_cast<std::uint64_t>(digit));
  }
  return with_rest(result, x.digits.size() > whole);
}

/// Of hexadecimal digits without 0x, a point and an exponent of 2.
parsed_number parse_hexadecimal(std::string_view text) {
  const auto p = text.find('p');
  parsed_number result{{}, 0, kind::finite, false};
  if (p != std::string_view::npos) {
    result.exponent = parse_exponent(text.substr(p + 1));
  }
  bool point = false;
  bool rest = false;
  for (const char c : text.substr(0, p)) {
    if (c == '.') {
      point = true;
      continue;
    }
    if (point) result.exponent -= 4;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (msb(result.significand) < 120) {
      result.significand = shifted<2>(result.significand, 4) +
                           wide<2>(static_cast<std::uint64_t>(digit));
    } else {
      result.exponent += 4;
      rest = rest || digit != 0;
    }
  }
  if (result.significand.is_zero()) return {};
  const int exponent = msb(result.significand) + result.exponent;
  if (exponent > most_exponent || exponent < -most_exponent) {
    return {wide<2>(1), exponent > 0 ? most_exponent : -most_exponent,
            kind::finite, false};
  }
  return with_rest(result, rest);
}

/// Every digit of a finite double; its expansion has at most 767.
std::string exact_digits(double x) { return fmt::format("{:.780e}", x); }

bool is_number(std::string_view text) {
  if (text.empty()) return false;
  std::string copy(text);
  char* end = nullptr;
  std::strtod(copy.c_str(), &end);
  return end == copy.c_str() + copy.size() &&
         std::isspace(static_cast<unsigned char>(copy[0])) == 0;
}

}  // namespace

std::string protect(std::string_view argument) {
  if (argument.size() < 2) return std::string(argument);
  const std::string rest = lower(argument.substr(1));
  const char c = rest[0];
  const bool is_value = (c >= '0' && c <= '9') || c == '.' || rest == "inf" ||
                        rest == "infinity" || rest == "nan";
  return is_value ? protect_value(argument) : std::string(argument);
}

std::string protect_value(std::string_view argument) {
  std::string result(argument);
  if (argument.starts_with('-')) result[0] = protected_minus;
  return result;
}

std::string plain(std::string text) {
  std::replace(text.begin(), text.end(), protected_minus, '-');
  return text;
}

parsed_number parse_number(std::string_view text) {
  if (!is_number(text)) {
    throw input_error(fmt::format(
        "value '{}': use a decimal number such as -1.5e-3, inf or nan", text));
  }
  const std::string bare = lower(text.substr(text.find_first_not_of("+-")));
  parsed_number x;
  if (bare.starts_with("nan")) {
    x.kind = kind::nan;
  } else if (bare.starts_with("inf")) {
    x.kind = kind::infinite;
  } else if (bare.starts_with("0x")) {
    x = parse_hexadecimal(std::string_view(bare).substr(2));
  } else {
    x = to_binary(parse_decimal(bare));
  }
  x.negative = text[0] == '-';
  return x;
}

int parse_interval(std::string_view text, int step) {
  if (text == "none") return 0;
  const auto value = whole_number<int>(text);
  if (!value || *value <= 0 || *value % step != 0) {
    throw input_error(fmt::format(
        "--interval '{}': use none or a {}", text,
        step == 1 ? "positive number" : fmt::format("multiple of {}", step)));
  }
  return *value;
}

std::uint64_t parse_code(std::string_view text, int bits,
                         std::string_view what) {
  auto digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
  }
  const auto code = whole_number<std::uint64_t>(digits, 16);
  if (!code || (bits < 64 && *code >> bits != 0)) {
    throw input_error(
        fmt::format("{} '{}': use {} hexadecimal digits ({} bits)", what, text,
                    (bits + 3) / 4, bits));
  }
  return *code;
}

std::string to_decimal(const unpacked& x) {
  if (x.is_nan()) return "nan";
  if (x.is_infinite()) return x.negative ? "-inf" : "inf";
  const std::string sign = x.negative ? "-" : "";
  if (x.is_zero()) return sign + "0";
  const decimal d = parse_decimal(exact_digits(std::fabs(to_double(x))));
  const auto n = static_cast<long>(d.digits.size());
  std::string fixed;
  if (d.exponent <= 0) {
    fixed = "0." + std::string(static_cast<std::size_t>(-d.exponent), '0') +
            d.digits;
  } else if (d.exponent >= n) {
    fixed =
        d.digits + std::string(static_cast<std::size_t>(d.exponent - n), '0');
  } else {
    fixed = d.digits;
    fixed.insert(static_cast<std::size_t>(d.exponent), ".");
  }
  std::string scientific = d.digits.substr(0, 1);
  if (n > 1) scientific += "." + d.digits.substr(1);
  scientific += fmt::format("e{}", d.exponent - 1);
  return sign + (fixed.size() <= scientific.size() ? fixed : scientific);
}

std::string to_hex(std::uint64_t code, int bits) {
  return fmt::format("{:0{}x}", code, (bits + 3) / 4);
}

std::string describe(format f, std::uint64_t code) {
  return fmt::format("{} ({})", to_hex(code, f.bits()),
                     to_decimal(decode(f, code)));
}

}  // namespace zeroulp::program
