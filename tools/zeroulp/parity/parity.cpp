// zeroulp parity: the first tensor and rule in which two dumps of one pass
// differ.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

#include "tools/study/report/report.hpp"
#include "tools/zeroulp/json_input.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/parity/parity.hpp"
#endif

namespace zeroulp::program {
namespace {

struct parity_request {
  std::string a;
  std::string b;
  std::string chain;
  std::string map;
  std::string out;
  std::int64_t rows = 128;
  bool as_json = false;
};

#ifdef ZEROULP_HAVE_CONFORMANCE

using parity::operator_report;
using parity::parity_report;
using parity::state;

/// {"A's name": "B's name"} of --map, by the chain's names.
std::map<std::string, std::string> names_of_b(const std::string& file) {
  std::map<std::string, std::string> names;
  if (file.empty()) return names;
  const json all = read_json(file, "use {\"name in A\": \"name in B\"}");
  if (!all.is_object()) {
    throw input_error(file + ": use {\"name in A\": \"name in B\"}");
  }
  for (const auto& item : all.items()) {
    if (!item.value().is_string()) {
      throw input_error(fmt::format("{}: '{}' is {}: use a tensor's name", file,
                                    item.key(), item.value().dump()));
    }
    names[item.key()] = item.value().get<std::string>();
  }
  return names;
}

std::string text_of(const parity::rule& r) {
  if (r.is_known()) {
    std::string text = r.name;
    for (std::size_t i = 0; i < r.same.size(); ++i) {
      text +=
          fmt::format("{}{}", i == 0 ? " (the same bits: " : "; ", r.same[i]);
    }
    return r.same.empty() ? text : text + ")";
  }
  return r.near.empty() ? "unknown" : "unknown, near " + r.near;
}

/// As a cell of a table.
std::string short_of(const parity::rule& r) {
  return r.is_known() ? r.name : text_of(r);
}

/// Elements that differ, of the operator's outputs together.
std::string different_text(const operator_report& o) {
  std::uint64_t different = 0, elements = 0;
  for (const auto& t : o.makes) {
    if (t.by.other_shape) return "other shape";
    different += t.by.different;
    elements += t.by.elements;
  }
  return fmt::format("{} of {}", different, elements);
}

std::string share_text(const operator_report& o) {
  return o.share ? fmt::format("{:.1f} %", 100 * *o.share) : "";
}

table operator_table(const parity_report& r) {
  table t{{"operator", "is", "state", "rule of A", "rule of B", "different",
           "share"},
          {}};
  for (const operator_report& o : r.operators) {
    const bool looked = !r.same();
    t.rows.push_back({o.name, o.is, name_of(o.said),
                      looked ? short_of(o.a) : "", looked ? short_of(o.b) : "",
                      different_text(o), share_text(o)});
  }
  return t;
}

table input_table(const parity_report& r) {
  table t{{"input", "different", "relative"}, {}};
  for (const operator_report& o : r.operators) {
    for (const auto& x : o.reads) {
      if (x.by.same()) continue;
      t.rows.push_back(
          {x.name,
           x.by.other_shape
               ? "other shape"
               : fmt::format("{} of {}", x.by.different, x.by.elements),
           fmt::format("{:.3g}", x.by.relative)});
    }
  }
  return t;
}

/// What the user asked, in a sentence or two.
std::string verdict_text(const parity_report& r) {
  if (r.same()) {
    std::uint64_t elements = 0;
    for (const auto& o : r.operators) {
      for (const auto& t : o.makes) elements += t.by.elements;
    }
    return fmt::format("equal: {} operators, {} elements, 0 differences\n",
                       r.operators.size(), elements);
  }
  std::string text =
      fmt::format("first tensor that differs: {}{}\n", r.first_tensor,
                  r.is_input ? ", which no operator of the chain makes" : "");
  for (const operator_report& o : r.operators) {
    if (o.name != r.first_rule) continue;
    text += fmt::format("first rule that differs: operator {}: A {}, B {}\n",
                        o.name, text_of(o.a), text_of(o.b));
    for (const auto* side : {&o.a, &o.b}) {
      if (side->what.empty() || side->name == "as claimed") continue;
      text += fmt::format("  {}: {}\n", side == &o.a ? "A" : "B", side->what);
    }
  }
  if (!r.alone.empty()) {
    text += fmt::format("the difference is only {}\n", r.alone);
  }
  if (r.first_rule.empty() && !r.is_input) {
    text += "every rule is the same: the difference is that of the inputs\n";
  }
  return text;
}

std::string shares_text(const parity_report& r) {
  if (r.all_rules) {
    return fmt::format(
        "rules were sought on {} rows; B's rules together make {:.1f} % of the "
        "difference of the last tensor\n",
        r.rows, 100 * *r.all_rules);
  }
  return fmt::format("rules were sought on {} rows; no shares: {}\n", r.rows,
                     r.why_no_shares);
}

json to_json(const parity::compared_tensor& t) {
  json one{{"tensor", t.name}, {"elements", t.by.elements}};
  if (t.by.other_shape) {
    one["other_shape"] = true;
  } else if (t.by.same()) {
    one["digest"] = t.by.digest;
  } else {
    one["different"] = t.by.different;
    one["relative"] = t.by.relative;
    one["first"] = {t.by.first_row, t.by.first_col};
  }
  return one;
}

json to_json(const parity::rule& r) {
  json one{{"name", r.name}, {"what", r.what}};
  if (!r.near.empty()) one["near"] = r.near;
  if (!r.same.empty()) one["same"] = r.same;
  return one;
}

json to_json(const parity_report& r) {
  json operators = json::array();
  for (const operator_report& o : r.operators) {
    json one{{"name", o.name}, {"is", o.is}, {"state", name_of(o.said)}};
    if (!r.same()) {
      one["a"] = to_json(o.a);
      one["b"] = to_json(o.b);
    }
    for (const auto& [field, list] :
         {std::pair{"reads", &o.reads}, {"makes", &o.makes}}) {
      one[field] = json::array();
      for (const auto& t : *list) one[field].push_back(to_json(t));
    }
    if (o.share) one["share"] = *o.share;
    if (!o.alone.empty()) one["alone"] = o.alone;
    operators.push_back(one);
  }
  json all{{"same", r.same()},
           {"first_tensor", r.first_tensor},
           {"first_tensor_is_input", r.is_input},
           {"first_rule", r.first_rule},
           {"alone", r.alone},
           {"rows", r.rows},
           {"operators", operators}};
  if (r.all_rules) all["share_of_all_rules"] = *r.all_rules;
  return all;
}

std::string page_of(const parity_request& q, const parity_report& r) {
  html_page page("Whose bits differ first");
  page.add_paragraph(fmt::format("A is {}, B is {}.", q.a, q.b));
  page.add_paragraph(verdict_text(r));
  page.add_heading("Operators");
  page.add_table(operator_table(r),
                 "In the order of the pass. The share is that of the rule in "
                 "the difference of the last tensor.");
  const table inputs = input_table(r);
  if (!inputs.rows.empty()) {
    page.add_heading("Inputs that differ");
    page.add_table(inputs);
  }
  if (!r.same()) page.add_paragraph(shares_text(r));
  return page.str();
}

void run_parity(const parity_request& q, outcome& out) {
  const auto chain = parity::read_chain(q.chain);
  const parity::dump a(q.a, {});
  const parity::dump b(q.b, names_of_b(q.map));
  output_set files;
  if (!q.out.empty()) files.expect({q.out});
  parity::parity_options how;
  how.rows = static_cast<std::uint64_t>(q.rows);
  how.progress = make_progress();
  const parity_report r = parity::compare(chain, a, b, how);
  if (!q.out.empty()) {
    files.add(q.out, page_of(q, r));
    files.commit();
  }
  out.status = r.same() ? 0 : 1;
  if (q.as_json) return print_json(to_json(r));
  print(to_text(operator_table(r)) + "\n");
  const table inputs = input_table(r);
  if (!inputs.rows.empty()) print(to_text(inputs) + "\n");
  print(verdict_text(r));
  if (!r.same()) print(shares_text(r));
}

#else

void run_parity(const parity_request&, outcome&) {
  throw input_error(
      "parity: this build has no MPFR, GMP or Boost, and with them the part "
      "that searches is left out: install them and build again");
}

#endif

}  // namespace

void add_parity(CLI::App& app, outcome& out) {
  auto* command = add_command(
      app, "parity",
      "Whose bits differ first: two dumps of one pass, operator by operator "
      "(exit status 1 if they differ)",
      "zeroulp parity trainer.safetensors sampler.safetensors --chain "
      "layer.json");
  auto q = std::make_shared<parity_request>();
  command->add_option("A", q->a, "safetensors, .npz, or a folder of .npy")
      ->required();
  command->add_option("B", q->b, "the same pass of another implementation")
      ->required();
  command
      ->add_option("--chain", q->chain,
                   "JSON: {\"operators\": [{\"name\", \"is\", \"with\", "
                   "\"reads\", \"makes\"}, ...]} in order; `is` is rope, "
                   "residual or a target of zeroulp fuzz; {\"repeat\": 61, "
                   "\"operators\": [...]} has {i}, {i+1}, {i-1} in names")
      ->required();
  command->add_option("--map", q->map,
                      "JSON: {\"name in the chain\": \"name in B\"}");
  command
      ->add_option("--rows", q->rows,
                   "on which rules are sought, a multiple of 128; 0: all")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  command->add_option("--out", q->out, "a page, HTML");
  command->add_flag("--json", q->as_json);
  command->callback([q, &out] { run_parity(*q, out); });
}

}  // namespace zeroulp::program
