// The rows of the bench: tables of what is asked of each function of cuda.hpp,
// and the engine's function of the same name. Goals: the table of
// memory-bound kernels.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "tools/zeroulp/bench/gpu/kernels.hpp"
#include "tools/zeroulp/bench/gpu/views.hpp"
#include "zeroulp/core/pack.hpp"

namespace zeroulp::program {
namespace {

constexpr group_shape by_tile{1, 128};
constexpr group_shape by_block{128, 128};
constexpr group_shape by_tensor{0, 0};  // amaxes are given

struct quantizer_row {
  const char* name;
  format from;
  format to;
  const char* convention;
  scale_kind scale;
  group_shape group;
  bool transposed_too;
  double must;
  double aim;
};

constexpr quantizer_row quantizer_rows[] = {
    {"quantize.1x128", bf16, e4m3, "zeroulp", scale_kind::float32, by_tile,
     false, 0.95, 0.98},
    {"quantize.1x128.pow2", bf16, e4m3, "zeroulp", scale_kind::pow2, by_tile,
     false, 0.95, 0.98},
    {"quantize.1x128.deepgemm_host", bf16, e4m3, "deepgemm_host",
     scale_kind::float32, by_tile, false, 0.95, 0.98},
    {"quantize.1x128.vllm", bf16, e4m3, "vllm", scale_kind::float32, by_tile,
     false, 0.95, 0.98},
    {"quantize.1x128.fp32", fp32, e4m3, "zeroulp", scale_kind::float32, by_tile,
     false, 0.95, 0.98},
    {"quantize.1x128.e5m6", bf16, e5m6, "zeroulp", scale_kind::float32, by_tile,
     false, 0.95, 0.98},
    {"quantize.1x128.e5m6.pow2", bf16, e5m6, "zeroulp", scale_kind::pow2,
     by_tile, false, 0.95, 0.98},
    {"quantize.both", bf16, e4m3, "zeroulp", scale_kind::float32, by_tile, true,
     0.90, 0.95},
    {"quantize.both.pow2", bf16, e4m3, "zeroulp", scale_kind::pow2, by_tile,
     true, 0.90, 0.95},
    {"quantize.128x128", bf16, e4m3, "zeroulp", scale_kind::float32, by_block,
     false, 0.95, 0.98},
    {"quantize.128x128.both", bf16, e4m3, "zeroulp", scale_kind::float32,
     by_block, true, 0.90, 0.95},
    {"quantize.tensor", bf16, e4m3, "zeroulp", scale_kind::float32, by_tensor,
     false, 0.95, 0.98},
    {"quantize.tensor.both", bf16, e4m3, "zeroulp", scale_kind::float32,
     by_tensor, true, 0.90, 0.95},
    {"quantize.tensor.fp32", fp32, e4m3, "zeroulp", scale_kind::float32,
     by_tensor, false, 0.90, 0.95},
};

struct amax_row {
  const char* name;
  format from;
};

constexpr amax_row amax_rows[] = {{"amax.tensor", bf16},
                                  {"amax.tensor.fp32", fp32}};

struct retile_row {
  const char* name;
  format from;
  format to;
  scale_kind scale;
};

constexpr retile_row retile_rows[] = {
    {"retile.e4m3.pow2", e4m3, e4m3, scale_kind::pow2},
    {"retile.e4m3.fp32", e4m3, e4m3, scale_kind::float32},
    {"retile.e5m6.e4m3", e5m6, e4m3, scale_kind::pow2},
};

struct pack_row {
  const char* name;
  cuda::packing how;
  bool unpacks;
};

constexpr pack_row pack_rows[] = {
    {"pack.e5m6.bytes", cuda::packing::bytes, false},
    {"pack.e5m6.words", cuda::packing::words, false},
    {"unpack.e5m6.bytes", cuda::packing::bytes, true},
    {"unpack.e5m6.words", cuda::packing::words, true},
};

struct dequantize_row {
  const char* name;
  format to;
};

constexpr dequantize_row dequantize_rows[] = {
    {"dequantize.1x128.bf16", bf16},
    {"dequantize.1x128.fp32", fp32},
};

// Operations.

gpu_operation quantization(const quantizer_row& row, shape s) {
  const quantizer q{row.from, row.to, parse_convention(row.convention).value,
                    row.scale, row.group};
  const bool both = row.transposed_too;
  gpu_operation op;
  op.operands.push_back({"x", gpu_use::read, row.from, s});
  add_quantized(op, "", gpu_use::write, row.to, s, row.group);
  if (both) {
    add_quantized(op, " of the transpose", gpu_use::write, row.to, swapped(s),
                  row.group);
  }
  op.launch = [q, both](const gpu_matrices& at, CUstream_st* stream) {
    cuda::quantize(q, to_cuda(at[0]), quantized_at(at, 1),
                   both ? quantized_at(at, 3) : cuda::quantized{}, stream);
  };
  op.expect = [q, both](const gpu_matrices& at) {
    engine::quantize(q, at[0], at[1], words(at[2]));
    if (!both) return;
    engine::quantize(q, transposed(at[0]), at[3], words(at[4]));
  };
  return op;
}

/// The same by a given amax of the whole matrix.
gpu_operation quantization_by_amax(const quantizer_row& row, shape s) {
  const quantizer q{row.from, row.to, parse_convention(row.convention).value,
                    row.scale, row.group};
  const bool both = row.transposed_too;
  constexpr std::uint32_t five = 0x40a00000;  // near that of N(0, 1)
  gpu_operation op;
  op.operands = {{"x", gpu_use::read, row.from, s},
                 {"amax", gpu_use::read, fp32, {1, 1}, {}, {five}}};
  add_quantized(op, "", gpu_use::write, row.to, s, row.group);
  if (both) {
    add_quantized(op, " of the transpose", gpu_use::write, row.to, swapped(s),
                  row.group);
  }
  op.launch = [q, both](const gpu_matrices& at, CUstream_st* stream) {
    cuda::quantize(q, to_cuda(at[0]), words(at[1]), quantized_at(at, 2),
                   both ? quantized_at(at, 4) : cuda::quantized{}, stream);
  };
  op.expect = [q, both](const gpu_matrices& at) {
    engine::quantize(q, at[0], words(at[1]), at[2], words(at[3]));
    if (!both) return;
    engine::quantize(q, transposed(at[0]), words(at[1]), at[4], words(at[5]));
  };
  return op;
}

gpu_operation largest_of(const amax_row& row, shape s) {
  const quantizer q{row.from, e4m3, zeroulp_convention, scale_kind::float32,
                    by_tensor};
  gpu_operation op;
  op.operands = {{"x", gpu_use::read, row.from, s},
                 {"amax", gpu_use::write, fp32, {1, 1}}};
  op.launch = [q](const gpu_matrices& at, CUstream_st* stream) {
    cuda::group_amaxes(q, to_cuda(at[0]), words(at[1]), stream);
  };
  op.expect = [q](const gpu_matrices& at) {
    engine::group_amaxes(q, at[0], words(at[1]));
  };
  return op;
}

gpu_operation retiling_of(const retile_row& row, shape s) {
  const retiling r{row.from, row.to, row.scale, 128, retile_rule::amax};
  gpu_operation op;
  add_quantized(
      op, "", gpu_use::read, row.from, s, by_tile,
      row.scale == scale_kind::float32 ? gpu_fill::scales : gpu_fill::powers);
  add_quantized(op, " of the transpose", gpu_use::write, row.to, swapped(s),
                by_tile);
  op.launch = [r](const gpu_matrices& at, CUstream_st* stream) {
    cuda::retile(r, to_cuda(at[0]), scales_at(at, 1), quantized_at(at, 2),
                 stream);
  };
  op.expect = [r](const gpu_matrices& at) {
    engine::retile(r, at[0], words(at[1]), at[2], words(at[3]));
  };
  return op;
}

template <class T>
void transpose(matrix_view<const T> in, matrix_view<T> out) {
  constexpr std::ptrdiff_t edge = 64;  // what is read stays in the cache
  for_each_group({edge, edge}, in.rows, in.cols,
                 [&](std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t i0,
                     std::ptrdiff_t j0, std::ptrdiff_t m, std::ptrdiff_t n) {
                   for (std::ptrdiff_t j = j0; j < j0 + n; ++j) {
                     for (std::ptrdiff_t i = i0; i < i0 + m; ++i) {
                       out(j, i) = in(i, j);
                     }
                   }
                 });
}

gpu_operation transposition(shape s) {
  gpu_operation op;
  add_quantized(op, "", gpu_use::read, e4m3, s, by_block);
  add_quantized(op, " of the transpose", gpu_use::write, e4m3, swapped(s),
                by_block);
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::transpose(e4m3, to_cuda(at[0]), scales_at(at, 1), quantized_at(at, 2),
                    stream);
  };
  op.expect = [](const gpu_matrices& at) {
    transpose<std::uint8_t>(bytes(at[0]), bytes(at[2]));
    transpose<std::uint32_t>(words(at[1]), words(at[3]));
  };
  return op;
}

gpu_operation dequantization(format to, shape s) {
  gpu_operation op;
  add_quantized(op, "", gpu_use::read, e4m3, s, by_tile);
  op.operands.push_back({"numbers", gpu_use::write, to, s});
  op.launch = [to](const gpu_matrices& at, CUstream_st* stream) {
    cuda::dequantize(e4m3, by_tile, to_cuda(at[0]), scales_at(at, 1), to,
                     to_cuda(at[2]), stream);
  };
  op.expect = [to](const gpu_matrices& at) {
    if (to == fp32) {
      return engine::dequantize(e4m3, by_tile, at[0], words(at[1]),
                                words(at[2]));
    }
    dense<std::uint32_t> numbers({at[0].rows, at[0].cols});
    engine::dequantize(e4m3, by_tile, at[0], words(at[1]), numbers.view());
    engine::recode(fp32, numbers.view(), to, at[2]);
  };
  return op;
}

gpu_operation packing_of(const pack_row& row, shape s) {
  const bool by_bytes = row.how == cuda::packing::bytes;
  const shape packed{s.m,
                     by_bytes ? packed_bytes(s.n) : packed_word_bytes(s.n)};
  gpu_operation op;
  if (row.unpacks) {
    op.operands = {{"bytes", gpu_use::read, e4m3, packed, gpu_fill::bits},
                   {"codes", gpu_use::write, e5m6, s}};
    op.launch = [row](const gpu_matrices& at, CUstream_st* stream) {
      cuda::unpack(row.how, to_cuda(at[0]), to_cuda(at[1]), stream);
    };
    op.expect = [by_bytes](const gpu_matrices& at) {
      const auto unpack =
          by_bytes ? engine::unpack_bytes : engine::unpack_words;
      unpack(bytes(at[0]), at[1]);
    };
  } else {
    op.operands = {{"codes", gpu_use::read, e5m6, s},
                   {"bytes", gpu_use::write, e4m3, packed}};
    op.launch = [row](const gpu_matrices& at, CUstream_st* stream) {
      cuda::pack(row.how, to_cuda(at[0]), to_cuda(at[1]), stream);
    };
    op.expect = [by_bytes](const gpu_matrices& at) {
      const auto pack = by_bytes ? engine::pack_bytes : engine::pack_words;
      pack(at[0], bytes(at[1]));
    };
  }
  return op;
}

/// The other limit: what the driver does.
gpu_operation driver_copy(shape s) {
  gpu_operation op;
  op.operands = {{"from", gpu_use::read, bf16, s},
                 {"to", gpu_use::write, bf16, s}};
  const std::size_t count = op.operands[0].bytes();
  op.launch = [count](const gpu_matrices& at, CUstream_st* stream) {
    require_cuda(cudaMemcpyAsync(at[1].data, at[0].data, count,
                                 cudaMemcpyDeviceToDevice, stream));
  };
  op.expect = [count](const gpu_matrices& at) {
    std::memcpy(at[1].data, at[0].data, count);
  };
  return op;
}

}  // namespace

std::vector<gpu_row> gpu_rows() {
  std::vector<gpu_row> all{{"limit.memcpy", 0, 0, driver_copy}};
  for (const auto& row : quantizer_rows) {
    all.push_back({row.name, row.must, row.aim, [row](shape s) {
                     return row.group == by_tensor
                                ? quantization_by_amax(row, s)
                                : quantization(row, s);
                   }});
  }
  for (const auto& row : amax_rows) {
    all.push_back(
        {row.name, 0.90, 0.95, [row](shape s) { return largest_of(row, s); }});
  }
  for (const auto& row : retile_rows) {
    all.push_back(
        {row.name, 0.88, 0.94, [row](shape s) { return retiling_of(row, s); }});
  }
  for (const auto& row : pack_rows) {
    all.push_back(
        {row.name, 0.88, 0.94, [row](shape s) { return packing_of(row, s); }});
  }
  all.push_back({"transpose.e4m3", 0, 0, transposition});
  for (const auto& row : dequantize_rows) {
    all.push_back(
        {row.name, 0, 0, [row](shape s) { return dequantization(row.to, s); }});
  }
  for (auto& row : gpu_training_rows()) all.push_back(std::move(row));
  for (auto& row : gpu_state_rows()) all.push_back(std::move(row));
  for (auto& row : gpu_model_rows()) all.push_back(std::move(row));
  return all;
}

}  // namespace zeroulp::program
