// The operators of a step by kernels, but for products and what they read
// (operands.cpp).

#include "tools/train/gpu/cuda_ops.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>

#include "tools/train/gpu/operands.hpp"
#include "tools/train/gpu/several_gpus.hpp"
#include "tools/train/run_on.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

using namespace gpu;  // NOLINT: what this file and its neighbour share

constexpr std::uint32_t norm_eps = 0x358637bd;  // 1e-6

swiglu_layer swiglu_of(const storage& how) {
  // What is made without quantizing ignores the quantizer.
  const quantizer q =
      quantizer_of(how.to == bf16 ? detail::fp8(e4m3, tile) : how, bf16);
  return {q, q};
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
  cuda::swiglu_backward(swiglu_of(how), bf16, {nullptr, m, n}, read(cache.g),
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

void cuda_ops::scale(matrix_view<std::uint32_t> x, std::uint32_t factor) {
  const auto row_bytes = static_cast<std::size_t>(x.cols) * sizeof *x.data;
  const auto pitch = static_cast<std::size_t>(x.row_stride) * sizeof *x.data;
  if (x.row_stride == x.cols) {
    cuda::scale({x.data, static_cast<std::size_t>(x.rows * x.cols)}, factor);
    return;
  }
  // The kernel reads words that are neighbours.
  auto part = words::unwritten(x.rows, x.cols);
  copy_rows(part.span().data(), row_bytes, x.data, pitch, row_bytes, x.rows);
  cuda::scale(part.span(), factor);
  copy_rows(x.data, pitch, part.span().data(), row_bytes, row_bytes, x.rows);
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

std::unique_ptr<any_run> run_on_gpus(std::int64_t count, run_settings settings,
                                     training_data data) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    throw input_error("train --on gpu: there is no GPU");
  }
  if (devices < count) {
    throw input_error(fmt::format("train --on gpu:{}: there {} {} GPU{}", count,
                                  devices == 1 ? "is" : "are", devices,
                                  devices == 1 ? "" : "s"));
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp of{};
    const cudaError_t status = cudaGetDeviceProperties(&of, i);
    if (status != cudaSuccess) throw cuda::error(cudaGetErrorString(status));
    if (of.major != 9) {
      throw input_error(std::string("train --on gpu: ") + of.name +
                        " is not of compute capability 9.0");
    }
  }
  need_kernels(settings.how);
  if (count == 1) {
    return std::make_unique<run_on<cuda_ops>>(std::move(settings),
                                              std::move(data));
  }
  return run_on_several(static_cast<int>(count), std::move(settings),
                        std::move(data));
}

}  // namespace zeroulp::train
