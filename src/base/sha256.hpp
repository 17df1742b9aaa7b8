// Defines `sha256`, the checksum of recorded files (FIPS 180-4).

#ifndef ZEROULP_SRC_BASE_SHA256_HPP_
#define ZEROULP_SRC_BASE_SHA256_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zeroulp {

/// The SHA-256 of bytes that come in parts.
class sha256 {
 public:
  /// By the processor's instructions where there are any; tests ask for none.
  explicit sha256(bool by_instructions = true);
  void add(std::string_view bytes);
  /// As sha256sum prints it: 64 digits. Nothing may be added afterwards.
  std::string hex();

 private:
  void take(const unsigned char* blocks, std::size_t count);

  bool by_instructions_ = false;
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                         0xa54ff53a, 0x510e527f, 0x9b05688c,
                                         0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_{};  ///< of a block that is not full
  std::size_t held_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Returns the SHA-256 of `bytes` as sha256sum prints it: 64 digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_SHA256_HPP_
