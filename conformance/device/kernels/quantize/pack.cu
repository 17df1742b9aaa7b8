// Packing and unpacking of 12-bit codes, transposed weights, dequantization on
// the GPU against the compiled library on the host: SPEC clauses P1, P2, W6 and
// Q10.

#include "conformance/device/support/guarded_scales.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Draws words below 2^bits.
word_matrix random_words(std::ptrdiff_t rows, std::ptrdiff_t cols, int bits,
                         counter_rng& rng) {
  word_matrix x(rows, cols);
  for (auto& word : x.words) word = rng.next32() >> (32 - bits);
  return x;
}

/// Packs on the host; returns the bytes, one per word.
word_matrix packed_on_host(cuda::packing how, word_matrix& codes) {
  const bool bytes = how == cuda::packing::bytes;
  const std::ptrdiff_t width =
      bytes ? packed_bytes(codes.cols) : packed_word_bytes(codes.cols);
  std::vector<std::uint8_t> packed(
      static_cast<std::size_t>(codes.rows * width));
  const matrix_view<std::uint8_t> view(packed.data(), codes.rows, width);
  bytes ? engine::pack_bytes(codes.view(), view)
        : engine::pack_words(codes.view(), view);
  word_matrix out(codes.rows, width);
  out.words.assign(packed.begin(), packed.end());
  return out;
}

/// `any`: 12-bit codes, with any higher bits, which kernels ignore.
void check_packing(cuda::packing how, const placed_shape& s,
                   const word_matrix& any, verdict& v) {
  word_matrix codes = any;
  for (auto& code : codes.words) code &= 0xfff;
  word_matrix right = packed_on_host(how, codes);
  guarded_matrix in(s.rows, s.cols, 2, s.in);
  guarded_matrix packed(right.rows, right.cols, 1, s.out);
  guarded_matrix out(s.rows, s.cols, 2, s.in);
  in.upload(any.view());
  hold_twice(
      "packed, " + s.name(), {{packed, right.view()}},
      [&] { cuda::pack(how, in.view(), packed.view()); }, v);
  packed.upload(right.view());
  hold_twice(
      "unpacked, " + s.name(), {{out, codes.view()}},
      [&] { cuda::unpack(how, packed.view(), out.view()); }, v);
}

verdict check_pack(cuda::packing how, const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 5);
  const auto check_random = [&](const placed_shape& s) {
    check_packing(how, s, random_words(s.rows, s.cols, 16, rng), v);
  };
  for (const auto& s : placed_shapes(e)) check_random(s);
  // Around the number of columns that a warp moves at once.
  for (const std::ptrdiff_t cols : {1023, 1024, 1025, 2056}) {
    for (const margins at : {margins{}, margins{0, 8}, margins{1, 0}}) {
      check_random({e.level == 0 ? 3 : 33, cols, at, at});
    }
  }
  // Every code at every place of eight.
  word_matrix codes(8, 4096);
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      codes.view()(i, j) = static_cast<std::uint32_t>(i + j) & 0xfff;
    }
  }
  check_packing(how, {codes.rows, codes.cols, {}, {}}, codes, v);
  return v;
}

void check_transposed(format f, scale_layout from, scale_layout to,
                      const placed_shape& s, counter_rng& rng, verdict& v) {
  const int bytes = storage_bytes(f);
  word_matrix codes = random_words(s.rows, s.cols, 8 * bytes, rng);
  word_matrix scales =
      random_words(ceil_div(s.rows, 128), ceil_div(s.cols, 128), 32, rng);
  for (auto& scale : scales.words) {
    if (!rng.one_in(8)) scale &= 0x7f800000;
  }
  guarded_matrix in(s.rows, s.cols, bytes, s.in);
  guarded_matrix out(s.cols, s.rows, bytes, s.out);
  guarded_scales in_scales(from, scales.rows, scales.cols, {0, 3});
  guarded_scales out_scales(to, scales.cols, scales.rows, {1, 0});
  in.upload(codes.view());
  word_matrix read = in_scales.upload(scales.view());
  hold_twice(
      "transposed " + name_of(f) + ", " + s.name(),
      {{out, codes.view().transposed(), &out_scales, read.view().transposed()}},
      [&] {
        cuda::transpose(f, in.view(), in_scales.view(),
                        {out.view(), out_scales.view()});
      },
      v);
}

verdict check_transpose(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 6);
  for (const auto& s : placed_shapes(e)) {
    for (const format f : {e4m3, e5m6}) {
      for (const auto& from : named_scale_layouts) {
        for (const auto& to : named_scale_layouts) {
          if (e.level == 0 && from.value != to.value) continue;
          check_transposed(f, from.value, to.value, s, rng, v);
        }
      }
    }
  }
  // More columns of scales than the padding of a layout.
  check_transposed(e4m3, scale_layout::blk128, scale_layout::packed_ue8m0,
                   {130, 700, {}, {}}, rng, v);
  return v;
}

void check_dequantized(format from, format to, group_shape group,
                       scale_layout layout, const placed_shape& s,
                       counter_rng& rng, verdict& v) {
  const auto bytes = [](format f) { return (f.bits() + 7) / 8; };
  word_matrix codes = random_words(s.rows, s.cols, from == e5m6 ? 16 : 8, rng);
  word_matrix scales =
      random_words(ceil_div(s.rows, group.height(s.rows)),
                   ceil_div(s.cols, group.width(s.cols)), 32, rng);
  guarded_matrix in(s.rows, s.cols, bytes(from), s.in);
  guarded_matrix out(s.rows, s.cols, bytes(to), s.out);
  guarded_scales in_scales(layout, scales.rows, scales.cols, {2, 1});
  in.upload(codes.view());
  word_matrix read = in_scales.upload(scales.view());
  word_matrix right(s.rows, s.cols);
  for (auto& code : codes.words) code &= 0xfff;
  engine::dequantize(from, group, codes.view(), read.view(), right.view());
  if (to == bf16) {
    for (auto& word : right.words) {
      word =
          static_cast<std::uint32_t>(recode(fp32, word, bf16, {}, cuda_nosat));
    }
  }
  hold_twice(
      name_of(from) + " to " + name_of(to) + ", " + name_of(group) + ", " +
          s.name(),
      {{out, right.view()}},
      [&] {
        cuda::dequantize(from, group, in.view(), in_scales.view(), to,
                         out.view());
      },
      v);
}

verdict check_dequantize(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 7);
  for (const auto& s : placed_shapes(e)) {
    for (const format from : {e4m3, e5m2, e5m6}) {
      for (const format to : {fp32, bf16}) {
        for (const group_shape group :
             {group_shape{1, 128}, {128, 1}, {128, 128}, {0, 0}}) {
          const auto layout = static_cast<scale_layout>(rng.below(4));
          check_dequantized(from, to, group, layout, s, rng, v);
        }
      }
    }
  }
  return v;
}

}  // namespace

check_list kernel_pack_checks() {
  return {
      device_check(
          "kernel.pack.bytes", "P1", "host",
          [](const effort& e) { return check_pack(cuda::packing::bytes, e); }),
      device_check(
          "kernel.pack.words", "P2", "host",
          [](const effort& e) { return check_pack(cuda::packing::words, e); }),
      device_check("kernel.transpose", "W6 Q11", "host", check_transpose),
      device_check("kernel.dequantize", "Q10 Q11", "host", check_dequantize)};
}

}  // namespace zeroulp::conformance::device
