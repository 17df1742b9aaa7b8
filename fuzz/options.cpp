#include "fuzz/options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// A value of an enumeration and its name.
template <class T>
struct word {
  const char* name;
  T value;
};

constexpr word<operation> operations[] = {
    {"add", operation::add},           {"subtract", operation::subtract},
    {"multiply", operation::multiply}, {"fma", operation::fma},
    {"divide", operation::divide},     {"square_root", operation::square_root}};
constexpr word<bool> truths[] = {{"no", false}, {"yes", true}};
constexpr word<history_rule> histories[] = {
    {"maximum", history_rule::maximum},
    {"moving_average", history_rule::moving_average}};
constexpr word<pack_layout> packings[] = {{"bytes", pack_layout::bytes},
                                          {"words", pack_layout::words}};
constexpr word<promotion> promotions[] = {
    {"add", promotion::add},
    {"product_of_scales", promotion::product_of_scales},
    {"one_then_other", promotion::one_then_other}};
constexpr word<epilogue> epilogues[] = {{"store", epilogue::store},
                                        {"accumulate", epilogue::accumulate}};
constexpr word<placement> placements[] = {{"dense", placement::dense},
                                          {"padded", placement::padded},
                                          {"transposed", placement::transposed},
                                          {"spread", placement::spread}};

template <class Table, class Value>
Value value_in(const Table& table, std::string_view text, Value) {
  std::string known;
  for (const auto& w : table) {
    if (w.name == text) return w.value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", w.name);
  }
  throw input_error(fmt::format("'{}': use one of {}", text, known));
}

template <class Table, class Value>
std::string name_in(const Table& table, const Value& value) {
  for (const auto& w : table) {
    if (w.value == value) return w.name;
  }
  return "?";
}

/// A number within [low, high].
template <class T>
T parse_whole(std::string_view text, T low, T high, int base = 10) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || rest != end || value < low || value > high) {
    throw input_error(fmt::format("'{}': use a{} number from {} to {}", text,
                                  base == 16 ? " hexadecimal" : "", low, high));
  }
  return value;
}

std::uint32_t parse_bits(std::string_view text) {
  return parse_whole<std::uint32_t>(text, 0, 0xffffffff, 16);
}

std::uint64_t parse_bits64(std::string_view text) {
  return parse_whole<std::uint64_t>(text, 0, ~std::uint64_t{0}, 16);
}

/// Elements along M or N and along K; 0: all.
granularity parse_granularity(std::string_view text) {
  const auto x = text.find('x');
  if (x == std::string_view::npos) {
    throw input_error(
        fmt::format("'{}': use RxC, such as 1x128; 0 means all", text));
  }
  constexpr std::int32_t most = 1 << 20;
  return {parse_whole<std::int32_t>(text.substr(0, x), 0, most),
          parse_whole<std::int32_t>(text.substr(x + 1), 0, most)};
}

std::string to_text(granularity g) { return fmt::format("{}x{}", g.mn, g.k); }

std::string name_of_path(const path& p) {
  for (const auto& named : all_paths()) {
    if (named.value == p) return named.name;
  }
  for (int f = 8; f <= 34; ++f) {
    if (p.acc == what_if_fraction(f)) {
      return fmt::format("whatif.f{}.{}.{}.f32", f, name_of(p.a), name_of(p.b));
    }
  }
  return "?";
}

// clang-format off
#define READ [](settings& s, std::string_view text)
#define WRITE [](const settings& s) -> std::string
// clang-format on

std::vector<option> make_options() {
  constexpr std::int32_t most = 1 << 20;
  return {{"from", "format of the input", READ{s.from = parse_format(text);
}
, WRITE { return name_of(s.from); }
, {}
}  // namespace
, {"to", "format of the output", READ{s.to = parse_format(text);
}  // namespace zeroulp::fuzz
, WRITE { return name_of(s.to); }
, {}
}
, {"round", "rounding", READ{s.round.mode = parse_rounding(text);
}
, WRITE { return std::string(name_of(s.round.mode)); }
, { "nearest_even", "toward_zero" }
}
, {"random", "bits of stochastic rounding, hexadecimal",
   READ{s.round.random = parse_bits(text);
}
, WRITE { return fmt::format("{:x}", s.round.random); }
, { "0", "80000000", "ffffffff" }
}
, {"overflow", "policy of overflow and specials",
   READ{s.overflow = parse_policy(text);
}
, WRITE { return name_in(named_policies, s.overflow); }
, { "ocp_saturate", "ocp_nonsaturate" }
}
, {"op", "operation", READ{s.op = value_in(operations, text, s.op);
}
, WRITE { return name_in(operations, s.op); }
, {}
}
, {"approximate", "divide as PTX div.full does: yes or no",
   READ{s.approximate = value_in(truths, text, s.approximate);
}
, WRITE { return name_in(truths, s.approximate); }
, {}
}
, {"path", "tensor-core path", READ{s.unit = parse_path(text).value;
}
, WRITE { return name_of_path(s.unit); }
, {}
}
, {"convention", "quantizer convention", READ{s.how = parse_convention(text);
}
, WRITE { return s.how.name; }
, {}
}
, {"scale", "kind of scale", READ{s.scale = parse_scale_kind(text);
}
, WRITE { return std::string(name_of(s.scale)); }
, { "fp32", "pow2" }
}
, {"group", "group that shares a scale", READ{s.group = parse_group(text);
}
, WRITE { return name_of(s.group); }
, { "1x128" }
}
, {"layout", "layout of the scales", READ{s.layout = parse_scale_layout(text);
}
, WRITE { return std::string(name_of(s.layout)); }
, { "row_major" }
}
, {"history", "rule of delayed scaling",
   READ{s.history = value_in(histories, text, s.history);
}
, WRITE { return name_in(histories, s.history); }
, { "maximum" }
}
, {"decay", "of the moving average, FP32 bits in hexadecimal",
   READ{s.decay = parse_bits(text);
}
, WRITE { return fmt::format("{:x}", s.decay); }
, { "3f000000", "3f666666" }
}
, {"packing", "layout of 12-bit codes",
   READ{s.packing = value_in(packings, text, s.packing);
}
, WRITE { return name_in(packings, s.packing); }
, { "bytes" }
}
, {"rule", "rule of re-tiling", READ{s.rule = parse_retile_rule(text);
}
, WRITE { return std::string(name_of(s.rule)); }
, { "amax" }
}
, {"tile", "length of a tile; 0: all",
   READ{s.tile = parse_whole<std::int32_t>(text, 0, most);
}
, WRITE { return std::to_string(s.tile); }
, { "128" }
}
, {"interval", "elements of K between promotions; 0: none",
   READ{s.gemm.interval = parse_whole<std::int32_t>(text, 0, most);
}
, WRITE { return std::to_string(s.gemm.interval); }
, { "0", "32", "64", "128" }
}
, {"update", "how a partial sum joins the FP32 sum",
   READ{s.gemm.update = value_in(promotions, text, s.gemm.update);
}
, WRITE { return name_in(promotions, s.gemm.update); }
, { "add", "product_of_scales" }
}
, {"a_group", "elements of A that share a scale, along M and K",
   READ{s.gemm.a = parse_granularity(text);
}
, WRITE { return to_text(s.gemm.a); }
, { "0x0", "1x128" }
}
, {"b_group", "elements of B that share a scale, along N and K",
   READ{s.gemm.b = parse_granularity(text);
}
, WRITE { return to_text(s.gemm.b); }
, { "0x0", "1x128" }
}
, {"splits", "ranges into which K is cut",
   READ{s.gemm.splits = parse_whole<std::int32_t>(text, 1, most);
}
, WRITE { return std::to_string(s.gemm.splits); }
, { "1", "2" }
}
, {"end", "epilogue", READ{s.gemm.end = value_in(epilogues, text, s.gemm.end);
}
, WRITE { return name_in(epilogues, s.gemm.end); }
, { "store" }
}
, {"output", "format of D: fp32 or bf16",
   READ{s.gemm.output = parse_format(text);
}
, WRITE { return name_of(s.gemm.output); }
, { "fp32" }
}
, {"value", "format of what swiglu computes",
   READ{s.value = parse_format(text);
}
, WRITE { return name_of(s.value); }
, { "fp32", "bf16" }
}
, {"gradient", "format of dh", READ{s.gradient = parse_format(text);
}
, WRITE { return name_of(s.gradient); }
, { "fp32", "bf16" }
}
, {"out_to", "format of what is quantized of the values",
   READ{s.out_to = parse_format(text);
}
, WRITE { return name_of(s.out_to); }
, { "e4m3" }
}
, {"out_scale", "kind of its scales",
   READ{s.out_scale = parse_scale_kind(text);
}
, WRITE { return std::string(name_of(s.out_scale)); }
, { "fp32", "pow2" }
}
, {"random_seed", "seed of stochastic rounding, hexadecimal",
   READ{s.random_seed = parse_bits64(text);
}
, WRITE { return fmt::format("{:x}", s.random_seed); }
, { "0", "1" }
}
, {"first_index", "index of the first element, hexadecimal",
   READ{s.first_index = parse_bits64(text);
}
, WRITE { return fmt::format("{:x}", s.first_index); }
, { "0", "1" }
}
, {"sum", "order and roundings of a sum",
   READ{s.sum = value_in(named_combine_rules, text, s.sum);
}
, WRITE { return name_in(named_combine_rules, s.sum); }
, { "fp32_slots", "bf16_hops" }
}
, {"place", "how matrices lie in their buffers",
   READ{s.place = value_in(placements, text, s.place);
}
, WRITE { return name_in(placements, s.place); }
, { "dense", "padded" }
}
,
}
;
}

#undef READ
#undef WRITE

const std::vector<option>& options() {
  static const std::vector<option> table = make_options();
  return table;
}

}  // namespace

const option& option_of(std::string_view name) {
  for (const option& o : options()) {
    if (o.name == name) return o;
  }
  throw input_error(fmt::format("unknown setting '{}'", name));
}

void set(settings& s, target t, std::string_view name, std::string_view text) {
  const target_info& info = info_of(t);
  std::string known;
  for (const char* mine : info.options) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", mine);
    if (mine != name) continue;
    try {
      return option_of(name).read(s, text);
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}: {}", name, e.what()));
    }
  }
  throw input_error(fmt::format("{} has no setting '{}': use one of {}",
                                info.name, name, known));
}

std::string to_text(const settings& s, target t) {
  std::string text;
  for (const char* name : info_of(t).options) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name,
                        option_of(name).write(s));
  }
  return text;
}

}  // namespace zeroulp::fuzz
