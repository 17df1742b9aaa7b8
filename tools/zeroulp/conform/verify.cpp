#include "tools/zeroulp/conform/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

#include "tools/zeroulp/json_input.hpp"
#include "tools/zeroulp/record.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::program {
namespace {

/// What must be the same again.
constexpr const char* results[] = {"verdict", "cases", "failures", "got",
                                   "expected"};

json results_of(const json& check) {
  json r = json::object();
  for (const char* key : results) {
    if (check.contains(key)) r[key] = check[key];
  }
  return r;
}

bool is_check(const json& c) {
  return c.is_object() && c.contains("check") && c["check"].is_string() &&
         c.contains("verdict") && c["verdict"].is_string() &&
         c.contains("cases") && c["cases"].is_number_unsigned() &&
         c.contains("failures") && c["failures"].is_number_unsigned();
}

std::string why_no_record(const json& j) {
  const auto has = [&j](const char* key, auto is) {
    return j.contains(key) && (j[key].*is)();
  };
  using value = json::value_type;
  if (!j.is_object()) return "no JSON object";
  for (const char* key : {"command", "depends_on", "commit", "program"}) {
    if (!has(key, &value::is_string)) return fmt::format("no \"{}\"", key);
  }
  for (const char* key : {"platform", "sources"}) {
    if (!has(key, &value::is_object)) return fmt::format("no \"{}\"", key);
  }
  if (!has("level", &value::is_number_unsigned)) return "no \"level\"";
  if (!has("seed", &value::is_number_unsigned)) {
    return "no \"seed\": it was written by an earlier version";
  }
  std::istringstream sets(j["depends_on"].get<std::string>());
  for (std::string set; sets >> set;) {
    if (*sources_of(set) == '\0') {
      return fmt::format("\"depends_on\": there is no set '{}'", set);
    }
  }
  if (!has("checks", &value::is_array) || j["checks"].empty()) {
    return "no \"checks\"";
  }
  const auto& checks = j["checks"];
  const auto wrong = std::find_if_not(checks.begin(), checks.end(), is_check);
  if (wrong != checks.end()) {
    return fmt::format("entry {} of \"checks\" is no check",
                       wrong - checks.begin());
  }
  return "";
}

}  // namespace

conform_record read_record(const std::filesystem::path& file) {
  constexpr const char* remedy = "use a file that `conform --record` wrote";
  const json j = read_json(file, remedy);
  if (const auto why = why_no_record(j); !why.empty()) {
    throw input_error(
        fmt::format("--verify {}: {}; {}", file.string(), why, remedy));
  }
  conform_record r;
  r.set = j["depends_on"];
  r.gpu = r.set != "cpu";
  r.effort.level = j["level"];
  r.effort.seed = j["seed"];
  r.commit = j["commit"];
  r.program = j["program"];
  r.platform = j["platform"];
  r.checks = j["checks"];
  r.sources = j["sources"];
  return r;
}

double parse_percent(std::string_view text) {
  auto digits = text;
  if (!digits.empty() && digits.back() == '%') digits.remove_suffix(1);
  double percent = 0;
  const auto* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, percent);
  if (read.ec != std::errc() || read.ptr != end || !(percent > 0) ||
      percent > 100) {
    throw input_error(fmt::format(
        "--sample '{}': use more than 0 % and at most 100 %", text));
  }
  return percent;
}

std::set<std::string> sample_of(const conform_record& r, double percent,
                                std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, const json*>> drawn;
  double all = 0;
  for (const auto& check : r.checks) {
    if (check["verdict"] == "skipped") continue;
    all += check["cases"].get<double>();
    drawn.emplace_back(counter_rng(seed, drawn.size()).next(), &check);
  }
  std::sort(drawn.begin(), drawn.end());
  std::set<std::string> sample;
  double taken = 0;
  for (const auto& [key, check] : drawn) {
    const auto cases = (*check)["cases"].get<double>();
    if (taken + cases > all * percent / 100) continue;
    taken += cases;
    sample.insert((*check)["check"]);
  }
  if (sample.empty() && !drawn.empty()) {
    const auto least = std::min_element(
        drawn.begin(), drawn.end(), [](const auto& a, const auto& b) {
          return (*a.second)["cases"] < (*b.second)["cases"];
        });
    sample.insert((*least->second)["check"]);
  }
  return sample;
}

std::vector<verified_check> compare(const conform_record& recorded,
                                    const conform_run& now) {
  const json made = to_json(now);
  std::vector<verified_check> all;
  for (const auto& check : made["checks"]) {
    const auto same_name = [&check](const json& c) {
      return c["check"] == check["check"];
    };
    const auto was =
        std::find_if(recorded.checks.begin(), recorded.checks.end(), same_name);
    if (was == recorded.checks.end()) continue;
    all.push_back({check["check"], results_of(*was), results_of(check)});
  }
  return all;
}

std::vector<std::string> origins(const conform_record& recorded,
                                 const conform_run& now) {
  std::vector<std::string> all;
  const auto tell = [&all](std::string_view what, const std::string& was,
                           const std::string& is) {
    all.push_back(was == is
                      ? fmt::format("{}: {}, as recorded", what, is)
                      : fmt::format("{}: {}; recorded: {}", what, is, was));
  };
  tell("commit", recorded.commit, commit_of_sources());
  tell("program", recorded.program, digest_of_program());
  for (const auto& [name, value] : now.platform) {
    const auto was = recorded.platform.find(name);
    tell(name, was == recorded.platform.end() ? "nothing" : was->dump(),
         json(value).dump());
  }
  // By their digests, as check.sh does: names of files do not count.
  std::multiset<std::string> was, is, differing;
  for (const auto& hash : recorded.sources) was.insert(hash.dump());
  for (const auto& hash : sources_as_json(recorded.set)) {
    is.insert(hash.dump());
  }
  std::set_symmetric_difference(was.begin(), was.end(), is.begin(), is.end(),
                                std::inserter(differing, differing.end()));
  all.push_back(differing.empty()
                    ? "sources: as recorded"
                    : fmt::format("sources: {} digests differ from the record: "
                                  "it is stale",
                                  differing.size()));
  return all;
}

}  // namespace zeroulp::program
