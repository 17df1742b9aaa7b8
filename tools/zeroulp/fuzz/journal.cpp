#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/fuzz/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "fuzz/cases/token.hpp"
#include "fuzz/engine/finding.hpp"
#include "tools/zeroulp/journal/chained_lines.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw input_error(fmt::format("{}: {}", path, what));
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
  const whole_lines all = split_lines(text);
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
  if (begin_lines(file_, text, header, chain_)) return;
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
  file_.append(chain_.seal(to_line(r)) + '\n');
  records_.push_back(r);
}

}  // namespace zeroulp::program
#endif
