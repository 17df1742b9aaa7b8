// Defines `sha256_hex`, the checksum of recorded files (FIPS 180-4).

#ifndef ZEROULP_SRC_BASE_SHA256_HPP_
#define ZEROULP_SRC_BASE_SHA256_HPP_

#include <string>
#include <string_view>

namespace zeroulp {

/// Returns the SHA-256 of `bytes` as sha256sum prints it: 64 digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_SHA256_HPP_
