// Prints one hash an area of the core, over results from fixed pseudo-random
// operands. tools/test.sh builds it with several compilers and flags, among
// them -ffast-math: every build must print the same.

#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "zeroulp/core/arith.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/core/path.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/core/retile.hpp"

namespace {

using namespace zeroulp;

/// FNV-1a over the bytes of what it is given.
struct digest {
  std::uint64_t value = 0xcbf29ce484222325u;

  void add(std::uint64_t x) {
    for (int i = 0; i < 8; ++i) {
      value = (value ^ (x >> (8 * i) & 0xff)) * 0x100000001b3u;
    }
  }
  void print(const char* area) const {
    std::printf("%s %016llx\n", area, static_cast<unsigned long long>(value));
  }
};

/// SplitMix64.
struct generator {
  std::uint64_t state;

  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

void conversions() {
  digest d;
  generator random{1};
  for (const auto& f : named_formats) {
    for (const auto& rounds : named_roundings) {
      for (const auto& p : named_policies) {
        for (int i = 0; i < 500; ++i) {
          const rounder r{rounds.value, static_cast<std::uint32_t>(random())};
          d.add(recode(fp32, random() & low_bits(32), f.value, r, p.value));
          d.add(recode(fp64, random(), f.value, r, p.value));
          d.add(bit_cast<std::uint64_t>(
              to_double(decode(f.value, random() & low_bits(f.value.bits())))));
        }
      }
    }
  }
  d.print("conversions");
}

void arithmetic() {
  digest d;
  generator random{2};
  for (const format f : {e4m3, e5m2, bf16, fp16, fp32, fp64}) {
    for (const auto& rounds : named_roundings) {
      for (int i = 0; i < 2000; ++i) {
        const rounder r{rounds.value, static_cast<std::uint32_t>(random())};
        const std::uint64_t a = random() & low_bits(f.bits());
        // Half of the time near a, so that sums cancel.
        const std::uint64_t b =
            i % 2 == 0 ? random() & low_bits(f.bits())
                       : a ^ f.sign_mask() ^ (random() & low_bits(3));
        const std::uint64_t c = random() & low_bits(f.bits());
        d.add(add(f, a, b, r));
        d.add(subtract(f, a, b, r));
        d.add(multiply(f, a, b, r));
        d.add(fma(f, a, b, c, r));
        d.add(divide(f, a, b, r));
        d.add(square_root(f, a, r));
      }
    }
  }
  d.print("arithmetic");
}

void steps() {
  digest d;
  generator random{3};
  for (const auto& family : path_families) {
    for (const format f : {e4m3, e5m2, bf16, fp16, tf32}) {
      const path p{f, f, family.acc, family.lowering};
      const bool is_fp8 = f.bits() == 8;
      // Only FP8 is lowered.
      if (family.lowering != lowering::direct && !is_fp8) continue;
      const int count = p.length() > 0 ? p.length() : 32;
      for (int i = 0; i < 200; ++i) {
        unpacked a[32];
        unpacked b[32];
        for (int k = 0; k < count; ++k) {
          a[k] = decode(f, random() & low_bits(f.bits()));
          b[k] = decode(f, random() & low_bits(f.bits()));
          // Wide formats are full of NaN and Inf only now and then.
          if (i % 8 != 0 && !a[k].is_finite()) a[k] = {};
          if (i % 8 != 0 && !b[k].is_finite()) b[k] = {};
        }
        const auto c = random() & low_bits(p.acc.stored.bits());
        d.add(step(p, a, b, count, i % 3 == 0 ? 0 : c));
      }
    }
  }
  d.print("steps");
}

void quantizers() {
  digest d;
  generator random{4};
  constexpr int rows = 5;
  constexpr int cols = 11;
  for (const auto& how : named_conventions) {
    for (const auto& kind : named_scale_kinds) {
      for (const format to : {e4m3, e5m2, e5m6}) {
        std::uint32_t x[rows * cols];
        std::uint16_t codes[rows * cols];
        std::uint32_t scales[rows * cols];
        for (auto& e : x) e = static_cast<std::uint32_t>(random());
        const quantizer q{fp32, to, how.value, kind.value, {2, 4}};
        quantize(q, matrix_view<const std::uint32_t>(x, rows, cols),
                 matrix_view<std::uint16_t>(codes, rows, cols),
                 matrix_view<std::uint32_t>(scales, 3, 3));
        for (const auto e : codes) d.add(e);
        for (int i = 0; i < 9; ++i) d.add(scales[i]);
      }
    }
  }
  d.print("quantizers");
}

void retilings() {
  digest d;
  generator random{5};
  constexpr int rows = 9;
  constexpr int cols = 7;
  for (const auto& rule : named_retile_rules) {
    for (const auto& kind : named_scale_kinds) {
      for (const format from : {e4m3, e5m6}) {
        std::uint16_t codes[rows * cols];
        std::uint32_t scales[rows * 2];
        std::uint16_t out[cols * rows];
        std::uint32_t out_scales[cols * 3];
        for (auto& e : codes) {
          e = static_cast<std::uint16_t>(random() & low_bits(from.bits()));
        }
        const bool any_scale = kind.value == scale_kind::float32;
        for (auto& e : scales) {
          e = any_scale ? static_cast<std::uint32_t>(random()) >> 2
                        : pow2_as_fp32(static_cast<int>(random() % 40) - 20);
        }
        const retiling r{from, e4m3, kind.value, 4, rule.value};
        retile(r, matrix_view<const std::uint16_t>(codes, rows, cols),
               matrix_view<const std::uint32_t>(scales, rows, 2),
               matrix_view<std::uint16_t>(out, cols, rows),
               matrix_view<std::uint32_t>(out_scales, cols, 3));
        for (const auto e : out) d.add(e);
        for (const auto e : out_scales) d.add(e);
      }
    }
  }
  d.print("retilings");
}

void gemms() {
  digest d;
  generator random{6};
  constexpr int m = 2;
  constexpr int n = 3;
  constexpr int k = 300;
  constexpr int groups = 3;  // of 128 along K
  for (const auto& how : named_recipes) {
    std::uint8_t a[m * k];
    std::uint8_t b[n * k];
    std::uint32_t sa[m * groups];
    std::uint32_t sb[n * groups];
    std::uint32_t c[m * n];
    std::uint32_t out[m * n];
    for (auto& e : a) e = static_cast<std::uint8_t>(random() % 0x7f);
    for (auto& e : b) e = static_cast<std::uint8_t>(random() % 0x7f | 0x80);
    for (auto& e : sa)
      e = fp32_one | static_cast<std::uint32_t>(random() >> 41);
    for (auto& e : sb)
      e = fp32_one | static_cast<std::uint32_t>(random() >> 41);
    for (auto& e : c) e = static_cast<std::uint32_t>(random());
    using scales = matrix_view<const std::uint32_t>;
    gemm(how.value,
         gemm_operand<std::uint8_t>{e4m3, {a, m, k}, scales(sa, m, groups)},
         gemm_operand<std::uint8_t>{e4m3, {b, n, k}, scales(sb, n, groups)},
         scales(c, m, n), matrix_view<std::uint32_t>(out, m, n));
    for (const auto e : out) d.add(e);
  }
  d.print("gemms");
}

}  // namespace

int main() {
  conversions();
  arithmetic();
  steps();
  quantizers();
  retilings();
  gemms();
}
