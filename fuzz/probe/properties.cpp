// The properties of a mechanism, each held against its other values.

#include "fuzz/probe/properties.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/probe/alignment.hpp"
#include "fuzz/probe/order.hpp"
#include "fuzz/probe/range.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// A mechanism that differs in one property.
struct variation {
  std::string value;
  mechanism m;
  int distance;  ///< 1: nearest
};

struct property {
  std::string name;
  std::string value;
  std::vector<variation> others;
};

std::string text_of(joins j) {
  switch (j) {
    case joins::first_step:
      return "a term of the first step";
    case joins::every_step:
      return "added to each step's converted sum";
    case joins::the_end:
      return "added to the result, to nearest";
    case joins::sums:
      return "added to the sum of the steps' results, to nearest";
  }
  return "";
}

std::string number_text(int value, int none, const char* name) {
  return value == none ? name : fmt::format("{}", value);
}

/// A property with its value in `m` and those that set(copy, value) gives.
template <class Values, class Text, class Get, class Set>
property make(const std::string& name, const mechanism& m, const Values& values,
              Text text, Get get, Set set) {
  property p{name, text(get(m)), {}};
  int index = 0;
  int mine = 0;
  for (const auto& value : values) {
    if (value == get(m)) mine = index;
    ++index;
  }
  index = 0;
  for (const auto& value : values) {
    const int distance = std::abs(index++ - mine);
    if (value == get(m)) continue;
    variation v{text(value), m, distance};
    set(v.m, value);
    p.others.push_back(std::move(v));
  }
  return p;
}

property truth(const std::string& name, const mechanism& m,
               bool mechanism::*which) {
  return make(
      name, m, std::vector<bool>{false, true},
      [](bool x) { return std::string(x ? "yes" : "no"); },
      [which](const mechanism& x) { return x.*which; },
      [which](mechanism& x, bool value) { x.*which = value; });
}

std::vector<int> range(int first, int last) {
  std::vector<int> all;
  for (int x = first; x <= last; ++x) all.push_back(x);
  return all;
}

property order_of(const mechanism& m) {
  property p{"order", describe(m.order, m.length), {}};
  for (const auto& o : all_orders(m.length)) {
    if (o.joins != m.joins || o.order == m.order) continue;
    variation v{describe(o.order, m.length), m,
                std::abs(o.order.steps - m.order.steps) +
                    (m.length % o.order.chunk == 0 ? 0 : m.length)};
    v.m.order = o.order;
    p.others.push_back(std::move(v));
  }
  return p;
}

property rounding_of(const std::string& name, const mechanism& m,
                     rounding accumulator::*which) {
  return make(
      name, m, alignment_roundings,
      [](rounding r) { return std::string(name_of(r)); },
      [which](const mechanism& x) { return x.acc.*which; },
      [which](mechanism& x, rounding r) { x.acc.*which = r; });
}

property fraction_of(const mechanism& m) {
  std::vector<int> values = range(0, max_fraction_bits);
  values.push_back(uncut);
  return make(
      "fraction bits", m, values,
      [](int f) { return number_text(f, uncut, "all (no cut)"); },
      [](const mechanism& x) { return int{x.acc.fraction_bits}; },
      [](mechanism& x, int f) {
        x.acc.fraction_bits = static_cast<std::int16_t>(f);
      });
}

property floor_of(const mechanism& m) {
  const floor_range floors = floors_of(m);
  std::vector<int> values = range(floors.low + 1, floors.high);
  values.insert(values.begin(), no_floor);
  return make(
      "floor of the largest place", m, values,
      [](int f) { return number_text(f, no_floor, "none"); },
      [](const mechanism& x) { return int{x.acc.exponent_floor}; },
      [](mechanism& x, int f) {
        x.acc.exponent_floor = static_cast<std::int16_t>(f);
      });
}

property output_of(const mechanism& m) {
  return make(
      "fraction bits of the output", m, range(2, m.acc.stored.man_bits),
      [](int bits) { return fmt::format("{}", bits); },
      [](const mechanism& x) { return int{x.acc.output.man_bits}; },
      [](mechanism& x, int bits) {
        x.acc.output.man_bits = static_cast<std::uint8_t>(bits);
      });
}

property joins_of(const mechanism& m) {
  using enum joins;
  return make(
      "c", m, std::vector<joins>{first_step, every_step, the_end, sums},
      text_of, [](const mechanism& x) { return x.joins; },
      [](mechanism& x, joins j) { x.joins = j; });
}

property place_of(const mechanism& m) {
  return make(
      "place of a product", m, std::vector<bool>{false, true},
      [](bool x) {
        return std::string(x ? "that of its highest bit"
                             : "the sum of its exponents");
      },
      [](const mechanism& x) { return x.acc.renormalized; },
      [](mechanism& x, bool value) { x.acc.renormalized = value; });
}

/// Its own formats, FP16, TF32: where subnormals have their places.
property operands_of(const mechanism& m) {
  return make(
      "operands are multiplied as", m, operand_formats(m.a, m.b),
      [](const auto& x) {
        return x.first == x.second
                   ? name_of(x.first)
                   : name_of(x.first) + ", " + name_of(x.second);
      },
      [](const mechanism& x) { return std::pair(x.operand_a, x.operand_b); },
      [](mechanism& x, const auto& f) {
        x.operand_a = f.first;
        x.operand_b = f.second;
      });
}

std::vector<property> list_properties(const mechanism& m) {
  return {
      order_of(m),
      joins_of(m),
      fraction_of(m),
      rounding_of("cut", m, &accumulator::cut),
      place_of(m),
      operands_of(m),
      floor_of(m),
      output_of(m),
      rounding_of("conversion", m, &accumulator::conversion),
      truth("zeros have places", m, &mechanism::zeros_align),
      truth("subnormal operands are zeros", m, &mechanism::flushes_operands),
      truth("a subnormal c is zero", m, &mechanism::flushes_c),
      truth("subnormal results are zero", m, &mechanism::flushes_results),
      truth("-0 of -0 alone", m, &mechanism::negative_zero),
      truth("overflow gives the largest number", m, &mechanism::saturates)};
}

/// How hard a number is to read: the bits that it has, and its exponent.
int cost_of(format f, std::uint64_t code) {
  const unpacked x = decode(f, code);
  if (x.kind != kind::finite) return 0;
  int bits = msb(x.significand);
  const int exponent = x.exponent + bits;
  for (auto odd = x.significand; (odd & 1) == 0; odd >>= 1) --bits;
  return bits + std::abs(exponent);
}

/// The fewest terms are the easiest to read, then the simplest numbers.
int cost_of(const black_box& box, const experiment& e) {
  constexpr int a_term = 300;
  int cost = e.inputs.c != 0 ? a_term + cost_of(box.stored, e.inputs.c) : 0;
  for (const int k : e.used) {
    const auto i = static_cast<std::size_t>(k);
    cost +=
        a_term + cost_of(box.a, e.inputs.a[i]) + cost_of(box.b, e.inputs.b[i]);
  }
  return cost;
}

/// The experiment that refutes `m` and is the easiest to read.
evidence_of simplest_refuting(const experiments& asked, const mechanism& m,
                              std::size_t known) {
  std::size_t best = known;
  int least = cost_of(asked.box(), asked.all()[best]);
  for (std::size_t i = 0; i < asked.all().size(); ++i) {
    const experiment& e = asked.all()[i];
    const int cost = cost_of(asked.box(), e);
    if (cost < least && evaluate(m, e.inputs, e.used) != e.d) {
      best = i;
      least = cost;
    }
  }
  return evidence_for(asked.all()[best], m);
}

/// Holds a mechanism with another floor against the experiments that a floor
/// changes.
class floors {
 public:
  floors(const experiments& asked, const mechanism& m)
      : asked_(asked), floor_(m.acc.exponent_floor) {
    mechanism none = m;
    none.acc.exponent_floor = no_floor;
    for (const experiment& e : asked.all()) {
      places_.push_back(lowest_place(none, e.inputs, e.used));
    }
  }

  std::optional<std::size_t> refuting(const mechanism& m) const {
    const int highest = std::max<int>(floor_, m.acc.exponent_floor);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] >= highest) continue;
      const experiment& e = asked_.all()[i];
      if (evaluate(m, e.inputs, e.used) != e.d) return i;
    }
    return {};
  }

 private:
  const experiments& asked_;
  const int floor_;
  std::vector<int> places_;
};

}  // namespace

evidence_of evidence_for(const experiment& e, const mechanism& m) {
  return {e.inputs, e.d, evaluate(m, e.inputs, e.used)};
}

std::vector<found_property> properties_of(const experiments& asked,
                                          const mechanism& m) {
  std::vector<found_property> all;
  agreement agrees(asked);
  floors with_floors(asked, m);
  for (const property& p : list_properties(m)) {
    found_property found{p.name, p.value, {}, {}, {}};
    const variation* nearest = nullptr;
    std::size_t refuted_by = 0;
    for (const variation& v : p.others) {
      const bool floor_alone = v.m.acc.exponent_floor != m.acc.exponent_floor;
      const auto refuting =
          floor_alone ? with_floors.refuting(v.m) : agrees.refuting(v.m);
      if (!refuting) {
        found.equal.push_back(v.value);
      } else if (nearest == nullptr || v.distance < nearest->distance) {
        nearest = &v;
        refuted_by = *refuting;
      }
    }
    if (nearest != nullptr) {
      found.other = nearest->value;
      found.shown_by = simplest_refuting(asked, nearest->m, refuted_by);
    }
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace zeroulp::fuzz
