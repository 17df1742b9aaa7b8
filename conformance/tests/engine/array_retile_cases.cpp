// Dequantization and re-tiling by the vector kernels.

#include "conformance/tests/engine/engine_case_parts.hpp"

namespace zeroulp::conformance {
namespace {

struct dequantization {
  format from, to;
  group_shape g;
  std::ptrdiff_t m, n;
  stored_as in, out;
  int in_bytes, out_bytes;
  bool broadcast;  ///< each row is its first code, over and over
  words codes, scales, expected;
};

std::string difference_of(const dequantization& d, const engine_calls& e) {
  const auto count = groups_of(d.g, d.m, d.n);
  auto in = make_stored(d.in, d.in_bytes, d.m, d.n, d.codes);
  auto scales = make_stored(d.in, 4, count.m, count.n, d.scales);
  stored out(d.out, d.out_bytes, d.m, d.n);
  const auto by = scales.as<const std::uint32_t>();
  auto codes = in.view();
  if (d.broadcast) codes.col_stride = 0;
  d.to == fp32 ? e.dequantize(d.from, d.g, codes, by, out.as<std::uint32_t>())
               : e.dequantize_to(d.from, d.g, codes, by, d.to, out.view());
  return out.content() != d.expected ? "values"
         : !out.is_intact()          ? "wrote beside the matrix"
                                     : "";
}

void solve(dequantization& d) {
  const auto count = groups_of(d.g, d.m, d.n);
  d.expected.clear();
  for (std::ptrdiff_t i = 0; i < d.m; ++i) {
    for (std::ptrdiff_t j = 0; j < d.n; ++j) {
      const auto code = d.codes[area(i, d.n) + area(d.broadcast ? 0 : j, 1)];
      const auto scale = d.scales[area(i / d.g.height(d.m), count.n) +
                                  area(j / d.g.width(d.n), 1)];
      d.expected.push_back(static_cast<std::uint32_t>(
          encode(d.to, product(decode(d.from, code), decode(fp32, scale)), {},
                 cuda_nosat)));
    }
  }
}

/// A dequantization and what the core makes of it: `codes` are cut to `from`.
dequantization solved(format from, format to, group_shape g, std::ptrdiff_t m,
                      std::ptrdiff_t n, std::uint64_t seed, words codes,
                      words scales) {
  dequantization d{from,
                   to,
                   g,
                   m,
                   n,
                   storages[seed % 4],
                   storages[seed / 4 % 4],
                   storage_bytes(from),
                   storage_bytes(to),
                   false,
                   std::move(codes),
                   std::move(scales),
                   {}};
  for (auto& c : d.codes)
    c &= static_cast<std::uint32_t>(low_bits(from.bits()));
  solve(d);
  return d;
}

void add_dequantizations(engine_case_list& all) {
  constexpr std::ptrdiff_t m = 19, n = 70;
  std::uint64_t seed = 40;
  for (const format from :
       {e4m3, e5m2, e5m6, bf16, fp32, ue8m0, e4m3fnuz, ieee(8, 3, 140),
        format{5, 2, 160, specials::fnuz}, ieee(5, 24, 15)}) {
    for (const format to : {fp32, bf16, fp16, e5m2, ieee(8, 22, 127)}) {
      std::vector<dequantization> few;
      for (const family kind : families) {
        for (const group_shape g :
             {group_shape{1, 16}, {16, 1}, {8, 8}, {0, 0}}) {
          ++seed;
          few.push_back(
              solved(from, to, g, m, n, seed, random_words(seed, area(m, n)),
                     make_numbers(kind, seed, groups_of(g, m, n).all())));
        }
      }
      all.push_back(case_of(
          fmt::format("dequantize {} to {}", name_of(from), name_of(to)),
          std::move(few)));
    }
  }
}

/// Scales of every exponent, four rows each; with some the smallest product is
/// just above a tie of BF16's subnormal numbers.
void add_scale_exponents(engine_case_list& all) {
  constexpr std::ptrdiff_t m = 1024, n = 33;
  std::uint64_t seed = 60;
  for (const format from :
       {e4m3, e5m2, e2m1, e4m3fnuz, ieee(4, 3, 7), ieee(3, 4, 3),
        format{4, 0, 0, specials::finite}, format{6, 1, 0, specials::finite},
        format{4, 3, 20, specials::finite}}) {
    std::vector<dequantization> few;
    for (const format to :
         {bf16, fp16, e5m6, e5m2, ieee(8, 2, 127), ieee(8, 7, 126),
          ieee(8, 7, 140), ieee(8, 21, 127), ieee(5, 10, 127),
          format{5, 9, 16, specials::fnuz}, format{7, 3, 63, specials::fn},
          format{3, 2, 3, specials::finite}}) {
      ++seed;
      auto codes = random_words(seed, area(m, n));
      words scales;
      for (std::uint32_t i = 0; i < m; ++i) {
        const std::uint32_t fractions[] = {
            0, 0x10001, 0x7fffff, counter_rng(seed, i).next32() & 0x7fffff};
        scales.push_back(i / 4 << 23 | fractions[i % 4]);
        auto* row = codes.data() + i * n;
        row[0] = 1;
        row[1] = static_cast<std::uint32_t>(from.max_code());
        row[2] = static_cast<std::uint32_t>(from.sign_mask());
        row[3] = row[1] | row[2];
        for (int k = 2; k < n && i % 16 > 3; ++k) {
          row[k] &= static_cast<std::uint32_t>(low_bits(from.bits()));
          if (!decode(from, row[k]).is_finite()) row[k] = 1;
        }
        for (int k = 0; k < n && i % 8 == 7; ++k) {
          row[k] &= static_cast<std::uint32_t>(from.magnitude_mask());
        }
      }
      few.push_back(solved(from, to, {1, n}, m, n, 0, std::move(codes),
                           std::move(scales)));
      few.back().out_bytes = std::max(few.back().out_bytes, 2);
    }
    all.push_back(
        case_of(fmt::format("dequantize {} by any scale", name_of(from)),
                std::move(few)));
  }
}

/// Several lines with groups across their ends, some with a scale or a code
/// that no table has, many with ties; elements wider than their codes.
void add_wide_groups(engine_case_list& all) {
  constexpr std::ptrdiff_t m = 9, n = 2100;
  std::vector<dequantization> few;
  std::uint64_t seed = 80;
  for (const int width : {31, 32, 48, 100, 1024, 2099, 3000}) {
    for (const format from : {e4m3, e5m2}) {
      ++seed;
      const group_shape g{width == 48 ? 2 : 1, width};
      auto codes = random_words(seed, area(m, n));
      for (auto& c : codes) c &= 0xbf;  // finite numbers
      codes[area(1, n) - 1] = 1;
      codes[area(3, n) + 1030] = 0xff;
      codes[area(5, n) - 1] = 0x7f;
      const auto count = groups_of(g, m, n);
      auto scales = make_numbers(family::ordinary, seed, count.all());
      for (std::size_t i = 0; i < scales.size(); ++i) {
        auto& s = scales[i];
        s &= 0x7fffffff;
        // With 1.5 a tie in FP32, not in the exact product; with 1 a tie.
        if (i % 3 == 0) s = (s & 0x7f800000) | 0x30aaab;
        if (i % 3 == 1) s = (s & 0x7f800000) | 0x8000;
      }
      // The last of a row: the smallest product is just above a tie, which
      // FP32 does not show.
      scales[area(1, count.n) - 1] =
          static_cast<std::uint32_t>(-from.quantum_exponent()) << 23 | 0x10001;
      scales[area(2, count.n)] = 0;
      auto d = solved(from, bf16, g, m, n, seed, std::move(codes),
                      std::move(scales));
      few.push_back(d);
      d.out = stored_as::dense;
      d.in = stored_as::sparse;
      few.push_back(d);
      d.in = stored_as::dense;
      few.push_back(d);
      d.out_bytes = 4;
      few.push_back(d);
      d.in_bytes = 2;
      d.out_bytes = 2;
      few.push_back(d);
      d.in_bytes = 1;
      d.broadcast = true;
      solve(d);
      few.push_back(std::move(d));
    }
  }
  all.push_back(case_of("dequantize wide groups", std::move(few)));
}

struct retile_problem {
  retiling r;
  std::ptrdiff_t m, n;
  stored_as in, out;
  words codes, scales, expected, expected_scales;
};

std::string difference_of(const retile_problem& p, const engine_calls& e) {
  const auto across = ceil_div(p.n, group_shape{1, p.r.tile}.width(p.n));
  const auto down = ceil_div(p.m, group_shape{p.r.tile, 1}.height(p.m));
  auto in = make_stored(p.in, storage_bytes(p.r.from), p.m, p.n, p.codes);
  auto in_scales = make_stored(p.in, 4, p.m, across, p.scales);
  stored codes(p.out, storage_bytes(p.r.to), p.n, p.m);
  stored scales(p.out, 4, p.n, down);
  e.retile(p.r, in.view(), in_scales.as<const std::uint32_t>(), codes.view(),
           scales.as<std::uint32_t>());
  if (scales.content() != p.expected_scales) return "scales";
  if (codes.content() != p.expected) return "codes";
  return codes.is_intact() && scales.is_intact() ? "" : "wrote beside";
}

void add_retilings(engine_case_list& all) {
  std::uint64_t seed = 50;
  for (const auto& [from, to] : {std::pair{e4m3, e4m3},
                                 {e5m6, e4m3},
                                 {e5m2, e5m2},
                                 {bf16, e4m3},
                                 {e4m3, bf16},
                                 {e4m3fnuz, e5m6},
                                 {ue8m0, e4m3},
                                 {e4m3, fp32}}) {
    for (const auto& rule : named_retile_rules) {
      std::vector<retile_problem> few;
      for (const auto& scale : named_scale_kinds) {
        for (int kind = 0; kind < 9; ++kind) {
          ++seed;
          const std::int32_t tiles[] = {16, 128, 7, 0};
          // Some with several blocks of rows and of columns, some with a last
          // group of one column.
          const bool large = seed % 16 == 0;
          const std::ptrdiff_t m = large ? 150 : 23;
          const std::ptrdiff_t n =
              large ? 270 : 57 + (kind == 7 ? 0 : static_cast<int>(seed % 4));
          const retiling r{from, to, scale.value,
                           kind == 7 ? 7 : tiles[seed / 2 % 4], rule.value};
          const auto across = ceil_div(n, group_shape{1, r.tile}.width(n));
          const auto down = ceil_div(m, group_shape{r.tile, 1}.height(m));
          retile_problem p{r,
                           m,
                           n,
                           storages[seed / 2 % 4],
                           storages[seed / 4 % 4],
                           random_words(seed, static_cast<std::size_t>(m * n)),
                           make_scales(kind, from, seed,
                                       static_cast<std::size_t>(m * across)),
                           {},
                           {}};
          for (std::size_t i = 0; kind == 7 && i < p.scales.size(); ++i) {
            // Too large in the last group alone.
            const bool last =
                static_cast<std::ptrdiff_t>(i) % across == across - 1;
            p.scales[i] =
                last ? pow2_as_fp32(std::min(top_of(from) + 1, 127)) : fp32_one;
          }
          for (auto& c : p.codes) {
            c &= static_cast<std::uint32_t>(low_bits(from.bits()));
            if (kind != 6 && !decode(from, c).is_finite()) c = 0x12;
            const auto column = (&c - p.codes.data()) % n;
            if (kind != 6 && column % 9 == 4) c = 0;
            if (kind == 8) c &= 1;
          }
          p.expected.resize(p.codes.size());
          p.expected_scales.resize(static_cast<std::size_t>(n * down));
          retile(r, codes_in(p.codes.data(), m, n),
                 {p.scales.data(), m, across},
                 codes_out(p.expected.data(), n, m),
                 {p.expected_scales.data(), n, down});
          few.push_back(std::move(p));
        }
      }
      all.push_back(case_of(fmt::format("retile {} to {}, {}", name_of(from),
                                        name_of(to), rule.name),
                            std::move(few)));
    }
  }
}

}  // namespace

engine_case_list retile_cases() {
  engine_case_list all;
  add_dequantizations(all);
  add_scale_exponents(all);
  add_wide_groups(all);
  add_retilings(all);
  return all;
}

}  // namespace zeroulp::conformance
