// The kernel that quantizes rows, on every pair of a BF16 amax and a BF16
// element, against the core on the device: SPEC clauses Q2 to Q13.
//
//   given   a row for each amax, a column for every code; amaxes are given
//   online  the same in tiles of 1x128: the first element of each tile is the
//           row's amax, the others are at most as large
//   both    online by the kernel for both orientations; columns are checked,
//           too, though they do not have every pair

#include "conformance/device/support/same_bits.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr int tile = 128;
constexpr int fresh = tile - 1;  ///< elements of a tile besides its amax
constexpr int tiles = (65536 + fresh - 1) / fresh;
constexpr int columns = tiles * tile;
constexpr int chunk = 512;  ///< rows

enum class way : std::uint8_t { given, online, both };
constexpr const char* way_names[] = {"given", "online", "both orientations"};

/// Rows of one chunk. Row i has the BF16 amax first + i * step.
struct pairs {
  quantizer q;
  bool is_online;
  std::uint32_t first, step;

  ZEROULP_HD std::uint32_t amax(std::uint32_t row) const {
    return first + row * step;
  }
  ZEROULP_HD std::uint32_t element(std::uint32_t row, std::uint32_t col) const {
    const std::uint32_t most = amax(row);
    // Without this, neighbours in a column would be the same number.
    const std::uint32_t turn = row * 40503;
    const std::uint32_t at =
        col / tile * fresh + (col % tile + fresh) % tile + turn;
    if (!is_online) return at & 0xffff;
    if (col % tile == 0) return most | (col / tile & 1) << 15;
    const std::uint32_t m = at & 0x7fff;
    return (m < most ? m : most) | (at & 0x8000);
  }
};

__global__ void fill_pairs(pairs p, std::uint16_t* x, std::uint32_t* amax) {
  const std::uint32_t row = blockIdx.x;
  for (std::uint32_t col = threadIdx.x; col < columns; col += blockDim.x) {
    x[std::size_t{row} * columns + col] =
        static_cast<std::uint16_t>(p.element(row, col));
  }
  for (std::uint32_t g = threadIdx.x; g < tiles; g += blockDim.x) {
    amax[std::size_t{row} * tiles + g] = p.amax(row) << 16;
  }
}

struct pair_difference {
  unsigned long long count;
  std::uint32_t amax, x, got, right;
  output_sums sums;
};

template <class Code>
__global__ void compare_pairs(const __grid_constant__ pairs p,
                              const Code* codes, const std::uint32_t* scales,
                              pair_difference* found) {
  const std::uint32_t row = blockIdx.x;
  const std::uint32_t amax = p.amax(row) << 16;
  const group_scale s = make_scale(p.q, amax);
  thread_sums sums;
  const auto differs = [&](std::uint32_t x, std::uint32_t got,
                           std::uint32_t right) {
    sums.add(got, right);
    if (got == right) return;
    if (atomicAdd(&found->count, 1) != 0) return;
    found->amax = amax, found->x = x, found->got = got, found->right = right;
  };
  for (std::uint32_t col = threadIdx.x; col < columns; col += blockDim.x) {
    const std::uint32_t x = as_fp32(bf16, p.element(row, col));
    differs(x, codes[std::size_t{row} * columns + col],
            static_cast<std::uint32_t>(quantize_element(p.q, s, x)));
  }
  for (std::uint32_t g = threadIdx.x; g < tiles; g += blockDim.x) {
    differs(0, scales[std::size_t{row} * tiles + g], s.scale);
  }
  sums.add_to(found->sums);
}

/// Compares codes of the transpose, whose groups are 128 rows of one column:
/// one block for each column, one thread for each row.
template <class Code>
__global__ void compare_turned(const __grid_constant__ pairs p,
                               const Code* codes, const std::uint32_t* scales,
                               pair_difference* found) {
  constexpr int groups = chunk / tile;
  __shared__ std::uint32_t amax[groups];
  const std::uint32_t col = blockIdx.x, row = threadIdx.x, group = row / tile;
  if (row < groups) amax[row] = 0;
  __syncthreads();
  const std::uint32_t x = as_fp32(bf16, p.element(row, col));
  atomicMax(&amax[group], x & 0x7fffffff);
  __syncthreads();
  const group_scale s = make_scale(p.q, amax[group]);
  thread_sums sums;
  const auto differs = [&](std::uint32_t got, std::uint32_t right) {
    sums.add(got, right);
    if (got == right || atomicAdd(&found->count, 1) != 0) return;
    found->amax = amax[group], found->x = x;
    found->got = got, found->right = right;
  };
  differs(codes[std::size_t{col} * chunk + row],
          static_cast<std::uint32_t>(quantize_element(p.q, s, x)));
  if (row % tile == 0) {
    differs(scales[std::size_t{col} * groups + group], s.scale);
  }
  sums.add_to(found->sums);
}

template <class Code>
verdict check_pairs(const quantizer& q, way how, std::uint32_t step) {
  const bool is_online = how != way::given;
  const std::size_t size = std::size_t{chunk} * columns;
  const device_buffer<std::uint16_t> x(size);
  const device_buffer<Code> codes(size), turned(size);
  const device_buffer<std::uint32_t> amax(std::size_t{chunk} * tiles);
  const device_buffer<std::uint32_t> scales(std::size_t{chunk} * tiles);
  const device_buffer<pair_difference> found(1);
  const cuda::const_matrix in(x.data(), chunk, columns);
  const device_buffer<std::uint32_t> scales_of_columns(size / tile);
  const cuda::quantized out{{codes.data(), chunk, columns},
                            {scales.data(), tiles}};
  const cuda::quantized out_t{{turned.data(), columns, chunk},
                              {scales_of_columns.data(), chunk / tile}};
  verdict v;
  const std::uint32_t end = is_online ? 0x7f80 : 0x8000;  // finite, or any
  const std::uint32_t last = end - 1 - (chunk - 1) * step;
  for (std::uint32_t at = 0; at < last + chunk * step; at += chunk * step) {
    const pairs p{q, is_online, at < last ? at : last, step};
    fill_pairs<<<chunk, 256>>>(p, x.data(), amax.data());
    if (how == way::given) {
      cuda::quantize(
          q, in, matrix_view<const std::uint32_t>(amax.data(), chunk, tiles),
          out);
    } else {
      cuda::quantize(q, in, out, how == way::both ? out_t : cuda::quantized{});
    }
    compare_pairs<<<chunk, 256>>>(p, codes.data(), scales.data(), found.data());
    if (how == way::both) {
      compare_turned<<<columns, chunk>>>(
          p, turned.data(), scales_of_columns.data(), found.data());
    }
    finish_kernel();
    v.cases += size;
  }
  pair_difference d{};
  found.copy_to(&d, 1);
  v.failures = d.count;
  v.add(d.sums);
  if (d.count != 0) {
    v.first_failure = name_of(q.to) + ", " + std::string(name_of(q.scale)) +
                      ", " + way_names[static_cast<int>(how)] +
                      in_hex("amax", d.amax) + in_hex("x", d.x) +
                      in_hex("code or scale", d.got) + in_hex("not", d.right);
  }
  v.exhaustive = step == 1;
  return v;
}

verdict check_convention(const convention& how, const effort& e) {
  // The last chunk ends with the range.
  const std::uint32_t step = e.level == 0 ? 63 : e.level == 1 ? 13 : 1;
  verdict total;
  for (const auto kind : {scale_kind::float32, scale_kind::pow2}) {
    for (const format to : {e4m3, e5m2, e5m6}) {
      const quantizer q{bf16, to, how, kind, {1, tile}};
      for (const way by : {way::given, way::online, way::both}) {
        total += to == e5m6 ? check_pairs<std::uint16_t>(q, by, step)
                            : check_pairs<std::uint8_t>(q, by, step);
      }
    }
  }
  return total;
}

}  // namespace

check_list kernel_quantize_pair_checks() {
  return checks_of_each(named_conventions, "kernel.quantize.pairs.",
                        "Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8", "the core on the device",
                        check_convention);
}

}  // namespace zeroulp::conformance::device
