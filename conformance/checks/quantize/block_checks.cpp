// Quantizers of products with block scales (SPEC Q15 to Q19).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/blocks/block_quantizer_oracle.hpp"
#include "conformance/oracles/nearest_code.hpp"
#include "zeroulp/core/block_quantize.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {
namespace {

constexpr const char* input_formats[] = {"fp32", "bf16", "fp16"};

/// A convention with its formats, and what they are called.
struct block_case {
  named_block_convention how;
  named_format from;
  named_format to;
  second_level level;
  std::int16_t largest_scale;
  std::int16_t block_rows;
  int random_bits;  ///< of each element; 0: nearest-even

  block_quantizer value() const {
    return {from.value, to.value, how.value, level, largest_scale, block_rows};
  }
  std::string name() const {
    static constexpr const char* levels[] = {"one level", "tensor", "row"};
    return fmt::format("{} {} -> {}, {}, {}, blocks of {} rows, {} random bits",
                       how.name, from.name, to.name,
                       levels[static_cast<int>(level)], largest_scale,
                       block_rows, random_bits);
  }
};

constexpr int bits_of_random[] = {0, 0, 32, 13, 8, 1};

block_case any_block_case(std::uint64_t n, counter_rng& rng) {
  static constexpr const char* mx[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
  const auto& how =
      named_block_conventions[n % std::size(named_block_conventions)];
  const bool one = how.value.scale == block_scale::power_of_two;
  block_case c{
      how,
      format_named(input_formats[rng.below(3)]),
      format_named(one ? mx[rng.below(5)] : "e2m1"),
      one ? second_level::none : static_cast<second_level>(rng.below(3)),
      static_cast<std::int16_t>(rng.one_in(3) ? 256 : 448),
      1,
      bits_of_random[rng.below(std::size(bits_of_random))]};
  if (c.level != second_level::row && rng.one_in(3)) {
    c.block_rows = static_cast<std::int16_t>(rng.one_in(2) ? 16 : 3);
  }
  return c;
}

/// The words of a source, of which as many bits take part as the case says.
oracle::grid any_random(const block_case& c, const oracle::grid& x,
                        counter_rng& rng) {
  if (c.random_bits == 0) return {};
  oracle::grid words(x.rows, x.cols);
  const auto& source = named_random_sources[rng.below(2)];
  const std::uint64_t seed = rng.next();
  for (std::size_t at = 0; at < words.words.size(); ++at) {
    words.words[at] =
        top_bits(rng.one_in(8) ? (rng.one_in(2) ? 0xffffffff : 0)
                               : random_word(source.value, seed, at),
                 c.random_bits);
  }
  return words;
}

void check_quantized_blocks(const implementation& i, const block_case& c,
                            const oracle::grid& x, counter_rng& rng,
                            verdict& v) {
  const block_quantizer q = c.value();
  const auto words = any_random(c, x, rng);
  const auto want = oracle::quantize_blocks(q, x, words);
  const auto where = any_placement(rng);
  placed<std::uint32_t> input(any_placement(rng), x.rows, x.cols, 0x7f7f7f7f);
  placed<std::uint32_t> codes(where, x.rows, x.cols, 0xc0dec0de);
  placed<std::uint8_t> scales(where, want.scales.rows, want.scales.cols, 0xa5);
  placed<std::uint32_t> second(where, want.second.rows, want.second.cols,
                               0x5ca1e5ca);
  placed<std::uint32_t> random(any_placement(rng), words.rows, words.cols,
                               0x7f7f7f7f);
  input.load(x);
  random.load(words);
  i.quantize_blocks(q, input.input(),
                    words.words.empty() ? codes_in{} : random.input(),
                    codes.view(), scales.view(), second.view());
  const auto describe = [&] {
    return fmt::format("{} of {} x {}, x(0, 0) = {:#x}", c.name(), x.rows,
                       x.cols, x.words.empty() ? 0 : x.words[0]);
  };
  compare(v, second.read(), want.second, "second level ", describe);
  compare(v, scales.read(), want.scales, "scale ", describe);
  compare(v, codes.read(), want.codes, "code ", describe);
  v.count(codes.guards_hold() && scales.guards_hold() && second.guards_hold(),
          [&] { return describe() + ": wrote outside its matrices"; });
}

/// A number (FP32 bits) within two ulps of where its code turns under scale s.
std::uint32_t near_midpoint(format to, float s, counter_rng& rng) {
  const auto last = static_cast<std::uint32_t>(oracle::largest_code(to));
  const std::uint32_t code = rng.below(last);
  const double middle = (oracle::magnitude_value(to, code) +
                         oracle::magnitude_value(to, code + 1)) /
                        2;
  const auto x = static_cast<float>(middle * static_cast<double>(s));
  return oracle::to_bits(x) + rng.below(5) - 2;
}

/// A block (FP32 bits) whose amax is `amax`.
void fill_block(const block_quantizer& q, group_scale t, oracle::grid& x,
                std::ptrdiff_t row, std::ptrdiff_t begin, std::ptrdiff_t end,
                std::uint32_t amax, counter_rng& rng) {
  const auto at = begin + static_cast<std::ptrdiff_t>(rng.below(
                              static_cast<std::uint32_t>(end - begin)));
  const float s =
      oracle::to_float(element_scale(q, t, block_scale_byte(q, t, amax)).scale);
  for (std::ptrdiff_t k = begin; k < end; ++k) {
    // Magnitudes of a few binades below, or on the edge of a code.
    const std::uint32_t below = rng.next32() % 0x03000000;
    const std::uint32_t edge = near_midpoint(q.to, s, rng);
    const std::uint32_t size = rng.one_in(2) && edge <= amax ? edge
                               : amax > below                ? amax - below
                                                             : amax;
    x(row, k) = (k == at ? amax : size) | (rng.one_in(2) ? 0x80000000 : 0);
  }
}

/// An amax near where a scale of UE4M3 turns: max * t * (a code or a midpoint).
std::uint32_t amax_near_byte(const block_quantizer& q, float t,
                             counter_rng& rng) {
  const std::uint32_t code = 1 + rng.below(126);
  double r = oracle::magnitude_value(e4m3, code);
  if (rng.one_in(2)) {
    r = (r + oracle::magnitude_value(e4m3, code + 1)) / 2;
  }
  const auto max = oracle::magnitude_value(q.to, oracle::largest_code(q.to));
  const auto near = static_cast<float>(r * max * static_cast<double>(t));
  if (!(near > 0) || std::isinf(near)) return fp32_max;
  return oracle::to_bits(near) + rng.below(5) - 2;
}

}  // namespace

verdict quantized_blocks(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0   ? 400
                              : e.level == 1 ? 4'000
                                             : 60'000;
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed + 7, n);
    const auto c = any_block_case(n, rng);
    const auto shape = any_shape(rng, e.level == 0 ? 1'500 : 6'000);
    const auto family = static_cast<matrix_family>(rng.below(family_count));
    const auto x =
        make_matrix(family, c.from.value, shape.rows, shape.cols, rng);
    check_quantized_blocks(i, c, x, rng, v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

namespace {

/// A matrix of FP32 whose blocks have amaxes at which the scale turns.
oracle::grid turning_blocks(const block_quantizer& q, counter_rng& rng) {
  const bool ue8m0_scale = q.how.scale == block_scale::power_of_two;
  const auto amaxes = boundary_amaxes(q.to);
  const std::ptrdiff_t block = q.how.block;
  const auto rows =
      ue8m0_scale ? static_cast<std::ptrdiff_t>(amaxes.size()) : 40;
  oracle::grid x(rows, 4 * block - 3);
  // The tensor's amax comes first, so that t is known.
  const std::uint32_t whole =
      (32 + rng.below(190)) << 23 | (rng.next32() & 0x7fffff);
  const group_scale t = second_scale(q, whole);
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    for (std::ptrdiff_t k = 0; k < x.cols; k += block) {
      const auto end = std::min(x.cols, k + block);
      const std::uint32_t near =
          ue8m0_scale
              ? amaxes[static_cast<std::size_t>(r)]
              : std::min(amax_near_byte(q, oracle::to_float(t.scale), rng),
                         whole);
      fill_block(q, t, x, r, k, end, k + r == 0 ? whole : near, rng);
    }
  }
  return x;
}

}  // namespace

verdict blocks_at_boundaries(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t rounds = e.level == 0 ? 1 : e.level == 1 ? 6 : 200;
  std::uint64_t index = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t n = 0; n < std::size(named_block_conventions); ++n) {
      const bool ue8m0_scale =
          named_block_conventions[n].value.scale == block_scale::power_of_two;
      for (int m = 0; m < (ue8m0_scale ? 1 : 20); ++m) {
        counter_rng rng(e.seed + 8, index++);
        auto c = any_block_case(n, rng);
        c.from = format_named("fp32");
        c.level = ue8m0_scale ? second_level::none : second_level::tensor;
        // Under a scale of several rows a NaN would hide the Inf of another.
        if (ue8m0_scale && round % 2 == 0) c.block_rows = 1;
        check_quantized_blocks(i, c, turning_blocks(c.value(), rng), rng, v);
        if (e.stop_early && v.failures > 0) return v;
      }
    }
  }
  return v;
}

verdict interleaved_scales(const implementation& i, const effort& e) {
  verdict v;
  std::uint64_t index = 0;
  for (const int rows : {0, 1, 31, 32, 33, 127, 128, 129, 300}) {
    for (const int blocks : {0, 1, 3, 4, 5, 8, 9, 31}) {
      counter_rng rng(e.seed + 9, index++);
      oracle::grid s(rows, blocks);
      for (auto& byte : s.words) byte = rng.below(256);
      const auto want = oracle::interleave(s);
      placed<std::uint8_t> scales(any_placement(rng), rows, blocks, 0xa5);
      std::vector<std::uint8_t> out(want.words.size() + 16, 0xa5);
      placed<std::uint8_t> back(any_placement(rng), rows, blocks, 0xa5);
      scales.load(s);
      const auto describe = [&] {
        return fmt::format("interleaved, {} x {}", rows, blocks);
      };
      v.count(interleaved_bytes(rows, blocks) == want.cols, describe);
      i.interleave_scales(scales.input(), out.data());
      oracle::grid got(1, want.cols);
      std::copy_n(out.begin(), got.words.size(), got.words.begin());
      compare(v, got, want, " byte ", describe);
      i.separate_scales(out.data(), back.view());
      compare(v, back.read(), s, " back ", describe);
      const bool held = std::all_of(out.end() - 16, out.end(),
                                    [](std::uint8_t x) { return x == 0xa5; });
      v.count(held && back.guards_hold(),
              [&] { return describe() + ": wrote outside"; });
    }
  }
  return v;
}

verdict dequantized_blocks(const implementation& i, const effort& e) {
  verdict v;
  const int rounds = e.level == 0 ? 10 : e.level == 1 ? 100 : 2000;
  std::uint64_t index = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const char* name : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}) {
      for (const auto kind :
           {block_scale::power_of_two, block_scale::unsigned_e4m3}) {
        counter_rng rng(e.seed + 10, index++);
        const format f = format_named(name).value;
        const format to = format_named(rng.one_in(3) ? "bf16" : "fp32").value;
        const int block = rng.one_in(2) ? 16 : 7;
        oracle::grid codes(5, 33);
        oracle::grid scales(5, oracle::groups_along(33, block));
        oracle::grid second(rng.one_in(2) ? 1 : 5, 1);
        for (auto& c : codes.words) c = rng.below(1u << f.bits());
        for (auto& s : scales.words) s = rng.below(256);
        for (auto& t : second.words) {
          t = (90 + rng.below(70)) << 23 | (rng.next32() & 0x7fffff);
        }
        placed<std::uint32_t> in(any_placement(rng), 5, 33, 0xc0dec0de);
        placed<std::uint8_t> by(any_placement(rng), 5, scales.cols, 0xa5);
        placed<std::uint32_t> t(any_placement(rng), second.rows, 1, 0x7f7fffff);
        placed<std::uint32_t> out(any_placement(rng), 5, 33, 0xdeadbeef);
        in.load(codes);
        by.load(scales);
        t.load(second);
        i.dequantize_blocks(f, kind, block, in.input(), by.input(), t.input(),
                            to, out.view());
        const auto describe = [&] {
          return fmt::format("dequantize blocks of {}, {}", block, name);
        };
        compare(v, out.read(),
                oracle::dequantize_blocks(f, kind, block, codes, scales, second,
                                          to),
                " number ", describe);
        v.count(out.guards_hold(),
                [&] { return describe() + ": wrote outside"; });
        if (e.stop_early && v.failures > 0) return v;
      }
    }
  }
  return v;
}

}  // namespace zeroulp::conformance
