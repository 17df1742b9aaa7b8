// Defines `engine_calls`: the compiled library's functions as a table, so that
// the same cases hold the library and its mutants; and those cases.

#ifndef ZEROULP_CONFORMANCE_TESTS_ENGINE_ENGINE_CALLS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_ENGINE_ENGINE_CALLS_HPP_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "conformance/contract/implementation.hpp"
#include "zeroulp/arrays.hpp"

namespace zeroulp::conformance {

/// What a prepared operand says of itself.
struct operand_report {
  bool packed;
  std::vector<bool> special;     ///< by row
  std::vector<unpacked> values;  ///< row-major
};

/// What engine.hpp and arrays.hpp declare; operands are prepared in the call.
struct engine_calls {
  using input = engine::const_code_view;
  using output = engine::code_view;

  implementation table;
  void (*multiply)(const path&, input a, input b, codes_in c, codes_out d);
  /// Operands of `a` and `b`, whatever the path says.
  void (*multiply_as)(const path&, format fa, input a, format fb, input b,
                      codes_out d);
  void (*gemm)(const recipe&, format fa, input a, codes_in scales_a, format fb,
               input b, codes_in scales_b, codes_in c, codes_out d);
  operand_report (*prepare)(format, input);
  recipe (*for_operands)(const recipe&, format a, format b);
  void (*exact_products)(format fa, input a, format fb, input b,
                         matrix_view<double> out);
  /// "core", "float", "double", "sums" or "exact": who computes a chain.
  const char* (*kernel_of)(const path&, std::ptrdiff_t k);
  void (*recode)(format from, input in, format to, output out, rounding mode,
                 policy how, codes_in random);
  void (*quantize)(const quantizer&, input x, output codes, codes_out scales);
  void (*quantize_by)(const quantizer&, input x, codes_in amaxes, output codes,
                      codes_out scales);
  void (*quantize_by_scale)(const quantizer&, input x, codes_in scales,
                            output codes);
  void (*group_amaxes)(const quantizer&, input x, codes_out amaxes);
  void (*dequantize)(format, group_shape, input codes, codes_in scales,
                     codes_out out);
  void (*dequantize_to)(format, group_shape, input codes, codes_in scales,
                        format to, output out);
  void (*retile)(const retiling&, input codes, codes_in scales, output out,
                 codes_out out_scales);
  void (*pack)(pack_layout, input codes, bytes_out out);
  void (*unpack)(pack_layout, bytes_in packed, output codes);
};

/// The library that this file is linked with.
engine_calls compiled_calls();

/// A case, or a few alike: the core's bits are computed once, where it is made.
struct engine_case {
  std::string name;
  /// Returns what differs from the core, or "".
  std::function<std::string(const engine_calls&)> difference;
};
using engine_case_list = std::vector<engine_case>;

engine_case_list chain_cases();     // chain_cases.cpp
engine_case_list kernel_cases();    // kernel_cases.cpp
engine_case_list gemm_cases();      // engine_gemm_cases.cpp
engine_case_list array_cases();     // array_cases.cpp
engine_case_list quantize_cases();  // array_quantize_cases.cpp
engine_case_list retile_cases();    // array_retile_cases.cpp
engine_case_list refusal_cases();   // engine_refusal_cases.cpp

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_TESTS_ENGINE_ENGINE_CALLS_HPP_
