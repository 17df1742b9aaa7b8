// Parts that targets share: draws, kinds of codes and scales, bins.

#include "fuzz/targets/matrix_parts.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// Fraction bits that refined() adds: enough to tell a quotient of FP32 numbers
/// from a midpoint, as far as codes of 64 bits allow.
int added_bits(format f) { return std::min(32, 54 - f.magnitude_bits()); }

}  // namespace

format draw_code_format(counter_rng& rng) {
  constexpr format common[] = {e4m3, e4m3, e4m3, e5m6, e5m2};
  constexpr format rare[] = {
      e2m1, e2m3, e3m2, e4m3fnuz, e5m2fnuz, bf16, fp16, tf32, e8m13, fp32,
      // Formats without a name: e6m9, e2m5, e3m1.
      format{6, 9, 31, specials::ieee}, format{2, 5, 1, specials::ieee},
      format{3, 1, 3, specials::ieee}};
  return rng.one_in(3) ? one_of(rare, rng) : one_of(common, rng);
}

placement draw_placement(counter_rng& rng) {
  return static_cast<placement>(rng.below(conformance::placement_count));
}

std::uint64_t draw_special_code(format f, counter_rng& rng) {
  if (f.kind == specials::fnuz) return f.sign_mask();
  const auto count =
      static_cast<std::uint32_t>(f.magnitude_mask() - f.max_code());
  if (count == 0) return 0;
  const std::uint64_t nth = rng.one_in(2) ? 0 : rng.below(count);
  return (f.max_code() + 1 + nth) | (rng.one_in(2) ? f.sign_mask() : 0);
}

void strew_specials(matrix& x, std::uint32_t rarity, counter_rng& rng) {
  const auto size = static_cast<std::uint32_t>(x.words.size());
  for (std::uint32_t i = 0; size > 0 && i <= size / rarity; ++i) {
    auto& word = x.words[rng.below(size)];
    word = draw_special_code(x.type, rng);
  }
}

code_kind code_kind_of(format f, std::uint64_t code) {
  const unpacked x = decode(f, code);
  if (x.is_nan()) return code_kind::nan;
  if (x.is_infinite()) return code_kind::infinite;
  if (x.is_zero()) return code_kind::zero;
  const std::uint64_t magnitude = code & f.magnitude_mask();
  if (magnitude == f.max_code()) return code_kind::largest;
  const bool hidden = magnitude >> f.man_bits != 0 || !f.has_sign();
  return hidden ? code_kind::normal : code_kind::subnormal;
}

scale_class scale_class_of(std::uint64_t bits) {
  const std::uint64_t magnitude = bits & 0x7fffffff;
  const std::uint64_t fraction = bits & 0x007fffff;
  if (magnitude > fp32_infinity) return scale_class::nan;
  if (magnitude == 0) return scale_class::zero;
  if (bits != magnitude) return scale_class::negative;
  if (magnitude == fp32_infinity) return scale_class::infinite;
  if (magnitude == pow2_as_fp32(-127)) return scale_class::smallest;
  if (magnitude == fraction) return scale_class::subnormal;
  return fraction == 0 ? scale_class::pow2 : scale_class::other;
}

std::uint32_t draw_scale(counter_rng& rng) {
  const std::uint32_t fraction = 1 + rng.below(0x007fffff);
  const std::uint32_t normal = (1 + rng.below(254)) << 23;
  switch (static_cast<scale_class>(rng.below(scale_classes))) {
    case scale_class::pow2:
      return normal;
    case scale_class::other:
      // Half of them are one bit above a power of two.
      return normal | (rng.one_in(2) ? fraction : 1);
    case scale_class::smallest:
      return pow2_as_fp32(-127);
    case scale_class::subnormal:
      return rng.one_in(2) ? fraction : 1u << rng.below(22);
    case scale_class::zero:
      return rng.one_in(2) ? 0 : 0x80000000;
    case scale_class::infinite:
      return fp32_infinity;
    case scale_class::nan:
      return rng.one_in(2) ? 0x7fffffff : fp32_infinity | fraction;
    case scale_class::negative:
      break;
  }
  return 0x80000000 | normal | (rng.one_in(2) ? fraction : 0);
}

format refined(format f) {
  return {static_cast<std::uint8_t>(f.exp_bits + 1),
          static_cast<std::uint8_t>(f.man_bits + added_bits(f)), f.bias,
          specials::ieee};
}

position position_of(format f, std::uint64_t fine, bool nonzero) {
  const format r = refined(f);
  const std::uint64_t magnitude = fine & r.magnitude_mask();
  if (magnitude > r.infinity_code()) return position::nan;
  if (magnitude == r.infinity_code()) return position::infinite;
  if (magnitude > f.max_code() << added_bits(f)) return position::beyond;
  if (magnitude == 0) return nonzero ? position::below_half : position::exact;
  const std::uint64_t rest = magnitude & low_bits(added_bits(f));
  const std::uint64_t half = std::uint64_t{1} << (added_bits(f) - 1);
  return rest == 0      ? position::exact
         : rest < half  ? position::below_half
         : rest == half ? position::tie
                        : position::above_half;
}

const matrix& output_of(const outputs& all, std::string_view name) {
  for (const matrix& m : all) {
    if (m.name == name) return m;
  }
  throw std::logic_error("no output " + std::string(name));
}

bin_axis code_axis() {
  return {"code", {"zero", "subnormal", "normal", "largest", "inf", "nan"}};
}

bin_axis position_axis(int count) {
  std::vector<const char*> all{"exact",  "below_half", "tie", "above_half",
                               "beyond", "inf",        "nan"};
  all.resize(static_cast<std::size_t>(count));
  return {"at", all};
}

bin_axis scale_class_axis(const char* name) {
  return {name,
          {"pow2", "other", "2^-127", "subnormal", "zero", "inf", "nan",
           "negative"}};
}

bin_axis scale_kind_axis() {
  bin_axis axis{"scale", {}};
  for (const auto& row : named_scale_kinds) axis.values.push_back(row.name);
  return axis;
}

bin_axis sign_axis() { return {"sign", {"+", "-"}}; }

std::string refuse_number(const char* setting, format f) {
  if (number_index(f) >= 0) return "";
  return std::string(setting) + " is fp32, bf16 or fp16, not " + name_of(f);
}

std::string refuse_codes(const char* setting, format f) {
  if (is_quantizable(f)) return "";
  return std::string(setting) + ": no codes with scales of " + name_of(f) +
         ": it needs a sign, at most 32 bits, and a largest number within FP32";
}

bin_axis convention_axis() {
  bin_axis axis{"convention", {}};
  for (const auto& row : named_conventions) axis.values.push_back(row.name);
  return axis;
}

int convention_index(const settings& s) {
  int index = 0;
  for (const auto& row : named_conventions) {
    if (std::string_view(row.name) == s.how.name) break;
    ++index;
  }
  return index;
}

bin_axis group_axis(const char* name) {
  return {name, {"whole", "partial", "all"}};
}

void bin_table::add(const std::vector<bin_axis>& axes, const filter& possible) {
  family f;
  std::size_t count = 1;
  for (const bin_axis& axis : axes) {
    f.sizes.push_back(static_cast<int>(axis.values.size()));
    count *= axis.values.size();
  }
  for (std::size_t n = 0; n < count; ++n) {
    combination values(axes.size());
    std::string name;
    std::size_t rest = n;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::size_t value = rest % axes[i].values.size();
      rest /= axes[i].values.size();
      values[i] = static_cast<int>(value);
      const std::string word =
          axes[i].name + std::string("=") + axes[i].values[value];
      name = name.empty() ? word : word + " " + name;
    }
    const bool has_bin = !possible || possible(values);
    f.bins.push_back(has_bin ? static_cast<int>(names_.size()) : -1);
    if (has_bin) names_.push_back(name);
  }
  families_.push_back(f);
}

int bin_table::index(int which, std::initializer_list<int> values) const {
  const family& f = families_[static_cast<std::size_t>(which)];
  if (values.size() != f.sizes.size()) {
    throw std::logic_error("a bin is named by a value for each of its axes");
  }
  int at = 0;
  auto size = f.sizes.begin();
  for (const int value : values) at = at * *size++ + value;
  return f.bins[static_cast<std::size_t>(at)];
}

}  // namespace zeroulp::fuzz
