#include "tools/study/error/text.hpp"

#include "tools/study/error/choices.hpp"
#include "tools/study/error/matrix.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::study {
namespace {

constexpr choice<outliers> outlier_kinds[] = {
    {"channels", outliers::channels},
    {"tokens", outliers::tokens},
    {"single", outliers::single},
};

}  // namespace

std::string name_of_input(const input& x) {
  if (x.matrix) return x.matrix->name;
  auto text = zeroulp::name_of(x.base);
  if (x.which != outliers::none) {
    text += fmt::format("+{}({:g})", name_in(outlier_kinds, x.which), x.factor);
  }
  return text;
}

input parse_input(std::string_view text) {
  if (names_matrix(text)) {
    input x;
    x.matrix = read_matrix(text);
    return x;
  }
  if (text.find(".npy") != std::string_view::npos) {
    throw input_error(fmt::format(
        "input '{}': a file is FILE.npy, or FILE.npy:bf16 where uint16 "
        "elements hold BF16",
        text));
  }
  const auto plus = text.find(")+");
  if (plus == std::string_view::npos) return {parse_distribution(text)};
  input x{parse_distribution(text.substr(0, plus + 1))};
  const auto rest = text.substr(plus + 2);
  const auto open = rest.find('(');
  if (open == std::string_view::npos || rest.back() != ')') {
    throw input_error(fmt::format(
        "'{}': after + use channels(x), tokens(x) or single(x)", text));
  }
  x.which = find(outlier_kinds, rest.substr(0, open));
  x.factor = number(rest.substr(open + 1, rest.size() - open - 2), 1e-6, 1e6);
  return x;
}

std::string name_of_element(format f) {
  return f == int8 ? "int8" : name_of(f);
}

format parse_element(std::string_view text) {
  const format f = text == "int8" ? int8 : parse_format(text);
  if (!is_quantizable(f)) {
    throw input_error(
        fmt::format("'{}': use a format with a sign, of up to 32 bits and "
                    "FP32's range",
                    text));
  }
  return f;
}

std::string name_of_group(granularity g) {
  if (g == granularity{1, 0}) return "row";
  return name_of(group_shape{g.mn, g.k});
}

granularity parse_granularity(std::string_view text) {
  if (text == "row") return {1, 0};
  const group_shape g = parse_group(text);
  return {g.rows, g.cols};
}

std::string name_of_timing(const timing& t) {
  if (t.history == 0) return "online";
  if (t.rule == history_rule::moving_average) return "average";
  return fmt::format("delayed{}", t.history);
}

timing parse_timing(std::string_view text) {
  constexpr std::string_view delayed = "delayed";
  if (text == "online") return {};
  // 0.9^256 is nothing beside FP32's last bit.
  if (text == "average") return {256, history_rule::moving_average};
  if (text.starts_with(delayed)) {
    return {number(text.substr(delayed.size()), 1, 4096),
            history_rule::maximum};
  }
  throw input_error(fmt::format("'{}': use online, delayedN or average", text));
}

std::string name_of_sum(const accumulation& a) {
  switch (a.by) {
    case accumulation::kind::hopper:
      return "hopper";
    case accumulation::kind::fp32:
      return "fp32";
    case accumulation::kind::exact:
      return "exact";
    case accumulation::kind::fraction:
      break;
  }
  return fmt::format("f{}", a.bits);
}

accumulation parse_sum(std::string_view text) {
  using kind = accumulation::kind;
  if (text == "hopper") return {kind::hopper};
  if (text == "fp32") return {kind::fp32};
  if (text == "exact") return {kind::exact};
  if (text.starts_with('f')) {
    return {kind::fraction, number(text.substr(1), 8, 34)};
  }
  throw input_error(fmt::format(
      "'{}': use hopper, fN with N from 8 to 34, fp32 or exact", text));
}

}  // namespace zeroulp::study
