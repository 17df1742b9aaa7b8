// Arms as text, and which of them a step can follow.

#include <array>

#include "src/base/fields.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/model_arm.hpp"

namespace zeroulp {
namespace {

using storage_fields = std::vector<value_field<storage>>;
using sum_fields = std::vector<value_field<sum_rule>>;

/// A field that a parser and name_of take.
template <class T, class Value, class Parse>
value_field<T> word_field(const char* name, Value T::*member, Parse parse) {
  return {name, field_kind::word,
          [=](const T& x) { return std::string(name_of(x.*member)); },
          [=](T& x, std::string_view text) { x.*member = parse(text); }};
}

value_field<storage> scale_field() {
  return {"scale", field_kind::word,
          [](const storage& s) {
            return s.scaled ? std::string(name_of(s.scale)) : "none";
          },
          [](storage& s, std::string_view text) {
            s.scaled = text != "none";
            s.scale = s.scaled ? parse_scale_kind(text) : scale_kind::float32;
          }};
}

const storage_fields& fields_of_storage() {
  static const storage_fields all{
      word_field("format", &storage::to, parse_format), scale_field(),
      word_field("group", &storage::group, parse_group)};
  return all;
}

/// Of x and w.
const storage_fields& fields_of_operand() {
  static const storage_fields all = [] {
    auto fields = fields_of_storage();
    fields.push_back({"columnwise", field_kind::flag,
                      [](const storage& s) -> std::string {
                        return s.columnwise ? "true" : "false";
                      },
                      [](storage& s, std::string_view text) {
                        if (text != "true" && text != "false") {
                          throw input_error("use true or false");
                        }
                        s.columnwise = text == "true";
                      }});
    return fields;
  }();
  return all;
}

constexpr std::int32_t most_interval = 1 << 16;
constexpr std::int32_t most_splits = 64;

const sum_fields& fields_of_sums() {
  static const sum_fields all{
      word_field("accumulator", &sum_rule::acc, parse_accumulator),
      whole_field("interval", &sum_rule::interval, 0, most_interval),
      whole_field("splits", &sum_rule::splits, 1, most_splits)};
  return all;
}

std::vector<value_field<linear_rule>> make_linear_fields() {
  std::vector<value_field<linear_rule>> all;
  const auto add = [&all](const char* name, auto member, const auto& fields) {
    add_member(all, name, member, fields);
  };
  add("x.", &linear_rule::x, fields_of_operand());
  add("w.", &linear_rule::w, fields_of_operand());
  add("dy.", &linear_rule::dy, fields_of_storage());
  add("fprop.", &linear_rule::fprop, fields_of_sums());
  add("dgrad.", &linear_rule::dgrad, fields_of_sums());
  add("wgrad.", &linear_rule::wgrad, fields_of_sums());
  return all;
}

std::vector<value_field<arm>> make_arm_fields() {
  const auto linear = make_linear_fields();
  std::vector<value_field<arm>> all;
  add_member(all, "linear.", &arm::linear, linear);
  add_member(all, "head.", &arm::head, linear);
  all.push_back(word_field("dispatched", &arm::dispatched, parse_scale_kind));
  add_member(all, "attention_cache.", &arm::attention_cache,
             fields_of_storage());
  add_member(all, "swiglu_cache.", &arm::swiglu_cache, fields_of_storage());
  return all;
}

template <class Part>
using parts_of_rule = std::array<Part linear_rule::*, 3>;
constexpr parts_of_rule<sum_rule> products{
    &linear_rule::fprop, &linear_rule::dgrad, &linear_rule::wgrad};
constexpr parts_of_rule<storage> operands{&linear_rule::x, &linear_rule::w,
                                          &linear_rule::dy};

/// `f` of all these parts of a rule at once.
template <class Part>
value_field<arm> of_all(const parts_of_rule<Part>& parts,
                        const std::string& name, linear_rule arm::*rule,
                        const value_field<Part>& f) {
  return {name + f.name, f.of,
          [=](const arm& a) { return f.text(a.*rule.*parts[0]); },
          [=](arm& a, std::string_view text) {
            for (const auto part : parts) f.set(a.*rule.*part, text);
          }};
}

value_field<sum_rule> fraction_bits_field() {
  return {
      "fraction_bits", field_kind::count,
      [](const sum_rule& s) { return fmt::format("{}", s.acc.fraction_bits); },
      [](sum_rule& s, std::string_view text) {
        const auto bits = whole_number<int>(text);
        if (!bits || *bits < 8 || *bits > 34) {
          throw input_error("use a whole number from 8 to 34");
        }
        s.acc = what_if_fraction(*bits);
      }};
}

std::vector<value_field<arm>> make_arm_changes() {
  auto all = arm_fields();
  auto sums = fields_of_sums();
  sums.push_back(fraction_bits_field());
  for (const auto& f : sums) {
    all.push_back(of_all(products, "", &arm::linear, f));
    all.push_back(of_all(products, "head.", &arm::head, f));
  }
  for (const auto& f : fields_of_storage()) {
    all.push_back(of_all(operands, "linear.", &arm::linear, f));
    all.push_back(of_all(operands, "head.", &arm::head, f));
  }
  return all;
}

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw input_error(fmt::format(text, std::forward<Args>(args)...));
}

void check_storage(const std::string& name, const storage& s) {
  if (s.to.bits() > 16 || s.to.kind == specials::scale) {
    refuse("{}.format is {}: use a format of numbers of at most 16 bits", name,
           name_of(s.to));
  }
  const group_shape g = s.group;
  const bool is_tensor = g.rows == 0 && g.cols == 0;
  if (!s.scaled && !is_tensor) {
    refuse("{}.group is {}: without a scale use tensor", name, name_of(g));
  }
  if (!is_tensor && (g.cols < 1 || (g.rows != 1 && g.rows != g.cols))) {
    refuse("{}.group is {}: use tensor, 1xN or NxN", name, name_of(g));
  }
}

/// `a` and `b` are the operands' groups, columns along K.
void check_product(const std::string& name, const sum_rule& s, const storage& a,
                   const storage& b) {
  const granularity of_a{a.group.rows, a.group.cols};
  const granularity of_b{b.group.rows, b.group.cols};
  const bool along_k = of_a.k > 0 || of_b.k > 0;
  const recipe r{s.acc,
                 s.interval,
                 along_k ? promotion::product_of_scales : promotion::add,
                 of_a,
                 of_b,
                 s.splits,
                 epilogue::store,
                 fp32};
  if (is_valid(r)) return;
  const auto group = [](std::int32_t k) {
    return k == 0 ? std::string("all of K") : fmt::format("{}", k);
  };
  refuse(
      "{}.interval is {}: scales cover {} and {} elements of K, a step of its "
      "accumulator takes {}: use a multiple of the step that divides them",
      name, s.interval, group(of_a.k), group(of_b.k),
      s.acc.length == 0 ? std::string("all") : fmt::format("{}", s.acc.length));
}

void check_linear(const std::string& name, const linear_rule& r) {
  check_storage(name + ".x", r.x);
  check_storage(name + ".w", r.w);
  check_storage(name + ".dy", r.dy);
  // Codes that are transposed keep square groups and re-tile 1x128 alone: SPEC
  // N22 (b), (d).
  const auto is_square = [](group_shape g) { return g.rows == g.cols; };
  if (!r.w.columnwise && !is_square(r.w.group)) {
    refuse(
        "{}.w.group is {}: Dgrad takes the same codes: use tensor, NxN, or "
        "w.columnwise",
        name, name_of(r.w.group));
  }
  if (!r.x.columnwise && !is_square(r.x.group) && r.x.group.cols != 128) {
    refuse(
        "{}.x.group is {}: re-tiling takes 1x128: use that, tensor, NxN, or "
        "x.columnwise",
        name, name_of(r.x.group));
  }
  check_product(name + ".fprop", r.fprop, r.x, r.w);
  check_product(name + ".dgrad", r.dgrad, r.dy, r.w);
  check_product(name + ".wgrad", r.wgrad, r.dy, r.x);
}

}  // namespace

const std::vector<value_field<arm>>& arm_fields() {
  static const auto all = make_arm_fields();
  return all;
}

const std::vector<value_field<arm>>& arm_changes() {
  static const auto all = make_arm_changes();
  return all;
}

std::string fields_json(const arm& a) {
  return fields_as_json(a, arm_fields());
}

void check_arm(const arm& a) {
  check_linear("linear", a.linear);
  check_linear("head", a.head);
  check_storage("attention_cache", a.attention_cache);
  check_storage("swiglu_cache", a.swiglu_cache);
  if (!a.swiglu_cache.scaled) {
    refuse("swiglu_cache.scale is none: use fp32 or a power of two");
  }
}

arm arm_called(std::string_view name, const arm& a) {
  const std::string fields = fields_json(a);
  for (const arm& row : named_arms) {
    if (fields_json(row) == fields) return row;
  }
  arm own = a;
  own.name = kept_name(std::string(name));
  own.what = "somebody's own";
  return own;
}

arm parse_arm(std::string_view text) {
  const auto plus = std::min(text.find('+'), text.size());
  arm a = row_named(named_arms, "arm", text.substr(0, plus));
  if (plus == text.size()) return a;
  try {
    set_fields(a, arm_changes(), text.substr(plus));
    check_arm(a);
  } catch (const input_error& e) {
    refuse("arm '{}': {}", text, e.what());
  }
  return arm_called(text, a);
}

}  // namespace zeroulp
