// Requests that quantization, re-tiling, transposition, packing and
// dequantization must refuse before they launch a kernel: null or misaligned
// data; sizes that are negative, too large or do not fit; unknown formats,
// groups, tiles, kinds, layouts.

#include "conformance/device/support/refusals.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::packing;

verdict refused_quantization(const effort&) {
  verdict v;
  const convention ours = zeroulp_convention;
  const quantizer good{bf16, e4m3, ours, scale_kind::float32, {1, 128}};
  const auto no = [&](const char* what, const quantizer& q, const_matrix x,
                      const quantized& y, const quantized& yt = {}) {
    must_refuse(what, v, [&] { cuda::quantize(q, x, y, yt); });
  };
  const auto x = codes(100, 200);
  const quantized y{codes(100, 200), scales_of(2)};
  auto q = good;
  q.from = e4m3;
  no("x of e4m3", q, x, y);
  q = good, q.to = bf16;
  no("codes of bf16", q, x, y);
  q = good, q.group = {1, 64};
  no("groups of 1x64", q, x, y);
  q = good, q.group = {0, 0};
  no("the whole matrix without its amax", q, x,
     {codes(100, 200), scales_of(1)});
  q = good, q.scale = static_cast<scale_kind>(5);
  no("no kind", q, x, y);
  no("null x", good, {nullptr, 100, 200}, y);
  no("misaligned x", good, {nowhere() + 1, 100, 200}, y);
  no("negative rows", good, codes(-1, 200), {codes(-1, 200), scales_of(2)});
  no("negative columns", good, codes(100, -1), {codes(100, -1), scales_of(2)});
  no("a short stride", good, {nowhere(), 100, 200, 199}, y);
  no("nothing to write", good, x, {});
  no("null scales", good, x, {codes(100, 200), {}});
  no("misaligned scales", good, x,
     {codes(100, 200), {reinterpret_cast<std::uint32_t*>(nowhere() + 2), 2}});
  no("no layout", good, x,
     {codes(100, 200), scales_of(100, static_cast<scale_layout>(4))});
  q = good, q.to = e5m6;
  no("misaligned codes", q, x, {{nowhere() + 1, 100, 200}, scales_of(2)});
  no("a short stride of scales", good, x, {codes(100, 200), scales_of(1)});
  no("another shape", good, x, {codes(200, 100), scales_of(2)});
  no("yt not transposed", good, x, y, y);
  no("ue8m0 for any scale", good, x,
     {codes(100, 200), scales_of(100, scale_layout::packed_ue8m0)});
  no("too large", good, codes(huge, huge),
     {codes(huge, huge), scales_of(huge / 128)});
  const std::uint32_t* const null = nullptr;
  must_refuse("null amaxes", v, [&] {
    cuda::quantize(good, x, {null, 100, 2}, y);
  });
  must_refuse("too few amaxes", v, [&] {
    cuda::group_amaxes(good, x, {words(), 100, 1});
  });
  return v;
}

verdict refused_retiling(const effort&) {
  verdict v;
  const retiling good{e4m3, e4m3, scale_kind::float32, 128, retile_rule::amax};
  const auto no = [&](const char* what, const retiling& r, const_matrix in,
                      const_scales by, const quantized& out) {
    must_refuse(what, v, [&] { cuda::retile(r, in, by, out); });
  };
  const quantized out{codes(200, 100), scales_of(1)};
  const auto in = codes(100, 200);
  const auto by = scales_of(2);
  auto r = good;
  r.tile = 64;
  no("a tile of 64", r, in, by, out);
  r = good, r.from = fp16;
  no("codes of fp16", r, in, by, out);
  r = good, r.to = bf16;
  no("to bf16", r, in, by, out);
  r = good, r.rule = static_cast<retile_rule>(2);
  no("no rule", r, in, by, out);
  r = good, r.scale = static_cast<scale_kind>(5);
  no("no kind", r, in, by, out);
  no("null codes", good, {nullptr, 100, 200}, by, out);
  no("null scales", good, in, {nullptr, 2}, out);
  no("null out", good, in, by, {{nullptr, 200, 100}, scales_of(1)});
  no("null out scales", good, in, by, {codes(200, 100), {nullptr, 1}});
  no("negative rows", good, codes(-1, 200), by, out);
  no("negative columns", good, codes(100, -1), by, out);
  no("a short stride", good, {nowhere(), 100, 200, 199}, by, out);
  no("a short stride of scales", good, in, scales_of(1), out);
  no("a short stride of out scales", good, in, by,
     {codes(200, 100), scales_of(3, scale_layout::mn_major)});
  no("out not transposed", good, in, by, {codes(100, 200), scales_of(2)});
  no("too large", good, codes(huge, huge), scales_of(huge),
     {codes(huge, huge), scales_of(huge)});
  no("too many tiles", good, {nowhere(), huge, 2}, by,
     {codes(2, huge), scales_of(huge / 128)});
  no("ue8m0 for any scale", good, in, by,
     {codes(200, 100), scales_of(200, scale_layout::packed_ue8m0)});
  no("no layout", good, in, scales_of(200, static_cast<scale_layout>(4)), out);
  r = good, r.from = e5m6;
  no("misaligned codes", r, {nowhere() + 1, 100, 200}, by, out);
  no("misaligned scales", good, in,
     {reinterpret_cast<std::uint32_t*>(nowhere() + 2), 2}, out);
  return v;
}

verdict refused_transposes(const effort&) {
  verdict v;
  const auto no = [&](const char* what, format f, const_matrix in,
                      const_scales by, const quantized& out) {
    must_refuse(what, v, [&] { cuda::transpose(f, in, by, out); });
  };
  const quantized out{codes(200, 100), scales_of(1)};
  no("fp32", fp32, codes(100, 200), scales_of(2), out);
  no("null codes", e4m3, {nullptr, 100, 200}, scales_of(2), out);
  no("null scales", e4m3, codes(100, 200), {}, out);
  no("null out", e4m3, codes(100, 200), scales_of(2), {});
  no("not transposed", e4m3, codes(200, 100), scales_of(2), out);
  no("misaligned", e5m6, {nowhere() + 1, 100, 200}, scales_of(2), out);
  no("a stride below the layout's", e4m3, codes(100, 200),
     scales_of(3, scale_layout::blk128), out);
  return v;
}

verdict refused_packing(const effort&) {
  verdict v;
  const auto no = [&](const char* what, packing how, const matrix& x,
                      const matrix& packed) {
    must_refuse(what, v, [&] { cuda::pack(how, x, packed); });
    must_refuse(what, v, [&] { cuda::unpack(how, packed, x); });
  };
  no("no packing", static_cast<packing>(2), codes(8, 8), codes(8, 12));
  no("null codes", packing::bytes, {nullptr, 8, 8}, codes(8, 12));
  no("null bytes", packing::bytes, codes(8, 8), {nullptr, 8, 12});
  no("misaligned", packing::bytes, {nowhere() + 1, 8, 8}, codes(8, 12));
  no("negative", packing::words, codes(-8, 8), codes(8, 12));
  no("rows", packing::words, codes(8, 8), codes(9, 12));
  no("too few bytes", packing::words, codes(8, 9), codes(8, 15));
  no("too many bytes", packing::bytes, codes(8, 9), codes(8, 24));
  no("not as empty", packing::bytes, codes(8, 0), codes(8, 12));
  no("a short stride", packing::bytes, {nowhere(), 8, 8, 7}, codes(8, 12));
  no("too large", packing::bytes, {nowhere(), huge, 2},
     {nowhere(), huge, 3, huge});
  return v;
}

verdict refused_dequantization(const effort&) {
  verdict v;
  const auto no = [&](const char* what, format from, group_shape g,
                      const_matrix in, const_scales by, format to,
                      const matrix& out) {
    must_refuse(what, v, [&] { cuda::dequantize(from, g, in, by, to, out); });
  };
  const group_shape tile{1, 128};
  const auto in = codes(100, 200);
  const auto out = codes(100, 200);
  no("codes of fp16", fp16, tile, in, scales_of(2), fp32, out);
  no("to fp16", e4m3, tile, in, scales_of(2), fp16, out);
  no("groups of 1x64", e4m3, {1, 64}, in, scales_of(4), fp32, out);
  no("groups of columns", e4m3, {0, 1}, in, scales_of(200), fp32, out);
  no("null codes", e4m3, tile, {nullptr, 100, 200}, scales_of(2), fp32, out);
  no("null scales", e4m3, tile, in, {}, fp32, out);
  no("null out", e4m3, tile, in, scales_of(2), fp32, {nullptr, 100, 200});
  no("too few scales", e4m3, tile, in, scales_of(1), fp32, out);
  no("another shape", e4m3, tile, in, scales_of(2), fp32, codes(100, 201));
  no("misaligned out", e4m3, tile, in, scales_of(2), fp32,
     {nowhere() + 2, 100, 200});
  return v;
}

}  // namespace

check_list kernel_refusal_checks() {
  check_list all = {device_check("kernel.quantize.refusals", "Q1", "definition",
                                 refused_quantization),
                    device_check("kernel.retile.refusals", "W1", "definition",
                                 refused_retiling),
                    device_check("kernel.transpose.refusals", "W6",
                                 "definition", refused_transposes),
                    device_check("kernel.pack.refusals", "P1 P2", "definition",
                                 refused_packing),
                    device_check("kernel.dequantize.refusals", "Q10",
                                 "definition", refused_dequantization)};
  for (auto& c : fused_refusal_checks()) all.push_back(std::move(c));
  for (auto& c : training_refusal_checks()) all.push_back(std::move(c));
  return all;
}

}  // namespace zeroulp::conformance::device
