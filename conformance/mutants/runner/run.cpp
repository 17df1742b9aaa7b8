// zeroulp_mutants: holds every mutant against the checks and prints the score.
//
//   zeroulp_mutants [--only TEXT] [--part I/N] [--jobs N] [--limit SECONDS]
//                   [--level N] [--checks TEXT] [--equivalent FILE]
//                   [--suite core|engine] [--verbose]
//
// Mutants of the core meet the registry of checks, those of the fast paths the
// cases of the tests and of the case engine. Each runs in a process of its own
// at level 0 until a check fails; what survives runs again at --level (1). A
// mutant that survives must stand in a file of equivalent ones, with a proof;
// one that stands there must survive the quickest checks, and from --level 2 on
// all of level 0, however long it takes for them up to --limit. With --checks
// only the checks with TEXT in their name run: what these kill by themselves,
// as recorded vectors do. Exit status: 0 if so, else 1; 2 for bad requests.

#include <fmt/format.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "conformance/mutants/runner/trial.hpp"

namespace zeroulp::conformance {
namespace {

struct request {
  std::string only;
  std::string suite;  ///< core or engine; both
  std::string checks;
  std::vector<std::string> equivalent;
  int part = 0;
  int parts = 1;
  int level = 1;
  bool verbose = false;
  trial_options trial;
};

/// Times each check on the generated code without a mutant, and leaves out
/// those that fail: their kills would mean nothing. Returns false if any does.
/// What the oracles compute once is computed here, and inherited by every
/// child.
bool measure(const suite& s, std::vector<timed_check>& checks, bool verbose) {
  const implementation sound = s.baseline();
  std::vector<timed_check> held;
  double total = 0;
  for (auto& c : checks) {
    const double start = cpu_seconds();
    verdict v;
    if (c.value.level == 0) v = run_check(c.value, sound, {0, 1, true});
    c.seconds = cpu_seconds() - start;
    total += c.seconds;
    c.reaches = s.reached();
    if (v.failures == 0) held.push_back(c);
    if (v.failures > 0) {
      fmt::print("not ok {} on the {} without a mutant: {}\n", c.value.name,
                 s.name, v.first_failure);
    } else if (verbose) {
      fmt::print("# {:.3f} s {}, {} cases\n", c.seconds, c.value.name, v.cases);
    }
  }
  fmt::print("# {}: {} checks, {:.1f} s at level 0 without a mutant\n", s.name,
             held.size(), total);
  const bool all = held.size() == checks.size();
  checks = std::move(held);
  return all;
}

/// The mutants that are known to change nothing. In the file a key stands at
/// the beginning of a line, its proof is indented below; `{0 => *}` is every
/// change of that token.
class equivalence {
 public:
  explicit equivalence(const std::vector<std::string>& files) {
    for (const auto& file : files) {
      std::ifstream in(file);
      std::string line;
      while (std::getline(in, line)) {
        if (!line.empty() && line[0] != ' ' && line[0] != '#') {
          unmet_.insert(line);
        }
      }
    }
    keys_ = unmet_;
  }

  bool holds(const std::string& key) const {
    return keys_.count(key) > 0 || keys_.count(starred(key)) > 0;
  }
  void meet(const std::string& key) {
    unmet_.erase(key);
    unmet_.erase(starred(key));
  }
  /// Keys that no mutant has.
  const std::set<std::string>& unmet() const { return unmet_; }

 private:
  static std::string starred(std::string key) {
    const auto from = key.find(" => ");
    if (from == std::string::npos) return key;
    const auto to = key.find('}', from);
    return key.replace(from + 4, to - from - 4, "*");
  }

  std::set<std::string> keys_;
  std::set<std::string> unmet_;
};

struct score {
  int killed = 0;
  int equivalent = 0;
  int wrong = 0;
  int total = 0;
};

/// Prints outcomes as they come, and the score.
class report {
 public:
  report(const equivalence& equivalent, bool verbose)
      : equivalent_(equivalent), verbose_(verbose) {}

  /// `name`: of the check that killed, or was running.
  void add(const candidate& c, const outcome& o, const std::string& name) {
    const bool survived = o.what == fate::survived;
    const bool listed = equivalent_.holds(c.key);
    const bool right = survived == listed;
    auto& s = scores_[c.group];
    ++s.total;
    s.killed += survived ? 0 : 1;
    s.equivalent += survived && listed ? 1 : 0;
    s.wrong += right ? 0 : 1;
    if (right && !verbose_ && c.group != "hand-written") return;
    fmt::print("{} {}{}{} # {}{}\n", right ? "ok" : "not ok", c.key,
               c.what.empty() ? "" : ", ", c.what, story(o, name),
               !right && listed ? ", but listed as equivalent" : "");
    if (verbose_ && o.first_failure[0] != 0) {
      fmt::print("#   {}\n", o.first_failure.data());
    }
  }

  /// Prints the scores; returns true iff there was an outcome, and each was as
  /// it should be.
  bool finish() const {
    score hand;
    score generated;
    for (const auto& [group, s] : scores_) {
      auto& sum = group == "hand-written" ? hand : generated;
      sum.killed += s.killed;
      sum.equivalent += s.equivalent;
      sum.total += s.total;
      sum.wrong += s.wrong;
      fmt::print("{} {}: {} of {} killed, {} equivalent\n",
                 s.wrong == 0 ? "ok" : "not ok", group, s.killed, s.total,
                 s.equivalent);
    }
    fmt::print(
        "# hand-written: {} of {} killed; generated: {} of {} killed, {} "
        "equivalent, {} unexplained\n",
        hand.killed, hand.total, generated.killed, generated.total,
        generated.equivalent, hand.wrong + generated.wrong);
    const bool any = hand.total + generated.total > 0;
    if (!any) fmt::print("not ok no mutant # none has this in its name\n");
    return any && hand.wrong + generated.wrong == 0;
  }

 private:
  static std::string story(const outcome& o, const std::string& name) {
    switch (o.what) {
      case fate::killed:
        return fmt::format("killed by {}, {} cases, {:.2f} s", name, o.cases,
                           o.seconds);
      case fate::crashed:
        return fmt::format("killed: crashed in {}", name);
      case fate::timed_out:
        return fmt::format("killed: too slow in {}", name);
      case fate::survived:
      case fate::running:
        break;
    }
    return fmt::format("SURVIVED {} cases, {:.1f} s", o.cases, o.seconds);
  }

  const equivalence& equivalent_;
  bool verbose_;
  std::map<std::string, score> scores_;
};

/// Holds those of the suite that are asked for; returns false if the suite
/// itself fails. Without `is_asked` none: their keys are met all the same.
bool hold(const suite& s, bool is_asked, equivalence& equivalent,
          const request& r, report& out) {
  std::vector<candidate> all = s.candidates;
  std::vector<const candidate*> chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    equivalent.meet(all[i].key);
    all[i].brief = r.level < 2 && equivalent.holds(all[i].key);
    const bool named = r.only == s.name || r.only == all[i].group ||
                       all[i].key.find(r.only) != std::string::npos;
    const bool here =
        static_cast<int>(i % static_cast<std::size_t>(r.parts)) == r.part;
    if (is_asked && named && here) chosen.push_back(&all[i]);
  }
  if (chosen.empty()) return true;
  auto checks = s.checks();
  std::erase_if(checks, [&r](const timed_check& c) {
    return c.value.name.find(r.checks) == std::string::npos;
  });
  const bool sound = measure(s, checks, r.verbose);
  const auto add = [&](const candidate& c, const outcome& o) {
    out.add(c, o, checks[static_cast<std::size_t>(o.check)].value.name);
  };
  const bool deep =
      r.level > 0 && std::any_of(checks.begin(), checks.end(),
                                 [](auto& c) { return c.value.level > 0; });
  std::vector<const candidate*> survivors;
  std::vector<const candidate*> late;
  trial_options all_of_level_0 = r.trial;
  double total = 0;
  for (const timed_check& c : checks) total += c.seconds;
  all_of_level_0.limit = std::max(r.trial.limit, 3 * total);
  run_trials(checks, chosen, all_of_level_0,
             [&](std::size_t i, const outcome& o) {
               const candidate& c = *chosen[i];
               const bool listed = equivalent.holds(c.key);
               if (listed && o.what == fate::timed_out) {
                 late.push_back(&c);
               } else if (!listed && o.what == fate::survived && deep) {
                 survivors.push_back(&c);
               } else {
                 add(c, o);
               }
             });
  // The same bits may take longer, as long as they come.
  trial_options patient = r.trial;
  patient.slack = r.trial.limit;
  run_trials(checks, late, patient,
             [&](std::size_t i, const outcome& o) { add(*late[i], o); });
  trial_options deeper = r.trial;
  deeper.level = r.level;
  deeper.limit = 3 * r.trial.limit;  // CPU seconds are longer on a busy machine
  run_trials(checks, survivors, deeper, [&](std::size_t i, outcome o) {
    // Too slow is no kill at a level whose checks take as long as they like.
    if (o.what == fate::timed_out) o.what = fate::survived;
    add(*survivors[i], o);
  });
  return sound;
}

int run(request r) {
  equivalence equivalent(r.equivalent);
  report out(equivalent, r.verbose);
  bool held = hold(core_suite(), r.suite != "engine", equivalent, r, out);
  // Their checks are short.
  r.trial.slack = 0.2;
  r.trial.brief = 0.05;
  held = hold(engine_suite(), r.suite != "core", equivalent, r, out) && held;
  for (const auto& key : equivalent.unmet()) {
    fmt::print("not ok {} # listed as equivalent, but no mutant\n", key);
    held = false;
  }
  held = out.finish() && held;
  return held ? 0 : 1;
}

/// Returns false if `argv` makes no sense.
bool parse(int argc, char** argv, request& r) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--verbose") {
      r.verbose = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (name == "--only") {
      r.only = value;
    } else if (name == "--suite") {
      if (value != "core" && value != "engine") return false;
      r.suite = value;
    } else if (name == "--checks") {
      r.checks = value;
    } else if (name == "--equivalent") {
      r.equivalent = {value};
    } else if (name == "--jobs") {
      r.trial.jobs = std::max(1, std::atoi(value.c_str()));
    } else if (name == "--level") {
      r.level = std::atoi(value.c_str());
    } else if (name == "--limit") {
      r.trial.limit = std::atof(value.c_str());
    } else if (name != "--part" ||
               std::sscanf(value.c_str(), "%d/%d", &r.part, &r.parts) != 2 ||
               r.parts < 1 || r.part < 0 || r.part >= r.parts) {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace zeroulp::conformance

int main(int argc, char** argv) {
#ifdef _OPENMP
  // A child of fork() has none of the threads that OpenMP counts on.
  omp_set_num_threads(1);
#endif
  zeroulp::conformance::request r;
  r.equivalent = {ZEROULP_MUTANTS_DIR "/equivalent.txt",
                  ZEROULP_MUTANTS_DIR "/engine_equivalent.txt"};
  if (!zeroulp::conformance::parse(argc, argv, r)) {
    std::fputs(
        "zeroulp_mutants: bad arguments; try: zeroulp_mutants --only "
        "hand-written --verbose\n",
        stderr);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return zeroulp::conformance::run(r);
}
