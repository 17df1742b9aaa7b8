// wgmma of every shape against single steps of m64n128 of the same type: SPEC
// clauses T9, T12. A is in shared memory or in registers; steps are chained,
// without c, or with negated operands. silicon_paths.cu compares m64n128 with
// the emulator.
//
// All tiles of a batch have the same A, so that N columns come from one tile or
// from two neighbours.

#include "conformance/device/silicon/wgmma.hpp"
#include "conformance/device/support/batch.hpp"
#include "conformance/device/support/tile.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

using ptx::type;

constexpr int chain_length = 16;

struct shape_mismatch {
  std::uint32_t tile, row, col, got, right;
};

struct shape_record {
  unsigned long long count;
  shape_mismatch first;
  output_sums sums;
};

/// The form of the instruction.
enum class form : std::uint8_t { shared, registers, negated_a, negated_b };

/// Returns the index in c and d of output `i` of this thread's N / 2.
__device__ std::ptrdiff_t output_at(int tile, int i) {
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
  const int col = i / 4 * 8 + thread % 4 * 2 + i % 2;
  return std::ptrdiff_t{tile + col / batch_cols} * batch_outputs +
         row * batch_cols + col % batch_cols;
}

/// The outputs of a thread. A register of FP16 results holds two of them.
template <bool Half, int N>
struct result {
  std::conditional_t<Half, std::uint32_t, float> d[Half ? N / 4 : N / 2];

  __device__ void load(const batch& x, int tile) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const std::uint32_t c = x.c[output_at(tile, i)];
      if constexpr (Half) {
        d[i / 2] = i % 2 == 0 ? c : d[i / 2] | c << 16;
      } else {
        d[i] = __uint_as_float(c);
      }
    }
  }
  __device__ std::uint32_t get(int i) const {
    if constexpr (Half) {
      return d[i / 2] >> (i % 2 * 16) & 0xffff;
    } else {
      return __float_as_uint(d[i]);
    }
  }
};

/// Takes `steps` steps on the operands of tiles t, t + 1, ..., keeping d in
/// registers; with add 0 the first step has no c.
template <int N, type A, type B, bool Half, form Form>
__global__ void __launch_bounds__(128)
    compare_shapes(batch x, int steps, int add, shape_record* found) {
  __shared__ alignas(128) unsigned char a[batch_rows * row_bytes];
  __shared__ alignas(128) unsigned char b[2 * batch_cols * row_bytes];
  constexpr int sign_a = Form == form::negated_a ? -1 : 1;
  constexpr int sign_b = Form == form::negated_b ? -1 : 1;
  const int thread = static_cast<int>(threadIdx.x);
  thread_sums sums;
  for (int tile = static_cast<int>(blockIdx.x); tile < x.tiles;
       tile += static_cast<int>(gridDim.x)) {
    result<Half, N> d;
    d.load(x, tile);
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
      __syncthreads();
      load_rows(x.a + (tile + s) * (batch_rows * row_bytes), a, batch_rows);
      load_rows(x.b + (tile + s) * (batch_cols * row_bytes), b, N);
      ptx::fence_shared_for_wgmma();
      __syncthreads();
      const auto columns = ptx::matrix_descriptor(b, 128, 256);
      if constexpr (Form == form::registers) {
        const ptx::fragment_a rows =
            load_a(a, thread / 32 * 16 + thread % 32 / 4);
        ptx::wgmma<N>::template run<A, B>(d.d, rows, columns, add);
      } else {
        ptx::wgmma<N>::template run<A, B, sign_a, sign_b>(
            d.d, ptx::matrix_descriptor(a, 128, 256), columns, add);
      }
    }
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const auto at = output_at(tile, i);
      sums.add(d.get(i), x.d[at]);
      if (d.get(i) == x.d[at] || atomicAdd(&found->count, 1ull) != 0) continue;
      found->first = {
          static_cast<std::uint32_t>(at / batch_outputs),
          static_cast<std::uint32_t>(at % batch_outputs / batch_cols),
          static_cast<std::uint32_t>(at % batch_cols), d.get(i), x.d[at]};
    }
  }
  sums.add_to(found->sums);
}

using launcher = void (*)(const batch&, int steps, int add, shape_record*);

template <int N, type A, type B, bool Half, form Form>
void launch(const batch& x, int steps, int add, shape_record* found) {
  compare_shapes<N, A, B, Half, Form><<<132 * 2, 128>>>(x, steps, add, found);
  require(cudaGetLastError());
}

__global__ void repeat_first_rows(batch x) {
  constexpr int bytes = batch_rows * row_bytes;
  for (int i = static_cast<int>(threadIdx.x); i < bytes;
       i += static_cast<int>(blockDim.x)) {
    x.a[blockIdx.x * bytes + static_cast<unsigned>(i)] = x.a[i];
  }
}

/// Flips the signs of `count` operands.
__global__ void flip_signs(unsigned char* rows, element_layout e,
                           std::uint32_t sign, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) e.put(rows, i, e.code(rows, i) ^ sign);
}

void flip(const batch& x, bool is_a) {
  const format f = is_a ? x.p.a : x.p.b;
  const element_layout e = layout_of(f);
  const int count = x.tiles * (is_a ? batch_rows : batch_cols) * e.length();
  flip_signs<<<static_cast<unsigned>(count / 128), 128>>>(
      is_a ? x.a : x.b, e, static_cast<std::uint32_t>(f.sign_mask()), count);
  require(cudaGetLastError());
}

/// Runs a check on a batch of `tiles` (and tiles behind them, for chains), for
/// each family in turn.
template <class Use>
verdict hold(const path& p, const effort& e, int cols, Use use) {
  const int tiles = e.level == 0 ? 8 : e.level == 1 ? 256 : 4096;
  const batch_memory memory(p, tiles + chain_length);
  const device_buffer<shape_record> found(1);
  verdict v;
  for (int of = 0; of < families; ++of) {
    batch x = memory.value();
    fill(x, filling::random, static_cast<family>(of), 31, 0);
    use(x, tiles, found.data());
    v.cases += static_cast<std::uint64_t>(tiles) * batch_rows *
               static_cast<unsigned>(cols);
  }
  finish_kernel();
  shape_record r{};
  found.copy_to(&r, 1);
  v.failures = r.count;
  v.add(r.sums);
  if (r.count != 0) {
    char text[120];
    std::snprintf(
        text, sizeof text, "m64n%d, tile %u (%u, %u): %x, as m64n128 %x", cols,
        r.first.tile, r.first.row, r.first.col, r.first.got, r.first.right);
    v.first_failure = text;
  }
  return v;
}

/// Checks the same product in another shape, or with A in registers.
verdict hold_shape(const path& p, const effort& e, int cols, launcher run) {
  return hold(p, e, cols, [run](batch x, int tiles, shape_record* found) {
    repeat_first_rows<<<static_cast<unsigned>(x.tiles), 256>>>(x);
    multiply(x, unit::wgmma);
    x.tiles = tiles;
    run(x, 1, 1, found);
  });
}

/// Checks a chain of steps in registers against the same steps through memory.
verdict hold_chain(const path& p, const effort& e, launcher run) {
  const batch_memory scratch(p, 4096 + chain_length);
  return hold(p, e, batch_cols, [&](batch x, int tiles, shape_record* found) {
    x.tiles = tiles;
    batch one = x;
    one.d = scratch.value().d;
    for (int s = 0; s < chain_length; ++s) {
      one.a = x.a + s * (batch_rows * row_bytes);
      one.b = x.b + s * (batch_cols * row_bytes);
      if (s == chain_length - 1) one.d = x.d;
      multiply(one, unit::wgmma);
      one.c = one.d;
      one.d =
          one.c == scratch.value().d ? scratch.value().c : scratch.value().d;
    }
    run(x, chain_length, 1, found);
  });
}

verdict hold_without_c(const path& p, const effort& e, launcher run) {
  return hold(p, e, batch_cols, [run](batch x, int tiles, shape_record* found) {
    batch zero = x;
    zero.c = x.d;
    require(cudaMemset(zero.c, 0,
                       sizeof(std::uint32_t) * batch_outputs *
                           static_cast<std::size_t>(x.tiles)));
    multiply(zero, unit::wgmma);  // each output replaces its own c
    x.tiles = tiles;
    run(x, 1, 0, found);
  });
}

verdict hold_negated(const path& p, const effort& e, bool is_a, launcher run) {
  return hold(p, e, batch_cols,
              [run, is_a](batch x, int tiles, shape_record* found) {
                flip(x, is_a);
                multiply(x, unit::wgmma);
                flip(x, is_a);
                x.tiles = tiles;
                run(x, 1, 1, found);
              });
}

template <type A, type B, bool Half>
struct shapes {
  path p;
  std::string name;
  check_list& all;

  void add(const char* what, std::function<verdict(const effort&)> run) const {
    all.push_back(
        device_check(name + "." + what, "T9 T12", "instruction", run));
  }
  template <form Form, int... Eighths>
  void add_shapes(const char* what,
                  std::integer_sequence<int, Eighths...>) const {
    add(what, [p = p](const effort& e) {
      verdict v;
      ((v += hold_shape(p, e, 8 * (Eighths + 1),
                        launch<8 * (Eighths + 1), A, B, Half, Form>)),
       ...);
      return v;
    });
  }
  void add_forms() const {
    // N = 8, 24, 64, 128, 256.
    using some = std::integer_sequence<int, 0, 2, 7, 15, 31>;
    add_shapes<form::registers>("registers", some{});
    add("in_one_go", [p = p](const effort& e) {
      return hold_chain(p, e, launch<128, A, B, Half, form::shared>);
    });
    add("without_c", [p = p](const effort& e) {
      return hold_without_c(p, e, launch<128, A, B, Half, form::shared>);
    });
    add("negated", [p = p](const effort& e) {
      verdict v =
          hold_negated(p, e, true, launch<128, A, B, Half, form::negated_a>);
      v += hold_negated(p, e, false, launch<128, A, B, Half, form::negated_b>);
      return v;
    });
  }
  void add_every_shape() const {
    add_shapes<form::shared>("every_n", std::make_integer_sequence<int, 32>{});
    add_forms();
  }
};

}  // namespace

check_list silicon_shape_checks() {
  check_list all;
  const auto make = [&all](auto of, format a, format b, format stored) {
    for (const path& p : wgmma_paths()) {
      if (!(p.a == a && p.b == b && p.acc.stored == stored)) continue;
      of.p = p;
      of.name = "silicon.hopper.wgmma." + zeroulp::name_of(a) + "." +
                zeroulp::name_of(b) + (stored == fp16 ? ".f16" : ".f32");
      return of;
    }
    throw std::logic_error("no such path");
  };
  using type::e4m3;
  make(shapes<e4m3, e4m3, false>{{}, {}, all}, zeroulp::e4m3, zeroulp::e4m3,
       fp32)
      .add_every_shape();
  make(shapes<type::e5m2, e4m3, true>{{}, {}, all}, zeroulp::e5m2,
       zeroulp::e4m3, fp16)
      .add_forms();
  make(shapes<type::bf16, type::bf16, false>{{}, {}, all}, zeroulp::bf16,
       zeroulp::bf16, fp32)
      .add_forms();
  make(shapes<type::fp16, type::fp16, true>{{}, {}, all}, zeroulp::fp16,
       zeroulp::fp16, zeroulp::fp16)
      .add_every_shape();
  make(shapes<type::tf32, type::tf32, false>{{}, {}, all}, zeroulp::tf32,
       zeroulp::tf32, fp32)
      .add_every_shape();
  make(shapes<type::fp16, type::fp16, false>{{}, {}, all}, zeroulp::fp16,
       zeroulp::fp16, fp32)
      .add_forms();
  make(shapes<e4m3, type::e5m2, false>{{}, {}, all}, zeroulp::e4m3,
       zeroulp::e5m2, fp32)
      .add_forms();
  return all;
}

}  // namespace zeroulp::conformance::device
