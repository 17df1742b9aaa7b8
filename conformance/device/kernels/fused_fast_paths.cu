// SwiGLU and RMSNorm on inputs that select their fastest kernels, against the
// engine on the host. Rows are aligned and consist of vec8s (vectors of 8) of
// BF16, and of E4M3 in groups of 1x128. Every convention and kind of scale, and
// numbers for each code path of the kernels. SPEC clauses S2 to S5, Q2 to Q13.

#include <bit>

#include "conformance/device/implementation/training.hpp"
#include "conformance/device/support/drawn_memory.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr int tile = 128;

enum class content : std::uint8_t {
  normal,    ///< within a few binades
  apart,     ///< within a few binades, which differ from tile to tile
  exact,     ///< largest magnitudes whose scales are exact
  sparse,    ///< one number in each tile, which alone decides the scale
  wide,      ///< all exponents, subnormal numbers and zeros
  specials,  ///< infinities and NaN among them
  tiny,      ///< amaxes so small that their factors are not finite
};
constexpr content contents[] = {
    content::normal, content::apart,    content::exact, content::sparse,
    content::wide,   content::specials, content::tiny};

std::uint32_t bf16_number(content kind, counter_rng& rng) {
  const std::uint32_t sign = (rng.next32() & 1) << 15;
  const std::uint32_t fraction = rng.next32() & 0x7f;
  const auto with = [&](int exponent) {
    return sign | static_cast<std::uint32_t>(exponent + 127) << 7 | fraction;
  };
  if (kind == content::specials && rng.one_in(700)) {
    return sign | 0x7f80 | (rng.one_in(2) ? fraction : 0);
  }
  if (kind == content::wide && rng.one_in(3)) {
    return rng.one_in(4) ? sign : with(rng.between(-127, 127));
  }
  if (kind == content::tiny) return with(rng.between(-125, -121));
  return with(rng.between(-7, 2));
}

/// Makes a BF16 matrix. Its first number differs from call to call and is never
/// set to 0: it seeds the random alignments, layouts and outputs.
word_matrix numbers(content kind, std::ptrdiff_t m, std::ptrdiff_t n,
                    counter_rng& rng) {
  // Significands of amaxes that 7 divides: amax / 448 is exact, as 448 = 7 2^6.
  constexpr std::uint32_t divisors[] = {0x36, 0x44, 0x52, 0x60};
  word_matrix x(m, n);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t j0 = 0; j0 < n; j0 += tile) {
      const std::ptrdiff_t end = std::min<std::ptrdiff_t>(j0 + tile, n);
      const auto drawn = static_cast<std::ptrdiff_t>(
          rng.below(static_cast<std::uint64_t>(end - j0)));
      const std::ptrdiff_t most = i == 0 && j0 == 0 ? 0 : j0 + drawn;
      const std::uint32_t lower =
          kind == content::apart
              ? static_cast<std::uint32_t>(rng.between(0, 12)) << 7
              : 0;
      for (std::ptrdiff_t j = j0; j < end; ++j) {
        auto& word = x.view()(i, j);
        word = bf16_number(kind, rng) - lower;
        if (kind == content::sparse && j != most) word = 0;
        if (kind == content::exact && j == most) {
          word = 130 << 7 | divisors[rng.below(4)];
        }
      }
    }
  }
  return x;
}

struct whole_case {
  std::string name;
  quantizer q;
  std::ptrdiff_t m, n;
  content kind;
};

/// Calls use(case, rng) for all conventions, scales and contents.
template <class Use>
void for_each_case(const effort& e, std::uint64_t stream,
                   const std::vector<std::ptrdiff_t>& widths, Use use) {
  counter_rng rng(e.seed, stream);
  const auto rounds = static_cast<int>(cases(e, 1, 3));
  for (int round = 0; round < rounds; ++round) {
    for (const auto& how : named_conventions) {
      for (int scale = 0; scale <= static_cast<int>(scale_kind::ocp); ++scale) {
        for (const content kind : contents) {
          const quantizer q{
              bf16, e4m3, how.value, static_cast<scale_kind>(scale), {1, tile}};
          whole_case c{"", q, rng.between(1, 9),
                       widths[rng.below(widths.size())], kind};
          // More rows where one number decides each scale: the fast arithmetic
          // falls back to the core for only one number in a thousand.
          if (kind == content::sparse && e.level > 0) c.m += 200;
          c.name = std::string(how.name) + ", " +
                   std::string(name_of(q.scale)) + ", " + std::to_string(c.m) +
                   " x " + std::to_string(c.n);
          use(c, rng);
        }
      }
    }
  }
}

/// Compares the results of the kernels and of the host.
class both_results {
 public:
  both_results(std::string what, verdict& v) : what_(std::move(what)), v_(v) {}

  void compare(const char* output, const word_matrix& got,
               const word_matrix& right) {
    compare_codes(what_ + ", " + output, got.view(), right.view(), v_);
  }
  void compare(const char* output, const quantized_words& got,
               const quantized_words& right) {
    compare(output, got.codes, right.codes);
    compare("its scales", got.scales, right.scales);
  }

 private:
  std::string what_;
  verdict& v_;
};

struct forward_result {
  word_matrix h;
  quantized_words out, g, u;

  forward_result(const training_functions& by, const swiglu_layer& layer,
                 codes_in of_g, codes_in of_u)
      : h(of_g.rows, of_g.cols),
        out(layer.out, of_g.rows, of_g.cols),
        g(layer.cache, of_g.rows, of_g.cols),
        u(layer.cache, of_g.rows, of_g.cols) {
    by.swiglu_forward(layer, of_g, of_u, h.view(), out.view(), g.view(),
                      u.view());
  }
};

struct backward_result {
  word_matrix h, dg, du;
  quantized_words dg_out, du_out;

  backward_result(const training_functions& by, const swiglu_layer& layer,
                  codes_in dh, const quantized_in& g, const quantized_in& u)
      : h(dh.rows, dh.cols),
        dg(dh.rows, dh.cols),
        du(dh.rows, dh.cols),
        dg_out(layer.out, dh.rows, dh.cols),
        du_out(layer.out, dh.rows, dh.cols) {
    by.swiglu_backward(layer, bf16, dh, g, u, h.view(), dg.view(), du.view(),
                       dg_out.view(), du_out.view());
  }
};

struct rms_result {
  word_matrix y, rstd;
  quantized_words out;

  rms_result(const training_functions& by, const rms_layer& layer, codes_in x,
             codes_in w)
      : y(x.rows, x.cols), rstd(x.rows, 1), out(layer.out, x.rows, x.cols) {
    by.rms_norm(layer, x, w, y.view(), rstd.view(), out.view());
  }
};

/// Replaces some scales by any numbers, whatever the rule for scales is.
void alter_some(word_matrix& scales, counter_rng& rng) {
  for (std::ptrdiff_t i = 0; i < scales.view().rows; ++i) {
    for (std::ptrdiff_t j = 0; j < scales.view().cols; ++j) {
      if (!rng.one_in(20)) continue;
      const auto exponent = static_cast<std::uint32_t>(rng.between(110, 130));
      scales.view()(i, j) = exponent << 23 | (rng.next32() & 0x7fffff);
    }
  }
}

/// Compares a backward pass of the kernels with that of the host.
void hold_backward(const training_functions& gpu, const training_functions& cpu,
                   const std::string& name, const swiglu_layer& layer,
                   const word_matrix& dh, const quantized_words& g,
                   const quantized_words& u, verdict& v) {
  const quantized_in of_g{g.codes.view(), g.scales.view()};
  const quantized_in of_u{u.codes.view(), u.scales.view()};
  const backward_result right(cpu, layer, dh.view(), of_g, of_u);
  const backward_result got(gpu, layer, dh.view(), of_g, of_u);
  both_results both(name, v);
  both.compare("h", got.h, right.h);
  both.compare("dg", got.dg, right.dg);
  both.compare("du", got.du, right.du);
  both.compare("dg quantized", got.dg_out, right.dg_out);
  both.compare("du quantized", got.du_out, right.du_out);
}

void hold_swiglu(const training_functions& gpu, const training_functions& cpu,
                 const whole_case& c, counter_rng& rng, verdict& v) {
  const swiglu_layer layer{c.q, c.q};
  // Only one of the two matrices has tiny numbers. Calls then process the other
  // one's groups beside tiny ones whose outputs are not asked for.
  const bool swapped = c.kind == content::tiny && rng.one_in(2);
  const content others = content::normal;
  const word_matrix g = numbers(swapped ? others : c.kind, c.m, c.n, rng);
  const word_matrix u = numbers(swapped ? c.kind : others, c.m, c.n, rng);
  const word_matrix dh = numbers(content::normal, c.m, c.n, rng);
  const forward_result right(cpu, layer, g.view(), u.view());
  const forward_result got(gpu, layer, g.view(), u.view());
  both_results forward("forward, " + c.name, v);
  forward.compare("h", got.h, right.h);
  forward.compare("h quantized", got.out, right.out);
  forward.compare("the cache of g", got.g, right.g);
  forward.compare("the cache of u", got.u, right.u);

  quantized_words of_g = right.g, of_u = right.u;
  if (rng.one_in(3)) {
    alter_some(of_g.scales, rng), alter_some(of_u.scales, rng);
  }
  hold_backward(gpu, cpu, "backward, " + c.name, layer, dh, of_g, of_u, v);
}

/// The backward pass from caches that have one scale each.
void hold_whole_caches(const training_functions& gpu,
                       const training_functions& cpu, const whole_case& c,
                       counter_rng& rng, verdict& v) {
  constexpr format codes[] = {e4m3, e5m2, e5m6};
  swiglu_layer layer{c.q, c.q};
  layer.cache.to = codes[rng.below(3)];
  layer.cache.group = {0, 0};
  const auto cached = [&](content kind) {
    const word_matrix x = numbers(kind, c.m, c.n, rng);
    quantized_words of_x(layer.cache, c.m, c.n);
    engine::quantize(layer.cache, x.view(), of_x.codes.view(),
                     of_x.scales.view());
    if (rng.one_in(3)) alter_some(of_x.scales, rng);
    return of_x;
  };
  const quantized_words g = cached(c.kind), u = cached(content::normal);
  const word_matrix dh = numbers(content::normal, c.m, c.n, rng);
  hold_backward(gpu, cpu, "backward from one scale, " + c.name, layer, dh, g, u,
                v);
}

verdict check_swiglu(const effort& e) {
  verdict v;
  const auto gpu = gpu_training(), cpu = engine_training();
  for_each_case(e, 21, {8, 120, 128, 136, 520, 2184},
                [&](const whole_case& c, counter_rng& rng) {
                  // Each call draws the outputs that it asks for.
                  const int times = c.kind == content::tiny ? 6 : 1;
                  for (int i = 0; i < times; ++i) {
                    hold_swiglu(gpu, cpu, c, rng, v);
                  }
                  hold_whole_caches(gpu, cpu, c, rng, v);
                });
  return v;
}

/// Returns `rows` rows: 1024 that repeat one half of the rows of x, then 1024
/// that repeat the other half, in turn.
word_matrix repeated(const word_matrix& x, std::ptrdiff_t rows) {
  constexpr std::ptrdiff_t turn = 1024;
  word_matrix all(rows, x.cols);
  const std::ptrdiff_t half = x.rows / 2;
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const std::ptrdiff_t from = i % half + i / turn % 2 * half;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      all.view()(i, j) = x.view()(from, j);
    }
  }
  return all;
}
quantized_words repeated(const quantizer& q, const quantized_words& x,
                         std::ptrdiff_t rows) {
  quantized_words all(q, rows, x.codes.cols);
  all.codes = repeated(x.codes, rows);
  all.scales = repeated(x.scales, rows);
  return all;
}

/// More rows than all resident blocks of a GPU take. A later block that misses
/// a wait then reads an earlier block's numbers, which must differ from its
/// own. There are few columns and few different rows, so that the host has
/// little to compute. Each half has 65 different rows: blocks take 2^n rows, so
/// that consecutive blocks see different ones. Many cases, since placement and
/// outputs are drawn.
verdict check_many_rows(const effort& e) {
  verdict v;
  const auto gpu = gpu_training(), cpu = engine_training();
  counter_rng rng(e.seed, 24);
  const std::ptrdiff_t m = 60000;
  for (std::uint64_t i = 0; i < cases(e, 8, 16, 16); ++i) {
    for (const auto kind : {scale_kind::float32, scale_kind::pow2}) {
      const quantizer q{bf16, e4m3, zeroulp_convention, kind, {1, tile}};
      const swiglu_layer layer{q, q};
      const std::ptrdiff_t n = e.level > 0 && i == 0 ? 136 : 8;
      const auto draw = [&] { return numbers(content::normal, 130, n, rng); };
      const word_matrix g = draw(), u = draw(), dh = draw();
      forward_result forward(cpu, layer, g.view(), u.view());
      const quantized_words cached_g = forward.g;
      // If the gates' scales are powers of two, some warps of a block make a
      // table of sigmoids, here for three powers. Blocks with rows of the other
      // half put other powers at the same places of their tables.
      if (kind == scale_kind::pow2) {
        auto scales = forward.g.scales.view();
        for (std::ptrdiff_t r = 0; r < scales.rows; ++r) {
          const auto power = static_cast<std::uint32_t>(
              116 + r % 3 + (2 * r < scales.rows ? 0 : 4));
          for (std::ptrdiff_t c = 0; c < scales.cols; ++c) {
            scales(r, c) = power << 23;
          }
        }
      }
      const quantized_in cache_g{forward.g.codes.view(),
                                 forward.g.scales.view()};
      const quantized_in cache_u{forward.u.codes.view(),
                                 forward.u.scales.view()};
      const backward_result backward(cpu, layer, dh.view(), cache_g, cache_u);

      const std::string name =
          std::string(name_of(kind)) + ", many rows of " + std::to_string(n);
      const word_matrix all_g = repeated(g, m), all_u = repeated(u, m),
                        all_dh = repeated(dh, m);
      const forward_result got(gpu, layer, all_g.view(), all_u.view());
      const quantized_words all_cache_g = repeated(q, forward.g, m),
                            all_cache_u = repeated(q, forward.u, m);
      both_results both(name, v);
      both.compare("h", got.h, repeated(forward.h, m));
      both.compare("h quantized", got.out, repeated(q, forward.out, m));
      both.compare("the cache of g", got.g, repeated(q, cached_g, m));
      both.compare("the cache of u", got.u, all_cache_u);
      const backward_result got_back(
          gpu, layer, all_dh.view(),
          {all_cache_g.codes.view(), all_cache_g.scales.view()},
          {all_cache_u.codes.view(), all_cache_u.scales.view()});
      both.compare("h again", got_back.h, repeated(backward.h, m));
      both.compare("dg", got_back.dg, repeated(backward.dg, m));
      both.compare("du", got_back.du, repeated(backward.du, m));
      both.compare("dg quantized", got_back.dg_out,
                   repeated(q, backward.dg_out, m));
      both.compare("du quantized", got_back.du_out,
                   repeated(q, backward.du_out, m));
    }
  }
  return v;
}

/// Draws FP32 bits of a scale from every range that a kernel may distinguish.
std::uint32_t any_scale(bool is_power, counter_rng& rng) {
  constexpr std::uint32_t specials[] = {
      0,          0x80000000, 1,          0x00400000, 0x00800000, 0x3f800000,
      0xbc000000, 0x5f000000, 0x7f000000, 0x7f800000, 0xff800000, 0x7fffffff};
  if (rng.one_in(12)) return specials[rng.below(std::size(specials))];
  const int lowest = rng.one_in(8) ? 1 : 110,
            highest = rng.one_in(8) ? 254 : 116;
  const auto exponent =
      static_cast<std::uint32_t>(rng.between(lowest, highest));
  return exponent << 23 | (is_power ? 0 : rng.next32() & 0x7fffff);
}

std::uint32_t any_gradient(counter_rng& rng) {
  if (rng.one_in(4)) return rng.one_in(2) ? 0 : 0x8000;
  return rng.one_in(40) ? rng.next32() & 0xffff
                        : bf16_number(content::normal, rng);
}

/// A gradient too small or too large for the fast arithmetic.
std::uint32_t far_gradient(counter_rng& rng) {
  const auto exponent = static_cast<std::uint32_t>(
      rng.one_in(2) ? rng.between(1, 40) : rng.between(217, 254));
  return exponent << 7 | (rng.next32() & 0x807f);
}

/// Puts gates at which the slope of SiLU is about 0 into half of the groups,
/// one in each vec8. The scales make the gates as near to that point as FP32
/// allows, or up to two ulps lower. There the bounds of the slope may be
/// numbers that differ only in their signs.
void add_flat_gates(format f, quantized_words& g, counter_rng& rng) {
  constexpr float flat = -0x1.474974p+0f;
  for (std::ptrdiff_t r = 0; r < g.scales.view().rows; ++r) {
    for (std::ptrdiff_t c = 0; c < g.scales.view().cols; ++c) {
      if (rng.one_in(2)) continue;
      // Codes of the last three binades: smaller codes make the bounds wide.
      const auto binade = std::uint64_t{1} << f.man_bits;
      const auto code =
          static_cast<std::uint32_t>(f.max_code() - rng.below(3 * binade - 1));
      const float number = std::bit_cast<float>(as_fp32(f, code));
      g.scales.view()(r, c) = std::bit_cast<std::uint32_t>(-flat / number) +
                              static_cast<std::uint32_t>(rng.below(3));
      const std::ptrdiff_t end = std::min(g.codes.cols, (c + 1) * tile);
      for (std::ptrdiff_t j = c * tile; j < end; j += 8) {
        g.codes.view()(r, j + static_cast<std::ptrdiff_t>(rng.below(8))) =
            code | std::uint32_t{1} << (f.bits() - 1);
      }
    }
  }
}

/// Makes some gates -Inf, in formats that have it.
void add_infinities(format f, quantized_words& g, counter_rng& rng) {
  if (f == e4m3) return;
  const auto infinity = static_cast<std::uint32_t>(f.max_code() + 1) |
                        std::uint32_t{1} << (f.bits() - 1);
  for (auto& word : g.codes.words) {
    if (rng.one_in(50)) word = infinity;
  }
}

/// Caches that no quantizer need have made: any codes with any scales. The
/// gradients include zeros and any bits. In a third of the cases they include
/// numbers too small or too large for the fast arithmetic instead, and u has
/// larger scales.
verdict check_any_cache(const effort& e) {
  verdict v;
  const auto gpu = gpu_training(), cpu = engine_training();
  counter_rng rng(e.seed, 23);
  const auto rounds = cases(e, 60, 600);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    constexpr format formats[] = {e4m3, e5m2, e5m6};
    constexpr std::ptrdiff_t widths[] = {8, 136, 512, 520, 2184};
    const format cached = formats[i % 3];
    const bool is_power = rng.one_in(2);
    const auto kind = is_power ? scale_kind::pow2 : scale_kind::float32;
    const quantizer q{bf16, e4m3, zeroulp_convention, kind, {1, tile}};
    quantizer cache = q;
    cache.to = cached;
    const std::ptrdiff_t m = rng.between(1, 17), n = widths[rng.below(5)];
    quantized_words g(cache, m, n), u(cache, m, n);
    word_matrix dh(m, n);
    // In half of the cases nearly all codes are finite: else NaN is everywhere.
    const std::uint32_t one_in = rng.one_in(2) ? 1 : 200;
    const bool is_far = rng.one_in(3);
    const std::uint32_t far_one_in = rng.one_in(2) ? 2 : 100;
    const auto draw = [&](quantized_words& x, bool is_large) {
      for (std::ptrdiff_t r = 0; r < m; ++r) {
        for (std::ptrdiff_t c = 0; c < n; ++c) {
          const auto any = static_cast<std::uint32_t>(
              rng.below(std::uint64_t{1} << cached.bits()));
          const auto sign = std::uint32_t{1} << (cached.bits() - 1);
          const bool special = (any & ~sign) > cached.max_code();
          x.codes.view()(r, c) =
              special && !rng.one_in(one_in) ? any & sign : any;
        }
      }
      for (std::ptrdiff_t r = 0; r < x.scales.view().rows; ++r) {
        for (std::ptrdiff_t c = 0; c < x.scales.view().cols; ++c) {
          const bool as_power = is_power && !rng.one_in(50);
          const auto exponent =
              static_cast<std::uint32_t>(rng.between(127, 156));
          x.scales.view()(r, c) =
              is_large
                  ? exponent << 23 | (as_power ? 0 : rng.next32() & 0x7fffff)
                  : any_scale(as_power, rng);
        }
      }
    };
    draw(g, false), draw(u, is_far);
    if (!is_power && rng.one_in(2)) add_flat_gates(cached, g, rng);
    if (rng.one_in(3)) add_infinities(cached, g, rng);
    for (std::ptrdiff_t r = 0; r < m; ++r) {
      bool is_zero = false;  // this vec8 is all zeros
      for (std::ptrdiff_t c = 0; c < n; ++c) {
        if (c % 8 == 0) is_zero = rng.one_in(8);
        dh.view()(r, c) = is_zero   ? 0
                          : !is_far ? any_gradient(rng)
                          : rng.one_in(far_one_in)
                              ? far_gradient(rng)
                              : bf16_number(content::normal, rng);
      }
    }
    hold_backward(gpu, cpu,
                  std::string(name_of(cached)) + ", " +
                      std::string(name_of(kind)) + ", " + std::to_string(m) +
                      " x " + std::to_string(n),
                  {cache, q}, dh, g, u, v);
  }
  return v;
}

verdict check_rms_norm(const effort& e) {
  verdict v;
  const auto gpu = gpu_training(), cpu = engine_training();
  // Every possible number of whole steps of 1024 columns, and widths between.
  for_each_case(e, 22,
                {8, 136, 1024, 2040, 2048, 3072, 4088, 4096, 5120, 6144, 7168,
                 8184, 8192},
                [&](const whole_case& c, counter_rng& rng) {
                  const rms_layer layer{bf16, bf16, 0x358637bd, c.q};  // 1e-6
                  const word_matrix x = numbers(c.kind, c.m, c.n, rng);
                  const word_matrix w = numbers(content::normal, 1, c.n, rng);
                  const rms_result right(cpu, layer, x.view(), w.view());
                  const rms_result got(gpu, layer, x.view(), w.view());
                  both_results both(c.name, v);
                  both.compare("y", got.y, right.y);
                  both.compare("rstd", got.rstd, right.rstd);
                  both.compare("y quantized", got.out, right.out);
                });
  return v;
}

}  // namespace

check_list kernel_whole_checks() {
  return {
      device_check("kernel.whole.swiglu", "S2 S3 Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8",
                   "host", check_swiglu),
      device_check("kernel.whole.swiglu_of_any_cache", "S3 Q2 Q3 Q8", "host",
                   check_any_cache),
      device_check("kernel.whole.swiglu_of_many_rows", "S2 S3 Q2 Q3 Q8", "host",
                   check_many_rows),
      device_check("kernel.whole.rms_norm", "S4 S5 Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8",
                   "host", check_rms_norm)};
}

}  // namespace zeroulp::conformance::device
