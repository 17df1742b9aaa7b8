#include "src/base/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace zeroulp {
namespace {

/// The first 32 fraction bits of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using state = std::array<std::uint32_t, 8>;

void take_block(state& h, const unsigned char* block) {
  using std::rotr;
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | block[4 * i + j];
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const auto x = w[i - 15];
    const auto y = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) +
           (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, last] = h;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto t1 = last + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) +
                    ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const auto t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
                    ((a & b) ^ (a & c) ^ (b & c));
    last = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const state next = {a, b, c, d, e, f, g, last};
  for (std::size_t i = 0; i < 8; ++i) h[i] += next[i];
}

void take_blocks_by_words(state& h, const unsigned char* block,
                          std::size_t count) {
  for (; count != 0; --count, block += 64) take_block(h, block);
}

#if defined(__x86_64__)

/// Whether the processor has the SHA extensions: leaf 7, EBX bit 29; SSSE3 and
/// SSE4.1 besides, which those that have them do.
bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0 &&
         __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 9 & 1) != 0 &&
         (c >> 19 & 1) != 0;
}

/// The same by the processor's instructions: four rounds a step, on the states
/// (A, B, E, F) and (C, D, G, H).
__attribute__((target("sha,ssse3,sse4.1"))) void take_blocks_by_instructions(
    state& h, const unsigned char* block, std::size_t count) {
  const auto load = [](const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  };
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i badc = _mm_shuffle_epi32(load(h.data()), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(load(h.data() + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; count != 0; --count, block += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(load(block + 16 * i), swap);
    }
    for (std::size_t step = 0; step < 16; ++step) {
      __m128i& now = w[step % 4];
      if (step >= 4) {
        // w[t] of w[t - 16], w[t - 15], w[t - 7] and w[t - 2].
        const __m128i& last = w[(step + 3) % 4];
        const __m128i seven = _mm_alignr_epi8(last, w[(step + 2) % 4], 4);
        now = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(step + 1) % 4]), seven),
            last);
      }
      const __m128i sum =
          _mm_add_epi32(now, load(round_constants.data() + 4 * step));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  const auto store = [](void* p, __m128i v) {
    _mm_storeu_si128(static_cast<__m128i*>(p), v);
  };
  store(h.data(), _mm_blend_epi16(feba, dchg, 0xf0));
  store(h.data() + 4, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool has_instructions() { return false; }

void take_blocks_by_instructions(state&, const unsigned char*, std::size_t) {}

#endif

}  // namespace

sha256::sha256(bool by_instructions) {
  static const bool has = has_instructions();
  by_instructions_ = by_instructions && has;
}

void sha256::take(const unsigned char* blocks, std::size_t count) {
  by_instructions_ ? take_blocks_by_instructions(state_, blocks, count)
                   : take_blocks_by_words(state_, blocks, count);
}

void sha256::add(std::string_view bytes) {
  bytes_ += bytes.size();
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  if (held_ != 0) {
    const std::size_t part = std::min(left, rest_.size() - held_);
    std::copy_n(data, part, rest_.data() + held_);
    held_ += part;
    data += part;
    left -= part;
    if (held_ < rest_.size()) return;
    take(rest_.data(), 1);
    held_ = 0;
  }
  take(data, left / 64);
  data += left / 64 * 64;
  left %= 64;
  std::copy_n(data, left, rest_.data());
  held_ = left;
}

std::string sha256::hex() {
  const std::uint64_t bits = std::uint64_t{8} * bytes_;
  std::string end = "\x80";
  while ((held_ + end.size()) % 64 != 56) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) {
    end += static_cast<char>(bits >> shift & 0xff);
  }
  add(end);
  std::string text;
  for (const auto word : state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  sha256 h;
  h.add(bytes);
  return h.hex();
}

}  // namespace zeroulp
