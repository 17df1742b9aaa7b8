// Fills the operands and c of batches.

#include "conformance/device/support/batch.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Fills one row of operands in pairs. Partners are `stride` elements apart, a
/// power of two.
__device__ void fill_row(format f, element_layout e, side at, family of,
                         unsigned char* row, int stride, std::uint64_t seed,
                         std::uint64_t index) {
  for (int pair = 0; pair < e.length() / 2; ++pair) {
    counter_rng rng(seed, index * 16 + static_cast<unsigned>(pair));
    const int k = pair / stride * (2 * stride) + pair % stride;
    const code_pair codes = operand_codes(of, at, f, pair, rng);
    const std::uint32_t noise = rng.next32();
    e.put(row, k, codes.first, noise);
    e.put(row, k + stride, codes.second, noise >> 16);
  }
}

__global__ void fill_random(batch x, family of, std::uint64_t seed,
                            std::uint64_t first_tile) {
  constexpr int rows = batch_rows + batch_cols;
  const int count = x.tiles * rows;
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (; i < count; i += threads) {
    const int tile = i / rows;
    const int row = i % rows;
    const std::uint64_t number = first_tile + static_cast<unsigned>(tile);
    const bool is_a = row < batch_rows;
    unsigned char* to =
        is_a ? x.a + (tile * batch_rows + row) * row_bytes
             : x.b + (tile * batch_cols + row - batch_rows) * row_bytes;
    const format f = is_a ? x.p.a : x.p.b;
    const int stride = 1 << (number % 3);
    fill_row(f, layout_of(f), is_a ? side::a : side::b, of, to, stride, seed,
             number * rows + static_cast<unsigned>(row));
  }
}

/// Returns c for output (row, col) of a tile. `wild` allows values that take
/// the emulator long: Inf, NaN, and FP32 numbers near the largest.
__device__ std::uint32_t random_addend(const batch& x, int tile, int row,
                                       int col, bool wild, counter_rng& rng) {
  const format s = x.p.acc.stored;
  const std::uint64_t r = rng.next();
  const bool negative = (r & 1) != 0;
  const auto fraction = static_cast<std::uint32_t>(r >> 40);
  constexpr unsigned first_wild = 5;
  const unsigned choice = r >> 1 & 15;
  switch (wild || choice < first_wild ? choice : 15) {
    case 0:
      return 0;
    case 1:
      return static_cast<std::uint32_t>(s.sign_mask());
    case 2:
      return code_of(s, negative, static_cast<int>(r >> 8 & 255) - 140,
                     fraction);
    case 3:
    case 4:
      return code_of(s, negative, -4096, fraction);  // subnormal
    case first_wild:
      return static_cast<std::uint32_t>((r >> 8) & low_bits(s.bits()));
    case first_wild + 1:
      return code_of(s, negative, 4096, 0) - (fraction & 3);  // the largest
    case first_wild + 2:
      return special_code(s, rng);
    default:
      break;
  }
  // An exponent above or below that of one of the products.
  const element_layout ea = layout_of(x.p.a);
  const element_layout eb = layout_of(x.p.b);
  const auto k = static_cast<int>(r >> 8) & (ea.length() - 1);
  const std::uint32_t ca =
      ea.code(x.a + (tile * batch_rows + row) * row_bytes, k);
  const std::uint32_t cb =
      eb.code(x.b + (tile * batch_cols + col) * row_bytes, k);
  const auto exponent = [](format f, std::uint32_t code) {
    return static_cast<int>((code & f.magnitude_mask()) >> f.man_bits) - f.bias;
  };
  const int place = exponent(x.p.a, ca) + exponent(x.p.b, cb);
  const int off = static_cast<int>(r >> 16 & 63) - 31;
  return code_of(s, negative, place + off, fraction);
}

__global__ void fill_addends(batch x, std::uint64_t seed,
                             std::uint64_t first_tile) {
  const int count = x.tiles * batch_outputs;
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (; i < count; i += threads) {
    counter_rng rng(~seed,
                    first_tile * batch_outputs + static_cast<unsigned>(i));
    const int tile = i / batch_outputs;
    const int at = i % batch_outputs;
    const bool wild = (first_tile + static_cast<unsigned>(tile)) % 64 == 0;
    x.c[i] =
        random_addend(x, tile, at / batch_cols, at % batch_cols, wild, rng);
  }
}

/// Fills zero products of every kind: one factor is a zero, the other any
/// finite code.
__global__ void fill_zero_products(batch x, std::uint64_t first) {
  constexpr int rows = batch_rows + batch_cols;
  for (int i = static_cast<int>(threadIdx.x); i < rows; i += blockDim.x) {
    const int tile = static_cast<int>(blockIdx.x);
    const bool is_a = i < batch_rows;
    const format f = is_a ? x.p.a : x.p.b;
    const element_layout e = layout_of(f);
    unsigned char* row =
        is_a ? x.a + (tile * batch_rows + i) * row_bytes
             : x.b + (tile * batch_cols + i - batch_rows) * row_bytes;
    counter_rng rng(17, (first / batch_outputs + blockIdx.x) * rows +
                            static_cast<unsigned>(i));
    // In odd tiles A is zero, in even ones B. Some outputs have only products
    // -0 * +.
    const bool zeros = is_a == (blockIdx.x % 2 == 1);
    for (int k = 0; k < e.length(); ++k) {
      const std::uint32_t sign =
          rng.one_in(2) ? static_cast<std::uint32_t>(f.sign_mask()) : 0;
      const std::uint32_t code =
          zeros ? 0 : rng.below(static_cast<std::uint32_t>(f.max_code()) + 1);
      e.put(row, k, code | sign);
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < batch_outputs;
       i += blockDim.x) {
    const std::uint64_t number = first +
                                 blockIdx.x * std::uint64_t{batch_outputs} +
                                 static_cast<unsigned>(i);
    x.c[blockIdx.x * batch_outputs + static_cast<unsigned>(i)] =
        static_cast<std::uint32_t>(number & low_bits(x.p.acc.stored.bits()));
  }
}

/// Each row of A has two codes: the bits of the row's number. Each column of B
/// likewise. For 8-bit operands only: 2^16 rows, 2^16 columns.
__global__ void fill_pairs(batch x, std::uint64_t first) {
  constexpr unsigned tile_columns = 65536 / batch_cols;
  const std::uint64_t tile = first / batch_outputs + blockIdx.x;
  const auto row0 = static_cast<unsigned>(tile / tile_columns) * batch_rows;
  const auto col0 = static_cast<unsigned>(tile % tile_columns) * batch_cols;
  constexpr unsigned rows = batch_rows + batch_cols;
  for (unsigned i = threadIdx.x; i < rows; i += blockDim.x) {
    const bool is_a = i < batch_rows;
    unsigned char* row =
        is_a ? x.a + (blockIdx.x * batch_rows + i) * row_bytes
             : x.b + (blockIdx.x * batch_cols + i - batch_rows) * row_bytes;
    const unsigned number = is_a ? row0 + i : col0 + i - batch_rows;
    for (int k = 0; k < row_bytes; ++k) row[k] = 0;
    // The place of the two codes must not matter, so it differs between tiles.
    const unsigned k = static_cast<unsigned>(tile) % 31;
    row[k] = static_cast<unsigned char>(number);
    row[k + 1] = static_cast<unsigned char>(number >> 8);
  }
  for (unsigned i = threadIdx.x; i < batch_outputs; i += blockDim.x) {
    x.c[blockIdx.x * batch_outputs + i] = 0;
  }
}

}  // namespace

void fill(const batch& x, filling how, family of, std::uint64_t seed,
          std::uint64_t first) {
  const auto tiles = static_cast<unsigned>(x.tiles);
  switch (how) {
    case filling::random:
      fill_random<<<132 * 16, 128>>>(x, of, seed, first / batch_outputs);
      fill_addends<<<132 * 16, 128>>>(x, seed, first / batch_outputs);
      break;
    case filling::every_c:
      fill_zero_products<<<tiles, 256>>>(x, first);
      break;
    case filling::every_pair:
      fill_pairs<<<tiles, 256>>>(x, first);
      break;
  }
  require(cudaGetLastError());
}

}  // namespace zeroulp::conformance::device
