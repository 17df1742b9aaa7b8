#include "conformance/tests/engine/engine_calls.hpp"

#include "src/gemm/chain_plan.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::conformance {
namespace {

using input = engine_calls::input;
using output = engine_calls::output;

const char* kernel_of(const path& p, std::ptrdiff_t k) {
  const chain_plan plan = plan_chain(p, k);
  switch (plan.by) {
    case chain_plan::kernel::core:
      return "core";
    case chain_plan::kernel::steps:
      return plan.rule.wide ? "double" : "float";
    case chain_plan::kernel::sums:
      return "sums";
    case chain_plan::kernel::exact_sums:
      break;
  }
  return "exact";
}

operand_report prepare(format f, input codes) {
  const prepared_operand x(f, codes);
  operand_report r{x.is_packed(), {}, {}};
  for (std::ptrdiff_t i = 0; i < x.rows(); ++i) {
    r.special.push_back(x.is_special(i));
    for (std::ptrdiff_t k = 0; k < x.cols(); ++k) {
      r.values.push_back(x.value(i, k));
    }
  }
  return r;
}

}  // namespace

engine_calls compiled_calls() {
  engine_calls e;
  e.table = engine_implementation();
  e.multiply = [](const path& p, input a, input b, codes_in c, codes_out d) {
    engine::multiply(p, {p.a, a}, {p.b, b}, c, d);
  };
  e.multiply_as = [](const path& p, format fa, input a, format fb, input b,
                     codes_out d) {
    engine::multiply(p, {fa, a}, {fb, b}, {}, d);
  };
  e.gemm = [](const recipe& r, format fa, input a, codes_in scales_a, format fb,
              input b, codes_in scales_b, codes_in c, codes_out d) {
    engine::gemm(r, {fa, a}, scales_a, {fb, b}, scales_b, c, d);
  };
  e.prepare = prepare;
  e.for_operands = engine::for_operands;
  e.exact_products = [](format fa, input a, format fb, input b,
                        matrix_view<double> out) {
    engine::exact_products({fa, a}, {fb, b}, out);
  };
  e.kernel_of = kernel_of;
  e.recode = engine::recode;
  e.quantize = [](const quantizer& q, input x, output codes, codes_out scales) {
    engine::quantize(q, x, codes, scales);
  };
  e.quantize_by = [](const quantizer& q, input x, codes_in amaxes, output codes,
                     codes_out scales) {
    engine::quantize(q, x, amaxes, codes, scales);
  };
  e.quantize_by_scale = engine::quantize_by_scale;
  e.group_amaxes = engine::group_amaxes;
  e.dequantize = engine::dequantize;
  e.dequantize_to = engine::dequantize;
  e.retile = engine::retile;
  e.pack = [](pack_layout layout, input codes, bytes_out out) {
    layout == pack_layout::bytes ? engine::pack_bytes(codes, out)
                                 : engine::pack_words(codes, out);
  };
  e.unpack = [](pack_layout layout, bytes_in packed, output codes) {
    layout == pack_layout::bytes ? engine::unpack_bytes(packed, codes)
                                 : engine::unpack_words(packed, codes);
  };
  return e;
}

}  // namespace zeroulp::conformance
