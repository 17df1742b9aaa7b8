// Parts that the targets of single codes share.

#include "fuzz/targets/parts.hpp"

#include <algorithm>
#include <iterator>

namespace zeroulp::fuzz {

std::vector<const char*> counted_up(int low, int high, const char* more) {
  constexpr const char* numbers[] = {
      "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10",
      "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21",
      "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32",
      "33", "34", "35", "36", "37", "38", "39", "40"};
  std::vector<const char*> values(numbers + low, numbers + high + 1);
  values.push_back(more);
  return values;
}

bin_axis kind_axis(const char* name) {
  bin_axis axis = code_axis();
  axis.name = name;
  return axis;
}

std::uint64_t any_code(format f, counter_rng& rng) {
  return rng.next() >> (64 - f.bits());
}

std::uint64_t with_any_sign(format f, std::uint64_t code, counter_rng& rng) {
  return rng.one_in(2) ? code | f.sign_mask() : code;
}

namespace {

/// The fraction of a NaN: all ones, the highest or the lowest bit, or any.
std::uint64_t nan_payload_of(format f, counter_rng& rng) {
  const std::uint64_t all = low_bits(f.man_bits);
  const std::uint64_t payloads[] = {
      all, (all >> 1) + 1, 1, std::max<std::uint64_t>(rng.next() & all, 1)};
  return one_of(payloads, rng);
}

}  // namespace

std::uint64_t code_of_kind(format f, code_kind k, counter_rng& rng) {
  const std::uint64_t bits = rng.next();
  const std::uint64_t fraction = bits & low_bits(f.man_bits);
  const auto with_sign = [&](std::uint64_t magnitude) {
    return with_any_sign(f, magnitude, rng);
  };
  switch (k) {
    case code_kind::zero:
      return f.kind == specials::fnuz ? 0 : with_sign(0);
    case code_kind::subnormal:
      if (f.man_bits == 0) break;
      return with_sign(std::max<std::uint64_t>(fraction, 1));
    case code_kind::normal: {
      const std::uint64_t first = std::uint64_t{1} << f.man_bits;
      return with_sign(first + bits % (f.max_code() - first));
    }
    case code_kind::largest:
      return with_sign(f.max_code());
    case code_kind::infinite:
      if (!f.has_infinity()) break;
      return with_sign(f.infinity_code());
    case code_kind::nan:
      if (f.kind == specials::fnuz) return f.sign_mask();
      if (f.kind == specials::fn) return with_sign(f.magnitude_mask());
      if (f.kind == specials::scale) return f.magnitude_mask();
      if (!f.has_nan()) break;
      return with_sign(f.infinity_code() | nan_payload_of(f, rng));
  }
  return any_code(f, rng);
}

std::uint64_t code_at(format f, int exponent, std::uint64_t fraction) {
  const int lowest = f.min_exponent();
  const int e = std::clamp(exponent, lowest, max_exponent(f)) + f.bias;
  return std::min(static_cast<std::uint64_t>(e) << f.man_bits | fraction,
                  f.max_code());
}

std::uint64_t some_fraction(format f, counter_rng& rng) {
  const std::uint64_t all = low_bits(f.man_bits);
  const std::uint64_t bits = rng.next();
  const int at = static_cast<int>(bits >> 58) % (f.man_bits + 1);
  switch (rng.below(8)) {
    case 0:
      return 0;
    case 1:
      return all;
    case 2:
      return all & std::uint64_t{1} << at;
    case 3:
      return bits & all & ~low_bits(at);
    case 4:
      return (bits & all) | (all & low_bits(at));
    default:
      return bits & all;
  }
}

std::ptrdiff_t some_length(counter_rng& rng) {
  return rng.one_in(16) ? rng.between(1, 63) : 64;
}

format any_format(counter_rng& rng) {
  if (!rng.one_in(8)) return named_formats[rng.below(15)].value;
  const auto e = static_cast<std::uint8_t>(rng.between(2, 11));
  const auto m = static_cast<std::uint8_t>(rng.between(1, 52));
  // If this eXmY names a format with other specials, return that format.
  for (const named_format& f : named_formats) {
    if (f.value.exp_bits == e && f.value.man_bits == m) return f.value;
  }
  return {e, m, static_cast<std::int16_t>((1 << (e - 1)) - 1), specials::ieee};
}

int index_of(format f) {
  int i = 0;
  for (const named_format& row : named_formats) {
    if (row.value == f) break;
    ++i;
  }
  return i;
}

bin_axis format_axis(const char* name) {
  bin_axis p{name, {}};
  for (const named_format& f : named_formats) p.values.push_back(f.name);
  p.values.push_back("eXmY");
  return p;
}

rounder any_rounder(counter_rng& rng) {
  const auto mode = named_roundings[rng.below(7)].value;
  std::uint32_t random = rng.next32();
  if (rng.one_in(2)) {
    random = random >> 27 == 0 ? 0 : random & ~(0xffffffffu >> (random % 24));
    random += rng.below(3) - 1;
  }
  return {mode, random};
}

bin_axis rounding_axis() {
  bin_axis p{"round", {}};
  for (const named_rounding& r : named_roundings) p.values.push_back(r.name);
  return p;
}

std::string clause_of(rounding mode) {
  return "R" + std::to_string(static_cast<int>(mode) + 1);
}

}  // namespace zeroulp::fuzz
