// Defines the target `retile`: codes with scales along rows become their
// transpose, with scales along its own rows. Source: SPEC clauses W1 to W7. The
// numbers: retile_fill.cpp.

#include <algorithm>

#include "fuzz/targets/retile_parts.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

void draw(settings& s, counter_rng& rng) {
  constexpr std::int32_t tiles[] = {128, 128, 32, 0, 1, 3, 5, 16};
  s.from = draw_code_format(rng);
  s.to = rng.one_in(3) ? s.from : draw_code_format(rng);
  s.scale =
      rng.one_in(2) ? scale_kind::pow2 : one_of(named_scale_kinds, rng).value;
  s.tile = one_of(tiles, rng);
  s.rule = one_of(named_retile_rules, rng).value;
  s.place = draw_placement(rng);
}

std::string refuse(const settings& s) {
  for (const auto& why :
       {refuse_codes("from", s.from), refuse_codes("to", s.to)}) {
    if (!why.empty()) return why;
  }
  return s.tile < 0 ? "a tile of negative length" : "";
}

std::string clauses(const problem& p, std::string_view output) {
  const settings& s = p.with;
  const bool pow2 = s.scale != scale_kind::float32;
  if (output == "guards") return "W1";
  if (output == "scales") {
    if (s.rule == retile_rule::max_scale) return "W3";
    return pow2 ? "W1 W2 W7 Q5" : "W1 W2";
  }
  const std::string codes = "W1 W4 R1 C3 C4 C5";
  return !pow2 ? codes : codes + (s.from == s.to ? " W5 W7" : " W7");
}

enum family { values, kinds, source_scales, tile_ends, specials_in, zeros };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    t.add({{"shift", {"below", "0", "1", "2", "3", "4", "5", "6", "7", "8+"}},
           position_axis(5),
           sign_axis()});
    const bin_axis rules{"rule", {"amax", "max_scale"}};
    t.add({rules, scale_kind_axis()});
    t.add({{"scales", {"fp32", "pow2"}}, scale_class_axis("source")});
    t.add({rules, {"tile", {"whole", "partial", "all"}}});
    t.add({{"from", {"inf", "nan"}}, {"to", {"largest", "inf", "nan"}}},
          [](const bin_table::combination& at) {
            return at[0] == 0 || at[1] != 1;  // NaN does not become Inf
          });
    t.add({rules, {"column", {"zeros", "numbers"}}});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

/// The exponent of a finite number that is not zero.
int exponent_of(const unpacked& x) { return msb(x.significand) + x.exponent; }

/// Counts element (i, j) of the source.
void cover_element(const problem& p, const outputs& right, std::ptrdiff_t i,
                   std::ptrdiff_t j, bin_counts counts) {
  const settings& s = p.with;
  const retiling r = retiling_of(s);
  const std::uint64_t code = p.in[0](i, j);
  const matrix& scales = output_of(right, "scales");
  const auto by =
      static_cast<std::uint32_t>(p.in[1](i, s.tile > 0 ? j / s.tile : 0));
  const bool pow2 = s.scale != scale_kind::float32;
  table().hit(counts, source_scales, pow2, scale_class_of(by));
  const auto t =
      static_cast<std::uint32_t>(scales(j, s.tile > 0 ? i / s.tile : 0));
  const auto got = code_kind_of(s.to, output_of(right, "codes")(j, i));
  const auto was = code_kind_of(s.from, code);
  if (was >= code_kind::infinite && got >= code_kind::largest) {
    table().hit(counts, specials_in, was == code_kind::nan,
                static_cast<int>(got) - static_cast<int>(code_kind::largest));
  }
  const unpacked v = detail::retiled_value(r, code, by);
  const unpacked source = decode(fp32, by);
  if (v.kind != kind::finite || source.kind != kind::finite) return;
  const unpacked target = decode(fp32, t);
  const auto fine =
      encode(refined(s.to), quotient(v, target), {}, keep_specials);
  const int shift = exponent_of(target) - exponent_of(source);
  table().hit(counts, values, shift < 0 ? 0 : std::min(shift, 8) + 1,
              position_of(s.to, fine, true), v.negative);
}

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const settings& s = p.with;
  const matrix& x = p.in[0];
  table().hit(counts, kinds, s.rule, s.scale);
  const auto size = static_cast<std::ptrdiff_t>(x.words.size());
  for_each_sampled(size, 64, [&](std::ptrdiff_t at) {
    cover_element(p, right, at / x.cols, at % x.cols, counts);
  });
  // The columns of the last tile, which may be partial, and of the first.
  const std::ptrdiff_t height = group_shape{s.tile, 1}.height(x.rows);
  for_each_sampled(x.rows == 0 ? 0 : x.cols, 4, [&](std::ptrdiff_t j) {
    const std::ptrdiff_t last = (x.rows - 1) / height * height;
    for (const std::ptrdiff_t begin : {std::ptrdiff_t{0}, last}) {
      const std::ptrdiff_t end = std::min(begin + height, x.rows);
      bool zero = true;
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        zero = zero && (x(i, j) & s.from.magnitude_mask()) == 0;
      }
      table().hit(counts, tile_ends, s.rule,
                  s.tile == 0            ? 2
                  : end - begin < s.tile ? 1
                                         : 0);
      table().hit(counts, zeros, s.rule, !zero);
    }
  });
}

}  // namespace

std::vector<operand_spec> retile_operands(const settings& s) {
  return {{"codes", s.from, {'m', 1}, {'n', 1}},
          {"scales", fp32, {'m', 1}, {'n', s.tile}}};
}

target_info retile_info() {
  return {target::retile,
          "retile",
          "codes with scales along rows to the transpose with its own",
          {"from", "to", "scale", "tile", "rule", "place"},
          {"plain", "shifts", "ties", "underflow", "zeros", "bad_scales",
           "specials", "any_bits"},
          draw,
          refuse,
          retile_operands,
          fill_retile,
          run_retile,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
