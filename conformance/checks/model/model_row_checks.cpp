// Holds what is done to rows against the oracle: gradients of RMSNorm, rope,
// cross entropy; and sums of losses, shards and squares.

#include <fmt/format.h>

#include <memory>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::conformance {
namespace {

// Partial sums begin every 8 elements, and again every 2048; ranges of tokens
// every 256.
constexpr int widths[] = {1,    2,    7,    8,    9,    255,   256,  2047,
                          2048, 2049, 4096, 8193, 8200, 16393, 16400};
constexpr int token_counts[] = {0, 1, 255, 256, 257, 513};

struct row_shape {
  int tokens;
  int width;
};

/// Shapes of few elements, every width and token count in turn.
row_shape shape_number(std::uint64_t n, counter_rng& rng) {
  constexpr std::size_t count = std::size(widths) + std::size(token_counts);
  const std::size_t at = n % count;
  if (at < std::size(widths)) return {rng.between(1, 2), widths[at]};
  return {token_counts[at - std::size(widths)], rng.between(1, 9)};
}

grid positive(grid x) {
  for (auto& word : x.words) word &= 0x7fffffff;
  return x;
}

/// A matrix of targets; -1 at times.
grid any_targets(std::ptrdiff_t m, int n, counter_rng& rng) {
  grid targets(m, 1);
  for (auto& word : targets.words) {
    word =
        static_cast<std::uint32_t>(rng.one_in(5) ? -1 : rng.between(0, n - 1));
  }
  return targets;
}

/// Rows for RMSNorm's backward pass. At times the gradient is along x and rstd
/// is that of x: dx is what rounding leaves of a difference, to its last bit.
oracle::norm_inputs any_norm_inputs(int m, int n, bool residual,
                                    counter_rng& rng) {
  oracle::norm_inputs t{
      any_numbers(bf16, m, n, rng), any_numbers(bf16, m, n, rng),
      any_numbers(fp32, 1, n, rng), positive(any_numbers(fp32, m, 1, rng)),
      residual ? any_numbers(bf16, m, n, rng) : grid{}};
  if (rng.one_in(6)) {
    // Products that vanish: every partial sum is -0, which a zero more changes.
    t.dy = grid(m, n, 0x8d80), t.x = grid(m, n, 0x0d80);  // 2^-100
    t.w = grid(1, n, fp32_one), t.rstd = grid(m, 1, fp32_one);
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      t.dy(i, n / 2) = 0x8000, t.x(i, n / 2) = 0x3f80;
    }
    return t;
  }
  if (!rng.one_in(3)) return t;
  t.x = t.dy = bell_shaped(bf16, m, n, 0, rng);
  t.w = grid(1, n, any_factor(rng));
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    std::vector<float> row;
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      row.push_back(oracle::number_of(bf16, t.x(i, j)));
    }
    t.rstd(i, 0) = oracle::to_bits(oracle::rms_factor(row, 0));
  }
  return t;
}

/// Makes most targets the largest of their row by so much that their gradient
/// is what rounding leaves of u / S - 1.
void raise_targets(grid& logits, const grid& targets, counter_rng& rng) {
  for (std::ptrdiff_t i = 0; i < logits.rows; ++i) {
    const auto y = static_cast<std::int32_t>(targets(i, 0));
    if (y < 0 || rng.one_in(4)) continue;
    logits(i, y) = code_near(fp32, rng.between(4, 24));
  }
}

/// A factor by which the share of one element, u / S, comes close to halfway
/// between two BF16 numbers.
std::uint32_t hard_factor(const grid& logits, counter_rng& rng) {
  std::vector<float> z, u;
  for (std::ptrdiff_t j = 0; j < logits.cols; ++j) {
    z.push_back(oracle::to_float(logits(0, j)));
  }
  const float m = oracle::largest_of(z);
  for (const float x : z) {
    u.push_back(oracle::to_float(oracle::exponential(oracle::to_bits(x - m))));
  }
  const auto count = static_cast<std::uint32_t>(u.size());
  const float share = u[rng.below(count)] * (1 / oracle::row_sum(u));
  const auto middle = static_cast<float>(2 * rng.below(128) + 257);
  return oracle::to_bits(middle / share);
}

/// Logits: large ones too, equal ones, and any.
grid any_logits(std::ptrdiff_t m, std::ptrdiff_t n, counter_rng& rng) {
  switch (rng.below(5)) {
    case 0:
      return bell_shaped(fp32, m, n, 4, rng);
    case 1: {
      grid x(m, n);
      for (auto& word : x.words) word = rng.below(2) << 31 | rng.below(2) << 30;
      return x;
    }
    case 2:
      return grid(m, n, rng.next32() & 0xbfffffff);
    default:
      return any_numbers(fp32, m, n, rng);
  }
}

}  // namespace

verdict norm_gradients(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 48, [&](counter_rng& rng, auto c, verdict& v) {
    // Once more ranges of tokens than a kernel's dx is behind dw.
    const bool is_large = t.name == "gpu" && c == 40;
    const auto [m, n] = is_large ? row_shape{257, 16400} : shape_number(c, rng);
    const bool residual = rng.one_in(2);
    const bool dx = !rng.one_in(4) || is_large;
    const bool dw = !dx || !rng.one_in(4) || is_large;
    const auto inputs = any_norm_inputs(m, n, residual, rng);
    const auto want = oracle::norm_backward(inputs);
    bf16_rows dy(inputs.dy, rng), x(inputs.x, rng), q(inputs.residual, rng);
    word_rows w(inputs.w, rng), rstd(inputs.rstd, rng);
    bf16_rows to_dx(m, n, rng);
    word_rows to_dw(1, n, rng);
    rms_norm_gradients g{dy.input(), x.input(), w.input(), rstd.input(),
                         {},         {},        {}};
    if (residual) g.residual = q.input();
    if (dx) g.dx = to_dx.view();
    if (dw) g.dw = to_dw.view();
    t.rms_norm_backward(g);
    const auto describe = [&, rows = m, cols = n] {
      return fmt::format("{}: rms_norm_backward of {} x {}{}", t.name, rows,
                         cols, residual ? " with a residual" : "");
    };
    if (dx) count_output(v, to_dx, want.dx, "dx ", describe);
    if (dw) count_output(v, to_dw, want.dw, "dw ", describe);
  });
}

verdict rope_of_rows(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 60, [&](counter_rng& rng, auto, verdict& v) {
    static constexpr int row_widths[] = {2, 4, 6, 16, 64, 128};
    const int n = row_widths[rng.below(std::size(row_widths))];
    const bool many = rng.one_in(10);
    const int heads = many ? rng.between(17, 40) : rng.between(1, 3);
    const int positions = many ? 1 : rng.between(1, 9);
    const int m = positions * rng.between(1, 3);
    oracle::rope_inputs inputs{
        rng.one_in(2) ? rope_pairs::adjacent : rope_pairs::halves,
        rng.one_in(2),
        heads,
        any_numbers(bf16, m, heads * n, rng),
        any_numbers(fp32, positions, n / 2, rng),
        any_numbers(fp32, positions, n / 2, rng)};
    if (!rng.one_in(3)) {
      for (std::ptrdiff_t p = 0; p < positions; ++p) {
        for (std::ptrdiff_t i = 0; i < n / 2; ++i) {
          const auto turn = oracle::turn(1.0 / static_cast<double>(1 + i), p);
          inputs.cosines(p, i) = turn.cosine;
          inputs.sines(p, i) = turn.sine;
        }
      }
    }
    if (rng.one_in(4)) {
      // Both products of an element are one: what is left is its rounding.
      inputs.sines = inputs.cosines;
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        for (std::ptrdiff_t j = 0; j < heads * n; ++j) {
          inputs.x(i, j) = inputs.x(i, 0);
        }
      }
    }
    const bool in_place = rng.one_in(2);
    bf16_rows x(inputs.x, rng), y(inputs.x, rng);
    word_rows cosines(inputs.cosines, rng), sines(inputs.sines, rng);
    t.rope({inputs.pairs, inputs.backward, heads,
            in_place ? y.input() : x.input(), cosines.input(), sines.input(),
            y.view()});
    count_output(v, y, oracle::turned(inputs), "", [&] {
      return fmt::format(
          "{}: rope {} of {} x {} heads of {}, {} positions{}{}", t.name,
          inputs.pairs == rope_pairs::adjacent ? "adjacent" : "halves", m,
          heads, n, positions, inputs.backward ? ", backward" : "",
          in_place ? ", in place" : "");
    });
  });
}

verdict cross_entropy_of_rows(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 50, [&](counter_rng& rng, auto c, verdict& v) {
    const int n = widths[c % std::size(widths)];
    const int m = n < 100 ? rng.between(1, 9) : rng.between(1, 2);
    grid logits = any_logits(m, n, rng);
    const grid targets = any_targets(m, n, rng);
    if (rng.one_in(2)) raise_targets(logits, targets, rng);
    const std::uint32_t factor = rng.one_in(4)   ? 0x39000000  // 2^-13
                                 : rng.one_in(2) ? any_factor(rng)
                                                 : hard_factor(logits, rng);
    const auto want = oracle::cross_entropy(logits, targets, factor);
    const bool gradients = !rng.one_in(4);
    word_rows z(logits, rng), losses(m, 1, rng), work(m, n, rng);
    index_rows y(targets, rng);
    bf16_rows dz(m, n, rng);
    cross_entropy_rows rows{z.input(),     y.input(), factor,
                            losses.view(), {},        work.view()};
    if (gradients) rows.dlogits = dz.view();
    t.cross_entropy(rows);
    const auto describe = [&] {
      return fmt::format("{}: cross_entropy of {} x {}", t.name, m, n);
    };
    count_output(v, losses, want.losses, "loss ", describe);
    if (gradients) count_output(v, dz, want.dlogits, "dlogits ", describe);
  });
}

verdict sums_of_losses(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 28, [&](counter_rng& rng, auto c, verdict& v) {
    static constexpr int counts[] = {0, 1, 1023, 1024, 1025, 2049, 3000};
    const int m = counts[c % std::size(counts)];
    grid losses = any_numbers(fp32, m, 1, rng);
    // Numbers of 48 binary orders: no FP64 sum of many is exact.
    for (auto& word : losses.words) {
      if (c % 2 == 0) break;
      word = (rng.next32() & 0x807fffff) |
             static_cast<std::uint32_t>(rng.between(103, 150)) << 23;
    }
    // Nothing but zeros, or what is no number.
    if (c % 4 == 0) {
      for (auto& word : losses.words) word = rng.below(2) << 31;
    }
    if (c % 8 >= 6 && m > 0) {
      static constexpr std::uint32_t specials[] = {0x7f800000, 0xff800000,
                                                   0x7fffffff, 0x7f7fffff};
      losses(rng.between(0, m - 1), 0) = specials[rng.below(4)];
    }
    word_rows rows(losses, rng);
    const auto got = bit_cast<std::uint64_t>(t.sum_of_losses(rows.input()));
    const auto want = bits_of_double(oracle::loss_sum(losses));
    v.compare(got, want, [&] {
      return fmt::format("{}: sum of {} losses is {:016x}, not {:016x}", t.name,
                         m, got, want);
    });
  });
}

verdict sums_of_shards(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 40, [&](counter_rng& rng, auto, verdict& v) {
    const int count = 1 << rng.between(0, 3);
    const int m = rng.between(1, 5);
    // Lines are of 1024.
    const int n = rng.one_in(8) ? rng.between(1023, 1030) : rng.between(1, 70);
    std::vector<grid> shards;
    std::vector<std::unique_ptr<word_rows>> buffers;
    std::vector<codes_in> views;
    for (int i = 0; i < count; ++i) {
      shards.push_back(any_numbers(fp32, m, n, rng));
      buffers.push_back(std::make_unique<word_rows>(shards.back(), rng));
      views.push_back(buffers.back()->input());
    }
    const int into = rng.between(-1, count - 1);
    word_rows apart(m, n, rng);
    word_rows& out =
        into < 0 ? apart : *buffers[static_cast<std::size_t>(into)];
    t.add_shards(views, out.view());
    count_output(v, out, oracle::shard_sum(shards), "", [&] {
      return fmt::format("{}: {} shards of {} x {}, into number {}", t.name,
                         count, m, n, into);
    });
  });
}

verdict sums_of_squares(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 18, [&](counter_rng& rng, auto c, verdict& v) {
    // 65535 is 255 x 257, 65537 is prime, 200000 in rows across chunks.
    static constexpr row_shape shapes[] = {{1, 1},      {255, 257}, {256, 256},
                                           {1, 65537},  {65537, 1}, {3, 100},
                                           {100, 2000}, {2, 100},   {2, 40000}};
    const auto [m, n] = shapes[c % std::size(shapes)];
    const grid g = any_numbers(fp32, m, n, rng);
    word_rows rows(g, rng);
    const auto got = bit_cast<std::uint64_t>(t.sum_of_squares(rows.input()));
    const auto want = bits_of_double(oracle::square_sum(g));
    v.compare(got, want, [&, rows = m, cols = n] {
      return fmt::format(
          "{}: sum of squares of {} x {} is {:016x}, not "
          "{:016x}",
          t.name, rows, cols, got, want);
    });
  });
}

verdict averages_of_weights(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 60, [&](counter_rng& rng, auto, verdict& v) {
    const int m = rng.between(0, 3);
    const int n = rng.between(0, 300);
    const grid average = any_numbers(fp32, m, n, rng);
    // At times a weight is its average.
    grid weights = any_numbers(fp32, m, n, rng);
    for (std::size_t i = 0; i < weights.words.size(); ++i) {
      if (rng.one_in(8)) weights.words[i] = average.words[i];
    }
    const std::uint32_t rate = rng.one_in(3) ? 0x3a83126f : any_factor(rng);
    const word_rows in(weights, rng);
    word_rows out(average, rng);
    t.update_average(in.input(), rate, out.view());
    count_output(
        v, out, oracle::averaged(average, weights, rate), "average ", [&] {
          return fmt::format("{}: update_average of {} x {}", t.name, m, n);
        });
  });
}

}  // namespace zeroulp::conformance
