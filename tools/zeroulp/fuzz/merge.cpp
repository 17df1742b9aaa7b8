// fuzz merge: journals of one campaign, held together: no case is missing, none
// is done twice, and what two machines did they did alike.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/fuzz/report.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

struct merge_request {
  std::vector<std::string> files;
  bool replicated = false;
  bool as_json = false;
};

/// A record and the journal that has it.
struct sourced {
  block_record record;
  const std::string* file;
};

/// Two journals that say another result for the same cases.
struct disagreement {
  case_range range;
  sourced one;
  sourced other;
};

std::string text_of(const case_range& r) {
  return fmt::format("cases {} to {}", r.first, r.end() - 1);
}

/// A header without what its shard makes of it.
json campaign_in(json header) {
  for (const char* own : {"block", "shard", "first", "count"}) {
    header.erase(own);
  }
  return header;
}

void check_same_campaign(const std::vector<journal_file>& files) {
  const json first = campaign_in(files[0].header);
  for (const auto& f : files) {
    const json other = campaign_in(f.header);
    for (const auto& [key, value] : first.items()) {
      if (other.contains(key) && other.at(key) == value) continue;
      throw input_error(fmt::format(
          "{}: is of another campaign than {}: {} is {}, not {}", f.path,
          files[0].path, key, other.contains(key) ? other.at(key).dump() : "-",
          value.dump()));
    }
  }
}

/// Whose cases these would be: the journal that claims them, or nobody.
std::string owner_of(const case_range& r,
                     const std::vector<journal_file>& files) {
  for (const auto& f : files) {
    const case_range all = range_of(f.header);
    if (r.first < all.first || r.first >= all.end()) continue;
    return fmt::format("{} is to have them: run its command again", f.path);
  }
  return "no file is to have them: a shard is left out";
}

[[noreturn]] void fail_missing(const case_range& r,
                               const std::vector<journal_file>& files) {
  throw input_error(
      fmt::format("{} are missing: {}", text_of(r), owner_of(r, files)));
}

/// Every record once, ascending. Adds to `apart` what two files say
/// differently.
std::vector<block_record> merged(const std::vector<journal_file>& files,
                                 bool replicated,
                                 std::vector<disagreement>& apart) {
  std::vector<sourced> all;
  for (const auto& f : files) {
    for (const auto& r : f.records) all.push_back({r, &f.path});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return x.record.range.first < y.record.range.first;
  });
  std::vector<block_record> once;
  std::uint64_t at = 0;
  const sourced* last = nullptr;
  for (const auto& x : all) {
    const case_range& r = x.record.range;
    if (r.first > at) fail_missing({at, r.first - at}, files);
    if (r.first == at) {
      once.push_back(x.record);
      at = r.end();
      last = &x;
      continue;
    }
    const case_range& before = last->record.range;
    if (!replicated) {
      throw input_error(fmt::format(
          "{} are in {} and in {}: leave one out, or say --replicated",
          text_of({r.first, std::min(r.end(), at) - r.first}), *last->file,
          *x.file));
    }
    if (!(r == before)) {
      throw input_error(fmt::format(
          "{} of {} and {} of {} are other blocks and cannot be compared: run "
          "both with one --block and one --shard",
          text_of(before), *last->file, text_of(r), *x.file));
    }
    if (!(x.record == last->record)) apart.push_back({r, *last, x});
  }
  const auto cases = files[0].header.value("cases", std::uint64_t{0});
  if (at < cases) fail_missing({at, cases - at}, files);
  return once;
}

std::uint64_t cases_in(const std::vector<block_record>& records) {
  std::uint64_t count = 0;
  for (const auto& r : records) count += r.range.count;
  return count;
}

/// A file agrees with itself: that says nothing.
void check_no_file_twice(const std::vector<std::string>& paths) {
  for (auto a = paths.begin(); a != paths.end(); ++a) {
    std::error_code none;
    const auto same = std::find_if(paths.begin(), a, [&](const auto& b) {
      return std::filesystem::equivalent(*a, b, none);
    });
    if (same != a) {
      throw input_error(fmt::format("{}: is given twice", *a));
    }
  }
}

void run_merge(const merge_request& q, outcome& out) {
  check_no_file_twice(q.files);
  std::vector<journal_file> files;
  for (const auto& path : q.files) files.push_back(read_journal(path));
  check_same_campaign(files);
  std::vector<disagreement> apart;
  const auto records = merged(files, q.replicated, apart);
  // What is not there for the first time.
  std::uint64_t compared = 0;
  for (const auto& f : files) compared += cases_in(f.records);
  compared -= cases_in(records);
  if (q.replicated && compared == 0) {
    throw input_error(
        "--replicated: no case is in two files: nothing was compared");
  }
  json whole = files[0].header;
  whole["shard"] = {{"index", 0}, {"count", 1}};
  const auto report = report_of(whole, records);
  out.status = apart.empty() ? status_of(report) : 1;
  if (q.as_json) {
    json j = to_json(report);
    j.erase("shard");
    j["files"] = q.files;
    json list = json::array();
    for (const auto& d : apart) {
      list.push_back(
          {{"first", d.range.first},
           {"cases", d.range.count},
           {"files", {*d.one.file, *d.other.file}},
           {"records", {to_json(d.one.record), to_json(d.other.record)}}});
    }
    j["disagreements"] = list;
    if (q.replicated) j["compared"] = compared;
    return print_json(j);
  }
  print(to_text(report, false));
  if (q.replicated) {
    print(fmt::format("{} cases are in two files\n", compared));
  }
  for (const auto& d : apart) {
    print(fmt::format(
        "DISAGREE on {}: {} has digest {:016x} and {} "
        "mismatches, {} {:016x} and {}\n",
        text_of(d.range), *d.one.file, d.one.record.result.digest,
        d.one.record.result.mismatches, *d.other.file,
        d.other.record.result.digest, d.other.record.result.mismatches));
  }
  if (apart.empty()) print(verdict_text(report));
}

}  // namespace

void add_fuzz_merge(cli::app& fuzz, outcome& out) {
  auto* merge = add_command(
      fuzz, "merge",
      "One report of the journals of a campaign: no case missing, none twice",
      "zeroulp fuzz merge shard0.jsonl shard1.jsonl");
  auto q = std::make_shared<merge_request>();
  merge->add_option("FILE", q->files, "journals")->required();
  merge->add_flag("--replicated", q->replicated,
                  "the same cases are in several files, and are to agree");
  merge->add_flag("--json", q->as_json);
  merge->callback([q, &out] { run_merge(*q, out); });
}

}  // namespace zeroulp::program
#endif
