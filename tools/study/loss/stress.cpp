#include "tools/study/loss/stress.hpp"

namespace zeroulp::loss {

std::vector<train::scaled_block> stress_of(const train::model_shape& shape,
                                           const loss_outlier& by) {
  const train::parameter_list list(shape);
  std::vector<train::scaled_block> blocks;
  const auto column = [&](std::size_t i, std::ptrdiff_t at, int k) {
    blocks.push_back({i, 0, at, list.all()[i].rows, 1, k});
  };
  for (std::ptrdiff_t l = 0; l < shape.layers; ++l) {
    const auto& p = list.layer(l);
    const std::ptrdiff_t feeds = shape.is_dense(l) ? 1 : shape.experts + 1;
    if (by.kind == outlier_kind::channel) {
      const std::ptrdiff_t channel = shape.width / 3;
      column(p.norm1, channel, by.exponent);
      column(p.first, channel, -by.exponent);
      column(p.latent_norm, shape.rank / 3, by.exponent);
      column(p.second, shape.rank / 3, -by.exponent);
      column(p.norm2, channel, by.exponent);
      if (!shape.is_dense(l)) column(p.router, channel, -by.exponent);
      for (std::ptrdiff_t e = 0; e < feeds; ++e) {
        column(p.up(e), channel, -by.exponent);
      }
      continue;
    }
    for (std::ptrdiff_t e = 0; e < feeds; ++e) {
      const std::ptrdiff_t hidden = list.all()[p.down(e)].cols;
      blocks.push_back(
          {p.up(e), hidden + hidden / 3, 0, 1, shape.width, by.exponent});
      column(p.down(e), hidden / 3, -by.exponent);
    }
  }
  return blocks;
}

}  // namespace zeroulp::loss
