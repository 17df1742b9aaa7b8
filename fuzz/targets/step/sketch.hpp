// Defines `sketch`: a `step` case under construction, to which terms are added
// at chosen places.

#ifndef ZEROULP_FUZZ_TARGETS_STEP_SKETCH_HPP_
#define ZEROULP_FUZZ_TARGETS_STEP_SKETCH_HPP_

#include <algorithm>
#include <utility>

#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz {

/// The longest step that is sketched; every named path is shorter.
inline constexpr int most_products = 64;

/// Operands under construction.
class sketch {
 public:
  sketch(const path& p, counter_rng& rng) : p_(p), rng_(rng) {
    const int length = p.length();
    const int most = length == 0 ? 40 : length;
    count_ = length == 0 || rng.one_in(8) ? rng.between(0, most) : most;
    a_ = matrix("a", p.a, 1, count_);
    b_ = matrix("b", p.b, 1, count_);
    c_ = matrix("c", p.acc.stored, 1, 1);
    // A lowering sums two halves. Half of its cases have all terms in one half.
    const int half =
        length == 0 || p.lowering == lowering::direct || rng.one_in(2)
            ? -1
            : static_cast<int>(rng.below(2));
    for (int k = 0; k < count_; ++k) {
      if (half < 0 || (k >> 1 & 1) == half) free_[left_++] = k;
    }
  }

  const path& unit() const { return p_; }
  counter_rng& rng() { return rng_; }
  int left() const { return left_; }
  int count() const { return count_; }
  int lowest() const { return p_.a.min_exponent() + p_.b.min_exponent(); }
  int highest() const { return max_exponent(p_.a) + max_exponent(p_.b); }
  /// F; or, without a cut, a little more than the output's precision.
  int fraction_bits() const {
    return p_.acc.fraction_bits == uncut ? p_.acc.output.man_bits + 3
                                         : p_.acc.fraction_bits;
  }
  /// A place within the output's range, often with room for what is cut.
  int some_place() {
    const format output = p_.acc.output;
    const int high = std::min(highest(), max_exponent(output) - 2);
    const int low = std::max(lowest(), output.min_exponent());
    const int room = rng_.one_in(4) ? 0 : fraction_bits() + 4;
    return rng_.between(std::min(low + room, high), high);
  }

  struct product {
    std::uint64_t a;
    std::uint64_t b;
  };
  /// A product at a place, or at the nearest that exists; some have subnormal
  /// factors. `exact` makes it 2^place, also below the lowest place.
  product product_at(int place, bool negative, bool exact = false) {
    const format a = p_.a;
    const format b = p_.b;
    const bool subnormal = exact && (place < lowest() || rng_.one_in(4));
    const auto low = [&](format f) {
      return subnormal ? f.quantum_exponent() : f.min_exponent();
    };
    place = std::clamp(place, low(a) + low(b), highest());
    const int ea = rng_.between(std::max(low(a), place - max_exponent(b)),
                                std::min(max_exponent(a), place - low(b)));
    const auto factor = [&](format f, int e) {
      if (e < f.min_exponent()) {
        return std::uint64_t{1} << (e - f.quantum_exponent());
      }
      const std::uint64_t fraction = exact ? 0 : some_fraction(f, rng_);
      const bool at_lowest = e == f.min_exponent() && fraction != 0;
      return at_lowest && rng_.one_in(2) ? fraction : code_at(f, e, fraction);
    };
    const product x{factor(a, ea), factor(b, place - ea)};
    const bool minus_b = rng_.one_in(2);
    return {x.a | (negative != minus_b ? a.sign_mask() : 0),
            x.b | (minus_b ? b.sign_mask() : 0)};
  }
  product negated(product x) const { return {x.a ^ p_.a.sign_mask(), x.b}; }

  /// Puts a product at a free k, if one is left.
  void put(product x) {
    if (left_ == 0) return;
    const auto n = rng_.below(static_cast<std::uint32_t>(left_));
    const auto k =
        static_cast<std::size_t>(std::exchange(free_[n], free_[left_ - 1]));
    --left_;
    a_.words[k] = x.a;
    b_.words[k] = x.b;
  }

  /// Sets c so that it cancels a product, as far as c has the bits.
  void put_c_against(product x) {
    const format f = p_.acc.stored;
    const auto value = zeroulp::product(decode(p_.a, x.a), decode(p_.b, x.b));
    set_c(encode(f, value, {}, cuda_satfinite) ^ f.sign_mask());
  }

  std::uint64_t c() const { return c_.words[0]; }
  void set_c(std::uint64_t code) { c_.words[0] = code; }
  /// Sets c to a number at this place, or at the nearest.
  void put_c(int place, bool negative, std::uint64_t fraction) {
    const format f = p_.acc.stored;
    const bool subnormal = place < f.min_exponent() && fraction != 0;
    set_c((subnormal ? fraction : code_at(f, place, fraction)) |
          (negative ? f.sign_mask() : 0));
  }

  /// Puts zero products where nothing was put: any sign, any other factor.
  void fill_up() {
    for (std::size_t k = 0; k < a_.words.size(); ++k) {
      if ((a_.words[k] | b_.words[k]) != 0 || !rng_.one_in(4)) continue;
      const std::uint64_t bits = rng_.next();
      auto& zero = (bits & 1) != 0 ? a_ : b_;
      auto& other = (bits & 1) != 0 ? b_ : a_;
      zero.words[k] = (bits & 2) != 0 ? zero.type.sign_mask() : 0;
      other.words[k] = (bits >> 8) % (other.type.max_code() + 1);
    }
  }

  void give(problem& p) && {
    p.in.clear();
    p.in.push_back(std::move(a_));
    p.in.push_back(std::move(b_));
    p.in.push_back(std::move(c_));
  }

 private:
  const path& p_;
  counter_rng& rng_;
  int count_ = 0;
  int left_ = 0;
  int free_[most_products] = {};
  matrix a_;
  matrix b_;
  matrix c_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_STEP_SKETCH_HPP_
