#include "fuzz/finding.hpp"

#include <algorithm>
#include <chrono>

#include "conformance/mutants/mutant.hpp"
#include "fuzz/options.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/token.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// A fingerprint that is still possible.
struct suspect {
  const opponent* who;
  int agrees = 0;
};

int names_what(const suspect& s) { return s.who->change ? 1 : 0; }

/// How long a case that fails so may be made smaller, if to see it fail takes
/// `once`: each try may take as long. Of one that hangs, one try may.
double shrinking_seconds(conformance::fault f, double once) {
  if (f == conformance::fault::hung) return once / 2;
  if (f == conformance::fault::altered) return 2 + once;
  return std::min(60.0, 2 + 10 * once);
}

/// A case and what `right` makes of it.
struct seen_case {
  problem p;
  outputs made;
};

bool fails_alike(const outputs& x, const outputs& y) {
  const auto a = failure_in(x);
  const auto b = failure_in(y);
  return a.has_value() == b.has_value() && (!a || a->kind == b->kind);
}

seen_case shrink_seen(const problem& p, const opponent& left,
                      const opponent& right, const pins& pinned) {
  using clock = std::chrono::steady_clock;
  auto start = clock::now();
  const auto seconds = [&start] {
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  outputs best = run(right, p);
  const auto failure = failure_in(best);
  if (!failure && same(run(left, p), best)) return {p, std::move(best)};
  const double most = failure ? shrinking_seconds(failure->kind, seconds()) : 0;
  start = clock::now();
  const auto differs = [&](const problem& q) {
    if (failure && seconds() >= most) return false;
    if (pinned) {  // what a user fixed stays
      settings fixed = q.with;
      pinned(fixed);
      if (to_text(fixed, q.what) != to_text(q.with, q.what)) return false;
    }
    outputs made = run(right, q);
    if (!fails_alike(made, best) || same(run(left, q), made)) return false;
    best = std::move(made);
    return true;
  };
  problem small = shrink(p, differs);
  return {std::move(small), std::move(best)};
}

}  // namespace

std::optional<difference> first_difference(const outputs& left,
                                           const outputs& right) {
  if (const auto failure = failure_in(right)) {
    difference d;
    d.failure = failure->what();
    return d;
  }
  for (std::size_t n = 0; n < left.size(); ++n) {
    const matrix& x = left[n];
    const matrix& y = right[n];
    for (std::size_t i = 0; i < x.words.size(); ++i) {
      if (x.words[i] == y.words[i]) continue;
      const auto at = static_cast<std::ptrdiff_t>(i);
      return difference{x.name, at / x.cols, at % x.cols,
                        x.type, x.words[i],  y.words[i]};
    }
  }
  return {};
}

std::vector<cause> name_causes(const problem& p, const opponent& right,
                               std::uint64_t seed, int more,
                               const pins& pinned) {
  const auto all = fingerprints(p.what);
  const outputs bits = run(right, p);
  std::vector<suspect> suspects;
  for (const opponent& o : all) {
    if (same(run(o, p), bits)) suspects.push_back({&o});
  }
  int tried = 0;
  for (; tried < more; ++tried) {
    const auto index = static_cast<std::uint64_t>(tried);
    const problem next = generate(p.what, -1, seed, index, pinned);
    const outputs theirs = run(right, next);
    std::vector<suspect> rest;
    for (const suspect& s : suspects) {
      if (same(run(*s.who, next), theirs)) {
        rest.push_back({s.who, s.agrees + 1});
      }
    }
    if (rest.empty()) break;
    suspects = std::move(rest);
  }
  // Mutants say what is wrong, rows of a table only what it equals.
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const suspect& x, const suspect& y) {
                     return names_what(x) < names_what(y);
                   });
  std::vector<cause> causes;
  for (const suspect& s : suspects) {
    causes.push_back(
        {s.who->name, s.who->what, s.agrees, std::min(tried + 1, more)});
  }
  return causes;
}

problem shrink_case(const problem& p, const opponent& left,
                    const opponent& right, const pins& pinned) {
  return shrink_seen(p, left, right, pinned).p;
}

finding investigate(const problem& p, const opponent& left,
                    const opponent& right, const pins& pinned,
                    const std::string& failure) {
  finding f;
  f.found = p;
  seen_case seen = shrink_seen(p, left, right, pinned);
  f.shrunk = std::move(seen.p);
  f.token = to_token(f.shrunk);
  const auto where = first_difference(run(left, f.shrunk), seen.made);
  if (!where) {  // code of others need not do the same again
    f.where.failure = (failure.empty() ? "gave other bits" : failure) +
                      ", and did not when it was asked the same again";
    return f;
  }
  f.where = *where;
  if (!f.where.failure.empty()) return f;
  f.clauses = info_of(p.what).clauses(f.shrunk, f.where.output);
  if (left.name == core_opponent().name) {
    f.causes = name_causes(f.shrunk, right, 1, 2000, pinned);
  }
  return f;
}

std::vector<exposure> expose_mutants(
    std::uint64_t seed, std::uint64_t most, std::size_t stride,
    const std::function<void(const exposure&)>& each) {
  std::vector<exposure> rows;
  const auto mutants = conformance::all_mutants();
  for (std::size_t i = 0; i < mutants.size(); i += stride) {
    const auto& m = mutants[i];
    exposure row;
    row.mutant = m.table.name;
    row.what = m.what;
    for (int t = 0; t < target_count && !row.cases; ++t) {
      campaign c;
      c.what = static_cast<target>(t);
      c.seed = seed;
      c.cases = most;
      c.left = core_opponent();
      try {
        c.right = parse_opponent("mutant:" + row.mutant, c.what);
      } catch (const input_error&) {
        continue;  // another target's
      }
      const auto result = run(c);
      if (!result.first_mismatch) continue;
      row.found_by = c.what;
      row.cases = *result.first_mismatch + 1;
      row.small = investigate(
          generate(c.what, c.profile, c.seed, *result.first_mismatch), c.left,
          c.right);
      const auto& causes = row.small->causes;
      const auto named =
          std::find_if(causes.begin(), causes.end(),
                       [&](const cause& x) { return x.name == c.right.name; });
      if (named != causes.end()) {
        row.rank = static_cast<std::size_t>(named - causes.begin()) + 1;
      }
    }
    rows.push_back(std::move(row));
    if (each) each(rows.back());
  }
  return rows;
}

}  // namespace zeroulp::fuzz
