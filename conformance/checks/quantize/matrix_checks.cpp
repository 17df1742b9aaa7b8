// Whole matrices: groups, edges, strides, and back again.

#include <fmt/format.h>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/nearest_code.hpp"

namespace zeroulp::conformance {
namespace {

constexpr group_shape groups[] = {{1, 128}, {128, 1}, {128, 128}, {0, 0},
                                  {1, 32},  {3, 5},   {32, 1},    {1, 0},
                                  {0, 1},   {2, 3},   {1, 1},     {64, 256}};
/// Scales for dequantization: of every kind that FP32 has.
std::uint32_t any_scale(counter_rng& rng) {
  switch (rng.below(8)) {
    case 0:
      return 0x3f800000;
    case 1:
      return rng.below(256) << 23;
    case 2:
      return rng.below(0x00800000);
    case 3:
      return rng.below(0x7f800001);
    default:
      return 0x37000000 + rng.below(0x10000000);
  }
}

}  // namespace

verdict quantized_matrices(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0   ? 500
                              : e.level == 1 ? 2'000
                                             : 60'000;
  const auto formats = targets({1, 0, false}, 0);
  const char* const sources[] = {"fp32", "bf16", "fp16"};
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    const quantizer_case q{
        format_named(sources[n % 3]),
        formats[rng.one_in(2)
                    ? rng.below(3)
                    : rng.below(static_cast<std::uint32_t>(formats.size()))],
        named_conventions[n % std::size(named_conventions)],
        named_scale_kinds[rng.below(std::size(named_scale_kinds))],
        groups[rng.below(std::size(groups))]};
    const auto shape = any_shape(rng, e.level == 0 ? 2'000 : 20'000);
    const auto family = static_cast<matrix_family>(rng.below(family_count));
    const auto in = any_placement(rng);
    const auto out = any_placement(rng);
    const auto x =
        make_matrix(family, q.from.value, shape.rows, shape.cols, rng);
    check_quantized(i, q, x, in, out, v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

verdict matrices_by_given_scales(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0   ? 300
                              : e.level == 1 ? 1'500
                                             : 30'000;
  const auto formats = targets({1, 0, false}, 0);
  const char* const sources[] = {"fp32", "bf16", "fp16"};
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed + 1, n);
    const auto& how = named_conventions[n % std::size(named_conventions)];
    const quantizer q{
        format_named(sources[n % 3]).value,
        formats[rng.below(static_cast<std::uint32_t>(formats.size()))].value,
        how.value, scale_kind::float32, groups[rng.below(std::size(groups))]};
    const auto shape = any_shape(rng, e.level == 0 ? 2'000 : 20'000);
    const auto family = static_cast<matrix_family>(rng.below(family_count));
    const auto x = make_matrix(family, q.from, shape.rows, shape.cols, rng);
    oracle::grid s(oracle::groups_along(x.rows, q.group.rows),
                   oracle::groups_along(x.cols, q.group.cols));
    const bool cast = rng.one_in(4);
    for (auto& scale : s.words) scale = cast ? fp32_one : any_scale(rng);
    placed<std::uint32_t> input(any_placement(rng), x.rows, x.cols, 0x7f7f7f7f);
    placed<std::uint32_t> scales(any_placement(rng), s.rows, s.cols,
                                 0x7f7fffff);
    placed<std::uint32_t> codes(any_placement(rng), x.rows, x.cols, 0xc0dec0de);
    input.load(x);
    scales.load(s);
    i.quantize_by_scale(q, input.input(), scales.input(), codes.view());
    const auto describe = [&] {
      return fmt::format("quantize by {}, {} x {}, by given scales", how.name,
                         x.rows, x.cols);
    };
    compare(v, codes.read(), oracle::quantize_by_scale(q, x, s), "code ",
            describe);
    v.count(codes.guards_hold(),
            [&] { return describe() + ": wrote outside its matrices"; });
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

verdict dequantized_codes(const implementation& i, const effort& e) {
  verdict v;
  const std::ptrdiff_t rows = e.level == 0 ? 12 : 300;
  std::uint64_t index = 0;
  for (const named_format& from : targets(e, 9)) {
    const int bits = from.value.exp_bits + from.value.man_bits + 1;
    const bool all = bits <= (e.level == 0 ? 8 : 16);
    const std::ptrdiff_t cols =
        all ? std::ptrdiff_t{1}
                  << (from.value.kind == specials::scale ? bits - 1 : bits)
            : 500;
    counter_rng rng(e.seed, index++);
    oracle::grid codes(bits > 12 ? rows / 6 : rows, cols);
    for (std::ptrdiff_t r = 0; r < codes.rows; ++r) {
      for (std::ptrdiff_t c = 0; c < cols; ++c) {
        codes(r, c) =
            all ? static_cast<std::uint32_t>(c)
                : rng.next32() & static_cast<std::uint32_t>(low_bits(bits));
      }
    }
    oracle::grid scales(codes.rows, 1);
    for (auto& s : scales.words) s = any_scale(rng);
    scales.words[0] = 0x7fffffff;
    scales.words[1] = 0x3f800000;
    const auto want = oracle::dequantize(from.value, {1, 0}, codes, scales);
    oracle::grid got(codes.rows, cols, 0xdeadbeef);
    i.dequantize(from.value, {1, 0}, {codes.words.data(), codes.rows, cols},
                 {scales.words.data(), scales.rows, 1},
                 {got.words.data(), got.rows, cols});
    for (std::size_t at = 0; at < got.words.size(); ++at) {
      v.compare(got.words[at], want.words[at], [&] {
        return fmt::format(
            "dequantize {} code {:#x} by {:#010x}: {:#010x}, not {:#010x}",
            from.name, codes.words[at],
            scales.words[at / static_cast<std::size_t>(cols)], got.words[at],
            want.words[at]);
      });
    }
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

verdict dequantized_matrices(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0   ? 150
                              : e.level == 1 ? 1'500
                                             : 30'000;
  const auto formats = targets({1, 0, false}, 0);
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    const auto& from =
        formats[rng.below(static_cast<std::uint32_t>(formats.size()))];
    const group_shape group = groups[n % std::size(groups)];
    const auto shape = any_shape(rng, e.level == 0 ? 2'000 : 20'000);
    const auto x = make_matrix(matrix_family::any_bits, from.value, shape.rows,
                               shape.cols, rng);
    oracle::grid s(oracle::groups_along(shape.rows, group.rows),
                   oracle::groups_along(shape.cols, group.cols));
    for (auto& scale : s.words) scale = any_scale(rng);
    placed<std::uint32_t> codes(any_placement(rng), shape.rows, shape.cols,
                                0x7f7f7f7f);
    placed<std::uint32_t> scales(any_placement(rng), s.rows, s.cols,
                                 0x7f7fffff);
    placed<std::uint32_t> out(any_placement(rng), shape.rows, shape.cols,
                              0xc0dec0de);
    codes.load(x);
    scales.load(s);
    i.dequantize(from.value, group, codes.input(), scales.input(), out.view());
    const auto describe = [&] {
      return fmt::format("dequantize {} {}x{} of {} x {}", from.name,
                         group.rows, group.cols, shape.rows, shape.cols);
    };
    compare(v, out.read(), oracle::dequantize(from.value, group, x, s), "",
            describe);
    v.count(out.guards_hold(),
            [&] { return describe() + ": wrote outside its matrix"; });
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

}  // namespace zeroulp::conformance
