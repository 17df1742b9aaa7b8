// Replay tokens: written and parsed.

#include "fuzz/cases/token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "fuzz/cases/options.hpp"
#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::fuzz {
namespace {

/// The first version of the SPEC that tokens name.
constexpr int oldest = 2;
constexpr std::string_view last = "end";
/// Most elements of an operand: bounds what a short token can allocate.
constexpr std::uint64_t most = std::uint64_t{1} << 20;

/// Takes the text before `separator`, or all of it.
std::string_view take(std::string_view& rest, char separator) {
  const auto at = rest.find(separator);
  const auto head = rest.substr(0, at);
  rest = at == std::string_view::npos ? "" : rest.substr(at + 1);
  return head;
}

[[noreturn]] void fail(std::string_view what) {
  throw input_error(fmt::format("replay token: {}", what));
}

/// Parses `what` of the operand called `of`.
template <class T>
T parse_count(std::string_view text, int base, std::string_view of,
              std::string_view what) {
  const auto value = whole_number<T>(text, base);
  if (!value) {
    fail(fmt::format("{}: {} '{}' is no{} number of {} bits", of, what,
                     text.substr(0, 40), base == 16 ? " hexadecimal" : "",
                     std::numeric_limits<T>::digits));
  }
  return *value;
}

void parse_settings(problem& p, std::string_view text) {
  const bool has_more = text.ends_with(',');
  for (const char* name : info_of(p.what).options) {
    const auto field = take(text, ',');
    const auto equals = field.find('=');
    if (field.substr(0, equals) != name || equals == std::string_view::npos) {
      fail(fmt::format("'{}' stands where {}=... should", field.substr(0, 40),
                       name));
    }
    try {
      set(p.with, p.what, name, field.substr(equals + 1));
    } catch (const input_error& e) {
      fail(e.what());
    }
  }
  if (has_more || !text.empty()) {
    fail(fmt::format("'{}' after the last setting", text.substr(0, 40)));
  }
  const std::string why = info_of(p.what).refuse(p.with);
  if (!why.empty()) fail(why);
}

matrix parse_operand(const operand_spec& spec, std::string_view text) {
  const auto equals = text.find('=');
  if (text.substr(0, equals) != spec.name || equals == std::string_view::npos) {
    fail(fmt::format("'{}' stands where the operand {}=... should",
                     text.substr(0, 40), spec.name));
  }
  auto rest = text.substr(equals + 1);
  if (rest.ends_with('.')) fail(fmt::format("{} ends in a dot", spec.name));
  auto shape = take(rest, '.');
  const auto rows = take(shape, 'x');
  const std::string_view of = spec.name;
  const auto m = parse_count<std::uint32_t>(rows, 10, of, "a count of rows");
  const auto n =
      parse_count<std::uint32_t>(shape, 10, of, "a count of columns");
  if (m > most || n > most || std::uint64_t{m} * n > most) {
    fail(
        fmt::format("{} is {}x{}: at most {} elements", spec.name, m, n, most));
  }
  matrix x(spec.name, spec.type, static_cast<std::ptrdiff_t>(m),
           static_cast<std::ptrdiff_t>(n));
  std::size_t filled = 0;
  while (!rest.empty()) {
    auto field = take(rest, '.');
    const bool repeats = field.find('r') != std::string_view::npos;
    const auto code =
        parse_count<std::uint64_t>(take(field, 'r'), 16, of, "a code");
    const auto times =
        repeats ? parse_count<std::uint32_t>(field, 10, of, "a count") : 1;
    if (times > x.words.size() - filled) {
      fail(fmt::format("{} is {}x{} but has more codes", spec.name, m, n));
    }
    std::fill_n(x.words.begin() + static_cast<std::ptrdiff_t>(filled), times,
                code);
    filled += times;
  }
  if (filled < x.words.size()) {
    fail(fmt::format("{} is {}x{} but has fewer codes", spec.name, m, n));
  }
  return x;
}

}  // namespace

std::size_t run_of(const matrix& x, std::size_t i) {
  std::size_t end = i + 1;
  while (end < x.words.size() && x.words[end] == x.words[i]) ++end;
  return end - i;
}

std::string to_token(const problem& p) {
  std::string text = fmt::format("{}/{}/{}", spec_version, info_of(p.what).name,
                                 to_text(p.with, p.what));
  for (const matrix& x : p.in) {
    text += fmt::format("/{}={}x{}", x.name, x.rows, x.cols);
    for (std::size_t i = 0; i < x.words.size();) {
      const auto times = run_of(x, i);
      text += fmt::format(".{:x}", x.words[i]);
      if (times > 1) text += fmt::format("r{}", times);
      i += times;
    }
  }
  return fmt::format("{}/{}", text, last);
}

problem parse_token(std::string_view token) {
  const auto version = take(token, '/');
  const auto number = whole_number<int>(version);
  if (!number || *number < oldest) {
    fail(fmt::format("it must begin with {}/, the version of the SPEC",
                     spec_version));
  }
  if (*number > spec_version) {
    fail(fmt::format("it is of version {} of the SPEC, this program of {}",
                     *number, spec_version));
  }
  problem p;
  const auto name = take(token, '/');
  try {
    p.what = parse_target(name);
  } catch (const input_error& e) {
    fail(e.what());
  }
  parse_settings(p, take(token, '/'));
  for (const operand_spec& spec : info_of(p.what).operands(p.with)) {
    p.in.push_back(parse_operand(spec, take(token, '/')));
  }
  if (token != last) {
    fail(fmt::format("'{}' stands where {} should, after the last operand",
                     token.substr(0, 40), last));
  }
  const std::string why = refuse_operands(p);
  if (!why.empty()) fail(why);
  return p;
}

}  // namespace zeroulp::fuzz
