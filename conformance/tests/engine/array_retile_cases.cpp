// Dequantization and re-tiling by the vector kernels.

#include "conformance/tests/engine/engine_case_parts.hpp"

namespace zeroulp::conformance {
namespace {

struct dequantization {
  format from;
  group_shape g;
  std::ptrdiff_t m, n;
  stored_as in, out;
  words codes, scales, expected;
};

std::string difference_of(const dequantization& d, const engine_calls& e) {
  const auto count = groups_of(d.g, d.m, d.n);
  auto in = make_stored(d.in, storage_bytes(d.from), d.m, d.n, d.codes);
  auto scales = make_stored(d.in, 4, count.m, count.n, d.scales);
  stored out(d.out, 4, d.m, d.n);
  e.dequantize(d.from, d.g, in.view(), scales.as<const std::uint32_t>(),
               out.as<std::uint32_t>());
  return out.content() != d.expected ? "values"
         : !out.is_intact()          ? "wrote beside the matrix"
                                     : "";
}

void add_dequantizations(engine_case_list& all) {
  constexpr std::ptrdiff_t m = 19, n = 70;
  std::uint64_t seed = 40;
  for (const format from :
       {e4m3, e5m2, e5m6, bf16, fp32, ue8m0, e4m3fnuz,
        format{8, 3, 140, specials::ieee}, format{5, 2, 160, specials::fnuz},
        format{5, 24, 15, specials::ieee}}) {
    std::vector<dequantization> few;
    for (const family kind : families) {
      for (const group_shape g :
           {group_shape{1, 16}, {16, 1}, {8, 8}, {0, 0}}) {
        ++seed;
        const auto count = groups_of(g, m, n);
        dequantization d{from,
                         g,
                         m,
                         n,
                         storages[seed % 4],
                         storages[seed / 4 % 4],
                         random_words(seed, static_cast<std::size_t>(m * n)),
                         make_numbers(kind, seed, count.all()),
                         {}};
        for (auto& c : d.codes) {
          c &= static_cast<std::uint32_t>(low_bits(from.bits()));
        }
        d.expected.resize(d.codes.size());
        dequantize(from, g, codes_in(d.codes.data(), m, n),
                   {d.scales.data(), count.m, count.n},
                   {d.expected.data(), m, n});
        few.push_back(std::move(d));
      }
    }
    all.push_back(
        case_of(fmt::format("dequantize {}", name_of(from)), std::move(few)));
  }
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
  add_retilings(all);
  return all;
}

}  // namespace zeroulp::conformance
