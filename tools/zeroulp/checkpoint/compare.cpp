// checkpoint diff, identify: two checkpoints.

#include <fmt/format.h>

#include <map>

#include "tools/checkpoint/weights/identify.hpp"
#include "tools/zeroulp/checkpoint/checkpoint.hpp"
#include "tools/zeroulp/cli.hpp"

namespace zeroulp::program {
namespace {

struct two_checkpoints {
  checkpoint_request common;  ///< the first one's path
  std::string second;
  std::string only;
};

void add_two(cli::app* c, two_checkpoints& o, const char* first,
             const char* second) {
  add_common(c, o.common, first);
  c->add_option(second, o.second, "likewise")->required();
}

json diff_json(const checkpoint::tensor_diff& d) {
  json j{{"name", d.name}, {"like", checkpoint::name_of(d.like)}};
  if (!d.a.empty()) j["a"] = d.a;
  if (!d.b.empty()) j["b"] = d.b;
  if (!d.rule.empty()) j["rule"] = d.rule;
  if (d.different == 0) return j;
  j["different"] = d.different;
  j["elements"] = d.count;
  j["max_ulps"] = d.max_ulps;
  j["ulps_of"] = d.unit;
  j["nan_mismatches"] = d.nans;
  j["largest"] = json_number(d.largest);
  j["first"] = {{"row", d.first.row},
                {"col", d.first.col},
                {"a", json_number(d.first.before)},
                {"b", json_number(d.first.after)}};
  return j;
}

std::string diff_line(const checkpoint::tensor_diff& d) {
  using enum checkpoint::likeness;
  switch (d.like) {
    case only_in_a:
    case only_in_b:
      return fmt::format("{}: {} ({}{})", d.name, checkpoint::name_of(d.like),
                         d.a, d.b);
    case other_shape:
      return fmt::format("{}: {} against {}", d.name, d.a, d.b);
    case by_rule:
      return fmt::format("{}: {}", d.name, d.rule);
    default:
      break;
  }
  if (d.different == 0) return d.name + ": other bytes";
  return fmt::format(
      "{}: {} of {} numbers differ, at most {} ulps of {}, {:.3g} "
      "relative{}{}; "
      "first at ({}, {}): {} against {}",
      d.name, d.different, d.count, d.max_ulps, d.unit, d.largest,
      d.nans > 0 ? fmt::format(", {} NaN against a number", d.nans) : "",
      d.rule.empty() ? "" : "; " + d.rule, d.first.row, d.first.col,
      d.first.before, d.first.after);
}

void run_diff(const two_checkpoints& o, outcome& out) {
  const auto a = open_for(o.common.path, o.common.allow_unscaled, true);
  const auto b = open_for(o.second, o.common.allow_unscaled, true);
  const auto all = checkpoint::diff({a->files, a->pairs}, {b->files, b->pairs},
                                    work_options_of(o.common));
  std::map<checkpoint::likeness, std::size_t> counts;
  json list = json::array();
  std::string text;
  for (const auto& d : all) {
    ++counts[d.like];
    if (!d.is_same()) out.status = 1;
    if (o.common.as_json) {
      list.push_back(diff_json(d));
    } else if (d.like != checkpoint::likeness::same_bytes &&
               d.like != checkpoint::likeness::same_values) {
      text += one_line(diff_line(d)) + "\n";
    }
  }
  if (o.common.as_json) {
    return print_json({{"same", out.status == 0}, {"tensors", list}});
  }
  std::string sum;
  for (const auto& [like, n] : counts) {
    sum += fmt::format("{}{} {}", sum.empty() ? "" : ", ", n,
                       checkpoint::name_of(like));
  }
  print(text + fmt::format("{}: {} tensors: {}\n",
                           out.status == 0 ? "same" : "DIFFERENT", all.size(),
                           sum));
}

std::string candidate_text(const checkpoint::candidate& c) {
  return fmt::format("{} ({})", c.name, name_of(c.scale));
}

json identified_json(const checkpoint::identified& i) {
  json j{{"name", i.name}};
  if (!i.why_not.empty()) {
    j["why_not"] = i.why_not;
    return j;
  }
  j["codes"] = i.codes;
  j["scales"] = i.scales;
  json exact = json::array();
  for (const auto& c : i.exact) {
    exact.push_back({{"convention", c.name}, {"scale", name_of(c.scale)}});
  }
  j["exact"] = exact;
  if (i.exact.empty()) {
    j["nearest"] = {{"convention", i.nearest.name},
                    {"scale", name_of(i.nearest.scale)},
                    {"wrong_codes", i.nearest.wrong_codes},
                    {"wrong_scales", i.nearest.wrong_scales},
                    {"codes_looked_at", i.looked_at}};
  }
  return j;
}

std::string identified_text(const checkpoint::identified& i) {
  if (!i.why_not.empty()) return fmt::format("not told: {}", i.why_not);
  if (i.exact.empty()) {
    return fmt::format("none; nearest {}: {} of {} codes and {} scales differ",
                       candidate_text(i.nearest), i.nearest.wrong_codes,
                       i.looked_at, i.nearest.wrong_scales);
  }
  std::string text;
  for (const auto& c : i.exact) {
    text += (text.empty() ? "" : ", ") + candidate_text(c);
  }
  return text;
}

/// The conventions that give every bit of every weight that was looked at.
std::vector<std::string> common_names(
    const std::vector<checkpoint::identified>& all) {
  std::map<std::string, std::size_t> counts;
  std::size_t told = 0;
  for (const auto& i : all) {
    if (!i.why_not.empty()) continue;
    ++told;
    for (const auto& c : i.exact) ++counts[candidate_text(c)];
  }
  std::vector<std::string> names;
  for (const auto& [name, n] : counts) {
    if (n == told) names.push_back(name);
  }
  return names;
}

void run_identify_checkpoint(const two_checkpoints& o, outcome& out) {
  const auto a = open_for(o.common.path, o.common.allow_unscaled, true);
  const auto b = open_for(o.second, o.common.allow_unscaled, true);
  const auto all =
      checkpoint::identify({a->files, a->pairs}, {b->files, b->pairs}, o.only,
                           work_options_of(o.common));
  const auto names = common_names(all);
  out.status = names.empty() ? 1 : 0;
  json list = json::array();
  std::string text;
  for (const auto& i : all) {
    // What cannot be told is not held.
    if (!i.why_not.empty()) out.status = 1;
    if (o.common.as_json) {
      list.push_back(identified_json(i));
    } else {
      text += one_line(i.name + ": " + identified_text(i)) + "\n";
    }
  }
  if (o.common.as_json) {
    return print_json({{"exact", out.status == 0},
                       {"conventions", names},
                       {"tensors", list}});
  }
  print(text + fmt::format("every bit of {} weights: {}\n", all.size(),
                           names.empty()
                               ? "none"
                               : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

void add_checkpoint_diff(cli::app& sub, outcome& out) {
  auto* c = add_command(
      sub, "diff",
      "Compare two checkpoints: bytes, numbers across formats, roundings (exit "
      "status 1 if they differ)",
      "zeroulp checkpoint diff DeepSeek-V3 V3-bf16");
  auto o = std::make_shared<two_checkpoints>();
  add_two(c, *o, "A", "B");
  c->callback([o, &out] { run_diff(*o, out); });
}

void add_checkpoint_identify(cli::app& sub, outcome& out) {
  auto* c = add_command(
      sub, "identify",
      "Find which convention made a checkpoint's codes and scales of another "
      "one's numbers (exit status 1 if none)",
      "zeroulp checkpoint identify model-bf16 model-fp8");
  auto o = std::make_shared<two_checkpoints>();
  add_two(c, *o, "NUMBERS", "CODES");
  c->add_option("--only", o->only, "weights whose names have this expression");
  c->callback([o, &out] { run_identify_checkpoint(*o, out); });
}

}  // namespace zeroulp::program
