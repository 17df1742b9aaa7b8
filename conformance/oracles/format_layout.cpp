// Computes what the fields of a format imply.

#include "conformance/oracles/format_layout.hpp"

namespace zeroulp::oracle {
namespace {

constexpr std::uint64_t ones(int bits) {
  return (std::uint64_t{1} << bits) - 1;
}

}  // namespace

layout layout_of(format f) {
  layout l{};
  l.magnitude_bits = f.exp_bits + f.man_bits;
  l.magnitude_mask = ones(l.magnitude_bits);
  const bool scale = f.kind == specials::scale;
  l.sign_mask = scale ? 0 : std::uint64_t{1} << l.magnitude_bits;
  l.bits = l.magnitude_bits + (scale ? 0 : 1);
  l.codes = l.bits >= 64 ? 0 : std::uint64_t{1} << l.bits;
  switch (f.kind) {
    case specials::ieee:  // all of the highest exponent is special
      l.largest = (ones(f.exp_bits) << f.man_bits) - 1;
      break;
    case specials::fn:
    case specials::scale:  // all ones is NaN
      l.largest = l.magnitude_mask - 1;
      break;
    case specials::fnuz:
    case specials::finite:
      l.largest = l.magnitude_mask;
      break;
  }
  return l;
}

}  // namespace zeroulp::oracle
