// fuzz: holds one implementation against another on the cases of the engine;
// what differs is shrunk, explained and can be replayed.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/tensor/convention_json.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "fuzz/cases/options.hpp"
#include "fuzz/cases/token.hpp"
#include "fuzz/engine/shard.hpp"
#include "tools/zeroulp/fuzz/journal.hpp"
#include "tools/zeroulp/fuzz/ranks.hpp"
#include "tools/zeroulp/fuzz/report.hpp"
#include "tools/zeroulp/identify/plugin.hpp"
#include "tools/zeroulp/ignored.hpp"
#include "tools/zeroulp/plugin/plugins.hpp"
#include "tools/zeroulp/silicon.hpp"
#include "zeroulp/spec_version.hpp"
#endif

namespace zeroulp::program {

#ifdef ZEROULP_HAVE_CONFORMANCE

namespace {

using namespace fuzz;

struct fuzz_request {
  target what = target::encode;
  std::string profile = "mixed";
  std::string left = "core";
  std::string right = "oracle";
  std::string shard;
  std::string journal;
  std::uint64_t block = std::uint64_t{1} << 20;
  std::optional<std::string> token;
  std::string recipe;
  /// Settings by name, as text; empty: drawn.
  std::map<std::string, std::string> fixed;
  std::uint64_t seed = 1;
  std::uint64_t cases = 0;
  std::optional<double> seconds;
  int threads = 0;
  bool keep_going = false;
  bool show_bins = false;
  bool mpi = false;
  bool as_json = false;
  std::vector<std::string> ignored;
  std::shared_ptr<plugin_user> plugin = std::make_shared<plugin_user>();
};

opponent opponent_called(const fuzz_request& q, const std::string& name) {
  return is_plugin(name) ? q.plugin->opponent(name, q.what)
                         : find_opponent(name, q.what);
}

/// What keeps settings to those that `o` can answer; may be empty.
pins limits_on(const fuzz_request& q, const opponent& o) {
  return is_plugin(o.name) ? q.plugin->limits(q.what) : limits_of(o, q.what);
}

/// Returns what replaces drawn settings by those that the user fixed.
pins pins_of(const fuzz_request& q) {
  std::vector<std::pair<std::string, std::string>> list;
  settings probe;
  for (const auto& [name, text] : q.fixed) {
    if (text.empty()) continue;
    set(probe, q.what, name, text);  // a bad value is refused here
    list.emplace_back(name, text);
  }
  std::optional<recipe> whole;
  if (!q.recipe.empty()) whole = parse_recipe(q.recipe).value;
  if (list.empty() && !whole) return {};
  return [list, whole, what = q.what](settings& s) {
    if (whole) {
      s.gemm = *whole;
      s.unit = {e4m3, e4m3, whole->acc};
    }
    for (const auto& [name, text] : list) set(s, what, name, text);
  };
}

sides sides_of(const fuzz_request& q) {
  return {q.left, q.right, q.plugin->trusts()};
}

/// The shard that the user or a launcher asks for. A launcher's is said.
shard find_shard(const fuzz_request& q) {
  if (!q.shard.empty()) return parse_shard(q.shard);
  const shard s = shard_of([](const char* name) { return std::getenv(name); });
  if (!s.from.empty()) {
    print_error(fmt::format("zeroulp: shard {}/{}, as {} say\n", s.index,
                            s.count, s.from));
  }
  return s;
}

int find_profile(const fuzz_request& q) {
  std::vector<std::string_view> known{"mixed"};
  for (const char* name : info_of(q.what).profiles) known.emplace_back(name);
  const auto near = did_you_mean(q.profile, known);
  const bool is_known =
      std::find(known.begin(), known.end(), q.profile) != known.end();
  if (is_known || near.empty()) return parse_profile(q.what, q.profile);
  throw input_error(fmt::format("unknown profile '{}' of {}: {}use one of {}",
                                q.profile, info_of(q.what).name, near,
                                fmt::join(known, ", ")));
}

campaign campaign_of(const fuzz_request& q) {
  campaign c;
  c.what = q.what;
  c.profile = find_profile(q);
  c.seed = q.seed;
  if (q.seconds && !(*q.seconds > 0 && *q.seconds <= 1e9)) {
    throw input_error(fmt::format(
        "--seconds {:g}: use a number above 0, up to 1e9", *q.seconds));
  }
  c.seconds = q.seconds.value_or(0);
  c.cases = q.cases > 0 ? q.cases
            : q.seconds ? std::uint64_t{1} << 62
                        : covered;
  c.threads = q.threads;
  c.keep_going = q.keep_going;
  c.ignored = parse_ignored(q.ignored);
  if (is_plugin(q.left)) {
    throw input_error("--reference: a plug-in is what is held: use --against");
  }
  c.left = opponent_called(q, q.left);
  c.right = opponent_called(q, q.right);
  // Called for every case: nothing where there is nothing to pin.
  std::vector<pins> parts;
  for (auto& pin : {limits_on(q, c.left), limits_on(q, c.right), pins_of(q)}) {
    if (pin) parts.push_back(pin);
  }
  if (!parts.empty()) {
    c.pinned = [parts](settings& s) {
      for (const auto& pin : parts) pin(s);
    };
  }
  return c;
}

void replay(const fuzz_request& q, outcome& out) {
  const problem p = parse_token(*q.token);
  if (p.what != q.what) {
    throw input_error(fmt::format(
        "--replay: this token is of {}: zeroulp fuzz {} --replay TOKEN",
        info_of(p.what).name, info_of(p.what).name));
  }
  const auto ignored = parse_ignored(q.ignored);
  const auto left = run(opponent_called(q, q.left), p);
  const opponent theirs = opponent_called(q, q.right);
  const request_log log;
  const auto right = run(theirs, p);
  if (theirs.may_refuse) {
    q.plugin->summary(log.requests().size(), 0);  // nothing asked is refused
  }
  const auto where = first_difference(left, right, ~kinds_of(ignored));
  const bool refused = theirs.may_refuse && !log.all_answered();
  const auto left_running = q.plugin->leftovers();
  out.status = where || refused || !left_running.empty() ? 1 : 0;
  const std::string clauses = where && where->failure.empty()
                                  ? info_of(p.what).clauses(p, where->output)
                                  : "";
  if (q.as_json) {
    json j{{"token", *q.token}, {"held", out.status == 0}};
    if (!left_running.empty()) j["left_running"] = left_running;
    if (where) j["difference"] = difference_json(*where);
    if (!clauses.empty()) j["clauses"] = clauses;
    if (refused) j["refused"] = true;
    return print_json(j);
  }
  print(inputs_text(p));
  if (!left_running.empty()) print(left_running + "\n");
  if (where) {
    print(differences_text(left, right, ignored, sides_of(q)));
    if (!clauses.empty()) print(fmt::format("  SPEC      {}\n", clauses));
  } else if (refused) {
    print(fmt::format("  VACUOUS: {} refuses the request\n", q.right));
  } else if (same(left, right)) {
    print(fmt::format("  {} and {} give the same bits\n", q.left, q.right));
  } else {
    print(fmt::format("  {} and {} differ in nothing but {}\n", q.left, q.right,
                      to_text(ignored)));
  }
}

on_progress progress_of(const fuzz_request& q, const campaign& c) {
  using clock = std::chrono::steady_clock;
  return [show = make_progress(), start = clock::now(), q, c](
             std::uint64_t cases, std::uint64_t elements) {
    const double seconds =
        std::chrono::duration<double>(clock::now() - start).count();
    const auto rate = fmt::format(
        "{} cases, {:.1f} million elements a second", cases,
        static_cast<double>(elements) / std::max(seconds, 1e-3) / 1e6);
    const auto done = static_cast<double>(cases) / static_cast<double>(c.cases);
    const double time = q.seconds ? seconds / *q.seconds : 0;
    show(std::min(std::max(done, time), 1.0), 1, rate);
  };
}

/// What says which campaign it is, in journals and reports.
json header_of(const fuzz_request& q, std::uint64_t cases, const shard& s,
               const case_range& range) {
  json options = json::object();
  for (const auto& [name, text] : q.fixed) {
    if (!text.empty()) options[name] = text;
  }
  if (!q.recipe.empty()) options["recipe"] = q.recipe;
  if (is_plugin(q.right)) options["plugin"] = plugin_digest(q.right);
  const auto ignored = to_text(parse_ignored(q.ignored));
  if (!ignored.empty()) options["ignore"] = ignored;
  return {{"zeroulp_journal", journal_version},
          {"version", ZEROULP_VERSION},
          {"spec", spec_version},
          {"target", info_of(q.what).name},
          {"left", q.left},
          {"right", q.right},
          {"profile", q.profile},
          {"generator", generator_version},
          {"seed", q.seed},
          {"options", options},
          {"cases", cases},
          {"block", q.block},
          {"shard", {{"index", s.index}, {"count", s.count}, {"by", s.from}}},
          {"first", range.first},
          {"count", range.count}};
}

/// What the journal lacks, cut into blocks: the first `most` of them.
std::vector<case_range> left_of(const fuzz_request& q, const campaign& c,
                                const journal& log, std::size_t most) {
  std::vector<case_range> done;
  for (const auto& r : log.records()) done.push_back(r.range);
  return left_of(case_range{c.first, c.cases}, done, q.block, most);
}

/// Has the ranks do what the journal lacks.
std::vector<std::string> run_ranks(const fuzz_request& q, const campaign& c,
                                   ranks& all, journal& log) {
  std::uint64_t cases = 0;
  const auto show = make_progress();
  for (const auto& r : log.records()) cases += r.range.count;
  return all.distribute(
      left_of(q, c, log, SIZE_MAX),
      [&c](const case_range& range) { return run_block(c, range, 0); },
      [&](const block_record& r) {
        log.add(r);
        cases += r.range.count;
        show(static_cast<double>(cases), static_cast<double>(c.cases), "");
      });
}

/// Runs what the journal lacks, block by block; returns how much of it is left
/// when the time is over.
std::uint64_t run_journal(const fuzz_request& q, const campaign& c,
                          journal& log) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const auto time_left = [&] {
    const std::chrono::duration<double> gone = clock::now() - start;
    return q.seconds.value_or(0) - gone.count();
  };
  std::uint64_t cases = 0;
  for (const auto& r : log.records()) cases += r.range.count;
  const auto show = make_progress();
  while (cases < c.cases) {
    for (const auto& range : left_of(q, c, log, 65536)) {
      const double seconds = time_left();
      if (q.seconds && seconds <= 0) return c.cases - cases;
      const auto r = run_block(c, range, q.seconds ? seconds : 0);
      if (r.range.count > 0) log.add(r);
      cases += r.range.count;
      if (r.result.broke_off) return c.cases - cases;
      show(static_cast<double>(cases), static_cast<double>(c.cases), "");
    }
  }
  return 0;
}

/// "NAME answered 4000 requests", of a plug-in; what it claims goes into the
/// report.
std::string take_answers(const fuzz_request& q, campaign_report& report) {
  if (q.plugin->code() == nullptr) return "";
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  for (const auto& c : report.result.claims) {
    answered += c.answered;
    refused += c.refused;
  }
  for (const auto& c : q.plugin->code()->claims()) {
    report.claims.push_back(c.text());
  }
  return q.plugin->summary(answered, refused);
}

/// Shows what was found; sets the exit status. `identified`: what is to say of
/// a plug-in.
void show_report(const fuzz_request& q, const campaign& c,
                 campaign_report report, std::uint64_t left,
                 const std::vector<std::string>& apart,
                 const std::string& identified, outcome& out) {
  const std::string answers = identified + take_answers(q, report);
  const auto found = investigate(c, report.result);
  const auto left_running = q.plugin->leftovers();
  const bool fails = !apart.empty() || !left_running.empty();
  out.status = std::max(status_of(report), fails ? 1 : 0);
  if (q.as_json) {
    json j = to_json(report);
    if (is_plugin(q.right)) j["seal"] = q.plugin->seal();
    if (!left_running.empty()) j["left_running"] = left_running;
    if (!q.journal.empty()) j["cases_left"] = left;
    if (q.mpi) j["disagreements"] = apart;
    for (const auto& f : found) {
      j["findings"].push_back(finding_json(f, sides_of(q)));
    }
    return print_json(j);
  }
  print(to_text(report, q.show_bins));
  print(answers);
  if (!left_running.empty()) print(left_running + "\n");
  if (left > 0) {
    print(fmt::format("{} cases are left: the same command goes on\n", left));
  }
  for (const auto& line : apart) print(fmt::format("DISAGREE: {}\n", line));
  for (const auto& f : found) {
    print(
        finding_text(f, sides_of(q), at(report.result.seen, f.kind).cases - 1));
  }
  // Of what held, but for what was left behind, there is no verdict to print.
  if (!fails || status_of(report) != 0) print(verdict_text(report));
}

/// One campaign over the ranks of MPI.
void run_mpi(const fuzz_request& q, const std::string& identified,
             outcome& out) {
  if (q.journal.empty()) throw input_error("--mpi needs --journal FILE");
  ranks all;  // takes a GPU before anybody asks for one
  try {
    const campaign c = campaign_of(q);
    if (!all.is_first()) {
      all.serve(
          [&c](const case_range& range) { return run_block(c, range, 0); });
      const auto left_running = q.plugin->leftovers();
      if (left_running.empty()) return;
      out.status = 1;
      return print_error(fmt::format("zeroulp: {}\n", left_running));
    }
    const case_range whole{0, c.cases};
    const json header = header_of(q, c.cases, {}, whole);
    journal log(q.journal, header);
    const auto apart = run_ranks(q, c, all, log);
    auto report = report_of(header, log.records());
    const auto cases_left = c.cases - report.result.cases;
    show_report(q, c, std::move(report), cases_left, apart, identified, out);
    all.set_status(out.status);
  } catch (const std::exception& e) {
    // The end of `all` ends the job, before anybody else can say why.
    print_error(fmt::format("zeroulp: {}\n", e.what()));
    throw;
  }
}

/// Conventions in JSON files by the text that tokens and journals have.
void name_conventions(fuzz_request& q) {
  const auto name = [](std::string& text) {
    if (!text.ends_with(".json")) return;
    text = name_of(convention_json().find(text).value);
  };
  const auto fixed = q.fixed.find("convention");
  if (fixed != q.fixed.end()) name(fixed->second);
  constexpr std::string_view prefix = "convention:";
  for (auto* side : {&q.left, &q.right}) {
    if (!side->starts_with(prefix)) continue;
    auto text = side->substr(prefix.size());
    name(text);
    *side = fmt::format("{}{}", prefix, text);
  }
}

void run_fuzz(fuzz_request& q, outcome& out) {
  name_conventions(q);
  if (q.token) return replay(q, out);
  std::string identified;
  const auto convention = q.fixed.find("convention");
  const bool is_named = !q.recipe.empty() || (convention != q.fixed.end() &&
                                              !convention->second.empty());
  if (is_plugin(q.right) && !is_named) {
    identified = adopt_identities(q.plugin->find(q.right), q.what);
  }
  if (q.mpi) return run_mpi(q, identified, out);
  campaign c = campaign_of(q);
  const std::uint64_t cases = c.cases;
  const shard s = find_shard(q);
  const case_range mine = part_of(s, {0, cases});
  c.first = mine.first;
  c.cases = mine.count;
  const json header = header_of(q, cases, s, mine);
  campaign_report report{header, {}, 0, {}};
  if (q.journal.empty()) {
    report.result = run(c, progress_of(q, c));
    report.counted = counted_in({c.first, report.result.cases});
    return show_report(q, c, report, 0, {}, identified, out);
  }
  journal log(q.journal, header);
  const std::uint64_t left = run_journal(q, c, log);
  show_report(q, c, report_of(header, log.records()), left, {}, identified,
              out);
}

/// "a_group" is --a-group.
std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

void add_target(cli::app& fuzz, const target_info& info, outcome& out) {
  auto* sub = add_command(
      fuzz, info.name, info.about,
      fmt::format("zeroulp fuzz {} --cases 100000 --seed 7", info.name));
  auto q = std::make_shared<fuzz_request>();
  q->what = info.what;
  sub->add_option("--against", q->right,
                  "oracle, engine, silicon, gpu, mutant:NAME, convention:NAME, "
                  "recipe:NAME, path:NAME, or a plug-in: LIB.so, python:FILE")
      ->capture_default_str();
  sub->add_option("--reference", q->left, "what it is held against")
      ->capture_default_str();
  std::string profiles = "mixed";
  for (const char* profile : info.profiles)
    profiles += fmt::format(", {}", profile);
  sub->add_option("--profile", q->profile, profiles)->capture_default_str();
  sub->add_option("--cases", q->cases,
                  fmt::format("{}, or with --seconds no limit", covered))
      ->check(cli::range(std::uint64_t{1}, std::uint64_t{1} << 62));
  sub->add_option("--seconds", q->seconds, "stop after this time");
  add_seed(sub, q->seed);
  sub->add_option("--threads", q->threads, "0: all cores")
      ->check(cli::range(0, 1024));
  sub->add_option(
      "--shard", q->shard,
      "I/N: the I-th of N parts; by default as the innermost launcher says: "
      "GoogleTest, Open MPI, PMI, Slurm");
  sub->add_option("--journal", q->journal,
                  "a file that says what is done: a run that was killed goes "
                  "on; every mismatch is counted");
  sub->add_option("--block", q->block, "cases of a line of the journal")
      ->check(cli::range(std::uint64_t{1}, std::uint64_t{1} << 62))
      ->capture_default_str();
  auto* mpi = sub->add_flag(
      "--mpi", q->mpi, "spread over the ranks of mpirun, one journal for all");
  mpi->excludes("--shard")->excludes("--seconds");
  sub->add_option("--replay", q->token, "the case that a finding named");
  sub->add_flag("--keep-going", q->keep_going,
                "count every mismatch, not the first alone");
  add_ignore(sub, q->ignored);
  sub->add_flag(
      "--bins", q->show_bins,
      fmt::format("print every coverage bin (of cases below {})", covered));
  sub->add_flag("--json", q->as_json);
  q->plugin->add_options(sub);
  for (const char* name : info.options) {
    sub->add_option(flag_of(name), q->fixed[name],
                    fmt::format("fix: {}", option_of(name).about));
  }
  if (info.what == target::gemm) {
    sub->add_option("--recipe", q->recipe, "fix a named recipe");
  }
  // A token is a case already.
  auto* replay = sub->get_option("--replay");
  for (auto* other : sub->get_options()) {
    const auto name = other->get_name();
    const bool goes =
        name == "--replay" || name == "--help" || name == "--against" ||
        name == "--reference" || name == "--limit" || name == "--load-limit" ||
        name == "--trust" || name == "--json" || name == "--ignore";
    if (!goes) replay->excludes(other);
  }
  sub->callback([q, &out] { run_fuzz(*q, out); });
}

}  // namespace

void add_fuzz(cli::app& app, outcome& out) {
  auto* fuzz = add_command(
      app, "fuzz", "Hold implementations against each other on generated cases",
      "zeroulp fuzz quantize --against convention:vllm");
  fuzz->require_subcommand(1);
  for (int i = 0; i < target_count; ++i) {
    add_target(*fuzz, info_of(static_cast<target>(i)), out);
  }
  add_fuzz_mutants(*fuzz, out);
  add_fuzz_conventions(*fuzz, out);
  add_fuzz_merge(*fuzz, out);
}

#else

void add_fuzz(cli::app& app, outcome&) {
  auto* sub = add_command(
      app, "fuzz", "Hold implementations against each other on generated cases",
      "zeroulp fuzz quantize --against convention:vllm");
  sub->allow_extras();
  sub->callback([] {
    throw input_error(
        "fuzz: this build has no MPFR, GMP or Boost to check against: install "
        "them and build again");
  });
}

#endif

}  // namespace zeroulp::program
