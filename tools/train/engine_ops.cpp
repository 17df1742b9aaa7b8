#include "tools/train/engine_ops.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "src/base/sha256.hpp"
#include "src/base/threads.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::train {
namespace {

using operand = engine_ops::operand;

constexpr std::uint32_t norm_eps = 0x358637bd;  // 1e-6

float number(std::uint16_t code) {
  return bit_cast<float>(std::uint32_t{code} << 16);
}
/// bf(x).
std::uint16_t code(float x) {
  if (x != x) return 0x7fff;
  const auto b = bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

word_tensor scales_for(const storage& how, std::ptrdiff_t m, std::ptrdiff_t n) {
  if (!how.scaled) return {};
  return {ceil_div(m, how.group.height(m)), ceil_div(n, how.group.width(n))};
}

quantizer quantizer_of(const storage& how, format from) {
  return {from, how.to, zeroulp_convention, how.scale, how.group};
}

operand store_codes(const storage& how, format from,
                    const engine::const_code_view& x) {
  operand out{how, {x.rows, x.cols}, scales_for(how, x.rows, x.cols)};
  if (how.scaled) {
    engine::quantize(quantizer_of(how, from), x, out.codes.view(),
                     out.scales.view());
  } else {
    engine::recode(from, x, how.to, out.codes.view(), rounding::nearest_even,
                   cuda_nosat);
  }
  return out;
}

/// x, and x^T beside it where `how` says so.
operand store_operand(const storage& how, format from,
                      const engine::const_code_view& x) {
  operand out = store_codes(how, from, x);
  if (how.columnwise) {
    const engine::const_code_view across{x.data,       x.cols,       x.rows,
                                         x.col_stride, x.row_stride, x.bytes};
    out.columnwise = std::make_shared<operand>(store_codes(how, from, across));
  }
  return out;
}

/// D of A B^T, or of A B.
void multiply(const sum_rule& by, const operand& a, const operand& b,
              bool b_across, matrix_view<std::uint32_t> d) {
  if (b_across && b.columnwise) return multiply(by, a, *b.columnwise, false, d);
  const auto scales = [](const operand& x) {
    return x.how.scaled ? x.scales.view() : word_view{};
  };
  const auto granularity_of = [](const operand& x) {
    return granularity{x.how.group.rows, x.how.group.cols};
  };
  half_view codes_b = b.codes.view();
  word_view scales_b = scales(b);
  granularity group_b = granularity_of(b);
  if (b_across) {
    codes_b = codes_b.transposed();
    scales_b = scales_b.transposed();
    std::swap(group_b.mn, group_b.k);
  }
  const granularity group_a = granularity_of(a);
  const bool along_k = group_a.k > 0 || group_b.k > 0;
  const recipe r{by.acc,
                 by.interval,
                 along_k ? promotion::product_of_scales : promotion::add,
                 group_a,
                 group_b,
                 by.splits,
                 epilogue::store,
                 fp32};
  engine::gemm(r, {a.how.to, a.codes.view()}, scales(a), {b.how.to, codes_b},
               scales_b, {}, d);
}

void narrow(word_view from, matrix_view<std::uint16_t> to) {
  engine::recode(fp32, from, bf16, to, rounding::nearest_even, cuda_nosat);
}

swiglu_layer swiglu_of(const storage& how) {
  const quantizer q = quantizer_of(how, bf16);
  return {q, q};
}

engine::quantized_view written(operand& x) {
  return {x.codes.view(), x.scales.view()};
}
engine::const_quantized_view read(const operand& x) {
  return {x.codes.view(), x.scales.view()};
}

/// A sequential product (T14) in ranges of `interval` elements of K.
word_tensor sequential(format from_a, const engine::const_code_view& a,
                       format from_b, const engine::const_code_view& b,
                       std::int32_t interval) {
  word_tensor d(a.rows, b.rows);
  recipe r = sequential_recipe;
  r.interval = interval;
  engine::gemm(r, {from_a, a}, {}, {from_b, b}, {}, {}, d.view());
  return d;
}

router router_of(const model_shape& s) {
  router r;
  r.top = s.top;
  return r;
}

}  // namespace

std::string engine_ops::sha256_of(const std::vector<byte_part>& parts) {
  std::vector<std::string> digests(parts.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next++) < parts.size();) {
      digests[i] =
          sha256_hex({static_cast<const char*>(parts[i].data), parts[i].count});
    }
  };
  // A MiB takes milliseconds.
  const auto most = static_cast<std::size_t>(
      threads_for(worth_a_thread * static_cast<double>(parts.size())));
  on_threads(
      std::clamp<std::size_t>(most, 1, std::max<std::size_t>(parts.size(), 1)),
      work);
  std::string all;
  for (const std::string& digest : digests) all += digest;
  return all;
}

engine_ops::operand engine_ops::store(const storage& how, half_view x,
                                      const half_tensor& /*owner*/) {
  return store(how, x);
}
engine_ops::operand engine_ops::store(const storage& how, half_view x) {
  return store_operand(how, bf16, x);
}
engine_ops::operand engine_ops::store(const storage& how, word_view x) {
  return store_operand(how, fp32, x);
}
engine_ops::operand engine_ops::store_transposed(const storage& how,
                                                 half_view x) {
  return store_codes(how, bf16, x.transposed());
}
engine_ops::operand engine_ops::store_transposed(const storage& how,
                                                 half_view x,
                                                 const half_tensor& /*owner*/) {
  return store_transposed(how, x);
}

engine_ops::operand engine_ops::transpose(const storage& how,
                                          const operand& cached) {
  const storage& from = cached.how;
  if (cached.columnwise && from == how) return *cached.columnwise;
  const half_view codes = cached.codes.view();
  const bool tiles = how.group == group_shape{1, 128};
  operand out{how, {codes.cols, codes.rows}, {}};
  if (tiles && from.scaled && from.group == how.group) {
    out.scales = scales_for(how, codes.cols, codes.rows);
    engine::retile({from.to, how.to, from.scale, 128, retile_rule::amax}, codes,
                   cached.scales.view(), out.codes.view(), out.scales.view());
    return out;
  }
  if (how == from && how.group.rows == how.group.cols) {
    engine::recode(how.to, codes.transposed(), how.to, out.codes.view());
    out.scales = word_tensor(cached.scales.cols, cached.scales.rows);
    for (std::ptrdiff_t i = 0; i < out.scales.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < out.scales.cols; ++j) {
        out.scales.view()(i, j) = cached.scales.view()(j, i);
      }
    }
    return out;
  }
  const word_tensor values = load(cached);
  return store_codes(how, fp32, values.view().transposed());
}

word_tensor engine_ops::load(const operand& x) {
  word_tensor out(x.codes.rows, x.codes.cols);
  if (x.how.scaled) {
    engine::dequantize(x.how.to, x.how.group, x.codes.view(), x.scales.view(),
                       out.view());
  } else {
    engine::recode(x.how.to, x.codes.view(), fp32, out.view());
  }
  return out;
}

void engine_ops::product(const sum_rule& by, const operand& a, const operand& b,
                         bool b_across, matrix_view<std::uint16_t> out) {
  word_tensor sums(out.rows, out.cols);
  multiply(by, a, b, b_across, sums.view());
  narrow(sums.view(), out);
}
void engine_ops::product(const sum_rule& by, const operand& a, const operand& b,
                         matrix_view<std::uint32_t> out) {
  multiply(by, a, b, false, out);
}

half_tensor engine_ops::embed(word_view weights, const index_tensor& ids) {
  half_tensor x(ids.rows, weights.cols);
  for (std::ptrdiff_t t = 0; t < ids.rows; ++t) {
    narrow(weights.block(ids.view()(t, 0), 0, 1, weights.cols),
           x.view().block(t, 0, 1, x.cols));
  }
  return x;
}

void engine_ops::embed_backward(const index_tensor& ids, half_view dx,
                                matrix_view<std::uint32_t> dweights) {
  half_tensor one_hot(dweights.rows, ids.rows);
  for (std::ptrdiff_t t = 0; t < ids.rows; ++t) {
    one_hot.view()(ids.view()(t, 0), t) = 0x3f80;
  }
  const storage plain = detail::plain(bf16);
  multiply({hopper_half_f32, 0, 1}, {plain, std::move(one_hot), {}},
           store_codes(plain, bf16, dx.transposed()), false, dweights);
}

engine_ops::normalized engine_ops::rms_norm(half_view x, word_view w) {
  normalized out{{x.rows, x.cols}, {x.rows, 1}};
  const rms_layer layer{bf16, fp32, norm_eps,
                        quantizer_of(detail::fp8(e4m3, detail::tile), bf16)};
  engine::rms_norm(layer, x, w, out.y.view(), out.rstd.view());
  return out;
}

half_tensor engine_ops::swiglu(const storage& how, const half_tensor& gates,
                               swiglu_cache& cache) {
  const half_view up = gates.view();
  const std::ptrdiff_t hidden = up.cols / 2;
  half_tensor h(up.rows, hidden);
  const word_tensor scales = scales_for(how, up.rows, hidden);
  cache.g = {how, h, scales};
  cache.u = {how, h, scales};
  engine::swiglu_forward(swiglu_of(how), up.block(0, 0, up.rows, hidden),
                         up.block(0, hidden, up.rows, hidden), h.view(), {},
                         written(cache.g), written(cache.u));
  return h;
}

half_tensor engine_ops::swiglu_again(const storage& how,
                                     const swiglu_cache& cache) {
  half_tensor h(cache.g.codes.rows, cache.g.codes.cols);
  const half_tensor nothing(h.rows, h.cols);
  engine::swiglu_backward(swiglu_of(how), bf16, nothing.view(), read(cache.g),
                          read(cache.u), h.view(), {}, {});
  return h;
}

half_tensor engine_ops::swiglu_backward(const storage& how,
                                        const swiglu_cache& cache,
                                        half_view dh) {
  half_tensor d(dh.rows, 2 * dh.cols);
  engine::swiglu_backward(swiglu_of(how), bf16, dh, read(cache.g),
                          read(cache.u), {},
                          d.view().block(0, 0, dh.rows, dh.cols),
                          d.view().block(0, dh.cols, dh.rows, dh.cols));
  return d;
}

engine_ops::attention_operands engine_ops::assemble(const model_shape& s,
                                                    half_view first,
                                                    half_view second,
                                                    word_view cosines,
                                                    word_view sines) {
  const std::ptrdiff_t m = first.rows;
  const std::ptrdiff_t depth = s.depth();
  attention_operands out{
      {m, s.heads * depth}, {m, s.heads * depth}, {m, s.heads * s.value}};
  const half_view shared =
      first.block(0, s.heads * depth + s.rank, m, s.turned);
  for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
    const auto part = [m](auto x, std::ptrdiff_t at, std::ptrdiff_t n) {
      return x.block(0, at, m, n);
    };
    const auto turn = [&](half_view from, matrix_view<std::uint16_t> to) {
      engine::rope({rope_pairs::adjacent, false, 1, from, cosines, sines, to});
    };
    const std::ptrdiff_t at = h * depth;
    const std::ptrdiff_t from = h * (s.plain + s.value);
    copy(part(first, at, s.plain), part(out.q.view(), at, s.plain));
    turn(part(first, at + s.plain, s.turned),
         part(out.q.view(), at + s.plain, s.turned));
    copy(part(second, from, s.plain), part(out.k.view(), at, s.plain));
    turn(shared, part(out.k.view(), at + s.plain, s.turned));
    copy(part(second, from + s.plain, s.value),
         part(out.v.view(), h * s.value, s.value));
  }
  return out;
}

void engine_ops::assemble_backward(const model_shape& s,
                                   const attention_operands& d,
                                   word_view cosines, word_view sines,
                                   matrix_view<std::uint16_t> d_first,
                                   matrix_view<std::uint16_t> d_second) {
  const std::ptrdiff_t m = d_first.rows;
  const std::ptrdiff_t depth = s.depth();
  const auto part = [m](auto x, std::ptrdiff_t at, std::ptrdiff_t n) {
    return x.block(0, at, m, n);
  };
  const auto turn = [&](half_view from, matrix_view<std::uint16_t> to) {
    engine::rope({rope_pairs::adjacent, true, 1, from, cosines, sines, to});
  };
  // The key that all heads share: a chain of additions over heads.
  half_tensor shared(m, s.turned);
  for (std::ptrdiff_t t = 0; t < m; ++t) {
    for (std::ptrdiff_t j = 0; j < s.turned; ++j) {
      float sum = 0;
      for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
        sum += number(d.k.view()(t, h * depth + s.plain + j));
      }
      shared.view()(t, j) = code(sum);
    }
  }
  turn(shared.view(), part(d_first, s.heads * depth + s.rank, s.turned));
  for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
    const std::ptrdiff_t at = h * depth;
    const std::ptrdiff_t to = h * (s.plain + s.value);
    copy(part(d.q.view(), at, s.plain), part(d_first, at, s.plain));
    turn(part(d.q.view(), at + s.plain, s.turned),
         part(d_first, at + s.plain, s.turned));
    copy(part(d.k.view(), at, s.plain), part(d_second, to, s.plain));
    copy(part(d.v.view(), h * s.value, s.value),
         part(d_second, to + s.plain, s.value));
  }
}

void engine_ops::cross_entropy(const word_tensor& logits,
                               const index_tensor& targets,
                               std::uint32_t factor, word_tensor& losses,
                               half_tensor& dlogits) {
  engine::cross_entropy(
      {logits.view(),
       targets.view(),
       factor,
       losses.view(),
       dlogits.data.empty() ? matrix_view<std::uint16_t>{} : dlogits.view(),
       {}});
}

void engine_ops::route(const model_shape& s, const word_tensor& logits,
                       const word_tensor& bias, word_tensor& scores,
                       index_tensor& experts, word_tensor& weights) {
  engine::route(router_of(s), {logits.view(),
                               bias.view(),
                               scores.view(),
                               experts.view(),
                               weights.view(),
                               {}});
}

word_tensor engine_ops::route_backward(const model_shape& s,
                                       const word_tensor& scores,
                                       const index_tensor& experts,
                                       const word_tensor& dweights) {
  word_tensor dlogits(scores.rows, scores.cols);
  engine::route_backward(router_of(s), {scores.view(), experts.view(),
                                        dweights.view(), dlogits.view()});
  return dlogits;
}

index_tensor engine_ops::make_plan(const model_shape& s,
                                   const index_tensor& experts,
                                   index_tensor& slots,
                                   std::vector<std::int32_t>& ends) {
  constexpr std::ptrdiff_t align = 128;
  slots = index_tensor(experts.rows, experts.cols);
  ends.resize(static_cast<std::size_t>(s.experts) + 1);
  index_tensor rows(
      plan_capacity(experts.rows * experts.cols, s.experts, align), 1);
  engine::make_plan({experts.view(),
                     align,
                     rows.view(),
                     slots.view(),
                     {ends.data(), s.experts + 1, 1}});
  rows.rows = ends.back();
  return rows;
}

half_tensor engine_ops::combine(const half_tensor& rows,
                                const index_tensor& slots,
                                const word_tensor* weights,
                                std::ptrdiff_t first) {
  const std::ptrdiff_t top = slots.cols;
  index_tensor all(slots.rows, top + 1);
  word_tensor by(slots.rows, top + 1);
  for (std::ptrdiff_t t = 0; t < slots.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < top; ++k) {
      all.view()(t, k) = slots.view()(t, k);
      if (weights != nullptr) by.view()(t, k) = weights->view()(t, k);
    }
    all.view()(t, top) = static_cast<std::int32_t>(first + t);
    by.view()(t, top) = fp32_one;
  }
  half_tensor out(slots.rows, rows.cols);
  engine::combine(combine_rule::fp32_slots, rows.view(), all.view(),
                  weights == nullptr ? word_view{} : word_view(by.view()),
                  out.view());
  return out;
}

void engine_ops::copy(half_view from, matrix_view<std::uint16_t> to) {
  for (std::ptrdiff_t i = 0; i < from.rows; ++i) {
    std::copy_n(&from(i, 0), from.cols, &to(i, 0));
  }
}

half_tensor engine_ops::columns(half_view x, std::ptrdiff_t at,
                                std::ptrdiff_t n) {
  half_tensor out(x.rows, n);
  copy(x.block(0, at, x.rows, n), out.view());
  return out;
}

word_tensor engine_ops::router_logits(half_view x, word_view w) {
  return sequential(bf16, x, fp32, w, 0);
}
word_tensor engine_ops::router_dx(word_view dlogits, word_view w) {
  return sequential(fp32, dlogits, fp32, w.transposed(), 0);
}
void engine_ops::router_dw(word_view dlogits, half_view x,
                           matrix_view<std::uint32_t> dw) {
  constexpr std::int32_t range = 1024;
  const word_tensor d =
      sequential(fp32, dlogits.transposed(), bf16, x.transposed(), range);
  engine::recode(fp32, d.view(), fp32, dw);
}

half_tensor engine_ops::gather(half_view x, const index_tensor& rows) {
  half_tensor out(rows.rows, x.cols);
  for (std::ptrdiff_t r = 0; r < rows.rows; ++r) {
    const std::ptrdiff_t from = rows.view()(r, 0);
    if (from < 0) continue;
    std::copy_n(&x(from, 0), x.cols, &out.view()(r, 0));
  }
  return out;
}

half_tensor engine_ops::add(half_view a, half_view b) {
  half_tensor out(a.rows, a.cols);
  for (std::ptrdiff_t i = 0; i < a.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < a.cols; ++j) {
      out.view()(i, j) = code(number(a(i, j)) + number(b(i, j)));
    }
  }
  return out;
}
half_tensor engine_ops::add(half_view a, word_view b) {
  half_tensor out(a.rows, a.cols);
  for (std::ptrdiff_t i = 0; i < a.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < a.cols; ++j) {
      out.view()(i, j) = code(number(a(i, j)) + bit_cast<float>(b(i, j)));
    }
  }
  return out;
}

double engine_ops::sum_of_losses(const word_tensor& losses) {
  return engine::sum_of_losses(losses.view());
}

std::vector<double> engine_ops::sums_of_squares(
    const std::vector<word_tensor>& gradients) {
  std::vector<double> sums;
  for (const auto& g : gradients) {
    sums.push_back(engine::sum_of_squares(g.view()));
  }
  return sums;
}

void engine_ops::add_shards(const std::vector<word_tensor*>& shards) {
  std::vector<word_view> all;
  for (const word_tensor* shard : shards) all.push_back(shard->view());
  if (all.size() > 1) engine::add_shards(all, shards[0]->view());
}

void engine_ops::scale(matrix_view<std::uint32_t> x, std::uint32_t factor) {
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float product = bit_cast<float>(x(i, j)) * bit_cast<float>(factor);
      x(i, j) =
          product != product ? fp32_nan : bit_cast<std::uint32_t>(product);
    }
  }
}

void engine_ops::adamw(const adamw_step& step, const word_tensor& g,
                       half_tensor& m, half_tensor& v, word_tensor& w) {
  engine::adamw(step, g.view(), m.view(), v.view(), w.view());
}

void engine_ops::update_bias(const std::vector<const index_tensor*>& experts,
                             std::uint32_t speed, word_tensor& bias) {
  index_tensor all(0, experts[0]->cols);
  for (const index_tensor* shard : experts) {
    all.rows += shard->rows;
    all.data.insert(all.data.end(), shard->data.begin(), shard->data.end());
  }
  engine::update_bias(all.view(), speed, bias.view());
}

}  // namespace zeroulp::train
