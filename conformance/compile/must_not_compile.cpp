// What the types of the core must refuse. CTest compiles this file once
// for each case; only case 0 may compile.

#include <cstdint>

#include "zeroulp/core/arith.hpp"
#include "zeroulp/core/convert.hpp"

using namespace zeroulp;

#if ZEROULP_CASE == 0
std::uint64_t f(std::uint64_t code) {
  return encode(e4m3, decode(e5m2, code), {rounding::up}, ocp_saturate);
}
#elif ZEROULP_CASE == 1  // a format is no number
auto f() { return e4m3 + e4m3; }
#elif ZEROULP_CASE == 2  // neither is a decoded value: say which format rounds
auto f(unpacked a, unpacked b) { return a + b; }
#elif ZEROULP_CASE == 3  // only an exact value is encoded
auto f() { return encode(e4m3, 1.5); }
#elif ZEROULP_CASE == 4  // an integer names no rounding mode
auto f(unpacked x) { return encode(e4m3, x, {3}); }
#elif ZEROULP_CASE == 5  // bits are reread in their own size
auto f(double x) { return bit_cast<std::uint32_t>(x); }
#elif ZEROULP_CASE == 6  // a code without its format has no value
auto f(std::uint64_t code) { return decode(code); }
#endif
