// BF16 -> E5M6 -> E4M3 rounds twice. How often does that show?

#include <fmt/format.h>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/retile_oracle.hpp"

namespace zeroulp::conformance {
namespace {

constexpr std::uint32_t bf16_448 = 0x43e0;
constexpr std::ptrdiff_t side = 128;

/// Every BF16 number from 0 to 448, in 128 x 128 blocks with 448 on their
/// diagonals: it is the amax of every row tile and every column tile, and so
/// the scales are 2^-7 (E5M6) and 1 (E4M3).
oracle::grid every_number() {
  const auto off_diagonal = side * (side - 1);
  oracle::grid x(side * ((bf16_448 + off_diagonal - 1) / off_diagonal), side,
                 bf16_448);
  std::uint32_t next = 0;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < side; ++j) {
      if (i % side != j && next < bf16_448) x(i, j) = next++;
    }
  }
  return x;
}

constexpr quantizer to_e5m6{
    bf16, e5m6, zeroulp_convention, scale_kind::pow2, {1, 128}};
constexpr quantizer to_e4m3{
    bf16, e4m3, zeroulp_convention, scale_kind::pow2, {1, 128}};
constexpr retiling to_columns{e5m6, e4m3, scale_kind::pow2, 128,
                              retile_rule::amax};

std::uint64_t differences(const oracle::grid& a, const oracle::grid& b) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < a.words.size(); ++at) {
    count += a.words[at] != b.words[at] ? 1u : 0u;
  }
  return count;
}

std::uint64_t count_by_oracle(const oracle::grid& x) {
  const auto cached = oracle::quantize(to_e5m6, x);
  const auto twice = oracle::retile(to_columns, cached.codes, cached.scales);
  const auto once = oracle::quantize(to_e4m3, oracle::flipped(x));
  return differences(twice.codes, once.codes);
}

}  // namespace

std::uint64_t count_double_roundings(const implementation& i) {
  const auto x = every_number();
  const auto out = [](oracle::grid& g) {
    return codes_out(g.words.data(), g.rows, g.cols);
  };
  const codes_in input(x.words.data(), x.rows, x.cols);
  oracle::grid cached(x.rows, side);
  oracle::grid cached_scales(x.rows, 1);
  i.quantize(to_e5m6, input, out(cached), out(cached_scales));
  oracle::grid twice(side, x.rows);
  oracle::grid scales(side, x.rows / side);
  i.retile(to_columns, out(cached), out(cached_scales), out(twice),
           out(scales));
  oracle::grid once(side, x.rows);
  i.quantize(to_e4m3, input.transposed(), out(once), out(scales));
  return differences(twice, once);
}

verdict double_rounding_through_e5m6(const implementation& i, const effort&) {
  verdict v;
  v.exhaustive = true;
  const auto x = every_number();
  const auto got = count_double_roundings(i);
  const auto want = count_by_oracle(x);
  v.cases = x.words.size() - 1;
  v.compare(got, want, [&] {
    return fmt::format(
        "BF16 -> E5M6 -> E4M3 differs from BF16 -> E4M3 in {} of the {} "
        "numbers up to 448, not in {}",
        got, bf16_448, want);
  });
  return v;
}

}  // namespace zeroulp::conformance
