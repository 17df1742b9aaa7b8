// The host side of cuda::swiglu_forward and swiglu_backward: checks a request
// and launches a kernel for it.

#include <cuda_runtime.h>

#include <algorithm>
#include <initializer_list>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/row_target.hpp"
#include "cuda/common/tensor_map.hpp"
#include "cuda/training/swiglu.cuh"
#include "cuda/training/swiglu_elementwise.cuh"
#include "cuda/training/swiglu_smem.cuh"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::cuda {
namespace {

/// Blocks of row_threads threads, for half warps of swiglu_rows rows.
unsigned blocks_of(const argument_checks& r, const const_matrix& x) {
  const unsigned half_warps =
      r.blocks(ceil_div(x.rows, swiglu_rows) * ceil_div(x.cols, tile_edge));
  return (half_warps - 1) / (row_threads / 16) + 1;
}

/// TMA boxes (one a warp) in a row.
std::uint32_t boxes_of_row(const device_rows& x) {
  return static_cast<std::uint32_t>(ceil_div(x.cols, 2 * tile_edge));
}

/// Blocks of `threads` threads for these boxes.
unsigned smem_blocks(const argument_checks& r, const device_rows& x,
                     unsigned threads) {
  const unsigned warps =
      r.blocks(ceil_div(x.rows, smem_rows) * boxes_of_row(x));
  return (warps - 1) / (threads / 32) + 1;
}

/// A tensor map of BF16 (2 bytes) or of E4M3 codes (1 byte).
CUtensorMap map_of(const argument_checks& r, const device_rows& x, int bytes) {
  return make_tensor_map(
      r, {bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                     : CU_TENSOR_MAP_DATA_TYPE_UINT8,
          bytes, x.data, 1, x.rows, x.cols, x.stride, smem_box_rows,
          2 * tile_edge, CU_TENSOR_MAP_SWIZZLE_NONE});
}

template <bool Powers>
void launch_smem(const argument_checks& r, const swiglu_gradient_params& params,
                 CUstream_st* stream) {
  constexpr int threads = smem_gradient_threads<Powers>;
  constexpr int bytes = sizeof(smem_gradient_memory<Powers>);
  const auto kernel = swiglu_backward_smem<Powers>;
  r.require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  pdl_launch(stream, kernel, smem_blocks(r, params.dh, threads), threads,
             {params,
              divisor(boxes_of_row(params.dh)),
              {map_of(r, params.dh, 2), map_of(r, params.g, 1),
               map_of(r, params.u, 1)}},
             bytes);
}

number_matrix numbers_of(format f, const device_rows& rows) {
  return {rows, number_kind_of(f)};
}

void check_numbers(const argument_checks& r, format f) {
  r.need(is_number(f), "numbers must be of fp32, bf16 or fp16");
}

device_rows checked_rows(const argument_checks& r, format f,
                         const const_matrix& x, const const_matrix& like,
                         const char* what) {
  r.need_matrix(x, storage_bytes(f), what);
  r.need_shape(x, like.rows, like.cols, what);
  return rows_of(x, storage_bytes(f));
}

struct smem_input {
  const device_rows& x;
  int bytes;  ///< of an element
};

/// True iff the staged kernels can load these inputs by TMA and write these
/// outputs by whole vec8s. All matrices have one shape. Outputs without data
/// are not wanted; at least one output is.
bool fits_smem(std::initializer_list<smem_input> inputs,
               std::initializer_list<device_rows> outputs) {
  const auto has_boxes = [](const smem_input& in) {
    constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 30;
    return in.x.rows < most && in.x.stride < most &&
           in.x.rows * in.x.stride < std::ptrdiff_t{1} << 38 &&
           starts_on(16, in.x.data, in.x.stride * in.bytes);
  };
  const auto is_vectorized_or_absent = [](const device_rows& x) {
    return x.data == nullptr || (x.vectorized && x.cols % 8 == 0);
  };
  return std::all_of(inputs.begin(), inputs.end(), has_boxes) &&
         std::all_of(outputs.begin(), outputs.end(), is_vectorized_or_absent);
}

/// True iff swiglu_backward_eights serves these matrices, of BF16 numbers.
bool fits_eights(const swiglu_gradient_elementwise_params& p) {
  const auto is_vectorized = [](const device_rows& x) {
    return x.data == nullptr || (x.vectorized && x.cols % 8 == 0);
  };
  for (const cached_matrix* c : {&p.g, &p.u}) {
    if (!is_vectorized(c->codes) || c->width % 8 != 0) return false;
    if (std::max(c->codes.rows, c->codes.cols) >= std::ptrdiff_t{1} << 31) {
      return false;
    }
  }
  for (const number_matrix* x : {&p.dh, &p.h, &p.dg, &p.du}) {
    if (!is_vectorized(x->rows)) return false;
  }
  return true;
}

/// Checks a cache of an m x n matrix.
cached_matrix checked_cache(const argument_checks& r, const quantizer& q,
                            const const_quantized& x, const const_matrix& like,
                            const char* what) {
  r.need_codes(q.to, what);
  cached_matrix c{};
  c.codes = checked_rows(r, q.to, x.codes, like, what);
  c.height = q.group.height(like.rows);
  c.width = q.group.width(like.cols);
  r.need_scales(x.scales, ceil_div(like.rows, c.height),
                ceil_div(like.cols, c.width), what);
  c.scales = {x.scales};
  return c;
}

}  // namespace

void swiglu_forward(const swiglu_layer& layer, const const_matrix& g,
                    const const_matrix& u, const matrix& h,
                    const quantized& h_out, const quantized& g_cache,
                    const quantized& u_cache, CUstream_st* stream) {
  const argument_checks r("cuda::swiglu_forward");
  const format from = layer.cache.from, to = layer.out.from;
  check_numbers(r, from);
  check_numbers(r, to);
  swiglu_params params{};
  params.g = checked_rows(r, from, g, g, "g");
  params.u = checked_rows(r, from, u, g, "u");
  params.h = number_target(r, to, h, g.rows, g.cols, "h");
  params.h_out = row_target(r, layer.out, h_out, g.rows, g.cols, "h quantized");
  params.g_cache =
      row_target(r, layer.cache, g_cache, g.rows, g.cols, "the cache of g");
  params.u_cache =
      row_target(r, layer.cache, u_cache, g.rows, g.cols, "the cache of u");
  const bool makes_codes = params.h_out.groups != grouping::none ||
                           params.g_cache.groups != grouping::none ||
                           params.u_cache.groups != grouping::none;
  const bool all_bf16 = from == bf16 && to == bf16;
  r.need(!makes_codes || all_bf16,
         "what is quantized in the same pass must be of bf16, in groups of "
         "1x128");
  if (g.rows == 0 || g.cols == 0) return;
  r.need(makes_codes || params.h.data != nullptr, "there is no output");
  const unsigned blocks = blocks_of(r, g);
  r.need_gpu();
  if (!all_bf16) {
    pdl_launch(stream, swiglu_forward_elementwise, blocks, row_threads,
               {numbers_of(from, params.g), numbers_of(from, params.u),
                numbers_of(to, params.h)});
    return r.launched();
  }
  // A quantizer that makes no codes may be anything.
  const auto format_of = [](const quantizer& q, bool wanted) {
    return wanted ? q.to : e4m3;
  };
  const bool makes_h = params.h_out.groups != grouping::none;
  const bool caches = params.g_cache.groups != grouping::none ||
                      params.u_cache.groups != grouping::none;
  if (makes_h) params.out = plan_of(layer.out);
  if (caches) params.cache = plan_of(layer.cache);
  const format out_format = format_of(layer.out, makes_h);
  const format cache_format = format_of(layer.cache, caches);
  if (out_format == e4m3 && cache_format == e4m3 &&
      fits_smem({{params.g, 2}, {params.u, 2}},
                {params.h, params.h_out.codes, params.g_cache.codes,
                 params.u_cache.codes})) {
    pdl_launch(stream, swiglu_forward_smem,
               smem_blocks(r, params.g, row_threads), row_threads,
               {params,
                divisor(boxes_of_row(params.g)),
                {map_of(r, params.g, 2), map_of(r, params.u, 2)}});
    return r.launched();
  }
  with_codes(out_format, [&](auto out) {
    with_codes(cache_format, [&](auto cache) {
      pdl_launch(stream, swiglu_forward_rows<decltype(out), decltype(cache)>,
                 blocks, row_threads, params);
    });
  });
  r.launched();
}

void swiglu_backward(const swiglu_layer& layer, format from,
                     const const_matrix& dh, const const_quantized& g_cache,
                     const const_quantized& u_cache, const matrix& h,
                     const matrix& dg, const matrix& du,
                     const quantized& dg_out, const quantized& du_out,
                     CUstream_st* stream) {
  const argument_checks r("cuda::swiglu_backward");
  const format to = layer.out.from;
  check_numbers(r, from);
  check_numbers(r, to);
  const std::ptrdiff_t m = dh.rows, n = dh.cols;
  const bool has_gradients = dh.data != nullptr;
  const device_rows in = has_gradients
                             ? checked_rows(r, from, dh, dh, "dh")
                             : rows_of({nullptr, m, n}, storage_bytes(from));
  const auto g = checked_cache(r, layer.cache, g_cache, dh, "the cache of g");
  const auto u = checked_cache(r, layer.cache, u_cache, dh, "the cache of u");
  swiglu_gradient_params params{};
  params.dh = in, params.g = g.codes, params.u = u.codes;
  params.g_scales = g.scales, params.u_scales = u.scales;
  params.h = number_target(r, to, h, m, n, "h");
  params.dg = number_target(r, to, dg, m, n, "dg");
  params.du = number_target(r, to, du, m, n, "du");
  params.dg_out = row_target(r, layer.out, dg_out, m, n, "dg quantized");
  params.du_out = row_target(r, layer.out, du_out, m, n, "du quantized");
  const bool makes_codes = params.dg_out.groups != grouping::none ||
                           params.du_out.groups != grouping::none;
  const bool in_rows =
      from == bf16 && to == bf16 && layer.cache.group == group_shape{1, 128};
  r.need(!makes_codes || in_rows,
         "what is quantized in the same pass must be of bf16, from caches in "
         "groups of 1x128");
  if (m == 0 || n == 0) return;
  const bool makes_gradients =
      makes_codes || params.dg.data != nullptr || params.du.data != nullptr;
  r.need(has_gradients || !makes_gradients, "dh has no data: ask for h alone");
  r.need(makes_gradients || params.h.data != nullptr, "there is no output");
  const unsigned blocks = blocks_of(r, dh);
  r.need_gpu();
  if (!in_rows || !has_gradients) {
    const swiglu_gradient_elementwise_params values{numbers_of(from, params.dh),
                                                    numbers_of(to, params.h),
                                                    numbers_of(to, params.dg),
                                                    numbers_of(to, params.du),
                                                    g,
                                                    u};
    const bool eights = from == bf16 && to == bf16 && fits_eights(values);
    with_codes(layer.cache.to, [&](auto cache) {
      if (eights) {
        pdl_launch(stream,
                   has_gradients
                       ? swiglu_backward_eights<decltype(cache), false>
                       : swiglu_backward_eights<decltype(cache), true>,
                   eight_blocks(r, m, n), eights_threads, values);
      } else {
        pdl_launch(stream, swiglu_backward_elementwise<decltype(cache)>, blocks,
                   row_threads, values);
      }
    });
    return r.launched();
  }
  if (makes_codes) params.out = plan_of(layer.out);
  const format out_format = makes_codes ? layer.out.to : e4m3;
  if (params.h.data == nullptr && out_format == e4m3 &&
      layer.cache.to == e4m3 &&
      fits_smem(
          {{params.dh, 2}, {params.g, 1}, {params.u, 1}},
          {params.dg, params.du, params.dg_out.codes, params.du_out.codes})) {
    (layer.cache.scale == scale_kind::float32
         ? launch_smem<false>
         : launch_smem<true>)(r, params, stream);
    return r.launched();
  }
  with_codes(out_format, [&](auto out) {
    with_codes(layer.cache.to, [&](auto cache) {
      pdl_launch(stream, swiglu_backward_rows<decltype(out), decltype(cache)>,
                 blocks, row_threads, params);
    });
  });
  r.launched();
}

}  // namespace zeroulp::cuda
