// Fuzzes parse_npy: the bytes of a .npy file.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/libfuzzer/contract.hpp"

namespace zeroulp::fuzz {
namespace {

std::vector<std::byte> bytes_of(const void* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size != 0) std::memcpy(bytes.data(), data, size);
  return bytes;
}

/// An array that was read can be written, and then reads back the same.
void check(const std::vector<std::byte>& file) {
  array a;
  if (!accepts([&] { a = parse_npy(file, "fuzzed.npy"); })) return;
  std::size_t count = 1;
  for (const std::size_t dim : a.shape) count *= dim;
  demand(a.data.size() == count * size_of(a.type),
         "the data is that of the shape");
  const std::string header = npy_header(a);
  demand(header.size() % 64 == 0, "the data is aligned");
  auto written = bytes_of(header.data(), header.size());
  written.insert(written.end(), a.data.begin(), a.data.end());
  const array again = parse_npy(written, "written.npy");
  demand(again.type == a.type && again.shape == a.shape && again.data == a.data,
         "an array is read back as it was written");
}

}  // namespace
}  // namespace zeroulp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  zeroulp::fuzz::check(zeroulp::fuzz::bytes_of(data, size));
  return 0;
}
