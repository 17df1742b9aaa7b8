// A matrix without elements takes neither memory nor time in the C ABI, however
// many rows it has.

#include "conformance/tests/c_abi/c_abi_arguments.hpp"

namespace zeroulp {
namespace {

constexpr std::int64_t many = std::int64_t{1} << 40;

template <class Matrix>
void reshape(Matrix& m, std::int64_t rows, std::int64_t cols) {
  m.data = nullptr;
  m.rows = rows;
  m.cols = cols;
}

/// Every matrix without elements: rows x cols, one of them 0.
struct empty_arguments : arguments {
  empty_arguments(std::int64_t rows, std::int64_t cols) {
    const auto groups = ceil_div(cols, 4);
    for (auto* m : {&in_x, &in_codes, &in_random, &in_wide, &in_doubles}) {
      reshape(*m, rows, cols);
    }
    for (auto* m : {&to_codes, &to_words, &to_doubles}) {
      reshape(*m, rows, cols);
    }
    reshape(in_scales, rows, groups);
    reshape(to_scales, rows, groups);
    reshape(to_transposed, cols, rows);
    reshape(to_out_scales, cols, ceil_div(rows, 4));
    reshape(to_stored, rows, groups);
    reshape(to_packed, rows, 3 * (cols / 2));
  }
};

TEST(CAbi, EmptyMatricesCostNothing) {
  for (const auto& [rows, cols] :
       {std::pair{many, std::int64_t{0}}, std::pair{std::int64_t{0}, many}}) {
    for (const call& run :
         {recode_call, arithmetic_call, quantize_call, by_amax_call,
          amaxes_call, make_scales_call, dequantize_call, dequantize_to_call,
          retile_call, pack_call, layout_call, compare_call}) {
      empty_arguments a(rows, cols);
      EXPECT_EQ(run(a), ZEROULP_OK) << rows << ": " << last_error();
    }
    empty_arguments a(rows, cols);
    zeroulp_errors errors;
    ZEROULP_CALLS(
        zeroulp_measure_errors(&a.in_doubles, &a.in_doubles, nullptr, &errors));
    EXPECT_EQ(errors.count, 0);
    ZEROULP_CALLS(zeroulp_read_scales(0, &a.in_scales, &a.to_scales));
    a.to_words.element_bytes = 2;
    const zeroulp_const_matrix packed{nullptr, rows, 3 * (cols / 2), 1, 1, 1};
    ZEROULP_CALLS(zeroulp_unpack(0, &packed, &a.to_words));
  }
}

TEST(CAbi, EmptyOperandsCostNothing) {
  arguments a;
  reshape(a.left.codes, many, 0);
  reshape(a.right.codes, 0, 0);
  reshape(a.to_outputs, many, 0);
  reshape(a.to_doubles, many, 0);
  ZEROULP_CALLS(gemm_call(a));
  ZEROULP_CALLS(exact_call(a));
  ZEROULP_CALLS(
      zeroulp_multiply(&a.path, &a.left, &a.right, nullptr, &a.to_outputs));
}

TEST(CAbi, OperandsWithoutKGiveZeroOrC) {
  arguments a;
  a.left.codes.cols = a.right.codes.cols = 0;
  ZEROULP_CALLS(gemm_call(a));
  ZEROULP_CALLS(exact_call(a));
  EXPECT_EQ(a.outputs, table<std::uint32_t>(4, 4));
  EXPECT_EQ(a.doubles, table<double>(4, 4));
  const table<std::uint32_t> c(4, 4, 0x3f800000);
  const auto from = c.in();
  ZEROULP_CALLS(
      zeroulp_multiply(&a.path, &a.left, &a.right, &from, &a.to_outputs));
  EXPECT_EQ(a.outputs, c);
}

TEST(CAbi, EmptyRowsOfTheTrainingPathCostNothing) {
  const arguments a;
  const zeroulp_const_matrix none{nullptr, many, 0, 0, 1, 2};
  const zeroulp_const_matrix weights{nullptr, 1, 0, 0, 1, 4};
  const zeroulp_matrix y{nullptr, many, 0, 0, 1, 2};
  zeroulp_rms_layer layer{c_format(bf16), c_format(fp32), 0, a.quantizer};
  layer.out.from = c_format(bf16);
  ZEROULP_CALLS(
      zeroulp_rms_norm(&layer, &none, &weights, &y, nullptr, nullptr));
  const zeroulp_const_matrix slots{nullptr, many, 0, 0, 1, 4};
  ZEROULP_CALLS(zeroulp_combine(0, &none, &slots, nullptr, &y));
}

TEST(CAbiErrors, EmptyMatricesOfMoreRowsThanCanBeCounted) {
  expect_refused(
      recode_call, [](arguments& a) { reshape(a.in_x, INT64_MAX, 0); },
      "in: 9223372036854775807 x 0 elements exceed the memory");
}

}  // namespace
}  // namespace zeroulp
