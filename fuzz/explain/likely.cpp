// Holds suspects against a result: on a few elements first, the likely ones on
// more.

#include "fuzz/explain/likely.hpp"

#include <algorithm>
#include <map>

#include "fuzz/explain/window.hpp"
#include "fuzz/identify/chance.hpp"

namespace zeroulp::fuzz {
namespace {

// Elements of m x n on which suspects run: all of them on a few and, if those
// tell nothing, on more; the likely ones, definitions and displacements on
// many. A GEMM's element takes K products.
constexpr std::ptrdiff_t glance_elements = 1 << 10;
constexpr std::ptrdiff_t first_elements = 1 << 14;
constexpr std::ptrdiff_t second_elements = 1 << 18;
/// Where fewer elements differ than this, the likely ones run on more windows.
constexpr std::uint64_t sparse = 64;
constexpr std::size_t most_windows = 8;
constexpr std::ptrdiff_t products_of_an_element = 16;

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
  std::uint64_t count = 0;                       ///< all elements
  std::map<std::int64_t, std::uint64_t> theirs;  ///< by change: the given ones
  std::map<std::int64_t, std::uint64_t> ours;    ///< and the suspect's

  /// The share of the differing elements that it would get right by chance.
  double by_chance() const {
    const auto wrong = static_cast<double>(explained + left);
    double share_by_chance = 0;
    for (const auto& [change, times] : theirs) {
      const auto found = ours.find(change);
      if (found == ours.end()) continue;
      share_by_chance += static_cast<double>(times) / wrong *
                         static_cast<double>(found->second) /
                         static_cast<double>(count);
    }
    return share_by_chance;
  }

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

/// Adds the elements of these outputs.
void add(score& s, const outputs& claimed, const outputs& given,
         const outputs& made, const kind_set& ignored) {
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
      if (wrong) ++s.theirs[change_of(a, b)];
      if (moved) ++s.ours[change_of(a, c)];
      if (wrong && moved && !differs(f, b, c, ignored)) {
        ++s.explained;
      } else if (wrong) {
        ++s.left;
      } else if (moved) {
        ++s.added;
      }
    }
  }
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
      static_cast<std::uint64_t>(s.by_chance() * static_cast<double>(of)), of};
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

/// Windows of about so many elements, those in which most elements differ
/// first; `most` of them at most, the others only if any element differs there.
std::vector<question> densest(const question& q, std::ptrdiff_t elements,
                              const kind_set& ignored, std::size_t most) {
  const auto windows = windows_of(q.p, affordable(q.p, elements));
  if (windows.size() == 1) return {q};
  std::vector<std::pair<std::uint64_t, const window*>> by_count;
  for (const window& w : windows) {
    const question part{
        {}, part_of(q.p, q.claimed, w), part_of(q.p, q.given, w)};
    by_count.emplace_back(differing(part, ignored), &w);
  }
  std::stable_sort(
      by_count.begin(), by_count.end(),
      [](const auto& x, const auto& y) { return x.first > y.first; });
  std::vector<question> found;
  for (const auto& [count, w] : by_count) {
    if (found.size() == most || (!found.empty() && count == 0)) break;
    found.push_back({part_of(q.p, *w), part_of(q.p, q.claimed, *w),
                     part_of(q.p, q.given, *w)});
  }
  return found;
}

question densest(const question& q, std::ptrdiff_t elements,
                 const kind_set& ignored) {
  return densest(q, elements, ignored, 1)[0];
}

std::uint64_t elements_in(const question& q) {
  std::uint64_t count = 0;
  for (const matrix& x : q.given) count += x.words.size();
  return count;
}

/// A suspect with its results, by window, and its score on all of them.
struct tried_suspect {
  suspect who;
  score found;
  std::vector<outputs> made;
};

/// Adds a window; nothing if the suspect has no result of this shape.
void try_on(tried_suspect& t, const question& q, const kind_set& ignored) {
  outputs made = t.who.answer(q.p);
  for (std::size_t n = 0; n < q.claimed.size(); ++n) {
    const bool fits = made.size() == q.claimed.size() &&
                      made[n].words.size() == q.claimed[n].words.size();
    if (!fits) return;
  }
  add(t.found, q.claimed, q.given, made, ignored);
  t.made.push_back(std::move(made));
}

tried_suspect try_on(const suspect& who, const question& q,
                     const kind_set& ignored) {
  tried_suspect t{who, {}, {}};
  try_on(t, q, ignored);
  return t;
}

/// The likelier first: by share, then definitions, displacements, faults.
bool likelier(const tried_suspect& x, const tried_suspect& y) {
  const double a = x.found.share();
  const double b = y.found.share();
  return a != b ? a > b : x.who.of < y.who.of;
}

/// True iff two suspects have the same results where any was given.
bool same_given(const tried_suspect& x, const tried_suspect& y,
                const outputs& given) {
  if (x.made.size() != y.made.size()) return false;
  for (std::size_t w = 0; w < x.made.size(); ++w) {
    for (std::size_t n = 0; n < given.size(); ++n) {
      if (given[n].words.empty()) continue;
      if (x.made[w][n].words != y.made[w][n].words) return false;
    }
  }
  return true;
}

/// True iff a suspect's result differs from the claim in the same outputs as
/// the given one, wherever in them. A row or a column of an output says
/// nothing.
bool in_same_outputs(const tried_suspect& t, const question& q) {
  if (t.made.empty()) return false;
  const outputs& made = t.made[0];
  for (std::size_t n = 0; n < q.given.size(); ++n) {
    if (q.given[n].rows < 2 || q.given[n].cols < 2) continue;
    const bool wrong = q.given[n].words != q.claimed[n].words;
    if (wrong != (made[n].words != q.claimed[n].words)) return false;
  }
  return true;
}

/// True iff a displacement gives every bit.
bool displaced(const std::vector<tried_suspect>& likely) {
  return std::any_of(likely.begin(), likely.end(), [](const tried_suspect& t) {
    return t.who.of == suspicion::displacement && t.found.left == 0 &&
           t.found.added == 0;
  });
}

/// The faults that are worth a run on many elements.
std::vector<suspect> likely_faults(const std::vector<suspect>& all,
                                   const question& q, const kind_set& ignored,
                                   bool far) {
  // Most faults do nothing to these numbers. So many differing elements show
  // it.
  constexpr std::uint64_t enough = 16;
  const question glance = densest(q, glance_elements, ignored);
  const bool skips = !far && differing(glance, ignored) >= enough;
  std::vector<std::pair<double, const suspect*>> tried;
  double best = 0;
  for (const suspect& s : all) {
    if (skips && try_on(s, glance, ignored).found.explained == 0) continue;
    const tried_suspect t = try_on(s, q, ignored);
    const bool moved = far && in_same_outputs(t, q);
    tried.emplace_back(moved ? 1 : t.found.share(), &s);
    best = std::max(best, t.found.share());
  }
  // A quarter: what is right for half of many elements may be less so here. But
  // whoever has half of what another has is not the first there, either.
  if (differing(q, ignored) < enough) best = 0;
  std::vector<suspect> found;
  for (const auto& [share, s] : tried) {
    if (share >= std::max(0.25, best / 2)) found.push_back(*s);
  }
  return found;
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
  auto windows = densest(all, second_elements, how.ignored, most_windows);
  if (differing(windows[0], how.ignored) >= sparse) windows.resize(1);
  const question& middle = windows[0];
  const question small = densest(middle, first_elements, how.ignored);
  for (const question& q : windows) found.looked_at += elements_in(q);

  std::vector<suspect> quick = definitions(middle.p);
  for (auto& s : misreadings(middle.p)) quick.push_back(std::move(s));
  for (auto& s : displacements(middle.claimed, middle.given)) {
    quick.push_back(std::move(s));
  }
  std::vector<tried_suspect> likely;
  const auto consider = [&](const suspect& s) {
    tried_suspect t = try_on(s, middle, how.ignored);
    if (t.found.share() < 0.5) return;
    for (std::size_t w = 1; w < windows.size() && !s.of_this_data; ++w) {
      try_on(t, windows[w], how.ignored);
    }
    likely.push_back(std::move(t));
  };
  for (const suspect& s : quick) consider(s);
  const auto slow = faults(small.p);
  // What has another place in all of the data has another one in a window.
  const bool far = displaced(likely);
  for (const suspect& s : likely_faults(slow, small, how.ignored, far)) {
    consider(s);
  }
  found.tried = quick.size() + slow.size();
  // What asks for the first tile asks for that of a window: only all of the
  // data tells. A product's faults would take too long.
  const bool told = std::any_of(
      likely.begin(), likely.end(),
      [&](const tried_suspect& t) { return tells(t.found, found.tried); });
  const bool partly = elements_in(small) < elements_in(middle);
  if (!told && partly && all.p.what != target::gemm) {
    likely.clear();
    for (const suspect& s : slow) consider(s);
  }

  std::stable_sort(likely.begin(), likely.end(), likelier);
  std::vector<const tried_suspect*> heads;
  std::vector<const suspect*> first;  // the first cause, and what it ties with
  for (const tried_suspect& t : likely) {
    if (!tells(t.found, found.tried)) continue;
    const auto same =
        std::find_if(heads.begin(), heads.end(), [&](const tried_suspect* h) {
          return same_given(*h, t, middle.given);
        });
    if (same != heads.end()) {
      found.likely[static_cast<std::size_t>(same - heads.begin())]
          .same.push_back({t.who.of, t.who.name, t.who.what});
      if (same == heads.begin()) first.push_back(&t.who);
      continue;
    }
    // What gives every bit leaves nothing to others.
    const bool done = !heads.empty() && found.likely[0].exact();
    if (done || heads.size() == how.named) continue;
    if (heads.empty()) first.push_back(&t.who);
    heads.push_back(&t);
    found.likely.push_back({t.who.of,
                            t.who.name,
                            t.who.what,
                            t.found.explained,
                            t.found.left,
                            t.found.added,
                            {}});
  }
  if (how.distinguish) {
    found.distinguishing =
        find_distinguishing_case(middle.p, middle.given, first);
  }
}

}  // namespace zeroulp::fuzz
