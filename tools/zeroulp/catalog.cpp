// formats, conventions, recipes, arms, sizes: what each named thing is, and how
// two of them differ.

#include "tools/zeroulp/catalog.hpp"

#include <fmt/format.h>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/tensor/convention_json.hpp"
#include "tools/zeroulp/tensor/recipe_json.hpp"
#include "tools/zeroulp/train/settings_json.hpp"

namespace zeroulp::program {
namespace {

entry show(const named_format& row) {
  constexpr const char* kinds[] = {"ieee", "fn", "fnuz", "finite", "scale"};
  const format f = row.value;
  const auto text = [f](std::uint64_t code) {
    return fmt::format("{:.9g}", to_double(decode(f, code)));
  };
  const std::uint64_t min_normal =
      f.kind == specials::scale ? 0 : std::uint64_t{1} << f.man_bits;
  return {row.name,
          {{"bits", f.bits()},
           {"exp_bits", f.exp_bits},
           {"man_bits", f.man_bits},
           {"bias", f.bias},
           {"specials", kinds[static_cast<int>(f.kind)]},
           {"max", text(f.max_code())},
           {"min_normal", text(min_normal)},
           {"min", text(f.kind == specials::scale ? 0 : 1)}}};
}

std::string scale_text(scale_rule rule) {
  switch (rule) {
    case scale_rule::quotient:
      return "fl(amax/max)";
    case scale_rule::times_reciprocal:
      return "fl(amax*fl(1/max))";
    case scale_rule::reciprocal_inverse:
      return "fl(1/q), q = fl(max/amax)";
    case scale_rule::reciprocal_product:
      break;
  }
  return "fl(1/q), q = fl(max*fl(1/amax))";
}

std::string element_text(element_rule rule) {
  switch (rule) {
    case element_rule::exact_quotient:
      return "x/s";
    case element_rule::quotient:
      return "fl(x/s)";
    case element_rule::scale_reciprocal:
      return "fl(x*fl(1/s))";
    case element_rule::inverse:
      return "fl(x*q), q of the scale, or fl(max/amax)";
    case element_rule::approximate_quotient:
      break;
  }
  return "div.full(x, s), exact model of an H200";
}

entry show(const named_convention& row) {
  constexpr const char* amax_rules[] = {"finite only", "skip NaN", "keep NaN"};
  constexpr const char* exponents[] = {"amax/max", "s", "fl(log2(s))"};
  constexpr const char* throughs[] = {"none", "bf16", "fp16"};
  const convention& c = row.value;
  std::string_view conversion = "?";
  for (const auto& p : named_policies) {
    if (p.value == c.conversion) conversion = p.name;
  }
  return {
      row.name,
      {{"amax_floor",
        fmt::format("{:.6g}", to_double(decode(fp32, c.amax_floor)))},
       {"scale", scale_text(c.scale)},
       {"element", element_text(c.element)},
       {"amax", amax_rules[static_cast<int>(c.amax)]},
       {"unit_scale_of_zero", c.edges.unit_of_zero},
       {"unit_scale_of_infinity", c.edges.unit_of_infinity},
       {"unit_scale_of_nan", c.edges.unit_of_nan},
       {"finite_inverse", c.edges.finite_inverse},
       {"positive_scale", c.edges.positive},
       {"bf16_amax", c.bf16_amax},
       {"default_scale", c.power_of_two ? "pow2" : "fp32"},
       {"conversion", conversion},
       {"scale_floor",
        fmt::format("{:.6g}", to_double(decode(fp32, c.scale_floor)))},
       {"exponent", exponents[static_cast<int>(c.exponent)]},
       {"bf16_scale", c.bf16_scale},
       {"unrounded_inverse", c.unrounded_inverse},
       {"pre_rounding", throughs[static_cast<int>(c.through)]},
       {"largest", c.largest == 0 ? json("max")
                                  : json(to_double(decode(fp32, c.largest)))},
       {"source", row.source}},
      convention_json().fields_of(c)};
}

entry show(const named_recipe& row) {
  const auto cover = [](granularity g) {
    return g.mn == 0 && g.k == 0 ? std::string("tensor")
                                 : fmt::format("{}x{}", g.mn, g.k);
  };
  // Without an interval there is one p, and what adds it only says how it meets
  // scales.
  constexpr const char* updates[] = {"fl(acc+p)", "fma(p, fl(sa*sb), acc)",
                                     "fma(fl(p*sa), sb, acc)",
                                     "fma(fl(p*sb), sa, acc)"};
  const recipe& r = row.value;
  return {row.name,
          {{"interval", r.interval == 0 ? json("none") : json(r.interval)},
           {"update", r.interval == 0 && r.update == promotion::add
                          ? "none"
                          : updates[static_cast<int>(r.update)]},
           {"a", cover(r.a)},
           {"b", cover(r.b)},
           {"splits", r.splits},
           {"epilogue", r.end == epilogue::store ? "store" : "fl(acc+C)"},
           {"output", name_of(r.output)},
           {"L", r.acc.length == 0 ? json("all") : json(r.acc.length)},
           {"F", r.acc.fraction_bits == uncut ? json("exact")
                                              : json(r.acc.fraction_bits)},
           {"source", row.source}},
          recipe_json().fields_of(r)};
}

/// What the columns of `zeroulp recipes` mean.
constexpr std::string_view recipe_legend =
    R"(
interval    elements of K after which the partial sum p is added to acc
update      how it is added; sa and sb are the scales of A and B, fl rounds
a, b        rows x elements of K that share a scale; 0: all of them
splits      ranges of K that are summed apart, then added
L           products that a step of the tensor core takes; all: all of K
F           fraction bits that each term keeps below the largest place, which
            is ea + eb of a product and the exponent of c
)";

std::string text_of(const storage& s) {
  auto text = name_of(s.to);
  if (s.scaled) {
    text += fmt::format(" {} {}", name_of(s.group), name_of(s.scale));
  }
  return s.columnwise ? text + ", columnwise" : text;
}

std::string text_of(const sum_rule& s) {
  auto text = name_of(s.acc);
  if (s.interval > 0) text += fmt::format(", every {}", s.interval);
  if (s.splits > 1) text += fmt::format(", {} ranges", s.splits);
  return text;
}

entry show(const arm& a) {
  return {a.name,
          {{"x", text_of(a.linear.x)},
           {"w", text_of(a.linear.w)},
           {"dy", text_of(a.linear.dy)},
           {"fprop", text_of(a.linear.fprop)},
           {"dgrad", text_of(a.linear.dgrad)},
           {"wgrad", text_of(a.linear.wgrad)},
           {"dispatched", name_of(a.dispatched)},
           {"attention_cache", text_of(a.attention_cache)},
           {"swiglu_cache", text_of(a.swiglu_cache)},
           {"what", a.what}},
          arm_json().fields_of(a)};
}

entry show(const train::model_shape& s) {
  return {s.name, size_json().fields_of(s)};
}

constexpr auto entry_of = [](const auto& row) { return show(row); };

catalog with_legend(catalog c, std::string_view legend) {
  c.legend = legend;
  return c;
}

/// A list is the texts of its objects.
std::string cell(const json& value) {
  if (!value.is_array()) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  std::string all;
  for (const auto& item : value) {
    all += (all.empty() ? "" : "; ") + item.at("text").get<std::string>();
  }
  return all;
}

struct catalog_request {
  std::string name;
  std::string other;
  bool as_json = false;
};

void print_table(const std::vector<entry>& rows) {
  table t;
  t.columns.push_back("name");
  for (const auto& field : rows.front().fields.items()) {
    t.columns.push_back(field.key());
  }
  for (const auto& row : rows) {
    std::vector<std::string> cells{row.name};
    for (const auto& field : row.fields) cells.push_back(cell(field));
    t.rows.push_back(std::move(cells));
  }
  print(t);
}

/// Prints the fields of one row, or those in which two rows differ.
void print_rows(const entry& a, const entry* b, bool as_json) {
  json shown = json::object();
  table t{{"field", a.name}, {}};
  if (b != nullptr) t.columns.push_back(b->name);
  for (const auto& field : a.fields.items()) {
    if (b == nullptr) {
      shown[field.key()] = field.value();
      t.rows.push_back({field.key(), cell(field.value())});
      continue;
    }
    const auto& other = b->fields.at(field.key());
    const bool is_about = field.key() == "source" || field.key() == "evidence";
    if (field.value() == other || is_about) continue;
    shown[field.key()] = {field.value(), other};
    t.rows.push_back({field.key(), cell(field.value()), cell(other)});
  }
  if (as_json) {
    print_json(
        b == nullptr
            ? json{{"name", a.name},
                   {"fields", a.data.is_null() ? shown : a.data}}
            : json{{"names", {a.name, b->name}}, {"differences", shown}});
  } else if (b != nullptr && t.rows.empty()) {
    print(fmt::format("{} and {} are the same\n", a.name, b->name));
  } else {
    print(t);
  }
}

void run_catalog(const catalog& c, const catalog_request& q) {
  if (q.name.empty() && !q.other.empty()) {
    throw input_error("--diff needs a NAME to compare with");
  }
  if (!q.name.empty()) {
    const entry a = c.find(q.name);
    if (q.other.empty()) return print_rows(a, nullptr, q.as_json);
    const entry b = c.find(q.other);
    return print_rows(a, &b, q.as_json);
  }
  const auto rows = c.all();
  if (!q.as_json) {
    print_table(rows);
    return print(std::string(c.legend));
  }
  json all = json::array();
  for (const auto& row : rows) {
    json item{{"name", row.name}};
    item.update(row.fields);
    all.push_back(item);
  }
  print_json(all);
}

}  // namespace

cli::app* add_catalog_command(cli::app& app, const std::string& command,
                              const std::string& help,
                              const std::string& example, const catalog& c) {
  auto* sub = add_command(app, command, help, example);
  auto q = std::make_shared<catalog_request>();
  sub->add_option("NAME", q->name, "show this one");
  sub->add_option("--diff", q->other, "show where NAME and this one differ");
  sub->add_flag("--json", q->as_json);
  sub->callback([=] { run_catalog(c, *q); });
  return sub;
}

void add_catalog(cli::app& app, outcome&) {
  add_catalog_command(
      app, "formats", "List the number formats", "zeroulp formats e5m6",
      catalog_of(
          named_formats,
          [](const std::string& name) {
            return named_format{name.c_str(), parse_format(name)};
          },
          entry_of));
  add_catalog_command(
      app, "conventions", "List the quantizer conventions",
      "zeroulp conventions vllm --diff deepep",
      catalog_of(named_conventions, parse_convention, entry_of));
  add_catalog_command(
      app, "recipes", "List the GEMM recipes",
      "zeroulp recipes deepgemm.1d2d --diff cublaslt.1x128_1x128",
      with_legend(catalog_of(all_recipes(), parse_recipe, entry_of),
                  recipe_legend));
  add_paths(app);
  add_block_catalogs(app);
  add_catalog_command(app, "arms",
                      "List how training steps store tensors and sum",
                      "zeroulp arms full --diff hybrid",
                      catalog_of(named_arms, find_arm, entry_of));
  add_catalog_command(app, "sizes",
                      "List the sizes of the models of training steps",
                      "zeroulp sizes T --diff bridge",
                      catalog_of(train::named_shapes, find_size, entry_of));
}

}  // namespace zeroulp::program
