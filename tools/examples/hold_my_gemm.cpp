// Holds a GEMM on matrices of Eigen against the oracle, in C++20:
//
//   g++ -std=c++20 hold_my_gemm.cpp $(pkg-config --cflags --libs zeroulp
//   eigen3)
//
// The kernel under test sums in FP32 as the CPU does; the recipe promotes what
// Hopper's tensor core sums every 128 elements of K. Exit status: 0 the same
// bits, 1 others.

#include <cstdint>
#include <cstdio>
#include <zeroulp/eigen.hpp>
#include <zeroulp/names.hpp>

namespace {

/// Uniform in [-1, 1), the same on any machine.
Eigen::MatrixXf draw(Eigen::Index rows, Eigen::Index cols,
                     std::uint32_t state) {
  return Eigen::MatrixXf::NullaryExpr(rows, cols, [&state] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  });
}

/// A B^T of the dequantized operands.
Eigen::MatrixXf my_kernel(const zeroulp::eigen::quantized& a,
                          const zeroulp::eigen::quantized& b) {
  return zeroulp::eigen::dequantize(a) *
         zeroulp::eigen::dequantize(b).transpose();
}

/// The nearest BF16 number.
std::uint64_t to_bf16(float x) {
  return zeroulp::encode(zeroulp::bf16, zeroulp::decode(x));
}

}  // namespace

int main() {
  using namespace zeroulp;
  const auto x = eigen::quantize(draw(32, 512, 1), e4m3, {1, 128});
  const auto w = eigen::quantize(draw(48, 512, 2), e4m3, {128, 128});
  const auto expected = eigen::gemm(x, w, parse_recipe("deepgemm.1d2d").value);
  const auto mine = my_kernel(x, w);
  int different = 0;
  for (Eigen::Index i = 0; i < expected.rows(); ++i) {
    for (Eigen::Index j = 0; j < expected.cols(); ++j) {
      const auto a = to_bf16(mine(i, j));
      const auto b = to_bf16(expected(i, j));
      if (a != b && different++ == 0) {
        std::printf("first at (%td, %td): mine %04x (%g), oracle %04x (%g)\n",
                    i, j, static_cast<unsigned>(a), to_double(decode(bf16, a)),
                    static_cast<unsigned>(b), to_double(decode(bf16, b)));
      }
    }
  }
  std::printf("%d of %td elements differ\n", different, expected.size());
  return different == 0 ? 0 : 1;
}
