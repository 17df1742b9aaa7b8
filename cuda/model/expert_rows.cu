// The rows of experts: the plan, rows of tokens, gradients and sums through the
// slots.
//
//   plan: counts of each chunk of 256 slots -> ends and where each chunk begins
//   -> places, in the order of the slots
//
// Source: SPEC clauses N13, N14, S9.

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/row_eights.cuh"
#include "cuda/model/row_sum.cuh"
#include "cuda/ptx/warp.cuh"
#include "zeroulp/core/model/expert_rows.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;
using half_view = matrix_view<const std::uint16_t>;

constexpr int threads = 256;
constexpr int warps = threads / 32;
/// Experts whose counts of a chunk fit into shared memory.
constexpr std::ptrdiff_t most_experts = 1024;

/// A thread's slot: its expert (-1: none) and, among the slots of its warp with
/// the same one, how many come before it.
struct planned_slot {
  std::ptrdiff_t token, k;
  std::int32_t expert;
  unsigned same;

  __device__ planned_slot(const expert_plan& p, std::ptrdiff_t chunk) {
    const std::ptrdiff_t at = chunk * threads + threadIdx.x;
    const bool inside = at < p.experts.rows * p.experts.cols;
    token = inside ? at / p.experts.cols : -1;
    k = inside ? at % p.experts.cols : -1;
    expert = inside ? p.experts(token, k) : -1;
    if (expert < 0 || expert >= p.ends.rows - 1) expert = -1;
    same = __match_any_sync(0xffffffff, expert);
  }
  __device__ unsigned before() const {
    return static_cast<unsigned>(__popc(same & ((1u << threadIdx.x % 32) - 1)));
  }
  __device__ bool is_first() const { return before() == 0; }
};

/// counts[warp][expert] of this block's chunk.
__device__ void count_chunk(const planned_slot& slot, std::ptrdiff_t experts,
                            std::int32_t* counts) {
  for (std::ptrdiff_t i = threadIdx.x; i < warps * experts; i += threads) {
    counts[i] = 0;
  }
  __syncthreads();
  if (slot.expert >= 0 && slot.is_first()) {
    counts[threadIdx.x / 32 * experts + slot.expert] = __popc(slot.same);
  }
  __syncthreads();
}

__global__ void count_slots(const __grid_constant__ expert_plan p,
                            std::int32_t* of_chunks) {
  extern __shared__ std::int32_t counts[];
  const std::ptrdiff_t experts = p.ends.rows - 1;
  count_chunk(planned_slot(p, blockIdx.x), experts, counts);
  for (std::ptrdiff_t e = threadIdx.x; e < experts; e += threads) {
    std::int32_t sum = 0;
    for (int w = 0; w < warps; ++w) sum += counts[w * experts + e];
    of_chunks[std::ptrdiff_t{blockIdx.x} * experts + e] = sum;
  }
}

/// One block: a thread has an expert. Chunks' counts become where they begin
/// among the expert's rows.
__global__ void find_ends(const __grid_constant__ expert_plan p,
                          std::ptrdiff_t chunks, std::int32_t* of_chunks) {
  __shared__ std::int32_t padded[most_experts];
  const std::ptrdiff_t experts = p.ends.rows - 1;
  const std::ptrdiff_t e = threadIdx.x;
  if (e < experts) {
    std::int32_t sum = 0;
    for (std::ptrdiff_t c = 0; c < chunks; ++c) {
      std::int32_t& at = of_chunks[c * experts + e];
      const std::int32_t count = at;
      at = sum;
      sum += count;
    }
    padded[e] = static_cast<std::int32_t>(ceil_div(sum, p.align) * p.align);
  }
  __syncthreads();
  if (e != 0) return;
  std::int32_t end = 0;
  p.ends(0, 0) = 0;
  for (std::ptrdiff_t i = 0; i < experts; ++i) {
    end += padded[i];
    p.ends(i + 1, 0) = end;
  }
}

__global__ void clear_rows(const __grid_constant__ expert_plan p) {
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (at < p.rows.rows) p.rows(at, 0) = -1;
}

__global__ void place_slots(const __grid_constant__ expert_plan p,
                            const std::int32_t* of_chunks) {
  extern __shared__ std::int32_t counts[];
  const std::ptrdiff_t experts = p.ends.rows - 1;
  const planned_slot slot(p, blockIdx.x);
  count_chunk(slot, experts, counts);
  if (slot.token < 0) return;
  std::int32_t row = -1;
  if (slot.expert >= 0) {
    row = p.ends(slot.expert, 0) +
          of_chunks[std::ptrdiff_t{blockIdx.x} * experts + slot.expert] +
          static_cast<std::int32_t>(slot.before());
    for (unsigned w = 0; w < threadIdx.x / 32; ++w) {
      row += counts[w * experts + slot.expert];
    }
    p.rows(row, 0) = static_cast<std::int32_t>(slot.token);
  }
  p.slots(slot.token, slot.k) = row;
}

__global__ void gather_rows(
    const __grid_constant__ eights_matrix<const std::uint16_t> x,
    matrix_view<const std::int32_t> rows,
    const __grid_constant__ eights_matrix<std::uint16_t> y) {
  const eight_place at(y.cols);
  const std::ptrdiff_t from = rows(at.row, 0);
  if (at.column >= y.cols) return;
  const bool inside = from >= 0 && from < x.rows;
  y.put(at.row, at.column, inside ? x.get(from, at.column) : vec8<2>{});
}

/// What slots_backward reads and writes.
struct slot_params {
  slot_gradients t;
  eights_matrix<const std::uint16_t> dy, y;
  eights_matrix<std::uint16_t> d_rows;
};

/// The first element of a row of d_rows that no slot has written yet: no BF16
/// code that a kernel writes, as every NaN of theirs is 0x7fff.
constexpr std::uint16_t unwritten_row = 0xffff;

__global__ void mark_rows(
    const __grid_constant__ matrix_view<std::uint16_t> d_rows) {
  ptx::wait_for_kernels_before();
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (at < d_rows.rows) d_rows(at, 0) = unwritten_row;
}

/// A warp has a row.
__global__ void clear_marked_rows(
    const __grid_constant__ eights_matrix<std::uint16_t> d_rows) {
  ptx::wait_for_kernels_before();
  const std::ptrdiff_t row = row_of_thread<32>();
  if (row >= d_rows.rows) return;
  // One lane reads, as one writes there.
  const unsigned first =
      threadIdx.x % 32 == 0 ? d_rows.data[row * d_rows.stride] : 0;
  if (__shfl_sync(0xffffffff, first, 0) != unwritten_row) return;
  for (std::ptrdiff_t j = 8 * (threadIdx.x % 32); j < d_rows.cols;
       j += 8 * 32) {
    d_rows.put(row, j, vec8<2>{});
  }
}

/// A slot that slots_backward has.
struct slot_of_token {
  std::ptrdiff_t i, k, row;  ///< its token, its column, its row of experts
  bool exists, writes, sums;
  float weight;

  slot_of_token() = default;
  __device__ slot_of_token(const slot_params& p, std::ptrdiff_t at)
      : row(-1), weight(0) {
    const slot_gradients& t = p.t;
    // Fewer than 2^31.
    const auto columns = static_cast<unsigned>(t.slots.cols);
    i = static_cast<unsigned>(at) / columns;
    k = at - i * columns;
    exists = at < t.slots.rows * t.slots.cols;
    if (exists) {
      row = t.slots(i, k);
      if (p.d_rows.data != nullptr) weight = __uint_as_float(t.weights(i, k));
    }
    writes = p.d_rows.data != nullptr && row >= 0 && row < p.d_rows.rows;
    sums = t.dweights.data != nullptr && row >= 0 && row < p.y.rows;
  }
};

/// Slots that a warp or a block has: with one, short rows would keep too few
/// loads under way.
template <int Threads, int Batch>
constexpr int slots_at_once = Threads > 32 && Batch == 1 ? 4 : 1;

/// A warp or a block has slots_at_once; a thread loads `Batch` runs of each at
/// once. Whole: dy and y are.
template <int Threads, int Batch, bool Whole>
__global__ void __launch_bounds__(threads, Threads == 32 ? 6 : 4)
    slots_backward(const __grid_constant__ slot_params p) {
  ptx::wait_for_kernels_before();
  constexpr int count = slots_at_once<Threads, Batch>;
  const std::ptrdiff_t n = p.dy.cols;
  slot_of_token slots[count];
#pragma unroll
  for (int s = 0; s < count; ++s) {
    slots[s] = {p, count * row_of_thread<Threads>() + s};
  }
  struct operands {
    vec8<2> dy[count], y[count];
  };
  const auto read = [&](bool inside, std::ptrdiff_t first) {
    operands of;
#pragma unroll
    for (int s = 0; s < count; ++s) {
      const slot_of_token& x = slots[s];
      of.dy[s] = p.dy.get_if<Whole>(inside && x.exists, x.i, first);
      of.y[s] = p.y.get_if<Whole>(inside && x.sums, x.row, first);
    }
    return of;
  };
  float sums[count]{};
  for_loaded_runs<Threads, Batch>(
      n, read, [&](std::ptrdiff_t first, const operands& of) {
#pragma unroll
        for (int s = 0; s < count; ++s) {
          const slot_of_token& x = slots[s];
          if (x.writes) {
            p.d_rows.put(x.row, first, bf16_codes([&](int e) {
                           return __fmul_rn(x.weight, number_in(of.dy[s], e));
                         }));
          }
          if (!x.sums) continue;
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            if (Whole || first + e < n) {
              sums[s] = __fmaf_rn(number_in(of.dy[s], e), number_in(of.y[s], e),
                                  sums[s]);
            }
          }
        }
      });
  if (p.t.dweights.data == nullptr) return;
  trees_of_threads<Threads, A>(sums);
  if (threadIdx.x % Threads != 0) return;
#pragma unroll
  for (int s = 0; s < count; ++s) {
    const slot_of_token& x = slots[s];
    if (x.exists) p.t.dweights(x.i, x.k) = __float_as_uint(sums[s]);
  }
}

__global__ void append(matrix_view<const std::int32_t> slots,
                       matrix_view<const std::uint32_t> weights,
                       std::ptrdiff_t first, matrix_view<std::int32_t> all,
                       matrix_view<std::uint32_t> by) {
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= all.rows * all.cols) return;
  const std::ptrdiff_t t = at / all.cols, k = at % all.cols;
  const bool last = k == slots.cols;
  all(t, k) = last ? static_cast<std::int32_t>(first + t) : slots(t, k);
  if (by.data != nullptr) by(t, k) = last ? fp32_one : weights(t, k);
}

}  // namespace

std::ptrdiff_t plan_work(std::ptrdiff_t slots, std::ptrdiff_t experts) {
  return ceil_div(slots, threads) * experts;
}

void make_plan(const expert_plan& p, std::span<std::int32_t> work,
               CUstream_st* stream) {
  const argument_checks r("cuda::make_plan");
  const std::ptrdiff_t slots = p.experts.rows * p.experts.cols;
  const std::ptrdiff_t experts = p.ends.rows - 1;
  r.need(experts >= 1 && experts <= most_experts && p.ends.cols == 1,
         "ends are those of 1 to 1024 experts, and one");
  r.need(p.align > 0, "rows are aligned to 1 and more");
  r.need(p.slots.rows == p.experts.rows && p.slots.cols == p.experts.cols,
         "slots have another shape than experts");
  r.need(
      p.rows.cols == 1 && p.rows.rows >= plan_capacity(slots, experts, p.align),
      "rows are fewer than the plan's capacity");
  r.need(static_cast<std::ptrdiff_t>(work.size()) >= plan_work(slots, experts),
         "`work` is smaller than plan_work()");
  r.need_gpu();
  const std::ptrdiff_t chunks = ceil_div(slots, threads);
  const auto shared =
      static_cast<std::size_t>(warps * experts) * sizeof(std::int32_t);
  if (p.rows.rows > 0) {
    clear_rows<<<r.blocks(ceil_div(p.rows.rows, threads)), threads, 0,
                 stream>>>(p);
    r.launched();
  }
  if (chunks > 0) {
    count_slots<<<r.blocks(chunks), threads, shared, stream>>>(p, work.data());
    r.launched();
  }
  find_ends<<<1, most_experts, 0, stream>>>(p, chunks, work.data());
  r.launched();
  if (chunks > 0) {
    place_slots<<<r.blocks(chunks), threads, shared, stream>>>(p, work.data());
    r.launched();
  }
}

void gather(half_view x, matrix_view<const std::int32_t> rows,
            matrix_view<std::uint16_t> y, CUstream_st* stream) {
  const argument_checks r("cuda::gather");
  r.need(y.rows == rows.rows && rows.cols == 1 && y.cols == x.cols,
         "y has a row of x for each of rows");
  if (y.rows == 0 || y.cols == 0) return;
  r.need_gpu();
  gather_rows<<<eight_blocks(r, y.rows, y.cols), eights_threads, 0, stream>>>(
      eights_matrix(x), rows, eights_matrix(y));
  r.launched();
}

void slot_backward(const slot_gradients& t, CUstream_st* stream) {
  const argument_checks r("cuda::slot_backward");
  const std::ptrdiff_t n = t.dy.cols;
  r.need(t.slots.rows == t.dy.rows, "slots are not those of dy's tokens");
  if (t.d_rows.data != nullptr) {
    r.need(t.d_rows.cols == n && t.weights.rows == t.slots.rows &&
               t.weights.cols == t.slots.cols,
           "d_rows or weights have another shape");
  }
  if (t.dweights.data != nullptr) {
    r.need(t.y.cols == n && t.dweights.rows == t.slots.rows &&
               t.dweights.cols == t.slots.cols,
           "y or dweights have another shape");
  }
  const std::ptrdiff_t slots = t.slots.rows * t.slots.cols;
  r.need(slots < std::ptrdiff_t{1} << 31, "there are 2^31 slots or more");
  r.need_gpu();
  const slot_params params{t, eights_matrix(t.dy), eights_matrix(t.y),
                           eights_matrix(t.d_rows)};
  const bool has_rows = t.d_rows.data != nullptr && t.d_rows.rows > 0 && n > 0;
  if (has_rows) {
    pdl_launch(stream, mark_rows, r.blocks(ceil_div(t.d_rows.rows, threads)),
               threads, t.d_rows);
    r.launched();
  }
  if (slots > 0) {
    const auto kernel =
        kernel_for_rows<4>(n, params.dy.whole && params.y.whole,
                           [&]<int Threads, int Batch, bool Whole>() {
                             return slots_backward<Threads, Batch, Whole>;
                           });
    const std::ptrdiff_t of_block = n <= row_of_warp || n > run_step
                                        ? rows_of_block(n)
                                        : slots_at_once<threads, 1>;
    pdl_launch(stream, kernel, r.blocks(ceil_div(slots, of_block)), threads,
               params);
    r.launched();
  }
  if (has_rows) {
    pdl_launch(stream, clear_marked_rows,
               r.blocks(ceil_div(t.d_rows.rows, warps)), threads,
               params.d_rows);
    r.launched();
  }
}

void append_slot(matrix_view<const std::int32_t> slots,
                 matrix_view<const std::uint32_t> weights, std::ptrdiff_t first,
                 matrix_view<std::int32_t> all, matrix_view<std::uint32_t> by,
                 CUstream_st* stream) {
  const argument_checks r("cuda::append_slot");
  r.need(all.rows == slots.rows && all.cols == slots.cols + 1,
         "`all` has one column more than slots");
  r.need(first >= 0 && first + slots.rows < std::ptrdiff_t{1} << 31,
         "rows are from 0 to below 2^31");
  r.need(by.data == nullptr ||
             (by.rows == all.rows && by.cols == all.cols &&
              weights.rows == slots.rows && weights.cols == slots.cols),
         "weights have another shape than slots");
  if (all.rows == 0) return;
  r.need_gpu();
  append<<<r.blocks(ceil_div(all.rows * all.cols, threads)), threads, 0,
           stream>>>(slots, weights, first, all, by);
  r.launched();
}

}  // namespace zeroulp::cuda
