// Defines the kernel of attention's forward pass. A block has 128 queries of a
// head and goes through their keys twice:
//
//   first    S = q k^T -> the largest score, exactly
//   second   S again -> e -> o += e v, l += e 1; at the end O, m, r
//
//   load thread   TMA loads of tiles of 128 keys, then of keys and values
//   math groups   64 queries each: wgmma, e in registers
//
// A group whose last tile is half beyond its queries takes 64 keys of it: a
// value beyond the range of N6 (a) is not multiplied by zero.
// Source: SPEC clauses N5 and N6.

#ifndef ZEROULP_CUDA_MODEL_ATTENTION_FORWARD_CUH_
#define ZEROULP_CUDA_MODEL_ATTENTION_FORWARD_CUH_

#include "cuda/model/attention_tile.cuh"
#include "zeroulp/core/view.hpp"

namespace zeroulp::cuda {

struct attention_forward_params {
  CUtensorMap q, k, v;
  int length, heads;
  int blocks;  ///< of 128 queries of a head and sequence
  float scale;
  attention_output o;
  matrix_view<std::uint32_t> largest, inverse;  ///< tokens x heads
};

template <int Depth, int Values>
struct attention_forward_shape {
  static constexpr int depth = Depth;
  static constexpr int values = Values;
  static constexpr int keys = 128;  ///< of a tile
  static constexpr int stages = 2;
  static constexpr int q_bytes = attention_rows * Depth * 2;
  static constexpr int k_bytes = keys * Depth * 2;
  static constexpr int v_bytes = keys * Values * 2;
  static constexpr int ones_bytes = 1024;
  static constexpr int shared_bytes = q_bytes + stages * (k_bytes + v_bytes) +
                                      ones_bytes + 8 * (1 + 4 * stages) +
                                      1024;  // for alignment
};

namespace detail {

template <class Shape>
struct forward_shared {
  char* start;

  __device__ char* q() const { return start; }
  __device__ char* k(int stage) const {
    return start + Shape::q_bytes + stage * Shape::k_bytes;
  }
  __device__ char* v(int stage) const {
    return k(Shape::stages) + stage * Shape::v_bytes;
  }
  __device__ char* ones() const { return v(Shape::stages); }
  __device__ ptx::barrier* q_full() const {
    return reinterpret_cast<ptx::barrier*>(ones() + Shape::ones_bytes);
  }
  __device__ ptx::barrier* k_full() const { return q_full() + 1; }
  __device__ ptx::barrier* k_empty() const { return k_full() + Shape::stages; }
  __device__ ptx::barrier* v_full() const { return k_empty() + Shape::stages; }
  __device__ ptx::barrier* v_empty() const { return v_full() + Shape::stages; }
};

/// Tiles of keys before that of the last queries.
template <class Shape>
__device__ int tiles_before(const attention_place& at) {
  static_assert(Shape::keys == attention_rows);
  return at.first / Shape::keys;
}

template <class Shape>
__device__ void load_forward(const attention_forward_params& p,
                             const forward_shared<Shape>& shared,
                             const attention_place& at) {
  ptx::arrive_expect_tx(*shared.q_full(), Shape::q_bytes);
  load_rows<2, Shape::depth>(shared.q(), p.q, *shared.q_full(), at.first, at);
  pipeline_state<Shape::stages> keys, values;
  const int last = tiles_before<Shape>(at);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i <= last; ++i, keys.advance()) {
      const int row = i * Shape::keys;
      wait_empty(shared.k_empty(), keys);
      auto& k_full = shared.k_full()[keys.stage];
      ptx::arrive_expect_tx(k_full, Shape::k_bytes);
      load_rows<2, Shape::depth>(shared.k(keys.stage), p.k, k_full, row, at);
      if (pass == 0) continue;
      wait_empty(shared.v_empty(), values);
      auto& v_full = shared.v_full()[values.stage];
      ptx::arrive_expect_tx(v_full, Shape::v_bytes);
      // Boxes of the same 64 keys lie one after the other.
      char* const to = shared.v(values.stage);
      load_rows<1, Shape::values>(to, p.v, v_full, row, at);
      load_rows<1, Shape::values>(to + Shape::v_bytes / 2, p.v, v_full,
                                  row + attention_box, at);
      values.advance();
    }
  }
}

/// 64 queries: their sums, and where they are in the pipelines.
template <class Shape>
struct forward_group {
  const attention_forward_params& p;
  const forward_shared<Shape>& shared;
  int group;
  int row;  ///< the first of this thread's, in the sequence
  pipeline_state<Shape::stages> keys, values, values_before;
  float m[2];  ///< the largest S, then scaled
  float o[Shape::values / 2];
  float l[4];

  /// S with the next `Keys` keys.
  template <int Keys>
  __device__ void multiply_keys(float (&s)[Keys / 2]) {
    wait_full(shared.k_full(), keys);
    ptx::fence_registers(s);
    ptx::begin_wgmma();
    multiply_rows<Shape::depth, Keys, 2, 2>(
        s,
        ptx::address_of(shared.q()) +
            static_cast<unsigned>(group) * attention_box_bytes,
        ptx::address_of(shared.k(keys.stage)));
    ptx::commit_wgmma();
    ptx::wait_for_wgmma();
    ptx::fence_registers(s);
    arrive_as_warp(shared.k_empty()[keys.stage]);
    keys.advance();
  }

  /// Edge: from key `first` on, keys are beyond some queries.
  template <int Keys, bool Edge>
  __device__ void find_largest(int first) {
    float s[Keys / 2];
    multiply_keys<Keys>(s);
#pragma unroll
    for (int i = 0; i < Keys / 2; ++i) {
      const int h = i / 2 % 2;
      const int key = first + i / 4 * 8 + column_of_lane() + i % 2;
      if (!Edge || key <= row + 8 * h) m[h] = ptx::max_nan(m[h], s[i]);
    }
  }
  /// Scaling keeps the order of scores, so that the largest is scaled alone.
  __device__ void scale_largest() {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int lanes = 1; lanes < 4; lanes *= 2) {
        m[h] = ptx::max_nan(m[h], __shfl_xor_sync(0xffffffff, m[h], lanes));
      }
      m[h] = __fmul_rn(m[h], p.scale);
    }
  }

  /// o and l with the next `Keys` keys; their wgmma end with those after.
  template <int Keys, bool Edge>
  __device__ void add_values(int first, std::uint32_t (&e)[Shape::keys / 16][4],
                             bool is_first) {
    std::uint32_t by[Keys / 16][4];
    {
      float s[Keys / 2];
      multiply_keys<Keys>(s);
      ptx::fence_registers(e);
      ptx::fence_registers(o);
      ptx::fence_registers(l);
      if (!is_first) {
        arrive_as_warp(shared.v_empty()[values_before.stage]);
      }
      pack_operand(by, [&](int i, int, int h) {
        return exp_of_difference(__fsub_rn(__fmul_rn(s[i], p.scale), m[h]));
      });
    }
    if constexpr (Edge) {
      mask_operand(
          by, [&](int column, int h) { return first + column <= row + 8 * h; });
    }
#pragma unroll
    for (int i = 0; i < Keys / 16; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) e[i][j] = by[i][j];
    }
    wait_full(shared.v_full(), values);
    ptx::fence_registers(o);
    ptx::fence_registers(l);
    ptx::begin_wgmma();
    const auto v = ptx::address_of(shared.v(values.stage));
    const auto ones = ptx::descriptor(ptx::address_of(shared.ones()));
    multiply_columns<Shape::values>(o, by, v);
#pragma unroll
    for (int i = 0; i < Keys / 16; ++i) {
      ptx::wgmma_bf16_of_registers<8, operand_major::k>::run(l, by[i], ones);
    }
    ptx::commit_wgmma();
    values_before = values;
    values.advance();
  }

  __device__ void store(const attention_place& at) {
    const float r[2] = {__fdiv_rn(1.0f, l[0]), __fdiv_rn(1.0f, l[2])};
    const std::ptrdiff_t token =
        static_cast<std::ptrdiff_t>(at.sequence) * p.length;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int i = row + 8 * h;
      if (threadIdx.x % 4 != 0 || i >= p.length) continue;
      p.largest(token + i, at.head) = __float_as_uint(m[h]);
      p.inverse(token + i, at.head) = __float_as_uint(r[h]);
    }
    const int first = at.first + group * attention_box;
    store_rows(p.o, token + first, p.length - first,
               static_cast<std::ptrdiff_t>(at.head) * Shape::values, o,
               [&](float x, int h) { return __fmul_rn(x, r[h]); });
  }
};

template <class Shape>
__device__ void multiply_forward(const attention_forward_params& p,
                                 const forward_shared<Shape>& shared,
                                 const attention_place& at, int group) {
  constexpr int all = Shape::keys, half = attention_box;
  forward_group<Shape> g{p, shared, group,
                         at.first + group * attention_box + row_of_lane()};
  const float nothing = __uint_as_float(0xff800000);  // -Inf
  g.m[0] = g.m[1] = nothing;
#pragma unroll
  for (float& x : g.o) x = 0;
#pragma unroll
  for (float& x : g.l) x = 0;
  const int last = tiles_before<Shape>(at);
  const int edge = last * all;
  ptx::wait(*shared.q_full(), 0);
  for (int i = 0; i < last; ++i) g.template find_largest<all, false>(0);
  if (group == 0) {
    g.template find_largest<half, true>(edge);
  } else {
    g.template find_largest<all, true>(edge);
  }
  g.scale_largest();
  std::uint32_t e[all / 16][4] = {};
  for (int i = 0; i < last; ++i) {
    g.template add_values<all, false>(0, e, i == 0);
  }
  if (group == 0) {
    g.template add_values<half, true>(edge, e, last == 0);
  } else {
    g.template add_values<all, true>(edge, e, last == 0);
  }
  ptx::wait_for_wgmma();
  ptx::fence_registers(e);
  ptx::fence_registers(g.o);
  ptx::fence_registers(g.l);
  g.store(at);
}

}  // namespace detail

/// Grid: a block for each 128 queries of a head and sequence.
template <class Shape>
__global__ void __launch_bounds__(attention_threads, 1)
    attend(const __grid_constant__ attention_forward_params p) {
  extern __shared__ char raw[];
  const detail::forward_shared<Shape> shared{detail::aligned_shared(raw)};
  const detail::attention_place at(p.blocks, p.heads, true);
  if (threadIdx.x == 0) {
    constexpr unsigned releases =
        detail::attention_math_warps * releasing_lanes;
    ptx::initialize(*shared.q_full(), 1);
    for (int i = 0; i < Shape::stages; ++i) {
      initialize_stage(shared.k_full()[i], 1, shared.k_empty()[i], releases);
      initialize_stage(shared.v_full()[i], 1, shared.v_empty()[i], releases);
    }
    ptx::fence_barrier_init();
  }
  auto* const ones = reinterpret_cast<std::uint32_t*>(shared.ones());
  for (int i = static_cast<int>(threadIdx.x); i < Shape::ones_bytes / 4;
       i += attention_threads) {
    ones[i] = 0x3f803f80;
  }
  ptx::fence_proxy_async();
  __syncthreads();
  detail::run_attention_roles(
      [&] { detail::load_forward(p, shared, at); },
      [&](int group) { detail::multiply_forward(p, shared, at, group); });
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_ATTENTION_FORWARD_CUH_
