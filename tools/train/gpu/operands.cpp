// How cuda_ops stores operands, and multiplies them.

#include "tools/train/gpu/operands.hpp"

#include <algorithm>

#include "zeroulp/cuda_gemm.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

using operand = cuda_ops::operand;
using code_matrix = cuda_ops::code_matrix;

int bytes_of_codes(format f) { return f.bits() <= 8 ? 1 : 2; }

code_matrix codes_for(format f, std::ptrdiff_t m, std::ptrdiff_t n) {
  code_matrix x{m, n, bytes_of_codes(f)};
  x.memory = device_memory(static_cast<std::size_t>(m * n * x.bytes));
  return x;
}

cuda_ops::words scales_for(const storage& how, std::ptrdiff_t m,
                           std::ptrdiff_t n) {
  if (!how.scaled) return {};
  return cuda_ops::words::unwritten(ceil_div(m, how.group.height(m)),
                                    ceil_div(n, how.group.width(n)));
}

}  // namespace

namespace gpu {

operand empty_operand(const storage& how, std::ptrdiff_t m, std::ptrdiff_t n) {
  return {how, codes_for(how.to, m, n), scales_for(how, m, n)};
}

}  // namespace gpu

namespace {

using namespace gpu;  // NOLINT: what this file and its neighbour share

/// x quantized into y, its transpose into yt: those that are asked for, whose
/// groups are their own.
template <class T>
void quantize_into(const storage& how, format from, matrix_view<const T> x,
                   operand* y, operand* yt) {
  if (x.rows == 0 || x.cols == 0) return;
  const quantizer q = quantizer_of(how, from);
  const auto to = [](operand* out) {
    return out == nullptr ? cuda::quantized{} : written(*out);
  };
  if (how.group == whole) {
    auto amax = cuda_ops::words::unwritten(1, 1);
    cuda::group_amaxes(q, matrix_of(x), amax.view());
    cuda::quantize(q, matrix_of(x), amax.view(), to(y), to(yt));
  } else {
    cuda::quantize(q, matrix_of(x), to(y), to(yt));
  }
}

/// x quantized, or its transpose.
template <class T>
operand quantized(const storage& how, format from, matrix_view<const T> x,
                  bool transposed) {
  operand out = transposed ? empty_operand(how, x.cols, x.rows)
                           : empty_operand(how, x.rows, x.cols);
  quantize_into(how, from, x, transposed ? nullptr : &out,
                transposed ? &out : nullptr);
  return out;
}

/// x quantized, and x^T beside it where `how` says so.
template <class T>
operand stored(const storage& how, format from, matrix_view<const T> x) {
  operand out = empty_operand(how, x.rows, x.cols);
  if (!how.columnwise) {
    quantize_into(how, from, x, &out, nullptr);
    return out;
  }
  auto across = std::make_shared<operand>(empty_operand(how, x.cols, x.rows));
  quantize_into(how, from, x, &out, across.get());
  out.columnwise = std::move(across);
  return out;
}

/// The codes of the transpose, along its rows.
code_matrix transposed_codes(format f, const code_matrix& x) {
  code_matrix out = codes_for(f, x.cols, x.rows);
  if (x.rows == 0 || x.cols == 0) return out;
  // Scales come with blocks: they are not looked at.
  const std::ptrdiff_t m = ceil_div(x.rows, 128), n = ceil_div(x.cols, 128);
  const auto from = cuda_ops::words::unwritten(m, n);
  auto to = cuda_ops::words::unwritten(n, m);
  cuda::transpose(f, x.matrix(), {from.span().data(), n},
                  {out.matrix(), {to.span().data(), m}});
  return out;
}

/// Scales of 1x128 where there is one for each 128x128.
cuda_ops::words scales_of_rows(const operand& x) {
  auto rows = cuda_ops::words::unwritten(x.codes.rows, x.scales.cols);
  cuda::expand_rows(x.scales.view(), 128, rows.view());
  return rows;
}

/// D of A B^T, or of A B, with scales.
void multiply_scaled(const sum_rule& by, const operand& a, const operand& b,
                     bool b_across, format output, const cuda::matrix& d) {
  // Kernels read both operands along K.
  const code_matrix codes_b =
      b_across ? transposed_codes(b.how.to, b.codes) : b.codes;
  word_view scales_a = a.scales.view();
  word_view scales_b =
      b_across ? b.scales.view().transposed() : b.scales.view();
  granularity group_a{a.how.group.rows, a.how.group.cols};
  granularity group_b{b.how.group.rows, b.how.group.cols};
  if (b_across) std::swap(group_b.mn, group_b.k);
  cuda_ops::words rows;
  if (group_a == block_128x128) {
    rows = scales_of_rows(a);
    scales_a = std::as_const(rows).view();
    group_a = tile_1x128;
  }
  const bool along_k = group_a.k > 0 || group_b.k > 0;
  const recipe r{by.acc,
                 by.interval,
                 along_k ? promotion::product_of_scales : promotion::add,
                 group_a,
                 group_b,
                 by.splits,
                 epilogue::store,
                 output};
  const cuda::operand x{a.how.to,     a.codes.memory.data(), a.codes.rows,
                        a.codes.cols, a.codes.cols,          scales_a};
  const cuda::operand y{b.how.to,     codes_b.memory.data(), codes_b.rows,
                        codes_b.cols, codes_b.cols,          scales_b};
  const bool served = by.acc == hopper_fp8_f32 && by.splits == 1 &&
                      a.codes.cols % 16 == 0 &&
                      (along_k ? by.interval == 128 && group_a == tile_1x128
                               : (by.interval & (by.interval - 1)) == 0);
  if (served) {
    cuda::gemm(r, x, y, {}, d);
  } else {
    cuda::emulate_gemm(r, x, y, {}, d);
  }
}

void multiply(const sum_rule& by, const operand& a, const operand& b,
              bool b_across, format output, const cuda::matrix& d) {
  if (d.rows == 0 || d.cols == 0) return;
  if (b_across && b.columnwise) {
    return multiply(by, a, *b.columnwise, false, output, d);
  }
  if (a.how.scaled || b.how.scaled) {
    multiply_scaled(by, a, b, b_across, output, d);
    return;
  }
  if (by.acc != hopper_half_f32 || by.interval != 0 || a.how.to != bf16 ||
      b.how.to != bf16) {
    throw input_error(
        "train --on gpu: operands without scales are BF16, summed by Hopper's "
        "BF16 accumulator without an interval");
  }
  cuda::bf16_gemm g;
  g.a = a.codes.halves_view();
  const half_view of_b = b.codes.halves_view();
  g.b = b_across ? of_b.transposed() : of_b;
  g.output = output;
  g.splits = by.splits;
  g.d = d;
  cuda::gemm_bf16(g);
}

}  // namespace

half_view cuda_ops::code_matrix::halves_view() const {
  const auto* const data = static_cast<const std::uint16_t*>(memory.data());
  half_view lies =
      across ? half_view(data, cols, rows) : half_view(data, rows, cols);
  if (stride > 0) lies.row_stride = stride;
  return across ? lies.transposed() : lies;
}

cuda::matrix cuda_ops::code_matrix::matrix() const {
  return {memory.data(), rows, cols, stride > 0 ? stride : cols};
}

half_tensor cuda_ops::on_host(const code_matrix& x) {
  half_tensor out(x.rows, x.cols);
  if (x.bytes == 1) {
    std::vector<std::uint8_t> codes(x.memory.bytes());
    copy_bytes(codes.data(), x.memory.data(), codes.size());
    std::copy(codes.begin(), codes.end(), out.data.begin());
    return out;
  }
  const half_view lies = x.halves_view();
  std::vector<std::uint16_t> raw(x.memory.bytes() / 2);
  copy_bytes(raw.data(), x.memory.data(), x.memory.bytes());
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const std::ptrdiff_t at = i * lies.row_stride + j * lies.col_stride;
      out.view()(i, j) = raw[static_cast<std::size_t>(at)];
    }
  }
  return out;
}

operand cuda_ops::store(const storage& how, half_view x, const halves& owner) {
  if (how.scaled) return stored(how, bf16, x);
  if (how.to != bf16) throw input_error("train --on gpu: plain is BF16");
  return plain(x, owner);
}

operand cuda_ops::store(const storage& how, word_view x) {
  if (how.scaled) return stored(how, fp32, x);
  if (how.to != bf16) throw input_error("train --on gpu: plain is BF16");
  operand out{how, codes_for(bf16, x.rows, x.cols), {}};
  cuda::narrow(span_of(x),
               {static_cast<std::uint16_t*>(out.codes.memory.data()),
                static_cast<std::size_t>(x.rows * x.cols)});
  return out;
}

operand cuda_ops::store_transposed(const storage& how, half_view x,
                                   const halves& owner) {
  if (how.scaled) return quantized(how, bf16, x, true);
  return transpose(how, store(how, x, owner));
}

std::pair<operand, operand> cuda_ops::store_both(const storage& how,
                                                 half_view x) {
  if (!how.scaled) {
    operand rows = plain(x, device_memory::of_others(x.data, bytes_of(x)));
    operand columns = transpose(how, rows);
    return {std::move(rows), std::move(columns)};
  }
  std::pair<operand, operand> both{empty_operand(how, x.rows, x.cols),
                                   empty_operand(how, x.cols, x.rows)};
  quantize_into(how, bf16, x, &both.first, &both.second);
  return both;
}

operand cuda_ops::transpose(const storage& how, const operand& cached) {
  const storage& from = cached.how;
  if (cached.columnwise && from == how) return *cached.columnwise;
  const std::ptrdiff_t m = cached.codes.rows, n = cached.codes.cols;
  if (how.group == tile && from.scaled && from.group == how.group &&
      from.to != bf16) {
    operand out = empty_operand(how, n, m);
    cuda::retile({from.to, how.to, from.scale, 128, retile_rule::amax},
                 cached.codes.matrix(), scales_of(cached), written(out));
    return out;
  }
  if (!from.scaled && how == from) {
    operand out = cached;
    std::swap(out.codes.rows, out.codes.cols);
    out.codes.across = !out.codes.across;
    return out;
  }
  if (how.group != tile && how == from && from.group == whole) {
    return {how, transposed_codes(how.to, cached.codes), cached.scales};
  }
  const words values = load(cached);
  return quantized(how, fp32, values.view(), true);
}

cuda_ops::words cuda_ops::load(const operand& x) {
  auto out = words::unwritten(x.codes.rows, x.codes.cols);
  if (x.how.scaled) {
    cuda::dequantize(x.how.to, x.how.group, x.codes.matrix(), scales_of(x),
                     fp32, out.matrix());
  } else {
    cuda::widen(span_of(x.codes.halves_view()), out.span());
  }
  return out;
}

void cuda_ops::product(const sum_rule& by, const operand& a, const operand& b,
                       bool b_across, matrix_view<std::uint16_t> out) {
  multiply(by, a, b, b_across, bf16, matrix_of(out));
}

void cuda_ops::product(const sum_rule& by, const operand& a, const operand& b,
                       matrix_view<std::uint32_t> out) {
  multiply(by, a, b, false, fp32,
           {out.data, out.rows, out.cols, out.row_stride});
}

}  // namespace zeroulp::train
