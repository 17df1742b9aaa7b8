// Holds suspects against a result: on a few elements first, the likely ones on
// more.

#include "fuzz/explain/likely.hpp"

#include <algorithm>
#include <map>

#include "fuzz/explain/window.hpp"
#include "fuzz/identify/chance.hpp"

namespace zeroulp::fuzz {
namespace {

// Elements of m x n on which suspects run: all of them once, the likely ones
// again, then definitions and displacements. A GEMM's element takes K products.
constexpr std::ptrdiff_t first_elements = 1 << 14;
constexpr std::ptrdiff_t second_elements = 1 << 18;
constexpr std::ptrdiff_t library_elements = 1 << 21;
constexpr std::ptrdiff_t products_of_an_element = 64;

std::ptrdiff_t affordable(const problem& p, std::ptrdiff_t elements) {
  if (p.what != target::gemm) return elements;
  const auto k = std::max<std::ptrdiff_t>(length_of(p, 'k'), 1);
  return std::max<std::ptrdiff_t>(
      elements * products_of_an_element / std::max(k, products_of_an_element),
      16);
}

/// Elements in which claimed, given and a suspect's result differ.
struct score {
  std::uint64_t explained = 0;
  std::uint64_t left = 0;
  std::uint64_t added = 0;
  std::uint64_t count = 0;  ///< all elements
  double by_chance = 0;     ///< expected share of the differing elements

  double share() const {
    const auto all = static_cast<double>(explained + left + added);
    return all == 0 ? 0 : static_cast<double>(explained) / all;
  }
};

/// How far a code is from the claimed one, so that equal distances compare
/// equal: the change of the sorted code.
std::int64_t change_of(std::uint64_t claimed, std::uint64_t other) {
  return static_cast<std::int64_t>(other - claimed);
}

score score_of(const outputs& claimed, const outputs& given,
               const outputs& made, const kind_set& ignored) {
  score s;
  std::map<std::int64_t, std::uint64_t> theirs, ours;
  for (std::size_t n = 0; n < claimed.size(); ++n) {
    if (given[n].words.empty()) continue;
    const format f = claimed[n].type;
    for (std::size_t i = 0; i < claimed[n].words.size(); ++i) {
      const auto a = claimed[n].words[i];
      const auto b = given[n].words[i];
      const auto c = made[n].words[i];
      ++s.count;
      if (a == b && a == c) continue;
      const bool wrong = differs(f, a, b, ignored);
      const bool moved = differs(f, a, c, ignored);
      if (wrong) ++theirs[change_of(a, b)];
      if (moved) ++ours[change_of(a, c)];
      if (wrong && moved && !differs(f, b, c, ignored)) {
        ++s.explained;
      } else if (wrong) {
        ++s.left;
      } else if (moved) {
        ++s.added;
      }
    }
  }
  const auto wrong = static_cast<double>(s.explained + s.left);
  for (const auto& [change, count] : theirs) {
    const auto found = ours.find(change);
    if (found == ours.end()) continue;
    s.by_chance += static_cast<double>(count) / wrong *
                   static_cast<double>(found->second) /
                   static_cast<double>(s.count);
  }
  return s;
}

/// True if the agreement is too good to be chance, whoever was tried.
bool tells(const score& s, std::uint64_t tried) {
  if (s.share() < 0.5) return false;
  constexpr std::uint64_t many = 16;
  if (s.left == 0 && s.added == 0 && s.explained >= many) return true;
  const std::uint64_t wrong = s.explained + s.left;
  // is_far_above() takes a measured chance; this one is as if of many.
  const auto of = static_cast<std::uint64_t>(1) << 40;
  const agreement chance{
      static_cast<std::uint64_t>(s.by_chance * static_cast<double>(of)), of};
  return is_far_above({s.explained, wrong}, chance, 50 * tried);
}

std::uint64_t differing(const question& q, const kind_set& ignored) {
  std::uint64_t count = 0;
  for (std::size_t n = 0; n < q.claimed.size(); ++n) {
    for (std::size_t i = 0; i < q.given[n].words.size(); ++i) {
      if (differs(q.claimed[n].type, q.claimed[n].words[i], q.given[n].words[i],
                  ignored)) {
        ++count;
      }
    }
  }
  return count;
}

/// The window of about so many elements in which most elements differ.
question densest(const question& q, std::ptrdiff_t elements,
                 const kind_set& ignored) {
  const auto windows = windows_of(q.p, affordable(q.p, elements));
  if (windows.size() == 1) return q;
  question best;
  std::uint64_t most = 0;
  for (const window& w : windows) {
    question part{{}, part_of(q.p, q.claimed, w), part_of(q.p, q.given, w)};
    const auto count = differing(part, ignored);
    if (count <= most && most > 0) continue;
    most = count;
    part.p = part_of(q.p, w);
    best = std::move(part);
  }
  return best;
}

std::uint64_t elements_in(const question& q) {
  std::uint64_t count = 0;
  for (const matrix& x : q.given) count += x.words.size();
  return count;
}

/// A suspect with its result and score.
struct tried_suspect {
  suspect who;
  score found;
  outputs made;
};

tried_suspect try_on(const suspect& who, const question& q,
                     const kind_set& ignored) {
  tried_suspect t{who, {}, who.answer(q.p)};
  for (std::size_t n = 0; n < q.claimed.size(); ++n) {
    const bool fits = t.made.size() == q.claimed.size() &&
                      t.made[n].words.size() == q.claimed[n].words.size();
    if (!fits) return {who, {}, {}};
  }
  t.found = score_of(q.claimed, q.given, t.made, ignored);
  return t;
}

/// The likelier first: by share, then definitions, displacements, faults.
bool likelier(const tried_suspect& x, const tried_suspect& y) {
  const double a = x.found.share();
  const double b = y.found.share();
  return a != b ? a > b : x.who.of < y.who.of;
}

bool same_given(const outputs& x, const outputs& y, const outputs& given) {
  for (std::size_t n = 0; n < given.size(); ++n) {
    if (!given[n].words.empty() && x[n].words != y[n].words) return false;
  }
  return true;
}

}  // namespace

/// The code order of an output; integers are ordered as such.
code_order order_for(format f) {
  return f == integer
             ? code_order{0, ~std::uint64_t{0}, ~std::uint64_t{0}, false}
             : order_of(f);
}

std::optional<mismatch_kind> kind_of(format f, std::uint64_t claimed,
                                     std::uint64_t given) {
  if (claimed == given) return {};
  const auto kind = difference_of(claimed, given, order_for(f)).kind;
  return kind ? static_cast<mismatch_kind>(*kind) : mismatch_kind::values;
}

bool differs(format f, std::uint64_t claimed, std::uint64_t given,
             const kind_set& ignored) {
  const auto kind = kind_of(f, claimed, given);
  return kind && !contains(ignored, *kind);
}

void find_likely(const question& all, const explain_options& how,
                 explanation& found) {
  const question large = densest(all, library_elements, how.ignored);
  const question middle = densest(large, second_elements, how.ignored);
  const question small = densest(middle, first_elements, how.ignored);
  found.looked_at = elements_in(middle);

  std::vector<suspect> quick = definitions(middle.p);
  for (auto& s : misreadings(middle.p)) quick.push_back(std::move(s));
  for (auto& s : displacements(middle.claimed, middle.given)) {
    quick.push_back(std::move(s));
  }
  std::vector<tried_suspect> likely;
  const auto consider = [&](const suspect& s) {
    tried_suspect t = try_on(s, middle, how.ignored);
    if (t.found.share() >= 0.5) likely.push_back(std::move(t));
  };
  for (const suspect& s : quick) consider(s);
  const auto slow = faults(small.p);
  for (const suspect& s : slow) {
    // A quarter: what is right for half of all may be less so here.
    if (try_on(s, small, how.ignored).found.share() >= 0.25) consider(s);
  }
  found.tried = quick.size() + slow.size();

  std::stable_sort(likely.begin(), likely.end(), likelier);
  std::vector<const tried_suspect*> heads;
  for (const tried_suspect& t : likely) {
    if (!tells(t.found, found.tried)) continue;
    const auto same =
        std::find_if(heads.begin(), heads.end(), [&](const tried_suspect* h) {
          return same_given(h->made, t.made, middle.given);
        });
    if (same != heads.end()) {
      found.likely[static_cast<std::size_t>(same - heads.begin())]
          .same.push_back(t.who.name);
      continue;
    }
    // What gives every bit leaves nothing to others.
    const bool done = !heads.empty() && found.likely[0].exact();
    if (done || heads.size() == how.named) continue;
    heads.push_back(&t);
    found.likely.push_back({t.who.of,
                            t.who.name,
                            t.who.what,
                            t.found.explained,
                            t.found.left,
                            t.found.added,
                            {}});
  }
}

}  // namespace zeroulp::fuzz
