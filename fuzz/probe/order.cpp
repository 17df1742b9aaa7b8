// Finds the order of an instruction from its outputs.

#include "fuzz/probe/order.hpp"

#include <algorithm>
#include <optional>

#include "fuzz/probe/terms.hpp"
#include "zeroulp/core/view.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::code_for;

/// Terms of an experiment: +B, -B and s, or h and h beside c.
struct term_places {
  int plus;
  int minus;
  int small;
};

/// How a sum that cannot hold both loses the smaller one.
enum class losing : std::uint8_t {
  in_the_step,  ///< cut beside a B, also beside one that cancels
  when_stored,  ///< the step's sum is exact; what is stored is not
  nowhere,      ///< the outputs' formats hold both
};

/// The result so far: how many B, whether s.
struct state {
  int big = 0;
  bool small = false;
};

state stored(state x, losing how) {
  if (how != losing::nowhere && x.big != 0) x.small = false;
  return x;
}

/// The products of one step, added to `from`.
state step_sum(const order_found& o, const term_places& t, int step, state from,
               losing how) {
  const auto here = [&](int k) {
    return k != is_c && o.order.step_of(k) == step;
  };
  bool any_big = from.big != 0;
  if (here(t.plus)) ++from.big, any_big = true;
  if (here(t.minus)) --from.big, any_big = true;
  from.small = from.small || here(t.small);
  if (how == losing::in_the_step && any_big) from.small = false;
  return stored(from, how);
}

state plus(state x, state y, losing how) {
  return stored({x.big + y.big, x.small || y.small}, how);
}

/// Whether s is what remains.
bool predict_survival(const order_found& o, const term_places& t, losing how) {
  const state c{(t.plus == is_c) - (t.minus == is_c), t.small == is_c};
  const bool at_end = is_at_the_end(o.joins);
  const bool one_by_one =
      o.joins == joins::every_step || o.joins == joins::sums;
  state d = at_end ? state{} : c;
  for (int step = 0; step < o.order.steps; ++step) {
    d = one_by_one ? plus(d, step_sum(o, t, step, {}, how), how)
                   : step_sum(o, t, step, d, how);
  }
  return at_end ? plus(c, d, how).small : d.small;
}

/// What makes whole bits of halves: a sum with c, or each term beside it.
struct halves_rule {
  bool up;
  bool each_term;
};

/// How many halves of c's last bit two products of a half are in the end.
int predict_halves(const order_found& o, int i, int j, halves_rule rule) {
  const auto whole = [&](int halves) {
    return rule.up ? (halves + 1) / 2 * 2 : halves / 2 * 2;
  };
  const bool at_end = is_at_the_end(o.joins);
  int d = 0;
  for (int step = 0; step < o.order.steps; ++step) {
    const int here = (o.order.step_of(i) == step ? 1 : 0) +
                     (o.order.step_of(j) == step ? 1 : 0);
    const int added = rule.each_term && !at_end ? here * whole(1) : here;
    d = at_end ? d + added : whole(d + added);
  }
  return at_end ? whole(d) : d;
}

/// Placements that tell orders apart: every product beside every other with c
/// as one of the three, and triples of products.
std::vector<term_places> all_places(int length) {
  std::vector<term_places> all;
  for (int i = 0; i < length; ++i) {
    for (int j = 0; j < length; ++j) {
      if (i == j) continue;
      all.push_back({is_c, i, j});
      if (i < j) all.push_back({i, j, is_c});
    }
  }
  const auto last = static_cast<std::uint32_t>(length);
  counter_rng rng(1, static_cast<std::uint64_t>(length));
  for (int n = 0; n < 64 * length; ++n) {
    const term_places t{static_cast<int>(rng.below(last)),
                        static_cast<int>(rng.below(last)),
                        static_cast<int>(rng.below(last))};
    if (t.plus == t.minus || t.plus == t.small || t.minus == t.small) continue;
    all.push_back(t);
  }
  return all;
}

/// Keeps the orders by which s survives where it did.
class survivals {
 public:
  survivals(experiments& asked, const reach& r)
      : placed_(all_places(asked.box().length)) {
    const black_box& box = asked.box();
    std::vector<step_case> cases;
    std::vector<term_places> kept;
    for (const term_places& t : placed_) {
      const auto s = make_case(
          box, {{t.plus, r.high}, {t.minus, r.high, true}, {t.small, r.low}});
      if (!s) continue;
      cases.push_back(*s);
      kept.push_back(t);
    }
    placed_ = kept;
    const std::size_t first = asked.ask(cases);
    const auto small = code_for(box.stored, false, 1, r.low);
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      outcomes_.push_back(asked.all()[first + i].d == small.value_or(0));
    }
  }

  bool agree(const order_found& o) const {
    using enum losing;
    return agree(o, in_the_step) || agree(o, when_stored) || agree(o, nowhere);
  }

 private:
  bool agree(const order_found& o, losing how) const {
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      if (predict_survival(o, placed_[i], how) != outcomes_[i]) return false;
    }
    return true;
  }

  std::vector<term_places> placed_;
  std::vector<bool> outcomes_;
};

/// Keeps the orders by which halves of c's last bit meet where they did. It
/// says nothing where the box never shows such a bit.
class halves {
 public:
  halves(experiments& asked, const reach& r) {
    const black_box& box = asked.box();
    const auto scale = find_scale(asked, r);
    if (!scale) return;
    std::vector<step_case> cases;
    for (int i = 0; i < box.length; ++i) {
      for (int j = i + 1; j < box.length; ++j) {
        const auto s = make_case(
            box, {{is_c, scale->c}, {i, scale->half}, {j, scale->half}});
        cases.push_back(*s);
        pairs_.push_back({i, j, 0});
      }
    }
    const std::size_t first = asked.ask(cases);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      pairs_[i].halves =
          in_halves(asked.all()[first + i].d, *scale, box.stored);
      shown_ = shown_ || pairs_[i].halves != 0;
    }
  }

  bool agree(const order_found& o) const {
    return !shown_ || agree(o, {false, false}) || agree(o, {true, false}) ||
           agree(o, {true, true});
  }

 private:
  struct pair {
    int i;
    int j;
    int halves;
  };
  struct scale_of_c {
    int c;
    int half;
    int bits;  ///< of the output, below c's leading one
  };

  /// c = 2^n of which h = 2^(n - bits - 1) is half of the last bit: 2h beside
  /// it changes the output, and h alone does not, or changes it as much.
  static std::optional<scale_of_c> find_scale(experiments& asked,
                                              const reach& r) {
    const black_box& box = asked.box();
    std::vector<step_case> cases;
    std::vector<scale_of_c> scales;
    for (int bits = 2; bits <= box.stored.man_bits; ++bits) {
      for (const int c : {r.high, 0, bits + r.low + 1}) {
        const scale_of_c x{c, c - bits - 1, bits};
        const auto one = make_case(box, {{is_c, c}, {0, x.half}});
        const auto two = make_case(box, {{is_c, c}, {0, x.half + 1}});
        if (!one || !two) continue;
        cases.push_back(*one);
        cases.push_back(*two);
        scales.push_back(x);
      }
    }
    const std::size_t first = asked.ask(cases);
    for (std::size_t i = scales.size(); i-- > 0;) {
      const auto d = [&](std::size_t n) {
        return in_halves(asked.all()[first + 2 * i + n].d, scales[i],
                         box.stored);
      };
      if (d(1) == 2 && (d(0) == 0 || d(0) == 2)) return scales[i];
    }
    return {};
  }

  /// D - c in halves of its last bit; -1 where it is no such number.
  static int in_halves(std::uint64_t d, const scale_of_c& x, format stored) {
    const unpacked value = decode(stored, d);
    if (!value.is_finite() || value.is_zero() || value.negative) return -1;
    const int shift = value.exponent - x.half;
    const auto all = shift >= 0 ? value.significand << std::min(shift, 40)
                                : value.significand >> std::min(-shift, 63);
    const auto c = std::uint64_t{1} << (x.bits + 1);
    return all < c || all > c + 8 ? -1 : static_cast<int>(all - c);
  }

  bool agree(const order_found& o, halves_rule rule) const {
    return std::all_of(pairs_.begin(), pairs_.end(), [&](const pair& x) {
      return predict_halves(o, x.i, x.j, rule) == x.halves;
    });
  }

  std::vector<pair> pairs_;
  bool shown_ = false;
};

void add_joins(std::vector<order_found>& all, const grouping& g) {
  using enum joins;
  for (const joins j : {first_step, every_step, the_end}) all.push_back({g, j});
  if (g.steps > 1) all.push_back({g, sums});
}

}  // namespace

std::vector<order_found> all_orders(int length) {
  std::vector<order_found> all;
  for (const bool reversed : {false, true}) {
    for (int chunk = length; chunk >= 1; --chunk) {
      const int steps = static_cast<int>(ceil_div(length, chunk));
      if (!reversed || steps > 1) add_joins(all, {chunk, steps, reversed});
    }
    for (int steps = 2; steps <= length / 2; ++steps) {
      for (int chunk = length / steps / 2; chunk >= 1; --chunk) {
        if (length % (chunk * steps) == 0) {
          add_joins(all, {chunk, steps, reversed});
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return x.order.steps < y.order.steps;
  });
  return all;
}

int lowest_product(experiments& asked, bool subnormals) {
  const black_box& box = asked.box();
  const reach r = reach_of(box);
  // An output of fewer bits has no smaller numbers.
  int low = std::max(r.low, box.stored.min_exponent());
  if (!subnormals) {
    low = std::max(low, box.a.min_exponent() + box.b.min_exponent());
  }
  std::vector<step_case> cases;
  std::vector<int> exponents;
  for (int e = low; e <= r.high; ++e) {
    const auto s = make_case(box, {{0, e}});
    if (!s) continue;
    cases.push_back(*s);
    exponents.push_back(e);
  }
  const std::size_t first = asked.ask(cases);
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    const auto alone = code_for(box.stored, false, 1, exponents[i]);
    if (alone && asked.all()[first + i].d == *alone) return exponents[i];
  }
  return low;
}

std::vector<order_found> find_orders(experiments& asked, int lowest) {
  auto all = all_orders(asked.box().length);
  const reach r{reach_of(asked.box()).high, lowest};
  const survivals by_survival(asked, r);
  std::erase_if(all, [&](const auto& o) { return !by_survival.agree(o); });
  if (all.size() > 1) {
    const halves by_halves(asked, r);
    std::erase_if(all, [&](const auto& o) { return !by_halves.agree(o); });
  }
  return all;
}

}  // namespace zeroulp::fuzz
