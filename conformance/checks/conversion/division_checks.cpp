// Holds the approximate division (Q8) against what an H200 was recorded to do.

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "conformance/contract/registry.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {
namespace {

/// Digests of the recorded MUFU.RCP of 1.f, one for each value of the highest
/// seven bits of f: for the 2^16 results in order, FNV-1a on their FP32 bits.
constexpr std::uint64_t recorded_digests[128] = {
    0xc3631ade54533953, 0xb449437d911aac23, 0x905d259e3a7d20b0,
    0xfb4b19bfffb0119d, 0xfa9755e78f53d55e, 0x38aa403e8a62ea76,
    0x1f5b05ce3b66113b, 0xe288c5487e10d728, 0x554f1931614bbe5b,
    0xcc54b7ee122ad080, 0xdba586472e8258bc, 0xc1dfedddec53d835,
    0x678c77c9bbae7e62, 0x8341360483b376ff, 0x08b8f7ea55585718,
    0xb47d6f1b49e9f28d, 0xe23b1e523723a37f, 0x64b1255914874381,
    0x5ce18f1a3acf0529, 0x7fa1167c77e25acb, 0x0004cc56f726f2b9,
    0xe57bb5b53e8bd918, 0x97b93d694537974e, 0x549da71668e35b95,
    0xe248556582578a3e, 0x2a5e221e27603fc1, 0xba7add3ce9984e14,
    0xfa8f2700f7286e12, 0x59fa4ffe7ef9f702, 0x6bc68be2b604a50b,
    0x6f0db381f598df95, 0x38ced7226d412771, 0x913abf8c09948436,
    0x19136bde1daa27ca, 0xb2a02f1259d8e448, 0x608ed542a2ab55bb,
    0x9f42c4039e07c7c1, 0x610e17e766f76f33, 0xf03241d82f0f1e7e,
    0x8a29388574958a2b, 0x648b14c158188c90, 0x5d787fe87c04c35c,
    0x636b306a122f7582, 0xab00407ab4fc1bec, 0x95ee7a8a5003d646,
    0xd6d2d2b260931ca5, 0x63927fddc23ca282, 0x46bfbbcadf1cae9e,
    0x0888b8619952da41, 0x02faa66f7fb7e849, 0x7b1bddcc11a500d9,
    0x22facd32650e9eed, 0xe5b070161a2fc2df, 0x6fcc429037aaeca0,
    0xbee7a191306071af, 0x339d4ea767277ea6, 0x4f5ffeea82c6f3fc,
    0xfc84947f0a88797b, 0xd9ec36cee559fee1, 0x22e17f8a5f11c0f7,
    0x9c89720b6a35558e, 0xff0c9d9df663e8e7, 0x869e6254b3df4ddc,
    0xf2dc1b57e1cd0aec, 0x8f4b33eabd6b5798, 0x23ece2237c88529c,
    0xe35cb5d9edc3656c, 0x9f1bc415f4b748f6, 0x16ee1fb6529048e3,
    0xf17c9dd93a8ae5e8, 0xf6f581136d2c314e, 0x1a3c9159f5848e9d,
    0x7d5771af356dea79, 0x02606d435bda3f71, 0xc289914133a74112,
    0x7ea084c1a87ef561, 0x89d247778595125b, 0x367992b8e1cd537d,
    0x69c8e175adb347bb, 0x83b7f7029248a6cb, 0xd00f28de3801c538,
    0xa669afdf9d3d47c6, 0xc6478fc789143e7c, 0x8af3cf7f29694129,
    0x69312238bda9409a, 0xf5c64456662add6e, 0xb6ff38c65e78e496,
    0x87e13a38ffedcebe, 0xe1f8f6618bb9de19, 0xdd3ab785ac28dbd9,
    0xfaa2053320b890fa, 0x22fe0edde2487117, 0xb51295bc46192efe,
    0xdcbb989ed1a0c279, 0xc4c33a1e86cfc698, 0x625800ffcd79037f,
    0x4126ff630021b465, 0xa5bbc0aee7aea1ac, 0xbe9492e498b5a13d,
    0x68f4dda7810136d0, 0x49cc9d914c4c9071, 0x3cd4e7c8dd468dbd,
    0x1cef2b3fa128444a, 0xd82d53af5dec8f09, 0x7bace19e63713c91,
    0xfc287866019a80d4, 0xf8591a0ae8b5a80c, 0xf96bc3cbaaf4dca3,
    0x190a3b7cf27ac90a, 0xac307941459961b3, 0xa577472f1e23af27,
    0xc63e1ec78716f086, 0xec32d7ab0c1f9fe4, 0x9dbfdd1b0f360113,
    0x7ff65015b3d3da9a, 0x9d7501155bba0ee8, 0xe0391afc7422f661,
    0x523077399cad4cbb, 0x3c2684c554f5f9d0, 0xb0849d652ead51ef,
    0x23faeb889c3d5db0, 0x718805aac0402b81, 0x51a745b306bdf522,
    0x135f2b24aefb1c22, 0x35654b19432c3cfc, 0x57db1773c89714f5,
    0xbd70cf91f910cc43, 0x1ecdca278d922523};

/// Some recorded reciprocals, FP32 bits: of what, and what.
struct recorded_reciprocal {
  std::uint32_t of;
  std::uint32_t is;
};
constexpr recorded_reciprocal recorded[] = {
    {0x3f800000, 0x3f800000}, {0x3f800001, 0x3f7ffffe},
    {0x3f800002, 0x3f7ffffc}, {0x3f802145, 0x3f7fbd87},
    {0x3f82e64c, 0x3f7a544b}, {0x3f85cb93, 0x3f74e95f},
    {0x3f863db1, 0x3f74192d}, {0x3f86e733, 0x3f72e676},
    {0x3f87c862, 0x3f7153a1}, {0x3f8ed03f, 0x3f657237},
    {0x3f90c69a, 0x3f625610}, {0x3f930c5c, 0x3f5ed6a0},
    {0x3f96bf94, 0x3f595e6e}, {0x3f98721b, 0x3f56f2da},
    {0x3f9e046e, 0x3f4f5ea4}, {0x3fa1b1c5, 0x3f4aa764},
    {0x3fa39301, 0x3f485330}, {0x3fa4205a, 0x3f47a6aa},
    {0x3fa49523, 0x3f4718ff}, {0x3fb1123b, 0x3f390e35},
    {0x3fb23a50, 0x3f37dac8}, {0x3fb448d9, 0x3f35c1d2},
    {0x3fb7ac5c, 0x3f32675b}, {0x3fbc0356, 0x3f2e492a},
    {0x3fbf1b60, 0x3f2b76d7}, {0x3fc1f630, 0x3f28f0cb},
    {0x3fc91c91, 0x3f22ef36}, {0x3fd0634b, 0x3f1d3ec8},
    {0x3fd0ab82, 0x3f1d085d}, {0x3fd380d4, 0x3f1aedd8},
    {0x3fd4dac5, 0x3f19f20b}, {0x3fd53b1c, 0x3f19ac7d},
    {0x3fd5dc72, 0x3f19388f}, {0x3fd69dc1, 0x3f18ae8d},
    {0x3fe0087b, 0x3f12439b}, {0x3fe61aaa, 0x3f0e67b3},
    {0x3fe70a55, 0x3f0dd3fa}, {0x3fe76a9a, 0x3f0d98fa},
    {0x3fec0fc3, 0x3f0acfae}, {0x3ff2e719, 0x3f06e6d8},
    {0x3ffcb222, 0x3f01ac77}, {0x3ffd6108, 0x3f0152f4},
    {0x3fffe500, 0x3f000d82}, {0x3fffffff, 0x3f000001}};

verdict every_significand(const implementation& i, const effort& e) {
  verdict v;
  v.exhaustive = e.level > 0;
  const std::uint32_t stride = e.level > 0 ? 1 : 16;
  for (auto block = static_cast<std::uint32_t>(e.seed % stride); block < 128;
       block += stride) {
    std::uint64_t digest = 0xcbf29ce484222325;
    for (std::uint32_t low = 0; low < 0x10000; ++low) {
      const std::uint32_t s = 0x3f800000u | block << 16 | low;
      digest = (digest ^ i.approximate_quotient(fp32_one, s)) * 0x100000001b3;
    }
    v.cases += 0xffff;
    v.compare(digest, recorded_digests[block], [&] {
      return fmt::format(
          "1 / s, s from {:08x}: digest {:016x}, recorded {:016x}",
          0x3f800000u | block << 16, digest, recorded_digests[block]);
    });
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

/// Q8 on the host's FPU: scaled, x * rcp(s), rounded once.
std::uint32_t expected_quotient(std::uint32_t x_bits,
                                const recorded_reciprocal& r, int exponent,
                                bool negative) {
  volatile float x = bit_cast<float>(x_bits);
  // |s| = 1.f * 2^exponent is brought to where its reciprocal is normal.
  const float largest = 0x1p126f;
  const float s = std::ldexp(bit_cast<float>(r.of), exponent);
  int scaled = exponent;
  if (s > largest) {
    x = x * 0.25f;
    scaled -= 2;
  } else if (s < 0x1p-126f) {
    x = x * 0x1p24f;
    scaled += 24;
  }
  volatile float reciprocal = std::ldexp(bit_cast<float>(r.is), -scaled);
  if (negative) reciprocal = -reciprocal;
  volatile float q = x * reciprocal;
  return std::isnan(q) ? 0x7fffffffu
                       : bit_cast<std::uint32_t>(static_cast<float>(q));
}

verdict quotients(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0 ? 20'000 : 2'000'000;
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    const auto& r = recorded[rng.below(std::size(recorded))];
    const int exponent =
        rng.one_in(4) ? rng.between(124, 127) : rng.between(-130, 127);
    // Below the normal numbers s must be exact for its reciprocal to be known.
    if (exponent < -126 && (r.of & low_bits(-126 - exponent)) != 0) continue;
    const bool negative = rng.one_in(2);
    std::uint32_t x = rng.next32();
    if (rng.one_in(8)) x &= 0xff800000u;
    if (rng.one_in(16)) x &= 0x807fffffu;
    const std::uint32_t s =
        bit_cast<std::uint32_t>(std::ldexp(bit_cast<float>(r.of), exponent)) |
        (negative ? 0x80000000u : 0u);
    const auto expected = expected_quotient(x, r, exponent, negative);
    const auto got = i.approximate_quotient(x, s);
    v.compare(got, expected, [&] {
      return fmt::format("div.full {:08x} / {:08x}: {:08x}, not {:08x}", x, s,
                         got, expected);
    });
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

verdict special_divisors(const implementation& i, const effort&) {
  struct row {
    std::uint32_t x, s, q;
  };
  constexpr row rows[] = {
      {0x3f800000, 0x00000000, 0x7f800000},
      {0x3f800000, 0x80000000, 0xff800000},
      {0x00000000, 0x00000000, 0x7fffffff},
      {0x80000000, 0x00000000, 0x7fffffff},
      {0x3f800000, 0x7f800000, 0x00000000},
      {0xbf800000, 0x7f800000, 0x80000000},
      {0x7f800000, 0x7f800000, 0x7fffffff},
      {0x7f800000, 0x3f800000, 0x7f800000},
      {0x7f800001, 0x3f800000, 0x7fffffff},
      {0x3f800000, 0xffc00000, 0x7fffffff},
      {0x7f7fffff, 0x7f7fffff, 0x3f800000},
      {0x00000001, 0x00000001, 0x3f800000},
      {0x1fc00000, 0x007fffff, 0x5ec00002},
      {0x1fc00000, 0x807fffff, 0xdec00002},
  };
  verdict v;
  for (const auto& [x, s, q] : rows) {
    const auto got = i.approximate_quotient(x, s);
    v.compare(got, q, [x = x, s = s, q = q, got] {
      return fmt::format("div.full {:08x} / {:08x}: {:08x}, not {:08x}", x, s,
                         got, q);
    });
  }
  return v;
}

}  // namespace

check_list division_checks() {
  return {
      {"SpecialDivisors", "Q8", "definition", 0, special_divisors},
      {"QuotientsMultiplyRecordedReciprocals", "Q8", "H200, host FP32", 0,
       quotients},
      {"EveryReciprocalIsTheRecordedOne", "Q8", "H200", 0, every_significand},
  };
}

}  // namespace zeroulp::conformance
