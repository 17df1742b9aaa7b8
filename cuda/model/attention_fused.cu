// The host side of fused attention: makes the tensor maps of a request and
// launches the kernels for its widths.

#include <algorithm>

#include "cuda/common/tensor_map.hpp"
#include "cuda/model/attention.hpp"
#include "cuda/model/attention_backward.cuh"
#include "cuda/model/attention_forward.cuh"

namespace zeroulp::cuda {
namespace {

using half_view = matrix_view<const std::uint16_t>;

/// Calls use.operator()<Depth, Values>() for the widths of a head.
template <class Use>
void with_widths(const attention_shape& s, Use use) {
  if (s.depth == 192) {
    use.template operator()<192, 128>();
  } else if (s.depth == 128) {
    use.template operator()<128, 128>();
  } else {
    use.template operator()<64, 64>();
  }
}

std::ptrdiff_t tiles_of(const attention_shape& s) {
  return ceil_div(s.length, attention_box);
}
std::ptrdiff_t blocks_of(const attention_shape& s) {
  return ceil_div(s.length, attention_rows);
}

/// Boxes of 64 by 64 of one head and sequence; what is beyond it is zeros.
CUtensorMap map_of(const argument_checks& r, const attention_shape& s,
                   const half_view& x, std::ptrdiff_t width, const char* what) {
  const std::ptrdiff_t sequences = x.rows / s.length;
  const std::ptrdiff_t sequence = s.length * x.row_stride;
  if (reinterpret_cast<std::uintptr_t>(x.data) % 16 != 0 || x.row_stride < 0 ||
      x.row_stride % 8 != 0 || sequence >= most_map_bytes / 2) {
    r.refuse(std::string(what) +
             " needs rows on multiples of 16 bytes, and sequences below 2^40 "
             "bytes");
  }
  return make_bf16_map(r, x.data,
                       {{width, 1, attention_box},
                        {s.length, x.row_stride, attention_box},
                        {s.heads, width},
                        {sequences, sequence}});
}

attention_output output_of(const matrix_view<std::uint16_t>& x) {
  return {x.data, x.row_stride,
          starts_on(8, x.data, x.row_stride * std::ptrdiff_t{2})};
}

template <class Kernel, class Params>
void launch(const argument_checks& r, Kernel* kernel, int shared_bytes,
            std::ptrdiff_t blocks, const Params& params, CUstream_st* stream) {
  r.require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  kernel<<<r.blocks(blocks), attention_threads,
           static_cast<std::size_t>(shared_bytes), stream>>>(params);
  r.launched();
}

void check_length(const argument_checks& r, const attention_shape& s) {
  constexpr std::ptrdiff_t most = (std::ptrdiff_t{1} << 31) - 512;
  r.need(s.length < most, "a sequence has 2^31 - 512 tokens or more");
  r.need_gpu();
}

/// Some sequences of a backward pass.
template <int Depth, int Values>
void run_backward(const argument_checks& r, const attention_shape& s,
                  const attention_backward_params& params,
                  const attention_row_params& rows, std::ptrdiff_t sequences,
                  CUstream_st* stream) {
  using shape = attention_backward_shape<Depth, Values>;
  constexpr int threads = 256;
  find_row_numbers<Values>
      <<<r.blocks(ceil_div(rows.rows * (Values / 8), std::ptrdiff_t{threads})),
         threads, 0, stream>>>(rows);
  r.launched();
  const std::ptrdiff_t blocks = blocks_of(s) * s.heads * sequences;
  launch(r, find_query_gradients<shape>, shape::shared_bytes, blocks, params,
         stream);
  launch(r, find_key_gradients<shape>, shape::shared_bytes, blocks, params,
         stream);
}

}  // namespace

bool is_fused(const attention_shape& s) {
  return s.depth == 64
             ? s.value_depth == 64
             : (s.depth == 128 || s.depth == 192) && s.value_depth == 128;
}

std::size_t fused_attention_work_bytes(const attention_shape& s,
                                       std::ptrdiff_t sequences) {
  return static_cast<std::size_t>(sequences * s.heads * tiles_of(s)) *
         attention_row_words * sizeof(float);
}

void fused_attention_forward(const argument_checks& r, const attention_shape& s,
                             const engine::attention_inputs& t,
                             matrix_view<std::uint16_t> o,
                             matrix_view<std::uint32_t> largest,
                             matrix_view<std::uint32_t> inverse,
                             CUstream_st* stream) {
  check_length(r, s);
  attention_forward_params p{};
  p.q = map_of(r, s, t.q, s.depth, "q");
  p.k = map_of(r, s, t.k, s.depth, "k");
  p.v = map_of(r, s, t.v, s.value_depth, "v");
  p.length = static_cast<int>(s.length);
  p.heads = static_cast<int>(s.heads);
  p.blocks = static_cast<int>(blocks_of(s));
  p.scale = bit_cast<float>(s.scale);
  p.o = output_of(o);
  p.largest = largest;
  p.inverse = inverse;
  const std::ptrdiff_t blocks = blocks_of(s) * s.heads * (t.q.rows / s.length);
  with_widths(s, [&]<int Depth, int Values>() {
    using shape = attention_forward_shape<Depth, Values>;
    launch(r, attend<shape>, shape::shared_bytes, blocks, p, stream);
  });
}

void fused_attention_backward(const argument_checks& r,
                              const attention_shape& s,
                              const engine::attention_inputs& t,
                              const engine::attention_kept& kept,
                              matrix_view<const std::uint16_t> d_o,
                              const engine::attention_gradients_out& out,
                              std::span<std::byte> work, CUstream_st* stream) {
  check_length(r, s);
  const std::ptrdiff_t all = t.q.rows / s.length;
  const auto at_once = std::min<std::ptrdiff_t>(
      all, static_cast<std::ptrdiff_t>(work.size() /
                                       fused_attention_work_bytes(s, 1)));
  for (std::ptrdiff_t at = 0; at < all; at += at_once) {
    const std::ptrdiff_t sequences = std::min(at_once, all - at);
    const auto part = [&](auto x) {
      return x.block(at * s.length, 0, sequences * s.length, x.cols);
    };
    auto* const numbers = reinterpret_cast<float*>(work.data());
    attention_backward_params p{};
    p.q = map_of(r, s, part(t.q), s.depth, "q");
    p.k = map_of(r, s, part(t.k), s.depth, "k");
    p.v = map_of(r, s, part(t.v), s.value_depth, "v");
    p.d_o = map_of(r, s, part(d_o), s.value_depth, "d_o");
    p.length = static_cast<int>(s.length);
    p.heads = static_cast<int>(s.heads);
    p.blocks = static_cast<int>(blocks_of(s));
    p.tiles = static_cast<int>(tiles_of(s));
    p.scale = bit_cast<float>(s.scale);
    p.row_numbers = numbers;
    p.dq = output_of(part(out.dq));
    p.dk = output_of(part(out.dk));
    p.dv = output_of(part(out.dv));
    const attention_row_params rows{
        p.length,
        p.heads,
        p.tiles,
        sequences * s.heads * tiles_of(s) * attention_box,
        part(kept.largest),
        part(kept.inverse),
        eights_matrix(part(d_o)),
        eights_matrix(part(kept.o)),
        numbers};
    with_widths(s, [&]<int Depth, int Values>() {
      run_backward<Depth, Values>(r, s, p, rows, sequences, stream);
    });
  }
}

}  // namespace zeroulp::cuda
