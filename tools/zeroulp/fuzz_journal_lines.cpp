// Lines of journals: records and headers as JSON, each field checked.

#ifdef ZEROULP_HAVE_CONFORMANCE
#include <fmt/format.h>

#include "fuzz_journal.hpp"
#include "json_input.hpp"
#include "whole_number.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

constexpr const char* mark = "zeroulp_journal";

constexpr const char* whole = "a whole number";
constexpr const char* text = "a text";

/// What a field of a line is, and should be. A long value is cut.
[[noreturn]] void fail_field(std::string_view name, const json& value,
                             std::string_view should) {
  const std::string is = value.dump();
  constexpr std::size_t most = 40;
  throw input_error(fmt::format("{} is {}{}, not {}", name, is.substr(0, most),
                                is.size() > most ? "..." : "", should));
}

const json& field_of(const json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) throw input_error(fmt::format("{} is absent", name));
  return *found;
}

std::uint64_t whole_of(const json& line, const char* name) {
  const json& value = field_of(line, name);
  if (!value.is_number_unsigned()) fail_field(name, value, whole);
  return value.get<std::uint64_t>();
}

std::string text_of(const json& line, const char* name) {
  const json& value = field_of(line, name);
  if (!value.is_string()) fail_field(name, value, text);
  return value.get<std::string>();
}

const json& object_of(const json& line, const char* name) {
  const json& value = field_of(line, name);
  if (!value.is_object()) fail_field(name, value, "an object");
  return value;
}

/// Every field that a header has is what it should be.
void check_header(const json& h) {
  for (const char* name : {"version", "left", "right", "profile"}) {
    text_of(h, name);
  }
  for (const char* name : {"generator", "seed", "block"}) whole_of(h, name);
  for (const auto& [name, value] : object_of(h, "options").items()) {
    if (!value.is_string()) fail_field("options." + name, value, text);
  }
  const json& s = object_of(h, "shard");
  for (const char* name : {"index", "count"}) whole_of(s, name);
  text_of(s, "by");
  parse_target(text_of(h, "target"));
  const auto cases = whole_of(h, "cases");
  const auto first = whole_of(h, "first");
  if (first > cases) fail_field("first", h["first"], "one of the cases");
  if (whole_of(h, "count") > cases - first) {
    fail_field("count", h["count"], "a number of cases that there are");
  }
}

std::uint64_t digest_of(const json& line) {
  const auto value = whole_number<std::uint64_t>(text_of(line, "digest"), 16);
  if (!value) fail_field("digest", line["digest"], "16 hexadecimal digits");
  return *value;
}

std::vector<std::uint64_t> bins_of(const json& line) {
  const auto found = line.find("bins");
  if (found == line.end()) return {};
  if (!found->is_array()) fail_field("bins", *found, "a list");
  std::vector<std::uint64_t> bins;
  for (const json& hits : *found) {
    if (!hits.is_number_unsigned()) {
      fail_field(fmt::format("bins[{}]", bins.size()), hits, whole);
    }
    bins.push_back(hits.get<std::uint64_t>());
  }
  return bins;
}

}  // namespace

json parse_header(const std::string& line, line_chain& chain) {
  const json any = parse_json(line);
  const auto version = any.is_object() ? any.find(mark) : any.end();
  if (version == any.end()) throw input_error("is no header of a journal");
  if (!version->is_number_unsigned() || *version < oldest_journal_version ||
      *version > journal_version) {
    throw input_error(
        fmt::format("is a journal of version {}: this program reads {} to {}",
                    version->dump(), oldest_journal_version, journal_version));
  }
  chain = line_chain(version->get<int>());
  const json header = parse_json(chain.open(line));
  check_header(header);
  return header;
}

json to_json(const block_record& r) {
  const campaign_result& x = r.result;
  json j{{"first", r.range.first},
         {"cases", r.range.count},
         {"elements", x.elements},
         {"digest", fmt::format("{:016x}", x.digest)},
         {"mismatches", x.mismatches}};
  if (x.first_mismatch) {
    j["case"] = *x.first_mismatch;
    j["token"] = r.token;
  }
  if (r.range.first < covered) j["bins"] = x.bins;
  return j;
}

std::string to_line(const block_record& r) { return to_json(r).dump(); }

block_record parse_record(const std::string& content) {
  const json j = parse_json(content);
  if (!j.is_object()) throw input_error("is no record of a journal");
  block_record r;
  campaign_result& x = r.result;
  r.range = {whole_of(j, "first"), whole_of(j, "cases")};
  if (r.range.count == 0 || r.range.end() < r.range.first) {
    fail_field("cases", j["cases"], "a number of cases from `first` on");
  }
  x.cases = r.range.count;
  x.elements = whole_of(j, "elements");
  x.digest = digest_of(j);
  x.mismatches = whole_of(j, "mismatches");
  if (x.mismatches > 0) {
    x.first_mismatch = whole_of(j, "case");
    if (*x.first_mismatch < r.range.first ||
        *x.first_mismatch >= r.range.end()) {
      fail_field("case", j["case"], "one of its cases");
    }
    r.token = text_of(j, "token");
  }
  x.bins = bins_of(j);
  return r;
}

}  // namespace zeroulp::program
#endif
