// Uses the headers alone: no library is linked for this file.

#include <cstdint>

#include "zeroulp/core/convert.hpp"

std::uint64_t one_and_a_half();

std::uint64_t one_and_a_half() {
  return zeroulp::encode(zeroulp::e4m3, zeroulp::decode(1.5f));
}
