#include "tools/zeroulp/tensor/recipe_json.hpp"

#include "zeroulp/core/gemm.hpp"

namespace zeroulp::program {
namespace {

using field = json_field<recipe>;

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
      text_field<recipe, accumulator>(
          "accumulator", &recipe::acc,
          [](const accumulator& a) { return name_of(a); }, parse_accumulator),
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
