// Searches for inputs that tell a path from other parameter values.

#include "fuzz/engine/distinguishing_inputs.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "conformance/cases/step_builder.hpp"
#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::builder;
using conformance::split;

/// A case under construction: terms at random positions that meet in one sum.
class draft {
 public:
  draft(const path& p, counter_rng& rng) : rng_(rng), builder_(p) {
    // A lowered path adds every other pair separately.
    const bool all = p.lowering == lowering::direct || rng.one_in(3);
    const int half = 2 * rng.between(0, 1);
    for (int k = 0; k < p.length(); ++k) {
      if (all || (k & 2) == half) free_.push_back(k);
    }
  }

  bool has_room() const { return !free_.empty(); }

  void put(conformance::scaled x) {
    constexpr split ways[] = {split::even, split::small_a, split::small_b};
    builder_.product(take(), x, one_of(ways, rng_));
  }
  /// Puts x and -x, with the same factors.
  void put_pair(conformance::scaled x) {
    builder_.product(take(), x).product(take(), -x);
  }
  void put_c(std::uint64_t code) { builder_.c_code(code); }

  /// Returns the case; without terms if the path cannot represent its numbers.
  step_case take_case() const {
    step_case made;
    builder_.give([&made](const step_case& s) { made = s; });
    return made;
  }

 private:
  int take() {
    std::swap(free_[rng_.below(static_cast<std::uint32_t>(free_.size()))],
              free_.back());
    const int k = free_.back();
    free_.pop_back();
    return k;
  }

  counter_rng& rng_;
  builder builder_;
  std::vector<int> free_;
};

/// A sum that `floor` converts differently from a floor one lower, a floor one
/// higher, and none. The unit u is half the last place that the floor keeps;
/// every term lies below the floor. The terms:
///
///   x     positive, 1 mod 4      the floor drops u, one lower drops nothing
///   y     negative, 2 mod 4      a floor one higher drops 2u of each
///   rest  multiples of 4         moves the sum to B or beside it, where B is
///                                a point at which the conversion changes
///
///   terms           exact sum    with the floor    with a floor one higher
///   one x, two y    B + 1        B                 B + 4
///   two x, one y    B            B - 2             B
///   three y         B - 2        B - 2             B + 4
///
/// There is no x where no term has bits below the floor. All signs may be
/// flipped together.
step_case around_the_floor(const path& p, int floor, counter_rng& rng) {
  const accumulator& acc = p.acc;
  const int unit = floor - acc.fraction_bits - 1;
  const int quantum = acc.output.quantum_exponent() - unit;
  const bool truncates = acc.conversion == rounding::toward_zero;
  const int xs = acc.exponent_floor == no_floor ? 0 : rng.between(1, 2);
  constexpr int beside[] = {-2, 1, 0};
  std::int64_t rest = (std::int64_t{rng.between(-3, 3)} << quantum) +
                      (truncates ? 0 : std::int64_t{1} << (quantum - 1)) +
                      beside[xs];
  const bool mirrored = rng.one_in(2);
  draft d(p, rng);
  const auto significand = [&](format f) {
    const int bits = rng.between(2, f.man_bits + 1);
    return rng.next() >> (64 - bits) | 1;
  };
  for (int n = 0; n < 3; ++n) {
    const bool is_x = n < xs;
    const std::uint64_t u = significand(p.a);
    std::uint64_t v = significand(p.b);
    if (is_x) v = (v & ~std::uint64_t{3}) | (u & 3);
    d.put({is_x == mirrored, u, v, is_x ? unit : unit + 1});
    const auto value = static_cast<std::int64_t>(u * v);
    rest += is_x ? -value : 2 * value;
  }
  const bool negative = (rest < 0) != mirrored;
  auto left = static_cast<std::uint64_t>(rest < 0 ? -rest : rest) / 4;
  const int bits = std::min(p.a.man_bits, p.b.man_bits) + 1;
  for (int e = unit + 2; left > 0 && d.has_room(); e += bits, left >>= bits) {
    const std::uint64_t part = left & low_bits(bits);
    if (part > 0) d.put({negative, part, 1, e});
  }
  return d.take_case();
}

/// Terms at the largest place, which may cancel, others at the last places of
/// the output below it, others at the last places that are kept.
step_case around_the_cut(const path& p, counter_rng& rng) {
  const accumulator& acc = p.acc;
  const int f = acc.fraction_bits;
  const int top = std::min(max_exponent(p.a) + max_exponent(p.b),
                           max_exponent(acc.output)) -
                  1;
  const int last = p.a.quantum_exponent() + p.b.quantum_exponent();
  const int place = rng.between(std::min(last + f - 1, top), top);
  draft d(p, rng);
  const auto one = [&](int exponent) {
    const bool three = rng.one_in(2);
    const std::uint64_t u = three ? 3 : 1;
    return conformance::scaled{rng.one_in(2), u, u, exponent - (three ? 2 : 0)};
  };
  const conformance::scaled big = one(place);
  rng.one_in(2) ? d.put_pair(big) : d.put(big);
  for (int n = rng.between(0, 2); n > 0; --n) {
    d.put(
        {rng.one_in(2), 1, 1, place - acc.output.man_bits - rng.between(0, 1)});
  }
  for (int n = rng.between(1, 2); n > 0; --n) {
    d.put(one(place - f + rng.between(-3, 1)));
  }
  if (rng.one_in(2)) d.put_c(acc.stored.sign_mask());
  return d.take_case();
}

/// Every product is -0.
step_case negative_zeros(const path& p, counter_rng& rng) {
  step_case s;
  s.count = p.length();
  for (int k = 0; k < s.count; ++k) {
    const bool in_a = rng.one_in(2);
    const bool minus_a = rng.one_in(2);
    const auto code = [&](format f, bool zero, bool minus) {
      const std::uint64_t magnitude =
          zero ? 0 : any_code(f, rng) % (f.max_code() + 1);
      return magnitude | (minus ? f.sign_mask() : 0);
    };
    s.a.push_back(code(p.a, in_a, minus_a));
    s.b.push_back(code(p.b, !in_a, !minus_a));
  }
  s.c = p.acc.stored.sign_mask();
  return s;
}

using source = std::function<step_case(counter_rng&)>;

/// Sources of cases that the engine seldom makes.
std::vector<source> directed_sources(const path& p) {
  std::vector<source> all = {
      [&p](counter_rng& rng) { return negative_zeros(p, rng); },
      [&p](counter_rng& rng) { return around_the_cut(p, rng); }};
  const int floor = p.acc.exponent_floor != no_floor
                        ? p.acc.exponent_floor
                        : lowest_floor_that_cuts(p) - 1;
  const int unit = floor - p.acc.fraction_bits;
  // Otherwise the floor cuts nothing below the last place of the output.
  if (p.lowering == lowering::direct &&
      unit < p.acc.output.quantum_exponent()) {
    all.push_back([&p, floor](counter_rng& rng) {
      return around_the_floor(p, floor, rng);
    });
  }
  return all;
}

/// The n-th case of the search: the profiles of the engine and the other
/// sources take turns.
step_case candidate(const path& p, const std::vector<source>& others,
                    std::uint64_t seed, std::uint64_t n) {
  const auto profiles = info_of(target::step).profiles.size();
  const auto which = n % (profiles + others.size());
  const auto index = n / (profiles + others.size());
  if (which < profiles) {
    return full_step(p, static_cast<int>(which), seed, index);
  }
  counter_rng rng(mix64(seed) + which, index);
  step_case s = others[which - profiles](rng);
  fill_up(p, s);
  return s;
}

constexpr std::uint64_t longest_search = 4'000'000;

/// How many parameters case `n` must refute to be kept: many at first, so that
/// few cases serve all.
std::size_t least_at(std::uint64_t n, std::size_t wanted) {
  const std::uint64_t often = 40 * wanted;
  return n < 4 * often ? 5 - n / often : 1;
}

/// The same operands, with each zero product as +0 * +0.
step_case with_plain_zeros(const path& p, step_case s) {
  for (std::size_t k = 0; k < s.a.size(); ++k) {
    const bool zero = (s.a[k] & p.a.magnitude_mask()) == 0 ||
                      (s.b[k] & p.b.magnitude_mask()) == 0;
    if (zero) s.a[k] = s.b[k] = 0;
  }
  return s;
}

class search {
 public:
  search(const path& p, const std::vector<parameter>& parameters,
         std::size_t wanted)
      : p_(p), parameters_(parameters), wanted_(wanted) {
    found_.refuting.resize(parameters.size());
  }

  bool is_over() const {
    return std::all_of(found_.refuting.begin(), found_.refuting.end(),
                       [this](std::size_t n) { return n >= wanted_; });
  }

  /// Keeps a case that refutes `least` or more of the parameters not yet done.
  void offer(const step_case& s, std::size_t least) {
    const auto refuted = refuted_by(s);
    if (refuted.empty() || refuted.size() < least) return;
    // Zeros that do not matter are easier to read and store as +0.
    const step_case plain = with_plain_zeros(p_, s);
    const step_case& kept = refuted_by(plain) == refuted ? plain : s;
    auto key = kept.a;
    key.insert(key.end(), kept.b.begin(), kept.b.end());
    key.push_back(kept.c);
    if (!known_.insert(std::move(key)).second) return;
    for (const auto i : refuted) ++found_.refuting[i];
    found_.cases.push_back(kept);
  }

  separation take() && { return std::move(found_); }

 private:
  std::vector<std::size_t> refuted_by(const step_case& s) const {
    std::vector<std::size_t> refuted;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (found_.refuting[i] >= wanted_) continue;
      if (refutes(p_, parameters_[i], s)) refuted.push_back(i);
    }
    return refuted;
  }

  const path& p_;
  const std::vector<parameter>& parameters_;
  std::size_t wanted_;
  separation found_;
  std::set<std::vector<std::uint64_t>> known_;
};

}  // namespace

bool refutes(const path& p, const parameter& q, const step_case& s) {
  const std::uint64_t d = core_step(p, s);
  return std::all_of(q.others.begin(), q.others.end(), [&](const auto& other) {
    return other.step(p, s.a.data(), s.b.data(), s.count, s.c) != d;
  });
}

separation separate(const path& p, const std::vector<parameter>& parameters,
                    std::size_t wanted, std::uint64_t seed) {
  const auto others = directed_sources(p);
  search all(p, parameters, wanted);
  for (std::uint64_t n = 0; n < longest_search && !all.is_over(); ++n) {
    all.offer(candidate(p, others, seed, n), least_at(n, wanted));
  }
  return std::move(all).take();
}

}  // namespace zeroulp::fuzz
