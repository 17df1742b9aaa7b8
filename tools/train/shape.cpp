#include "tools/train/shape.hpp"

#include <cmath>

namespace zeroulp::train {

std::size_t parameter_list::add(const std::string& name, std::ptrdiff_t rows,
                                std::ptrdiff_t cols, std::ptrdiff_t zero_rows) {
  const bool norm = rows == 1;
  all_.push_back({name, rows, cols,
                  norm ? 0.0 : 1 / std::sqrt(static_cast<double>(cols)),
                  zero_rows});
  return all_.size() - 1;
}

parameter_list::parameter_list(const model_shape& s) {
  add("embedding", s.vocabulary, s.width);
  all_[embedding].deviation = 0.5;
  for (std::ptrdiff_t l = 0; l < s.layers; ++l) {
    const std::string prefix = "layer" + std::to_string(l) + ".";
    const auto put = [&](const std::string& name, std::ptrdiff_t rows,
                         std::ptrdiff_t cols, std::ptrdiff_t zero_rows = 0) {
      return add(prefix + name, rows, cols, zero_rows);
    };
    const auto swiglu = [&](const std::string& name, std::ptrdiff_t hidden) {
      const std::size_t up = put(name + ".up", 2 * hidden, s.width);
      put(name + ".down", s.width, hidden);
      return up;
    };
    layer_parameters p{};
    p.norm1 = put("norm1", 1, s.width);
    p.first = put("qkv_a", s.first_rows(), s.width,
                  s.first_rows() - s.heads * s.depth() - s.rank - s.turned);
    p.latent_norm = put("kv_norm", 1, s.rank);
    p.second = put("kv_b", s.heads * (s.plain + s.value), s.rank);
    p.out = put("out", s.width, s.heads * s.value);
    p.norm2 = put("norm2", 1, s.width);
    if (s.is_dense(l)) {
      p.feed = swiglu("dense", s.dense_hidden);
    } else {
      p.router = put("router", s.experts, s.width);
      p.feed = swiglu("shared", s.shared * s.hidden);
      for (std::ptrdiff_t e = 0; e < s.experts; ++e) {
        swiglu("expert" + std::to_string(e), s.hidden);
      }
    }
    layers_.push_back(p);
  }
  add("last_norm", 1, s.width);
  add("head", s.vocabulary, s.width);
}

}  // namespace zeroulp::train
