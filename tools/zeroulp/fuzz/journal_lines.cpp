// Lines of journals: records and headers as JSON, each field checked.

#ifdef ZEROULP_HAVE_CONFORMANCE
#include <fmt/format.h>

#include <algorithm>

#include "src/base/whole_number.hpp"
#include "tools/zeroulp/fuzz/journal.hpp"
#include "tools/zeroulp/json_input.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

constexpr const char* mark = "zeroulp_journal";

constexpr const char* whole = "a whole number";
constexpr const char* a_text = "a text";

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
  if (!value.is_string()) fail_field(name, value, a_text);
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
  const auto spec = h.find("spec");  // journals began without it
  if (spec != h.end() &&
      (!spec->is_number_integer() || !is_known_spec(*spec))) {
    fail_field("spec", *spec,
               fmt::format("a version of the SPEC up to {}", spec_version));
  }
  for (const auto& [name, value] : object_of(h, "options").items()) {
    if (!value.is_string()) fail_field("options." + name, value, a_text);
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

const json& list_of(const json& line, const char* name) {
  const json& value = field_of(line, name);
  if (!value.is_array()) fail_field(name, value, "a list");
  return value;
}

std::vector<std::uint64_t> numbers_of(const json& line, const char* name) {
  std::vector<std::uint64_t> numbers;
  for (const json& x : list_of(line, name)) {
    if (!x.is_number_unsigned()) {
      fail_field(fmt::format("{}[{}]", name, numbers.size()), x, whole);
    }
    numbers.push_back(x.get<std::uint64_t>());
  }
  return numbers;
}

std::vector<std::uint64_t> bins_of(const json& line) {
  return line.contains("bins") ? numbers_of(line, "bins")
                               : std::vector<std::uint64_t>{};
}

json sighting_json(mismatch_kind k, const sighting& s,
                   const std::string& token) {
  json j{{"in", name_of(k)},
         {"cases", s.cases},
         {"elements", s.elements},
         {"case", *s.first}};
  if (!token.empty()) j["token"] = token;
  return j;
}

/// Back, into the record whose range is known.
void read_sighting(const json& j, block_record& r) {
  if (!j.is_object()) fail_field("differing", j, "a list of objects");
  const std::string name = text_of(j, "in");
  const auto kind =
      std::find_if(all_mismatch_kinds.begin(), all_mismatch_kinds.end(),
                   [&name](mismatch_kind k) { return name == name_of(k); });
  if (kind == all_mismatch_kinds.end()) {
    fail_field("in", j["in"], "a class of differences");
  }
  sighting& s = at(r.result.seen, *kind);
  s = {whole_of(j, "cases"), whole_of(j, "elements"), whole_of(j, "case")};
  if (*s.first < r.range.first || *s.first >= r.range.end()) {
    fail_field("case", j["case"], "one of its cases");
  }
  if (j.contains("token")) at(r.tokens, *kind) = text_of(j, "token");
}

/// The indices of bins.
json indices_of(const std::vector<bool>& bins) {
  json list = json::array();
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i]) list.push_back(i);
  }
  return list;
}

json answers_json(const claim_answers& a) {
  json j{{"answered", a.answered}, {"refused", a.refused}};
  for (const auto& s : a.sizes) {
    j["sizes"].push_back({s.most_asked, s.most_answered, s.least_refused});
  }
  j["asked"] = indices_of(a.asked);
  j["reached"] = indices_of(a.reached);
  return j;
}

/// Back, into as many bins as the largest index needs.
std::vector<bool> bins_at(const json& j, const char* name) {
  constexpr std::uint64_t most = 1 << 20;
  std::vector<bool> bins;
  for (const auto i : numbers_of(j, name)) {
    if (i >= most) fail_field(name, j[name], "indices of bins");
    if (bins.size() <= i) bins.resize(i + 1);
    bins[i] = true;
  }
  return bins;
}

claim_answers answers_of(const json& j) {
  if (!j.is_object()) fail_field("claims", j, "a list of objects");
  claim_answers a;
  a.answered = whole_of(j, "answered");
  a.refused = whole_of(j, "refused");
  const json& sizes = list_of(j, "sizes");
  if (sizes.size() != a.sizes.size()) {
    fail_field("sizes", sizes, fmt::format("{} of them", a.sizes.size()));
  }
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const auto numbers = numbers_of(json{{"sizes", sizes[i]}}, "sizes");
    if (numbers.size() != 3) fail_field("sizes", sizes[i], "3 numbers");
    a.sizes[i] = {static_cast<std::ptrdiff_t>(numbers[0]),
                  static_cast<std::ptrdiff_t>(numbers[1]),
                  static_cast<std::ptrdiff_t>(numbers[2])};
  }
  a.asked = bins_at(j, "asked");
  a.reached = bins_at(j, "reached");
  const auto most = std::max(a.asked.size(), a.reached.size());
  a.asked.resize(most);
  a.reached.resize(most);
  return a;
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
  if (x.first_mismatch) j["case"] = *x.first_mismatch;
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (at(x.seen, k).first) {
      j["differing"].push_back(
          sighting_json(k, at(x.seen, k), at(r.tokens, k)));
    }
  }
  if (r.range.first < covered) j["bins"] = x.bins;
  for (const auto& c : x.claims) j["claims"].push_back(answers_json(c));
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
    if (!j.contains("differing")) {
      // Of version 2: one token, of which is not said in what it differs.
      at(x.seen, mismatch_kind::values) = {x.mismatches, 0, x.first_mismatch};
      at(r.tokens, mismatch_kind::values) = text_of(j, "token");
    } else if (list_of(j, "differing").empty()) {
      fail_field("differing", j["differing"], "what differs");
    }
  }
  if (j.contains("differing")) {
    for (const json& one : list_of(j, "differing")) read_sighting(one, r);
  }
  x.bins = bins_of(j);
  if (j.contains("claims")) {
    for (const json& one : list_of(j, "claims")) {
      x.claims.push_back(answers_of(one));
    }
  }
  return r;
}

}  // namespace zeroulp::program
#endif
