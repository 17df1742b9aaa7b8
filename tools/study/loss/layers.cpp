#include "tools/study/loss/layers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "zeroulp/training.hpp"

namespace zeroulp::loss {
namespace {

void apply(engine::elementary f, matrix& x) {
  engine::apply(f, x.words(), x.words());
}

float dot(const float* a, const float* b, std::ptrdiff_t n) {
  float sum = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// y += a x
void add_scaled(float a, const float* x, std::ptrdiff_t n, float* y) {
  for (std::ptrdiff_t i = 0; i < n; ++i) y[i] += a * x[i];
}

}  // namespace

norm_output norm_forward(const matrix& x, const matrix& w) {
  norm_output out{matrix(x.rows, x.cols),
                  std::vector<float>(static_cast<std::size_t>(x.rows))};
  const rms_layer layer{
      fp32,
      fp32,
      bit_cast<std::uint32_t>(1e-6f),
      {fp32, e4m3, zeroulp_convention, scale_kind::float32, {1, 128}}};
  matrix rstd(x.rows, 1);
  engine::rms_norm(layer, x.words(), w.words(), out.y.words(), rstd.words());
  out.rstd = rstd.data;
  return out;
}

matrix norm_backward(const matrix& x, const matrix& w,
                     const std::vector<float>& rstd, const matrix& dy,
                     matrix& dw) {
  matrix dx(x.rows, x.cols);
  const auto n = static_cast<float>(x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const float r = rstd[static_cast<std::size_t>(i)];
    float sum = 0;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      sum += dy.row(i)[j] * w.data[static_cast<std::size_t>(j)] * x.row(i)[j];
    }
    const float along = sum * r * r / n;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float g = dy.row(i)[j] * w.data[static_cast<std::size_t>(j)];
      dx.row(i)[j] = r * (g - x.row(i)[j] * along);
    }
  }
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const float r = rstd[static_cast<std::size_t>(i)];
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      dw.row(0)[j] += dy.row(i)[j] * (x.row(i)[j] * r);
    }
  }
  return dx;
}

attention_output attention_forward(const attention_shape& shape,
                                   const matrix& qkv) {
  const std::ptrdiff_t width = qkv.cols / 3;
  const std::ptrdiff_t depth = width / shape.heads;
  const std::ptrdiff_t pairs = shape.sequences * shape.heads;
  const float scale = 1 / std::sqrt(static_cast<float>(depth));
  attention_output out{matrix(qkv.rows, width), {}};
  out.p.assign(static_cast<std::size_t>(pairs),
               matrix(shape.length, shape.length));
  for (std::ptrdiff_t pair = 0; pair < pairs; ++pair) {
    const std::ptrdiff_t first = pair / shape.heads * shape.length;
    const std::ptrdiff_t at = pair % shape.heads * depth;
    matrix& p = out.p[static_cast<std::size_t>(pair)];
    for (std::ptrdiff_t i = 0; i < shape.length; ++i) {
      const float* q = qkv.row(first + i) + at;
      float largest = -std::numeric_limits<float>::infinity();
      for (std::ptrdiff_t j = 0; j <= i; ++j) {
        p.row(i)[j] = dot(q, qkv.row(first + j) + width + at, depth) * scale;
        largest = std::max(largest, p.row(i)[j]);
      }
      for (std::ptrdiff_t j = 0; j <= i; ++j) p.row(i)[j] -= largest;
    }
    apply(engine::elementary::exp, p);
    for (std::ptrdiff_t i = 0; i < shape.length; ++i) {
      std::fill(p.row(i) + i + 1, p.row(i) + shape.length, 0.0f);
      float sum = 0;
      for (std::ptrdiff_t j = 0; j <= i; ++j) sum += p.row(i)[j];
      for (std::ptrdiff_t j = 0; j <= i; ++j) {
        p.row(i)[j] /= sum;
        add_scaled(p.row(i)[j], qkv.row(first + j) + 2 * width + at, depth,
                   out.o.row(first + i) + at);
      }
    }
  }
  return out;
}

matrix attention_backward(const attention_shape& shape, const matrix& qkv,
                          const std::vector<matrix>& p, const matrix& o,
                          const matrix& d_o) {
  const std::ptrdiff_t width = qkv.cols / 3;
  const std::ptrdiff_t depth = width / shape.heads;
  const float scale = 1 / std::sqrt(static_cast<float>(depth));
  matrix d(qkv.rows, qkv.cols);
  for (std::ptrdiff_t pair = 0; pair < shape.sequences * shape.heads; ++pair) {
    const std::ptrdiff_t first = pair / shape.heads * shape.length;
    const std::ptrdiff_t at = pair % shape.heads * depth;
    const matrix& probability = p[static_cast<std::size_t>(pair)];
    for (std::ptrdiff_t i = 0; i < shape.length; ++i) {
      const float* go = d_o.row(first + i) + at;
      const float along = dot(go, o.row(first + i) + at, depth);
      for (std::ptrdiff_t j = 0; j <= i; ++j) {
        const float pij = probability.row(i)[j];
        const float* k = qkv.row(first + j) + width + at;
        const float dp = dot(go, k + width, depth);
        const float ds = pij * (dp - along) * scale;
        add_scaled(ds, k, depth, d.row(first + i) + at);
        add_scaled(ds, qkv.row(first + i) + at, depth,
                   d.row(first + j) + width + at);
        add_scaled(pij, go, depth, d.row(first + j) + 2 * width + at);
      }
    }
  }
  return d;
}

routing route(const matrix& x, const matrix& w, const std::vector<float>& bias,
              std::ptrdiff_t top, const std::vector<int>* fixed) {
  routing r{top, matrix(x.rows, w.rows), {}, {}};
  const auto count = static_cast<std::size_t>(x.rows * top);
  r.experts = fixed != nullptr ? *fixed : std::vector<int>(count);
  r.weights.resize(count);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t e = 0; e < w.rows; ++e) {
      r.scores.row(i)[e] = dot(x.row(i), w.row(e), x.cols);
    }
  }
  apply(engine::elementary::sigmoid, r.scores);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    int* const chosen = r.experts.data() + i * top;
    const float* const score = r.scores.row(i);
    for (std::ptrdiff_t k = 0; fixed == nullptr && k < top; ++k) {
      int best = -1;
      for (int e = 0; e < static_cast<int>(w.rows); ++e) {
        if (std::find(chosen, chosen + k, e) != chosen + k) continue;
        const auto biased = [&](int of) {
          return score[of] + bias[static_cast<std::size_t>(of)];
        };
        if (best < 0 || biased(e) > biased(best)) best = e;
      }
      chosen[k] = best;
    }
    float sum = 0;
    for (std::ptrdiff_t k = 0; k < top; ++k) sum += score[chosen[k]];
    for (std::ptrdiff_t k = 0; k < top; ++k) {
      r.weights[static_cast<std::size_t>(i * top + k)] = score[chosen[k]] / sum;
    }
  }
  return r;
}

matrix route_backward(const routing& r, const matrix& x, const matrix& w,
                      const std::vector<float>& dweights, matrix& dw) {
  matrix dlogits(x.rows, w.rows);
  matrix dx(x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const auto at = static_cast<std::size_t>(i * r.top);
    const auto top = static_cast<std::size_t>(r.top);
    float sum = 0;
    float along = 0;
    for (std::size_t k = at; k < at + top; ++k) {
      sum += r.scores.row(i)[r.experts[k]];
      along += dweights[k] * r.weights[k];
    }
    for (std::size_t k = at; k < at + top; ++k) {
      const float s = r.scores.row(i)[r.experts[k]];
      const float ds = (dweights[k] - along) / sum;
      dlogits.row(i)[r.experts[k]] = ds * s * (1 - s);
    }
    for (std::ptrdiff_t e = 0; e < w.rows; ++e) {
      add_scaled(dlogits.row(i)[e], w.row(e), x.cols, dx.row(i));
    }
  }
  for (std::ptrdiff_t e = 0; e < w.rows; ++e) {
    for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
      add_scaled(dlogits.row(i)[e], x.row(i), x.cols, dw.row(e));
    }
  }
  return dx;
}

loss_output cross_entropy(const matrix& logits,
                          const std::vector<int>& targets) {
  loss_output out{0, logits};
  matrix& p = out.dlogits;
  std::vector<float> shifted(targets.size());
  for (std::ptrdiff_t i = 0; i < p.rows; ++i) {
    const float largest = *std::max_element(p.row(i), p.row(i) + p.cols);
    for (std::ptrdiff_t j = 0; j < p.cols; ++j) p.row(i)[j] -= largest;
    const auto at = static_cast<std::size_t>(i);
    shifted[at] = p.row(i)[targets[at]];
  }
  apply(engine::elementary::exp, p);
  std::vector<double> losses(targets.size());
  const auto n = static_cast<float>(p.rows);
  for (std::ptrdiff_t i = 0; i < p.rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    double sum = 0;
    for (std::ptrdiff_t j = 0; j < p.cols; ++j) {
      sum += static_cast<double>(p.row(i)[j]);
    }
    losses[at] = std::log(sum) - static_cast<double>(shifted[at]);
    const auto norm = static_cast<float>(sum);
    for (std::ptrdiff_t j = 0; j < p.cols; ++j) {
      const float share = p.row(i)[j] / norm;
      p.row(i)[j] = (j == targets[at] ? share - 1 : share) / n;
    }
  }
  for (const double x : losses) out.loss += x;
  out.loss /= static_cast<double>(targets.size());
  return out;
}

}  // namespace zeroulp::loss
