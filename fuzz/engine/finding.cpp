// Makes a finding of a mismatch: shrinks it, explains it, writes its token.

#include "fuzz/engine/finding.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "conformance/mutants/mutant.hpp"
#include "fuzz/cases/options.hpp"
#include "fuzz/cases/token.hpp"
#include "fuzz/engine/shrink.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// Seconds for shrinking a case that fails so. One failing run takes `once`,
/// and each try may take as long. A case that hangs gets one try.
double shrinking_seconds(conformance::fault f, double once) {
  if (f == conformance::fault::hung) return once / 2;
  if (f == conformance::fault::altered) return 2 + once;
  return std::min(60.0, 2 + 10 * once);
}

/// Seconds of this process's own time for shrinking a case with wrong bits.
/// Only large cases take so long, whatever else the machine does.
constexpr double most_shrinking = 10;

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// A case, and the outputs of `right`.
struct seen_case {
  problem p;
  outputs made;
};

mismatch_kind gravest(const kind_set& kinds) {
  return *std::find_if(all_mismatch_kinds.begin(), all_mismatch_kinds.end(),
                       [&](mismatch_kind k) { return contains(kinds, k); });
}

bool fails_alike(const outputs& x, const outputs& y) {
  const auto a = failure_in(x);
  const auto b = failure_in(y);
  return a.has_value() == b.has_value() && (!a || a->kind == b->kind);
}

seen_case shrink_seen(const campaign& c, const problem& p, mismatch_kind k) {
  using clock = std::chrono::steady_clock;
  auto start = clock::now();
  const auto seconds = [&start] {
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  outputs best = run(c.right, p);
  const auto failure = failure_in(best);
  const auto shows = [&](const problem& q, const outputs& made) {
    return first_difference(run(c.left, q), made, only(k)).has_value();
  };
  if (!shows(p, best)) return {p, std::move(best)};
  const double most = failure ? shrinking_seconds(failure->kind, seconds()) : 0;
  // Shrinking cannot follow a mismatch that comes and goes.
  if (c.right.may_refuse && !failure && is_stateful(p, c.right)) {
    return {p, std::move(best)};
  }
  start = clock::now();
  const double begin = processor_seconds();
  const auto is_over = [&] {
    return failure ? seconds() >= most
                   : processor_seconds() - begin >= most_shrinking;
  };
  const auto differs = [&](const problem& q) {
    if (is_over()) return false;
    if (c.pinned) {  // settings that a user fixed stay
      settings fixed = q.with;
      c.pinned(fixed);
      if (to_text(fixed, q.what) != to_text(q.with, q.what)) return false;
    }
    outputs made = run(c.right, q);
    if (!fails_alike(made, best) || !shows(q, made)) return false;
    best = std::move(made);
    return true;
  };
  problem small = shrink(p, differs);
  return {std::move(small), std::move(best)};
}

}  // namespace

problem shrink_case(const campaign& c, const problem& p, mismatch_kind k) {
  return shrink_seen(c, p, k).p;
}

finding investigate(const campaign& c, const campaign_result& r,
                    mismatch_kind k) {
  finding f;
  f.kind = k;
  f.index = at(r.seen, k).first.value();
  f.found = case_of(c, f.index);
  seen_case seen = shrink_seen(c, f.found, k);
  f.shrunk = std::move(seen.p);
  f.token = to_token(f.shrunk);
  const auto where =
      first_difference(run(c.left, f.shrunk), seen.made, only(k));
  if (where) {
    f.where = *where;
  } else {  // a plug-in need not give the same bits again
    const bool failed = k == mismatch_kind::failure && !r.failure.empty();
    f.where.failure = (failed ? r.failure : "gave other bits") +
                      ", and did not when it was asked the same again";
  }
  if (where && f.where.failure.empty()) {
    f.clauses = info_of(c.what).clauses(f.shrunk, f.where.output);
  }
  if (c.left.name != core_opponent().name || k == mismatch_kind::failure) {
    return f;
  }
  if (c.right.may_refuse) f.causes = name_habits(f.found, c.right, 64);
  if (f.causes.empty() && where) {
    const kind_set others = kinds_seen(r, {}) & ~only(k);
    f.causes = name_causes(f.shrunk, c.right, k, others, 2000, c.pinned);
  }
  return f;
}

std::vector<finding> investigate(const campaign& c, const campaign_result& r) {
  std::vector<finding> all;
  const kind_set seen = kinds_seen(r, c.ignored);
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (contains(seen, k)) all.push_back(investigate(c, r, k));
  }
  return all;
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
      c.further = 0;
      c.left = core_opponent();
      c.right = opponent_of(m);
      if (answers_as_core(c.right, c.what)) continue;  // another target's
      const auto result = run(c);
      if (!result.first_mismatch) continue;
      row.found_by = c.what;
      row.cases = *result.first_mismatch + 1;
      row.small = investigate(c, result, gravest(kinds_seen(result, {})));
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
