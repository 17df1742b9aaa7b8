// Finds how a step aligns, by what its outputs contradict.

#include "fuzz/probe/alignment.hpp"

#include <algorithm>
#include <numeric>

#include "fuzz/probe/terms.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::fuzz {
namespace {

/// Below the largest term by more than any candidate keeps.
constexpr int deepest = max_fraction_bits + 3;
constexpr std::uint64_t odd_numbers[] = {1, 3, 5, 7};

/// The step that is looked at, and where its products stand; at most four are
/// used.
struct places {
  int step;
  int first;
  int second;
  int third;
  int count;
};

/// The first step. Where c does not belong to it, the one with the most
/// products.
int step_to_look_at(const mechanism& m) {
  if (m.joins == joins::first_step) return 0;
  std::vector<int> counts(static_cast<std::size_t>(m.order.steps));
  for (int k = 0; k < m.length; ++k) {
    ++counts[static_cast<std::size_t>(m.order.step_of(k))];
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  return static_cast<int>(most - counts.begin());
}

places places_of(const mechanism& m) {
  const int step = step_to_look_at(m);
  std::vector<int> found;
  for (int k = 0; k < m.length; ++k) {
    if (m.order.step_of(k) == step) found.push_back(k);
  }
  const auto at = [&](std::size_t i) {
    return i < found.size() ? found[i] : 0;
  };
  return {step, at(0), at(1), at(2), static_cast<int>(found.size())};
}

/// Experiments whose largest term is 2^top, so that no floor matters.
class experiments_below {
 public:
  experiments_below(case_list& made, const places& at, int top)
      : made_(made), at_(at), top_(top) {}

  /// B - B + x: what is left of x, beside a B whose product is 1 or 2.25.
  void cancelling() {
    for (const std::uint64_t u : {std::uint64_t{1}, std::uint64_t{3}}) {
      const int big = u == 1 ? top_ : top_ - 2;
      for_each_small([&](int exponent, std::uint64_t m, bool negative) {
        if (at_.count >= 2) {
          made_.add({{at_.first, big, false, u, u},
                     {at_.second, big, true, u, u},
                     {is_c, exponent, negative, m}});
          made_.add({{is_c, big, true, u, u},
                     {at_.first, big, false, u, u},
                     {at_.second, exponent, negative, m}});
        }
        if (at_.count >= 3) {
          made_.add({{at_.first, big, false, u, u},
                     {at_.second, big, true, u, u},
                     {at_.third, exponent, negative, m}});
        }
      });
    }
  }

  /// t + x, each of them a product or c.
  void pairs() {
    for_each_small([&](int exponent, std::uint64_t m, bool negative) {
      for (const bool minus : {false, true}) {
        made_.add({{is_c, top_, minus}, {at_.first, exponent, negative, m}});
        made_.add({{at_.first, top_, minus}, {is_c, exponent, negative, m}});
        if (at_.count < 2) continue;
        made_.add(
            {{at_.first, top_, minus}, {at_.second, exponent, negative, m}});
      }
    });
  }

  /// t + y + z: z beside a tie, and beside a number that y makes odd.
  void triples() {
    for (int n = 1; n <= 27; ++n) {
      for (const int d : {1, 2, 3, 9, 17}) {
        for (int signs = 0; signs < 8; ++signs) {
          const std::uint64_t m = d == 2 ? 3 : 1;
          const probe_term t{is_c, top_, (signs & 1) != 0};
          const probe_term y{at_.first, top_ - n, (signs & 2) != 0};
          const probe_term z{at_.second, top_ - n - d, (signs & 4) != 0, m};
          if (at_.count >= 2) made_.add({t, y, z});
          if (at_.count < 3) continue;
          made_.add({{at_.third, top_, t.negative}, y, z});
        }
      }
    }
  }

  /// Some terms of the step, at random.
  void random(const mechanism& m, int count) {
    counter_rng rng(2, static_cast<std::uint64_t>(m.length));
    for (int n = 0; n < count; ++n) {
      std::vector<probe_term> terms{{at_.first, top_, rng.one_in(2)}};
      const int depth = rng.between(4, deepest);
      const auto below = [&](int k) {
        return probe_term{k, top_ - rng.between(0, depth), rng.one_in(2),
                          odd_numbers[rng.below(2)], odd_numbers[rng.below(2)]};
      };
      if (rng.one_in(2)) terms.push_back(below(is_c));
      for (int k = at_.first + 1; k < m.length; ++k) {
        if (m.order.step_of(k) == at_.step && rng.one_in(3)) {
          terms.push_back(below(k));
        }
      }
      made_.add(terms);
    }
  }

 private:
  template <class Use>
  void for_each_small(Use use) const {
    for (int n = 0; n <= deepest; ++n) {
      for (const std::uint64_t m : odd_numbers) {
        for (const bool negative : {false, true}) use(top_ - n, m, negative);
      }
    }
  }

  case_list& made_;
  const places at_;
  const int top_;
};

/// Sums of many products, whose leading bit lies above their largest place.
class carries {
 public:
  explicit carries(case_list& made)
      : made_(made),
        high_(reach_of(made.box()).high),
        bits_(made.box().a.man_bits + made.box().b.man_bits) {}

  /// Products 2^top u^2, beside smaller and larger terms: c or a product. That
  /// of sevens is three times its place.
  void alike(const std::vector<int>& from, std::uint64_t u) {
    const int top = high_ - (u == 1 ? 8 : 14);
    for (std::size_t n = 2; n <= from.size(); n += n < 8 ? 1 : 4) {
      const std::vector<int> some(from.begin(),
                                  from.begin() + static_cast<int>(n));
      const int other = n < from.size() ? from[n] : is_c;
      for (int depth = 0; depth <= deepest; ++depth) {
        for (const bool negative : {false, true}) {
          const auto beside = [&](const probe_term& x) {
            add(some, {0, top, negative, u, u}, x);
          };
          beside({is_c, top - depth, negative, 3});
          beside({is_c, top - depth, negative});
          beside({other, top - depth, negative});
          beside({is_c, top + depth, negative});
        }
      }
    }
  }

  /// The largest products at their place, and a c there with a low bit.
  void longest(const std::vector<int>& from) {
    for (int n = 2; n <= made_.box().stored.man_bits; ++n) {
      for (const std::uint64_t low : odd_numbers) {
        for (const bool negative : {false, true}) {
          add(from, {0, top(), negative, most(made_.box().a), most_b()},
              {is_c, top() + bits_ - n, negative,
               (std::uint64_t{1} << n) | low});
        }
      }
    }
  }

  /// One such product, whose last bit may be half of the output's, and less.
  void half_bits(const std::vector<int>& from) {
    if (from.size() < 2) return;
    const std::uint64_t largest = most(made_.box().a);
    for (int n = 0; n <= deepest; ++n) {
      for (const bool negative : {false, true}) {
        for (const std::uint64_t u : {largest, largest - 2}) {
          made_.add({{from[0], top(), false, u, most_b()},
                     {from[1], top() + bits_ - n, negative}});
        }
      }
    }
  }

 private:
  /// Products like `one` at all of these, and x.
  void add(const std::vector<int>& from, probe_term one, const probe_term& x) {
    std::vector<probe_term> terms{x};
    for (const int k : from) {
      one.k = k;
      terms.push_back(one);
    }
    made_.add(terms);
  }
  static std::uint64_t most(format f) {
    return (std::uint64_t{2} << f.man_bits) - 1;
  }
  std::uint64_t most_b() const { return most(made_.box().b); }
  /// So that the place of the largest product is 2^(top() + bits_).
  int top() const { return high_ - bits_ - 8; }

  case_list& made_;
  const int high_;
  const int bits_;  ///< of the fractions of two operands
};

}  // namespace

std::vector<std::pair<format, format>> operand_formats(format a, format b) {
  std::vector<std::pair<format, format>> all{{a, b}};
  const auto fits = [](format f, format wide) {
    return f.exp_bits <= wide.exp_bits && f.man_bits <= wide.man_bits;
  };
  for (const format wide : {fp16, tf32}) {
    if (fits(a, wide) && fits(b, wide) && !(a == wide && b == wide)) {
      all.emplace_back(wide, wide);
    }
  }
  return all;
}

std::vector<step_case> alignment_cases(const black_box& box,
                                       const mechanism& m) {
  case_list made(box);
  const int high = reach_of(box).high;
  const places at = places_of(m);
  for (const int top : {high, high - 1}) {
    experiments_below some(made, at, top);
    some.cancelling();
    some.pairs();
    some.triples();
    some.random(m, 500);
  }
  return made.cases();
}

std::vector<step_case> carry_cases(const black_box& box, const mechanism& m) {
  case_list made(box);
  std::vector<int> all;
  // What the last step rounds, no later one cuts.
  std::vector<int> last;
  for (int k = 0; k < box.length; ++k) {
    all.push_back(k);
    if (m.order.step_of(k) == m.order.steps - 1) last.push_back(k);
  }
  carries some(made);
  some.longest(all);
  some.longest(last);
  some.half_bits(last);
  for (const std::uint64_t u : {std::uint64_t{1}, std::uint64_t{7}}) {
    some.alike(all, u);
    some.alike(last, u);
  }
  return made.cases();
}

bool any_alignment(mechanism m,
                   const std::function<bool(const mechanism&)>& use) {
  const auto outputs = [&] {
    for (int bits = m.acc.stored.man_bits; bits >= 2; --bits) {
      m.acc.output = m.acc.stored;
      m.acc.output.man_bits = static_cast<std::uint8_t>(bits);
      for (const rounding conversion : alignment_roundings) {
        m.acc.conversion = conversion;
        if (use(m)) return true;
      }
    }
    return false;
  };
  for (const auto& [a, b] : operand_formats(m.a, m.b)) {
    m.operand_a = a;
    m.operand_b = b;
    for (const rounding cut : alignment_roundings) {
      m.acc.cut = cut;
      for (const bool renormalized : {false, true}) {
        m.acc.renormalized = renormalized;
        for (int f = uncut; f <= max_fraction_bits; ++f) {
          // What is not cut has no place either.
          if (f == uncut && (cut != rounding::toward_zero || renormalized))
            continue;
          m.acc.fraction_bits = static_cast<std::int16_t>(f);
          if (outputs()) return true;
        }
      }
    }
  }
  return false;
}

agreement::agreement(const experiments& asked) : agreement(asked, 0) {}

agreement::agreement(const experiments& asked, std::size_t first)
    : asked_(asked), order_(asked.all().size() - first) {
  std::iota(order_.begin(), order_.end(), first);
}

std::optional<std::size_t> agreement::refuting(const mechanism& m) {
  for (auto at = order_.begin(); at != order_.end(); ++at) {
    const experiment& e = asked_.all()[*at];
    if (evaluate(m, e.inputs, e.used) == e.d) continue;
    std::rotate(order_.begin(), at, at + 1);
    return order_.front();
  }
  return {};
}

}  // namespace zeroulp::fuzz
