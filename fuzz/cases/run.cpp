// Calls of an implementation, by target. Every matrix lies in a buffer with
// guards; whether the guards hold is an output.

#include <deque>

#include "fuzz/cases/run_buffer.hpp"

namespace zeroulp::fuzz {

outputs run_encode(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const matrix& x = p.in[0];
  matrix codes = like(x, "codes", s.to);
  for (std::size_t n = 0; n < x.words.size(); ++n) {
    codes.words[n] = i.recode(s.from, x.words[n], s.to, s.round, s.overflow);
  }
  return {codes};
}

outputs run_decode(const implementation& i, const problem& p) {
  const matrix& x = p.in[0];
  outputs out{like(x, "kind", integer), like(x, "negative", integer),
              like(x, "exponent", integer), like(x, "significand", integer)};
  for (std::size_t n = 0; n < x.words.size(); ++n) {
    const unpacked u = i.decode(p.with.from, x.words[n]);
    out[0].words[n] = static_cast<std::uint64_t>(u.kind);
    out[1].words[n] = u.negative ? 1 : 0;
    out[2].words[n] = static_cast<std::uint64_t>(std::int64_t{u.exponent});
    out[3].words[n] = u.significand;
  }
  return out;
}

outputs run_arith(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const auto& a = p.in[0].words;
  const auto& b = p.in[1].words;
  const auto& c = p.in[2].words;
  matrix codes = like(p.in[0], "codes", s.from);
  for (std::size_t n = 0; n < a.size(); ++n) {
    codes.words[n] =
        s.approximate ? i.approximate_quotient(static_cast<std::uint32_t>(a[n]),
                                               static_cast<std::uint32_t>(b[n]))
                      : i.arithmetic(s.op, s.from, a[n], b[n], c[n], s.round);
  }
  return {codes};
}

outputs run_step(const implementation& i, const problem& p) {
  const path& unit = p.with.unit;
  const auto beyond = [](const matrix& x) {
    auto codes = x.words;  // a step may not read behind its operands
    codes.resize(codes.size() + 3, x.type.max_code() + 1);
    return codes;
  };
  const auto a = beyond(p.in[0]);
  const auto b = beyond(p.in[1]);
  const auto count = static_cast<int>(p.in[0].words.size());
  return {one("d", unit.acc.stored,
              i.step(unit, a.data(), b.data(), count, p.in[2].words[0]))};
}

outputs run_quantize(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const quantizer q{s.from, s.to, s.how.value, s.scale, s.group};
  const matrix& x = p.in[0];
  const auto groups = [](std::ptrdiff_t length, std::ptrdiff_t by) {
    return ceil_div(length, by);
  };
  const buffer in(s.place, x);
  buffer codes(s.place, x.rows, x.cols);
  buffer scales(s.place, groups(x.rows, s.group.height(x.rows)),
                groups(x.cols, s.group.width(x.cols)));
  buffer values(s.place, x.rows, x.cols);
  i.quantize(q, in.input(), codes.view(), scales.view());
  i.dequantize(s.to, s.group, codes.input(), scales.input(), values.view());
  std::vector<std::uint32_t> history(p.in[1].words.begin(),
                                     p.in[1].words.end());
  const std::uint32_t amax = i.delayed_amax(
      history.data(), static_cast<std::ptrdiff_t>(history.size()),
      static_cast<std::uint32_t>(p.in[2].words[0]), s.history, s.decay);
  return {scales.read("scales", fp32), codes.read("codes", s.to),
          values.read("values", fp32), one("amax", fp32, amax),
          guards(codes.holds() && scales.holds() && values.holds())};
}

outputs run_pack(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const matrix& x = p.in[0];
  const matrix& y = p.in[1];
  const auto width = s.packing == pack_layout::bytes
                         ? packed_bytes(x.cols)
                         : packed_word_bytes(x.cols);
  const buffer codes(s.place, x);
  buffer<std::uint8_t> packed(s.place, x.rows, width);
  buffer unpacked(s.place, x.rows, x.cols);
  i.pack(s.packing, codes.input(), packed.view());
  i.unpack(s.packing, packed.input(), unpacked.view());
  const buffer scales(s.place, y);
  const auto shape = stored_shape(s.layout, y.rows, y.cols);
  buffer stored(s.place, shape.rows, shape.cols);
  i.lay_out_scales(s.layout, scales.input(), stored.view());
  matrix read = like(y, "read", fp32);
  for (std::ptrdiff_t r = 0; r < y.rows; ++r) {
    for (std::ptrdiff_t c = 0; c < y.cols; ++c) {
      read(r, c) = i.scale_at(s.layout, stored.input(), r, c);
    }
  }
  return {packed.read("packed", integer), unpacked.read("unpacked", x.type),
          stored.read("stored", integer), read,
          guards(packed.holds() && unpacked.holds() && stored.holds())};
}

outputs run_retile(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const retiling r{s.from, s.to, s.scale, s.tile, s.rule};
  const matrix& x = p.in[0];
  const buffer codes(s.place, x);
  const buffer scales(s.place, p.in[1]);
  buffer out(s.place, x.cols, x.rows);
  const auto tile = group_shape{1, s.tile}.width(x.rows);
  buffer out_scales(s.place, x.cols, ceil_div(x.rows, tile));
  i.retile(r, codes.input(), scales.input(), out.view(), out_scales.view());
  return {out_scales.read("scales", fp32), out.read("codes", s.to),
          guards(out.holds() && out_scales.holds())};
}

outputs run_gemm(const implementation& i, const problem& p) {
  const settings& s = p.with;
  std::deque<buffer<>> in;
  for (const matrix& x : p.in) in.emplace_back(s.place, x);
  const auto operand = [&](format f, std::size_t codes, std::size_t scales) {
    gemm_operand<std::uint32_t> x{f, in[codes].input()};
    if (p.in[scales].rows > 0) x.scales = in[scales].input();
    return x;
  };
  buffer d(s.place, p.in[0].rows, p.in[1].rows);
  // A recipe that stores must not read C.
  i.gemm(recipe_of(s), operand(s.unit.a, 0, 2), operand(s.unit.b, 1, 3),
         in[4].input(), d.view());
  return {d.read("d", s.gemm.output), guards(d.holds())};
}

}  // namespace zeroulp::fuzz
