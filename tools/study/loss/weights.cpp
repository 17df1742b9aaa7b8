// The parameters of the model: names, shapes, initial values.

#include <cmath>

#include "tools/study/loss/model.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::loss {
namespace {

/// Calls use(name, rows, cols, deviation) for each parameter, in order; a
/// deviation of 0 stands for ones.
template <class Use>
void for_weights(const model_shape& s, Use use) {
  const auto from = [](std::ptrdiff_t n) {
    return 1 / std::sqrt(static_cast<double>(n));
  };
  use("embedding", s.vocabulary, s.width, 0.5);
  use("last_norm", 1, s.width, 0.0);
  use("head", s.vocabulary, s.width, from(s.width));
  for (std::ptrdiff_t l = 0; l < s.layers; ++l) {
    const auto name = [l](const char* what) {
      return "layer" + std::to_string(l) + "." + what;
    };
    use(name("norm1"), 1, s.width, 0.0);
    use(name("qkv"), 3 * s.width, s.width, from(s.width));
    use(name("out"), s.width, s.width, from(s.width));
    use(name("norm2"), 1, s.width, 0.0);
    use(name("router"), s.experts, s.width, from(s.width));
    for (std::ptrdiff_t e = 0; e <= s.experts; ++e) {
      const std::string expert =
          e == 0 ? "shared" : "expert" + std::to_string(e - 1);
      use(name((expert + ".up").c_str()), 2 * s.hidden, s.width, from(s.width));
      use(name((expert + ".down").c_str()), s.width, s.hidden, from(s.hidden));
    }
  }
}

}  // namespace

std::vector<matrix> initial_weights(const model_shape& shape,
                                    std::uint64_t seed) {
  std::vector<matrix> weights;
  for_weights(shape, [&](const std::string&, std::ptrdiff_t m, std::ptrdiff_t n,
                         double deviation) {
    matrix w(m, n);
    counter_rng rng(seed, weights.size());
    for (float& x : w.data) {
      x = deviation == 0
              ? 1.0f
              : static_cast<float>(train::nearly_normal(rng) * deviation);
    }
    weights.push_back(std::move(w));
  });
  return weights;
}

std::vector<std::string> weight_names(const model_shape& shape) {
  std::vector<std::string> names;
  for_weights(shape, [&](const std::string& name, std::ptrdiff_t,
                         std::ptrdiff_t, double) { names.push_back(name); });
  return names;
}

}  // namespace zeroulp::loss
