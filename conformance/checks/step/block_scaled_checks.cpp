// The step with block scales against the rational oracle (SPEC T17 to T20).

#include "conformance/checks/step/block_scaled_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/step_cases.hpp"
#include "conformance/cases/step_paths.hpp"
#include "conformance/oracles/rational_step.hpp"
#include "zeroulp/block_scaled.hpp"

namespace zeroulp::conformance {
namespace {

/// Those of one GPU, and Hopper's unit with scales.
std::vector<named_block_scaled> distinct_block_scaled_paths() {
  auto paths = specified_block_scaled_paths();
  paths.resize(paths.size() / 2);
  const format a{4, 3, 7, specials::fn};
  const format b{5, 2, 15, specials::ieee};
  for (const int f : {13, 25, 34}) {
    paths.push_back({fmt::format("whatif.block_scaled_f{}.e4m3.e5m2.f32", f),
                     {{a, b, specified_fraction(f)},
                      block_scale::power_of_two,
                      128,
                      block_terms::products}});
  }
  return paths;
}

/// How the scales of a case are drawn.
enum class scale_family : std::uint8_t { near_one, any, low, high, with_nan };
constexpr int scale_families = 5;

std::uint64_t scale_code(block_scale s, scale_family family, counter_rng& rng) {
  const int one = s == block_scale::power_of_two ? 127 : 0x38;
  const int last = s == block_scale::power_of_two ? 254 : 0x7e;
  const int spread = s == block_scale::power_of_two ? 6 : 40;
  const auto drawn = [&](int low, int high) {
    return static_cast<std::uint64_t>(rng.between(low, high));
  };
  // Bit 7 of ue4m3 means nothing.
  const std::uint64_t sign =
      s == block_scale::unsigned_e4m3 && rng.one_in(4) ? 0x80 : 0;
  // Of ue4m3, zero.
  if (rng.one_in(12)) return sign;
  switch (family) {
    case scale_family::near_one:
      return sign | drawn(one - spread, one + spread);
    case scale_family::low:
      return sign | drawn(0, spread);
    case scale_family::high:
      return sign | drawn(last - spread, last);
    case scale_family::with_nan:
      if (rng.one_in(4)) return sign | static_cast<std::uint64_t>(last + 1);
      break;
    case scale_family::any:
      break;
  }
  return sign | drawn(0, last);
}

struct scaled_case {
  step_case s;
  std::vector<std::uint64_t> scales_a;
  std::vector<std::uint64_t> scales_b;
};

int scale_place(block_scale s, std::uint64_t code) {
  if (s == block_scale::power_of_two) return static_cast<int>(code) - 127;
  return std::max(static_cast<int>(code % 128) / 8, 1) - 7;
}

/// A c whose place is near that of the largest scales, or within a bit or two
/// of where it is cut to nothing.
std::uint64_t c_near_scales(const block_scaled_path& p, const scaled_case& x,
                            counter_rng& rng) {
  int place = p.unscaled.acc.exponent_floor;
  for (std::size_t n = 0; n < x.scales_a.size(); ++n) {
    place = std::max(place, scale_place(p.scale, x.scales_a[n]) +
                                scale_place(p.scale, x.scales_b[n]));
  }
  const int bits = p.unscaled.acc.fraction_bits;
  place +=
      rng.one_in(2) ? rng.between(-3, 8) : rng.between(-bits - 3, 3 - bits);
  const int e = std::clamp(place + 127, 0, 254);
  const auto fraction = static_cast<std::uint64_t>(rng.below(1 << 23));
  const std::uint64_t sign = rng.one_in(2) ? 0x80000000 : 0;
  return sign | static_cast<std::uint64_t>(e) << 23 |
         (rng.one_in(3) ? 0 : fraction);
}

/// In some groups of 16 the later half of the products undoes the first.
void cancel_sums(const block_scaled_path& p, step_case& s, counter_rng& rng) {
  const std::uint64_t sign = std::uint64_t{1} << (p.unscaled.a.bits() - 1);
  for (int first = 0; first + 16 <= s.count; first += 16) {
    if (!rng.one_in(2)) continue;
    for (int k = first; k < first + 8; ++k) {
      const auto at = static_cast<std::size_t>(k);
      s.a[at + 8] = s.a[at] ^ sign;
      s.b[at + 8] = s.b[at];
    }
  }
}

scaled_case make_scaled_case(const block_scaled_path& p, int family, int scales,
                             counter_rng rng) {
  scaled_case x;
  x.s = make_step_case(p.unscaled, static_cast<step_family>(family),
                       counter_rng(rng.next(), 0));
  if (rng.one_in(3)) cancel_sums(p, x.s, rng);
  const auto blocks = static_cast<std::size_t>(ceil_div(x.s.count, p.block));
  const auto how = static_cast<scale_family>(scales);
  for (std::size_t n = 0; n < blocks; ++n) {
    x.scales_a.push_back(scale_code(p.scale, how, rng));
    x.scales_b.push_back(scale_code(p.scale, how, rng));
  }
  if (rng.one_in(2)) x.s.c = c_near_scales(p, x, rng);
  return x;
}

std::string hex_bytes(const std::vector<std::uint64_t>& codes,
                      std::size_t count) {
  std::string text;
  for (std::size_t k = 0; k < std::min(count, codes.size()); ++k) {
    text += fmt::format("{:02x}", codes[k]);
  }
  return text;
}

bool count_case(const implementation& i, const effort& e,
                const named_block_scaled& p, const scaled_case& x, verdict& v) {
  const step_case& s = x.s;
  const std::uint64_t got =
      i.block_scaled_step(p.value, s.a.data(), s.b.data(), x.scales_a.data(),
                          x.scales_b.data(), s.count, s.c);
  const std::uint64_t expected =
      oracle::rational_step(p.value, s.a.data(), s.b.data(), x.scales_a.data(),
                            x.scales_b.data(), s.count, s.c);
  v.compare(got, expected, [&] {
    const auto count = static_cast<std::size_t>(s.count);
    return fmt::format(
        "{} a={} b={} sa={} sb={} c={:08x} got {:08x} "
        "expected {:08x}",
        p.name, hex_bytes(s.a, count), hex_bytes(s.b, count),
        hex_bytes(x.scales_a, count), hex_bytes(x.scales_b, count), s.c, got,
        expected);
  });
  return !e.stop_early || v.failures == 0;
}

verdict check_scaled_cases(const implementation& i, const effort& e) {
  const std::uint64_t rounds = e.level == 0   ? 4
                               : e.level == 1 ? 60
                               : e.level == 2 ? 1000
                                              : 20000;
  verdict v;
  std::uint64_t index = 0;
  const auto paths = distinct_block_scaled_paths();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const auto& p : paths) {
      for (int n = 0; n < step_families * scale_families; ++n) {
        const auto x =
            make_scaled_case(p.value, n % step_families, n / step_families,
                             counter_rng(e.seed, index++));
        if (!count_case(i, e, p, x, v)) return v;
      }
    }
  }
  return v;
}

verdict check_scaled_rows(const implementation&, const effort&) {
  verdict v;
  const auto specified = specified_block_scaled_paths();
  const auto& rows = all_block_scaled_paths();
  v.count(rows.size() == specified.size(),
          [&] { return fmt::format("{} rows", rows.size()); });
  for (const auto& p : specified) {
    const bool found =
        std::any_of(rows.begin(), rows.end(), [&p](const auto& row) {
          return row.name == p.name && row.value == p.value;
        });
    v.count(found, [&] { return p.name + " is not a row"; });
    v.count(is_valid(p.value), [&] { return p.name + " is not valid"; });
  }
  return v;
}

}  // namespace

check_list block_scaled_checks() {
  return {
      {"BlockScaledPathsAreTheSpecifiedRows", "T20", "definition", 0,
       check_scaled_rows},
      {"BlockScaledStepEqualsTheRationalOnRandomCases", "T17 T18 T19",
       "rational", 0, check_scaled_cases},
  };
}

}  // namespace zeroulp::conformance
