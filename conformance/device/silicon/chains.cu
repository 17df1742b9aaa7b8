// Two chains of kernels, and the memory that chains work on.

#include <numeric>
#include <set>

#include "conformance/device/silicon/chains.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr std::ptrdiff_t tile = 128;
constexpr group_shape row{1, tile}, column{tile, 1}, block{tile, tile};

constexpr quantizer quantizer_of(format from, format to, scale_kind scale,
                                 group_shape group) {
  return {from, to, zeroulp_convention, scale, group};
}

chain_room room_of(const chain_setting& s) {
  return chain_room(std::max(s.m, s.n), s.pitch);
}

// AdamW factors of 1 and 1/2 instead of a real step's: any values serve here.
constexpr std::uint32_t one = 0x3f800000, half = 0x3f000000;
constexpr adamw_factors factors{half, half, one, half, half, one};
constexpr std::uint32_t eps = 0x358637bd;  // 1e-6

}  // namespace

void chain::spoil() const {
  for (const auto& [of, x] : all_) {
    if (of == role::given) continue;
    x.data.fill(of == role::updated ? 0 : 0xff);
    x.scales.fill(0xff);
  }
  require(cudaDeviceSynchronize());
}

std::vector<chain::content> chain::image() const {
  require(cudaDeviceSynchronize());
  std::vector<content> all;
  for (const auto& [of, x] : all_) {
    if (of == role::given) continue;
    all.push_back(x.data.content());
    all.push_back(x.scales.content());
  }
  return all;
}

int chain::vacuous() const {
  int count = 0;
  for (const auto& [of, x] : all_) {
    const auto dense = x.data.content();
    const std::set<unsigned char> values(dense.begin(), dense.end());
    if (dense.size() > 1000 && values.size() <= 2) ++count;
  }
  return count;
}

const chain_matrix& chain::make_numbers(std::ptrdiff_t m, std::ptrdiff_t n,
                                        counter_rng& rng) {
  std::vector<std::uint16_t> all(static_cast<std::size_t>(m * n));
  for (auto& x : all) {
    x = static_cast<std::uint16_t>((rng.next32() & 0x807f) |
                                   rng.between(121, 129) << 7);
  }
  const chain_matrix& to = make(role::given, m, n, 2);
  to.data.upload(all.data());
  return to;
}

const chain_matrix& chain::make_row_numbers(std::ptrdiff_t m, std::ptrdiff_t n,
                                            std::ptrdiff_t below,
                                            counter_rng& rng) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(m * n));
  for (auto& x : all) {
    x = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(below)));
  }
  const chain_matrix& to = make(role::given, m, n, 4);
  to.data.upload(all.data());
  return to;
}

const chain_matrix& chain::make_places(std::ptrdiff_t m, counter_rng& rng) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(m));
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = all.size(); i > 1; --i) {
    std::swap(all[i - 1], all[rng.below(i)]);
  }
  for (std::size_t i = 0; i < all.size(); i += 4) all[i] = -1;
  const chain_matrix& to = make(role::given, m, 1, 4);
  to.data.upload(all.data());
  return to;
}

namespace {

/// The parts that both chains share: matrices, and two sequences of calls.
class training_chain : public chain {
 protected:
  training_chain(const chain_setting& s, std::uint64_t stream)
      : chain(room_of(s)),
        m(s.m),
        n(s.n),
        scale(s.scale),
        rng(s.seed, stream) {}

  /// SwiGLU with g = u = `in`, forward and backward; dg as numbers.
  void run_swiglu(cudaStream_t stream, const step& before,
                  const chain_matrix& in, cuda::matrix h_again,
                  const chain_matrix& out) const {
    const quantizer rows = quantizer_of(bf16, e4m3, scale, row);
    const swiglu_layer layer{rows, rows};
    before({&in});
    cuda::swiglu_forward(layer, in.view(), in.view(), h.view(),
                         h_codes.quantized(), g_cache.quantized(),
                         u_cache.quantized(), stream);
    before({&h, &g_cache, &u_cache});
    cuda::swiglu_backward(layer, bf16, h.view(), g_cache.input(),
                          u_cache.input(), h_again, dg.view(), du.view(),
                          dg_codes.quantized(), du_codes.quantized(), stream);
    before({&dg_codes});
    cuda::dequantize(e4m3, row, dg_codes.view(), dg_codes.scale_view(), bf16,
                     out.view(), stream);
  }
  /// Dispatches rows to experts and combines them to sums.
  void run_experts(cudaStream_t stream, const step& before, const quantizer& q,
                   combine_rule rule, const chain_matrix& in) const {
    before({&in, &numbers});
    cuda::dispatch(q, in.view(), numbers.numbers(), sent.quantized(), stream);
    before({&sent});
    cuda::dequantize(e4m3, row, sent.view(), sent.scale_view(), bf16,
                     received.view(), stream);
    before({&received, &slots});
    cuda::combine(rule, received.view(), slots.numbers(), {}, sums.view(),
                  stream);
  }

  std::ptrdiff_t m, n;
  scale_kind scale;
  counter_rng rng;
  const chain_matrix &x = make_numbers(m, n, rng), &w = make_numbers(1, n, rng),
                     &slots = make_row_numbers(m, 2, m, rng),
                     &numbers = make_row_numbers(m, 1, m, rng);
  const chain_matrix &moment = make(role::updated, m, n, 2),
                     &second = make(role::updated, m, n, 2),
                     &weights = make(role::updated, m, n, 4);
  const chain_matrix &y = make(m, n, 2), &rstd = make(m, 1, 4),
                     &y_codes = make(m, n, 1), &h = make(m, n, 2),
                     &h_codes = make(m, n, 1), &g_cache = make(m, n, 1),
                     &u_cache = make(m, n, 1), &dg = make(m, n, 2),
                     &du = make(m, n, 2), &dg_codes = make(m, n, 1),
                     &du_codes = make(m, n, 1), &z = make(m, n, 2),
                     &both = make(m, n, 1), &turned = make(n, m, 1),
                     &retiled = make(n, m, 1), &again = make(m, n, 2),
                     &sent = make(m, n, 1), &received = make(m, n, 2),
                     &sums = make(m, n, 2), &copy = make(m, n, 2),
                     &unpacked = make(m, n, 2);
};

class aligned_chain : public training_chain {
 public:
  explicit aligned_chain(const chain_setting& s) : training_chain(s, 31) {}

  void run(cudaStream_t stream, const step& before) const override {
    const quantizer rows = quantizer_of(bf16, e4m3, scale, row);
    const quantizer blocks = quantizer_of(bf16, e4m3, scale, block);
    const quantizer whole = quantizer_of(bf16, e4m3, scale, {0, 0});
    const quantizer powers = quantizer_of(bf16, e4m3, scale_kind::pow2, row);
    const quantizer twelve = quantizer_of(bf16, e5m6, scale_kind::pow2, row);
    before({&x, &w});
    cuda::rms_norm({bf16, bf16, eps, rows}, x.view(), w.view(), y.view(), {},
                   {}, stream);
    before({&y});
    cuda::quantize(rows, y.view(), y_codes.quantized(), {}, stream);
    before({&y_codes});
    cuda::dequantize(e4m3, row, y_codes.view(), y_codes.scale_view(), bf16,
                     z.view(), stream);
    before({&z});
    cuda::quantize(rows, z.view(), both.quantized(), turned.quantized(),
                   stream);
    before({&both});
    cuda::retile({e4m3, e4m3, scale, tile, {}}, both.view(), both.scale_view(),
                 retiled.quantized(), stream);
    before({&retiled});
    cuda::dequantize(e4m3, row, retiled.view(), retiled.scale_view(), bf16,
                     zt.view(), stream);
    before({&zt});
    cuda::quantize(blocks, zt.view(), blocked.quantized(),
                   blocked_t.quantized(), stream);
    before({&blocked});
    cuda::transpose(e4m3, blocked.view(), blocked.scale_view(),
                    back.quantized(), stream);
    before({&back});
    cuda::dequantize(e4m3, block, back.view(), back.scale_view(), bf16,
                     again.view(), stream);
    run_swiglu(stream, before, again, {}, gradients);
    run_experts(stream, before, powers, combine_rule::fp32_slots, gradients);
    before({&sums, &w});
    cuda::rms_norm({bf16, bf16, eps, rows}, sums.view(), w.view(),
                   normal.view(), rstd.words(), normal_codes.quantized(),
                   stream);
    before({&normal});
    cuda::group_amaxes(whole, normal.view(), peak.words(), stream);
    before({&normal, &peak});
    cuda::quantize(whole, normal.view(), peak.words(), amax.quantized(), {},
                   stream);
    before({&amax});
    cuda::dequantize(e4m3, whole.group, amax.view(), amax.scale_view(), bf16,
                     gradient.view(), stream);
    before({&gradient, &moment, &second, &weights});
    cuda::adamw({factors, bf16, bf16, rounding::nearest_even, 0, 0},
                gradient.view(), moment.view(), second.view(), weights.view(),
                copy.view(), stream);
    before({&copy});
    cuda::quantize(twelve, copy.view(), wide.quantized(), {}, stream);
    before({&wide});
    cuda::pack(cuda::packing::bytes, wide.view(), packed.view(), stream);
    before({&packed});
    cuda::unpack(cuda::packing::bytes, packed.view(), unpacked.view(), stream);
    before({&unpacked, &wide});
    cuda::retile({e5m6, e4m3, scale_kind::pow2, tile, {}}, unpacked.view(),
                 wide.scale_view(), narrow.quantized(), stream);
  }

 private:
  const chain_matrix &zt = make(n, m, 2), &blocked = make(n, m, 1),
                     &blocked_t = make(m, n, 1), &back = make(m, n, 1),
                     &gradients = make(m, n, 2), &normal = make(m, n, 2),
                     &normal_codes = make(m, n, 1), &peak = make(1, 1, 4),
                     &amax = make(m, n, 1), &gradient = make(m, n, 2),
                     &wide = make(m, n, 2),
                     &packed = make(m, packed_bytes(n), 1),
                     &narrow = make(n, m, 1);
};

class odd_chain : public training_chain {
 public:
  explicit odd_chain(const chain_setting& s) : training_chain(s, 32) {}

  void run(cudaStream_t stream, const step& before) const override {
    const quantizer rows = quantizer_of(bf16, e4m3, scale, row);
    const quantizer columns = quantizer_of(bf16, e5m2, scale, column);
    const quantizer rows_of_fp32 = quantizer_of(fp32, e4m3, scale, row);
    const quantizer blocks_of_fp32 = quantizer_of(fp32, e4m3, scale, block);
    const quantizer twelve = quantizer_of(fp32, e5m6, scale, row);
    const swiglu_layer of_fp32{blocks_of_fp32, rows_of_fp32};
    before({&x, &w});
    cuda::rms_norm({bf16, bf16, eps, rows}, x.view(), w.view(), y.view(),
                   rstd.words(), y_codes.quantized(), stream);
    run_swiglu(stream, before, y, h_again.view(), z);
    before({&z});
    cuda::quantize(columns, z.view(), {down.view(), down_scales.as_scales()},
                   {}, stream);
    before({&down, &down_scales});
    cuda::dequantize(e5m2, column, down.view(), down_scales.as_scales(), bf16,
                     again.view(), stream);
    run_experts(stream, before, rows, combine_rule::bf16_hops, again);
    before({&sums, &moment, &second, &weights});
    cuda::adamw({factors, bf16, bf16, rounding::stochastic, 7, 0}, sums.view(),
                moment.view(), second.view(), weights.view(), copy.view(),
                stream);
    before({&weights, &w});
    cuda::rms_norm({fp32, bf16, eps, rows_of_fp32}, weights.view(), w.view(),
                   normal.view(), normal_rstd.words(), {}, stream);
    before({&normal});
    cuda::swiglu_forward(of_fp32, normal.view(), normal.view(), hidden.view(),
                         {}, {}, {}, stream);
    before({&hidden});
    cuda::quantize(blocks_of_fp32, hidden.view(), blocked.quantized(),
                   blocked_t.quantized(), stream);
    before({&hidden, &blocked});
    cuda::swiglu_backward(of_fp32, fp32, hidden.view(), blocked.input(),
                          blocked.input(), {}, wide_dg.view(), wide_du.view(),
                          {}, {}, stream);
    before({&wide_dg});
    cuda::quantize(rows_of_fp32, wide_dg.view(), both.quantized(),
                   turned.quantized(), stream);
    before({&both});
    cuda::retile({e4m3, e5m2, scale, tile, {}}, both.view(), both.scale_view(),
                 retiled.quantized(), stream);
    before({&retiled});
    cuda::dequantize(e5m2, row, retiled.view(), retiled.scale_view(), fp32,
                     numbers_t.view(), stream);
    before({&numbers_t});
    cuda::quantize(twelve, numbers_t.view(), wide.quantized(), {}, stream);
    before({&wide});
    cuda::transpose(e5m6, wide.view(), wide.scale_view(), back.quantized(),
                    stream);
    before({&back});
    cuda::pack(cuda::packing::words, back.view(), packed.view(), stream);
    before({&packed});
    cuda::unpack(cuda::packing::words, packed.view(), unpacked.view(), stream);
  }

 private:
  const chain_matrix &h_again = make(m, n, 2), &down = make(m, n, 1),
                     &down_scales = make(ceil_div(m, tile), n, 4),
                     &normal = make(m, n, 4), &normal_rstd = make(m, 1, 4),
                     &hidden = make(m, n, 4), &blocked = make(m, n, 1),
                     &blocked_t = make(n, m, 1), &wide_dg = make(m, n, 4),
                     &wide_du = make(m, n, 4), &numbers_t = make(n, m, 4),
                     &wide = make(n, m, 2), &back = make(m, n, 2),
                     &packed = make(m, packed_word_bytes(n), 1);
};

}  // namespace

std::unique_ptr<chain> make_aligned_chain(const chain_setting& s) {
  return std::make_unique<aligned_chain>(s);
}
std::unique_ptr<chain> make_odd_chain(const chain_setting& s) {
  return std::make_unique<odd_chain>(s);
}

}  // namespace zeroulp::conformance::device
