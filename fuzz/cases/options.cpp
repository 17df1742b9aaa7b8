// The options of all targets: each setting as text.

#include "fuzz/cases/options.hpp"

#include <fmt/format.h>

#include <concepts>
#include <utility>

#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// The names of a type's values.
template <class T>
struct word {
  const char* name;
  T value;
};
template <class T>
struct words;
template <>
struct words<operation> {
  static constexpr word<operation> table[] = {
      {"add", operation::add},
      {"subtract", operation::subtract},
      {"multiply", operation::multiply},
      {"fma", operation::fma},
      {"divide", operation::divide},
      {"square_root", operation::square_root}};
};
template <>
struct words<bool> {
  static constexpr word<bool> table[] = {{"no", false}, {"yes", true}};
};
template <>
struct words<history_rule> {
  static constexpr word<history_rule> table[] = {
      {"maximum", history_rule::maximum},
      {"moving_average", history_rule::moving_average}};
};
template <>
struct words<pack_layout> {
  static constexpr word<pack_layout> table[] = {{"bytes", pack_layout::bytes},
                                                {"words", pack_layout::words}};
};
template <>
struct words<promotion> {
  static constexpr word<promotion> table[] = {
      {"add", promotion::add},
      {"product_of_scales", promotion::product_of_scales},
      {"one_then_other", promotion::one_then_other},
      {"other_then_one", promotion::other_then_one}};
};
template <>
struct words<epilogue> {
  static constexpr word<epilogue> table[] = {
      {"store", epilogue::store}, {"accumulate", epilogue::accumulate}};
};
template <>
struct words<placement> {
  static constexpr word<placement> table[] = {
      {"dense", placement::dense},
      {"padded", placement::padded},
      {"transposed", placement::transposed},
      {"spread", placement::spread}};
};
template <>
struct words<combine_rule> {
  static constexpr auto& table = named_combine_rules;
};

template <>
struct words<router_score> {
  static constexpr word<router_score> table[] = {
      {"sigmoid", router_score::sigmoid}, {"softmax", router_score::softmax}};
};
template <>
struct words<group_score> {
  static constexpr word<group_score> table[] = {
      {"top2_sum", group_score::top2_sum}, {"max", group_score::max}};
};

/// A number within [low, high].
template <class T>
T parse_whole(std::string_view text, T low, T high, int base = 10) {
  const auto value = whole_number<T>(text, base);
  if (!value || *value < low || *value > high) {
    throw input_error(fmt::format("'{}': use a{} number from {} to {}", text,
                                  base == 16 ? " hexadecimal" : "", low, high));
  }
  return *value;
}

template <class T>
concept named = requires {
  words<T>::table;
};

// The text form of each setting's type: read() throws input_error.

template <named T>
void read(T& x, std::string_view text) {
  std::string known;
  for (const auto& w : words<T>::table) {
    if (w.name == text) {
      x = w.value;
      return;
    }
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

template <named T>
std::string write(const T& x) {
  return name_in(words<T>::table, x);
}

void read(format& f, std::string_view text) { f = parse_format(text); }
std::string write(format f) { return name_of(f); }

void read(rounding& r, std::string_view text) { r = parse_rounding(text); }
std::string write(rounding r) { return std::string(name_of(r)); }

void read(policy& p, std::string_view text) { p = parse_policy(text); }
std::string write(const policy& p) { return name_in(named_policies, p); }

void read(path& p, std::string_view text) { p = parse_path(text).value; }
std::string write(const path& p) {
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

void read(named_convention& c, std::string_view text) {
  c = parse_convention(text);
}
std::string write(const named_convention& c) { return c.name; }

void read(scale_kind& k, std::string_view text) { k = parse_scale_kind(text); }
std::string write(scale_kind k) { return std::string(name_of(k)); }

void read(group_shape& g, std::string_view text) { g = parse_group(text); }
std::string write(group_shape g) { return name_of(g); }

void read(scale_layout& l, std::string_view text) {
  l = parse_scale_layout(text);
}
std::string write(scale_layout l) { return std::string(name_of(l)); }

void read(retile_rule& r, std::string_view text) {
  r = parse_retile_rule(text);
}
std::string write(retile_rule r) { return std::string(name_of(r)); }

constexpr std::int32_t most = 1 << 20;  ///< of lengths and counts

/// Elements along M or N and along K; 0: all.
void read(granularity& g, std::string_view text) {
  const auto x = text.find('x');
  if (x == std::string_view::npos) {
    throw input_error(
        fmt::format("'{}': use RxC, such as 1x128; 0 means all", text));
  }
  g = {parse_whole<std::int32_t>(text.substr(0, x), 0, most),
       parse_whole<std::int32_t>(text.substr(x + 1), 0, most)};
}
std::string write(granularity g) { return fmt::format("{}x{}", g.mn, g.k); }

/// Bits, in hexadecimal.
template <std::unsigned_integral T>
requires(!named<T>) void read(T& bits, std::string_view text) {
  bits = parse_whole<T>(text, 0, static_cast<T>(~T{0}), 16);
}
template <std::unsigned_integral T>
requires(!named<T>) std::string write(T bits) {
  return fmt::format("{:x}", bits);
}

/// A member of the settings, or a member of that member, and so on.
template <auto... Member>
auto& at(auto& s) {
  return (s.*....*Member);
}

/// The option for such a member. `simplest` has the values that a shrinker may
/// try.
template <auto... Member>
option row(const char* name, const char* about,
           std::vector<std::string> simplest = {}) {
  return {
      name, about,
      [](settings& s, std::string_view text) { read(at<Member...>(s), text); },
      [](const settings& s) { return write(at<Member...>(s)); },
      std::move(simplest)};
}

/// The option for a number of at least `Least`.
template <std::int32_t Least, auto... Member>
option count(const char* name, const char* about,
             std::vector<std::string> simplest) {
  return {name, about,
          [](settings& s, std::string_view text) {
            at<Member...>(s) = parse_whole(text, Least, most);
          },
          [](const settings& s) { return std::to_string(at<Member...>(s)); },
          std::move(simplest)};
}

const std::vector<option>& options() {
  using s = settings;
  static const std::vector<option> table = {
      row<&s::from>("from", "format of the input"),
      row<&s::to>("to", "format of the output"),
      row<&s::round, &rounder::mode>("round", "rounding",
                                     {"nearest_even", "toward_zero"}),
      row<&s::round, &rounder::random>(
          "random", "bits of stochastic rounding, hexadecimal",
          {"0", "80000000", "ffffffff"}),
      row<&s::overflow>("overflow", "policy of overflow and specials",
                        {"ocp_saturate", "ocp_nonsaturate"}),
      row<&s::op>("op", "operation"),
      row<&s::approximate>("approximate",
                           "divide as PTX div.full does: yes or no"),
      row<&s::unit>("path", "tensor-core path"),
      row<&s::how>("convention", "quantizer convention"),
      row<&s::scale>("scale", "kind of scale", {"fp32", "pow2"}),
      row<&s::group>("group", "group that shares a scale", {"1x128"}),
      row<&s::layout>("layout", "layout of the scales", {"row_major"}),
      row<&s::history>("history", "rule of delayed scaling", {"maximum"}),
      row<&s::decay>("decay", "of the moving average, FP32 bits in hexadecimal",
                     {"3f000000", "3f666666"}),
      row<&s::packing>("packing", "layout of 12-bit codes", {"bytes"}),
      row<&s::rule>("rule", "rule of re-tiling", {"amax"}),
      count<0, &s::tile>("tile", "length of a tile; 0: all", {"128"}),
      count<0, &s::gemm, &recipe::interval>(
          "interval", "elements of K between promotions; 0: none",
          {"0", "32", "64", "128"}),
      row<&s::gemm, &recipe::update>("update",
                                     "how a partial sum joins the FP32 sum",
                                     {"add", "product_of_scales"}),
      row<&s::gemm, &recipe::a>(
          "a_group", "elements of A that share a scale, along M and K",
          {"0x0", "1x128"}),
      row<&s::gemm, &recipe::b>(
          "b_group", "elements of B that share a scale, along N and K",
          {"0x0", "1x128"}),
      count<1, &s::gemm, &recipe::splits>(
          "splits", "ranges into which K is cut", {"1", "2"}),
      row<&s::gemm, &recipe::end>("end", "epilogue", {"store"}),
      row<&s::gemm, &recipe::output>("output", "format of D: fp32 or bf16",
                                     {"fp32"}),
      row<&s::value>("value", "format of what is computed", {"fp32", "bf16"}),
      row<&s::weight>("weight", "format of w", {"fp32", "bf16"}),
      row<&s::gradient>("gradient", "format of dh", {"fp32", "bf16"}),
      row<&s::out_to>("out_to", "format of what is quantized of the values",
                      {"e4m3"}),
      row<&s::out_scale>("out_scale", "kind of its scales", {"fp32", "pow2"}),
      row<&s::random_seed>("random_seed",
                           "seed of stochastic rounding, hexadecimal",
                           {"0", "1"}),
      row<&s::first_index>(
          "first_index", "index of the first element, hexadecimal", {"0", "1"}),
      row<&s::sum>("sum", "order and roundings of a sum",
                   {"fp32_slots", "bf16_hops"}),
      row<&s::route, &router::score>(
          "score", "scores of the experts: sigmoid or softmax", {"sigmoid"}),
      count<1, &s::route, &router::groups>("groups", "groups of the experts",
                                           {"1", "2"}),
      count<1, &s::route, &router::kept>(
          "kept", "groups that a token chooses from", {"1"}),
      row<&s::route, &router::of_group>(
          "group_score", "score of a group: top2_sum or max", {"max"}),
      row<&s::route, &router::normalized>(
          "normalized", "weights are shares of the slots' scores: yes or no",
          {"no"}),
      row<&s::route, &router::scale>("route_scale",
                                     "of the weights, FP32 bits in hexadecimal",
                                     {"3f800000"}),
      count<1, &s::heads>("heads", "heads beside each other", {"1"}),
      count<0, &s::length>("length", "tokens of a sequence; 0: all", {"0"}),
      row<&s::place>("place", "how matrices lie in their buffers",
                     {"dense", "padded"}),
  };
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
