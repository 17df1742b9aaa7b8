// Finds what happens at the ends of the range.

#include "fuzz/probe/range.hpp"

#include <algorithm>

#include "fuzz/probe/terms.hpp"

namespace zeroulp::fuzz {
namespace {

/// +0 everywhere.
step_case zeros(const black_box& box) {
  const auto n = static_cast<std::size_t>(box.length);
  return {std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n),
          box.length, 0};
}

std::uint64_t smallest_normal(format f) {
  return std::uint64_t{1} << f.man_bits;
}

std::uint64_t one(format f) {
  return static_cast<std::uint64_t>(f.bias) << f.man_bits;
}

/// The largest power of two.
std::uint64_t largest_power(format f) {
  return f.max_code() >> f.man_bits << f.man_bits;
}

/// The largest subnormal number times 1 or more: +0 iff it counts as zero.
step_case subnormal_product(const black_box& box) {
  step_case s = zeros(box);
  s.a[0] = smallest_normal(box.a) - 1;
  s.b[0] = largest_power(box.b);
  return s;
}

/// Finite terms whose sum is beyond every output.
step_case overflow(const black_box& box) {
  step_case s = zeros(box);
  s.c = box.stored.max_code();
  for (auto& a : s.a) a = box.a.max_code();
  for (auto& b : s.b) b = box.b.max_code();
  return s;
}

/// A NaN: an operand, if its format has one, else c.
step_case not_a_number(const black_box& box) {
  step_case s = zeros(box);
  if (box.a.has_nan()) {
    s.a[0] = nan_code(box.a, false, cuda_nosat);
    s.b[0] = one(box.b);
  } else {
    s.c = nan_code(box.stored, false, cuda_nosat);
  }
  return s;
}

/// Places from which a term is looked at alone and beside one that is `depth`
/// below it.
class small_sums {
 public:
  small_sums(case_list& made, const mechanism& m) : made_(made), m_(m) {
    for (int k = 0; k < m.length; ++k) {
      if (m.order.step_of(k) == 0) products_.push_back(k);
    }
  }

  void at(int exponent) {
    for (const int k : {is_c, products_[0]}) {
      made_.add({{k, exponent}});
      made_.add({{k, exponent - 1, true, 3}});
      for (const int depth : depths()) beside(k, exponent, depth);
    }
    under_a_zero(exponent);
  }

 private:
  /// About what F keeps, and about the last bit of the output.
  std::vector<int> depths() const {
    const int f = m_.acc.fraction_bits;
    const int bits = m_.acc.output.man_bits;
    std::vector<int> all{1, 3};
    for (int d = -1; d <= 2; ++d) {
      if (f != uncut) all.push_back(f + d);
      all.push_back(bits + d);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void beside(int k, int exponent, int depth) {
    const int other = k == is_c              ? products_[0]
                      : products_.size() > 1 ? products_[1]
                                             : is_c;
    for (const bool negative : {false, true}) {
      made_.add({{k, exponent}, {other, exponent - depth, negative}});
      made_.add({{k, exponent, true}, {other, exponent - depth, negative, 3}});
      if (products_.size() < 3) continue;
      made_.add({{products_[1], exponent},
                 {products_[2], exponent - depth, negative}});
    }
  }

  /// The same beside a product of zero and the largest power of two.
  void under_a_zero(int exponent) {
    if (products_.size() < 3) return;
    const auto last = static_cast<std::size_t>(products_.back());
    for (const int depth : depths()) {
      case_list some(box());
      some.add(
          {{products_[0], exponent}, {products_[1], exponent - depth, true}});
      for (step_case s : some.cases()) {
        s.b[last] = largest_power(m_.b);
        made_.add_case(s);
      }
    }
  }

  const black_box& box() const { return made_.box(); }

  case_list& made_;
  const mechanism& m_;
  std::vector<int> products_;
};

/// Single subnormals, sums that are subnormal, zeros of both signs.
void add_zeros(case_list& made, const black_box& box) {
  step_case s = zeros(box);
  made.add_case(s);
  s.c = box.stored.sign_mask();
  made.add_case(s);
  for (auto& a : s.a) a = box.a.sign_mask();
  made.add_case(s);
  s.c = 0;
  made.add_case(s);
  for (const std::uint64_t c :
       {std::uint64_t{1}, std::uint64_t{3}, smallest_normal(box.stored) - 1,
        smallest_normal(box.stored)}) {
    step_case t = zeros(box);
    t.c = c;
    made.add_case(t);
    t.c = c | box.stored.sign_mask();
    made.add_case(t);
  }
}

}  // namespace

std::vector<step_case> range_cases(const black_box& box, const mechanism& m) {
  case_list made(box);
  made.add_case(overflow(box));
  add_zeros(made, box);
  small_sums some(made, m);
  const reach r = reach_of(box);
  const int lowest = std::min(r.low, box.stored.quantum_exponent());
  for (int exponent = lowest; exponent <= r.high; ++exponent) some.at(exponent);
  return made.cases();
}

void find_specials(experiments& asked, mechanism& m) {
  const black_box& box = asked.box();
  const std::size_t first =
      asked.ask({subnormal_product(box), not_a_number(box)});
  m.flushes_operands = box.a.man_bits > 0 && asked.all()[first].d == 0;
  m.nan = asked.all()[first + 1].d;
}

floor_range floors_of(const mechanism& m) {
  const auto lowest = [](format f) { return f.min_exponent(); };
  const int products = lowest(m.operand_a) + lowest(m.operand_b);
  const bool c_is_term = m.joins == joins::first_step;
  const int high = reach_of(m.a, m.b, m.acc.stored).high;
  return {c_is_term ? std::min(products, lowest(m.acc.stored)) : products,
          high};
}

bool is_within_range(const mechanism& m, const experiment& e) {
  if (lowest_place(m, e.inputs, e.used) < 0) return false;
  const std::uint64_t d = evaluate(m, e.inputs, e.used);
  mechanism other = m;
  for (const auto rule : {&mechanism::zeros_align, &mechanism::flushes_c,
                          &mechanism::flushes_results,
                          &mechanism::negative_zero, &mechanism::saturates}) {
    other = m;
    other.*rule = true;
    if (evaluate(other, e.inputs, e.used) != d) return false;
  }
  return true;
}

bool any_range(mechanism m, const std::function<bool(const mechanism&)>& use) {
  const floor_range floors = floors_of(m);
  for (int rules = 0; rules < 32; ++rules) {
    m.zeros_align = (rules & 1) != 0;
    m.flushes_c = (rules & 2) != 0;
    m.flushes_results = (rules & 4) != 0;
    m.negative_zero = (rules & 8) != 0;
    m.saturates = (rules & 16) != 0;
    for (int floor = floors.low; floor <= floors.high; ++floor) {
      // One that is no higher than any place is none.
      const int value = floor == floors.low ? no_floor : floor;
      m.acc.exponent_floor = static_cast<std::int16_t>(value);
      if (use(m)) return true;
    }
  }
  return false;
}

}  // namespace zeroulp::fuzz
