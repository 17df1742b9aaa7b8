#include "conformance/oracles/conversion_table.hpp"

#include "conformance/oracles/mpfr_oracle.hpp"

namespace zeroulp::oracle {
namespace {

/// Adds the runs of codes from `first` to `last`, on which the conversion is
/// monotone.
void add_runs(conversion_table& table, std::uint32_t first, std::uint32_t last,
              format to, rounder r, policy p) {
  const auto result = [&](std::uint64_t code) {
    return static_cast<std::uint32_t>(convert(fp32, code, to, r, p));
  };
  for (std::uint64_t at = first; at <= last;) {
    const std::uint32_t here = result(at);
    if (table.empty() || table.back().result != here) {
      table.push_back({static_cast<std::uint32_t>(at), here});
    }
    // Gallop, then halve: `same` has this result, `other` another.
    std::uint64_t same = at;
    std::uint64_t other = at + 1;
    std::uint64_t leap = 1;
    while (other <= last && result(other) == here) {
      same = other;
      leap *= 2;
      other = same + leap;
    }
    if (other > last) other = std::uint64_t{last} + 1;
    while (other - same > 1) {
      const std::uint64_t middle = same + (other - same) / 2;
      (result(middle) == here ? same : other) = middle;
    }
    at = other;
  }
}

}  // namespace

conversion_table make_conversion_table(format to, rounder r, policy p) {
  conversion_table table;
  for (const std::uint32_t sign : {0u, 0x80000000u}) {
    add_runs(table, sign, sign | 0x7f7fffffu, to, r, p);
    add_runs(table, sign | 0x7f800000u, sign | 0x7f800000u, to, r, p);
    add_runs(table, sign | 0x7f800001u, sign | 0x7fffffffu, to, r, p);
  }
  return table;
}

}  // namespace zeroulp::oracle
