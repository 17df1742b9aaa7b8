// The emulator's own source, compiled for the host, against the core's step:
// emulator_on_host TILES. Prints TAP, a line for each unit and pair of formats.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "cuda/emulator/emulator.cuh"

namespace {

using namespace zeroulp;
using emulator::thread_cols;
using emulator::thread_rows;
using emulator::tile_cols;
using emulator::tile_rows;

template <class Unit>
struct tile_of_codes {
  std::uint32_t a[tile_rows][Unit::length];
  std::uint32_t b[tile_cols][Unit::length];
  std::uint32_t c[tile_rows][tile_cols];
};

/// A code whose exponent is near the format's middle, or any code.
std::uint32_t random_code(format f, std::mt19937& random, bool near) {
  auto code = static_cast<std::uint32_t>(random() & low_bits(f.bits()));
  if (near && f.exp_bits == 8) {
    const std::uint32_t e = 100 + static_cast<std::uint32_t>(random() % 56);
    code = (code & ~(255u << f.man_bits)) | e << f.man_bits;
  }
  return code;
}

/// Zeros, near and far exponents; in some tiles Inf and NaN.
template <class Unit>
void fill(tile_of_codes<Unit>& t, const path& p, std::mt19937& random) {
  const bool specials = random() % 8 == 0;
  const auto draw = [&](format f) {
    if (random() % 16 == 0) return 0u;
    for (;;) {
      const std::uint32_t code = random_code(f, random, random() % 4 != 0);
      if (specials || decode(f, code).is_finite()) return code;
    }
  };
  for (auto& row : t.a) {
    for (auto& code : row) code = draw(p.a);
  }
  for (auto& row : t.b) {
    for (auto& code : row) code = draw(p.b);
  }
  for (auto& row : t.c) {
    for (auto& code : row) code = draw(p.acc.stored);
  }
}

/// Runs the threads of a block, one after the other: loads, then the step.
template <class Unit>
void emulate(const tile_of_codes<Unit>& t, const path& p,
             std::uint32_t (&d)[tile_rows][tile_cols]) {
  const auto shared = std::make_unique<emulator::operand_tile<Unit>>();
  for (unsigned thread = 0; thread < emulator::threads; ++thread) {
    threadIdx.x = thread;
    int row = 0;
    emulator::store_operands(
        *shared, p.a, p.b,
        [&](bool, int of_tile) {
          row = of_tile;
          return emulator::row_words{};
        },
        [&](const emulator::row_words&, bool is_a, int k) {
          return is_a ? t.a[row][k] : t.b[row][k];
        });
  }
  for (unsigned thread = 0; thread < emulator::threads; ++thread) {
    threadIdx.x = thread;
    std::uint32_t own[thread_rows][thread_cols];
    const auto each = [&](auto use) {
      for (int r = 0; r < thread_rows; ++r) {
        for (int c = 0; c < thread_cols; ++c) {
          use(own[r][c], emulator::row_of(r), emulator::col_of(c));
        }
      }
    };
    each([&](auto& x, int row, int col) { x = t.c[row][col]; });
    emulator::step_tile<Unit>(p, *shared, own);
    each([&](auto& x, int row, int col) { d[row][col] = x; });
  }
}

struct code_row {
  const std::uint32_t* codes;
  format f;
  unpacked operator[](std::ptrdiff_t k) const { return decode(f, codes[k]); }
};

/// How many outputs of `tiles` tiles are not the core's.
template <class Unit>
int differences(const path& p, int tiles, std::mt19937& random) {
  const auto t = std::make_unique<tile_of_codes<Unit>>();
  static std::uint32_t d[tile_rows][tile_cols];
  int wrong = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    fill(*t, p, random);
    emulate(*t, p, d);
    for (int i = 0; i < tile_rows; ++i) {
      for (int j = 0; j < tile_cols; ++j) {
        const auto expected =
            step(p, code_row{t->a[i], p.a}, code_row{t->b[j], p.b},
                 Unit::length, t->c[i][j]);
        wrong += d[i][j] != expected ? 1 : 0;
      }
    }
  }
  return wrong;
}

const char* name_of(format f) {
  for (const named_format& row : named_formats) {
    if (row.value == f) return row.name;
  }
  return "?";
}

int failures = 0;

template <class Unit>
void hold(const char* name, const accumulator& acc, format a, format b,
          int tiles) {
  std::mt19937 random(1);
  const int wrong = differences<Unit>({a, b, acc}, tiles, random);
  failures += wrong != 0 ? 1 : 0;
  std::printf("%s emulator's source on the host: %s, %s and %s\n",
              wrong == 0 ? "ok" : "not ok", name, name_of(a), name_of(b));
  std::printf("# %d of %d outputs differ\n", wrong,
              tiles * tile_rows * tile_cols);
}

template <class Unit>
void hold_fp8(const char* name, const accumulator& acc, int tiles) {
  for (const format a : {e4m3, e5m2}) {
    for (const format b : {e4m3, e5m2}) hold<Unit>(name, acc, a, b, tiles);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int tiles = count > 1 ? std::atoi(arguments[1]) : 1;
  using namespace zeroulp::emulator;
  hold_fp8<fp8_f32>("FP8 to f32", hopper_fp8_f32, tiles);
  hold_fp8<fp8_f16>("FP8 to f16", hopper_fp8_f16, tiles);
  hold_fp8<fp8_what_if<8>>("F = 8", what_if_fraction(8), tiles);
  hold_fp8<fp8_what_if<12>>("F = 12", what_if_fraction(12), tiles);
  hold<half_f32>("FP16 to f32", hopper_half_f32, fp16, fp16, tiles);
  hold<half_f32>("BF16 to f32", hopper_half_f32, bf16, bf16, tiles);
  hold<half_f16>("FP16 to f16", hopper_half_f16, fp16, fp16, tiles);
  hold<tf32_f32>("TF32 to f32", hopper_tf32_f32, tf32, tf32, tiles);
  return failures == 0 ? 0 : 1;
}
