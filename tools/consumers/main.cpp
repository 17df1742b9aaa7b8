// Fails unless the headers and the library that were found work together.

#include <cstdint>
#include <cstdio>

#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"

std::uint64_t one_and_a_half();

int main() {
  static_assert(zeroulp::encode(zeroulp::e5m2, zeroulp::decode(1.5f)) == 0x3e);
  const bool works = one_and_a_half() == 0x3c &&
                     zeroulp::descr_of(zeroulp::dtype::f32) == "<f4";
  std::puts(works ? "works" : "does not work");
  return works ? 0 : 1;
}
