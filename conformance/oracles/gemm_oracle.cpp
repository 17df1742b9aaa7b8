#include "conformance/oracles/gemm_oracle.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "conformance/oracles/rational_step.hpp"

#if defined(__FAST_MATH__)
#error "the oracle needs IEEE 754 arithmetic: compile it without -ffast-math"
#endif

namespace zeroulp::oracle {
namespace {

static_assert(FLT_EVAL_METHOD == 0, "float operations must round to float");

using codes = std::vector<std::uint64_t>;

float as_float(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

// fl of the notation: one NaN.
std::uint32_t bits_of(float x) {
  return x != x ? 0x7fffffff : __builtin_bit_cast(std::uint32_t, x);
}

// volatile: each is one operation, whatever the compiler would rather do.
float add(float x, float y) {
  volatile float sum = x + y;
  return sum;
}
float multiply(float x, float y) {
  volatile float product = x * y;
  return product;
}
float multiply_add(float x, float y, float z) {
  volatile float result = std::fma(x, y, z);
  return result;
}

std::ptrdiff_t divided_up(std::ptrdiff_t x, std::ptrdiff_t y) {
  return (x + y - 1) / y;
}

codes row_of(gemm_codes m, std::ptrdiff_t i) {
  codes row;
  for (std::ptrdiff_t k = 0; k < m.cols; ++k) {
    row.push_back(m.data[i * m.row_stride + k * m.col_stride]);
  }
  return row;
}

/// The scale of element (i, k) of an operand.
float scale_of(gemm_codes scales, granularity g, std::ptrdiff_t i,
               std::ptrdiff_t k) {
  if (scales.data == nullptr) return 1.0f;
  const std::ptrdiff_t row = g.mn == 0 ? 0 : i / g.mn;
  const std::ptrdiff_t col = g.k == 0 ? 0 : k / g.k;
  return as_float(
      scales.data[row * scales.row_stride + col * scales.col_stride]);
}

/// One output: the operands, and which element of D.
struct output {
  const recipe& r;
  const gemm_operand<std::uint32_t>& a;
  const gemm_operand<std::uint32_t>& b;
  const codes& x;
  const codes& y;
  std::ptrdiff_t i;
  std::ptrdiff_t j;

  std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(x.size()); }
  float sa(std::ptrdiff_t k) const { return scale_of(a.scales, r.a, i, k); }
  float sb(std::ptrdiff_t k) const { return scale_of(b.scales, r.b, j, k); }

  // G3
  float partial(std::ptrdiff_t begin, std::ptrdiff_t end) const {
    const path p{a.f, b.f, r.acc};
    return as_float(static_cast<std::uint32_t>(
        rational_chain(p, x.data() + begin, y.data() + begin, end - begin, 0)));
  }

  // G4, G5, G6
  float promoted(float acc, float p, std::ptrdiff_t k) const {
    switch (r.update) {
      case promotion::add:
        return r.interval == 0 ? p : add(acc, p);
      case promotion::product_of_scales:
        return multiply_add(p, multiply(sa(k), sb(k)), acc);
      case promotion::one_then_other:
        return multiply_add(multiply(p, sa(k)), sb(k), acc);
      case promotion::other_then_one:
        return multiply_add(multiply(p, sb(k)), sa(k), acc);
    }
    return acc;
  }

  float range(std::ptrdiff_t begin, std::ptrdiff_t end) const {
    const std::ptrdiff_t interval = r.interval == 0 ? size() : r.interval;
    float acc = 0;
    for (std::ptrdiff_t k = begin; k < end; k += interval) {
      acc = promoted(acc, partial(k, std::min(k + interval, end)), k);
    }
    return acc;
  }

  // G7
  std::ptrdiff_t grain() const {
    const bool blocks =
        (r.a.k != 0 && r.a.mn != 1) || (r.b.k != 0 && r.b.mn != 1);
    if (r.interval != 0) return std::ptrdiff_t{r.interval} * (blocks ? 4 : 1);
    // An accumulator of any length is one step, so g is all of K.
    return r.acc.length != 0 ? 4 * r.acc.length : size();
  }

  float sum() const {
    const std::ptrdiff_t k = size();
    if (k == 0) return 0;  // G1
    const std::ptrdiff_t g = grain();
    const std::ptrdiff_t part = divided_up(divided_up(k, g), r.splits) * g;
    float total = range(0, std::min(part, k));
    for (std::ptrdiff_t begin = part; begin < k; begin += part) {
      total = add(total, range(begin, std::min(begin + part, k)));
    }
    const bool scaled = a.scales.data != nullptr || b.scales.data != nullptr;
    if (r.update != promotion::add || !scaled) return total;
    return multiply_add(total, multiply(sa(0), sb(0)), 0);
  }
};

// G8
std::uint32_t as_bf16(std::uint32_t fp32_bits) {
  if ((fp32_bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  const std::uint32_t odd = fp32_bits >> 16 & 1;
  return (fp32_bits + 0x7fff + odd) >> 16;
}

double e4m3_value(std::uint32_t code) {
  const int e = static_cast<int>(code >> 3 & 15);
  const int m = static_cast<int>(code & 7);
  const double magnitude =
      e == 0 ? std::ldexp(m, -9) : std::ldexp(8 + m, e - 10);
  return code >= 128 ? -magnitude : magnitude;
}

Eigen::MatrixXd e4m3_values(gemm_codes m) {
  Eigen::MatrixXd values(m.rows, m.cols);
  for (std::ptrdiff_t i = 0; i < m.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < m.cols; ++k) {
      values(i, k) = e4m3_value(m.data[i * m.row_stride + k * m.col_stride]);
    }
  }
  return values;
}

}  // namespace

bool is_valid_recipe(const recipe& r) {
  const int l = r.acc.length;
  if (r.interval < 0 || r.splits < 1 || r.acc.stored.exp_bits != 8 ||
      r.acc.stored.man_bits != 23) {
    return false;
  }
  if (r.interval > 0 && (l == 0 || r.interval % l != 0)) return false;
  for (const granularity g : {r.a, r.b}) {
    if (g.k == 0) continue;
    if (r.update == promotion::add) return false;
    if (r.interval == 0 || g.k % r.interval != 0) return false;
  }
  return true;
}

void promoted_gemm(const recipe& r, const gemm_operand<std::uint32_t>& a,
                   const gemm_operand<std::uint32_t>& b, gemm_codes c,
                   matrix_view<std::uint32_t> d) {
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    const codes x = row_of(a.codes, i);
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const codes y = row_of(b.codes, j);
      float acc = output{r, a, b, x, y, i, j}.sum();
      if (r.end == epilogue::accumulate) {
        acc = add(acc, as_float(c.data[i * c.row_stride + j * c.col_stride]));
      }
      const std::uint32_t bits = bits_of(acc);
      d.data[i * d.row_stride + j * d.col_stride] =
          r.output.man_bits == 7 ? as_bf16(bits) : bits;
    }
  }
}

void exact_e4m3_product(gemm_codes a, gemm_codes b,
                        matrix_view<std::uint32_t> d) {
  const Eigen::MatrixXd product = e4m3_values(a) * e4m3_values(b).transpose();
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const float rounded = static_cast<float>(product(i, j));
      d.data[i * d.row_stride + j * d.col_stride] =
          rounded == 0 ? 0 : bits_of(rounded);
    }
  }
}

}  // namespace zeroulp::oracle
