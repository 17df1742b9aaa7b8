// fuzz: holds one implementation against another on the cases of the engine;
// what differs is shrunk, explained and can be replayed.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "program.hpp"
#include "progress.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "fuzz/options.hpp"
#include "fuzz/token.hpp"
#include "fuzz_report.hpp"
#include "identify_plugin.hpp"
#include "plugins.hpp"
#include "silicon.hpp"
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
  bool as_json = false;
};

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

sides sides_of(const fuzz_request& q) { return {q.left, q.right}; }

/// Takes "I/N" apart: case numbers I, I + N, ...
void parse_shard(const std::string& text, campaign& c) {
  if (text.empty()) return;
  const auto slash = text.find('/');
  const auto whole = [&](const std::string& part) -> std::uint64_t {
    if (part.empty() || part.size() > 9 ||
        part.find_first_not_of("0123456789") != std::string::npos) {
      throw input_error(
          fmt::format("--shard '{}': use I/N with 0 <= I < N", text));
    }
    return std::stoull(part);
  };
  c.first = whole(text.substr(0, slash));
  c.stride = whole(slash == std::string::npos ? "" : text.substr(slash + 1));
  if (c.first >= c.stride) {
    throw input_error(
        fmt::format("--shard '{}': use I/N with 0 <= I < N", text));
  }
}

campaign campaign_of(const fuzz_request& q) {
  campaign c;
  c.what = q.what;
  c.profile = parse_profile(q.what, q.profile);
  c.seed = q.seed;
  if (q.seconds && !(*q.seconds > 0 && *q.seconds <= 1e9)) {
    throw input_error("--seconds: use a number above 0");
  }
  c.seconds = q.seconds.value_or(0);
  c.cases = q.cases > 0 ? q.cases
            : q.seconds ? std::uint64_t{1} << 62
                        : covered;
  c.threads = q.threads;
  c.keep_going = q.keep_going;
  if (is_plugin(q.left)) {
    throw input_error("--reference: a plug-in is what is held: use --against");
  }
  c.left = find_opponent(q.left, q.what);
  c.right = find_opponent(q.right, q.what);
  // Called for every case: nothing where there is nothing to pin.
  std::vector<pins> parts;
  for (auto& pin :
       {limits_of(c.left, q.what), limits_of(c.right, q.what), pins_of(q)}) {
    if (pin) parts.push_back(pin);
  }
  if (!parts.empty()) {
    c.pinned = [parts](settings& s) {
      for (const auto& pin : parts) pin(s);
    };
  }
  parse_shard(q.shard, c);
  return c;
}

void replay(const fuzz_request& q, outcome& out) {
  const problem p = parse_token(*q.token);
  if (p.what != q.what) {
    throw input_error(fmt::format(
        "--replay: this token is of {}: zeroulp fuzz {} --replay TOKEN",
        info_of(p.what).name, info_of(p.what).name));
  }
  const auto left = run(find_opponent(q.left, q.what), p);
  const auto right = run(find_opponent(q.right, q.what), p);
  const auto where = first_difference(left, right);
  plugin_summary();
  out.status = where ? 1 : 0;
  if (q.as_json) {
    json j{{"token", *q.token}, {"held", !where}};
    if (where) {
      j["difference"] = difference_json(*where);
      if (where->failure.empty()) {
        j["clauses"] = info_of(p.what).clauses(p, where->output);
      }
    }
    return print_json(j);
  }
  print(inputs_text(p));
  if (!where) {
    return print(
        fmt::format("  {} and {} give the same bits\n", q.left, q.right));
  }
  print(difference_text(*where, sides_of(q)));
  if (!where->failure.empty()) return;
  print(fmt::format("  SPEC      {}\n",
                    info_of(p.what).clauses(p, where->output)));
}

struct bin_hits {
  std::string name;
  std::uint64_t count;
};

std::vector<bin_hits> hits_of(const campaign& c, const campaign_result& r) {
  std::vector<bin_hits> hits;
  const auto names = info_of(c.what).bins();
  for (std::size_t i = 0; i < names.size(); ++i) {
    hits.push_back({names[i], r.bins[i]});
  }
  return hits;
}

std::string coverage_text(const std::vector<bin_hits>& hits, bool all) {
  std::size_t empty = 0;
  const bin_hits* least = nullptr;
  for (const auto& h : hits) {
    empty += h.count == 0 ? 1 : 0;
    if (least == nullptr || h.count < least->count) least = &h;
  }
  std::string text = fmt::format("coverage: {} of {} bins hit",
                                 hits.size() - empty, hits.size());
  if (least != nullptr) {
    text += fmt::format("; least: {}, {} times", least->name, least->count);
  }
  text += "\n";
  if (!all) return text;
  table t{{"bin", "hits"}, {}};
  for (const auto& h : hits)
    t.rows.push_back({h.name, std::to_string(h.count)});
  return text + to_text(t);
}

std::string rate_text(const campaign_result& r) {
  return fmt::format("{} elements in {:.2f} s, {:.2f} million a second",
                     r.elements, r.seconds,
                     static_cast<double>(r.elements) / r.seconds / 1e6);
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

void run_fuzz(const fuzz_request& q, outcome& out) {
  if (q.token) return replay(q, out);
  std::string identified;
  const auto convention = q.fixed.find("convention");
  const bool is_named = !q.recipe.empty() || (convention != q.fixed.end() &&
                                              !convention->second.empty());
  if (is_plugin(q.right) && !is_named) {
    identified = adopt_identities(find_plugin(q.right), q.what);
  }
  const campaign c = campaign_of(q);
  const campaign_result r = run(c, progress_of(q, c));
  const std::string answers = identified + plugin_summary();
  std::optional<finding> found;
  if (r.first_mismatch) {
    found = investigate(
        generate(c.what, c.profile, c.seed, *r.first_mismatch, c.pinned),
        c.left, c.right, c.pinned);
  }
  out.status = r.mismatches > 0 ? 1 : 0;
  const auto hits = hits_of(c, r);
  if (q.as_json) {
    json bins = json::object();
    for (const auto& h : hits) bins[h.name] = h.count;
    json j{{"target", info_of(c.what).name},
           {"left", q.left},
           {"right", q.right},
           {"profile", q.profile},
           {"generator", generator_version},
           {"seed", c.seed},
           {"cases", r.cases},
           {"elements", r.elements},
           {"seconds", r.seconds},
           {"digest", fmt::format("{:016x}", r.digest)},
           {"mismatches", r.mismatches},
           {"bins", bins}};
    if (found) {
      j["case"] = *r.first_mismatch;
      j["finding"] = finding_json(*found, sides_of(q));
    }
    return print_json(j);
  }
  print(fmt::format("{}: {} against {}, {} cases, seed {}, profile {}\n",
                    info_of(c.what).name, q.left, q.right, r.cases, c.seed,
                    q.profile));
  print(fmt::format("{}; digest {:016x}\n{}", rate_text(r), r.digest, answers));
  print(coverage_text(hits, q.show_bins));
  if (!found) return print("held: no mismatch\n");
  print(fmt::format(
      "MISMATCH in case {}{}, ", *r.first_mismatch,
      c.keep_going ? fmt::format(" and {} more", r.mismatches - 1) : ""));
  print(finding_text(*found, sides_of(q)));
}

/// "a_group" is --a-group.
std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

void add_target(CLI::App& fuzz, const target_info& info, outcome& out) {
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
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62));
  sub->add_option("--seconds", q->seconds, "stop after this time");
  sub->add_option("--seed", q->seed)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub->add_option("--threads", q->threads, "0: all cores")
      ->check(CLI::Range(0, 1024));
  sub->add_option("--shard", q->shard, "I/N: cases I, I + N, ...");
  sub->add_option("--replay", q->token, "the case that a finding named");
  sub->add_flag("--keep-going", q->keep_going,
                "count every mismatch, not the first alone");
  sub->add_flag("--bins", q->show_bins, "print every coverage bin");
  sub->add_flag("--json", q->as_json);
  add_plugin_limit(sub);
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
    const bool goes = name == "--replay" || name == "--help" ||
                      name == "--against" || name == "--reference" ||
                      name == "--limit" || name == "--json";
    if (!goes) replay->excludes(other);
  }
  sub->callback([q, &out] { run_fuzz(*q, out); });
}

}  // namespace

void add_fuzz(CLI::App& app, outcome& out) {
  auto* fuzz = add_command(
      app, "fuzz", "Hold implementations against each other on generated cases",
      "zeroulp fuzz quantize --against convention:vllm");
  fuzz->require_subcommand(1);
  for (int i = 0; i < target_count; ++i) {
    add_target(*fuzz, info_of(static_cast<target>(i)), out);
  }
  add_fuzz_mutants(*fuzz, out);
  add_fuzz_conventions(*fuzz, out);
}

#else

void add_fuzz(CLI::App& app, outcome&) {
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
