// Re-tiling, dequantization and packing on the GPU, as an implementation's
// functions. The shape and the first code seed alignments and layouts.

#include "conformance/device/implementation/parts.hpp"
#include "conformance/device/support/drawn_memory.hpp"
#include "zeroulp/arrays.hpp"

namespace zeroulp::conformance::device {
namespace {

template <class T>
counter_rng ways_of(matrix_view<const T> x) {
  const bool any = x.rows > 0 && x.cols > 0;
  return {static_cast<std::uint64_t>(x.rows * 65536 + x.cols),
          any ? std::uint64_t{x(0, 0)} : 0};
}

cuda::packing packing_of(pack_layout how) {
  return how == pack_layout::bytes ? cuda::packing::bytes
                                   : cuda::packing::words;
}

word_matrix words_of(bytes_in x) {
  word_matrix words(x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) words.view()(i, j) = x(i, j);
  }
  return words;
}

}  // namespace

void retile_on_gpu(const retiling& r, codes_in codes, codes_in scales,
                   codes_out out, codes_out out_scales) {
  placing rng(ways_of(codes));
  const quantized_memory from(r.from, {codes, scales}, rng);
  const quantizer by{fp32, r.to, zeroulp_convention, r.scale, {1, r.tile}};
  quantized_memory to(by, out.rows, out.cols, true, rng);
  cuda::retile(r, from.input().codes, from.input().scales, to.view());
  finish_kernel();
  to.download({out, out_scales}, [&](const quantized_out& right) {
    engine::retile(r, codes, scales, right.codes, right.scales);
  });
}

void dequantize_on_gpu(format from, group_shape group, codes_in codes,
                       codes_in scales, codes_out out) {
  placing rng(ways_of(codes));
  const quantized_memory in(from, {codes, scales}, rng);
  guarded_matrix values(out.rows, out.cols, 4, draw_margins(out.cols, rng));
  cuda::dequantize(from, group, in.input().codes, in.input().scales, fp32,
                   values.view());
  finish_kernel();
  values.download(out);
}

void pack_on_gpu(pack_layout how, codes_in codes, bytes_out out) {
  placing rng(ways_of(codes));
  guarded_matrix in(codes.rows, codes.cols, 2, draw_margins(codes.cols, rng));
  guarded_matrix packed(out.rows, out.cols, 1, draw_margins(out.cols, rng));
  in.upload(codes);
  cuda::pack(packing_of(how), in.view(), packed.view());
  finish_kernel();
  word_matrix got(out.rows, out.cols);
  packed.download(got.view());
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      out(i, j) = static_cast<std::uint8_t>(got.view()(i, j));
    }
  }
}

void unpack_on_gpu(pack_layout how, bytes_in packed, codes_out codes) {
  placing rng(ways_of(packed));
  word_matrix words = words_of(packed);
  guarded_matrix in(packed.rows, packed.cols, 1,
                    draw_margins(packed.cols, rng));
  guarded_matrix out(codes.rows, codes.cols, 2, draw_margins(codes.cols, rng));
  in.upload(words.view());
  cuda::unpack(packing_of(how), in.view(), out.view());
  finish_kernel();
  out.download(codes);
}

}  // namespace zeroulp::conformance::device
