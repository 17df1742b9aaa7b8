// engine::attention_forward and attention_backward: each query block of a
// sequence and head is products by engine::gemm and rows between them.

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "src/arrays/lines.hpp"
#include "src/base/float_mode.hpp"
#include "src/base/threads.hpp"
#include "src/model/checks.hpp"
#include "src/model/products.hpp"
#include "src/model/rows.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::engine {

void product(const matrix_view<const std::uint16_t>& a,
             const matrix_view<const std::uint16_t>& b,
             matrix_view<std::uint32_t> d) {
  static const recipe by = for_operands(unpromoted_recipe, bf16, bf16);
  gemm(by, prepared_operand(bf16, a), {}, prepared_operand(bf16, b), {}, {}, d);
}

namespace {

using codes = matrix_view<const std::uint16_t>;

bool has_specials(const codes& x) {
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      if ((x(i, j) & 0x7f80) == 0x7f80) return true;
    }
  }
  return false;
}

/// One sequence and head of a call.
struct head {
  const attention_shape& shape;
  std::ptrdiff_t row;  ///< first token
  std::ptrdiff_t at;   ///< which head

  template <class T>
  matrix_view<T> of(const matrix_view<T>& x, std::ptrdiff_t width) const {
    return x.block(row, at * width, shape.length, width);
  }
  template <class T>
  matrix_view<T> keys(const matrix_view<T>& x) const {
    return of(x, shape.depth);
  }
  template <class T>
  matrix_view<T> values(const matrix_view<T>& x) const {
    return of(x, shape.value_depth);
  }

  /// Queries or keys that are done together. Zeros of e change no sum unless
  /// they meet what is no number: then a product may reach to the next multiple
  /// of 64 and no further.
  std::ptrdiff_t block(const codes& other) const {
    return has_specials(other) ? attention_range : 2 * attention_range;
  }
};

/// Calls use(head) for each sequence and head, on all cores.
template <class Use>
void for_heads(const attention_shape& shape, std::ptrdiff_t tokens,
               const Use& use) {
  const std::ptrdiff_t count = tokens / shape.length * shape.heads;
  [[maybe_unused]] const double work =
      count > 1 ? product_work * static_cast<double>(tokens) *
                      static_cast<double>(shape.length * shape.heads *
                                          (shape.depth + shape.value_depth))
                : 0;
  std::exception_ptr failed;
#pragma omp parallel for schedule(dynamic) num_threads(threads_for(work))
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const float_mode mode(float_mode::nearest);
    try {
      use(head{shape, i / shape.heads * shape.length, i % shape.heads});
    } catch (...) {
#pragma omp critical(zeroulp_attention)
      failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
}

void check_attention(const attention_shape& s, const attention_inputs& t,
                     const char* what) {
  const bool valid = s.length > 0 && s.heads > 0 && s.depth > 0 &&
                     s.value_depth > 0 && t.q.rows % s.length == 0;
  if (!valid) {
    throw input_error(fmt::format(
        "{}: {} tokens in sequences of {}, {} heads of {} and {}: sequences "
        "are whole, and none of these is 0",
        what, t.q.rows, s.length, s.heads, s.depth, s.value_depth));
  }
  if (s.scale == 0 || s.scale >= 0x7f800000) {
    throw input_error(fmt::format(
        "{}: the scores' scale {:08x} is no number above 0", what, s.scale));
  }
}

void check_tokens(const attention_shape& s, std::ptrdiff_t tokens,
                  const codes& x, std::ptrdiff_t width, const char* what) {
  check_rows_of(x, tokens, s.heads * width, what);
}

void check_inputs(const attention_shape& s, const attention_inputs& t,
                  const char* what) {
  check_attention(s, t, what);
  const std::ptrdiff_t m = t.q.rows;
  check_tokens(s, m, t.q, s.depth, "attention, q");
  check_tokens(s, m, t.k, s.depth, "attention, k");
  check_tokens(s, m, t.v, s.value_depth, "attention, v");
}

void forward(const head& h, const attention_inputs& t,
             matrix_view<std::uint16_t> o, matrix_view<std::uint32_t> largest,
             matrix_view<std::uint32_t> inverse) {
  const std::ptrdiff_t length = h.shape.length;
  const std::ptrdiff_t width = h.shape.value_depth;
  const codes q = h.keys(t.q);
  const codes k = h.keys(t.k);
  const codes v = h.values(t.v);
  // v and ones, transposed: the sums of e are one column more.
  scratch<std::uint16_t> right(width + 1, length);
  const auto by = right.view();
  for (std::ptrdiff_t j = 0; j < length; ++j) {
    for (std::ptrdiff_t c = 0; c < width; ++c) by(c, j) = v(j, c);
    by(width, j) = 0x3f80;
  }
  const std::ptrdiff_t height = h.block(v);
  for (std::ptrdiff_t i = 0; i < length; i += height) {
    const std::ptrdiff_t rows = std::min(height, length - i);
    const std::ptrdiff_t keys = std::min(length, i + height);
    scratch<std::uint32_t> scores(rows, keys);
    product(q.block(i, 0, rows, q.cols), k.block(0, 0, keys, k.cols),
            scores.view());
    scratch<std::uint16_t> e(rows, keys);
    const query_block block{h.shape.scale, i, rows, keys};
    weights_of_queries(block, {scores.view(), e.view(),
                               h.of(largest, 1).block(i, 0, rows, 1)});
    scratch<std::uint32_t> sums(rows, width + 1);
    product(e.view(), by.block(0, 0, width + 1, keys), sums.view());
    outputs_of_queries(block,
                       {sums.view(), h.values(o).block(i, 0, rows, width),
                        h.of(inverse, 1).block(i, 0, rows, 1)});
  }
}

/// Rows of gradients from the product of `a` and `b` over K.
void gradient(const codes& a, const codes& b, std::uint32_t scale, bool scaled_,
              matrix_view<std::uint16_t> out) {
  scratch<std::uint32_t> sums(out.rows, out.cols);
  product(a, b, sums.view());
  scaled({sums.view(), scale, scaled_, out});
}

void backward(const head& h, const attention_inputs& t,
              const attention_kept& kept, codes d_o,
              const attention_gradients_out& out) {
  const std::ptrdiff_t length = h.shape.length;
  const std::uint32_t scale = h.shape.scale;
  const codes q = h.keys(t.q);
  const codes k = h.keys(t.k);
  const codes v = h.values(t.v);
  const codes go = h.values(d_o);
  const auto o = h.values(kept.o);
  scratch<std::uint16_t> all_p(length, length);
  scratch<std::uint16_t> all_ds(length, length);
  const auto p = all_p.view();
  const auto ds = all_ds.view();
  const std::ptrdiff_t along = h.block(k);
  for (std::ptrdiff_t i = 0; i < length; i += along) {
    const std::ptrdiff_t rows = std::min(along, length - i);
    const std::ptrdiff_t keys = std::min(length, i + along);
    scratch<std::uint32_t> scores(rows, keys);
    scratch<std::uint32_t> dp(rows, keys);
    const auto of_rows = [i, rows](auto x) {
      return x.block(i, 0, rows, x.cols);
    };
    product(of_rows(q), k.block(0, 0, keys, k.cols), scores.view());
    product(of_rows(go), v.block(0, 0, keys, v.cols), dp.view());
    gradients_of_queries(
        {scale, i, rows, keys},
        {scores.view(), dp.view(), of_rows(h.of(kept.largest, 1)),
         of_rows(h.of(kept.inverse, 1)), of_rows(go), of_rows(o),
         p.block(i, 0, rows, keys), ds.block(i, 0, rows, keys)});
    gradient(ds.block(i, 0, rows, keys),
             k.block(0, 0, keys, k.cols).transposed(), scale, true,
             of_rows(h.keys(out.dq)));
  }
  // Keys: K runs over the queries from the block of 64 on. What p and ds have
  // above the diagonal, beyond the blocks of queries, is zero.
  const auto of_keys = [&](const codes& from, const codes& other,
                           matrix_view<std::uint16_t> to, bool scaled_) {
    const std::ptrdiff_t height = h.block(other);
    for (std::ptrdiff_t j = 0; j < length; j += height) {
      const std::ptrdiff_t rows = std::min(height, length - j);
      gradient(from.block(j, j, length - j, rows).transposed(),
               other.block(j, 0, length - j, other.cols).transposed(), scale,
               scaled_, to.block(j, 0, rows, to.cols));
    }
  };
  of_keys(p, go, h.values(out.dv), false);
  of_keys(ds, q, h.keys(out.dk), true);
}

}  // namespace

void attention_forward(const attention_shape& shape, const attention_inputs& t,
                       matrix_view<std::uint16_t> o,
                       matrix_view<std::uint32_t> largest,
                       matrix_view<std::uint32_t> inverse) {
  check_inputs(shape, t, "attention_forward");
  const std::ptrdiff_t m = t.q.rows;
  check_tokens(shape, m, o, shape.value_depth, "attention_forward, o");
  check_rows_of(largest, m, shape.heads, "attention_forward, largest");
  check_rows_of(inverse, m, shape.heads, "attention_forward, inverse");
  for_heads(shape, m,
            [&](const head& h) { forward(h, t, o, largest, inverse); });
}

void attention_backward(const attention_shape& shape, const attention_inputs& t,
                        const attention_kept& kept,
                        matrix_view<const std::uint16_t> d_o,
                        const attention_gradients_out& out) {
  check_inputs(shape, t, "attention_backward");
  const std::ptrdiff_t m = t.q.rows;
  const std::ptrdiff_t values = shape.heads * shape.value_depth;
  check_rows_of(d_o, m, values, "attention_backward, dO");
  check_rows_of(kept.o, m, values, "attention_backward, o");
  check_rows_of(kept.largest, m, shape.heads, "attention_backward, largest");
  check_rows_of(kept.inverse, m, shape.heads, "attention_backward, inverse");
  check_tokens(shape, m, out.dq, shape.depth, "attention_backward, dq");
  check_tokens(shape, m, out.dk, shape.depth, "attention_backward, dk");
  check_tokens(shape, m, out.dv, shape.value_depth, "attention_backward, dv");
  for_heads(shape, m, [&](const head& h) { backward(h, t, kept, d_o, out); });
}

}  // namespace zeroulp::engine
