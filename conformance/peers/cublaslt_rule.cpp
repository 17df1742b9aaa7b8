#include "conformance/peers/cublaslt_rule.hpp"

#include "zeroulp/core/gemm.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::peers {

const cublaslt_scaling& parse_cublaslt_scaling(std::string_view name) {
  std::string known;
  for (const auto& s : cublaslt_scalings) {
    if (s.name == name) return s;
    known += (known.empty() ? "" : ", ") + std::string(s.name);
  }
  throw input_error("unknown scaling '" + std::string(name) + "': use one of " +
                    known);
}

const char* cublaslt_recipe_name(const cublaslt_problem& p) {
  switch (p.scales) {
    case cublaslt_scales::blocks:
      return "cublaslt.1x128_128x128";
    case cublaslt_scales::columns:
      return p.k <= 128 ? "cublaslt.1x128_1x128.k128"
             : p.m == 1 ? "cublaslt.1x128_1x128.m1"
                        : "cublaslt.1x128_1x128";
    case cublaslt_scales::matrix:
      if (!p.fast_accumulation) return "cublaslt.tensorwise";
      break;
    case cublaslt_scales::none:
      break;
  }
  return "unpromoted";
}

recipe cublaslt_recipe(const cublaslt_problem& p, int splits) {
  recipe r = engine::for_operands(parse_recipe(cublaslt_recipe_name(p)).value,
                                  p.a, p.b);
  r.splits = splits;
  r.output = p.output;
  if (p.adds) r.end = epilogue::accumulate;
  return r;
}

std::vector<recipe> cublaslt_alternatives(const recipe& right,
                                          std::ptrdiff_t k) {
  std::vector<recipe> all;
  if (right.update == promotion::add) {
    recipe other = right;
    other.interval = right.interval == 0 ? 128 : 0;
    all.push_back(other);
  } else {
    for (const auto update :
         {promotion::product_of_scales, promotion::one_then_other,
          promotion::other_then_one}) {
      recipe other = right;
      other.update = update;
      if (update != right.update) all.push_back(other);
    }
  }
  for (const int splits : {right.splits - 1, right.splits + 1}) {
    recipe other = right;
    other.splits = splits;
    if (splits > 0 && split_span(other, k) != split_span(right, k)) {
      all.push_back(other);
    }
  }
  return all;
}

}  // namespace zeroulp::conformance::peers
