// Defines the kernels of attention's backward pass. S and dP are made again, so
// that no matrix of T x T is in memory:
//
//   find_row_numbers     m, r and D of every query, 64 queries together
//   find_query_gradients a block has 128 queries, goes through their keys:
//                        S, dP -> dS -> dQ += dS k
//   find_key_gradients   a block has 128 keys, goes through the queries that
//   see
//                        them: S^T, dP^T -> P^T, dS^T -> dV += P^T dO,
//                        dK += dS^T q
//
// One thread loads tiles of 64 keys (queries) by TMA; two warp groups multiply,
// 64 rows each, with their sums in registers from the first tile to the last.
// Source: SPEC clause N7.

#ifndef ZEROULP_CUDA_MODEL_ATTENTION_BACKWARD_CUH_
#define ZEROULP_CUDA_MODEL_ATTENTION_BACKWARD_CUH_

#include "cuda/common/row_eights.cuh"
#include "cuda/model/attention_tile.cuh"
#include "zeroulp/core/view.hpp"

namespace zeroulp::cuda {

struct attention_backward_params {
  CUtensorMap q, k, v, d_o;
  int length, heads;
  int blocks;  ///< of 128 rows of a head and sequence
  int tiles;   ///< of 64 rows
  float scale;
  /// For each head, sequence and tile attention_row_words.
  const float* row_numbers;
  attention_output dq, dk, dv;
};

struct attention_row_params {
  int length, heads, tiles;
  std::ptrdiff_t rows;  ///< of all heads, sequences and tiles
  matrix_view<const std::uint32_t> largest, inverse;
  eights_matrix<const std::uint16_t> d_o;
  eights_matrix<const std::uint32_t> o;
  float* to;
};

/// Tiles of 64 rows: of two operands that stay, and of two that pass by.
template <int Depth, int Values>
struct attention_backward_shape {
  static constexpr int depth = Depth;
  static constexpr int values = Values;
  static constexpr int stages = 3;
  static constexpr int near_bytes = attention_rows * Depth * 2;
  static constexpr int far_bytes = attention_rows * Values * 2;
  static constexpr int stage_rows_bytes = 1024;  ///< m, r and D
  static constexpr int stage_near_bytes = attention_box * Depth * 2;
  static constexpr int stage_far_bytes = attention_box * Values * 2;
  static constexpr int stage_bytes =
      stage_near_bytes + stage_far_bytes + stage_rows_bytes;
  static constexpr int shared_bytes =
      near_bytes + far_bytes + stages * stage_bytes + 8 * (1 + 2 * stages) +
      1024;  // for alignment
};

namespace detail {

/// "Near" is q or k, "far" dO or v.
template <class Shape>
struct backward_shared {
  char* start;

  __device__ char* near() const { return start; }
  __device__ char* far() const { return start + Shape::near_bytes; }
  __device__ char* near(int stage) const {
    return far() + Shape::far_bytes + stage * Shape::stage_bytes;
  }
  __device__ char* far(int stage) const {
    return near(stage) + Shape::stage_near_bytes;
  }
  __device__ char* rows(int stage) const {
    return far(stage) + Shape::stage_far_bytes;
  }
  __device__ ptx::barrier* kept_full() const {
    return reinterpret_cast<ptx::barrier*>(near(Shape::stages));
  }
  __device__ ptx::barrier* full() const { return kept_full() + 1; }
  __device__ ptx::barrier* empty() const { return full() + Shape::stages; }

  __device__ void initialize() const {
    ptx::initialize(*kept_full(), 1);
    for (int i = 0; i < Shape::stages; ++i) {
      initialize_stage(full()[i], 1, empty()[i],
                       attention_math_warps * releasing_lanes);
    }
    ptx::fence_barrier_init();
  }
};

/// m, r and D of the first query of a tile.
__device__ inline const float* row_numbers_of(
    const attention_backward_params& p, const attention_place& at, int tile) {
  const std::ptrdiff_t matrix =
      static_cast<std::ptrdiff_t>(at.sequence) * p.heads + at.head;
  return p.row_numbers + (matrix * p.tiles + tile) * attention_row_words;
}

/// Loads the operands that stay, `near` and `far`, then tiles [begin, end) of
/// those that pass by; `with_rows`: and their m, r and D.
template <class Shape>
__device__ void load_backward(const attention_backward_params& p,
                              const backward_shared<Shape>& shared,
                              const attention_place& at,
                              const CUtensorMap& near, const CUtensorMap& far,
                              const CUtensorMap& near_tiles,
                              const CUtensorMap& far_tiles, int begin, int end,
                              bool with_rows) {
  auto& kept = *shared.kept_full();
  ptx::arrive_expect_tx(kept, Shape::near_bytes + Shape::far_bytes);
  load_rows<2, Shape::depth>(shared.near(), near, kept, at.first, at);
  load_rows<2, Shape::values>(shared.far(), far, kept, at.first, at);
  constexpr unsigned row_bytes = attention_row_words * 4;
  const unsigned bytes = Shape::stage_near_bytes + Shape::stage_far_bytes +
                         (with_rows ? row_bytes : 0);
  pipeline_state<Shape::stages> stage;
  for (int i = begin; i < end; ++i, stage.advance()) {
    wait_empty(shared.empty(), stage);
    auto& full = shared.full()[stage.stage];
    ptx::arrive_expect_tx(full, bytes);
    const int row = i * attention_box;
    load_rows<1, Shape::depth>(shared.near(stage.stage), near_tiles, full, row,
                               at);
    load_rows<1, Shape::values>(shared.far(stage.stage), far_tiles, full, row,
                                at);
    if (with_rows) {
      ptx::tma_load_bytes(shared.rows(stage.stage), row_numbers_of(p, at, i),
                          row_bytes, full);
    }
  }
}

/// What both kernels know of a warp group.
template <class Shape>
struct backward_group {
  const attention_backward_params& p;
  const backward_shared<Shape>& shared;
  int group;
  int row;  ///< the first of this thread's, in the sequence
  pipeline_state<Shape::stages> at, before;

  __device__ shared_address kept(char* operand) const {
    return ptx::address_of(operand) +
           static_cast<unsigned>(group) * attention_box_bytes;
  }
  /// Begins S, or its transpose.
  __device__ void multiply_near(float (&s)[32]) {
    ptx::fence_registers(s);
    ptx::begin_wgmma();
    multiply_rows<Shape::depth, attention_box, 2, 1>(
        s, kept(shared.near()), ptx::address_of(shared.near(at.stage)));
    ptx::commit_wgmma();
  }
  /// Begins dP, or its transpose.
  __device__ void multiply_far(float (&dp)[32]) {
    ptx::fence_registers(dp);
    ptx::begin_wgmma();
    multiply_rows<Shape::values, attention_box, 2, 1>(
        dp, kept(shared.far()), ptx::address_of(shared.far(at.stage)));
    ptx::commit_wgmma();
  }
  __device__ void release_before() {
    arrive_as_warp(shared.empty()[before.stage]);
  }
  __device__ void advance() {
    before = at;
    at.advance();
  }
  /// Releases a tile that this group has no use for.
  __device__ void skip() {
    wait_full(shared.full(), at);
    arrive_as_warp(shared.empty()[at.stage]);
    at.advance();
  }
  __device__ void store(const attention_output& out, const attention_place& in,
                        int width, const auto& sums, bool scaled) const {
    const int first = in.first + group * attention_box;
    store_rows(
        out, static_cast<std::ptrdiff_t>(in.sequence) * p.length + first,
        p.length - first, static_cast<std::ptrdiff_t>(in.head) * width, sums,
        [&](float x, int) { return scaled ? __fmul_rn(p.scale, x) : x; });
  }
};

template <class Shape>
__device__ void multiply_query_gradients(const attention_backward_params& p,
                                         const backward_shared<Shape>& shared,
                                         const attention_place& in, int group,
                                         int tiles) {
  const int own = in.first / attention_box + group;  // the tile on the diagonal
  backward_group<Shape> g{p, shared, group,
                          own * attention_box + row_of_lane()};
  float m[2], r[2], d[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    // A group beyond the sequence has no rows; what it makes is not stored.
    const float* const numbers =
        row_numbers_of(p, in, min(own, p.tiles - 1)) + row_of_lane() + 8 * h;
    m[h] = numbers[0];
    r[h] = numbers[attention_box];
    d[h] = numbers[2 * attention_box];
  }
  float dq[Shape::depth / 2];
#pragma unroll
  for (float& x : dq) x = 0;
  std::uint32_t ds[4][4] = {};
  ptx::wait(*shared.kept_full(), 0);
  const int end = min(tiles, own + 1);  // above 0
  int i = 0;
  do {
    float s[32], dp[32];
    std::uint32_t e[4][4];
    wait_full(shared.full(), g.at);
    g.multiply_near(s);
    g.multiply_far(dp);
    ptx::wait_for_wgmma<1>();
    ptx::fence_registers(s);
    ptx::fence_registers(ds);
    ptx::fence_registers(dq);
    if (i > 0) g.release_before();
    pack_operand(e, [&](int at, int, int h) {
      return exp_of_difference(__fsub_rn(__fmul_rn(s[at], p.scale), m[h]));
    });
    ptx::wait_for_wgmma();
    ptx::fence_registers(dp);
    pack_operand(ds, [&](int at, int, int h) {
      const float share = __fmul_rn(number_of_operand(e, at), r[h]);
      return __fmul_rn(share, __fsub_rn(dp[at], d[h]));
    });
    if (i == own) {
      mask_operand(ds, [&](int column, int h) {
        return i * attention_box + column <= g.row + 8 * h;
      });
    }
    ptx::fence_registers(dq);
    ptx::begin_wgmma();
    multiply_columns<Shape::depth>(dq, ds,
                                   ptx::address_of(shared.near(g.at.stage)));
    ptx::commit_wgmma();
    g.advance();
  } while (++i < end);
  ptx::wait_for_wgmma();
  ptx::fence_registers(ds);
  ptx::fence_registers(dq);
  g.release_before();
  for (; i < tiles; ++i) g.skip();
  g.store(p.dq, in, Shape::depth, dq, true);
}

/// P and dS of keys (rows) and queries (columns), in BF16, from e (in `share`,
/// where P replaces it), dP and the queries' m, r and D.
__device__ inline void make_shares(std::uint32_t (&share)[4][4],
                                   std::uint32_t (&ds)[4][4],
                                   const float (&dp)[32],
                                   const float* numbers) {
  const int first = column_of_lane();
#pragma unroll
  for (int step = 0; step < 4; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int i = 8 * step + 4 * (j / 2) + 2 * (j % 2);
      const int column = 16 * step + 8 * (j / 2) + first;
      float p[2], gradient[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        p[k] = __fmul_rn(number_of_operand(share, i + k),
                         numbers[attention_box + column + k]);
        gradient[k] = __fmul_rn(
            p[k],
            __fsub_rn(dp[i + k], numbers[2 * attention_box + column + k]));
      }
      share[step][j] = ptx::cvt_bf16x2(p[0], p[1]);
      ds[step][j] = ptx::cvt_bf16x2(gradient[0], gradient[1]);
    }
  }
}

template <class Shape>
__device__ void multiply_key_gradients(const attention_backward_params& p,
                                       const backward_shared<Shape>& shared,
                                       const attention_place& in, int group) {
  const int first = in.first / attention_box;
  const int own = first + group;  // the tile on the diagonal
  backward_group<Shape> g{p, shared, group,
                          own * attention_box + row_of_lane()};
  float dk[Shape::depth / 2], dv[Shape::values / 2];
#pragma unroll
  for (float& x : dk) x = 0;
#pragma unroll
  for (float& x : dv) x = 0;
  std::uint32_t share[4][4] = {}, ds[4][4] = {};
  ptx::wait(*shared.kept_full(), 0);
  if (group > 0) g.skip();
  // Without a tile there is nothing to wait for: a wait after both branches
  // makes ptxas wait after every wgmma.
  if (own < p.tiles) {
    float s[32] = {};  // S^T, then dP^T: two arrays make ptxas spill
    int i = own;
    do {
      wait_full(shared.full(), g.at);
      const auto* const numbers =
          reinterpret_cast<const float*>(shared.rows(g.at.stage));
      g.multiply_near(s);
      ptx::wait_for_wgmma();
      ptx::fence_registers(s);
      ptx::fence_registers(ds);
      ptx::fence_registers(dk);
      if (i > own) g.release_before();
      pack_operand(share, [&](int at, int column, int) {
        return exp_of_difference(
            __fsub_rn(__fmul_rn(s[at], p.scale), numbers[column]));
      });
      g.multiply_far(s);
      ptx::wait_for_wgmma();
      ptx::fence_registers(s);
      make_shares(share, ds, s, numbers);
      const int query = i * attention_box;
      if (i == own || query + attention_box > p.length) {
        const auto is_seen = [&](int column, int h) {
          return g.row + 8 * h <= query + column && query + column < p.length;
        };
        mask_operand(share, is_seen);
        mask_operand(ds, is_seen);
      }
      ptx::fence_registers(dk);
      ptx::fence_registers(dv);
      ptx::begin_wgmma();
      multiply_columns<Shape::values>(dv, share,
                                      ptx::address_of(shared.far(g.at.stage)));
      ptx::commit_wgmma();
      multiply_columns<Shape::depth>(dk, ds,
                                     ptx::address_of(shared.near(g.at.stage)));
      ptx::commit_wgmma();
      // dK's products stay in flight. With dV's, registers would not suffice.
      ptx::wait_for_wgmma<1>();
      ptx::fence_registers(share);
      ptx::fence_registers(dv);
      g.advance();
    } while (++i < p.tiles);
    ptx::wait_for_wgmma();
    ptx::fence_registers(ds);
    ptx::fence_registers(dk);
  }
  g.store(p.dv, in, Shape::values, dv, false);
  g.store(p.dk, in, Shape::depth, dk, true);
}

}  // namespace detail

/// Writes m, r and D, and zeros for what tiles have beyond their sequence. As
/// many threads as there are eights in a head have a query: D's partial sums
/// beyond are +0 (N1).
template <int Values>
__global__ void find_row_numbers(
    const __grid_constant__ attention_row_params p) {
  constexpr int lanes = Values / 8;
  const std::ptrdiff_t index =
      (static_cast<std::ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x) /
      lanes;
  // Heads are the fastest index: those of a token are neighbours.
  const std::ptrdiff_t padded = static_cast<std::ptrdiff_t>(p.tiles) * 64;
  const std::ptrdiff_t head = index % p.heads, at = index / p.heads;
  const std::ptrdiff_t i = at % padded, sequence = at / padded;
  const std::ptrdiff_t token = sequence * p.length + i;
  const bool is_in = index < p.rows && i < p.length;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  float d = 0;
  if (is_in) {
    const std::ptrdiff_t column = head * Values + 8 * lane;
    const auto g = p.d_o.get(token, column);
    const auto o = p.o.get(token, column);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      d = __fmaf_rn(number_in(g, k), number_in(o, k), d);
    }
  }
#pragma unroll
  for (int step = 1; step < lanes; step *= 2) {
    d = __fadd_rn(d, __shfl_xor_sync(0xffffffff, d, step));
  }
  if (lane != 0 || index >= p.rows) return;
  d = __fadd_rn(d, 0.0f);
  float* const to =
      p.to +
      ((sequence * p.heads + head) * p.tiles + i / 64) * attention_row_words +
      i % 64;
  to[0] = is_in ? __uint_as_float(p.largest(token, head)) : 0.0f;
  to[attention_box] = is_in ? __uint_as_float(p.inverse(token, head)) : 0.0f;
  to[2 * attention_box] = d;
}

/// Grids: a block for each 128 queries, or keys, of a head and sequence.
template <class Shape>
__global__ void __launch_bounds__(attention_threads, 1)
    find_query_gradients(const __grid_constant__ attention_backward_params p) {
  extern __shared__ char raw[];
  const detail::backward_shared<Shape> shared{detail::aligned_shared(raw)};
  const detail::attention_place at(p.blocks, p.heads, true);
  if (threadIdx.x == 0) shared.initialize();
  __syncthreads();
  const int tiles = min(p.tiles, (at.first + attention_rows) / attention_box);
  detail::run_attention_roles(
      [&] {
        detail::load_backward(p, shared, at, p.q, p.d_o, p.k, p.v, 0, tiles,
                              false);
      },
      [&](int group) {
        detail::multiply_query_gradients(p, shared, at, group, tiles);
      });
}

template <class Shape>
__global__ void __launch_bounds__(attention_threads, 1)
    find_key_gradients(const __grid_constant__ attention_backward_params p) {
  extern __shared__ char raw[];
  const detail::backward_shared<Shape> shared{detail::aligned_shared(raw)};
  const detail::attention_place at(p.blocks, p.heads, false);
  if (threadIdx.x == 0) shared.initialize();
  __syncthreads();
  detail::run_attention_roles(
      [&] {
        detail::load_backward(p, shared, at, p.k, p.v, p.q, p.d_o,
                              at.first / attention_box, p.tiles, true);
      },
      [&](int group) { detail::multiply_key_gradients(p, shared, at, group); });
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_ATTENTION_BACKWARD_CUH_
