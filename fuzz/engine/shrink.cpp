// Shrinks failing cases.

#include "fuzz/engine/shrink.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "fuzz/cases/options.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

std::uint64_t one_code(format f) {
  return f.kind == specials::scale
             ? static_cast<std::uint64_t>(f.bias)
             : static_cast<std::uint64_t>(f.bias) << f.man_bits;
}

/// The smallest failing case so far; limits the calls of the predicate.
class search {
 public:
  search(problem p, const predicate& fails, int tries)
      : best_(std::move(p)), fails_(fails), left_(tries) {}

  const problem& best() const { return best_; }

  /// Keeps `p` if it fails, too.
  bool take(problem p) {
    if (left_ <= 0) return false;
    --left_;
    if (!info_of(p.what).refuse(p.with).empty() ||
        !refuse_operands(p).empty()) {
      return false;
    }
    if (!fails_(p)) return false;
    best_ = std::move(p);
    return true;
  }

 private:
  problem best_;
  const predicate& fails_;
  int left_;
};

/// Drops runs of elements, long ones first.
bool shorten(search& s) {
  bool any = false;
  for (const char dimension : {'m', 'n', 'k'}) {
    const auto length = [&] { return length_of(s.best(), dimension); };
    for (std::ptrdiff_t run = length(); run > 0; run /= 2) {
      for (std::ptrdiff_t at = 0; at < length();) {
        const auto count = std::min(run, length() - at);
        const bool taken = s.take(cut(s.best(), dimension, at, count));
        any = any || taken;
        if (!taken) at += count;
      }
    }
  }
  return any;
}

/// Gives operands the shapes that changed settings ask for; new elements are 1.
problem fitted(const problem& p) {
  problem q = p;
  q.in.clear();
  const auto m = length_of(p, 'm');
  const auto n = length_of(p, 'n');
  const auto k = length_of(p, 'k');
  const auto specs = info_of(p.what).operands(p.with);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const matrix& old = p.in[i];
    if (specs[i].optional && old.rows == 0) {
      q.in.push_back(old);
      continue;
    }
    matrix x = make_operand(specs[i], m, n, k, one_code(specs[i].type));
    for (std::ptrdiff_t r = 0; r < std::min(x.rows, old.rows); ++r) {
      for (std::ptrdiff_t c = 0; c < std::min(x.cols, old.cols); ++c) {
        x(r, c) = old(r, c);
      }
    }
    q.in.push_back(std::move(x));
  }
  return q;
}

/// Tries the simpler values of each setting.
bool simplify_settings(search& s) {
  bool any = false;
  for (const char* name : info_of(s.best().what).options) {
    const option& o = option_of(name);
    for (const auto& value : o.simplest) {
      if (o.write(s.best().with) == value) break;
      problem p = s.best();
      o.read(p.with, value);
      if (!s.take(fitted(p))) continue;
      any = true;
      break;
    }
  }
  return any;
}

/// Drops optional operands.
bool drop_optional(search& s) {
  bool any = false;
  const auto specs = info_of(s.best().what).operands(s.best().with);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].optional || s.best().in[i].rows == 0) continue;
    problem p = s.best();
    p.in[i] = matrix(specs[i].name, specs[i].type, 0, 0);
    any = s.take(std::move(p)) || any;
  }
  return any;
}

/// Simpler codes than this one, the simplest first.
std::vector<std::uint64_t> simpler(format f, std::uint64_t code) {
  std::vector<std::uint64_t> all{0, one_code(f), one_code(f) | f.sign_mask(),
                                 f.max_code()};
  const std::uint64_t sign = code & f.sign_mask();
  const std::uint64_t magnitude = code & f.magnitude_mask();
  const std::uint64_t fraction = magnitude & low_bits(f.man_bits);
  const std::uint64_t e = magnitude >> f.man_bits;
  const auto bias = static_cast<std::uint64_t>(f.bias);
  const auto add = [&](std::uint64_t exponent, std::uint64_t rest) {
    all.push_back(sign | exponent << f.man_bits | rest);
  };
  all.push_back(magnitude);
  add(e, 0);
  add(bias, fraction);
  if (e < bias) add(e + (bias - e) / 2, fraction);
  if (e > bias) add(e - (e - bias) / 2, fraction);
  if (e < bias) add(e + 1, fraction);
  if (e > bias) add(e - 1, fraction);
  for (int bit = 0; bit < f.man_bits; ++bit) {
    const std::uint64_t above = fraction & ~low_bits(bit);
    add(e, above);
    add(e, fraction & ~(std::uint64_t{1} << bit));
  }
  return all;
}

bool simplify_codes(search& s) {
  bool any = false;
  for (std::size_t i = 0; i < s.best().in.size(); ++i) {
    for (std::size_t n = 0; n < s.best().in[i].words.size(); ++n) {
      const format f = s.best().in[i].type;
      for (bool again = true; again;) {
        again = false;
        const std::uint64_t code = s.best().in[i].words[n];
        for (const std::uint64_t next : simpler(f, code)) {
          if (cost_of(f, next) >= cost_of(f, code)) continue;
          problem p = s.best();
          p.in[i].words[n] = next;
          if (!s.take(std::move(p))) continue;
          again = any = true;
          break;
        }
      }
    }
  }
  return any;
}

}  // namespace

int cost_of(format f, std::uint64_t code) {
  const std::uint64_t magnitude = code & f.magnitude_mask();
  if (code == 0) return 0;
  const int sign = magnitude == code ? 0 : 1;
  const int e = static_cast<int>(magnitude >> f.man_bits);
  const std::uint64_t fraction = magnitude & low_bits(f.man_bits);
  const int special = magnitude > f.max_code() ? 1 << 16 : 0;
  return 1 + sign + 2 * std::abs(e - f.bias) + 4 * std::popcount(fraction) +
         special;
}

problem cut(const problem& p, char dimension, std::ptrdiff_t begin,
            std::ptrdiff_t count) {
  const auto length = [&](char name) {
    return length_of(p, name) - (name == dimension ? count : 0);
  };
  return rearranged(p, length('m'), length('n'), length('k'),
                    [&](char name, std::ptrdiff_t at) {
                      return name != dimension || at < begin ? at : at + count;
                    });
}

problem shrink(problem p, const predicate& fails, int tries) {
  search s(std::move(p), fails, tries);
  for (bool again = true; again;) {
    // Settings first: large cases fail under more settings than small ones.
    again = simplify_settings(s);
    again = shorten(s) || again;
    again = drop_optional(s) || again;
    again = simplify_codes(s) || again;
  }
  return s.best();
}

}  // namespace zeroulp::fuzz
