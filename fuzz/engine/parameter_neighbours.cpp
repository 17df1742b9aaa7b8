// Neighbours of a path's parameters: steps that differ in one value.

#include "fuzz/engine/parameter_neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "conformance/mutants/step_parts.hpp"
#include "fuzz/targets/parts.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::codes;
using conformance::same;
using conformance::step_of;
using enum rounding;

bool is_direct(const path& p) { return p.lowering == lowering::direct; }

/// How two sums are added; only lowered paths do so, beyond their steps.
using join = std::function<std::uint64_t(format, std::uint64_t, std::uint64_t)>;

std::uint64_t to_nearest(format f, std::uint64_t x, std::uint64_t y) {
  return add(f, x, y);
}

/// Replaces each accumulation by `unit`: the one of a direct path, the two FP16
/// ones of a lowered path (T10, T11).
step_function each(step_function unit, join plus = to_nearest) {
  return [unit, plus](const path& p, codes a, codes b, int count,
                      std::uint64_t c) {
    if (is_direct(p)) return unit(p, a, b, count, c);
    const auto half = [&](int first, std::uint64_t from) {
      std::vector<std::uint64_t> x;
      std::vector<std::uint64_t> y;
      for (int k = 0; k < count; ++k) {
        if ((k & 2) != first) continue;
        x.push_back(recode(p.a, a[k], fp16));
        y.push_back(recode(p.b, b[k], fp16));
      }
      return unit({fp16, fp16, p.acc}, x.data(), y.data(),
                  static_cast<int>(x.size()), from);
    };
    const format f = p.acc.stored;
    const std::uint64_t first = half(0, 0);
    return p.lowering == lowering::hmma_chained
               ? plus(f, c, half(2, first))
               : plus(f, c, plus(f, first, half(2, 0)));
  };
}

/// The core's step with another accumulator.
template <class Change>
step_function with(Change change) {
  return [change](const path& p, codes a, codes b, int count, std::uint64_t c) {
    path q = p;
    change(q);
    return step_of<same>(q, a, b, count, c);
  };
}

/// A hand-written fault of the step.
step_function fault(std::string_view name) {
  static const auto all = conformance::step_mutants();
  for (const auto& m : all) {
    if (m.name == name) return m.table.step;
  }
  throw std::logic_error("no such mutant of the step");
}

/// The sum of finite terms, converted to `first` before the result (T5).
step_function converted_twice(format first) {
  return [first](const path& p, codes a, codes b, int count, std::uint64_t c) {
    if (!conformance::is_finite_step(p, a, b, count, c)) {
      return step_of<same>(p, a, b, count, c);
    }
    const auto sum = detail::aligned_sum(p, conformance::changed<same>{a, p.a},
                                         conformance::changed<same>{b, p.b},
                                         count, decode(p.acc.stored, c));
    const auto once =
        decode(first, encode(first, sum, {toward_zero}, cuda_nosat));
    return detail::convert_sum(p.acc, once);
  };
}

/// A result of +0 gets the sign of the exact sum (T6).
std::uint64_t signed_zero(const path& p, codes a, codes b, int count,
                          std::uint64_t c) {
  const auto result = step_of<same>(p, a, b, count, c);
  if (result != 0 || !conformance::is_finite_step(p, a, b, count, c)) {
    return result;
  }
  const auto sum = detail::exact_sum(p, conformance::changed<same>{a, p.a},
                                     conformance::changed<same>{b, p.b}, count,
                                     decode(p.acc.stored, c));
  return sum.negative ? p.acc.stored.sign_mask() : 0;
}

/// Modes that one sum, which has one sign, can all tell from the path's.
struct mode_group {
  const char* name;
  std::vector<rounding> modes;
};

/// The alternatives to a rounding toward zero, or to nearest (even).
std::vector<mode_group> beside(rounding mode) {
  if (mode == toward_zero) {
    return {{"+", {nearest_even, nearest_away, up, to_odd}},
            {"-", {nearest_even, nearest_away, down, to_odd}}};
  }
  return {{"+", {toward_zero, down, to_odd}},
          {"-", {toward_zero, up, to_odd}},
          {" of ties+", {nearest_away, up, to_odd}},
          {" of ties-", {nearest_away, down, to_odd}}};
}

class table {
 public:
  std::vector<parameter> take() && { return std::move(all_); }

  void add(const std::string& name, std::vector<neighbour> others) {
    all_.push_back({name, std::move(others)});
  }

  /// Adds a numeric parameter of the accumulator; `set` gives it another value.
  template <class Set>
  void add_numbers(const std::string& name, std::vector<int> others, Set set) {
    std::vector<neighbour> list;
    for (const int value : others) {
      list.push_back({value == no_floor ? "none" : fmt::format("{}", value),
                      each(with([set, value](path& p) { set(p, value); }))});
    }
    add(name, std::move(list));
  }

  template <class Step>
  void add_roundings(const std::string& name, rounding mode, Step step) {
    for (const auto& [sign, modes] : beside(mode)) {
      std::vector<neighbour> list;
      for (const rounding m : modes) {
        list.push_back({std::string(name_of(m)), step(m)});
      }
      add(name + sign, std::move(list));
    }
  }

 private:
  std::vector<parameter> all_;
};

void add_floors(const path& p, table& t) {
  const int lowest = lowest_floor_that_cuts(p);
  const int floor = p.acc.exponent_floor;
  // A floor below all that it could cut is as good as none. That is so for FP8,
  // and for FP16 -> f32, whose -133 only BF16 and TF32 show. There the lowest
  // floor that cuts (-125 and -123) stands for all others.
  const auto others = floor != no_floor && lowest <= floor
                          ? std::vector<int>{floor - 1, floor + 1, no_floor}
                          : std::vector<int>{lowest};
  t.add_numbers("floor", others, [](path& q, int value) {
    q.acc.exponent_floor = static_cast<std::int16_t>(value);
  });
}

void add_widths(const path& p, table& t) {
  const auto wider_by = [](int bits) {
    return each(with([bits](path& q) {
      auto& man_bits = q.acc.output.man_bits;
      man_bits = static_cast<std::uint8_t>(man_bits + bits);
    }));
  };
  std::vector<neighbour> list = {{"a bit less", wider_by(-1)}};
  if (p.acc.output.man_bits < p.acc.stored.man_bits) {
    list.push_back({"a bit more", wider_by(1)});
    list.push_back({"all of it",
                    each(with([](path& q) { q.acc.output = q.acc.stored; }))});
  }
  t.add("width", std::move(list));
  if (p.acc.stored != fp16) return;
  const format first = p.acc.fraction_bits == 13 ? e8m13 : fp32;
  t.add("one rounding",
        {{"first to " + name_of(first), each(converted_twice(first))}});
}

/// The highest place that a zero would have by its exponent field. If zeros had
/// places, it would be a floor to what is cut.
int highest_place_of_zero(const path& p) {
  const auto lowest = [&](format x) {
    return is_direct(p) ? x.min_exponent() : fp16.min_exponent();
  };
  return std::max({lowest(p.a) + max_exponent(p.b),
                   max_exponent(p.a) + lowest(p.b),
                   p.acc.stored.min_exponent()});
}

void add_zeros(const path& p, table& t) {
  t.add("zero of a sum", {{"its sign", each(signed_zero)}});
  // A path whose steps gave -0 for zeros that are all -0 would keep c.
  t.add("zero of zeros", {{"theirs", fault("all_negative_zero")}});
  // Excludes lowered paths of E4M3 pairs: FP16 zeros beside at most 2^8.
  if (highest_place_of_zero(p) < lowest_floor_that_cuts(p)) return;
  t.add("zeros aligned", {{"they are", each(fault("zeros_align"))}});
}

void add_lowerings(const path& p, table& t) {
  const auto by = [](lowering how) {
    return [how](path& q) { q.lowering = how; };
  };
  const auto lowered = [](lowering how) {
    return [how](path& q) {
      q.lowering = how;
      q.acc = q.acc.stored == fp16 ? hopper_half_f16 : hopper_half_f32;
    };
  };
  if (is_direct(p)) {
    if (p.a.bits() != 8 || p.b.bits() != 8) return;
    t.add("lowering", {{"chained", with(lowered(lowering::hmma_chained))},
                       {"zero", with(lowered(lowering::hmma_zero))}});
    return;
  }
  std::vector<neighbour> list = {{"direct", fault("not_lowered")}};
  if (p.lowering == lowering::hmma_zero) {
    list.push_back({"chained", with(by(lowering::hmma_chained))});
  } else {
    list.push_back({"zero", with(by(lowering::hmma_zero))});
    for (const char* name : {"lowered_high_first", "lowered_halves",
                             "lowered_even_odd", "lowered_c_first"}) {
      list.push_back({name, fault(name)});
    }
  }
  t.add("lowering", std::move(list));
  t.add_roundings("sum with c", nearest_even, [](rounding m) {
    return each(step_of<same>, [m](format f, std::uint64_t x, std::uint64_t y) {
      return zeroulp::add(f, x, y, {m});
    });
  });
}

}  // namespace

int lowest_floor_that_cuts(const path& p) {
  // A floor cuts if it is above the place of some term, and its unit is above
  // that term's last bit.
  const int f = p.acc.fraction_bits;
  const auto cuts = [f](int place, int last_bit) {
    return std::max(place + 1, last_bit + f + 1);
  };
  // The operands of a lowered path are FP16 codes of FP8 numbers.
  const int last = p.a.quantum_exponent() + p.b.quantum_exponent();
  const auto lowest_place = [&](format x) {
    return is_direct(p) ? x.min_exponent()
                        : std::max(x.quantum_exponent(), fp16.min_exponent());
  };
  const int products = cuts(lowest_place(p.a) + lowest_place(p.b), last);
  // A lowered path adds its c after the steps. The first step's result has no
  // lower bits than the products.
  if (!is_direct(p)) return products;
  const format c = p.acc.stored;
  return std::min(products, cuts(c.min_exponent(), c.quantum_exponent()));
}

std::vector<parameter> parameters_of(const path& p) {
  const accumulator& acc = p.acc;
  table t;
  t.add_numbers("F", {acc.fraction_bits - 1, acc.fraction_bits + 1},
                [](path& q, int value) {
                  q.acc.fraction_bits = static_cast<std::int16_t>(value);
                });
  add_floors(p, t);
  t.add("L", {{fmt::format("{}", acc.length / 2), each(fault("half_length"))}});
  t.add_roundings("conversion", acc.conversion, [](rounding m) {
    return each(with([m](path& q) { q.acc.conversion = m; }));
  });
  t.add_roundings("cut", toward_zero, [](rounding m) {
    return each(with([m](path& q) { q.acc.cut = m; }));
  });
  add_widths(p, t);
  add_zeros(p, t);
  t.add("c", {{"last", each(with([](path& q) { q.acc.c = addend::last; }))},
              {"uncut", each(fault("c_outside"))}});
  std::vector<neighbour> places = {
      {"of the highest bit",
       each(with([](path& q) { q.acc.renormalized = true; }))}};
  // In a lowered path most subnormal FP8 numbers are normal FP16 numbers.
  if (is_direct(p)) {
    places.push_back({"of subnormals", fault("operands_normalized")});
  }
  t.add("place", std::move(places));
  add_lowerings(p, t);
  return std::move(t).take();
}

}  // namespace zeroulp::fuzz
