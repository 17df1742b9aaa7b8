// How far the two orders of MLA's products lie apart, and each from the exact
// result, at DeepSeek-V2-Lite's sizes: mla_orders [TOKENS]. Exit status: 1 if
// both orders give the same bits.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <zeroulp/model.hpp>
#include <zeroulp/random.hpp>

using namespace zeroulp;
namespace {

using codes = std::vector<std::uint16_t>;

double number(std::uint16_t code) {
  return static_cast<double>(bit_cast<float>(std::uint32_t{code} << 16));
}

/// BF16 codes of about N(0, deviation^2).
codes any(std::ptrdiff_t count, double deviation, std::uint64_t seed) {
  counter_rng rng(seed, 0);
  codes x(static_cast<std::size_t>(count));
  for (auto& code : x) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += 0x1p-32 * rng.next32();
    code = static_cast<std::uint16_t>(
        encode(bf16, decode(static_cast<float>(sum * deviation))));
  }
  return x;
}

struct inputs {
  mla_shape s;
  std::ptrdiff_t width = s.depth + s.rope_depth;
  codes q = any(s.length * s.heads * width, 1, 1);
  codes latent = any(s.length * s.rank, 1, 2);
  codes rope_key = any(s.length * s.rope_depth, 1, 3);
  codes up = any(s.heads * (s.depth + s.value_depth) * s.rank,
                 1 / std::sqrt(static_cast<double>(s.rank)), 4);

  mla_tokens tokens() const {
    return {{q.data(), s.length, s.heads * width},
            {latent.data(), s.length, s.rank},
            {rope_key.data(), s.length, s.rope_depth},
            {up.data(), s.heads * (s.depth + s.value_depth), s.rank}};
  }
};

codes run(mla_order order, const inputs& x) {
  const std::ptrdiff_t m = x.s.length;
  codes o(static_cast<std::size_t>(m * x.s.heads * x.s.value_depth));
  std::vector<std::uint32_t> kept(static_cast<std::size_t>(2 * m * x.s.heads));
  engine::mla_forward(
      order, x.s, x.tokens(), {o.data(), m, x.s.heads * x.s.value_depth},
      {kept.data(), m, x.s.heads}, {kept.data() + m * x.s.heads, m, x.s.heads});
  return o;
}

/// The output in FP64, not rounded between.
std::vector<double> exact(const inputs& x) {
  const auto& s = x.s;
  const mla_tokens t = x.tokens();
  const double scale = static_cast<double>(bit_cast<float>(s.scale));
  std::vector<double> out;
  out.resize(static_cast<std::size_t>(s.length * s.heads * s.value_depth));
  for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
    const std::ptrdiff_t first = h * (s.depth + s.value_depth);
    std::vector<double> made(
        static_cast<std::size_t>(s.length * (s.depth + s.value_depth)));
    for (std::ptrdiff_t j = 0; j < s.length; ++j) {
      for (std::ptrdiff_t d = 0; d < s.depth + s.value_depth; ++d) {
        double sum = 0;
        for (std::ptrdiff_t r = 0; r < s.rank; ++r) {
          sum += number(t.latent(j, r)) * number(t.up(first + d, r));
        }
        made[static_cast<std::size_t>(j * (s.depth + s.value_depth) + d)] = sum;
      }
    }
    const auto part = [&](std::ptrdiff_t j, std::ptrdiff_t d) {
      return made[static_cast<std::size_t>(j * (s.depth + s.value_depth) + d)];
    };
    for (std::ptrdiff_t i = 0; i < s.length; ++i) {
      std::vector<double> z;
      double most = -INFINITY, total = 0;
      for (std::ptrdiff_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::ptrdiff_t d = 0; d < s.depth; ++d) {
          sum += number(t.q(i, h * x.width + d)) * part(j, d);
        }
        for (std::ptrdiff_t d = 0; d < s.rope_depth; ++d) {
          sum += number(t.q(i, h * x.width + s.depth + d)) *
                 number(t.rope_key(j, d));
        }
        z.push_back(scale * sum);
        most = std::fmax(most, z.back());
      }
      for (double& e : z) total += e = std::exp(e - most);
      for (std::ptrdiff_t d = 0; d < s.value_depth; ++d) {
        double sum = 0;
        for (std::ptrdiff_t j = 0; j <= i; ++j) {
          sum += z[static_cast<std::size_t>(j)] * part(j, s.depth + d);
        }
        out[static_cast<std::size_t>((i * s.heads + h) * s.value_depth + d)] =
            sum / total;
      }
    }
  }
  return out;
}

/// |x - y| / |y|, of all elements.
template <class X, class Y>
double apart(const X& x, const Y& y) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error += (x[i] - y[i]) * (x[i] - y[i]);
    size += y[i] * y[i];
  }
  return std::sqrt(error / size);
}

std::vector<double> numbers(const codes& x) {
  std::vector<double> all;
  for (const auto code : x) all.push_back(number(code));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const long length = argc > 1 ? std::atol(argv[1]) : 64;
  if (length < 1 || length > 65536) {
    std::fprintf(stderr, "mla_orders: use 1 to 65536 tokens\n");
    return 2;
  }
  const inputs x{{length, 16, 128, 64, 128, 512, attention_scale(192)}};
  const codes one = run(mla_order::unabsorbed, x);
  const codes other = run(mla_order::absorbed, x);
  std::size_t differ = 0;
  for (std::size_t i = 0; i < one.size(); ++i) differ += one[i] != other[i];
  const auto right = exact(x);
  std::printf(
      "%ld tokens, 16 heads of 128 + 64 and 128, rank 512\n"
      "outputs that differ  %zu of %zu (%.1f %%)\n"
      "one from the other   %.2e of their size\n"
      "unabsorbed, error    %.2e\n"
      "absorbed, error      %.2e\n",
      length, differ, one.size(),
      100 * static_cast<double>(differ) / static_cast<double>(one.size()),
      apart(numbers(one), numbers(other)), apart(numbers(one), right),
      apart(numbers(other), right));
  return differ == 0 ? 1 : 0;
}
