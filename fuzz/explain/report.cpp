// An explanation as text and as JSON.

#include "fuzz/explain/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace zeroulp::fuzz {
namespace {

using json = nlohmann::ordered_json;

std::string ulps_text(const ulp_histogram& h) {
  std::string text;
  for (std::size_t i = 0; i < h.buckets.size(); ++i) {
    if (h.buckets[i] == 0) continue;
    const auto first = ulp_histogram::first_of(i);
    const auto last = ulp_histogram::last_of(i);
    text += text.empty() ? "" : ", ";
    text += first == last ? fmt::format("{}: {}", first, h.buckets[i])
                          : fmt::format("{}-{}: {}", first, last, h.buckets[i]);
  }
  return text;
}

std::string distance_text(const difference& d) {
  if (d.type == integer) return "";
  const auto found = difference_of(d.left, d.right, order_of(d.type));
  return found.distance ? fmt::format(", {} ulps", *found.distance) : "";
}

std::string output_text(const output_difference& d, const std::string& claim) {
  const auto elements = d.rows * d.cols;
  if (d.different() == 0) {
    return fmt::format("{}: the bits of {}, all {}\n", d.name, claim, elements);
  }
  std::string text =
      fmt::format("{}: {} of {} elements differ, at most {} ulps\n", d.name,
                  d.different(), elements, d.ulps.max_distance);
  text += fmt::format("  where     {} of {} rows, {} of {} columns\n",
                      d.rows_hit, d.rows, d.cols_hit, d.cols);
  for (const auto& pattern : d.patterns) {
    text += fmt::format("  pattern   {}\n", pattern);
  }
  text += fmt::format("  ulps      {}\n", ulps_text(d.ulps));
  if (d.ulps.nan_mismatches > 0) {
    text +=
        fmt::format("  NaN       {} against a number\n", d.ulps.nan_mismatches);
  }
  if (d.error.nonfinite_mismatches == 0) {
    text += fmt::format(
        "  error     {:.3g} relative (Frobenius), {:.3g} dB SQNR, cosine 1 - "
        "{:.3g}\n",
        d.error.frobenius, d.error.sqnr_db, d.error.one_minus_cosine);
  }
  if (d.first) {
    text +=
        fmt::format("  first     ({}, {}): {}, claimed {}{}\n", d.first->row,
                    d.first->col, value_text(d.type, d.first->right),
                    value_text(d.type, d.first->left), distance_text(*d.first));
  }
  return text;
}

std::string share_text(const likely_cause& c) {
  if (c.exact()) {
    return fmt::format("all {} differing elements, bit for bit", c.explained);
  }
  return fmt::format(
      "{} of {} differing elements{}", c.explained, c.explained + c.left,
      c.added == 0 ? std::string()
                   : fmt::format("; it changes {} more", c.added));
}

/// On what suspects were held against each other.
std::string place_text(const explanation& e) {
  std::uint64_t all = 0;
  for (const auto& d : e.outputs) {
    all += static_cast<std::uint64_t>(d.rows * d.cols);
  }
  return e.looked_at < all
             ? fmt::format("the {} elements looked at", e.looked_at)
             : std::string("this data");
}

/// Nobody can tell causes apart that have the same bits: they are one answer.
std::string cause_text(const likely_cause& c, const std::string& where) {
  if (c.same.empty()) {
    return fmt::format("  likely    {} ({}): {}\n", c.what, c.name,
                       share_text(c));
  }
  std::string text =
      fmt::format("  likely    one of {} with the same bits on {}: {}\n",
                  1 + c.same.size(), where, share_text(c));
  const auto add = [&text](const std::string& what, const std::string& name) {
    text += fmt::format("            {} ({})\n", what, name);
  };
  add(c.what, c.name);
  constexpr std::size_t most = 7;
  const auto shown = std::min(most, c.same.size());
  for (std::size_t i = 0; i < shown; ++i) add(c.same[i].what, c.same[i].name);
  if (shown < c.same.size()) {
    text += fmt::format("            and {} more\n", c.same.size() - shown);
  }
  return text;
}

constexpr const char* sorts[] = {"definition", "displacement", "fault"};

/// Each with its name and what it does: the first, and what it ties with.
json one_of(const likely_cause& c) {
  json all = json::array();
  const auto add = [&all](const auto& x) {
    all.push_back({{"kind", sorts[static_cast<int>(x.of)]},
                   {"name", x.name},
                   {"what", x.what}});
  };
  add(c);
  for (const auto& x : c.same) add(x);
  return all;
}

std::vector<std::string> names_of(const std::vector<tied_cause>& all) {
  std::vector<std::string> names;
  for (const auto& x : all) names.push_back(x.name);
  return names;
}

}  // namespace

std::string to_text(const explanation& e, const std::string& claim) {
  std::string text;
  for (const auto& d : e.outputs) text += output_text(d, claim);
  if (e.same()) return text;
  if (!e.element.empty()) text += fmt::format("  element   {}\n", e.element);
  if (e.wrong_by_given_scales) {
    text += *e.wrong_by_given_scales == 0
                ? fmt::format("  codes     as {} makes them by these scales\n",
                              claim)
                : fmt::format(
                      "  codes     {} are not what {} makes by these "
                      "scales\n",
                      *e.wrong_by_given_scales, claim);
  }
  for (const auto& c : e.likely) text += cause_text(c, place_text(e));
  if (e.distinguishing) {
    text += fmt::format(
        "  apart     this case has {} different results of these:\n"
        "            {}\n",
        e.distinguishing->results, e.distinguishing->token);
  }
  if (e.tried > 0 && e.likely.empty()) {
    text += fmt::format(
        "  likely    none of {} definitions, displacements and faults: none "
        "gives these bits more often than chance\n",
        e.tried);
  }
  return text;
}

json to_json(const explanation& e, const std::string& claim) {
  const auto number = [](double x) -> json {
    return std::isfinite(x) ? json(x) : json(fmt::format("{}", x));
  };
  json result{{"claim", claim}, {"same", e.same()}, {"outputs", json::array()}};
  for (const auto& d : e.outputs) {
    json o{{"name", d.name},
           {"shape", {d.rows, d.cols}},
           {"different", d.different()},
           {"max_ulps", d.ulps.max_distance},
           {"nan_mismatches", d.ulps.nan_mismatches},
           {"rows", d.rows_hit},
           {"columns", d.cols_hit},
           {"patterns", d.patterns},
           {"frobenius", number(d.error.frobenius)},
           {"sqnr_db", number(d.error.sqnr_db)},
           {"one_minus_cosine", number(d.error.one_minus_cosine)}};
    if (d.first) {
      o["first"] = {{"index", {d.first->row, d.first->col}},
                    {"given", fmt::format("{:#x}", d.first->right)},
                    {"claimed", fmt::format("{:#x}", d.first->left)},
                    {"given_value", value_text(d.type, d.first->right)},
                    {"claimed_value", value_text(d.type, d.first->left)}};
    }
    result["outputs"].push_back(std::move(o));
  }
  if (!e.element.empty()) result["element"] = e.element;
  if (e.wrong_by_given_scales) {
    result["wrong_by_given_scales"] = *e.wrong_by_given_scales;
  }
  result["likely"] = json::array();
  for (const auto& c : e.likely) {
    result["likely"].push_back({{"kind", sorts[static_cast<int>(c.of)]},
                                {"name", c.name},
                                {"what", c.what},
                                {"explained", c.explained},
                                {"left", c.left},
                                {"added", c.added},
                                {"exact", c.exact()},
                                {"same_bits", names_of(c.same)},
                                {"one_of", one_of(c)}});
  }
  if (e.distinguishing) {
    result["apart"] = {{"token", e.distinguishing->token},
                       {"results", e.distinguishing->results}};
  }
  result["tried"] = e.tried;
  result["looked_at"] = e.looked_at;
  return result;
}

}  // namespace zeroulp::fuzz
