// The C ABI: tensor-core steps and GEMM.

#include <vector>

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/block_scaled.hpp"

namespace zeroulp::c_abi {
namespace {

/// A row of codes read as exact values.
struct code_row {
  const const_code_view& codes;
  std::ptrdiff_t i;
  format f;

  unpacked operator[](std::ptrdiff_t k) const {
    return decode(f, read(codes, i, k));
  }
};

void run_step(const zeroulp_path* given, const zeroulp_const_matrix* left,
              const zeroulp_const_matrix* right,
              const zeroulp_const_matrix* addend,
              const zeroulp_matrix* result) {
  const path p = path_of(given);
  const auto a = view_of(left, "a");
  const auto b = view_of(right, "b");
  const auto d = view_of(result, "d");
  need_room(p.a, a, "a");
  need_room(p.b, b, "b");
  need_room(p.acc.stored, d, "d");
  const std::ptrdiff_t longest = p.length() > 0 ? p.length() : INT32_MAX;
  if (a.cols > longest) {
    refuse("a: {} operands, but a step takes at most {}", a.cols, longest);
  }
  need_shape(b, "b", a.rows, a.cols, "in a");
  need_shape(d, "d", a.rows, 1, "for the steps of a");
  const_code_view c;
  if (addend != nullptr) {
    c = view_of(addend, "c");
    need_room(p.acc.stored, c, "c");
    need_shape(c, "c", a.rows, 1, "for the steps of a");
  }
  for_each_element(
      d,
      [&](std::ptrdiff_t i, std::ptrdiff_t) {
        return step(p, code_row{a, i, p.a}, code_row{b, i, p.b},
                    static_cast<int>(a.cols),
                    addend == nullptr ? 0 : read(c, i, 0));
      },
      core_work * static_cast<double>(a.cols));
}

/// An operand of a GEMM.
struct operand {
  prepared_operand codes;
  matrix_view<const std::uint32_t> scales;
};

prepared_operand codes_from(const zeroulp_operand* given, const char* what,
                            const char* codes) {
  needed(given, what);
  const format f = operand_of(&given->format, what);
  const auto v = view_of(&given->codes, codes);
  need_bytes(v, 1, 4, codes);
  need_room(f, v, codes);
  if (v.cols > INT32_MAX) refuse("{}: K is {}, beyond 2^31", codes, v.cols);
  return {f, v};
}

operand operand_from(const zeroulp_operand* given, const char* what,
                     const char* codes, const char* scales) {
  return {codes_from(given, what, codes),
          given->scales.data == nullptr
              ? matrix_view<const std::uint32_t>{}
              : words_of(view_of(&given->scales, scales), scales)};
}

operand left_of(const zeroulp_operand* a) {
  return operand_from(a, "a", "a.codes", "a.scales");
}
operand right_of(const zeroulp_operand* b) {
  return operand_from(b, "b", "b.codes", "b.scales");
}

void run_gemm(const zeroulp_recipe* given, const zeroulp_operand* left,
              const zeroulp_operand* right, const zeroulp_const_matrix* addend,
              const zeroulp_matrix* result) {
  const recipe r = recipe_of(given);
  const operand a = left_of(left);
  const operand b = right_of(right);
  const auto d = view_of(result, "d");
  need_room(r.output, d, "d");
  need_shape(d, "d", a.codes.rows(), b.codes.rows(), "products");
  matrix_view<const std::uint32_t> c;
  if (r.end == epilogue::accumulate) {
    const auto v = view_of(addend, "c");
    c = words_of(v, "c");
    need_shape(v, "c", d.rows, d.cols, "in d");
  }
  const auto run = [&](matrix_view<std::uint32_t> words) {
    engine::gemm(r, a.codes, a.scales, b.codes, b.scales, c, words);
  };
  if (d.bytes == 4) return run(words_of(d, "d"));
  std::vector<std::uint32_t> words(static_cast<std::size_t>(d.rows * d.cols));
  run({words.data(), d.rows, d.cols});
  for_each_element(
      d,
      [&](std::ptrdiff_t i, std::ptrdiff_t j) {
        return words[static_cast<std::size_t>(i * d.cols + j)];
      },
      line_work);
}

/// C of a product that starts from it: m x n words, or nothing.
matrix_view<const std::uint32_t> start_of(const zeroulp_const_matrix* addend,
                                          const code_view& d) {
  if (addend == nullptr) return {};
  const auto v = view_of(addend, "c");
  need_shape(v, "c", d.rows, d.cols, "in d");
  return words_of(v, "c");
}

void need_format(const prepared_operand& x, format f, const char* what) {
  if (!(x.element() == f)) refuse("{}: not the path's format", what);
}

void run_multiply(const zeroulp_path* given, const zeroulp_operand* left,
                  const zeroulp_operand* right,
                  const zeroulp_const_matrix* addend,
                  const zeroulp_matrix* result) {
  const path p = path_of(given);
  const operand a = left_of(left);
  const operand b = right_of(right);
  const auto same = [](const operand& x, format f, const char* what) {
    if (x.scales.data != nullptr) refuse("{}: a path has no scales", what);
    need_format(x.codes, f, what);
  };
  same(a, p.a, "a");
  same(b, p.b, "b");
  const auto d = view_of(result, "d");
  need_shape(d, "d", a.codes.rows(), b.codes.rows(), "products");
  engine::multiply(p, a.codes, b.codes, start_of(addend, d), words_of(d, "d"));
}

/// One scale, a byte, for each row and `block` elements of K.
matrix_view<const std::uint8_t> block_scales_of(
    const zeroulp_const_matrix& given, const prepared_operand& x, int block,
    const char* what) {
  const auto v = view_of(&given, what);
  need_bytes(v, 1, 1, what);
  need_shape(v, what, x.rows(), ceil_div(x.cols(), block), "blocks of scales");
  return {static_cast<const std::uint8_t*>(v.data), v.rows, v.cols,
          v.row_stride, v.col_stride};
}

void run_multiply_block_scaled(const zeroulp_block_scaled_path* given,
                               const zeroulp_operand* left,
                               const zeroulp_operand* right,
                               const zeroulp_const_matrix* addend,
                               const zeroulp_matrix* result) {
  const block_scaled_path p = path_of(given);
  const auto a = codes_from(left, "a", "a.codes");
  const auto b = codes_from(right, "b", "b.codes");
  need_format(a, p.unscaled.a, "a");
  need_format(b, p.unscaled.b, "b");
  const auto d = view_of(result, "d");
  need_shape(d, "d", a.rows(), b.rows(), "products");
  engine::multiply(p, a, block_scales_of(left->scales, a, p.block, "a.scales"),
                   b, block_scales_of(right->scales, b, p.block, "b.scales"),
                   start_of(addend, d), words_of(d, "d"));
}

void run_exact_products(const zeroulp_operand* left,
                        const zeroulp_operand* right,
                        const zeroulp_matrix* result) {
  const operand a = left_of(left);
  const operand b = right_of(right);
  const auto out = view_of(result, "out");
  need_bytes(out, 8, 8, "out");
  need_shape(out, "out", a.codes.rows(), b.codes.rows(), "products");
  engine::exact_products(
      a.codes, b.codes,
      matrix_view<double>(static_cast<double*>(out.data), out.rows, out.cols,
                          out.row_stride, out.col_stride));
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

zeroulp_status zeroulp_step(const zeroulp_path* path,
                            const zeroulp_const_matrix* a,
                            const zeroulp_const_matrix* b,
                            const zeroulp_const_matrix* c,
                            const zeroulp_matrix* d) {
  return guarded(__func__, [&] { run_step(path, a, b, c, d); });
}

zeroulp_status zeroulp_gemm(const zeroulp_recipe* recipe,
                            const zeroulp_operand* a, const zeroulp_operand* b,
                            const zeroulp_const_matrix* c,
                            const zeroulp_matrix* d) {
  return guarded(__func__, [&] { run_gemm(recipe, a, b, c, d); });
}

zeroulp_status zeroulp_multiply(const zeroulp_path* path,
                                const zeroulp_operand* a,
                                const zeroulp_operand* b,
                                const zeroulp_const_matrix* c,
                                const zeroulp_matrix* d) {
  return guarded(__func__, [&] { run_multiply(path, a, b, c, d); });
}

zeroulp_status zeroulp_multiply_block_scaled(
    const zeroulp_block_scaled_path* path, const zeroulp_operand* a,
    const zeroulp_operand* b, const zeroulp_const_matrix* c,
    const zeroulp_matrix* d) {
  return guarded(__func__,
                 [&] { run_multiply_block_scaled(path, a, b, c, d); });
}

zeroulp_status zeroulp_exact_products(const zeroulp_operand* a,
                                      const zeroulp_operand* b,
                                      const zeroulp_matrix* out) {
  return guarded(__func__, [&] { run_exact_products(a, b, out); });
}
