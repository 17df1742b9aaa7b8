// A residual connection as an operator of a chain: y = fl(x + r), rounded. And
// how it is misread. Source: SPEC clause N20 (d).

#include <fmt/format.h>

#include <algorithm>

#include "tools/parity/numbers.hpp"
#include "tools/parity/problem.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

std::vector<fuzz::operand_spec> residual_operands(const problem& p) {
  return {{"x", p.with.from, {'m', 1}, {'n', 1}},
          {"r", p.with.weight, {'m', 1}, {'n', 1}}};
}

/// y = fl(a x + b r), r from `down` rows below.
struct residual_reading {
  float a = 1;
  float b = 1;
  std::ptrdiff_t down = 0;
};

outputs run_by(const problem& p, const residual_reading& how) {
  const matrix& x = p.in[0];
  const matrix& r = p.in[1];
  matrix y("y", p.with.value, x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const auto from = std::clamp<std::ptrdiff_t>(i + how.down, 0, x.rows - 1);
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float one = how.a * as_float(x.type, x(i, j));
      const float other = how.b * as_float(r.type, r(from, j));
      // Not + 0: that has another zero.
      const float sum = how.a == 0 ? other : how.b == 0 ? one : one + other;
      y(i, j) = rounded(sum, y.type);
    }
  }
  return {y};
}

outputs run_residual(const problem& p) { return run_by(p, {}); }

void add_residual_variants(const problem&, std::vector<rule>& all) {
  const std::tuple<const char*, const char*, residual_reading> readings[] = {
      {"r lost", "y is x alone", {1, 0, 0}},
      {"x lost", "y is r alone", {0, 1, 0}},
      {"r twice", "r was added twice", {1, 2, 0}},
      {"x twice", "x was added twice", {2, 1, 0}},
      {"r subtracted", "y is x - r", {1, -1, 0}},
      {"r halved", "y is x + r / 2", {1, 0.5, 0}},
      {"r of the row above", "r is the row before", {1, 1, -1}},
      {"r of the row below", "r is the row after", {1, 1, 1}}};
  for (const auto& [name, what, how] : readings) {
    all.push_back(variant(
        name, what, [how = how](const problem& p) { return run_by(p, how); }));
  }
}

}  // namespace

operator_kind residual_kind() {
  operator_kind k;
  k.name = "residual";
  k.follows = {{"from", "x"}, {"residual", "r"}, {"value", "y"}};
  k.settings = {{"from", nullptr},
                {"value", nullptr},
                {"residual", [](problem& p, std::string_view text) {
                   p.with.weight = parse_format(text);
                 }}};
  k.operands = residual_operands;
  k.run = run_residual;
  k.makes = {"y"};
  k.add_variants = add_residual_variants;
  return k;
}

}  // namespace zeroulp::parity
