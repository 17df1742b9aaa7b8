#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/conform/unfinished.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "src/base/sha256.hpp"
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
  const std::string first = line_chain(journal_version).seal(header.dump());
  // Of a header that was being written there may be a part.
  if (text.size() <= first.size() && first.starts_with(text)) {
    file_.cut(0);
    file_.append(chain_.seal(header.dump()) + '\n');
    file_.sync_folder();
    return;
  }
  const std::string begun = text.substr(0, text.find('\n'));
  if (begun != first) {
    json other;
    try {
      other = parse_json(line_chain(journal_version).open(begun));
    } catch (const input_error&) {
      fail(file_.path(), "is no part of a run");
    }
    for (const auto& [key, value] : header.items()) {
      if (other.value(key, json()) == value) continue;
      fail(file_.path(),
           fmt::format("is a part of another run: {} is {}, not {}", key,
                       other.value(key, json()).dump(), value.dump()));
    }
    fail(file_.path(), "is a part of another run");
  }
  read(text);
}

void unfinished_record::read(const std::string& text) {
  std::size_t at = 0;
  for (int line = 1;; ++line) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) break;
    try {
      const std::string content = chain_.open(text.substr(at, end - at));
      if (line > 1) {
        auto c = from_json(parse_json(content));
        done_.insert_or_assign(c.what.name, std::move(c));
      }
    } catch (const std::exception& e) {
      fail(file_.path(), fmt::format("line {}: {}", line, e.what()));
    }
    at = end + 1;
  }
  // What was being written is done again.
  if (at < text.size()) file_.cut(at);
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
