// Two products meet in a class: their significand products, the difference of
// their places, their signs. A unit without exponent floor, whose output is
// never subnormal, treats all members of a class alike, so one of each is
// enough; for the others every pair of places counts.

#include "conformance/checks/step/step_classes.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "conformance/cases/step_paths.hpp"
#include "conformance/oracles/rational_step.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {
namespace {

/// A product of two positive codes, by significand and place.
struct product_class {
  std::uint64_t significand;
  int place;
  std::uint64_t a;
  std::uint64_t b;
};

std::uint64_t sign_bit(format f) {
  return std::uint64_t{1} << (f.exp_bits + f.man_bits);
}

/// One pair of codes for each significand and place that products have.
std::vector<product_class> product_classes(format fa, format fb) {
  struct parts {
    std::uint64_t significand;
    int place;
  };
  const auto split = [](format f, std::uint64_t code) -> parts {
    const std::uint64_t e = code >> f.man_bits;
    const std::uint64_t m = code % (std::uint64_t{1} << f.man_bits);
    return {e > 0 ? m + (std::uint64_t{1} << f.man_bits) : m,
            static_cast<int>(e > 0 ? e : 1) - f.bias};
  };
  const auto end = [](format f) {
    return f.kind == specials::fn
               ? sign_bit(f) - 1
               : sign_bit(f) - (std::uint64_t{1} << f.man_bits);
  };
  std::map<std::pair<std::uint64_t, int>, product_class> found;
  for (std::uint64_t a = 1; a < end(fa); ++a) {
    for (std::uint64_t b = 1; b < end(fb); ++b) {
      const parts x = split(fa, a);
      const parts y = split(fb, b);
      const product_class p{x.significand * y.significand, x.place + y.place, a,
                            b};
      found.emplace(std::pair{p.significand, p.place}, p);
    }
  }
  std::vector<product_class> all;
  for (const auto& entry : found) all.push_back(entry.second);
  return all;
}

class class_runner {
 public:
  class_runner(const implementation& i, const effort& e, const named_path& p)
      : i_(i), e_(e), p_(p) {}

  /// Returns false to stop.
  bool step(const std::uint64_t* a, const std::uint64_t* b, int count,
            std::uint64_t c) {
    const auto got = i_.step(p_.value, a, b, count, c);
    const auto expected = oracle::rational_step(p_.value, a, b, count, c);
    v.compare(got, expected, [&] {
      std::string text = p_.name;
      for (int k = 0; k < count; ++k) {
        text += fmt::format(" {:02x}*{:02x}", a[k], b[k]);
      }
      return text + fmt::format(" c={:08x} got {:08x} expected {:08x}", c, got,
                                expected);
    });
    return !e_.stop_early || v.failures == 0;
  }

  /// Every class of two products; `stride` > 1 takes some of them.
  bool pairs(std::uint32_t stride) {
    const auto classes = product_classes(p_.value.a, p_.value.b);
    const std::uint64_t minus = sign_bit(p_.value.a);
    const bool alike = p_.value.acc.exponent_floor == no_floor &&
                       p_.value.acc.output.exp_bits == 8;
    std::set<std::tuple<std::uint64_t, std::uint64_t, int>> seen;
    counter_rng rng(e_.seed, 17);
    for (const auto& x : classes) {
      for (const auto& y : classes) {
        if (x.place < y.place) continue;
        if (stride > 1 && !rng.one_in(stride)) continue;
        if (alike &&
            !seen.emplace(x.significand, y.significand, x.place - y.place)
                 .second) {
          continue;
        }
        for (const std::uint64_t sx : {std::uint64_t{0}, minus}) {
          for (const std::uint64_t sy : {std::uint64_t{0}, minus}) {
            const std::uint64_t a[] = {x.a | sx, y.a | sy};
            const std::uint64_t b[] = {x.b, y.b};
            if (!step(a, b, 2, 0)) return false;
          }
        }
      }
    }
    return true;
  }

  /// Every product with c from far above to far below it.
  bool addends(std::uint32_t stride) {
    const auto& p = p_.value;
    const format s = p.acc.stored;
    const std::uint64_t minus = sign_bit(s);
    const std::uint64_t fraction = (std::uint64_t{1} << s.man_bits) - 1;
    counter_rng rng(e_.seed, 18);
    for (const auto& x : product_classes(p.a, p.b)) {
      for (int d = -30; d <= 30; ++d) {
        if (stride > 1 && !rng.one_in(stride)) continue;
        const int e = x.place + d + s.bias;
        if (e < 0 || e >= (1 << s.exp_bits) - 1) continue;
        for (const std::uint64_t m :
             {std::uint64_t{0}, fraction, fraction / 3, fraction / 2 + 1}) {
          const std::uint64_t c =
              static_cast<std::uint64_t>(e) << s.man_bits | m;
          if (!step(&x.a, &x.b, 1, c) || !step(&x.a, &x.b, 1, c | minus)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  verdict v;

 private:
  const implementation& i_;
  const effort& e_;
  const named_path& p_;
};

/// The FP8 paths to go through at a level: Hopper's first.
std::vector<named_path> class_paths(const effort& e) {
  const auto all = specified_paths();
  std::vector<named_path> paths;
  for (const auto& p : all) {
    const bool fp8 = p.value.a.exp_bits + p.value.a.man_bits == 7 &&
                     p.value.lowering == lowering::direct &&
                     p.value.acc.length > 1;
    const bool first = paths.size() < 4;  // wgmma, FP32 result
    if (fp8 && (first || e.level >= 2)) paths.push_back(p);
  }
  return paths;
}

template <class Run>
verdict over_paths(const implementation& i, const effort& e, Run run) {
  verdict v;
  for (const auto& p : class_paths(e)) {
    class_runner runner(i, e, p);
    const bool go_on = run(runner);
    v += runner.v;
    if (!go_on) break;
  }
  return v;
}

verdict check_pairs(const implementation& i, const effort& e) {
  auto v = over_paths(
      i, e, [&](class_runner& r) { return r.pairs(e.level == 0 ? 400 : 1); });
  v.exhaustive = e.level > 0;
  return v;
}

verdict check_addends(const implementation& i, const effort& e) {
  return over_paths(
      i, e, [&](class_runner& r) { return r.addends(e.level == 0 ? 200 : 1); });
}

}  // namespace

check_list step_class_checks() {
  return {
      {"EveryAlignmentOfTwoFp8ProductsEqualsTheRational", "T1 T2 T3 T4 T5",
       "rational", 0, check_pairs},
      {"EveryFp8ProductBesideCEqualsTheRational", "T1 T2 T3 T4 T5", "rational",
       0, check_addends},
  };
}

}  // namespace zeroulp::conformance
