// Makes the numbers of a `step` case. A few terms are put at chosen places (the
// exponents by which they are aligned) and at random k. The result then shows
// what is cut, and how the sum is converted:
//
//   shifts       a big term, beside small ones at every shift
//   cancelling   the same with big terms that cancel: what is left shows
//   addends      c above, at and below the largest product, to beyond the cut
//   conversions  sums with their last bits around the last place of the output
//   floors       places around the exponent floor and the smallest numbers
//   overflows    places around the largest numbers
//   special      NaN, Inf and 0 * Inf among any of these
//   families     the random families of the step checks

#include "fuzz/targets/step/fill.hpp"

#include <utility>

#include "conformance/cases/step_cases.hpp"
#include "fuzz/targets/step/sketch.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  families,
  shifts,
  cancelling,
  addends,
  conversions,
  floors,
  overflows,
  special,
};

/// A big term at `place`, or terms that cancel there, and small ones at every
/// shift.
void window(sketch& s, int place, bool cancels) {
  counter_rng& rng = s.rng();
  const int f = s.fraction_bits();
  const format stored = s.unit().acc.stored;
  const bool negative = rng.one_in(2);
  if (!cancels && rng.one_in(2)) {
    s.put_c(place, negative, rng.one_in(2) ? 0 : some_fraction(stored, rng));
  } else {
    const auto big = s.product_at(place, negative, rng.one_in(2));
    const bool by_c = rng.one_in(3);
    s.put(big);
    if (cancels && by_c) s.put_c_against(big);
    if (cancels && !by_c) s.put(s.negated(big));
  }
  const int shift = rng.between(0, f + 3);
  for (int n = rng.one_in(2) ? 1 : rng.between(2, 4); n > 0; --n) {
    const int by = rng.one_in(2) ? shift : rng.between(0, f + 3);
    s.put(s.product_at(place - by, rng.one_in(2), rng.one_in(2)));
  }
  if (s.c() == 0 && rng.one_in(2)) {
    s.put_c(place - rng.between(0, f + 7), rng.one_in(2),
            some_fraction(stored, rng));
  }
}

/// c at every distance from the largest product.
void addend(sketch& s) {
  counter_rng& rng = s.rng();
  const format stored = s.unit().acc.stored;
  const int place = s.some_place();
  const int reach =
      rng.one_in(4) ? 3 : s.fraction_bits() + (rng.one_in(3) ? 14 : 4);
  for (int n = rng.between(1, 3); n > 0; --n) {
    s.put(s.product_at(place - rng.between(0, 3), rng.one_in(2)));
  }
  s.put_c(place + rng.between(-reach, reach), rng.one_in(2),
          some_fraction(stored, rng));
}

/// Sums with bits around the last place of the output.
void conversion(sketch& s) {
  counter_rng& rng = s.rng();
  const format output = s.unit().acc.output;
  const format stored = s.unit().acc.stored;
  const int place = std::min(s.some_place(), max_exponent(output) - 2);
  const bool negative = rng.one_in(2);
  // If c is added last, its last place is that of the sum.
  const bool only_c = s.unit().acc.c == addend::last;
  for (int n = only_c ? 0 : rng.between(0, 3); n > 0; --n) {
    s.put(s.product_at(place, negative, rng.one_in(2)));
  }
  if (only_c || rng.one_in(2)) {
    const int below = stored.man_bits - output.man_bits;
    s.put_c(place, negative, some_fraction(stored, rng) >> below << below);
  }
  const int last = place - output.man_bits;
  for (int n = rng.one_in(2) ? 1 : rng.between(2, 3); n > 0; --n) {
    s.put(s.product_at(last + rng.between(-3, 1), rng.one_in(2), true));
  }
}

/// The last bit that the exponent floor lets through, or one beside it.
int last_bit(sketch& s) {
  const accumulator& acc = s.unit().acc;
  return acc.exponent_floor - s.fraction_bits() + s.rng().between(-1, 1);
}

/// Sums between the output's smallest numbers. Some differ by one bit around
/// the last bit that the floor lets through.
void smallest(sketch& s) {
  counter_rng& rng = s.rng();
  const accumulator& acc = s.unit().acc;
  const bool truncates = acc.conversion == rounding::toward_zero;
  const int quantum = acc.output.quantum_exponent();
  const bool negative = rng.one_in(2);
  if (acc.exponent_floor != no_floor && rng.one_in(2)) {
    s.put(s.product_at(quantum - (truncates ? 0 : 1), negative, true));
    s.put(s.product_at(last_bit(s), negative != truncates, true));
    return;
  }
  const int beside = rng.one_in(2) ? 0 : rng.between(-1, 1);
  s.put(s.product_at(quantum - 1 + beside, negative, rng.one_in(2)));
  if (rng.one_in(2)) {
    s.put(s.product_at(quantum + rng.between(0, 4), negative, true));
  }
}

/// Places around the exponent floor, or where the output's numbers end. Where
/// no product is so small, c alone.
void floor(sketch& s) {
  counter_rng& rng = s.rng();
  const accumulator& acc = s.unit().acc;
  const format stored = acc.stored;
  if (rng.one_in(3)) return smallest(s);
  const bool has_floor = acc.exponent_floor != no_floor;
  const int first = has_floor ? acc.exponent_floor : s.lowest();
  const int ends[] = {first, first, acc.output.min_exponent(),
                      acc.output.quantum_exponent()};
  const int place = one_of(ends, rng) + rng.between(-2, 2);
  if (place >= s.lowest()) {
    if (has_floor && rng.one_in(2)) {
      s.put(s.product_at(last_bit(s), rng.one_in(2), true));
    }
    for (int n = rng.one_in(2) ? 1 : rng.between(2, 4); n > 0; --n) {
      const int by = rng.one_in(2) ? 0 : rng.between(1, 3);
      s.put(s.product_at(place - by, rng.one_in(2), rng.one_in(2)));
    }
    if (!rng.one_in(3)) return;
  }
  s.put_c(rng.one_in(2) ? place : stored.min_exponent() - 1, rng.one_in(2),
          some_fraction(stored, rng));
}

/// Sums around the largest numbers: products, or c and its last places.
void overflow(sketch& s) {
  counter_rng& rng = s.rng();
  const accumulator& acc = s.unit().acc;
  const int top = max_exponent(acc.output);
  const int half = top - acc.output.man_bits - 1;  // of the last place
  const bool negative = rng.one_in(2);
  const bool edge = !rng.one_in(4);
  if (edge) {
    const std::uint64_t below = rng.one_in(4) ? 1 : 0;
    s.set_c((acc.stored.max_code() - below) |
            (negative ? acc.stored.sign_mask() : 0));
    if (rng.one_in(16)) return;
    s.put(s.product_at(half - (rng.one_in(4) ? 1 : 0),
                       negative != rng.one_in(8), rng.one_in(2)));
    if (!rng.one_in(3)) return;
  }
  for (int n = rng.between(1, 3); n > 0; --n) {
    const int place =
        edge ? half - rng.between(0, 3) : top - rng.between(-1, 2);
    s.put(s.product_at(place, negative != rng.one_in(4), rng.one_in(2)));
  }
}

/// NaN, Inf and 0 * Inf beside whatever is there.
void specials_among(sketch& s) {
  counter_rng& rng = s.rng();
  const auto code = [&](format f) {
    constexpr code_kind list[] = {code_kind::zero, code_kind::normal,
                                  code_kind::infinite, code_kind::infinite,
                                  code_kind::nan};
    const code_kind k = one_of(list, rng);
    // A format without Inf gets any code: with NaN, every result would be NaN.
    return code_of_kind(f, k, rng);
  };
  for (int n = rng.between(0, 2); n > 0; --n) {
    s.put({code(s.unit().a), code(s.unit().b)});
  }
  if (rng.one_in(2)) s.set_c(code(s.unit().acc.stored));
}

void families(problem& p, counter_rng& rng) {
  const path& unit = p.with.unit;
  const auto family = static_cast<conformance::step_family>(
      rng.below(conformance::step_families));
  auto x = conformance::make_step_case(unit, family, rng);
  const auto row = [&](const char* name, format f,
                       std::vector<std::uint64_t>& codes) {
    matrix m;
    m.name = name;
    m.type = f;
    m.rows = 1;
    m.cols = x.count;
    codes.resize(static_cast<std::size_t>(x.count));
    m.words = std::move(codes);
    return m;
  };
  p.in.clear();
  p.in.push_back(row("a", unit.a, x.a));
  p.in.push_back(row("b", unit.b, x.b));
  p.in.emplace_back("c", unit.acc.stored, 1, 1, x.c);
}

}  // namespace

std::vector<const char*> step_profiles() {
  return {"families",    "shifts", "cancelling", "addends",
          "conversions", "floors", "overflows",  "special"};
}

void fill_step(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  if (how == profile::families) return families(p, rng);
  sketch s(p.with.unit, rng);
  switch (how) {
    case profile::families:
    case profile::shifts:
    case profile::cancelling:
      window(s, s.some_place(), how == profile::cancelling);
      break;
    case profile::addends:
      addend(s);
      break;
    case profile::conversions:
      conversion(s);
      break;
    case profile::floors:
      floor(s);
      break;
    case profile::overflows:
      overflow(s);
      break;
    case profile::special:
      if (rng.one_in(2)) addend(s);
      specials_among(s);
      break;
  }
  s.fill_up();
  std::move(s).give(p);
}

}  // namespace zeroulp::fuzz
