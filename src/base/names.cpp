#include "zeroulp/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "src/base/fields.hpp"

namespace zeroulp {
namespace {

template <class Table, class Value>
std::string_view find_name(const Table& table, Value value) {
  for (const auto& row : table) {
    if (row.value == value) return row.name;
  }
  return "?";
}

/// What torch, ml_dtypes and NumPy call formats.
constexpr named_format format_aliases[] = {
    {"float8_e4m3fn", e4m3},
    {"e4m3fn", e4m3},
    {"float8_e5m2", e5m2},
    {"float8_e4m3fnuz", e4m3fnuz},
    {"float8_e5m2fnuz", e5m2fnuz},
    {"float8_e8m0fnu", ue8m0},
    {"e8m0fnu", ue8m0},
    {"e8m0", ue8m0},
    {"float4_e2m1fn", e2m1},
    {"e2m1fn", e2m1},
    {"float6_e2m3fn", e2m3},
    {"float6_e3m2fn", e3m2},
    {"bfloat16", bf16},
    {"float16", fp16},
    {"half", fp16},
    {"float32", fp32},
    {"float", fp32},
    {"float64", fp64},
    {"double", fp64},
};

constexpr recipe cublaslt_rows{.acc = hopper_fp8_f32,
                               .interval = 0,
                               .update = promotion::other_then_one,
                               .a = {1, 0},
                               .b = {1, 0},
                               .splits = 1,
                               .end = epilogue::store,
                               .output = bf16};

/// Recipes that named_recipes lacks.
constexpr named_recipe more_recipes[] = {
    {"cublaslt.128x128_1x128", cublaslt_1x128_1x128_m1_recipe, "H200"},
    {"cublaslt.rows", cublaslt_rows, "H200"},
};

/// A format of scales has no name but ue8m0.
constexpr const char* specials_names[] = {"ieee", "fn", "fnuz", "finite",
                                          "scale"};

/// The bias of an IEEE-like format.
int usual_bias(int exp_bits) { return (1 << (exp_bits - 1)) - 1; }

/// eXmY, with `:bB` if the bias is not the usual one and `:fn`, `:fnuz` or
/// `:finite` if the format is not IEEE-like; `:ieee` if it is, but not the
/// format that is called eXmY.
std::string custom_name(format f) {
  auto name = fmt::format("e{}m{}", f.exp_bits, f.man_bits);
  if (f.bias != usual_bias(f.exp_bits)) name += fmt::format(":b{}", f.bias);
  const bool is_taken =
      std::any_of(std::begin(named_formats), std::end(named_formats),
                  [&name](const auto& row) { return row.name == name; });
  if (f.kind != specials::ieee || is_taken) {
    name += fmt::format(":{}", specials_names[static_cast<int>(f.kind)]);
  }
  return name;
}

/// Throws unless FP64 holds the format, and it holds a number and what its
/// specials need.
void check_custom_format(std::string_view text, int exp_bits, int man_bits,
                         int bias, specials kind) {
  const bool is_ieee = kind == specials::ieee;
  const auto refuse = [text](std::string_view why) {
    throw input_error(fmt::format("format '{}': {}", text, why));
  };
  if (is_ieee &&
      (exp_bits < 2 || exp_bits > 11 || man_bits < 1 || man_bits > 52)) {
    refuse("eXmY needs 2 <= X <= 11 and 1 <= Y <= 52");
  }
  if (exp_bits < 1 || exp_bits > 11 || man_bits < 0 || man_bits > 52 ||
      (exp_bits == 1 && man_bits == 0)) {
    refuse(
        "eXmY:fn, :fnuz and :finite need 1 <= X <= 11 and 0 <= Y <= 52, not "
        "e1m0");
  }
  if (bias < -4096 || bias > 4096) refuse("its numbers are beyond FP64's");
  const format f{static_cast<std::uint8_t>(exp_bits),
                 static_cast<std::uint8_t>(man_bits),
                 static_cast<std::int16_t>(bias), kind};
  const unpacked max = decode(f, f.max_code());
  if (f.quantum_exponent() < fp64.quantum_exponent() ||
      msb(max.significand) + max.exponent > 1023) {
    refuse("its numbers are beyond FP64's");
  }
}

/// eXmY[:bB][:specials], or nothing.
std::optional<format> parse_custom_format(std::string_view text) {
  const auto m = text.find('m');
  if (text.empty() || text[0] != 'e' || m == std::string_view::npos) return {};
  const auto colon = std::min(text.find(':'), text.size());
  if (m > colon) return {};
  const auto exp_bits = whole_number<int>(text.substr(1, m - 1));
  const auto man_bits = whole_number<int>(text.substr(m + 1, colon - m - 1));
  if (!exp_bits || !man_bits) return {};
  if (*exp_bits < 1 || *exp_bits > 11) {
    check_custom_format(text, *exp_bits, *man_bits, 0, specials::ieee);
  }
  int bias = usual_bias(*exp_bits);
  auto kind = specials::ieee;
  auto rest = text.substr(colon);
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':', 1), rest.size());
    const auto part = rest.substr(1, end - 1);
    rest = rest.substr(end);
    const auto name =
        std::find(std::begin(specials_names), std::end(specials_names), part);
    const bool negative = part.starts_with("b-");
    const auto value = part.starts_with("b")
                           ? whole_number<int>(part.substr(negative ? 2 : 1))
                           : std::nullopt;
    if (name < std::end(specials_names) - 1) {
      kind = static_cast<specials>(name - std::begin(specials_names));
    } else if (value) {
      bias = negative ? -*value : *value;
    } else {
      throw input_error(fmt::format(
          "format '{}': '{}' is no bias (b8) and none of ieee, fn, fnuz and "
          "finite: use eXmY[:bB][:SPECIALS]",
          text, part));
    }
  }
  check_custom_format(text, *exp_bits, *man_bits, bias, kind);
  const format f{static_cast<std::uint8_t>(*exp_bits),
                 static_cast<std::uint8_t>(*man_bits),
                 static_cast<std::int16_t>(bias), kind};
  // One name for one format: e04m3 would be another e4m3.
  const auto name = colon == text.size() ? custom_name(f) : name_of(f);
  if (text == name) return f;
  if (colon == text.size()) return {};
  throw input_error(fmt::format("format '{}': it is called {}", text, name));
}

std::string path_name(std::string_view family, const path& p) {
  return fmt::format("{}.{}.{}.{}", family, name_of(p.a), name_of(p.b),
                     p.acc.stored == fp16 ? "f16" : "f32");
}

std::vector<named_path> make_paths() {
  std::vector<named_path> paths;
  for (const path_family& family : path_families) {
    for (const auto& [a, b] : operand_pairs(family.takes)) {
      const path p{a, b, family.acc, family.lowering};
      auto name = path_name(family.name, p);
      auto known_by = evidence_of(name);
      paths.push_back({std::move(name), p, std::move(known_by)});
    }
  }
  return paths;
}

/// whatif.fN.A.B.f32, or nothing.
std::optional<named_path> parse_what_if(std::string_view text) {
  constexpr std::string_view prefix = "whatif.f";
  if (!text.starts_with(prefix)) return {};
  const auto dot = text.find('.', prefix.size());
  if (dot == std::string_view::npos) return {};
  const auto bits =
      whole_number<int>(text.substr(prefix.size(), dot - prefix.size()));
  if (!bits || *bits < 8 || *bits > 34) return {};
  const auto family = std::string(text.substr(0, dot));
  for (const auto& [a, b] : operand_pairs(operands::fp8)) {
    const path p{a, b, what_if_fraction(*bits)};
    if (path_name(family, p) == text) {
      return named_path{std::string(text), p, evidence_of(text)};
    }
  }
  return {};
}

[[noreturn]] void refuse_path(std::string_view text) {
  constexpr std::string_view zero = "hopper.mma_zero.";
  constexpr std::string_view to_fp16 = ".f16";
  if (text.starts_with(zero) && text.ends_with(to_fp16)) {
    throw input_error(fmt::format(
        "unknown path '{}': recorded outputs of an H100 and an H200 refute it; "
        "theirs is hopper.mma.{}",
        text, text.substr(zero.size())));
  }
  throw input_error(
      fmt::format("unknown path '{}': {}`zeroulp paths` lists them; "
                  "whatif.fN.A.B.f32 takes N from 8 to 34",
                  text, did_you_mean(text, names_in(all_paths()))));
}

}  // namespace

const std::vector<named_path>& all_paths() {
  static const std::vector<named_path> paths = make_paths();
  return paths;
}

format parse_format(std::string_view text) {
  for (const auto& row : named_formats) {
    if (row.name == text) return row.value;
  }
  auto theirs = text;
  for (const std::string_view package : {"torch.", "ml_dtypes.", "numpy."}) {
    if (theirs.starts_with(package)) theirs.remove_prefix(package.size());
  }
  for (const auto& row : format_aliases) {
    if (row.name == theirs) return row.value;
  }
  if (const auto custom = parse_custom_format(text)) return *custom;
  auto known = names_in(named_formats);
  const auto ours = known.size();
  for (const auto& row : format_aliases) known.push_back(row.name);
  const auto near = did_you_mean(theirs, known);
  known.resize(ours);
  throw input_error(fmt::format("unknown format '{}': {}use one of {}", text,
                                near, fmt::join(known, ", ")));
}

rounding parse_rounding(std::string_view text) {
  return row_named(named_roundings, "rounding", text).value;
}

policy parse_policy(std::string_view text) {
  return row_named(named_policies, "overflow policy", text).value;
}

scale_kind parse_scale_kind(std::string_view text) {
  return row_named(named_scale_kinds, "kind of scale", text).value;
}

scale_layout parse_scale_layout(std::string_view text) {
  return row_named(named_scale_layouts, "scale layout", text).value;
}

retile_rule parse_retile_rule(std::string_view text) {
  return row_named(named_retile_rules, "re-tiling rule", text).value;
}

const std::vector<named_recipe>& all_recipes() {
  static const auto recipes = [] {
    std::vector<named_recipe> all(std::begin(named_recipes),
                                  std::end(named_recipes));
    all.insert(all.end(), std::begin(more_recipes), std::end(more_recipes));
    return all;
  }();
  return recipes;
}

named_recipe parse_recipe(std::string_view text) {
  return row_named(all_recipes(), "recipe", text);
}

named_path parse_path(std::string_view text) {
  for (const auto& row : all_paths()) {
    if (row.name == text) return row;
  }
  if (const auto what_if = parse_what_if(text)) return *what_if;
  refuse_path(text);
}

accumulator parse_accumulator(std::string_view name) {
  const path p = parse_path(name).value;
  if (p.lowering != lowering::direct || p.acc.stored != fp32) {
    throw input_error("use a path to f32 of which an instruction is one step");
  }
  return p.acc;
}

group_shape parse_group(std::string_view text) {
  constexpr std::uint32_t most = 1 << 20;
  if (text == "tensor") return {0, 0};
  const auto x = text.find('x');
  if (x != std::string_view::npos) {
    const auto rows = whole_number<std::uint32_t>(text.substr(0, x));
    const auto cols = whole_number<std::uint32_t>(text.substr(x + 1));
    if (rows && cols && *rows <= most && *cols <= most) {
      return {static_cast<std::int32_t>(*rows),
              static_cast<std::int32_t>(*cols)};
    }
  }
  throw input_error(
      fmt::format("unknown group '{}': use RxC, such as 1x128, 128x1, 128x128, "
                  "each up to {} or 0, the whole dimension, or tensor",
                  text, most));
}

std::string name_of(format f) {
  for (const auto& row : named_formats) {
    if (row.value == f) return row.name;
  }
  return custom_name(f);
}

std::string name_of(const accumulator& a) {
  for (const auto& p : all_paths()) {
    if (p.value.acc == a && p.value.lowering == lowering::direct) return p.name;
  }
  for (int bits = 8; bits <= 34; ++bits) {
    if (what_if_fraction(bits) == a) {
      return fmt::format("whatif.f{}.e4m3.e4m3.f32", bits);
    }
  }
  throw std::logic_error("an accumulator that no path has");
}

std::string name_of(group_shape g) {
  return g.rows == 0 && g.cols == 0 ? "tensor"
                                    : fmt::format("{}x{}", g.rows, g.cols);
}

std::string_view name_of(rounding r) { return find_name(named_roundings, r); }
std::string_view name_of(scale_kind k) {
  return find_name(named_scale_kinds, k);
}
std::string_view name_of(scale_layout l) {
  return find_name(named_scale_layouts, l);
}
std::string_view name_of(retile_rule r) {
  return find_name(named_retile_rules, r);
}

}  // namespace zeroulp
