// checkpoint requantize, rescale: what makes codes, and says what it changes.

#include <fmt/format.h>

#include "src/base/near_names.hpp"
#include "tools/checkpoint/weights/requantize.hpp"
#include "tools/checkpoint/weights/rescale.hpp"
#include "tools/zeroulp/checkpoint/checkpoint.hpp"
#include "tools/zeroulp/cli.hpp"

namespace zeroulp::program {
namespace {

using checkpoint::change;
using checkpoint::element;

struct requantize_options {
  checkpoint_request common;
  std::string out;
  std::string to = "e4m3";
  std::string group = "128x128";
  std::string scale = "pow2";
  std::string convention = "zeroulp";
  std::string family = "deepseek_v3";
  std::string scale_type = "f32";
  std::string only;
  std::string except;
  std::string order = "scales";
  bool lossless = false;
};

struct rescale_options {
  checkpoint_request common;
  std::string out;
  std::string scale_type = "f32";
  std::string only;
};

const checkpoint::family_row* family_of(const std::string& name) {
  std::vector<std::string_view> known;
  for (const auto& row : checkpoint::families()) {
    if (row.packed == checkpoint::packing::none) known.push_back(row.name);
    if (row.name == name && row.packed == checkpoint::packing::none) {
      return &row;
    }
  }
  throw input_error(
      fmt::format("unknown family '{}': {}", name, use_one_of(name, known)));
}

element scale_type_of(const std::string& name, bool powers) {
  if (name == "f32") return element::f32;
  if (!powers) {
    throw input_error("--scale-type e8m0: use --scale pow2 with it");
  }
  return element::f8_e8m0;
}

checkpoint::requantize_request request_of(const requantize_options& o) {
  checkpoint::requantize_request q;
  const format f = parse_format(o.to);
  const auto type = checkpoint::element_of(f);
  if (!type || !checkpoint::fp8_types.has(*type)) {
    throw input_error(
        fmt::format("--to {}: weights become e4m3 or e5m2", o.to));
  }
  q.to = *type;
  q.group = parse_group(o.group);
  if (q.group.rows == 0 && q.group.cols != 0) {
    throw input_error(fmt::format(
        "--group {}: groups are RxC, Rx0 or tensor: no scale of whole columns",
        o.group));
  }
  q.scale = parse_scale_kind(o.scale);
  q.how = parse_convention(o.convention);
  q.family = family_of(o.family);
  q.scales = scale_type_of(o.scale_type, q.scale != scale_kind::float32);
  q.only = o.only;
  q.except_codes = !o.except.empty();
  q.except =
      o.except.empty() && o.only.empty() ? checkpoint::usually_kept : o.except;
  q.read.order = o.order == "codes" ? checkpoint::product_order::codes
                                    : checkpoint::product_order::scales;
  return q;
}

json change_json(const change& c) {
  json j{{"name", c.of->name},
         {"numbers", c.count},
         {"values", c.values},
         {"exact", c.is_exact()}};
  if (c.is_exact()) return j;
  j["largest"] = json_number(c.largest);
  j["first"] = {{"group", c.group_text()},
                {"row", c.first.row},
                {"col", c.first.col},
                {"before", json_number(c.first.before)},
                {"after", json_number(c.first.after)}};
  return j;
}

std::string change_text(const change& c) {
  if (c.is_exact()) {
    return fmt::format("{}: lossless, all {} numbers", c.of->name, c.count);
  }
  return fmt::format(
      "{}: {} of {} numbers change, by at most {:.3g}; first in group {} of {} "
      "at ({}, {}): {} becomes {}",
      c.of->name, c.values, c.count, c.largest, c.group_text(),
      name_of(c.group), c.first.row, c.first.col, c.first.before,
      c.first.after);
}

/// What was changed, as lines or JSON, and how many weights are exact.
struct report {
  json list = json::array();
  std::string text;
  std::size_t exact = 0;
  std::size_t weights = 0;

  void add(const change& c) {
    if (c.of == nullptr) return;  // in a shard that an earlier run wrote
    ++weights;
    exact += c.is_exact() ? 1 : 0;
    list.push_back(change_json(c));
    text += one_line(change_text(c)) + "\n";
  }
};

report report_of(const std::vector<checkpoint::requantized>& weights) {
  report r;
  for (const auto& w : weights) r.add(w.changes->sum);
  return r;
}

void print_report(const checkpoint_request& q, const report& r,
                  const std::string& text, json what) {
  if (q.as_json) {
    what["weights"] = r.list;
    what["exact"] = r.exact;
    return print_json(what);
  }
  print(r.text + text + "\n");
}

void run_requantize(const requantize_options& o, outcome& out) {
  const auto q = request_of(o);
  const auto c = open_for(o.common.path, o.common.allow_unscaled, true);
  const auto weights = requantized_of(c->files, c->pairs, q);
  const auto options = work_options_of(o.common);
  const auto sum = [](const report& r) {
    return fmt::format("{} of {} weights lossless", r.exact, r.weights);
  };
  if (o.out.empty() || o.lossless) {
    prove(c->files, q, weights, options);
    const auto r = report_of(weights);
    const bool held = !o.lossless || r.exact == r.weights;
    if (o.out.empty() || !held) {
      if (!held) out.status = 1;
      return print_report(o.common, r, sum(r) + "; nothing written",
                          {{"written", false}});
    }
  }
  const auto how = requantization(c->files, c->pairs, q, weights, options);
  const auto done = convert(c->files, how, o.out, options);
  const auto r = report_of(weights);
  if (!o.common.as_json) print(r.text);
  print_outcome(o.common, done,
                {{"written", true}, {"weights", r.list}, {"exact", r.exact}},
                sum(r));
}

void run_rescale(const rescale_options& o) {
  const element type = scale_type_of(o.scale_type, true);
  const auto c = open_for(o.common.path, o.common.allow_unscaled, true);
  const auto weights = rescaled_of(c->files, c->pairs, o.only);
  const auto options = work_options_of(o.common);
  prove(c->files, weights, options);
  report r;
  change all;
  for (const auto& w : weights) {
    const change& each = w.changes->sum;
    r.add(each);
    r.list.back()["codes"] = each.codes;
    all.merge(each);
  }
  const auto text =
      fmt::format("{} of {} codes and {} values change, by at most {:.3g}",
                  all.codes, all.count, all.values, all.largest);
  json what{{"codes", all.codes},
            {"values", all.values},
            {"numbers", all.count},
            {"largest", json_number(all.largest)},
            {"written", !o.out.empty()}};
  if (o.out.empty()) {
    return print_report(o.common, r, text + "; nothing written", what);
  }
  if (!o.common.as_json) print(r.text);
  const auto how = rescaling(c->files, weights, type, o.only);
  const auto done = convert(c->files, how, o.out, options);
  what["weights"] = r.list;
  what["exact"] = r.exact;
  print_outcome(o.common, done, what, text);
}

}  // namespace

void add_checkpoint_requantize(cli::app& sub, outcome& out) {
  auto* c = add_command(
      sub, "requantize",
      "Quantize weights to FP8 in other groups, by a convention; says number "
      "by number what changes. Without --out nothing is written",
      "zeroulp checkpoint requantize gpt-oss-20b --lossless --out gpt-oss-fp8");
  auto o = std::make_shared<requantize_options>();
  add_common(c, o->common);
  c->add_option("--out", o->out, "a new folder, or one to go on with");
  c->add_option("--to", o->to, "e4m3 or e5m2")->capture_default_str();
  c->add_option("--group", o->group, "RxC or tensor")->capture_default_str();
  c->add_option("--scale", o->scale, "kind of scale: fp32, pow2, ...")
      ->capture_default_str();
  c->add_option("--convention", o->convention, "see zeroulp conventions")
      ->capture_default_str();
  c->add_option("--family", o->family, "how scales are called")
      ->capture_default_str();
  c->add_option("--scale-type", o->scale_type, "f32 or e8m0")
      ->check(cli::is_member({"f32", "e8m0"}))
      ->capture_default_str();
  c->add_option("--only", o->only, "weights whose names have this expression");
  c->add_option("--except", o->except,
                fmt::format("but not those with this one [of numbers: {}]",
                            checkpoint::usually_kept));
  c->add_option("--order", o->order, "of two scales: see dequantize")
      ->check(cli::is_member({"scales", "codes"}))
      ->capture_default_str();
  c->add_flag("--lossless", o->lossless,
              "exit status 1, and nothing written, if any number changes");
  c->callback([o, &out] { run_requantize(*o, out); });
}

void add_checkpoint_rescale(cli::app& sub, outcome&) {
  auto* c = add_command(
      sub, "rescale",
      "Make scales powers of two (UE8M0); says before how many codes and "
      "values change. Without --out nothing is written",
      "zeroulp checkpoint rescale DeepSeek-V3 --out V3-ue8m0");
  auto o = std::make_shared<rescale_options>();
  add_common(c, o->common);
  c->add_option("--out", o->out, "a new folder, or one to go on with");
  c->add_option("--scale-type", o->scale_type, "f32 or e8m0")
      ->check(cli::is_member({"f32", "e8m0"}))
      ->capture_default_str();
  c->add_option("--only", o->only, "weights whose names have this expression");
  c->callback([o] { run_rescale(*o); });
}

}  // namespace zeroulp::program
