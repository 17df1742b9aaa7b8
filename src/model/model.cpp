// The operators of model.hpp but attention: shapes are checked, rows are shared
// among threads.

#include "zeroulp/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/arrays/lines.hpp"
#include "src/base/threads.hpp"
#include "src/model/checks.hpp"
#include "src/model/rows.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::engine {
namespace {

/// Calls use(begin, end) for blocks of rows, each of so many elements, on all
/// cores.
template <class Use>
void for_row_blocks(std::ptrdiff_t rows, std::ptrdiff_t elements, Use use) {
  constexpr std::ptrdiff_t height = 16;
  for_tiles(
      rows, 1, height, 1,
      [&](std::ptrdiff_t i, std::ptrdiff_t, std::ptrdiff_t m, std::ptrdiff_t) {
        use(i, i + m);
      },
      training_work * static_cast<double>(elements));
}

/// Words that no sum begins with: what is read before it is written shows.
std::vector<std::uint32_t> room(std::ptrdiff_t m, std::ptrdiff_t n) {
  constexpr std::uint32_t unwritten = 0x7fa5a5a5;
  return std::vector<std::uint32_t>(static_cast<std::size_t>(m * n), unwritten);
}

void check_router(const router& r, std::ptrdiff_t experts, const char* what) {
  if (is_valid(r, experts)) return;
  throw input_error(fmt::format(
      "{}: {} experts in {} groups of which {} are kept, top {}: groups must "
      "be alike, and the kept ones hold the top",
      what, experts, r.groups, r.kept, r.top));
}

}  // namespace

void check_indices(matrix_view<const std::int32_t> x, std::ptrdiff_t least,
                   std::ptrdiff_t count, const char* what) {
  if (x.cols == 0) return;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      if (x(i, j) >= least && x(i, j) < count) continue;
      throw input_error(fmt::format("{} ({}, {}): {}, but {} to {} are there",
                                    what, i, j, x(i, j), least, count - 1));
    }
  }
}

void check_rows_of(std::ptrdiff_t v_rows, std::ptrdiff_t v_cols,
                   std::ptrdiff_t col_stride, std::ptrdiff_t rows,
                   std::ptrdiff_t cols, const char* what) {
  check_shape(v_rows, v_cols, rows, cols, what, "what it goes with needs");
  if (col_stride != 1 && cols > 1) {
    throw input_error(fmt::format(
        "{}: elements of a row are {} apart, not adjacent", what, col_stride));
  }
}

void log(matrix_view<const std::uint32_t> x, matrix_view<std::uint32_t> out) {
  check_rows_of(x, x.rows, x.cols, "log, x");
  check_rows_of(out, x.rows, x.cols, "log, output");
  for_lines(
      x.rows, x.cols, true,
      [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
        log_words(&x(i, j), &out(i, j), n);
      },
      training_work);
}

void rms_norm_backward(const rms_norm_gradients& t) {
  const std::ptrdiff_t m = t.x.rows;
  const std::ptrdiff_t n = t.x.cols;
  check_rows_of(t.x, m, n, "rms_norm_backward, x");
  check_rows_of(t.dy, m, n, "rms_norm_backward, dy");
  check_rows_of(t.w, 1, n, "rms_norm_backward, w");
  check_rows_of(t.rstd, m, 1, "rms_norm_backward, rstd");
  check_if_any(t.residual, m, n, "rms_norm_backward, residual");
  check_if_any(t.dx, m, n, "rms_norm_backward, dx");
  check_if_any(t.dw, 1, n, "rms_norm_backward, dw");
  if (t.dx.data != nullptr && n > 0) {
    for_row_blocks(m, n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      dx_rows(t, begin, end);
    });
  }
  if (t.dw.data == nullptr) return;
  for_tiles(
      1, n, 1, 64,
      [&](std::ptrdiff_t, std::ptrdiff_t j, std::ptrdiff_t,
          std::ptrdiff_t width) { dw_elements(t, j, j + width); },
      training_work * static_cast<double>(m));
}

void rope(const rope_rows& t) {
  const std::ptrdiff_t width = 2 * t.cosines.cols * t.heads;
  if (t.heads < 1) throw input_error("rope: no heads");
  check_rows_of(t.x, t.x.rows, width, "rope, x");
  check_rows_of(t.y, t.x.rows, width, "rope, y");
  check_rows_of(t.cosines, t.cosines.rows, t.cosines.cols, "rope, cosines");
  check_rows_of(t.sines, t.cosines.rows, t.cosines.cols, "rope, sines");
  if (t.x.rows > 0 && t.cosines.rows == 0) {
    throw input_error("rope, cosines: no positions");
  }
  if (width == 0) return;
  for_row_blocks(t.x.rows, width,
                 [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                   turned_rows(t, begin, end);
                 });
}

void route(const router& r, const routing& t) {
  const std::ptrdiff_t m = t.logits.rows;
  const std::ptrdiff_t n = t.logits.cols;
  check_router(r, n, "route");
  check_rows_of(t.logits, m, n, "route, logits");
  check_if_any(t.bias, 1, n, "route, bias");
  check_rows_of(t.scores, m, n, "route, scores");
  check_rows_of(t.experts, m, r.top, "route, experts");
  check_rows_of(t.weights, m, r.top, "route, weights");
  const std::ptrdiff_t each = n + r.groups;
  auto work = room(m, each);
  routing with_work = t;
  with_work.work = {work.data(), m, each};
  for_row_blocks(m, n * (2 + r.top),
                 [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                   routed_rows(r, with_work, begin, end);
                 });
}

void route_backward(const router& r, const routing_gradients& t) {
  const std::ptrdiff_t m = t.scores.rows;
  const std::ptrdiff_t n = t.scores.cols;
  check_router(r, n, "route_backward");
  check_rows_of(t.scores, m, n, "route_backward, scores");
  check_rows_of(t.experts, m, r.top, "route_backward, experts");
  check_rows_of(t.dweights, m, r.top, "route_backward, dweights");
  check_rows_of(t.dlogits, m, n, "route_backward, dlogits");
  check_indices(t.experts, 0, n, "route_backward, experts");
  for_row_blocks(m, n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    dlogits_rows(r, t, begin, end);
  });
}

void update_bias(matrix_view<const std::int32_t> experts, std::uint32_t speed,
                 matrix_view<std::uint32_t> bias) {
  const std::ptrdiff_t n = bias.cols;
  check_shape(bias, 1, n, "update_bias, bias", "a row of experts is");
  check_indices(experts, 0, n, "update_bias, experts");
  std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
  for (std::ptrdiff_t i = 0; i < experts.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < experts.cols; ++k) {
      ++counts[static_cast<std::size_t>(experts(i, k))];
    }
  }
  const std::int64_t slots = experts.rows * experts.cols;
  for (std::ptrdiff_t e = 0; e < n; ++e) {
    bias(0, e) = updated_bias(bias(0, e), speed,
                              counts[static_cast<std::size_t>(e)], n, slots);
  }
}

void balance_loss(const balance_rows& t) {
  const std::ptrdiff_t m = t.scores.rows;
  const std::ptrdiff_t n = t.scores.cols;
  if (t.length < 1 || m % t.length != 0) {
    throw input_error(
        fmt::format("balance_loss: {} tokens in sequences of {}: sequences are "
                    "whole, and have tokens",
                    m, t.length));
  }
  const std::ptrdiff_t sequences = m / t.length;
  check_rows_of(t.scores, m, n, "balance_loss, scores");
  check_rows_of(t.experts, m, t.experts.cols, "balance_loss, experts");
  check_shape(t.losses, sequences, 1, "balance_loss, losses",
              "the sequences need");
  check_if_any(t.dlogits, m, n, "balance_loss, dlogits");
  if (n < 1 || t.experts.cols < 1) {
    throw input_error("balance_loss: no experts, or none chosen");
  }
  check_indices(t.experts, 0, n, "balance_loss, experts");
  const std::ptrdiff_t each = 4 * n;
  auto work = room(sequences, each);
  balance_rows with_work = t;
  with_work.work = {work.data(), sequences, each};
  for_tiles(
      sequences, 1, 1, 1,
      [&](std::ptrdiff_t s, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t) {
        balanced_sequences(with_work, s, s + 1);
      },
      training_work * static_cast<double>(t.length * n));
}

void update_average(matrix_view<const std::uint32_t> weights,
                    std::uint32_t rate, matrix_view<std::uint32_t> average) {
  check_rows_of(average, average.rows, average.cols, "update_average, average");
  check_rows_of(weights, average.rows, average.cols, "update_average, weights");
  for_lines(
      average.rows, average.cols, true,
      [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
        average_words(&weights(i, j), rate, &average(i, j), n);
      },
      training_work);
}

void make_plan(const expert_plan& p) {
  const std::ptrdiff_t m = p.experts.rows;
  const std::ptrdiff_t top = p.experts.cols;
  const std::ptrdiff_t count = p.ends.rows - 1;
  if (p.align < 1 || p.align > 0x7fffffff || count < 0) {
    throw input_error(
        "make_plan: rows are aligned to 1 or more, and ends are "
        "one more than experts");
  }
  check_shape(p.ends, count + 1, 1, "make_plan, ends", "a column is");
  check_shape(p.slots, m, top, "make_plan, slots", "the experts are");
  check_indices(p.experts, 0, count, "make_plan, experts");
  const std::ptrdiff_t capacity = plan_capacity(m * top, count, p.align);
  if (p.rows.cols != 1 || p.rows.rows < capacity) {
    throw input_error(
        fmt::format("make_plan, rows: {} x {}, but {} x 1 hold "
                    "any choice",
                    p.rows.rows, p.rows.cols, capacity));
  }
  if (capacity > 0x7fffffff) {
    throw input_error("make_plan: more rows than 2^31 - 1");
  }
  zeroulp::make_plan(p);
}

void slot_backward(const slot_gradients& t) {
  const std::ptrdiff_t m = t.dy.rows;
  const std::ptrdiff_t n = t.dy.cols;
  const std::ptrdiff_t top = t.slots.cols;
  const bool rows = t.d_rows.data != nullptr;
  const bool weights = t.dweights.data != nullptr;
  check_rows_of(t.dy, m, n, "slot_backward, dy");
  check_shape(t.slots, m, top, "slot_backward, slots", "the tokens need");
  std::ptrdiff_t count = 0;
  if (rows) {
    count = t.d_rows.rows;
    check_rows_of(t.d_rows, count, n, "slot_backward, rows of gradients");
    check_shape(t.weights, m, top, "slot_backward, weights", "the slots are");
  }
  if (weights) {
    count = rows ? count : t.y.rows;
    check_rows_of(t.y, count, n, "slot_backward, y");
    check_shape(t.dweights, m, top, "slot_backward, gradients of weights",
                "the slots are");
  }
  if (!rows && !weights) return;
  check_indices(t.slots, -1, count, "slot_backward, slots");
  if (rows) {
    // A row of two slots would depend on the order of tokens.
    std::vector<bool> taken(static_cast<std::size_t>(count));
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      for (std::ptrdiff_t k = 0; k < top; ++k) {
        if (t.slots(i, k) < 0) continue;
        const auto row = static_cast<std::size_t>(t.slots(i, k));
        if (taken[row]) {
          throw input_error(fmt::format(
              "slot_backward, slots ({}, {}): row {} is another slot's, too", i,
              k, row));
        }
        taken[row] = true;
      }
    }
    for (std::ptrdiff_t r = 0; r < count; ++r) {
      if (!taken[static_cast<std::size_t>(r)]) {
        std::fill_n(t.d_rows.data + r * t.d_rows.row_stride, n,
                    std::uint16_t{0});
      }
    }
  }
  for_row_blocks(m, n * top, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    slot_rows(t, begin, end);
  });
}

void cross_entropy(const cross_entropy_rows& t) {
  const std::ptrdiff_t m = t.logits.rows;
  const std::ptrdiff_t n = t.logits.cols;
  check_rows_of(t.logits, m, n, "cross_entropy, logits");
  check_shape(t.targets, m, 1, "cross_entropy, targets", "the logits need");
  check_shape(t.losses, m, 1, "cross_entropy, losses", "the logits need");
  check_if_any(t.dlogits, m, n, "cross_entropy, dlogits");
  check_indices(t.targets, -1, n, "cross_entropy, targets");
  auto work = room(m, n);
  cross_entropy_rows with_work = t;
  with_work.work = {work.data(), m, n};
  for_row_blocks(m, n, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    loss_rows(with_work, begin, end);
  });
}

double sum_of_losses(matrix_view<const std::uint32_t> losses) {
  check_shape(losses, losses.rows, 1, "sum_of_losses", "a column is");
  return bit_cast<double>(
      core_fp64::bits(zeroulp::sum_of_losses<core_fp64>(losses)));
}

void add_shards(std::span<const matrix_view<const std::uint32_t>> shards,
                matrix_view<std::uint32_t> out) {
  const std::size_t count = shards.size();
  if (count == 0 || (count & (count - 1)) != 0) {
    throw input_error(
        fmt::format("add_shards: {} shards, not a power of two", count));
  }
  check_rows_of(out, out.rows, out.cols, "add_shards, output");
  for (const auto& shard : shards) {
    check_rows_of(shard, out.rows, out.cols, "add_shards, a shard");
  }
  for_lines(out.rows, out.cols, true,
            [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
              // Sums of 1, 2, 4, .. shards, as the bits of their number say.
              line_buffer sums[64];
              line_buffer sum;
              int level = 0;
              for (std::size_t s = 0; s < count; ++s) {
                std::copy_n(&shards[s](i, j), n, sum.word);
                level = 0;
                for (std::size_t rest = s; (rest & 1) != 0; rest >>= 1) {
                  sum_words(sums[level++].word, sum.word, sum.word, n);
                }
                std::copy_n(sum.word, n, sums[level].word);
              }
              std::copy_n(sums[level].word, n, &out(i, j));
            });
}

double sum_of_squares(matrix_view<const std::uint32_t> g) {
  check_rows_of(g, g.rows, g.cols, "sum_of_squares");
  const std::ptrdiff_t count = g.rows * g.cols;
  const std::ptrdiff_t chunks = ceil_div(count, norm_chunk);
  std::vector<double> sums(static_cast<std::size_t>(chunks));
  for_tiles(
      chunks, 1, 1, 1,
      [&](std::ptrdiff_t chunk, std::ptrdiff_t, std::ptrdiff_t,
          std::ptrdiff_t) {
        const std::ptrdiff_t first = chunk * norm_chunk;
        const std::ptrdiff_t n = std::min(norm_chunk, count - first);
        double& sum = sums[static_cast<std::size_t>(chunk)];
        if (g.row_stride == g.cols || g.rows == 1) {
          squares(g.data + first, n, sum);
          return;
        }
        std::vector<std::uint32_t> dense(static_cast<std::size_t>(n));
        for (std::ptrdiff_t j = 0; j < n; ++j) {
          dense[static_cast<std::size_t>(j)] =
              g((first + j) / g.cols, (first + j) % g.cols);
        }
        squares(dense.data(), n, sum);
      },
      line_work * static_cast<double>(norm_chunk));
  const float_mode mode(float_mode::nearest);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total == total ? total : bit_cast<double>(0x7fffffffffffffff);
}

}  // namespace zeroulp::engine
