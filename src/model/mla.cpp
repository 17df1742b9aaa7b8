// engine::mla_forward: products by engine::gemm around engine's attention.

#include <fmt/format.h>

#include "src/base/float_mode.hpp"
#include "src/base/threads.hpp"
#include "src/model/checks.hpp"
#include "src/model/products.hpp"
#include "src/model/rows.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::engine {
namespace {

using latent_codes = matrix_view<const std::uint16_t>;

/// out = bf(A B^T), on all cores.
void rounded_product(const latent_codes& a, const latent_codes& b,
                     matrix_view<std::uint16_t> out) {
  scratch<std::uint32_t> sums(out.rows, out.cols);
  product(a, b, sums.view());
  const float_mode mode(float_mode::nearest);
  scaled({sums.view(), 0, false, out});
}

void copy_rows(const latent_codes& from, matrix_view<std::uint16_t> to) {
  for (std::ptrdiff_t i = 0; i < from.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < from.cols; ++j) to(i, j) = from(i, j);
  }
}

/// What one head has of a call's matrices.
struct latent_head {
  const mla_shape& s;
  const mla_tokens& t;
  std::ptrdiff_t at;

  latent_codes q() const {
    const std::ptrdiff_t width = s.depth + s.rope_depth;
    return t.q.block(0, at * width, t.q.rows, width);
  }
  latent_codes up_key() const {
    return t.up.block(at * (s.depth + s.value_depth), 0, s.depth, s.rank);
  }
  latent_codes up_value() const {
    return t.up.block(at * (s.depth + s.value_depth) + s.depth, 0,
                      s.value_depth, s.rank);
  }
};

struct mla_outputs {
  matrix_view<std::uint16_t> o;
  matrix_view<std::uint32_t> largest;
  matrix_view<std::uint32_t> inverse;
};

void unabsorbed_head(const latent_head& h, const mla_outputs& out) {
  const auto& [s, t, at] = h;
  const std::ptrdiff_t m = t.q.rows;
  scratch<std::uint16_t> k(m, s.depth + s.rope_depth);
  scratch<std::uint16_t> v(m, s.value_depth);
  rounded_product(t.latent, h.up_key(), k.view().block(0, 0, m, s.depth));
  copy_rows(t.rope_key, k.view().block(0, s.depth, m, s.rope_depth));
  rounded_product(t.latent, h.up_value(), v.view());
  attention_forward(
      {s.length, 1, s.depth + s.rope_depth, s.value_depth, s.scale},
      {h.q(), k.view(), v.view()}, out.o, out.largest, out.inverse);
}

void absorbed_head(const latent_head& h, const mla_outputs& out) {
  const auto& [s, t, at] = h;
  const std::ptrdiff_t m = t.q.rows;
  scratch<std::uint16_t> q(m, s.rank + s.rope_depth);
  scratch<std::uint16_t> k(m, s.rank + s.rope_depth);
  scratch<std::uint16_t> mean(m, s.rank);
  rounded_product(h.q().block(0, 0, m, s.depth), h.up_key().transposed(),
                  q.view().block(0, 0, m, s.rank));
  copy_rows(h.q().block(0, s.depth, m, s.rope_depth),
            q.view().block(0, s.rank, m, s.rope_depth));
  copy_rows(t.latent, k.view().block(0, 0, m, s.rank));
  copy_rows(t.rope_key, k.view().block(0, s.rank, m, s.rope_depth));
  attention_forward({s.length, 1, s.rank + s.rope_depth, s.rank, s.scale},
                    {q.view(), k.view(), t.latent}, mean.view(), out.largest,
                    out.inverse);
  rounded_product(mean.view(), h.up_value(), out.o);
}

}  // namespace

void mla_forward(mla_order order, const mla_shape& s, const mla_tokens& t,
                 matrix_view<std::uint16_t> o,
                 matrix_view<std::uint32_t> largest,
                 matrix_view<std::uint32_t> inverse) {
  const std::ptrdiff_t m = t.q.rows;
  const bool valid = s.length > 0 && s.heads > 0 && s.depth > 0 &&
                     s.rope_depth >= 0 && s.value_depth > 0 && s.rank > 0 &&
                     m % s.length == 0;
  if (!valid) {
    throw input_error(fmt::format(
        "mla_forward: {} tokens in sequences of {}, {} heads of {} + {} and "
        "{}, rank {}: sequences are whole, and none of these but rope's is 0",
        m, s.length, s.heads, s.depth, s.rope_depth, s.value_depth, s.rank));
  }
  if (s.scale == 0 || s.scale >= 0x7f800000) {
    throw input_error(fmt::format(
        "mla_forward: the scores' scale {:08x} is no number above 0", s.scale));
  }
  const std::ptrdiff_t values = s.heads * s.value_depth;
  check_rows_of(t.q, m, s.heads * (s.depth + s.rope_depth), "mla_forward, q");
  check_rows_of(t.latent, m, s.rank, "mla_forward, latent");
  check_rows_of(t.rope_key, m, s.rope_depth, "mla_forward, rope_key");
  check_rows_of(t.up, s.heads * (s.depth + s.value_depth), s.rank,
                "mla_forward, up");
  check_rows_of(o, m, values, "mla_forward, o");
  check_rows_of(largest, m, s.heads, "mla_forward, largest");
  check_rows_of(inverse, m, s.heads, "mla_forward, inverse");
  for (std::ptrdiff_t at = 0; at < s.heads; ++at) {
    const mla_outputs out{o.block(0, at * s.value_depth, m, s.value_depth),
                          largest.block(0, at, m, 1),
                          inverse.block(0, at, m, 1)};
    const latent_head h{s, t, at};
    if (order == mla_order::absorbed) {
      absorbed_head(h, out);
    } else {
      unabsorbed_head(h, out);
    }
  }
}

}  // namespace zeroulp::engine
