#include "conformance/cases/codes.hpp"

#include <algorithm>

#include "conformance/oracles/format_layout.hpp"

namespace zeroulp::conformance {

std::vector<named_format> named_formats_up_to(int bits) {
  std::vector<named_format> chosen;
  for (const named_format& f : named_formats) {
    if (oracle::layout_of(f.value).bits <= bits) chosen.push_back(f);
  }
  return chosen;
}

std::vector<format> what_if_formats() {
  return {
      {4, 3, 7, specials::ieee},    {5, 2, 15, specials::fn},
      {5, 2, 15, specials::finite}, {3, 4, 3, specials::fn},
      {4, 0, 7, specials::fn},      {4, 0, 8, specials::fnuz},
      {3, 0, 3, specials::finite},  {1, 2, 0, specials::finite},
      {1, 2, 1, specials::ieee},    {1, 3, 1, specials::fn},
      {2, 1, 1, specials::ieee},    {2, 5, -3, specials::fnuz},
      {6, 3, 40, specials::ieee},   {4, 0, 7, specials::scale},
      {8, 0, 100, specials::scale}, {7, 5, 63, specials::fn},
  };
}

std::vector<std::uint64_t> special_codes(format f) {
  const auto l = oracle::layout_of(f);
  const std::uint64_t normal = std::uint64_t{1} << f.man_bits;
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.man_bits;
  const std::uint64_t quiet = normal >> 1;
  std::vector<std::uint64_t> codes;
  for (const std::uint64_t code : {std::uint64_t{0},
                                   std::uint64_t{1},
                                   std::uint64_t{2},
                                   std::uint64_t{3},
                                   normal - 1,
                                   normal,
                                   normal + 1,
                                   one - 1,
                                   one,
                                   one + 1,
                                   one + quiet,
                                   one + normal - 1,
                                   one + normal,
                                   one + normal + 1,
                                   l.largest - 1,
                                   l.largest,
                                   l.largest + 1,
                                   l.largest + 2,
                                   l.largest + 1 + quiet,
                                   l.magnitude_mask - 1,
                                   l.magnitude_mask}) {
    if (code > l.magnitude_mask) continue;
    codes.push_back(code);
    codes.push_back(code | l.sign_mask);
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

std::uint64_t random_code(format f, counter_rng& rng) {
  const auto l = oracle::layout_of(f);
  const std::uint64_t all = l.magnitude_mask | l.sign_mask;
  const std::uint64_t bits = rng.next() & all;
  const std::uint64_t fractions = (std::uint64_t{1} << f.man_bits) - 1;
  switch (rng.below(6)) {
    case 0: {  // a few leading bits
      const int kept = rng.between(0, 4);
      return bits & ~(fractions >> kept);
    }
    case 1:  // trailing zeros or ones, so that ties and carries occur
      return rng.one_in(2) ? bits | (fractions >> rng.between(1, 12))
                           : bits & ~(fractions >> rng.between(1, 12));
    case 2: {  // near an end of the range
      const std::uint64_t away = bits & (fractions * 4 + 3);
      const std::uint64_t code =
          rng.one_in(2) ? away : l.largest - std::min(l.largest, away);
      return code | (bits & l.sign_mask);
    }
    default:
      return bits;
  }
}

}  // namespace zeroulp::conformance
