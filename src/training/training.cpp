// engine::swiglu_forward, swiglu_backward, rms_norm, adamw and apply: lines of
// numbers through the kernels; what is quantized goes through engine::quantize.

#include "zeroulp/training.hpp"

#include <vector>

#include "src/arrays/lines.hpp"
#include "src/base/threads.hpp"
#include "src/training/kernels.hpp"
#include "src/training/shapes.hpp"

namespace zeroulp::engine {
namespace {

/// An output of values: the caller's, or, where something is made of it, one of
/// its own.
class values {
 public:
  values(format f, code_view given, bool needed, std::ptrdiff_t m,
         std::ptrdiff_t n)
      : view_(given) {
    if (given.data != nullptr || !needed) return;
    if (f.bits() <= 16) {
      narrow_.resize(static_cast<std::size_t>(m * n));
      view_ = matrix_view(narrow_.data(), m, n);
    } else {
      wide_.resize(static_cast<std::size_t>(m * n));
      view_ = matrix_view(wide_.data(), m, n);
    }
  }
  values(const values&) = delete;
  values& operator=(const values&) = delete;

  const code_view& view() const { return view_; }
  bool wanted() const { return view_.data != nullptr; }

 private:
  code_view view_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::uint32_t> wide_;
};

/// Rounds numbers to `to` where they are wanted.
class value_writer {
 public:
  value_writer(format to, const code_view& out)
      : wanted_(out.data != nullptr),
        writer_(to, rounding::nearest_even, cuda_nosat, out) {}
  void write(const line_buffer& numbers, std::ptrdiff_t i, std::ptrdiff_t j,
             std::ptrdiff_t n) const {
    if (wanted_) writer_.write(numbers.word, nullptr, i, j, n);
  }

 private:
  bool wanted_;
  code_writer writer_;
};

template <class... Views>
bool all_in_rows(const Views&... views) {
  return ((views.data == nullptr || views.col_stride == 1) && ...);
}

void store(const quantizer& q, const code_view& x, const quantized_view& to) {
  if (to.codes.data != nullptr) quantize(q, x, to.codes, to.scales);
}

std::size_t count_of(std::ptrdiff_t n) { return static_cast<std::size_t>(n); }

/// Dequantizes lines.
class cached_reader {
 public:
  cached_reader(const quantizer& q, const const_quantized_view& from)
      : q_(q), from_(from), numbers_(q.to, from.codes) {}

  void read(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n,
            line_buffer& out) const {
    const group_shape& g = q_.group;
    line_buffer scales;
    spread(
        j, n, g.width(from_.codes.cols),
        [&, row = i / g.height(from_.codes.rows)](std::ptrdiff_t k) {
          return from_.scales(row, k);
        },
        scales.word);
    if (has_decoding(q_.to)) {
      scale_line(scaling::multiply, numbers_.read(i, j, n, out), scales.word,
                 out.word, count_of(n));
      return;
    }
    gather(from_.codes, i, j, n, out.word);
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      out.word[k] = dequantize_element(q_.to, out.word[k], scales.word[k]);
    }
  }

 private:
  const quantizer& q_;
  const const_quantized_view& from_;
  number_reader numbers_;
};

}  // namespace

void apply(elementary f, matrix_view<const std::uint32_t> x,
           matrix_view<std::uint32_t> out) {
  check_shape(out, x.rows, x.cols, "apply, output", "the input is");
  const bool in_rows = all_in_rows(x, out);
  for_lines(
      x.rows, x.cols, in_rows,
      [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
        line_buffer buffer;
        line_buffer result;
        elementary_line(f, words_at(x, i, j, n, buffer), result.word,
                        count_of(n));
        scatter(result.word, out, i, j, n);
      },
      training_work);
}

void swiglu_forward(const swiglu_layer& layer, const_code_view g,
                    const_code_view u, code_view h, const quantized_view& h_out,
                    const quantized_view& g_cache,
                    const quantized_view& u_cache) {
  const format from = layer.cache.from;
  check_input(from, g, g.rows, g.cols, "swiglu_forward, g");
  check_input(from, u, g.rows, g.cols, "swiglu_forward, u");
  check_values(layer.out.from, h, g.rows, g.cols, "swiglu_forward, h");
  check_quantized(layer.out, h_out, g.rows, g.cols, "swiglu_forward, h");
  check_quantized(layer.cache, g_cache, g.rows, g.cols, "swiglu_forward, g");
  check_quantized(layer.cache, u_cache, g.rows, g.cols, "swiglu_forward, u");
  if (g.rows == 0 || g.cols == 0) return;
  const values hidden(layer.out.from, h, h_out.codes.data != nullptr, g.rows,
                      g.cols);
  if (hidden.wanted()) {
    const number_reader read_g(from, g);
    const number_reader read_u(from, u);
    const value_writer write_h(layer.out.from, hidden.view());
    for_lines(g.rows, g.cols, all_in_rows(g, u, hidden.view()),
              [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
                line_buffer buffers[2];
                line_buffer result;
                swiglu_line(read_g.read(i, j, n, buffers[0]),
                            read_u.read(i, j, n, buffers[1]), result.word,
                            count_of(n));
                write_h.write(result, i, j, n);
              });
    store(layer.out, hidden.view(), h_out);
  }
  if (g_cache.codes.data != nullptr) {
    quantize(layer.cache, g, g_cache.codes, g_cache.scales);
  }
  if (u_cache.codes.data != nullptr) {
    quantize(layer.cache, u, u_cache.codes, u_cache.scales);
  }
}

void swiglu_backward(const swiglu_layer& layer, format from, const_code_view dh,
                     const const_quantized_view& g_cache,
                     const const_quantized_view& u_cache, code_view h,
                     code_view dg, code_view du, const quantized_view& dg_out,
                     const quantized_view& du_out) {
  const std::ptrdiff_t rows = dh.rows;
  const std::ptrdiff_t cols = dh.cols;
  const format to = layer.out.from;
  check_input(from, dh, rows, cols, "swiglu_backward, dh");
  check_cache(layer.cache, g_cache, rows, cols, "swiglu_backward, g");
  check_cache(layer.cache, u_cache, rows, cols, "swiglu_backward, u");
  check_values(to, h, rows, cols, "swiglu_backward, h");
  check_values(to, dg, rows, cols, "swiglu_backward, dg");
  check_values(to, du, rows, cols, "swiglu_backward, du");
  check_quantized(layer.out, dg_out, rows, cols, "swiglu_backward, dg");
  check_quantized(layer.out, du_out, rows, cols, "swiglu_backward, du");
  if (rows == 0 || cols == 0) return;
  const values all_dg(to, dg, dg_out.codes.data != nullptr, rows, cols);
  const values all_du(to, du, du_out.codes.data != nullptr, rows, cols);
  const number_reader read_dh(from, dh);
  const cached_reader read_g(layer.cache, g_cache);
  const cached_reader read_u(layer.cache, u_cache);
  const value_writer write_h(to, h);
  const value_writer write_dg(to, all_dg.view());
  const value_writer write_du(to, all_du.view());
  for_lines(rows, cols,
            all_in_rows(dh, g_cache.codes, u_cache.codes, h, all_dg.view(),
                        all_du.view()),
            [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
              line_buffer g, u, buffer;
              line_buffer results[3];
              read_g.read(i, j, n, g);
              read_u.read(i, j, n, u);
              swiglu_gradient_line(
                  g.word, u.word, read_dh.read(i, j, n, buffer),
                  {results[0].word, results[1].word, results[2].word},
                  count_of(n));
              write_h.write(results[0], i, j, n);
              write_dg.write(results[1], i, j, n);
              write_du.write(results[2], i, j, n);
            });
  store(layer.out, all_dg.view(), dg_out);
  store(layer.out, all_du.view(), du_out);
}

void rms_norm(const rms_layer& layer, const_code_view x, const_code_view w,
              code_view y, matrix_view<std::uint32_t> rstd,
              const quantized_view& out) {
  const std::ptrdiff_t cols = x.cols;
  check_input(layer.from, x, x.rows, cols, "rms_norm, x");
  check_input(layer.weight, w, 1, cols, "rms_norm, weights");
  check_values(layer.out.from, y, x.rows, cols, "rms_norm, y");
  check_quantized(layer.out, out, x.rows, cols, "rms_norm, y");
  if (rstd.data != nullptr) {
    check_shape(rstd, x.rows, 1, "rms_norm, rstd", "the rows need");
  }
  // Rows of nothing have a factor each, if anything.
  if (cols == 0 && rstd.data == nullptr) return;
  const values all_y(layer.out.from, y, out.codes.data != nullptr, x.rows,
                     cols);
  const number_reader read_x(layer.from, x);
  const number_reader read_w(layer.weight, w);
  const value_writer write_y(layer.out.from, all_y.view());
  [[maybe_unused]] const double work =
      training_work * static_cast<double>(x.rows) * static_cast<double>(cols);
#pragma omp parallel for schedule(static) num_threads(threads_for(work))
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const float_mode mode(float_mode::nearest);
    line_buffer buffers[2];
    line_buffer result;
    const auto for_line = [&](auto use) {
      for (std::ptrdiff_t j = 0; j < cols; j += line) {
        const std::ptrdiff_t n = std::min(line, cols - j);
        use(j, n, read_x.read(i, j, n, buffers[0]));
      }
    };
    rms_sums sums{};
    for_line([&](std::ptrdiff_t j, std::ptrdiff_t n, const std::uint32_t* row) {
      rms_fold_line(j, row, count_of(n), sums);
    });
    const std::uint32_t factor = rms_factor(sums, cols, layer.eps);
    if (rstd.data != nullptr) rstd(i, 0) = factor;
    if (!all_y.wanted()) continue;
    for_line([&](std::ptrdiff_t j, std::ptrdiff_t n, const std::uint32_t* row) {
      rms_line(row, factor, read_w.read(0, j, n, buffers[1]), result.word,
               count_of(n));
      write_y.write(result, i, j, n);
    });
  }
  if (x.rows > 0 && cols > 0) store(layer.out, all_y.view(), out);
}

void adamw(const adamw_step& step, const_code_view g, code_view m, code_view v,
           matrix_view<std::uint32_t> w, code_view copy) {
  const std::ptrdiff_t rows = g.rows;
  const std::ptrdiff_t cols = g.cols;
  check_input(step.gradient, g, rows, cols, "adamw, gradient");
  check_input(step.moment, m, rows, cols, "adamw, m");
  check_input(step.moment, v, rows, cols, "adamw, v");
  check_shape(w, rows, cols, "adamw, weights", "the gradient is");
  check_values(bf16, copy, rows, cols, "adamw, copy");
  const number_reader read_g(step.gradient, g);
  const number_reader read_m(step.moment, m);
  const number_reader read_v(step.moment, v);
  const code_writer write_m(step.moment, step.mode, cuda_nosat, m);
  const code_writer write_v(step.moment, step.mode, cuda_nosat, v);
  const value_writer write_copy(bf16, copy);
  const auto do_line = [&](std::ptrdiff_t i, std::ptrdiff_t j,
                           std::ptrdiff_t n) {
    // In place: a line is read whole before it is written.
    line_buffer buffer, new_m, new_v, new_w, random;
    const auto load = [&](const number_reader& from, line_buffer& to) {
      const std::uint32_t* numbers = from.read(i, j, n, to);
      if (numbers != to.word) std::copy_n(numbers, n, to.word);
    };
    load(read_m, new_m);
    load(read_v, new_v);
    gather(w, i, j, n, new_w.word);
    adamw_line(step.factors, read_g.read(i, j, n, buffer),
               {new_m.word, new_v.word, new_w.word}, count_of(n));
    const auto draw = [&](int shift) -> const std::uint32_t* {
      if (step.mode != rounding::stochastic) return nullptr;
      const auto first = step.first + static_cast<std::uint64_t>(i * cols + j);
      for (std::ptrdiff_t k = 0; k < n; ++k) {
        const auto index = first + static_cast<std::uint64_t>(k);
        random.word[k] =
            static_cast<std::uint32_t>(adamw_random(step.seed, index) >> shift);
      }
      return random.word;
    };
    write_m.write(new_m.word, draw(0), i, j, n);
    write_v.write(new_v.word, draw(32), i, j, n);
    scatter(new_w.word, w, i, j, n);
    write_copy.write(new_w, i, j, n);
  };
  for_lines(rows, cols, all_in_rows(g, m, v, w, copy), do_line, training_work);
}

}  // namespace zeroulp::engine
