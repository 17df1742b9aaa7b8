// The C ABI: quantization, re-tiling and packing.

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/core/pack.hpp"

namespace zeroulp::c_abi {
namespace {

/// One scale, or amax, a group.
void need_groups(const const_code_view& v, const char* what, group_shape g,
                 std::ptrdiff_t m, std::ptrdiff_t n) {
  need_bytes(v, 4, 4, what);
  need_shape(v, what, ceil_div(m, g.height(m)), ceil_div(n, g.width(n)),
             "groups");
}

/// Codes for the engine.
void need_codes(format f, const const_code_view& v, const char* what) {
  need_bytes(v, 1, 4, what);
  need_room(f, v, what);
}

/// What the quantizing functions have in common.
struct quantization {
  quantizer q;
  const_code_view x;

  quantization(const zeroulp_quantizer* given, const zeroulp_const_matrix* in)
      : q(quantizer_of(given)), x(view_of(in, "x")) {
    need_codes(q.from, x, "x");
  }

  matrix_view<const std::uint32_t> given(const zeroulp_const_matrix* m,
                                         const char* what) const {
    const auto v = view_of(m, what);
    need_groups(v, what, q.group, x.rows, x.cols);
    return words_of(v, what);
  }
  code_view codes(const zeroulp_matrix* m) const {
    const auto v = view_of(m, "codes");
    need_codes(q.to, v, "codes");
    need_shape(v, "codes", x.rows, x.cols, "in x");
    return v;
  }
  matrix_view<std::uint32_t> groups(const zeroulp_matrix* m,
                                    const char* what) const {
    const auto v = view_of(m, what);
    need_groups(v, what, q.group, x.rows, x.cols);
    return words_of(v, what);
  }
};

void run_dequantize(const zeroulp_format* from, const zeroulp_group* group,
                    const zeroulp_const_matrix* codes,
                    const zeroulp_const_matrix* scales, format to,
                    const zeroulp_matrix* out) {
  const format f = format_of(from, "from");
  const group_shape g = group_of(needed(group, "group"), "group");
  const auto x = view_of(codes, "codes");
  const auto s = view_of(scales, "scales");
  const auto y = view_of(out, "out");
  need_codes(f, x, "codes");
  need_groups(s, "scales", g, x.rows, x.cols);
  need_codes(to, y, "out");
  need_shape(y, "out", x.rows, x.cols, "in codes");
  engine::dequantize(f, g, x, words_of(s, "scales"), to, y);
}

void run_retile(const zeroulp_retiling* given,
                const zeroulp_const_matrix* codes,
                const zeroulp_const_matrix* scales, const zeroulp_matrix* out,
                const zeroulp_matrix* out_scales) {
  const retiling r = retiling_of(given);
  const group_shape tiles{1, r.tile};
  const auto x = view_of(codes, "codes");
  const auto s = view_of(scales, "scales");
  const auto y = view_of(out, "out");
  const auto t = view_of(out_scales, "out_scales");
  need_codes(r.from, x, "codes");
  need_groups(s, "scales", tiles, x.rows, x.cols);
  need_codes(r.to, y, "out");
  need_shape(y, "out", x.cols, x.rows, "in the transpose of codes");
  need_groups(t, "out_scales", tiles, y.rows, y.cols);
  engine::retile(r, x, words_of(s, "scales"), y, words_of(t, "out_scales"));
}

bool packs_bytes(std::int32_t packing) {
  return checked(packing, ZEROULP_PACKING_BYTES, ZEROULP_PACKING_WORDS,
                 "packing") == ZEROULP_PACKING_BYTES;
}

void need_packed(const const_code_view& codes, const const_code_view& packed,
                 bool bytes) {
  need_bytes(codes, 2, 4, "codes");
  need_bytes(packed, 1, 1, "packed");
  need_shape(packed, "packed", codes.rows,
             bytes ? packed_bytes(codes.cols) : packed_word_bytes(codes.cols),
             "bytes of packed codes");
}

template <class Byte, class T>
matrix_view<Byte> bytes_of(const engine::basic_code_view<T>& v) {
  return {static_cast<Byte*>(v.data), v.rows, v.cols, v.row_stride,
          v.col_stride};
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace engine = zeroulp::engine;

zeroulp_status zeroulp_quantize(const zeroulp_quantizer* quantizer,
                                const zeroulp_const_matrix* x,
                                const zeroulp_matrix* codes,
                                const zeroulp_matrix* scales) {
  return guarded(__func__, [&] {
    const quantization q(quantizer, x);
    const auto to = q.codes(codes);
    engine::quantize(q.q, q.x, to, q.groups(scales, "scales"));
  });
}

zeroulp_status zeroulp_quantize_by_amax(const zeroulp_quantizer* quantizer,
                                        const zeroulp_const_matrix* x,
                                        const zeroulp_const_matrix* amaxes,
                                        const zeroulp_matrix* codes,
                                        const zeroulp_matrix* scales) {
  return guarded(__func__, [&] {
    const quantization q(quantizer, x);
    const auto from = q.given(amaxes, "amaxes");
    const auto to = q.codes(codes);
    engine::quantize(q.q, q.x, from, to, q.groups(scales, "scales"));
  });
}

zeroulp_status zeroulp_quantize_by_scale(const zeroulp_quantizer* quantizer,
                                         const zeroulp_const_matrix* x,
                                         const zeroulp_const_matrix* scales,
                                         const zeroulp_matrix* codes) {
  return guarded(__func__, [&] {
    const quantization q(quantizer, x);
    const auto by = q.given(scales, "scales");
    engine::quantize_by_scale(q.q, q.x, by, q.codes(codes));
  });
}

zeroulp_status zeroulp_group_amaxes(const zeroulp_quantizer* quantizer,
                                    const zeroulp_const_matrix* x,
                                    const zeroulp_matrix* amaxes) {
  return guarded(__func__, [&] {
    const quantization q(quantizer, x);
    engine::group_amaxes(q.q, q.x, q.groups(amaxes, "amaxes"));
  });
}

zeroulp_status zeroulp_dequantize(const zeroulp_format* from,
                                  const zeroulp_group* group,
                                  const zeroulp_const_matrix* codes,
                                  const zeroulp_const_matrix* scales,
                                  const zeroulp_matrix* out) {
  return guarded(__func__, [&] {
    run_dequantize(from, group, codes, scales, zeroulp::fp32, out);
  });
}

zeroulp_status zeroulp_dequantize_to(const zeroulp_format* from,
                                     const zeroulp_group* group,
                                     const zeroulp_const_matrix* codes,
                                     const zeroulp_const_matrix* scales,
                                     const zeroulp_format* to,
                                     const zeroulp_matrix* out) {
  return guarded(__func__, [&] {
    run_dequantize(from, group, codes, scales, format_of(to, "to"), out);
  });
}

zeroulp_status zeroulp_retile(const zeroulp_retiling* retiling,
                              const zeroulp_const_matrix* codes,
                              const zeroulp_const_matrix* scales,
                              const zeroulp_matrix* out,
                              const zeroulp_matrix* out_scales) {
  return guarded(__func__,
                 [&] { run_retile(retiling, codes, scales, out, out_scales); });
}

zeroulp_status zeroulp_packed_bytes(std::int32_t packing, std::int64_t count,
                                    std::int64_t* bytes) {
  return guarded(__func__, [&] {
    const bool by_bytes = packs_bytes(packing);
    if (count < 0 || count > INT64_MAX / 4) refuse("count is {}", count);
    needed(bytes, "bytes") = by_bytes ? zeroulp::packed_bytes(count)
                                      : zeroulp::packed_word_bytes(count);
  });
}

zeroulp_status zeroulp_pack(std::int32_t packing,
                            const zeroulp_const_matrix* codes,
                            const zeroulp_matrix* packed) {
  return guarded(__func__, [&] {
    const bool by_bytes = packs_bytes(packing);
    const auto from = view_of(codes, "codes");
    const auto to = view_of(packed, "packed");
    need_packed(from, to, by_bytes);
    const auto out = bytes_of<std::uint8_t>(to);
    by_bytes ? engine::pack_bytes(from, out) : engine::pack_words(from, out);
  });
}

zeroulp_status zeroulp_unpack(std::int32_t packing,
                              const zeroulp_const_matrix* packed,
                              const zeroulp_matrix* codes) {
  return guarded(__func__, [&] {
    const bool by_bytes = packs_bytes(packing);
    const auto from = view_of(packed, "packed");
    const auto to = view_of(codes, "codes");
    need_packed(to, from, by_bytes);
    const auto in = bytes_of<const std::uint8_t>(from);
    by_bytes ? engine::unpack_bytes(in, to) : engine::unpack_words(in, to);
  });
}
