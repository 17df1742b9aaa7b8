#include "tools/train/gpu/cuda_ops.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>

#include "tools/train/run_on.hpp"
#include "zeroulp/cuda_gemm.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

using operand = cuda_ops::operand;
using code_matrix = cuda_ops::code_matrix;

constexpr std::uint32_t norm_eps = 0x358637bd;  // 1e-6
constexpr group_shape tile{1, 128};
constexpr group_shape whole{0, 0};

void require(cudaError_t status) {
  if (status != cudaSuccess) throw cuda::error(cudaGetErrorString(status));
}

/// Memory that was freed is kept for the next step.
void keep_freed_memory() {
  static const bool done = [] {
    int device = 0;
    cudaMemPool_t pool = nullptr;
    std::uint64_t all = ~std::uint64_t{0};
    require(cudaGetDevice(&device));
    require(cudaDeviceGetDefaultMemPool(&pool, device));
    require(
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    return true;
  }();
  static_cast<void>(done);
}

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

quantizer quantizer_of(const storage& how, format from) {
  return {from, how.to, zeroulp_convention, how.scale, how.group};
}

cuda::quantized written(operand& x) {
  return {x.codes.matrix(), {x.scales.span().data(), x.scales.cols}};
}
cuda::const_scales scales_of(const operand& x) {
  return {x.scales.span().data(), x.scales.cols};
}
cuda::const_quantized read(const operand& x) {
  return {x.codes.matrix(), scales_of(x)};
}

template <class T>
cuda::const_matrix matrix_of(matrix_view<const T> x) {
  return {x.data, x.rows, x.cols, x.row_stride};
}
cuda::matrix matrix_of(matrix_view<std::uint16_t> x) {
  return {x.data, x.rows, x.cols, x.row_stride};
}

/// A view whose elements have no gaps.
template <class T>
std::span<T> span_of(matrix_view<T> x) {
  if (x.rows > 1 && x.row_stride != x.cols) {
    throw cuda::error("a step adds tensors with gaps");
  }
  return {x.data, static_cast<std::size_t>(x.rows * x.cols)};
}

operand empty_operand(const storage& how, std::ptrdiff_t m, std::ptrdiff_t n) {
  return {how, codes_for(how.to, m, n), scales_for(how, m, n)};
}

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

swiglu_layer swiglu_of(const storage& how) {
  // What is made without quantizing ignores the quantizer.
  const quantizer q =
      quantizer_of(how.to == bf16 ? detail::fp8(e4m3, tile) : how, bf16);
  return {q, q};
}

std::size_t bytes_of(half_view x) {
  return static_cast<std::size_t>(x.rows * x.row_stride) * sizeof *x.data;
}
/// x itself, in this memory.
operand plain(half_view x, device_memory memory) {
  code_matrix codes{x.rows, x.cols, 2, false, std::move(memory)};
  codes.stride = x.row_stride;
  return {detail::plain(bf16), std::move(codes), {}};
}
operand plain(half_view x, const cuda_ops::halves& owner) {
  return plain(x, owner.memory().part(x.data, bytes_of(x)));
}

cuda::mla_shape mla_of(const model_shape& s, word_view cosines,
                       word_view sines) {
  return {s.heads, s.plain, s.turned, s.value, s.rank, cosines, sines};
}

matrix_view<std::uint16_t> writable(half_view x) {
  return {const_cast<std::uint16_t*>(x.data), x.rows, x.cols, x.row_stride,
          x.col_stride};
}

router router_of(const model_shape& s) {
  router r;
  r.top = s.top;
  return r;
}

/// Room for attention: sequences at once up to 2 GiB.
device_memory attention_room(const attention_shape& s, std::ptrdiff_t tokens) {
  const std::size_t one = cuda::attention_work_bytes(s, 1);
  const auto sequences = static_cast<std::size_t>(tokens / s.length);
  const std::size_t most =
      std::max<std::size_t>((std::size_t{2} << 30) / one, 1);
  return device_memory(one * std::min(sequences, most));
}
std::span<std::byte> span_of(const device_memory& x) {
  return {static_cast<std::byte*>(x.data()), x.bytes()};
}

double read_sum(const device_tensor<double>& sum) {
  return cuda_ops::on_host(sum).data[0];
}

}  // namespace

device_memory::device_memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  keep_freed_memory();
  void* p = nullptr;
  require(cudaMallocAsync(&p, bytes, nullptr));
  data_ = {p, [](void* of) { cudaFreeAsync(of, nullptr); }};
}

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr));
  cudaPointerAttributes place{};
  require(cudaPointerGetAttributes(&place, to));
  if (place.type != cudaMemoryTypeDevice)
    require(cudaStreamSynchronize(nullptr));
}

void copy_rows(void* to, std::size_t to_pitch, const void* from,
               std::size_t from_pitch, std::size_t bytes, std::ptrdiff_t rows) {
  if (bytes == 0 || rows == 0) return;
  require(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes,
                            static_cast<std::size_t>(rows),
                            cudaMemcpyDeviceToDevice, nullptr));
}

void clear_bytes(void* to, std::size_t bytes) {
  if (bytes > 0) require(cudaMemsetAsync(to, 0, bytes, nullptr));
}

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

std::string cuda_ops::sha256_of(const std::vector<byte_part>& parts) {
  std::vector<cuda::byte_range> ranges;
  for (const byte_part& part : parts) ranges.push_back({part.data, part.count});
  const auto count = static_cast<std::ptrdiff_t>(parts.size());
  const device_memory table(ranges.size() * sizeof ranges[0]);
  copy_bytes(table.data(), ranges.data(), table.bytes());
  auto digests = words::unwritten(count, 8);
  cuda::sha256(static_cast<const cuda::byte_range*>(table.data()), count,
               digests.span().data());
  std::string all;
  for (const std::uint32_t word : on_host(digests).data) {
    all += fmt::format("{:08x}", word);
  }
  return all;
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

cuda_ops::halves cuda_ops::embed(word_view weights, const indices& ids) {
  auto x = halves::unwritten(ids.rows, weights.cols);
  cuda::embed(weights, ids.view(), x.view());
  return x;
}

void cuda_ops::embed_backward(const indices& ids, half_view dx,
                              matrix_view<std::uint32_t> dweights) {
  // Rows start on multiples of 16 bytes.
  auto one_hot = halves::unwritten(dweights.rows, ceil_div(ids.rows, 8) * 8);
  const auto used = one_hot.view().block(0, 0, dweights.rows, ids.rows);
  cuda::one_hot(ids.view(), used);
  cuda::bf16_gemm g;
  g.a = used;
  g.b = dx.transposed();
  g.d = {dweights.data, dweights.rows, dweights.cols, dweights.row_stride};
  cuda::gemm_bf16(g);
}

cuda_ops::normalized cuda_ops::rms_norm(half_view x, word_view w) {
  normalized out{halves::unwritten(x.rows, x.cols),
                 words::unwritten(x.rows, 1)};
  const rms_layer layer{bf16, fp32, norm_eps,
                        quantizer_of(detail::fp8(e4m3, tile), bf16)};
  cuda::rms_norm(layer, matrix_of(x), matrix_of(w), out.y.matrix(),
                 out.rstd.view());
  return out;
}

cuda_ops::halves cuda_ops::swiglu(const storage& how, const halves& up,
                                  swiglu_cache& cache) {
  const std::ptrdiff_t hidden = up.cols / 2;
  auto h = halves::unwritten(up.rows, hidden);
  const half_view g = up.view().block(0, 0, up.rows, hidden);
  const half_view u = up.view().block(0, hidden, up.rows, hidden);
  if (how.to != bf16 && how.group == tile) {
    cache = {empty_operand(how, up.rows, hidden),
             empty_operand(how, up.rows, hidden)};
    cuda::swiglu_forward(swiglu_of(how), matrix_of(g), matrix_of(u), h.matrix(),
                         {}, written(cache.g), written(cache.u));
    return h;
  }
  cuda::swiglu_forward(swiglu_of(how), matrix_of(g), matrix_of(u), h.matrix());
  cache = how.to == bf16 ? swiglu_cache{plain(g, up), plain(u, up)}
                         : swiglu_cache{store(how, g, up), store(how, u, up)};
  return h;
}

cuda_ops::halves cuda_ops::swiglu_again(const storage& how,
                                        const swiglu_cache& cache) {
  const std::ptrdiff_t m = cache.g.codes.rows, n = cache.g.codes.cols;
  auto h = halves::unwritten(m, n);
  if (how.to == bf16) {
    cuda::swiglu_backward(cache.g.codes.halves_view(),
                          cache.u.codes.halves_view(), {}, h.view(), {}, {});
    return h;
  }
  const halves nothing(m, n);
  cuda::swiglu_backward(swiglu_of(how), bf16, nothing.matrix(), read(cache.g),
                        read(cache.u), h.matrix(), {}, {});
  return h;
}

cuda_ops::halves cuda_ops::swiglu_backward(const storage& how,
                                           const swiglu_cache& cache,
                                           half_view dh) {
  auto d = halves::unwritten(dh.rows, 2 * dh.cols);
  const auto dg = d.view().block(0, 0, dh.rows, dh.cols);
  const auto du = d.view().block(0, dh.cols, dh.rows, dh.cols);
  if (how.to == bf16) {
    cuda::swiglu_backward(cache.g.codes.halves_view(),
                          cache.u.codes.halves_view(), dh, {}, dg, du);
  } else {
    cuda::swiglu_backward(swiglu_of(how), bf16, matrix_of(dh), read(cache.g),
                          read(cache.u), {}, matrix_of(dg), matrix_of(du));
  }
  return d;
}

cuda_ops::attention_operands cuda_ops::assemble(const model_shape& s,
                                                half_view first,
                                                half_view second,
                                                word_view cosines,
                                                word_view sines) {
  const std::ptrdiff_t m = first.rows;
  attention_operands out{halves::unwritten(m, s.heads * s.depth()),
                         halves::unwritten(m, s.heads * s.depth()),
                         halves::unwritten(m, s.heads * s.value)};
  cuda::mla_assemble(mla_of(s, cosines, sines),
                     {writable(first), writable(second), out.q.view(),
                      out.k.view(), out.v.view()});
  return out;
}

void cuda_ops::assemble_backward(const model_shape& s,
                                 const attention_operands& d, word_view cosines,
                                 word_view sines,
                                 matrix_view<std::uint16_t> d_first,
                                 matrix_view<std::uint16_t> d_second) {
  cuda::mla_assemble_backward(mla_of(s, cosines, sines),
                              {d_first, d_second, writable(d.q.view()),
                               writable(d.k.view()), writable(d.v.view())});
}

void cuda_ops::rms_norm_backward(const rms_norm_gradients& t) {
  auto work = words::unwritten(ceil_div(t.x.rows, token_range), t.x.cols);
  cuda::rms_norm_backward(t, work.span());
}

void cuda_ops::attention_forward(const attention_shape& s,
                                 const engine::attention_inputs& t,
                                 matrix_view<std::uint16_t> o,
                                 matrix_view<std::uint32_t> largest,
                                 matrix_view<std::uint32_t> inverse) {
  const device_memory work = attention_room(s, t.q.rows);
  cuda::attention_forward(s, t, o, largest, inverse, span_of(work));
}

void cuda_ops::attention_backward(const attention_shape& s,
                                  const engine::attention_inputs& t,
                                  const engine::attention_kept& kept,
                                  half_view d_o,
                                  const engine::attention_gradients_out& out) {
  const device_memory work = attention_room(s, t.q.rows);
  cuda::attention_backward(s, t, kept, d_o, out, span_of(work));
}

void cuda_ops::cross_entropy(const words& logits, const indices& targets,
                             std::uint32_t factor, words& losses,
                             halves& dlogits) {
  auto work = words::unwritten(logits.rows, logits.cols);
  cuda::cross_entropy(
      {logits.view(), targets.view(), factor, losses.view(),
       dlogits.empty() ? matrix_view<std::uint16_t>{} : dlogits.view(),
       work.view()});
}

void cuda_ops::route(const model_shape& s, const words& logits,
                     const words& bias, words& scores, indices& experts,
                     words& weights) {
  const router r = router_of(s);
  auto work = words::unwritten(logits.rows, logits.cols + r.groups);
  cuda::route(r, {logits.view(), bias.view(), scores.view(), experts.view(),
                  weights.view(), work.view()});
}

cuda_ops::words cuda_ops::route_backward(const model_shape& s,
                                         const words& scores,
                                         const indices& experts,
                                         const words& dweights) {
  auto dlogits = words::unwritten(scores.rows, scores.cols);
  cuda::route_backward(router_of(s), {scores.view(), experts.view(),
                                      dweights.view(), dlogits.view()});
  return dlogits;
}

cuda_ops::indices cuda_ops::make_plan(const model_shape& s,
                                      const indices& experts, indices& slots,
                                      std::vector<std::int32_t>& ends) {
  constexpr std::ptrdiff_t align = 128;
  const std::ptrdiff_t count = experts.rows * experts.cols;
  slots = indices::unwritten(experts.rows, experts.cols);
  auto rows = indices::unwritten(plan_capacity(count, s.experts, align), 1);
  auto of_experts = indices::unwritten(s.experts + 1, 1);
  auto work = indices::unwritten(cuda::plan_work(count, s.experts), 1);
  cuda::make_plan(
      {experts.view(), align, rows.view(), slots.view(), of_experts.view()},
      work.span());
  ends = on_host(of_experts).data;
  rows.rows = ends.back();
  return rows;
}

cuda_ops::halves cuda_ops::combine(const halves& rows, const indices& slots,
                                   const words* weights, std::ptrdiff_t first) {
  const std::ptrdiff_t top = slots.cols + 1;
  auto all = indices::unwritten(slots.rows, top);
  words by;
  if (weights != nullptr) by = words::unwritten(slots.rows, top);
  cuda::append_slot(
      slots.view(), weights == nullptr ? word_view{} : weights->view(), first,
      all.view(),
      weights == nullptr ? matrix_view<std::uint32_t>{} : by.view());
  auto out = halves::unwritten(slots.rows, rows.cols);
  cuda::combine(combine_rule::fp32_slots, rows.matrix(),
                {all.span().data(), all.rows, all.cols},
                weights == nullptr ? cuda::basic_matrix<const std::uint32_t>{}
                                   : cuda::basic_matrix<const std::uint32_t>(
                                         by.span().data(), by.rows, by.cols),
                out.matrix());
  return out;
}

cuda_ops::words cuda_ops::router_logits(half_view x, word_view w) {
  auto d = words::unwritten(x.rows, w.rows);
  cuda::sequential_gemm(x, w, 0, d.view(), {});
  return d;
}
cuda_ops::words cuda_ops::router_dx(word_view dlogits, word_view w) {
  auto d = words::unwritten(dlogits.rows, w.cols);
  cuda::sequential_gemm(dlogits, w.transposed(), 0, d.view(), {});
  return d;
}
void cuda_ops::router_dw(word_view dlogits, half_view x,
                         matrix_view<std::uint32_t> dw) {
  constexpr std::ptrdiff_t range = 1024;
  auto work = words::unwritten(ceil_div(x.rows, range), dw.rows * dw.cols);
  cuda::sequential_gemm(dlogits.transposed(), x.transposed(), range, dw,
                        work.span());
}

cuda_ops::halves cuda_ops::gather(half_view x, const indices& rows) {
  auto out = halves::unwritten(rows.rows, x.cols);
  cuda::gather(x, rows.view(), out.view());
  return out;
}

void cuda_ops::copy(half_view from, matrix_view<std::uint16_t> to) {
  copy_rows(to.data, static_cast<std::size_t>(to.row_stride) * 2, from.data,
            static_cast<std::size_t>(from.row_stride) * 2,
            static_cast<std::size_t>(from.cols) * 2, from.rows);
}

cuda_ops::halves cuda_ops::columns(half_view x, std::ptrdiff_t at,
                                   std::ptrdiff_t n) {
  auto out = halves::unwritten(x.rows, n);
  copy(x.block(0, at, x.rows, n), out.view());
  return out;
}

cuda_ops::halves cuda_ops::add(half_view a, half_view b) {
  auto sum = halves::unwritten(a.rows, a.cols);
  cuda::add(span_of(a), span_of(b), sum.span());
  return sum;
}
cuda_ops::halves cuda_ops::add(half_view a, word_view b) {
  auto sum = halves::unwritten(a.rows, a.cols);
  cuda::add(span_of(a), span_of(b), sum.span());
  return sum;
}

double cuda_ops::sum_of_losses(const words& losses) {
  auto work =
      device_tensor<double>::unwritten(ceil_div(losses.rows, loss_range), 1);
  auto sum = device_tensor<double>::unwritten(1, 1);
  cuda::sum_of_losses(losses.view(), work.span(), sum.span().data());
  return read_sum(sum);
}

std::vector<double> cuda_ops::sums_of_squares(const std::vector<words>& g) {
  auto sums = device_tensor<double>::unwritten(
      static_cast<std::ptrdiff_t>(g.size()), 1);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const auto count = static_cast<std::ptrdiff_t>(g[i].span().size());
    auto work =
        device_tensor<double>::unwritten(ceil_div(count, norm_chunk), 1);
    cuda::sum_of_squares(g[i].span(), work.span(), sums.span().data() + i);
  }
  return on_host(sums).data;
}

void cuda_ops::add_shards(const std::vector<words*>& shards) {
  if (shards.size() == 1) return;
  std::vector<const std::uint32_t*> all;
  for (const words* shard : shards) {
    all.push_back(std::as_const(*shard).span().data());
  }
  cuda::add_shards(all, shards[0]->span());
}

void cuda_ops::scale(words& x, std::uint32_t factor) {
  cuda::scale(x.span(), factor);
}

void cuda_ops::adamw(const adamw_step& step, const words& g, halves& m,
                     halves& v, words& w) {
  cuda::adamw(step, g.matrix(), m.matrix(), v.matrix(), w.matrix());
}

void cuda_ops::update_bias(const std::vector<const indices*>& experts,
                           std::uint32_t speed, words& bias) {
  std::ptrdiff_t rows = 0;
  for (const indices* shard : experts) rows += shard->rows;
  auto all = indices::unwritten(rows, experts[0]->cols);
  auto* to = all.span().data();
  for (const indices* shard : experts) {
    copy_bytes(to, shard->span().data(), shard->span().size_bytes());
    to += shard->span().size();
  }
  cuda::update_bias(all.view(), speed, bias.view());
}

namespace {

/// Throws input_error unless kernels store operands as the arm has them.
void need_kernels(const arm& a) {
  const std::pair<const char*, storage> all[] = {
      {"linear.x", a.linear.x},
      {"linear.w", a.linear.w},
      {"linear.dy", a.linear.dy},
      {"head.x", a.head.x},
      {"head.w", a.head.w},
      {"head.dy", a.head.dy},
      {"attention_cache", a.attention_cache},
      {"swiglu_cache", a.swiglu_cache}};
  for (const auto& [name, how] : all) {
    const bool codes = how.to == e4m3 || how.to == e5m2 || how.to == e5m6;
    const bool groups = how.group == tile || how.group == whole ||
                        how.group == group_shape{128, 128};
    const bool is_bf16 = how.to == bf16 && (!how.scaled || how.group == tile);
    if ((how.scaled && codes && groups) || is_bf16) continue;
    throw input_error(fmt::format(
        "train --on gpu: {} of arm {}: kernels store BF16, or E4M3, E5M2 and "
        "E5M6 in groups of 1x128, 128x128 or the whole tensor",
        name, a.name));
  }
}

}  // namespace

template class run_on<cuda_ops>;

std::unique_ptr<any_run> run_on_gpu(run_settings settings, training_data data) {
  int devices = 0;
  cudaDeviceProp of{};
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    throw input_error("train --on gpu: there is no GPU");
  }
  require(cudaGetDeviceProperties(&of, 0));
  if (of.major != 9) {
    throw input_error(std::string("train --on gpu: ") + of.name +
                      " is not of compute capability 9.0");
  }
  need_kernels(settings.how);
  return std::make_unique<run_on<cuda_ops>>(std::move(settings),
                                            std::move(data));
}

}  // namespace zeroulp::train
