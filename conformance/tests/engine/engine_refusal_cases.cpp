// What the compiled library says of shapes and formats that do not fit.

#include "conformance/tests/engine/engine_case_parts.hpp"

namespace zeroulp::conformance {
namespace {

std::string wrong_gemm_refusal(const engine_calls& e) {
  const words x(4096, 0x38);
  words d(4096);
  const recipe& r = cublaslt_1x128_128x128_recipe;
  const auto in = [&x](std::ptrdiff_t m, std::ptrdiff_t n) {
    return codes_in(x.data(), m, n);
  };
  const auto run = [&](recipe how, codes_in a, codes_in b, codes_in sa,
                       codes_in sb, codes_in c, codes_out out) {
    return error_of([&] { e.gemm(how, e4m3, a, sa, e4m3, b, sb, c, out); });
  };
  const auto multiply = [&](codes_in a, codes_in b, codes_in c, codes_out out) {
    return error_of([&] { e.multiply(hopper_wgmma_e4m3, a, b, c, out); });
  };
  recipe invalid = r;
  invalid.interval = 48;
  const bool scales_fit =
      r.a.mn == 1 && r.a.k == 128 && r.b.mn == 128 && r.b.k == 128;
  struct row {
    std::string error;
    const char* has;
  };
  double exact[4] = {};
  recipe wide = r;
  wide.output = fp64;
  const auto multiply_as = [&](format fa, format fb) {
    return error_of([&] {
      e.multiply_as(hopper_wgmma_e4m3, fa, in(2, 32), fb, in(2, 32),
                    {d.data(), 2, 2});
    });
  };
  recipe long_output = r;
  long_output.output = {9, 23, 255, specials::ieee};
  const row rows[] = {
      {multiply_as(e5m2, e4m3), "multiply"},
      {multiply_as(e4m3, e5m2), "multiply"},
      {run(wide, in(2, 256), in(2, 256), {}, {}, {}, {d.data(), 2, 2}),
       "output fp64 has 64 bits"},
      {run(long_output, in(2, 256), in(2, 256), {}, {}, {}, {d.data(), 2, 2}),
       "has 33 bits"},
      {run(r, in(2, 256), in(2, 256), {}, {}, in(3, 2), {d.data(), 2, 2}),
       "gemm: C is 3 x 2, but D 2 x 2"},
      {run(r, in(2, 256), in(2, 256), {}, {}, in(2, 3), {d.data(), 2, 2}),
       "gemm: C is 2 x 3, but D 2 x 2"},
      {run(invalid, in(2, 256), in(2, 256), {}, {}, {}, {d.data(), 2, 2}),
       "recipe"},
      {run(r, in(2, 256), in(2, 255), {}, {}, {}, {d.data(), 2, 2}), "same K"},
      {run(r, in(2, 256), in(2, 256), {}, {}, {}, {d.data(), 3, 2}),
       "A is 2 x 256, B 2 x 256, D 3 x 2"},
      {run(r, in(2, 256), in(2, 256), {}, {}, {}, {d.data(), 2, 3}), "same K"},
      {run(r, in(2, 256), in(2, 256), in(3, 2), {}, {}, {d.data(), 2, 2}),
       scales_fit ? "scales of A: 3 x 2, but the recipe needs 2 x 2" : ""},
      {run(r, in(2, 256), in(2, 256), in(2, 3), {}, {}, {d.data(), 2, 2}),
       "scales of A"},
      {run(r, in(2, 256), in(2, 256), {}, in(7, 2), {}, {d.data(), 2, 2}),
       "scales of B"},
      {multiply(in(2, 32), in(2, 33), {}, {d.data(), 2, 2}), "same K"},
      {multiply(in(2, 32), in(2, 32), in(2, 3), {d.data(), 2, 2}),
       "shape of D"},
      {multiply(in(2, 32), in(2, 32), in(3, 2), {d.data(), 2, 2}),
       "shape of D"},
      {error_of([&] {
         const std::vector<std::uint8_t> bytes(4);
         e.exact_products(bf16,
                          matrix_view<const std::uint8_t>(bytes.data(), 2, 2),
                          e4m3, in(2, 2), {exact, 2, 2});
       }),
       "operand: bf16 has 16 bits, its codes 8"},
      {error_of([&] {
         const std::vector<std::uint8_t> bytes(4);
         e.exact_products({5, 3, 15, specials::ieee},
                          matrix_view<const std::uint8_t>(bytes.data(), 2, 2),
                          e4m3, in(2, 2), {exact, 2, 2});
       }),
       "has 9 bits, its codes 8"},
      {error_of([&] {
         e.exact_products(e4m3, in(2, 4), e4m3, in(2, 5), {exact, 2, 2});
       }),
       "same K"},
      {error_of([&] {
         e.exact_products(e4m3, in(1, 4), e4m3, in(2, 4), {exact, 2, 2});
       }),
       "same K"},
      {error_of([&] {
         e.exact_products(e4m3, in(2, 4), e4m3, in(1, 4), {exact, 2, 2});
       }),
       "same K"},
      {error_of([&] { e.for_operands(unpromoted_recipe, e5m6, e5m6); }),
       "operands are e5m6 and e5m6"},
      {error_of([&] { e.for_operands(unpromoted_recipe, bf16, fp16); }),
       "operands are bf16 and fp16"},
      {error_of([&] { e.for_operands(unpromoted_recipe, e4m3, bf16); }),
       "operands are e4m3 and bf16"},
      {error_of([&] { e.for_operands(unpromoted_recipe, bf16, e5m2); }),
       "operands are bf16 and e5m2"},
  };
  for (const auto& row : rows) {
    if (row.error.find(row.has) == std::string::npos) {
      return fmt::format("row {} says '{}'", &row - rows, row.error);
    }
  }
  // G12
  const recipe& h = unpromoted_recipe;
  recipe other = h;
  other.acc = fp32_sequential;
  const bool right = e.for_operands(h, e4m3, e5m2).acc == hopper_fp8_f32 &&
                     e.for_operands(h, e5m2, e4m3).acc == hopper_fp8_f32 &&
                     e.for_operands(h, bf16, bf16).acc == hopper_half_f32 &&
                     e.for_operands(h, fp16, fp16).acc == hopper_half_f32 &&
                     e.for_operands(other, bf16, fp16).acc == fp32_sequential;
  return right ? "" : "the accumulator is not that of the operands";
}

std::string wrong_array_refusal(const engine_calls& e) {
  words x(64), y(64);
  std::vector<std::uint8_t> bytes(64);
  const codes_out x34(x.data(), 3, 4), y34(y.data(), 3, 4), y43(y.data(), 4, 3),
      scales(y.data(), 3, 1);
  const matrix_view<std::uint8_t> c34(bytes.data(), 3, 4);
  const quantizer q{fp32, e4m3, zeroulp_convention, scale_kind::pow2, {1, 128}};
  const retiling r{e4m3, e4m3, scale_kind::pow2, 128, retile_rule::amax};
  const auto recode_to = [&](auto in, format to, auto out, rounding mode) {
    return error_of([&] { e.recode(fp32, in, to, out, mode, cuda_nosat, {}); });
  };
  struct row {
    std::string error;
    const char* is;
  };
  const row rows[] = {
      {recode_to(y43, e4m3, c34, rounding::up),
       "recode, output: 3 x 4, but the input is 4 x 3"},
      {recode_to(codes_out(x.data(), 3, 5), e4m3, c34, rounding::up),
       "recode, output: 3 x 4, but the input is 3 x 5"},
      {recode_to(x34, bf16, c34, rounding::up),
       "recode, output: elements of 1 bytes do not hold the 16 bits of bf16"},
      {recode_to(c34, e4m3, x34, rounding::up),
       "recode, input: elements of 1 bytes do not hold the 32 bits of fp32"},
      {recode_to(x34, e4m3, c34, rounding::stochastic),
       "random bits: 0 x 0, but codes are 3 x 4"},
      {error_of([&] { e.quantize(q, x34, c34, y34); }),
       "quantize, scales: 3 x 4, but the groups are 3 x 1"},
      {error_of([&] { e.quantize(q, x34, y43, scales); }),
       "quantize, codes: 4 x 3, but the input is 3 x 4"},
      {error_of([&] { e.quantize_by_scale(q, x34, x34, c34); }),
       "quantize, scales: 3 x 4, but the groups are 3 x 1"},
      {error_of([&] { e.quantize_by_scale(q, x34, scales, y43); }),
       "quantize, codes: 4 x 3, but the input is 3 x 4"},
      {error_of([&] { e.quantize(q, c34, c34, scales); }),
       "quantize, input: elements of 1 bytes do not hold the 32 bits of fp32"},
      {error_of([&] {
         quantizer wide = q;
         wide.to = bf16;
         e.quantize(wide, x34, c34, scales);
       }),
       "quantize, codes: elements of 1 bytes do not hold the 16 bits of bf16"},
      {error_of([&] { e.quantize_by(q, x34, x34, c34, scales); }),
       "quantize, amax: 3 x 4, but the groups are 3 x 1"},
      {error_of([&] { e.quantize_by(q, x34, scales, y43, scales); }),
       "quantize, codes: 4 x 3, but the input is 3 x 4"},
      {error_of([&] { e.group_amaxes(q, x34, y34); }),
       "amax: 3 x 4, but the groups are 3 x 1"},
      {error_of([&] {
         e.dequantize(e4m3, {1, 4}, c34, x34, x34);
       }),
       "dequantize, scales: 3 x 4, but the groups are 3 x 1"},
      {error_of([&] {
         e.dequantize(e4m3, {1, 4}, c34, scales, y43);
       }),
       "dequantize, output: 4 x 3, but the codes are 3 x 4"},
      {error_of([&] {
         e.dequantize(bf16, {1, 4}, c34, scales, y34);
       }),
       "dequantize, codes: elements of 1 bytes do not hold the 16 bits of "
       "bf16"},
      {error_of([&] {
         e.dequantize_to(e4m3, {1, 4}, c34, scales, bf16, c34);
       }),
       "dequantize, output: elements of 1 bytes do not hold the 16 bits of "
       "bf16"},
      {error_of([&] {
         e.dequantize(e4m3, {1, 4}, matrix_view<std::uint8_t>(nullptr, 0, 4),
                      x34, codes_out(y.data(), 0, 4));
       }),
       "no error"},
      {error_of([&] {
         e.dequantize(e4m3, {1, 4}, matrix_view<std::uint8_t>(nullptr, 4, 0),
                      x34, codes_out(y.data(), 4, 0));
       }),
       "no error"},
      {error_of([&] { e.retile(r, c34, scales, c34, scales); }),
       "retile, output: 3 x 4, but the transpose is 4 x 3"},
      {error_of([&] {
         e.retile(r, matrix_view<std::uint8_t>(bytes.data(), 1, 4),
                  codes_in(x.data(), 1, 2), codes_out(y.data(), 4, 1),
                  codes_out(y.data() + 8, 4, 1));
       }),
       "retile, scales: 1 x 2, but the row tiles are 1 x 1"},
      {error_of([&] {
         e.retile(r, matrix_view<std::uint8_t>(bytes.data(), 4, 1),
                  codes_in(x.data(), 4, 2), codes_out(y.data(), 1, 4),
                  codes_out(y.data() + 8, 1, 1));
       }),
       "retile, scales: 4 x 2, but the row tiles are 4 x 1"},
      {error_of([&] {
         e.retile(r, matrix_view<std::uint8_t>(bytes.data(), 0, 4),
                  codes_in(x.data(), 3, 3), codes_out(y.data(), 4, 0),
                  codes_out(y.data(), 4, 0));
       }),
       "no error"},
      {error_of([&] {
         e.retile(r, matrix_view<std::uint8_t>(bytes.data(), 4, 0),
                  codes_in(x.data(), 3, 3), codes_out(y.data(), 0, 4),
                  codes_out(y.data(), 0, 1));
       }),
       "no error"},
      {error_of([&] {
         quantizer wide = q;
         wide.to = {5, 3, 15, specials::ieee};
         e.quantize(wide, x34, c34, scales);
       }),
       "quantize, codes: elements of 1 bytes do not hold the 9 bits of "
       "e5m3"},
      {error_of([&] { e.retile(r, c34, x34, y43, codes_out(x.data(), 4, 1)); }),
       "retile, scales: 3 x 4, but the row tiles are 3 x 1"},
      {error_of([&] { e.retile(r, c34, scales, y43, scales); }),
       "retile, output scales: 3 x 1, but the column tiles are 4 x 1"},
      {error_of([&] {
         retiling wide = r;
         wide.from = bf16;
         e.retile(wide, c34, scales, y43, codes_out(x.data(), 4, 1));
       }),
       "retile, codes: elements of 1 bytes do not hold the 16 bits of bf16"},
      {error_of([&] {
         retiling wide = r;
         wide.to = bf16;
         const matrix_view<std::uint8_t> c43(bytes.data(), 4, 3);
         e.retile(wide, c34, scales, c43, codes_out(x.data(), 4, 1));
       }),
       "retile, output: elements of 1 bytes do not hold the 16 bits of bf16"},
      {error_of([&] { e.pack(pack_layout::bytes, x34, c34); }),
       "pack, bytes: 3 x 4, but the codes need 3 x 6"},
      {error_of([&] { e.pack(pack_layout::words, c34, c34); }),
       "pack, codes: elements of 1 bytes do not hold the 12 bits of e5m6"},
      {error_of([&] { e.unpack(pack_layout::bytes, c34, x34); }),
       "unpack, bytes: 3 x 4, but the codes need 3 x 6"},
      {error_of([&] { e.unpack(pack_layout::words, c34, c34); }),
       "unpack, codes: elements of 1 bytes do not hold the 12 bits of e5m6"},
  };
  for (const auto& row : rows) {
    if (row.error != row.is) {
      return fmt::format("'{}', not '{}'", row.error, row.is);
    }
  }
  return "";
}

}  // namespace

engine_case_list refusal_cases() {
  return {{"gemm refuses what does not fit", wrong_gemm_refusal},
          {"arrays refuse what does not fit", wrong_array_refusal}};
}

}  // namespace zeroulp::conformance
