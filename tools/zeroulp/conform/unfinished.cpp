#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/conform/unfinished.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "src/base/sha256.hpp"
#include "tools/zeroulp/journal/chained_lines.hpp"
#include "tools/zeroulp/json_input.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw input_error(
      fmt::format("{}: {}: remove it, or use another file", path, what));
}

json header_of(const conform_run& r, const std::string& shapes) {
  return {
      {"zeroulp_conform", 1},
      {"command", command_of(r)},
      {"shapes", shapes.empty() ? "" : sha256_hex(as_text(read_file(shapes)))},
      {"program", digest_of_program()},
      {"platform", to_json(r.platform)}};
}

json to_json(const checked& c) {
  const auto& v = c.found;
  return {{"check", c.what.name},
          {"cases", v.cases},
          {"failures", v.failures},
          {"got", v.got.sum()},
          {"expected", v.expected.sum()},
          {"exhaustive", v.exhaustive},
          {"first_failure", v.first_failure},
          {"skipped", v.skipped},
          {"notes", v.notes},
          {"vacuous", v.vacuous},
          {"seconds", c.seconds}};
}

/// Of a line that the program wrote: its chain says so.
checked from_json(const json& j) {
  checked c;
  c.what.name = j.at("check");
  auto& v = c.found;
  v.cases = j.at("cases");
  v.failures = j.at("failures");
  v.got.add_sum(j.at("got"));
  v.expected.add_sum(j.at("expected"));
  v.exhaustive = j.at("exhaustive");
  v.first_failure = j.at("first_failure");
  v.skipped = j.at("skipped");
  v.notes = j.at("notes");
  v.vacuous = j.at("vacuous");
  c.seconds = j.at("seconds");
  return c;
}

}  // namespace

unfinished_record::unfinished_record(const std::string& record,
                                     const conform_run& r,
                                     const std::string& shapes)
    : file_(record + ".part") {
  const json header = header_of(r, shapes);
  const std::string text = file_.content();
  if (begin_lines(file_, text, header, chain_)) return;
  const auto all = split_lines(text);
  json begun;
  try {
    if (!all.lines.empty()) begun = parse_json(chain_.open(all.lines[0]));
  } catch (const input_error&) {
  }
  if (begun.is_null()) fail(file_.path(), "is no part of a run");
  if (const auto change = first_change(begun, header); !change.empty()) {
    fail(file_.path(), "is a part of another run: " + change);
  }
  for (std::size_t i = 1; i < all.lines.size(); ++i) {
    try {
      auto c = from_json(parse_json(chain_.open(all.lines[i])));
      done_.insert_or_assign(c.what.name, std::move(c));
    } catch (const std::exception& e) {
      fail(file_.path(), fmt::format("line {}: {}", i + 1, e.what()));
    }
  }
  // What was being written is done again.
  if (all.bytes < text.size()) file_.cut(all.bytes);
}

const checked* unfinished_record::find(const std::string& name) const {
  const auto found = done_.find(name);
  return found == done_.end() ? nullptr : &found->second;
}

void unfinished_record::add(const checked& c) {
  file_.append(chain_.seal(to_json(c).dump()) + '\n');
}

void unfinished_record::end() const {
  std::error_code ignored;
  std::filesystem::remove(file_.path(), ignored);
}

}  // namespace zeroulp::program
#endif
