// formats, conventions, recipes, paths: what each named thing is, and how two
// of them differ.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/tensor/convention_json.hpp"
#include "tools/zeroulp/tensor/recipe_json.hpp"
#include "tools/zeroulp/train/settings_json.hpp"
#include "zeroulp/block_scaled.hpp"

namespace zeroulp::program {
namespace {

/// A row of a catalog: a name and its fields in order.
struct entry {
  std::string name;
  json fields;
  json data{};  ///< what --json prints in their place, if not null
};

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

json accumulator_fields(const accumulator& a) {
  return {
      {"L", a.length},
      {"F", a.fraction_bits == uncut ? json("exact") : json(a.fraction_bits)},
      {"floor",
       a.exponent_floor == no_floor ? json("none") : json(a.exponent_floor)},
      {"output", name_of(a.output)},
      {"conversion", name_of(a.conversion)},
      {"stored", name_of(a.stored)},
      {"cut", name_of(a.cut)},
      {"c", a.c == addend::aligned ? "aligned" : "last"},
      {"renormalized", a.renormalized}};
}

entry show(const named_recipe& row) {
  const auto cover = [](granularity g) {
    return g.mn == 0 && g.k == 0 ? std::string("tensor")
                                 : fmt::format("{}x{}", g.mn, g.k);
  };
  constexpr const char* updates[] = {"fl(acc+p)", "fma(p, fl(sa*sb), acc)",
                                     "fma(fl(p*sa), sb, acc)",
                                     "fma(fl(p*sb), sa, acc)"};
  const recipe& r = row.value;
  return {row.name,
          {{"interval", r.interval == 0 ? json("none") : json(r.interval)},
           {"update",
            r.interval == 0 ? "none" : updates[static_cast<int>(r.update)]},
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

json evidence_fields(const std::vector<evidence>& known_by) {
  json all = json::array();
  for (const auto& e : known_by) {
    all.push_back({{"kind", name_of(e.kind)},
                   {"cases", e.cases},
                   {"of", e.of},
                   {"text", text_of(e)}});
  }
  return all;
}

/// What the columns of `zeroulp recipes` mean.
constexpr std::string_view recipe_legend =
    R"(
interval    elements of K after which the partial sum p is added to acc
update      how it is added; sa and sb are the scales of A and B, fl rounds
a, b        rows x elements of K that share a scale
splits      ranges of K that are summed apart, then added
L           products that a step of the tensor core takes; all: all of K
F           fraction bits that each term keeps below the largest place, which
            is ea + eb of a product and the exponent of c
)";

entry show(const named_path& row) {
  constexpr const char* lowerings[] = {"direct", "hmma_chained", "hmma_zero"};
  json fields = accumulator_fields(row.value.acc);
  fields["lowering"] = lowerings[static_cast<int>(row.value.lowering)];
  fields["evidence"] = evidence_fields(row.known_by);
  return {row.name, fields};
}

entry show(const named_block_scaled_path& row) {
  const block_scaled_path& p = row.value;
  json fields{
      {"scale", p.scale == block_scale::power_of_two ? "ue8m0" : "ue4m3"},
      {"block", p.block},
      {"terms", p.terms == block_terms::products ? "products" : "sums of 16"}};
  const json unscaled = accumulator_fields(p.unscaled.acc);
  for (const char* name : {"L", "F", "floor", "output", "conversion"}) {
    fields[name] = unscaled[name];
  }
  fields["evidence"] = evidence_fields(row.known_by);
  return {row.name, fields};
}

/// What the columns of `zeroulp paths` mean.
constexpr std::string_view path_legend =
    R"(
name        GPU.instruction.A.B.D; D is f32 or f16
L           products that a step takes; 0: all of K
place       of a product ea + eb, of c its exponent: what terms are aligned by
F           fraction bits that each term keeps below the largest place
floor       the largest place is at least this
output      the sum is converted to it by `conversion`, then stored in `stored`
cut         how a term loses what lies below F
c           aligned: one more term; last: added to the converted sum
lowering    direct: the instruction is one step; else two, of L products each
evidence    measured: outputs of this GPU, in conformance/records
            public_vectors: steps that others recorded and published
            two_models: directed steps on which a model of others agrees
            published: what others report; refuted: GPUs do something else
            definition: no GPU has it; a clause of the SPEC
            inferred: nobody looked; other rows of this GPU suggest it
)";

/// Which paths are listed; an empty text or list takes all.
struct path_filter {
  std::string gpu;
  std::string instruction;
  std::vector<std::string> types;
};

/// The words of a name between its dots.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::size_t from = 0;
  for (std::size_t dot; (dot = name.find('.', from)) != std::string::npos;
       from = dot + 1) {
    words.push_back(name.substr(from, dot - from));
  }
  words.push_back(name.substr(from));
  return words;
}

/// A name by its parts. A path that no GPU has may lack the instruction.
struct path_words {
  std::string gpu;
  std::string instruction;
  std::vector<std::string> types;  ///< A, B, D

  explicit path_words(const std::string& name) {
    const auto words = words_of(name);
    gpu = words.front();
    if (words.size() > 4) instruction = words[1];
    types.assign(words.end() - 3, words.end());
  }
};

/// Throws input_error if no path has `value` for what `parts` gives of it.
template <class Parts>
void check_filter(std::string_view option, const std::string& value,
                  Parts parts) {
  std::vector<std::string> known;
  for (const auto& row : all_paths()) {
    for (const std::string& part : parts(path_words(row.name))) {
      const bool is_new =
          std::find(known.begin(), known.end(), part) == known.end();
      if (is_new && !part.empty()) known.push_back(part);
    }
  }
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  const std::vector<std::string_view> names(known.begin(), known.end());
  throw input_error(fmt::format("{}: no path has '{}': {}", option, value,
                                use_one_of(value, names)));
}

void check_filter(const path_filter& f) {
  using list = std::vector<std::string>;
  if (!f.gpu.empty()) {
    check_filter("--gpu", f.gpu,
                 [](const path_words& p) { return list{p.gpu}; });
  }
  if (!f.instruction.empty()) {
    check_filter("--instruction", f.instruction,
                 [](const path_words& p) { return list{p.instruction}; });
  }
  for (const auto& type : f.types) {
    check_filter("--type", type, [](const path_words& p) { return p.types; });
  }
}

bool is_taken(const path_filter& f, const std::string& name) {
  const path_words p(name);
  const auto has = [&p](const std::string& type) {
    return std::find(p.types.begin(), p.types.end(), type) != p.types.end();
  };
  return (f.gpu.empty() || f.gpu == p.gpu) &&
         (f.instruction.empty() || f.instruction == p.instruction) &&
         std::all_of(f.types.begin(), f.types.end(), has);
}

std::vector<entry> chosen_paths(const path_filter& f) {
  check_filter(f);
  std::vector<entry> all;
  for (const auto& row : all_paths()) {
    if (is_taken(f, row.name)) all.push_back(show(row));
  }
  if (all.empty()) throw input_error("no path has all of these");
  return all;
}

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

/// What a catalog lists, and the thing that a name stands for, listed or not.
struct catalog {
  std::function<std::vector<entry>()> all;
  std::function<entry(const std::string&)> find;
  std::string_view legend{};  ///< below the table
};

template <class Rows, class Parse>
catalog catalog_of(const Rows& rows, Parse parse) {
  return {[&rows] {
            std::vector<entry> all;
            for (const auto& row : rows) all.push_back(show(row));
            return all;
          },
          [parse](const std::string& name) { return show(parse(name)); }};
}

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

CLI::App* add_one(CLI::App& app, const std::string& command,
                  const std::string& help, const std::string& example,
                  const catalog& c) {
  auto* sub = add_command(app, command, help, example);
  auto q = std::make_shared<catalog_request>();
  sub->add_option("NAME", q->name, "show this one");
  sub->add_option("--diff", q->other, "show where NAME and this one differ");
  sub->add_flag("--json", q->as_json);
  sub->callback([=] { run_catalog(c, *q); });
  return sub;
}

void add_paths(CLI::App& app) {
  const auto f = std::make_shared<path_filter>();
  auto* sub = add_one(app, "paths", "List the tensor-core paths and what-ifs",
                      "zeroulp paths --gpu ada --type e4m3",
                      {[f] { return chosen_paths(*f); },
                       [f](const std::string& name) {
                         const bool lists_all = f->gpu.empty() &&
                                                f->instruction.empty() &&
                                                f->types.empty();
                         if (!lists_all) {
                           throw input_error(
                               "--gpu, --instruction and --type choose among "
                               "all paths: leave out NAME");
                         }
                         return show(parse_path(name));
                       },
                       path_legend});
  sub->add_option("--gpu", f->gpu, "only those of this family, such as hopper");
  sub->add_option("--instruction", f->instruction,
                  "only those of wgmma, mma, tcgen05");
  sub->add_option("--type", f->types,
                  "only those with this A, B or D, such as bf16 or f16; may be "
                  "given again")
      ->expected(1)
      ->take_all();
}

}  // namespace

void add_catalog(CLI::App& app, outcome&) {
  add_one(app, "formats", "List the number formats", "zeroulp formats e5m6",
          catalog_of(named_formats, [](const std::string& name) {
            return named_format{name.c_str(), parse_format(name)};
          }));
  add_one(app, "conventions", "List the quantizer conventions",
          "zeroulp conventions vllm --diff deepep",
          catalog_of(named_conventions, parse_convention));
  add_one(app, "recipes", "List the GEMM recipes",
          "zeroulp recipes deepgemm.1d2d --diff cublaslt.1x128_1x128",
          with_legend(catalog_of(named_recipes, parse_recipe), recipe_legend));
  add_paths(app);
  add_one(app, "block-scaled-paths",
          "List the tensor-core paths with block scales (MXFP8, NVFP4)",
          "zeroulp block-scaled-paths "
          "blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32",
          catalog_of(all_block_scaled_paths(), parse_block_scaled_path));
  add_one(app, "arms", "List how training steps store tensors and sum",
          "zeroulp arms full --diff hybrid", catalog_of(named_arms, find_arm));
  add_one(app, "sizes", "List the sizes of the models of training steps",
          "zeroulp sizes T --diff bridge",
          catalog_of(train::named_shapes, find_size));
}

}  // namespace zeroulp::program
