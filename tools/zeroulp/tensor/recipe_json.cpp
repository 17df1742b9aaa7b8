#include "tools/zeroulp/tensor/recipe_json.hpp"

#include "zeroulp/core/gemm.hpp"

namespace zeroulp::program {
namespace {

using field = json_field<recipe>;

/// The name of a path with this accumulator.
std::string text_of(const accumulator& acc) {
  for (const auto& p : all_paths()) {
    if (p.value.acc == acc && p.value.lowering == lowering::direct) {
      return p.name;
    }
  }
  for (int bits = 8; bits <= 34; ++bits) {
    if (what_if_fraction(bits) == acc) {
      return fmt::format("whatif.f{}.e4m3.e4m3.f32", bits);
    }
  }
  throw std::logic_error("recipe: an accumulator that no path has");
}

accumulator accumulator_of(const std::string& name) {
  const auto p = parse_path(name).value;
  if (p.lowering != lowering::direct || p.acc.stored != fp32) {
    throw input_error("use a path to f32 of which an instruction is one step");
  }
  return p.acc;
}

field group_field(const char* name, granularity recipe::*member) {
  return text_field<recipe, granularity>(
      name, member,
      [](const granularity& g) {
        return name_of(group_shape{g.mn, g.k});
      },
      [](const std::string& text) {
        const auto g = parse_group(text);
        return granularity{g.rows, g.cols};
      });
}

std::vector<field> fields() {
  static constexpr const char* updates[] = {"add", "product_of_scales",
                                            "one_then_other", "other_then_one"};
  static constexpr const char* ends[] = {"store", "accumulate"};
  return {
      text_field<recipe, accumulator>("accumulator", &recipe::acc, text_of,
                                      accumulator_of),
      count_field("interval", &recipe::interval, 0),
      choice_field("update", &recipe::update, updates),
      group_field("a", &recipe::a),
      group_field("b", &recipe::b),
      count_field("splits", &recipe::splits, 1),
      choice_field("epilogue", &recipe::end, ends),
      text_field<recipe, format>(
          "output", &recipe::output, [](const format& f) { return name_of(f); },
          [](const std::string& text) {
            const auto f = parse_format(text);
            if (!(f == fp32 || f == bf16)) {
              throw input_error("use fp32 or bf16");
            }
            return f;
          })};
}

}  // namespace

const json_kind<recipe>& recipe_json() {
  static const json_kind<recipe> kind{
      "recipe", "zeroulp recipes deepgemm.1d2d --json", deepgemm_1d2d_recipe,
      [](const std::string& text) {
        const auto r = parse_recipe(text);
        return own_or_named<recipe>{r.name, r.value};
      },
      fields()};
  return kind;
}

}  // namespace zeroulp::program
