// mma.sync of half the length of K against the full length with zeros for the
// missing half: SPEC clauses T2, T9, T10. Zero products do not affect a sum, so
// the bits must be equal. silicon_paths.cu compares the full length with the
// emulator.
//
// nvcc compiles FP8 of either length to two FP16 products, one over k mod 4 in
// {0, 1}, one over {2, 3}; c is added last. Zeros in the missing places change
// neither product.

#include "conformance/device/support/batch.hpp"
#include "conformance/device/support/tile.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

using ptx::type;

constexpr int half_words = row_bytes / 2 / 4;

struct short_mismatch {
  std::uint32_t a[half_words];
  std::uint32_t b[half_words];
  std::uint32_t c, got, right;
};

struct short_record {
  unsigned long long count;
  short_mismatch first;
  output_sums sums;
};

template <type A, type B, bool Half>
__global__ void __launch_bounds__(128)
    compare_lengths(batch x, short_record* found) {
  __shared__ alignas(128) unsigned char a[batch_rows * row_bytes];
  __shared__ alignas(128) unsigned char b[batch_cols * row_bytes];
  const int thread = static_cast<int>(threadIdx.x);
  thread_sums sums;
  for (int tile = static_cast<int>(blockIdx.x); tile < x.tiles;
       tile += static_cast<int>(gridDim.x)) {
    load_rows(x.a + tile * (batch_rows * row_bytes), a, batch_rows);
    load_rows(x.b + tile * (batch_cols * row_bytes), b, batch_cols);
    __syncthreads();
    const std::uint32_t* c = x.c + std::ptrdiff_t{tile} * batch_outputs;
    const int row = thread / 32 * 16 + thread % 32 / 4;
    ptx::fragment_a rows = load_a(a, row);
    rows.word[2] = rows.word[3] = 0;
    for (int col = 0; col < batch_cols; col += 8) {
      ptx::fragment_b cols = load_b(b, col + thread % 32 / 4);
      cols.word[1] = 0;
      const place p{row, col + thread % 4 * 2};
      registers<Half, 1> got;
      registers<Half, 1> right;
      load(got, c, p);
      load(right, c, p);
      ptx::short_mma<A, B>::run(got.d, rows, cols);
      ptx::mma<A, B>::run(right.d, rows, cols);
      for (int i = 0; i < 4; ++i) {
        sums.add(got.read(0, i), right.read(0, i));
        if (got.read(0, i) == right.read(0, i)) continue;
        if (atomicAdd(&found->count, 1ull) != 0) continue;
        short_mismatch& m = found->first;
        for (int w = 0; w < half_words; ++w) {
          m.a[w] = tile_word(a, p.at(i) / batch_cols, w * 4);
          m.b[w] = tile_word(b, p.at(i) % batch_cols, w * 4);
        }
        m.c = c[p.at(i)];
        m.got = got.read(0, i);
        m.right = right.read(0, i);
      }
    }
    __syncthreads();
  }
  sums.add_to(found->sums);
}

std::string describe(const short_mismatch& m) {
  char text[200];
  std::snprintf(text, sizeof text,
                "words of a %08x %08x %08x %08x, b %08x %08x %08x %08x, c %x: "
                "short %x, with zeros %x",
                m.a[0], m.a[1], m.a[2], m.a[3], m.b[0], m.b[1], m.b[2], m.b[3],
                m.c, m.got, m.right);
  return text;
}

using kernel = void (*)(batch, short_record*);

verdict hold(const path& p, const effort& e, kernel run) {
  const auto tiles = static_cast<int>(cases(e, 8, 1024, 8192));
  const batch_memory memory(p, tiles);
  const device_buffer<short_record> found(1);
  verdict v;
  for (int of = 0; of < families; ++of) {
    fill(memory.value(), filling::random, static_cast<family>(of), 53, 0);
    run<<<132 * 8, 128>>>(memory.value(), found.data());
    require(cudaGetLastError());
    v.cases += static_cast<std::uint64_t>(tiles) * batch_outputs;
  }
  finish_kernel();
  short_record r{};
  found.copy_to(&r, 1);
  v.failures = r.count;
  v.add(r.sums);
  if (r.count != 0) v.first_failure = describe(r.first);
  return v;
}

/// Returns the path of the full length with these operands and results.
path path_of(format a, format b, format stored) {
  for (const path& p : mma_paths()) {
    if (p.a == a && p.b == b && p.acc.stored == stored) return p;
  }
  throw std::logic_error("no such path");
}

template <type A, type B, bool Half>
void add(check_list& all, format a, format b) {
  const path p = path_of(a, b, Half ? fp16 : fp32);
  all.push_back(
      device_check("silicon.mma.short." + zeroulp::name_of(a) + "." +
                       zeroulp::name_of(b) + (Half ? ".f16" : ".f32"),
                   p.lowering == lowering::direct ? "T2 T9" : "T2 T9 T10",
                   "instruction", [p](const effort& e) {
                     return hold(p, e, compare_lengths<A, B, Half>);
                   }));
}

template <type A, type B>
void add_both(check_list& all, format a, format b) {
  add<A, B, false>(all, a, b);
  add<A, B, true>(all, a, b);
}

}  // namespace

check_list silicon_short_shape_checks() {
  check_list all;
  add_both<type::e4m3, type::e4m3>(all, e4m3, e4m3);
  add_both<type::e4m3, type::e5m2>(all, e4m3, e5m2);
  add_both<type::e5m2, type::e4m3>(all, e5m2, e4m3);
  add_both<type::e5m2, type::e5m2>(all, e5m2, e5m2);
  add<type::bf16, type::bf16, false>(all, bf16, bf16);
  add_both<type::fp16, type::fp16>(all, fp16, fp16);
  add<type::tf32, type::tf32, false>(all, tf32, tf32);
  return all;
}

}  // namespace zeroulp::conformance::device
