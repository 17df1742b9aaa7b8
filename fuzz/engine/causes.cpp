// Names the likely causes of a difference, by fingerprints.

#include "fuzz/engine/causes.hpp"

#include <algorithm>

namespace zeroulp::fuzz {
namespace {

/// A fingerprint that is still possible.
struct suspect {
  const opponent* who;
  int agrees = 0;
};

int names_what(const suspect& s) { return s.who->change ? 1 : 0; }

/// Returns true iff `made` has the same wrong word where the difference shows.
bool has(const outputs& made, const difference& where) {
  const auto of = std::find_if(
      made.begin(), made.end(),
      [&where](const matrix& x) { return x.name == where.output; });
  return of != made.end() && (*of)(where.row, where.col) == where.right;
}

/// The difference to explain, and how many more cases to try.
struct question {
  const problem& p;
  const opponent& right;
  difference where;
  int more;
  const pins& pinned;
};

/// Returns the fingerprints that agree longest. Differences of the kinds
/// `others` do not count.
std::vector<cause> follow(const std::vector<opponent>& all, const question& q,
                          const kind_set& others) {
  const outputs bits = run(q.right, q.p);
  std::vector<suspect> suspects;
  for (const opponent& o : all) {
    const outputs theirs = run(o, q.p);
    if (same_but(theirs, bits, others) && has(theirs, q.where)) {
      suspects.push_back({&o});
    }
  }
  int tried = 0;
  for (; tried < q.more; ++tried) {
    const auto index = static_cast<std::uint64_t>(tried);
    const problem next = generate(q.p.what, -1, 1, index, q.pinned);
    const outputs theirs = run(q.right, next);
    std::vector<suspect> rest;
    for (const suspect& s : suspects) {
      if (same_but(run(*s.who, next), theirs, others)) {
        rest.push_back({s.who, s.agrees + 1});
      }
    }
    if (rest.empty()) break;
    suspects = std::move(rest);
  }
  // Mutants first: they say what is wrong; a table row says what it equals.
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const suspect& x, const suspect& y) {
                     return names_what(x) < names_what(y);
                   });
  std::vector<cause> causes;
  for (const suspect& s : suspects) {
    causes.push_back(
        {s.who->name, s.who->what, s.agrees, std::min(tried + 1, q.more)});
  }
  return causes;
}

int agreement(const std::vector<cause>& causes) {
  return causes.empty() ? -1 : causes[0].agrees;
}

}  // namespace

std::vector<cause> name_causes(const problem& p, const opponent& right,
                               mismatch_kind k, const kind_set& others,
                               int more, const pins& pinned) {
  const auto where =
      first_difference(run(core_opponent(), p), run(right, p), only(k));
  if (!where) return {};
  const auto all = fingerprints(p.what);
  const question q{p, right, *where, more, pinned};
  auto exact = follow(all, q, {});
  if (others.none() || agreement(exact) == more) return exact;
  auto loose = follow(all, q, others);
  return agreement(loose) > agreement(exact) ? loose : exact;
}

}  // namespace zeroulp::fuzz
