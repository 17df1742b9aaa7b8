// How a campaign is shown: counts, digest, coverage, and the cases that differ.

#ifdef ZEROULP_HAVE_CONFORMANCE
#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/fuzz/report.hpp"
#include "tools/zeroulp/terminal.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

struct bin_hits {
  std::string name;
  std::uint64_t count;
};

target target_of(const json& header) {
  return parse_target(header.value("target", ""));
}

sides sides_of(const json& header) {
  return {header.value("left", ""), header.value("right", "")};
}

std::vector<bin_hits> hits_of(const campaign_report& r) {
  std::vector<bin_hits> hits;
  const auto names = info_of(target_of(r.header)).bins();
  for (std::size_t i = 0; i < names.size(); ++i) {
    hits.push_back({names[i], r.result.bins[i]});
  }
  return hits;
}

std::string coverage_text(const campaign_report& r, bool all) {
  if (r.result.cases == 0) return "";
  if (r.counted == 0) {
    return fmt::format("coverage: not counted: only cases below {} are\n",
                       covered);
  }
  const auto hits = hits_of(r);
  std::size_t empty = 0;
  const bin_hits* least = nullptr;
  for (const auto& h : hits) {
    empty += h.count == 0 ? 1 : 0;
    if (least == nullptr || h.count < least->count) least = &h;
  }
  std::string text = "coverage";
  if (r.counted < r.result.cases) {
    text += fmt::format(" of the {} cases below {}", r.counted, covered);
  }
  text += fmt::format(": {} of {} bins hit", hits.size() - empty, hits.size());
  if (least != nullptr) {
    text += fmt::format("; least: {}, {} times", least->name, least->count);
  }
  text += "\n";
  if (!all) return text;
  table t{{"bin", "hits"}, {}};
  for (const auto& h : hits) {
    t.rows.push_back({h.name, std::to_string(h.count)});
  }
  return text + to_text(t, terminal_width());
}

std::string ignored_text(const campaign_report& r) {
  std::string text;
  const kind_set ignored = kinds_of(ignored_in(r.header));
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (!contains(ignored, k)) continue;
    const sighting& s = at(r.result.seen, k);
    text += fmt::format("ignored: {}: {} elements of {} cases differ so\n",
                        name_of(k), s.elements, s.cases);
  }
  return text;
}

std::string claim_text(const campaign_report& r, std::size_t i) {
  return fmt::format("claim {}{}{}", i, i < r.claims.size() ? ", " : "",
                     i < r.claims.size() ? r.claims[i] : "");
}

bool is_shard(const campaign_report& r) {
  return r.header.at("shard").value("count", 1) > 1;
}

/// Why what held under claim `i` says too little. Whether all bins are reached
/// is asked of the whole, not of a shard.
std::string why_vacuous(const campaign_report& r, std::size_t i,
                        const std::vector<std::string>& bins) {
  return fuzz::why_vacuous(r.result.claims[i], bins,
                           is_shard(r) ? covered : r.counted, covered);
}

json claims_json(const campaign_report& r) {
  const auto bins = info_of(target_of(r.header)).bins();
  const auto count = [](const std::vector<bool>& of) {
    return std::count(of.begin(), of.end(), true);
  };
  json all = json::array();
  for (std::size_t i = 0; i < r.result.claims.size(); ++i) {
    const claim_answers& c = r.result.claims[i];
    if (c.answered + c.refused == 0) continue;
    json j{{"claim", claim_text(r, i)},
           {"answered", c.answered},
           {"refused", c.refused},
           {"bins", count(c.asked)},
           {"bins_reached", count(c.reached)}};
    const auto why = why_vacuous(r, i, bins);
    if (!why.empty()) j["vacuous"] = why;
    all.push_back(j);
  }
  return all;
}

/// What a block has of each kind.
json differing_json(const block_record& b) {
  json all = json::array();
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (at(b.tokens, k).empty()) continue;
    all.push_back({{"class", name_of(k)},
                   {"cases", at(b.result.seen, k).cases},
                   {"case", *at(b.result.seen, k).first},
                   {"token", at(b.tokens, k)}});
  }
  return all;
}

std::string mismatching_text(const campaign_report& r, const block_record& b) {
  std::string text;
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (at(b.tokens, k).empty()) continue;
    const sighting& s = at(b.result.seen, k);
    text += fmt::format(
        "{} of cases {} to {} differ ({}), first case {}:\n  {}\n", s.cases,
        b.range.first, b.range.end() - 1, name_of(k), *s.first,
        replay_command(target_of(r.header), sides_of(r.header),
                       at(b.tokens, k)));
  }
  return text;
}

/// Journals know nothing of time.
std::string rate_text(const campaign_result& r) {
  if (r.seconds <= 0) return fmt::format("{} elements", r.elements);
  return fmt::format("{} elements in {:.2f} s, {:.2f} million a second",
                     r.elements, r.seconds,
                     static_cast<double>(r.elements) / r.seconds / 1e6);
}

const char* verdict_of(const campaign_report& r) {
  if (r.result.mismatches > 0) return "mismatch";
  return vacuous_claims(r).empty() ? "held" : "vacuous";
}

/// Up to so many cases are printed; JSON has all of them.
constexpr std::size_t most_printed = 10;

}  // namespace

std::uint64_t counted_in(const case_range& cases) {
  return std::min(cases.end(), covered) - std::min(cases.first, covered);
}

campaign_report report_of(const json& header,
                          const std::vector<block_record>& records) {
  campaign_report all{header, {}, 0, {}};
  all.result.bins.resize(info_of(target_of(header)).bins().size());
  for (const auto& r : records) {
    std::size_t bins = r.result.bins.size();
    for (const auto& c : r.result.claims) bins = std::max(bins, c.asked.size());
    if (bins > all.result.bins.size()) {
      throw input_error(fmt::format(
          "the record of case {} has more bins than {} has: it is of another "
          "version",
          r.range.first, header.value("target", "")));
    }
    join(all.result, r.result);
    all.counted += counted_in(r.range);
    if (r.result.mismatches > 0) all.mismatching.push_back(r);
  }
  return all;
}

difference_set ignored_in(const json& header) {
  const auto& options = header.at("options");
  const auto ignored = options.find("ignore");
  if (ignored == options.end()) return {};
  return parse_ignored({ignored->get<std::string>()});
}

std::vector<std::string> vacuous_claims(const campaign_report& r) {
  std::vector<std::string> all;
  const auto bins = info_of(target_of(r.header)).bins();
  for (std::size_t i = 0; i < r.result.claims.size(); ++i) {
    const auto why = why_vacuous(r, i, bins);
    if (!why.empty()) {
      all.push_back(fmt::format("{}: {}", claim_text(r, i), why));
    }
  }
  return all;
}

int status_of(const campaign_report& r) {
  if (r.result.cases == 0) {
    throw input_error(
        "no case was run, so that nothing was held: give more cases, more "
        "time, or fewer shards");
  }
  const bool asked =
      std::any_of(r.result.claims.begin(), r.result.claims.end(),
                  [](const auto& c) { return c.answered + c.refused > 0; });
  if (r.header.at("options").contains("plugin") && !asked) {
    throw input_error(
        "the plug-in answered nothing: none of these cases is one that it "
        "claims, or their journal does not count its answers");
  }
  return r.result.mismatches > 0 || !vacuous_claims(r).empty() ? 1 : 0;
}

std::string verdict_text(const campaign_report& r) {
  std::string text;
  for (const auto& why : vacuous_claims(r)) {
    text += fmt::format("VACUOUS: {}\n", why);
  }
  if (!text.empty() || r.result.mismatches > 0) return text;
  text = "held: no mismatch";
  if (ignored_in(r.header).any()) text += " but what is ignored";
  if (is_shard(r) && !r.result.claims.empty()) {
    text += fmt::format(" in this shard; of all {} zeroulp fuzz merge judges",
                        r.header.at("shard").value("count", 1));
  }
  return text + "\n";
}

std::string to_text(const campaign_report& r, bool all_bins) {
  const json& h = r.header;
  const sides s = sides_of(h);
  std::string text =
      fmt::format("{}: {} against {}, {} cases, seed {}, profile {}\n",
                  h.value("target", ""), s.left, s.right, r.result.cases,
                  h.value("seed", std::uint64_t{0}), h.value("profile", ""));
  text +=
      fmt::format("{}; digest {:016x}\n", rate_text(r.result), r.result.digest);
  text += coverage_text(r, all_bins);
  text += ignored_text(r);
  for (std::size_t i = 0; i < std::min(r.mismatching.size(), most_printed);
       ++i) {
    text += mismatching_text(r, r.mismatching[i]);
  }
  if (r.mismatching.size() > most_printed) {
    text += fmt::format("and {} blocks more\n",
                        r.mismatching.size() - most_printed);
  }
  return text;
}

json to_json(const campaign_report& r) {
  const campaign_result& x = r.result;
  const auto field = [&r](const char* name) { return r.header.at(name); };
  json j{{"target", field("target")},
         {"left", field("left")},
         {"right", field("right")},
         {"profile", field("profile")},
         {"generator", field("generator")},
         {"seed", field("seed")},
         {"options", field("options")},
         {"shard", field("shard")},
         {"cases", x.cases},
         {"elements", x.elements},
         {"digest", fmt::format("{:016x}", x.digest)},
         {"mismatches", x.mismatches},
         {"verdict", verdict_of(r)}};
  if (x.seconds > 0) j["seconds"] = x.seconds;
  if (x.first_mismatch) j["case"] = *x.first_mismatch;
  json cases = json::array();
  for (const auto& b : r.mismatching) {
    cases.push_back({{"first", b.range.first},
                     {"cases", b.range.count},
                     {"mismatches", b.result.mismatches},
                     {"differing", differing_json(b)}});
  }
  if (!cases.empty()) j["mismatching"] = cases;
  const kind_set ignored = kinds_of(ignored_in(r.header));
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (!contains(ignored, k)) continue;
    j["ignored"][name_of(k)] = {{"cases", at(x.seen, k).cases},
                                {"elements", at(x.seen, k).elements}};
  }
  if (!x.claims.empty()) j["claims"] = claims_json(r);
  j["cases_in_bins"] = r.counted;
  if (r.counted == 0) return j;
  json& bins = j["bins"] = json::object();
  for (const auto& h : hits_of(r)) bins[h.name] = h.count;
  return j;
}

}  // namespace zeroulp::program
#endif
