#include "conformance/oracles/model/mla_oracle.hpp"

#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::oracle {
namespace {

using words = std::vector<std::uint32_t>;

std::uint32_t rounded_product(const words& a, const words& b) {
  return code_of(bf16, to_float(product(a, b)));
}

/// Words [from, from + count) of row i.
words part_of_row(const grid& g, std::ptrdiff_t i, std::ptrdiff_t from,
                  std::ptrdiff_t count) {
  words w;
  for (std::ptrdiff_t j = from; j < from + count; ++j) w.push_back(g(i, j));
  return w;
}

words joined(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

grid of_rows(const std::vector<words>& rows, std::ptrdiff_t cols) {
  grid g(static_cast<std::ptrdiff_t>(rows.size()), cols);
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < cols; ++j) {
      g(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
    }
  }
  return g;
}

}  // namespace

attended attend_latent(mla_order order, const mla_shape& s,
                       const latent_tokens& t) {
  const std::ptrdiff_t m = t.q.rows;
  const std::ptrdiff_t width = s.depth + s.rope_depth;
  const bool absorbed = order == mla_order::absorbed;
  attended out{grid(m, s.heads * s.value_depth), grid(m, s.heads),
               grid(m, s.heads)};
  for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
    const std::ptrdiff_t first = h * (s.depth + s.value_depth);
    std::vector<words> q, k, v, w_v;
    for (std::ptrdiff_t d = 0; d < s.value_depth; ++d) {
      w_v.push_back(part_of_row(t.up, first + s.depth + d, 0, s.rank));
    }
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      const words plain = part_of_row(t.q, i, h * width, s.depth);
      const words turned =
          part_of_row(t.q, i, h * width + s.depth, s.rope_depth);
      const words latent = part_of_row(t.latent, i, 0, s.rank);
      const words rope_key = part_of_row(t.rope_key, i, 0, s.rope_depth);
      words a, key, value;
      for (std::ptrdiff_t r = 0; r < s.rank; ++r) {
        words column;
        for (std::ptrdiff_t d = 0; d < s.depth; ++d) {
          column.push_back(t.up(first + d, r));
        }
        a.push_back(rounded_product(plain, column));
      }
      for (std::ptrdiff_t d = 0; d < s.depth; ++d) {
        key.push_back(
            rounded_product(latent, part_of_row(t.up, first + d, 0, s.rank)));
      }
      for (const words& row : w_v)
        value.push_back(rounded_product(latent, row));
      q.push_back(joined(absorbed ? a : plain, turned));
      k.push_back(joined(absorbed ? latent : key, rope_key));
      v.push_back(absorbed ? latent : value);
    }
    const std::ptrdiff_t values = absorbed ? s.rank : s.value_depth;
    const std::ptrdiff_t depth = (absorbed ? s.rank : s.depth) + s.rope_depth;
    const attended one =
        attend({s.length, 1, depth, values, s.scale},
               {of_rows(q, depth), of_rows(k, depth), of_rows(v, values)});
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      out.largest(i, h) = one.largest(i, 0);
      out.inverse(i, h) = one.inverse(i, 0);
      const words mean = part_of_row(one.o, i, 0, values);
      for (std::ptrdiff_t d = 0; d < s.value_depth; ++d) {
        const auto at = static_cast<std::size_t>(d);
        out.o(i, h * s.value_depth + d) =
            absorbed ? rounded_product(mean, w_v[at]) : mean[at];
      }
    }
  }
  return out;
}

}  // namespace zeroulp::oracle
