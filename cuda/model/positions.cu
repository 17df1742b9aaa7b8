// Rope, and what MLA assembles: a thread has a pair of elements.
//
// Source: SPEC clauses N4, N20 (c) and N21 (d).

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "zeroulp/core/model/rope.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;
using half_view = matrix_view<const std::uint16_t>;
using word_view = matrix_view<const std::uint32_t>;

constexpr int threads = 256;

struct pair_of_codes {
  std::uint16_t first, second;
};

__device__ pair_of_codes turned(pair_of_codes x, std::uint32_t cosine,
                                std::uint32_t sine, bool backward) {
  const float x0 = bf16_number<A>(x.first), x1 = bf16_number<A>(x.second);
  const float c = __uint_as_float(cosine);
  const float s = backward ? -__uint_as_float(sine) : __uint_as_float(sine);
  return {bf16_code<A>(__fmaf_rn(-x1, s, __fmul_rn(x0, c))),
          bf16_code<A>(__fmaf_rn(x0, s, __fmul_rn(x1, c)))};
}

/// Element `at` of as many as the grid's threads; false beyond `count`.
__device__ bool find_element(std::ptrdiff_t count, std::ptrdiff_t& at) {
  at = static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  return at < count;
}

__global__ void turn(const __grid_constant__ rope_rows t) {
  const std::ptrdiff_t half = t.cosines.cols;
  std::ptrdiff_t at;
  if (!find_element(t.x.rows * t.heads * half, at)) return;
  const std::ptrdiff_t k = at % half, head = at / half % t.heads;
  const std::ptrdiff_t row = at / half / t.heads;
  const bool adjacent = t.pairs == rope_pairs::adjacent;
  const std::ptrdiff_t first = 2 * half * head + (adjacent ? 2 * k : k);
  const std::ptrdiff_t second = first + (adjacent ? 1 : half);
  const std::ptrdiff_t position = row % t.cosines.rows;
  const auto y =
      turned({t.x(row, first), t.x(row, second)}, t.cosines(position, k),
             t.sines(position, k), t.backward);
  t.y(row, first) = y.first;
  t.y(row, second) = y.second;
}

/// A thread's pair of q, k or v of a token: `part` 0, 1, 2.
struct mla_element {
  std::ptrdiff_t row, head, at;
  int part;

  __device__ mla_element(const mla_shape& s, std::ptrdiff_t index) {
    const std::ptrdiff_t depth = s.plain + s.turned;
    const std::ptrdiff_t pairs = (2 * depth + s.value) / 2;
    std::ptrdiff_t x = 2 * (index % pairs);
    head = index / pairs % s.heads;
    row = index / pairs / s.heads;
    part = x < depth ? 0 : x < 2 * depth ? 1 : 2;
    at = x - part * depth;
  }
};

std::ptrdiff_t mla_pairs(const mla_shape& s, std::ptrdiff_t rows) {
  return rows * s.heads * (2 * (s.plain + s.turned) + s.value) / 2;
}

__device__ pair_of_codes read(matrix_view<std::uint16_t> x, std::ptrdiff_t row,
                              std::ptrdiff_t at) {
  return {x(row, at), x(row, at + 1)};
}
__device__ void write(matrix_view<std::uint16_t> x, std::ptrdiff_t row,
                      std::ptrdiff_t at, pair_of_codes pair) {
  x(row, at) = pair.first;
  x(row, at + 1) = pair.second;
}

__global__ void assemble(const __grid_constant__ mla_shape s,
                         const __grid_constant__ mla_tensors<std::uint16_t> t) {
  std::ptrdiff_t index;
  const std::ptrdiff_t depth = s.plain + s.turned;
  if (!find_element(t.first.rows * s.heads * (2 * depth + s.value) / 2,
                    index)) {
    return;
  }
  const mla_element x(s, index);
  const std::ptrdiff_t position = x.row % s.cosines.rows;
  const std::ptrdiff_t beyond = x.at - s.plain;
  const auto turn_pair = [&](pair_of_codes pair) {
    return turned(pair, s.cosines(position, beyond / 2),
                  s.sines(position, beyond / 2), false);
  };
  const std::ptrdiff_t second = x.head * (s.plain + s.value);
  if (x.part == 0) {
    const auto pair = read(t.first, x.row, x.head * depth + x.at);
    write(t.q, x.row, x.head * depth + x.at,
          beyond < 0 ? pair : turn_pair(pair));
  } else if (x.part == 1) {
    const auto pair = beyond < 0
                          ? read(t.second, x.row, second + x.at)
                          : turn_pair(read(t.first, x.row,
                                           s.heads * depth + s.rank + beyond));
    write(t.k, x.row, x.head * depth + x.at, pair);
  } else {
    write(t.v, x.row, x.head * s.value + x.at,
          read(t.second, x.row, second + s.plain + x.at));
  }
}

__global__ void assemble_backward(
    const __grid_constant__ mla_shape s,
    const __grid_constant__ mla_tensors<std::uint16_t> d) {
  std::ptrdiff_t index;
  const std::ptrdiff_t depth = s.plain + s.turned;
  if (!find_element(d.first.rows * s.heads * (2 * depth + s.value) / 2,
                    index)) {
    return;
  }
  const mla_element x(s, index);
  const std::ptrdiff_t position = x.row % s.cosines.rows;
  const std::ptrdiff_t beyond = x.at - s.plain;
  const auto turn_back = [&](pair_of_codes pair) {
    return turned(pair, s.cosines(position, beyond / 2),
                  s.sines(position, beyond / 2), true);
  };
  const std::ptrdiff_t second = x.head * (s.plain + s.value);
  if (x.part == 0) {
    const auto pair = read(d.q, x.row, x.head * depth + x.at);
    write(d.first, x.row, x.head * depth + x.at,
          beyond < 0 ? pair : turn_back(pair));
  } else if (x.part == 2) {
    write(d.second, x.row, second + s.plain + x.at,
          read(d.v, x.row, x.head * s.value + x.at));
  } else if (beyond < 0) {
    write(d.second, x.row, second + x.at,
          read(d.k, x.row, x.head * depth + x.at));
  } else if (x.head == 0) {
    // The key that all heads share: a chain of additions over heads.
    float first = 0, other = 0;
    for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
      const auto pair = read(d.k, x.row, h * depth + x.at);
      first = __fadd_rn(first, bf16_number<A>(pair.first));
      other = __fadd_rn(other, bf16_number<A>(pair.second));
    }
    write(d.first, x.row, s.heads * depth + s.rank + beyond,
          turn_back({bf16_code<A>(first), bf16_code<A>(other)}));
  }
}

template <class Kernel>
void launch_mla(const char* function, Kernel kernel, const mla_shape& s,
                const mla_tensors<std::uint16_t>& t, CUstream_st* stream) {
  const argument_checks r(function);
  const std::ptrdiff_t m = t.first.rows, depth = s.plain + s.turned;
  r.need(s.heads > 0 && s.plain >= 0 && s.plain % 2 == 0 && s.turned >= 0 &&
             s.turned % 2 == 0 && s.value >= 0 && s.value % 2 == 0 &&
             s.rank >= 0,
         "heads are above 0, widths even");
  r.need(s.cosines.rows > 0 && s.cosines.cols == s.turned / 2 &&
             s.sines.rows == s.cosines.rows && s.sines.cols == s.cosines.cols,
         "tables are positions x turned / 2");
  const auto need = [&](const auto& x, std::ptrdiff_t cols, const char* what) {
    if (x.rows != m || x.cols < cols || (m > 0 && x.col_stride != 1)) {
      r.refuse(std::string(what) + " has another shape");
    }
  };
  need(t.first, s.heads * depth + s.rank + s.turned, "first");
  need(t.second, s.heads * (s.plain + s.value), "second");
  need(t.q, s.heads * depth, "q");
  need(t.k, s.heads * depth, "k");
  need(t.v, s.heads * s.value, "v");
  const std::ptrdiff_t count = mla_pairs(s, m);
  if (count == 0) return;
  r.need_gpu();
  kernel<<<r.blocks(ceil_div(count, threads)), threads, 0, stream>>>(s, t);
  r.launched();
}

}  // namespace

void rope(const rope_rows& t, CUstream_st* stream) {
  const argument_checks r("cuda::rope");
  const std::ptrdiff_t half = t.cosines.cols;
  r.need(t.heads >= 0 && t.x.cols == 2 * half * t.heads &&
             t.y.rows == t.x.rows && t.y.cols == t.x.cols,
         "x and y are rows of heads as wide as the table's pairs");
  r.need(t.sines.rows == t.cosines.rows && t.sines.cols == half &&
             (t.x.rows == 0 || t.cosines.rows > 0),
         "tables are positions x n / 2");
  const std::ptrdiff_t count = t.x.rows * t.heads * half;
  if (count == 0) return;
  r.need_gpu();
  turn<<<r.blocks(ceil_div(count, threads)), threads, 0, stream>>>(t);
  r.launched();
}

void mla_assemble(const mla_shape& s, const mla_tensors<std::uint16_t>& t,
                  CUstream_st* stream) {
  launch_mla("cuda::mla_assemble", assemble, s, t, stream);
}

void mla_assemble_backward(const mla_shape& s,
                           const mla_tensors<std::uint16_t>& d,
                           CUstream_st* stream) {
  launch_mla("cuda::mla_assemble_backward", assemble_backward, s, d, stream);
}

}  // namespace zeroulp::cuda
