// The table of fields, and what there is no GEMM for.

#include "study_cell.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "zeroulp/core/quantize.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::study {
namespace {

template <class T>
struct choice {
  const char* name;
  T value;
};

constexpr choice<scaling> scalings[] = {
    {"raw", scaling::raw},
    {"fp32", scaling::float32},
    {"pow2", scaling::pow2},
    {"pow2_down", scaling::pow2_down},
    {"pow2_nearest", scaling::pow2_nearest},
    {"ocp", scaling::ocp},
};
constexpr choice<passage> passages[] = {
    {"direct", passage::direct},
    {"e5m6", passage::e5m6},
    {"retile", passage::retiled},
    {"e5m6.retile", passage::retiled_e5m6},
};
constexpr choice<gemm_pass> passes[] = {
    {"fprop", gemm_pass::fprop},
    {"dgrad", gemm_pass::dgrad},
    {"wgrad", gemm_pass::wgrad},
};
constexpr choice<outliers> outlier_kinds[] = {
    {"channels", outliers::channels},
    {"tokens", outliers::tokens},
    {"single", outliers::single},
};
constexpr choice<bool> answers[] = {{"no", false}, {"yes", true}};
constexpr choice<std::uint32_t> floors[] = {{"0", 0},
                                            {"1e-12", floor_1e_12},
                                            {"1e-10", floor_1e_10},
                                            {"1e-4", floor_1e_4}};

/// A Linear of DeepSeek-V3: Fprop's K is its inputs, Dgrad's its outputs.
struct linear {
  const char* name;
  std::ptrdiff_t outputs;
  std::ptrdiff_t inputs;
};
constexpr linear linears[] = {
    {"qkv_a", 2112, 7168},     {"q_b", 24576, 1536},
    {"kv_b", 32768, 512},      {"attention_out", 7168, 16384},
    {"expert_up", 4096, 7168}, {"expert_down", 7168, 2048},
    {"dense_up", 36864, 7168}, {"dense_down", 7168, 18432},
};
constexpr std::ptrdiff_t tokens = 4096;

template <class T, std::size_t N>
std::string name_in(const choice<T> (&table)[N], T value) {
  for (const auto& row : table) {
    if (row.value == value) return row.name;
  }
  return "?";
}

template <class T, std::size_t N>
T find(const choice<T> (&table)[N], std::string_view text) {
  std::string known;
  for (const auto& row : table) {
    if (row.name == text) return row.value;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw input_error(fmt::format("'{}': use one of {}", text, known));
}

template <class T>
T number(std::string_view text, T low, T high) {
  T value{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    throw input_error(
        fmt::format("'{}': use a number from {} to {}", text, low, high));
  }
  return value;
}

std::string name_of(const input& x) {
  auto text = zeroulp::name_of(x.base);
  if (x.which != outliers::none) {
    text += fmt::format("+{}({:g})", name_in(outlier_kinds, x.which), x.factor);
  }
  return text;
}

input parse_input(std::string_view text) {
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

void set_shape(cell& c, std::string_view text) {
  const auto dot = text.find('.');
  for (const auto& x : linears) {
    if (dot == std::string_view::npos || text.substr(0, dot) != x.name) {
      continue;
    }
    c.pass = find(passes, text.substr(dot + 1));
    c.k = c.pass == gemm_pass::fprop   ? x.inputs
          : c.pass == gemm_pass::dgrad ? x.outputs
                                       : tokens;
    c.a.group = tile_1x128;
    c.b.group = c.pass == gemm_pass::wgrad ? tile_1x128 : block_128x128;
    c.shape = text;
    return;
  }
  if (text != free_shape) {
    std::string known;
    for (const auto& x : linears) known += std::string(" ") + x.name;
    throw input_error(fmt::format(
        "'{}': use free or LINEAR.PASS, of{} and fprop, dgrad, wgrad", text,
        known));
  }
  c.shape = text;
}

constexpr std::ptrdiff_t most_k = 1 << 20;
constexpr std::ptrdiff_t most_outputs = 1 << 14;

#define ZEROULP_STUDY_OPERAND(SIDE)                                            \
  {#SIDE ".input", "law of its elements",                                      \
   [](const cell& c) { return name_of(c.SIDE.from); },                         \
   [](cell& c, std::string_view t) { c.SIDE.from = parse_input(t); }},         \
      {#SIDE ".format", "of its codes",                                        \
       [](const cell& c) { return name_of_element(c.SIDE.element); },          \
       [](cell& c, std::string_view t) {                                       \
         c.SIDE.element = parse_element(t);                                    \
       }},                                                                     \
      {#SIDE ".group", "elements of a scale, along M or N by K",               \
       [](const cell& c) { return name_of_group(c.SIDE.group); },              \
       [](cell& c, std::string_view t) {                                       \
         c.SIDE.group = parse_granularity(t);                                  \
       }},                                                                     \
      {#SIDE ".scale", "how a scale follows from amax",                        \
       [](const cell& c) { return name_in(scalings, c.SIDE.scale); },          \
       [](cell& c, std::string_view t) { c.SIDE.scale = find(scalings, t); }}, \
      {#SIDE ".timing", "whose amax",                                          \
       [](const cell& c) { return name_of_timing(c.SIDE.when); },              \
       [](cell& c, std::string_view t) { c.SIDE.when = parse_timing(t); }},    \
  {                                                                            \
#SIDE ".via", "what it was stored as before",                            \
        [](const cell& c) { return name_in(passages, c.SIDE.via); },         \
        [](cell& c, std::string_view t) { c.SIDE.via = find(passages, t); }     \
  }

const field all_fields[] = {
    {"shape", "a Linear of DeepSeek-V3 and a pass, or free",
     [](const cell& c) { return c.shape; }, set_shape},
    {"pass", "fprop, dgrad or wgrad (K runs along tokens)",
     [](const cell& c) { return name_in(passes, c.pass); },
     [](cell& c, std::string_view t) { c.pass = find(passes, t); }},
    {"m", "rows of outputs", [](const cell& c) { return std::to_string(c.m); },
     [](cell& c, std::string_view t) {
       c.m = number<std::ptrdiff_t>(t, 1, most_outputs);
     }},
    {"n", "columns of outputs",
     [](const cell& c) { return std::to_string(c.n); },
     [](cell& c, std::string_view t) {
       c.n = number<std::ptrdiff_t>(t, 1, most_outputs);
     }},
    {"k", "products of an output",
     [](const cell& c) { return std::to_string(c.k); },
     [](cell& c, std::string_view t) {
       c.k = number<std::ptrdiff_t>(t, 1, most_k);
     }},
    {"values", "what inputs are before they are quantized",
     [](const cell& c) { return name_of(c.values); },
     [](cell& c, std::string_view t) {
       const format f = parse_format(t);
       if (!(f == bf16 || f == fp32)) {
         throw input_error(fmt::format("'{}': use bf16 or fp32", t));
       }
       c.values = f;
     }},
    ZEROULP_STUDY_OPERAND(a),
    ZEROULP_STUDY_OPERAND(b),
    {"amax_floor", "of both", [](const cell& c) { return c.amax_floor; },
     [](cell& c, std::string_view t) {
       (void)find(floors, t);
       c.amax_floor = t;
     }},
    {"shift", "A's magnitude over that of its history",
     [](const cell& c) { return fmt::format("{:g}", c.shift); },
     [](cell& c, std::string_view t) { c.shift = number(t, 1e-9, 1e9); }},
    {"age", "steps since the shift",
     [](const cell& c) { return std::to_string(c.age); },
     [](cell& c, std::string_view t) { c.age = number(t, 0, 4096); }},
    {"smooth", "channels of A scaled to one amax, B's by the inverse",
     [](const cell& c) { return name_in(answers, c.smooth); },
     [](cell& c, std::string_view t) { c.smooth = find(answers, t); }},
    {"acc", "hopper, fN (fraction bits), fp32 or exact",
     [](const cell& c) { return name_of_sum(c.sum); },
     [](cell& c, std::string_view t) { c.sum = parse_sum(t); }},
    {"interval", "elements of K between promotions",
     [](const cell& c) {
       return c.interval == 0 ? "none" : std::to_string(c.interval);
     },
     [](cell& c, std::string_view t) {
       c.interval = t == "none" ? 0 : number(t, 1, 1 << 20);
     }},
    {"seed", "of the inputs",
     [](const cell& c) { return std::to_string(c.seed); },
     [](cell& c, std::string_view t) {
       c.seed = number<std::uint64_t>(t, 0, std::uint64_t{1} << 32);
     }},
};

#undef ZEROULP_STUDY_OPERAND

std::optional<std::string> impossible_operand(const operand& x) {
  const bool whole = x.group == per_tensor;
  const bool retiles =
      x.via == passage::retiled || x.via == passage::retiled_e5m6;
  if (x.scale == scaling::raw && !whole) {
    return "codes without scales have no groups: use group tensor";
  }
  if (x.scale == scaling::raw && x.when.history > 0) {
    return "codes without scales follow no amax";
  }
  if (x.when.history > 0 && !whole) {
    return "delayed scaling keeps one amax a tensor";
  }
  if (retiles && (!(x.group == tile_1x128) || x.scale == scaling::raw ||
                  x.scale == scaling::ocp)) {
    return "a re-tiling makes 1x128 tiles, with FP32 or power-of-two scales";
  }
  return {};
}

}  // namespace

std::span<const field> fields() { return all_fields; }

void set(cell& c, std::string_view name, std::string_view value) {
  bool found = false;
  for (const auto& f : fields()) {
    const std::string_view full = f.name;
    const bool side = full.size() > 2 && full[1] == '.';
    if (full != name && !(side && full.substr(2) == name)) continue;
    found = true;
    try {
      f.set(c, value);
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}={}: {}", name, value, e.what()));
    }
  }
  if (found) return;
  std::string known;
  for (const auto& f : fields()) known += std::string(" ") + f.name;
  throw input_error(
      fmt::format("'{}' is no field of a cell: use one of{}, or an operand's "
                  "without a. and b.",
                  name, known));
}

void set(cell& c, std::string_view settings) {
  for (const auto& part : split(settings, ' ')) {
    const auto equals = part.find('=');
    if (equals == std::string::npos) {
      throw input_error(fmt::format("'{}': use FIELD=VALUE", part));
    }
    set(c, std::string_view(part).substr(0, equals),
        std::string_view(part).substr(equals + 1));
  }
}

std::vector<std::string> values_of(const cell& c) {
  std::vector<std::string> values;
  for (const auto& f : fields()) values.push_back(f.get(c));
  return values;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == separator && depth == 0) {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

recipe recipe_of(const cell& c) {
  const bool late = c.a.group.k == 0 && c.b.group.k == 0;
  recipe r{hopper_fp8_f32,
           c.interval,
           late ? promotion::add : promotion::product_of_scales,
           c.a.group,
           c.b.group,
           1,
           epilogue::store,
           fp32};
  if (c.sum.by == accumulation::kind::hopper) {
    return engine::for_operands(r, c.a.element, c.b.element);
  }
  r.acc = c.sum.by == accumulation::kind::fp32 ? fp32_sequential
                                               : what_if_fraction(c.sum.bits);
  return r;
}

std::optional<std::string> impossible(const cell& c) {
  for (const auto* x : {&c.a, &c.b}) {
    if (auto why = impossible_operand(*x)) return why;
  }
  if (c.smooth && c.b.when.history > 0) {
    return "the channels of B follow A's amax: B has no history of its own";
  }
  const bool exact = c.sum.by == accumulation::kind::exact;
  const bool integers = c.a.element == int8 || c.b.element == int8;
  if (integers && !(c.a.element == c.b.element && exact)) {
    return "integers are multiplied by integers and summed exactly: use int8 "
           "on both sides and acc=exact";
  }
  if (exact) return {};
  for (const auto* x : {&c.a, &c.b}) {
    if (x->group.k > 0 && c.interval == 0) {
      return "scales along K need promotion";
    }
    if (x->group.k > 0 && x->group.k % c.interval != 0) {
      return fmt::format("an interval of {} crosses groups of {}", c.interval,
                         x->group.k);
    }
  }
  try {
    const recipe r = recipe_of(c);
    if (is_valid(r)) return {};
    return fmt::format(
        "a step takes {} products: the interval must be a "
        "multiple",
        r.acc.length);
  } catch (const input_error& e) {
    return e.what();
  }
}

std::uint32_t floor_of(const cell& c) { return find(floors, c.amax_floor); }

std::uint32_t ocp_amax(std::uint32_t x, format to) {
  const float value = bit_cast<float>(x);
  if (value == 0) return x;
  const double max = to_double(decode(to, to.max_code()));
  const double fraction = max / std::ldexp(1.0, std::ilogb(max));
  return bit_cast<std::uint32_t>(
      static_cast<float>(std::ldexp(fraction, std::ilogb(value))));
}

}  // namespace zeroulp::study
