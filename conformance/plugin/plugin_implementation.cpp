// A plug-in as an implementation. Calls that it claims go to it, padded to the
// multiples that it needs; all others go to the core.

#include <algorithm>

#include "conformance/plugin/requests.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::plugin {
namespace {

named_convention named(const convention& how) {
  for (const auto& n : named_conventions) {
    if (n.value == how) return n;
  }
  return {"?", how, ""};
}

void quantize(const quantizer& q, codes_in x, codes_out codes,
              codes_out scales) {
  fuzz::settings s;
  s.from = q.from, s.to = q.to, s.how = named(q.how), s.scale = q.scale;
  s.group = q.group;
  const claim* const c = active().claim_of(kind::quantize, s, x.rows, x.cols);
  if (c == nullptr || x.rows == 0 || x.cols == 0) {
    return core().quantize(q, x, codes, scales);
  }
  const auto m = up(x.rows, c->multiple[0]);
  const auto n = up(x.cols, c->multiple[1]);
  const placement how = place_of(*c, codes);
  request r{{name_of(q.from), name_of(q.to), std::string(name_of(q.scale)),
             c->as, whole(q.group.rows), whole(q.group.cols)},
            {input(*c, x, m, n, storage_bytes(q.from)),
             output(m, n, storage_bytes(q.to), how),
             output(groups(m, q.group.rows), groups(n, q.group.cols), 4, how)}};
  if (!active().call(*c, r)) {
    return core().quantize(q, x, codes, scales);
  }
  store(r.matrices[1], codes);
  store(r.matrices[2], scales);
}

void dequantize(format f, group_shape group, codes_in codes, codes_in scales,
                codes_out out) {
  fuzz::settings s;
  s.to = f, s.group = group;
  // A claim's `from` says what its FP32 numbers came from: any.
  s.from = fp32;
  const claim* const c =
      active().claim_of(kind::dequantize, s, out.rows, out.cols);
  if (c == nullptr || codes.rows == 0 || codes.cols == 0) {
    return core().dequantize(f, group, codes, scales, out);
  }
  const auto m = up(codes.rows, c->multiple[0]);
  const auto n = up(codes.cols, c->multiple[1]);
  request r{{name_of(f), whole(group.rows), whole(group.cols)},
            {input(*c, codes, m, n, storage_bytes(f)),
             input(*c, scales, groups(m, group.rows), groups(n, group.cols), 4,
                   fp32_one),
             output(m, n, 4, place_of(*c, out))}};
  if (!active().call(*c, r)) {
    return core().dequantize(f, group, codes, scales, out);
  }
  store(r.matrices[2], out);
}

void retile(const retiling& t, codes_in codes, codes_in scales, codes_out out,
            codes_out out_scales) {
  fuzz::settings s;
  s.from = t.from, s.to = t.to, s.scale = t.scale, s.tile = t.tile;
  s.rule = t.rule;
  const claim* const c = active().claim_of(kind::retile, s, out.rows, out.cols);
  if (c == nullptr || codes.rows == 0 || codes.cols == 0) {
    return core().retile(t, codes, scales, out, out_scales);
  }
  const auto m = up(codes.rows, c->multiple[0]);
  const auto n = up(codes.cols, c->multiple[1]);
  const placement how = place_of(*c, out);
  request r{{name_of(t.from), name_of(t.to), std::string(name_of(t.scale)),
             std::string(name_of(t.rule)), whole(t.tile)},
            {input(*c, codes, m, n, storage_bytes(t.from)),
             input(*c, scales, m, groups(n, t.tile), 4, fp32_one),
             output(n, m, storage_bytes(t.to), how),
             output(n, groups(m, t.tile), 4, how)}};
  if (!active().call(*c, r)) {
    return core().retile(t, codes, scales, out, out_scales);
  }
  store(r.matrices[2], out);
  store(r.matrices[3], out_scales);
}

void gemm(const recipe& r, const gemm_operand<std::uint32_t>& a,
          const gemm_operand<std::uint32_t>& b, codes_in c, codes_out d) {
  fuzz::settings s;
  s.unit = {a.f, b.f, r.acc};
  s.gemm = r;
  const claim* const mine = active().claim_of(kind::gemm, s, d.rows, d.cols);
  const auto k = a.codes.cols;
  if (mine == nullptr || d.rows == 0 || d.cols == 0 || k == 0) {
    return core().gemm(r, a, b, c, d);
  }
  const auto m = up(d.rows, mine->multiple[0]);
  const auto n = up(d.cols, mine->multiple[1]);
  const auto depth = up(k, mine->multiple[2]);
  const bool adds = r.end == epilogue::accumulate;
  const auto scales = [&](codes_in x, granularity by, std::ptrdiff_t length) {
    // Scales without data are ones.
    return input(*mine, x, groups(length, by.mn), groups(depth, by.k), 4,
                 fp32_one);
  };
  request q{{name_of(a.f), name_of(b.f), name_of(r.output), mine->as,
             whole(r.a.mn), whole(r.a.k), whole(r.b.mn), whole(r.b.k),
             whole(r.interval), whole(adds ? 1 : 0)},
            {input(*mine, a.codes, m, depth, storage_bytes(a.f)),
             input(*mine, b.codes, n, depth, storage_bytes(b.f)),
             scales(a.scales, r.a, m), scales(b.scales, r.b, n),
             adds ? input(*mine, c, m, n, 4) : argument{},
             output(m, n, storage_bytes(r.output), place_of(*mine, d))}};
  if (!active().call(*mine, q)) return core().gemm(r, a, b, c, d);
  store(q.matrices[5], d);
}

std::shared_ptr<plugin_code>& held() {
  static std::shared_ptr<plugin_code> code;
  return code;
}

}  // namespace

plugin_code& active() { return *held(); }

const model_implementation& core() {
  static const model_implementation table = core_implementation();
  return table;
}

model_implementation implementation_of(std::shared_ptr<plugin_code> code) {
  held() = std::move(code);
  model_implementation i{core_implementation(), operators_of_plugin()};
  i.name = active().name();
  i.quantize = quantize;
  i.dequantize = dequantize;
  i.retile = retile;
  i.gemm = gemm;
  take_training(i);
  return i;
}

}  // namespace zeroulp::conformance::plugin
