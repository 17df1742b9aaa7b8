// conform: runs the registry of checks on this build of the core, or the
// checks that need a GPU, or those of a plug-in.

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <set>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/gemm/shapes.hpp"
#include "tools/zeroulp/program.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/conform/plugin.hpp"
#include "tools/zeroulp/conform/report.hpp"
#include "tools/zeroulp/conform/unfinished.hpp"
#include "tools/zeroulp/conform/verify.hpp"
#include "tools/zeroulp/plugin/plugins.hpp"
#include "tools/zeroulp/progress.hpp"
#endif
#ifdef ZEROULP_HAVE_DEVICE
#include "conformance/device/device.hpp"
#include "conformance/device/model/model.hpp"
#endif

namespace zeroulp::program {
namespace {

struct conform_request {
  bool gpu = false;
  std::string plugin;
  int level = 0;
  std::uint64_t seed = 1;
  std::string only;
  std::string shapes;
  std::string out;
  std::string record;
  std::string verify;
  std::string sample = "1%";
  bool list = false;
  bool as_json = false;
  std::set<std::string> names;  ///< of the checks; empty: all
#ifdef ZEROULP_HAVE_CONFORMANCE
  std::shared_ptr<plugin_user> user = std::make_shared<plugin_user>();
  std::shared_ptr<picture_album> album = std::make_shared<picture_album>();
#endif
};

#ifdef ZEROULP_HAVE_CONFORMANCE

#ifdef ZEROULP_HAVE_DEVICE

conformance::check_list gpu_checks(const conform_request& q) {
  std::vector<conformance::gemm_shape> shapes;
  if (!q.shapes.empty()) {
    for (const auto& s : read_shapes(q.shapes))
      shapes.push_back({s.m, s.n, s.k});
  }
  auto checks = conformance::device::all_checks(shapes);
  for (auto& check : conformance::device::kernel_model_checks()) {
    checks.push_back(std::move(check));
  }
  return checks;
}

/// Throws input_error if there is no GPU to run on.
platform_text gpu_platform() {
  const auto absent = conformance::device::why_absent();
  if (!absent.empty()) throw input_error("conform --gpu: " + absent);
  const auto d = conformance::device::describe();
  return {{"device", d.name},
          {"multiprocessors", std::to_string(d.multiprocessors)},
          {"clock", fmt::format("{} MHz", d.clock_mhz)},
          {"memory clock", fmt::format("{} MHz", d.memory_clock_mhz)},
          {"driver", d.driver},
          {"CUDA", d.runtime},
          {"compiler", d.compiler}};
}

#else

[[noreturn]] void refuse_gpu() {
  throw input_error(fmt::format("conform --gpu: {}", no_gpu_part));
}
conformance::check_list gpu_checks(const conform_request&) { refuse_gpu(); }
platform_text gpu_platform() { refuse_gpu(); }

#endif

conformance::check_list checks_of(const conform_request& q) {
  auto checks = !q.plugin.empty()
                    ? plugin_checks(q.plugin, q.user->find(q.plugin), q.album)
                : q.gpu ? gpu_checks(q)
                        : conformance::all_checks();
  std::erase_if(checks, [&q](const auto& check) {
    return check.name.find(q.only) == std::string::npos ||
           (!q.names.empty() && !q.names.contains(check.name));
  });
  return checks;
}

/// Prints what the checks are, without running them.
void list_checks(const conform_request& q) {
  json results = json::array();
  table t{{"check", "clauses", "oracle", "from level"}, {}};
  const auto checks = checks_of(q);
  if (checks.empty()) {
    throw input_error(
        fmt::format("--only '{}': no check has this in its name", q.only));
  }
  for (const auto& check : checks) {
    results.push_back({{"check", check.name},
                       {"clauses", check.clauses},
                       {"oracle", check.oracle},
                       {"level", check.level}});
    t.rows.push_back(
        {check.name, check.clauses, check.oracle, std::to_string(check.level)});
  }
  q.as_json ? print_json(results) : print(t);
}

/// What is known of a plug-in at its end alone, as a check that failed.
void add_leftovers(const conform_request& q, conform_run& r) {
  const auto left = q.user->leftovers();
  if (left.empty()) return;
  conformance::verdict v;
  v.count(false, [&left] { return left; });
  r.checks.push_back({{"Ends", "", "", 0, {}}, v});
}

conformance::implementation implementation_of(const conform_request& q) {
  return q.plugin.empty()
             ? conformance::core_implementation()
             : conformance::plugin::implementation_of(q.user->find(q.plugin));
}

/// A run before its first check.
conform_run begin_run(const conform_request& q) {
  conform_run r;
  r.gpu = q.gpu;
  r.plugin = q.plugin;
  r.trusts = q.user->trusts();
  r.implementation = q.gpu ? "device" : implementation_of(q).name;
  r.effort = {q.level, q.seed, false};
  r.only = q.only;
  r.platform = q.gpu ? gpu_platform() : host_platform();
  if (!q.plugin.empty()) r.platform.emplace_back("seal", q.user->seal());
  return r;
}

/// With `part`, from where an earlier run was ended; each check is kept there.
void run_checks(const conform_request& q, conform_run& r,
                unfinished_record* part = nullptr) {
  using clock = std::chrono::steady_clock;
  const auto held = implementation_of(q);
  auto checks = checks_of(q);
  std::erase_if(checks, [&q](const auto& c) { return c.level > q.level; });
  if (checks.empty()) {
    throw input_error(
        fmt::format("--only '{}': no check of level {} has this in its name",
                    q.only, q.level));
  }
  const auto tell = make_progress();
  for (const auto& check : checks) {
    if (const auto* const done =
            part == nullptr ? nullptr : part->find(check.name)) {
      r.checks.push_back(*done);
      r.checks.back().what = check;
      continue;
    }
    const auto start = clock::now();
    const auto found = conformance::run_check(check, held, r.effort);
    const std::chrono::duration<double> seconds = clock::now() - start;
    if (found.skipped == asks_nothing) continue;
    r.checks.push_back({check, found, seconds.count()});
    if (part != nullptr) part->add(r.checks.back());
    const auto picture = q.album->find(check.name);
    if (picture != q.album->end()) r.checks.back().picture = picture->second;
    tell(static_cast<double>(r.checks.size()),
         static_cast<double>(checks.size()), check.name);
  }
  if (r.checks.empty()) {
    throw input_error(fmt::format(
        "--only '{}': no check with this in its name asks anything that {} "
        "claims",
        q.only, q.plugin));
  }
  add_leftovers(q, r);
}

/// Runs a sample of a record again.
void verify_record(const conform_request& given, outcome& out) {
  const auto record = read_record(given.verify);
  conform_request q = given;
  q.gpu = record.gpu;
  q.level = record.effort.level;
  q.seed = record.effort.seed;
  q.names = sample_of(record, parse_percent(given.sample), given.seed);
  if (q.names.empty()) {
    throw input_error(
        fmt::format("--verify {}: all its checks are skipped", given.verify));
  }
  auto r = begin_run(q);
  run_checks(q, r);
  const auto checks = compare(record, r);
  if (checks.size() != q.names.size()) {
    throw input_error(fmt::format(
        "--verify {}: this program has {} of the {} checks of the sample",
        given.verify, checks.size(), q.names.size()));
  }
  const auto differing =
      std::count_if(checks.begin(), checks.end(),
                    [](const verified_check& c) { return !c.same(); });
  out.status = differing == 0 ? 0 : 1;
  const auto from = origins(record, r);
  if (q.as_json) {
    json list = json::array();
    for (const auto& c : checks) {
      list.push_back({{"check", c.name},
                      {"recorded", c.recorded},
                      {"now", c.now},
                      {"same", c.same()}});
    }
    return print_json({{"record", given.verify},
                       {"origins", from},
                       {"checks", list},
                       {"differing", differing}});
  }
  for (const auto& line : from) print(line + "\n");
  table t{{"check", "cases", "verdict", "outputs", "again"}, {}};
  for (const auto& c : checks) {
    t.rows.push_back({c.name, c.recorded["cases"].dump(),
                      c.recorded["verdict"].get<std::string>(),
                      c.recorded.value("got", "-"),
                      c.same() ? "same" : "DIFFERS"});
  }
  print(t);
  for (const auto& c : checks) {
    if (c.same()) continue;
    print(fmt::format("{}: recorded {}; now {}\n", c.name, c.recorded.dump(),
                      c.now.dump()));
  }
  print(fmt::format("{} of {} checks run again, {} differ\n", checks.size(),
                    record.checks.size(), differing));
}

void run_conform(const conform_request& q, outcome& out) {
  if (!q.plugin.empty() && !is_plugin(q.plugin)) {
    throw input_error(
        fmt::format("--plugin {}: use LIB.so or python:FILE.py", q.plugin));
  }
  if (q.level < 0 || q.level > 3) {
    throw input_error(
        fmt::format("--level {}: use 0 (seconds) to 3 "
                    "(exhaustive)",
                    q.level));
  }
  if (q.list) return list_checks(q);
  if (!q.verify.empty()) return verify_record(q, out);
  // Hours later would be late to find that nothing can be written there.
  std::optional<output_set> files;
  if (!q.out.empty()) {
    files.emplace(q.out);
    files->expect(
        {"conform.json", "conform.csv", "conform.xml", "conform.html"});
  }
  record_file record(q.record);
  auto r = begin_run(q);
  std::optional<unfinished_record> part;
  if (record.wanted()) part.emplace(q.record, r, q.shapes);
  run_checks(q, r, part ? &*part : nullptr);
  const auto* const code = q.user->code();
  const std::string answers =
      code == nullptr ? "" : q.user->summary(code->calls(), code->refusals());
  const auto failed = failures(r);
  out.status = held(r) ? 0 : 1;
  if (files) {
    files->add("conform.json", to_text(to_json(r)));
    files->add("conform.csv", to_csv(to_table(r)));
    files->add("conform.xml", to_junit(r));
    files->add("conform.html", to_html(r));
    files->commit();
  }
  if (record.wanted()) {
    record.write(to_record(r));
    part->end();
  }
  if (q.as_json) return print_json(to_json(r));
  for (const auto& [name, value] : r.platform) {
    print(fmt::format("{}: {}\n", name, value));
  }
  print(to_table(r));
  for (const auto& note : notes(r)) print(note + "\n");
  for (const auto& failure : failed) print(failure + "\n");
  print(answers + summary(r) + "\n");
}

#else

void run_conform(const conform_request&, outcome&) {
  throw input_error(
      "conform: this build has no MPFR, GMP or Boost to check against: install "
      "them and build again");
}

#endif

}  // namespace

void add_conform(cli::app& app, outcome& out) {
  auto* sub =
      add_command(app, "conform",
                  "Check this build of the core against the oracles, or a GPU, "
                  "or a plug-in",
                  "zeroulp conform --level 1");
  auto q = std::make_shared<conform_request>();
  sub->add_flag("--gpu", q->gpu,
                "the checks that need a GPU: the core on it, its instructions, "
                "the kernels, cuBLASLt");
  auto* plugin = sub->add_option(
      "--plugin", q->plugin,
      "hold a plug-in against what it claims: LIB.so or python:FILE");
  plugin->excludes("--gpu");
  sub->add_option("--level", q->level, "0: seconds, to 3: exhaustive, hours")
      ->capture_default_str();
  add_seed(sub, q->seed);
  sub->add_option("--only", q->only, "only checks with this in their name");
  sub->add_option("--shapes", q->shapes,
                  "with --gpu: more shapes for cuBLASLt, a line M N K each: "
                  "checks peer.cublaslt.shapes")
      ->needs("--gpu");
  sub->add_option("--out", q->out,
                  "directory for conform.json, .csv, .xml (JUnit), .html");
  add_record(sub, q->record)->excludes(plugin);
  auto* verify = sub->add_option(
      "--verify", q->verify,
      "run a part of a record again, and compare; exit status 1 if it differs");
  for (const char* other : {"--gpu", "--plugin", "--level", "--only",
                            "--shapes", "--out", "--record"}) {
    verify->excludes(sub->get_option(other));
  }
  sub->add_option("--sample", q->sample,
                  "with --verify: how many of the record's cases to run, at "
                  "most; --seed draws them")
      ->capture_default_str()
      ->needs(verify);
  sub->add_flag("--list", q->list, "only say what the checks are");
  sub->add_flag("--json", q->as_json);
#ifdef ZEROULP_HAVE_CONFORMANCE
  q->user->add_options(sub);
#endif
  sub->callback([q, &out] { run_conform(*q, out); });
}

}  // namespace zeroulp::program
