// NVIDIA's own host conversions (cuda_fp8.h, cuda_fp6.h, cuda_fp4.h) as an
// oracle: the two cuda_ policies equal them (C6).

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/conversion/float_sweep.hpp"

#ifdef ZEROULP_HAVE_CUDA_HEADERS
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#endif

namespace zeroulp::conformance {
namespace {

#ifdef ZEROULP_HAVE_CUDA_HEADERS

struct header_case {
  format to;
  rounder r;
  policy p;
};

__nv_saturation_t saturation(const header_case& c) {
  return c.p.saturate_finite ? __NV_SATFINITE : __NV_NOSAT;
}

cudaRoundMode mode(const header_case& c) {
  return c.r.mode == rounding::up            ? cudaRoundPosInf
         : c.r.mode == rounding::toward_zero ? cudaRoundZero
                                             : cudaRoundNearest;
}

__nv_fp8_interpretation_t fp8_of(const header_case& c) {
  return c.to == e4m3 ? __NV_E4M3 : __NV_E5M2;
}

__nv_fp6_interpretation_t fp6_of(const header_case& c) {
  return c.to == e2m3 ? __NV_E2M3 : __NV_E3M2;
}

std::uint64_t header_of_float(const header_case& c, std::uint32_t code) {
  const float x = bit_cast<float>(code);
  if (c.to == ue8m0) return __nv_cvt_float_to_e8m0(x, saturation(c), mode(c));
  if (c.to == e2m1) return __nv_cvt_float_to_fp4(x, __NV_E2M1, mode(c));
  if (c.to == e2m3 || c.to == e3m2) {
    return __nv_cvt_float_to_fp6(x, fp6_of(c), mode(c));
  }
  return __nv_cvt_float_to_fp8(x, saturation(c), fp8_of(c));
}

std::uint64_t header_of_double(const header_case& c, std::uint64_t code) {
  const double x = bit_cast<double>(code);
  if (c.to == ue8m0) return __nv_cvt_double_to_e8m0(x, saturation(c), mode(c));
  if (c.to == e2m1) return __nv_cvt_double_to_fp4(x, __NV_E2M1, mode(c));
  if (c.to == e2m3 || c.to == e3m2) {
    return __nv_cvt_double_to_fp6(x, fp6_of(c), mode(c));
  }
  return __nv_cvt_double_to_fp8(x, saturation(c), fp8_of(c));
}

std::uint64_t header_of_bf16(const header_case& c, std::uint64_t code) {
  __nv_bfloat16_raw x;
  x.x = static_cast<unsigned short>(code);
  if (c.to == ue8m0) {
    return __nv_cvt_bfloat16raw_to_e8m0(x, saturation(c), mode(c));
  }
  if (c.to == e2m1) return __nv_cvt_bfloat16raw_to_fp4(x, __NV_E2M1, mode(c));
  if (c.to == e2m3 || c.to == e3m2) {
    return __nv_cvt_bfloat16raw_to_fp6(x, fp6_of(c), mode(c));
  }
  return __nv_cvt_bfloat16raw_to_fp8(x, saturation(c), fp8_of(c));
}

std::uint64_t header_of_half(const header_case& c, std::uint64_t code) {
  __half_raw x;
  x.x = static_cast<unsigned short>(code);
  if (c.to == e2m1) return __nv_cvt_halfraw_to_fp4(x, __NV_E2M1, mode(c));
  if (c.to == e2m3 || c.to == e3m2) {
    return __nv_cvt_halfraw_to_fp6(x, fp6_of(c), mode(c));
  }
  return __nv_cvt_halfraw_to_fp8(x, saturation(c), fp8_of(c));
}

std::vector<header_case> header_cases() {
  std::vector<header_case> all;
  for (const policy p : {cuda_satfinite, cuda_nosat}) {
    all.push_back({e4m3, {}, p});
    all.push_back({e5m2, {}, p});
    all.push_back({ue8m0, {rounding::toward_zero}, p});
    all.push_back({ue8m0, {rounding::up}, p});
  }
  for (const format f : {e2m1, e2m3, e3m2}) {
    all.push_back({f, {}, cuda_satfinite});
  }
  return all;
}

template <class Header>
void hold_header(verdict& v, const implementation& i, format from,
                 std::uint64_t code, const header_case& c, Header header) {
  const std::uint64_t expected = header(c, code);
  const std::uint64_t got = i.recode(from, code, c.to, c.r, c.p);
  v.compare(got, expected, [&] {
    return describe_conversion(from, code, c.to, c.r, c.p, got, expected);
  });
}

verdict header_at_boundaries(const implementation& i, const effort& e) {
  verdict v;
  for (const header_case& c : header_cases()) {
    for (const auto code : boundary_codes(fp32, c.to, 1)) {
      hold_header(v, i, fp32, code, c, [](const auto& how, auto x) {
        return header_of_float(how, static_cast<std::uint32_t>(x));
      });
    }
    const bool is_fp8 = c.to == e4m3 || c.to == e5m2;
    for (const auto code : boundary_codes(fp64, c.to, 1)) {
      // From double alone, NVIDIA's FP8 NaN keeps the sign and the payload.
      const auto what = oracle::value_of(fp64, code).what;
      if (is_fp8 && what == oracle::value_class::nan) continue;
      hold_header(v, i, fp64, code, c, header_of_double);
    }
    const std::uint64_t step = e.level == 0 ? 7 : 1;
    for (std::uint64_t code = 0; code < 0x10000; code += step) {
      hold_header(v, i, bf16, code, c, header_of_bf16);
      if (!(c.to == ue8m0)) hold_header(v, i, fp16, code, c, header_of_half);
    }
    if (finished(v, e)) return v;
  }
  for (std::uint64_t code = 0; code < 256; ++code) {
    const header_case to_half{fp16, {}, cuda_nosat};
    for (const format from : {e4m3, e5m2}) {
      hold_header(v, i, from, code, to_half, [&](const auto&, auto x) {
        return std::uint64_t{
            __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x),
                                    from == e4m3 ? __NV_E4M3 : __NV_E5M2)
                .x};
      });
    }
    hold_header(
        v, i, ue8m0, code, {bf16, {}, cuda_nosat}, [](const auto&, auto x) {
          return std::uint64_t{
              __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x)).x};
        });
  }
  return v;
}

verdict header_on_every_float(const implementation& i, const effort& e) {
  verdict v;
  for (const header_case& c : header_cases()) {
    const std::uint64_t stride = sweep_stride(e.level);
    const auto header = [&](std::uint32_t x) { return header_of_float(c, x); };
    sweep_floats(
        v, e, {c.to, c.r, c.p, stride, e.seed % stride},
        [&](std::uint32_t x) { return i.recode(fp32, x, c.to, c.r, c.p); },
        [&] { return header; });
    if (finished(v, e)) return v;
  }
  v.exhaustive = e.level >= 3;
  return v;
}

#else

verdict header_at_boundaries(const implementation&, const effort&) {
  verdict v;
  v.skipped = "built without NVIDIA's headers (cuda_fp8.h)";
  return v;
}

verdict header_on_every_float(const implementation& i, const effort& e) {
  return header_at_boundaries(i, e);
}

#endif

}  // namespace

check_list convert_header_checks() {
  return {
      {"CudaPoliciesEqualNvidiasHeadersAtBoundaries", "C6", "cuda_fp8.h", 0,
       header_at_boundaries},
      {"CudaPoliciesEqualNvidiasHeadersOnFloats", "C6", "cuda_fp8.h", 0,
       header_on_every_float},
  };
}

}  // namespace zeroulp::conformance
