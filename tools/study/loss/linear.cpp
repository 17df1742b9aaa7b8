#include "tools/study/loss/linear.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "zeroulp/engine.hpp"

namespace zeroulp::loss {
namespace {

std::ptrdiff_t groups_down(const storage& s, std::ptrdiff_t m) {
  return ceil_div(m, s.group.height(m));
}
std::ptrdiff_t groups_across(const storage& s, std::ptrdiff_t n) {
  return ceil_div(n, s.group.width(n));
}

quantizer quantizer_of(const storage& s) {
  return {fp32, s.to, zeroulp_convention, s.scale, s.group};
}

granularity granularity_of(const storage& s) {
  return {s.group.rows, s.group.cols};
}

float amax_of(const matrix& x) {
  const quantizer whole{
      fp32, e4m3, zeroulp_convention, scale_kind::float32, {0, 0}};
  std::uint32_t amax = 0;
  engine::group_amaxes(whole, x.words(), {&amax, 1, 1});
  return bit_cast<float>(amax);
}

/// x with one row 2^exponent times as large; no row: -1.
matrix stretched(matrix x, std::ptrdiff_t row, int exponent) {
  if (row < 0 || exponent == 0) return x;
  std::for_each(x.row(row), x.row(row) + x.cols,
                [exponent](float& v) { v = std::ldexp(v, exponent); });
  return x;
}

/// An operand as the GEMM reads it, perhaps transposed.
struct side {
  const storage& how;
  matrix_view<const std::uint32_t> codes;
  matrix_view<const std::uint32_t> scales;

  explicit side(const stored& s)
      : how(s.how), codes(s.code_words()), scales(s.scale_words()) {}
  side transposed() const {
    side t = *this;
    t.codes = codes.transposed();
    t.scales = scales.transposed();
    return t;
  }
};

/// D = A B^T, or D += A B^T.
void product(const linear_rule& rule, const side& a, const side& b,
             epilogue end, matrix& d) {
  const bool scales_along_k = a.how.group.cols > 0 || b.how.group.cols > 0;
  const recipe r{rule.acc,
                 rule.interval,
                 scales_along_k ? promotion::product_of_scales : promotion::add,
                 granularity_of(a.how),
                 granularity_of(b.how),
                 rule.splits,
                 end,
                 fp32};
  engine::gemm(r, {a.how.to, a.codes}, a.scales, {b.how.to, b.codes}, b.scales,
               d.words(), d.words());
}

}  // namespace

stored::stored(const storage& s, std::ptrdiff_t m, std::ptrdiff_t n)
    : how(s), rows(m), cols(n), codes(static_cast<std::size_t>(m * n)) {
  if (!s.scaled) return;
  scales.resize(
      static_cast<std::size_t>(groups_down(s, m) * groups_across(s, n)));
}

matrix_view<std::uint32_t> stored::code_words() {
  return {codes.data(), rows, cols};
}
matrix_view<const std::uint32_t> stored::code_words() const {
  return {codes.data(), rows, cols};
}
matrix_view<std::uint32_t> stored::scale_words() {
  return {scales.data(), groups_down(how, rows), groups_across(how, cols)};
}
matrix_view<const std::uint32_t> stored::scale_words() const {
  if (scales.empty()) return {};
  return {scales.data(), groups_down(how, rows), groups_across(how, cols)};
}

void amax_history::push(float amax) {
  if (last.size() == length) last.erase(last.begin());
  last.push_back(amax);
}

float amax_history::largest() const {
  return last.empty() ? 0 : *std::max_element(last.begin(), last.end());
}

void linear_history::push(const linear_amax& now) {
  if (now.x > 0) x.push(now.x);
  if (now.w > 0) w.push(now.w);
  if (now.dy > 0) dy.push(now.dy);
}

stored store(const storage& how, matrix_view<const std::uint32_t> x,
             const amax_history* past) {
  stored s(how, x.rows, x.cols);
  const float amax = past == nullptr ? 0 : past->largest();
  if (!how.scaled) {
    engine::recode(fp32, x, how.to, s.code_words(), rounding::nearest_even,
                   cuda_nosat);
  } else if (amax > 0) {
    const std::vector<std::uint32_t> amaxes(s.scales.size(),
                                            bit_cast<std::uint32_t>(amax));
    const auto shape = s.scale_words();
    engine::quantize(quantizer_of(how), x,
                     {amaxes.data(), shape.rows, shape.cols}, s.code_words(),
                     s.scale_words());
  } else {
    engine::quantize(quantizer_of(how), x, s.code_words(), s.scale_words());
  }
  return s;
}

matrix load(const stored& s) {
  matrix x(s.rows, s.cols);
  if (s.how.scaled) {
    engine::dequantize(s.how.to, s.how.group, s.code_words(), s.scale_words(),
                       x.words());
  } else {
    engine::recode(s.how.to, s.code_words(), fp32, x.words());
  }
  return x;
}

stored transpose(const storage& how, const stored& cached) {
  const bool tiles = how.group == group_shape{1, 128};
  if (tiles && cached.how.scaled && cached.how.group == how.group) {
    // The scales of the cache say which kind: see the tensor table.
    stored t(how, cached.cols, cached.rows);
    engine::retile(
        {cached.how.to, how.to, cached.how.scale, 128, retile_rule::amax},
        cached.code_words(), cached.scale_words(), t.code_words(),
        t.scale_words());
    return t;
  }
  if (!tiles && how == cached.how) {  // no rounding: the codes stay
    stored t(how, cached.cols, cached.rows);
    engine::recode(how.to, cached.code_words().transposed(), how.to,
                   t.code_words());
    const auto from = cached.scale_words().transposed();
    const auto to = t.scale_words();
    for (std::ptrdiff_t i = 0; cached.how.scaled && i < to.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < to.cols; ++j) to(i, j) = from(i, j);
    }
    return t;
  }
  const matrix values = load(cached);
  return store(how, values.words().transposed());
}

linear_output linear_forward(const linear_context& c, const matrix& given,
                             const matrix& w) {
  const matrix x = stretched(given, c.row, c.exponent);
  c.now.x = amax_of(x);
  c.now.w = amax_of(w);
  linear_output out{
      matrix(x.rows, w.rows),
      store(c.rule.x, x.words(), c.delayed ? &c.past.x : nullptr)};
  const stored weights =
      store(c.rule.w, w.words(), c.delayed ? &c.past.w : nullptr);
  product(c.rule, side(out.x), side(weights), epilogue::store, out.y);
  out.y = stretched(std::move(out.y), c.row, -c.exponent);
  return out;
}

matrix linear_backward(const linear_context& c, const stored& xt,
                       const matrix& w, const matrix& given, matrix& dw) {
  const matrix dy = stretched(given, c.row, -c.exponent);
  c.now.dy = amax_of(dy);
  const amax_history* const past_w = c.delayed ? &c.past.w : nullptr;
  const amax_history* const past_dy = c.delayed ? &c.past.dy : nullptr;
  matrix dx(dy.rows, w.cols);
  const stored rows = store(c.rule.dy, dy.words(), past_dy);
  const stored weights = store(c.rule.w, w.words(), past_w);
  product(c.rule, side(rows), side(weights).transposed(), epilogue::store, dx);
  const stored columns =
      store(c.rule.dy,
            matrix_view<const std::uint32_t>(dy.words()).transposed(), past_dy);
  product(c.rule, side(columns), side(xt), epilogue::accumulate, dw);
  return stretched(std::move(dx), c.row, c.exponent);
}

}  // namespace zeroulp::loss
