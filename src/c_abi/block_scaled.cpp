// The C ABI: quantizers and GEMMs with block scales.

#include "zeroulp/block_scaled.hpp"

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::c_abi {
namespace {

template <class Byte, class T>
matrix_view<Byte> bytes_of(const engine::basic_code_view<T>& v,
                           const char* what) {
  need_bytes(v, 1, 1, what);
  return {static_cast<Byte*>(v.data), v.rows, v.cols, v.row_stride,
          v.col_stride};
}

void need_codes(format f, const const_code_view& v, const char* what) {
  need_bytes(v, 1, 4, what);
  need_room(f, v, what);
}

/// A byte a row and block.
void need_blocks(const const_code_view& v, const char* what,
                 const const_code_view& codes, std::ptrdiff_t block) {
  need_shape(v, what, codes.rows, ceil_div(codes.cols, block),
             "blocks of scales");
}

block_quantizer quantizer_of(const zeroulp_block_quantizer& given) {
  (void)needed(given.convention, "convention");
  check_reserved(given.reserved, "quantizer");
  const auto named = parse_block_convention(given.convention);
  const block_quantizer q{
      format_of(&given.from, "from"),
      format_of(&given.to, "to"),
      named.value,
      enum_of(given.second_level, second_level::row, "second_level"),
      static_cast<std::int16_t>(
          checked(given.largest_scale, 1, 448, "largest_scale")),
      static_cast<std::int16_t>(
          checked(given.block_rows, 1, 32767, "block_rows"))};
  if (!is_valid(q)) {
    refuse(
        "quantizer: `from` is fp32, bf16 or fp16; scales of ue8m0 have no "
        "second level, those of ue4m3 quantize to e2m1; blocks of several rows "
        "have no second level of rows");
  }
  return q;
}

/// The scales of the second level that are there: 1 x 1, or one a row.
matrix_view<const std::uint32_t> second_of(const zeroulp_const_matrix* given,
                                           std::ptrdiff_t rows,
                                           const char* what) {
  if (given == nullptr) return {};
  const auto v = view_of(given, what);
  need_shape(v, what, v.rows == 1 ? 1 : rows, 1, "scales of the second level");
  return words_of(v, what);
}

void run_quantize_blocks(const block_quantizer& q,
                         const zeroulp_const_matrix* input,
                         const zeroulp_const_matrix* random_in,
                         const zeroulp_matrix* codes_out,
                         const zeroulp_matrix* scales_out,
                         const zeroulp_matrix* second_out) {
  const auto x = view_of(input, "x");
  const auto codes = view_of(codes_out, "codes");
  const auto scales = view_of(scales_out, "scales");
  need_codes(q.from, x, "x");
  need_codes(q.to, codes, "codes");
  need_shape(codes, "codes", x.rows, x.cols, "in x");
  need_blocks(scales, "scales", x, q.how.block);
  matrix_view<std::uint32_t> second;
  if (q.level != second_level::none) {
    const auto v = view_of(second_out, "second");
    need_shape(v, "second", q.level == second_level::row ? x.rows : 1, 1,
               "scales of the second level");
    second = words_of(v, "second");
  }
  random_view random;
  if (random_in != nullptr) {
    const auto v = view_of(random_in, "random");
    need_shape(v, "random", x.rows, x.cols, "in x");
    random = words_of(v, "random");
  }
  engine::quantize_blocks(q, x, codes, bytes_of<std::uint8_t>(scales, "scales"),
                          second, random);
}

void run_random_words(std::int32_t source, std::int32_t bits,
                      std::uint64_t seed, std::uint64_t first,
                      const zeroulp_matrix* result) {
  const auto from = enum_of(source, random_source::splitmix64, "source");
  const int kept = checked(bits, 1, 32, "bits");
  const auto words = words_of(view_of(result, "words"), "words");
  for (std::ptrdiff_t i = 0; i < words.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < words.cols; ++j) {
      words(i, j) = top_bits(random_word(from, seed, first++), kept);
    }
  }
}

hadamard_transform transform_of(const zeroulp_hadamard_transform& given) {
  check_reserved(given.reserved, "transform");
  const hadamard_transform t{format_of(&given.from, "from"),
                             format_of(&given.to, "to"), given.size,
                             given.scale};
  if (!is_valid(t)) {
    refuse(
        "transform: formats are fp32, bf16 or fp16, sizes powers of two from 2 "
        "to 1024; size is {}",
        given.size);
  }
  return t;
}

void run_hadamard(const hadamard_transform& t, const zeroulp_path* path,
                  const std::int32_t* given, const zeroulp_const_matrix* input,
                  const zeroulp_matrix* result) {
  const auto x = view_of(input, "x");
  const auto out = view_of(result, "out");
  need_codes(t.from, x, "x");
  need_codes(t.to, out, "out");
  need_shape(out, "out", x.rows, x.cols, "in x");
  std::int8_t flips[max_hadamard_size];
  for (int e = 0; given != nullptr && e < t.size; ++e) {
    if (given[e] != 1 && given[e] != -1) {
      refuse("signs[{}] is {}: 1 or -1", e, given[e]);
    }
    flips[e] = static_cast<std::int8_t>(given[e]);
  }
  const std::int8_t* signs = given == nullptr ? nullptr : flips;
  if (path == nullptr) return engine::hadamard(t, nullptr, signs, x, out);
  const zeroulp::path by = path_of(path);
  engine::hadamard(t, &by, signs, x, out);
}

void run_dequantize_blocks(const zeroulp_format* from, std::int32_t scale,
                           std::int32_t block, const zeroulp_const_matrix* in,
                           const zeroulp_const_matrix* scales_in,
                           const zeroulp_const_matrix* second,
                           const zeroulp_format* to,
                           const zeroulp_matrix* result) {
  const format f = format_of(from, "from");
  const format g = format_of(to, "to");
  const auto kind = enum_of(scale, block_scale::unsigned_e4m3, "scale");
  checked(block, 1, 32767, "block");
  if (f.bits() > 24) refuse("from: {} bits, at most 24", f.bits());
  const auto codes = view_of(in, "codes");
  const auto scales = view_of(scales_in, "scales");
  const auto out = view_of(result, "out");
  need_codes(f, codes, "codes");
  need_codes(g, out, "out");
  need_shape(out, "out", codes.rows, codes.cols, "in codes");
  need_blocks(scales, "scales", codes, block);
  engine::dequantize_blocks(f, kind, block, codes,
                            bytes_of<const std::uint8_t>(scales, "scales"),
                            second_of(second, codes.rows, "second"), g, out);
}

prepared_operand codes_from(const zeroulp_operand* given, const char* what) {
  needed(given, what);
  const format f = operand_of(&given->format, what);
  const auto v = view_of(&given->codes, what);
  need_codes(f, v, what);
  if (v.cols > INT32_MAX) refuse("{}: K is {}, beyond 2^31", what, v.cols);
  return {f, v};
}

matrix_view<const std::uint8_t> scales_from(const zeroulp_operand* given,
                                            int block, const char* what) {
  const auto codes = view_of(&given->codes, what);
  const auto v = view_of(&given->scales, what);
  need_blocks(v, what, codes, block);
  return bytes_of<const std::uint8_t>(v, what);
}

void run_gemm(const char* name, const zeroulp_operand* left,
              const zeroulp_const_matrix* second_a,
              const zeroulp_operand* right,
              const zeroulp_const_matrix* second_b,
              const zeroulp_const_matrix* addend, const zeroulp_format* output,
              const zeroulp_matrix* result) {
  const auto a = codes_from(left, "a");
  const auto b = codes_from(right, "b");
  (void)needed(name, "recipe");
  auto r = parse_block_recipe(name, a.element(), b.element());
  r.output = format_of(output, "output");
  if (!(r.output == fp32 || r.output == bf16)) {
    refuse("output: fp32 or bf16");
  }
  const auto d = view_of(result, "d");
  need_shape(d, "d", a.rows(), b.rows(), "products");
  matrix_view<const std::uint32_t> c;
  if (addend != nullptr) {
    const auto v = view_of(addend, "c");
    need_shape(v, "c", d.rows, d.cols, "in d");
    c = words_of(v, "c");
    r.end = epilogue::accumulate;
  }
  const int block = r.path.block;
  engine::gemm(r,
               {a, scales_from(left, block, "a.scales"),
                second_of(second_a, a.rows(), "second_a")},
               {b, scales_from(right, block, "b.scales"),
                second_of(second_b, b.rows(), "second_b")},
               c, words_of(d, "d"));
}

/// Interleaved bytes are 1 x interleaved_bytes(), without gaps.
template <class Byte, class T>
Byte* interleaved_of(const engine::basic_code_view<T>& v,
                     const const_code_view& scales) {
  need_bytes(v, 1, 1, "interleaved");
  need_shape(v, "interleaved", 1, interleaved_bytes(scales.rows, scales.cols),
             "bytes of tiles of 128 x 4");
  if (v.cols > 1 && v.col_stride != 1) refuse("interleaved: bytes with gaps");
  return static_cast<Byte*>(v.data);
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

zeroulp_status zeroulp_block_convention_from_name(const char* name,
                                                  std::int32_t* scale,
                                                  std::int32_t* block) {
  return guarded(__func__, [&] {
    (void)needed(name, "name");
    const auto how = zeroulp::parse_block_convention(name).value;
    auto& kind = needed(scale, "scale");
    needed(block, "block") = how.block;
    kind = static_cast<std::int32_t>(how.scale);
  });
}

zeroulp_status zeroulp_quantize_blocks(
    const char* convention, const zeroulp_format* from,
    const zeroulp_format* to, std::int32_t second_level,
    std::int32_t largest_scale, const zeroulp_const_matrix* x,
    const zeroulp_matrix* codes, const zeroulp_matrix* scales,
    const zeroulp_matrix* second) {
  return guarded(__func__, [&] {
    run_quantize_blocks(quantizer_of({convention,
                                      needed(from, "from"),
                                      needed(to, "to"),
                                      second_level,
                                      largest_scale,
                                      1,
                                      {}}),
                        x, nullptr, codes, scales, second);
  });
}

zeroulp_status zeroulp_quantize_blocks_by(
    const zeroulp_block_quantizer* quantizer, const zeroulp_const_matrix* x,
    const zeroulp_const_matrix* random, const zeroulp_matrix* codes,
    const zeroulp_matrix* scales, const zeroulp_matrix* second) {
  return guarded(__func__, [&] {
    run_quantize_blocks(quantizer_of(needed(quantizer, "quantizer")), x, random,
                        codes, scales, second);
  });
}

zeroulp_status zeroulp_random_words(std::int32_t source, std::int32_t bits,
                                    std::uint64_t seed, std::uint64_t first,
                                    const zeroulp_matrix* words) {
  return guarded(__func__,
                 [&] { run_random_words(source, bits, seed, first, words); });
}

zeroulp_status zeroulp_hadamard(const zeroulp_hadamard_transform* transform,
                                const zeroulp_path* path,
                                const std::int32_t* signs,
                                const zeroulp_const_matrix* x,
                                const zeroulp_matrix* out) {
  return guarded(__func__, [&] {
    run_hadamard(transform_of(needed(transform, "transform")), path, signs, x,
                 out);
  });
}

zeroulp_status zeroulp_dequantize_blocks(const zeroulp_format* from,
                                         std::int32_t scale, std::int32_t block,
                                         const zeroulp_const_matrix* codes,
                                         const zeroulp_const_matrix* scales,
                                         const zeroulp_const_matrix* second,
                                         const zeroulp_format* to,
                                         const zeroulp_matrix* out) {
  return guarded(__func__, [&] {
    run_dequantize_blocks(from, scale, block, codes, scales, second, to, out);
  });
}

zeroulp_status zeroulp_gemm_block_scaled(
    const char* recipe, const zeroulp_operand* a,
    const zeroulp_const_matrix* second_a, const zeroulp_operand* b,
    const zeroulp_const_matrix* second_b, const zeroulp_const_matrix* c,
    const zeroulp_format* output, const zeroulp_matrix* d) {
  return guarded(__func__, [&] {
    run_gemm(recipe, a, second_a, b, second_b, c, output, d);
  });
}

zeroulp_status zeroulp_interleave_scales(const zeroulp_const_matrix* scales,
                                         const zeroulp_matrix* interleaved) {
  return guarded(__func__, [&] {
    const auto from = view_of(scales, "scales");
    const auto bytes = bytes_of<const std::uint8_t>(from, "scales");
    zeroulp::interleave_scales(
        bytes, interleaved_of<std::uint8_t>(view_of(interleaved, "interleaved"),
                                            from));
  });
}

zeroulp_status zeroulp_separate_scales(const zeroulp_const_matrix* interleaved,
                                       const zeroulp_matrix* scales) {
  return guarded(__func__, [&] {
    const auto to = view_of(scales, "scales");
    const auto bytes = bytes_of<std::uint8_t>(to, "scales");
    zeroulp::separate_scales(interleaved_of<const std::uint8_t>(
                                 view_of(interleaved, "interleaved"), to),
                             bytes);
  });
}
