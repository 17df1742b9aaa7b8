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

std::string cublaslt_unknown(const cublaslt_problem& p,
                             const cublaslt_algorithm& by) {
  // The numbers are cuBLASLt's own. 66 is wgmma; 13 is a matrix by a vector on
  // the ordinary cores, 11, 14, 23 and 24 are older tensor-core kernels.
  if (p.scales == cublaslt_scales::none && by.id != 66) {
    return "the order in which algorithm " + std::to_string(by.id) +
           " sums is not known";
  }
  if (p.scales == cublaslt_scales::rows && !p.fast_accumulation && p.k > 128) {
    return "the order of two scales after a promoted sum is not known";
  }
  return "";
}

const char* cublaslt_recipe_name(const cublaslt_problem& p) {
  switch (p.scales) {
    case cublaslt_scales::blocks:
      return "cublaslt.1x128_128x128";
    case cublaslt_scales::columns:
      return "cublaslt.1x128_1x128";
    case cublaslt_scales::block_rows:
      return "cublaslt.128x128_1x128";
    case cublaslt_scales::rows:
      return "cublaslt.rows";
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

std::vector<cublaslt_alternative> cublaslt_alternatives(const recipe& right,
                                                        std::ptrdiff_t k) {
  std::vector<cublaslt_alternative> all;
  if (right.a == per_row || right.update == promotion::add) {
    recipe other = right;
    other.interval = right.interval == 0 ? 128 : 0;
    all.push_back({other, right.interval == 0 ? "promoted" : "not promoted"});
  }
  if (right.update != promotion::add) {
    constexpr struct {
      promotion update;
      const char* what;
    } updates[] = {{promotion::product_of_scales, "product of scales first"},
                   {promotion::one_then_other, "scale of A first"},
                   {promotion::other_then_one, "scale of B first"}};
    for (const auto& row : updates) {
      if (row.update == right.update) continue;
      recipe other = right;
      other.update = row.update;
      all.push_back({other, row.what});
    }
  }
  for (const int splits : {right.splits - 1, right.splits + 1}) {
    recipe other = right;
    other.splits = splits;
    if (splits > 0 && split_span(other, k) != split_span(right, k)) {
      all.push_back({other, std::to_string(splits) + " splits"});
    }
  }
  return all;
}

}  // namespace zeroulp::conformance::peers
