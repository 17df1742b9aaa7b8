#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/fuzz/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "fuzz/cases/token.hpp"
#include "fuzz/engine/finding.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw input_error(fmt::format("{}: {}", path, what));
}

/// The lines of a file, and how many bytes of it they are.
struct lines_of {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  std::string rest;  ///< without an end of line
};

lines_of split(const std::string& text) {
  lines_of all;
  for (auto end = text.find('\n'); end != std::string::npos;
       end = text.find('\n', all.bytes)) {
    all.lines.push_back(text.substr(all.bytes, end - all.bytes));
    all.bytes = end + 1;
  }
  all.rest = text.substr(all.bytes);
  return all;
}

/// Records lie within the range, and do not overlap.
void check_ranges(const journal_file& f) {
  const case_range all = range_of(f.header);
  auto sorted = f.records;
  std::sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) {
    return x.range.first < y.range.first;
  });
  std::uint64_t at = all.first;
  for (const auto& r : sorted) {
    if (r.range.first < at || r.range.end() > all.end()) {
      fail(f.path, fmt::format("cases {} to {} are done twice, or are not of "
                               "this journal: it was changed by hand",
                               r.range.first, r.range.end() - 1));
    }
    at = r.range.end();
  }
}

journal_file parse_journal(const std::string& path, const std::string& text) {
  const lines_of all = split(text);
  journal_file f{path, {}, {}, all.bytes};
  if (all.lines.empty()) {
    fail(path, "is no journal: it has no header: use another file");
  }
  try {
    f.header = parse_header(all.lines[0], f.chain);
  } catch (const input_error& e) {
    fail(path, fmt::format("line 1: {}: use another file", e.what()));
  }
  for (std::size_t i = 1; i < all.lines.size(); ++i) {
    try {
      f.records.push_back(parse_record(f.chain.open(all.lines[i])));
    } catch (const input_error& e) {
      fail(path, fmt::format("line {}: {}: cut the file in front of it and "
                             "run its command again",
                             i + 1, e.what()));
    }
  }
  check_ranges(f);
  return f;
}

/// Whose lines can be edited with less trouble is said.
void say_if_old(const journal_file& f) {
  if (f.header.at("zeroulp_journal") == journal_version) return;
  print_error(fmt::format(
      "zeroulp: {}: a journal of version {}: its lines have checksums, and are "
      "not chained\n",
      f.path, f.header.at("zeroulp_journal").dump()));
}

/// A header without what says only how the journal was begun.
json identity_of(json header) {
  header.erase("zeroulp_journal");
  header.at("shard").erase("by");
  header.emplace("spec", 2);  // the version when journals began to name it
  return header;
}

/// Which field of two headers differs first; "" if none does.
std::string first_change(const json& is, const json& should) {
  for (const auto& [key, value] : should.items()) {
    const auto found = is.find(key);
    if (found == is.end() || *found != value) {
      return fmt::format("{} is {}, not {}", key,
                         found == is.end() ? "absent" : found->dump(),
                         value.dump());
    }
  }
  return is.size() == should.size() ? "" : "its header has other fields";
}

}  // namespace

bool operator==(const block_record& x, const block_record& y) {
  const auto compared = [](block_record r) {
    for (const mismatch_kind k : all_mismatch_kinds) {
      if (at(r.tokens, k).empty()) at(r.result.seen, k) = {};
    }
    return to_line(r);
  };
  return compared(x) == compared(y);
}

block_record run_block(const campaign& c, const case_range& range,
                       double seconds) {
  campaign part = c;
  part.first = range.first;
  part.cases = range.count;
  part.seconds = seconds;
  part.keep_going = true;
  block_record r{range, run(part), {}};
  r.range.count = r.result.cases;
  const kind_set kinds = kinds_seen(r.result, c.ignored);
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (!contains(kinds, k)) continue;
    const auto index = *at(r.result.seen, k).first;
    const auto first = case_of(c, index);
    // Who broke off is asked again by the report alone.
    at(r.tokens, k) =
        to_token(r.result.broke_off ? first : shrink_case(c, first, k));
  }
  return r;
}

case_range range_of(const json& header) {
  return {header.value("first", std::uint64_t{0}),
          header.value("count", std::uint64_t{0})};
}

journal_file read_journal(const std::string& path) {
  auto f = parse_journal(path, std::string(as_text(read_file(path))));
  say_if_old(f);
  return f;
}

journal::journal(const std::string& path, const json& header) : file_(path) {
  const std::string text = file_.content();
  const std::string first = line_chain(journal_version).seal(header.dump());
  // Of a header that was being written there may be a part.
  if (text.size() <= first.size() && first.starts_with(text)) {
    file_.cut(0);
    write_line(header.dump());
    file_.sync_folder();
    return;
  }
  journal_file f = parse_journal(path, text);
  const auto change = first_change(identity_of(f.header), identity_of(header));
  if (!change.empty()) {
    fail(path, fmt::format("is the journal of another campaign: {}: use "
                           "another file",
                           change));
  }
  if (f.bytes < text.size()) file_.cut(f.bytes);
  say_if_old(f);
  records_ = std::move(f.records);
  chain_ = std::move(f.chain);
}

void journal::add(const block_record& r) {
  write_line(to_line(r));
  records_.push_back(r);
}

void journal::write_line(const std::string& content) {
  file_.append(chain_.seal(content) + '\n');
}

}  // namespace zeroulp::program
#endif
