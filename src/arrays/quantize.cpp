// engine::quantize and group_amaxes. Small groups are done a tile of them at a
// time, so that a tile is read twice from the cache; groups larger than that
// one after the other, each on all cores.

#include <vector>

#include "src/arrays/lines.hpp"
#include "src/arrays/scale.hpp"

namespace zeroulp::engine {
namespace {

/// What is asked for; views without data are not.
struct request {
  quantizer q;
  const_code_view x;
  matrix_view<const std::uint32_t> given;  ///< amaxes of the past, or scales
  bool by_scale;
  code_view codes;
  matrix_view<std::uint32_t> scales;
  matrix_view<std::uint32_t> amaxes;
};

/// Elements from (i, j) on, m x n, whose groups start there and are `width`
/// wide and at least m high.
struct tile {
  std::ptrdiff_t i, j, m, n, width;

  /// Calls use(j0, n) for the lines' columns. Only a tile of one group is
  /// wider than a line.
  template <class Use>
  void for_columns(Use use) const {
    for (std::ptrdiff_t k = 0; k < n; k += line) {
      use(j + k, std::min(line, n - k));
    }
  }
  /// Calls use(g, j0, n) for the groups' parts in the columns [from, from + c).
  template <class Use>
  void for_groups(std::ptrdiff_t from, std::ptrdiff_t c, Use use) const {
    for (std::ptrdiff_t k = from; k < from + c;) {
      const std::ptrdiff_t g = (k - j) / width;
      const std::ptrdiff_t end =
          std::min({j + (g + 1) * width, j + n, from + c});
      use(g, k, end - k);
      k = end;
    }
  }
};

class group_quantizer {
 public:
  explicit group_quantizer(const request& r)
      : r_(r),
        numbers_(r.q.from, r.x),
        codes_(r.q.to, rounding::nearest_even, r.q.how.conversion, r.codes),
        scaling_(scaling_of(r.q.how.element)),
        max_(max_as_fp32(r.q.to)) {}

  /// Adds the tile to the amaxes of its groups.
  void find_amaxes(const tile& t, std::uint32_t* amax) const {
    const convention& how = r_.q.how;
    t.for_columns([&](std::ptrdiff_t j, std::ptrdiff_t n) {
      line_buffer buffer;
      line_buffer folded;
      std::fill_n(folded.word, n, 0u);
      for (std::ptrdiff_t i = t.i; i < t.i + t.m; ++i) {
        fold_line(how.amax, how.bf16_amax, numbers_.read(i, j, n, buffer),
                  folded.word, static_cast<std::size_t>(n));
      }
      t.for_groups(
          j, n, [&](std::ptrdiff_t g, std::ptrdiff_t from, std::ptrdiff_t c) {
            const auto found = largest_of(folded.word + (from - j),
                                          static_cast<std::size_t>(c));
            amax[g] = std::max(amax[g], found);
          });
    });
  }

  /// Stores what is asked for of the group (gi, gj). What is given stands in
  /// place of its amax.
  group_scale finish(std::ptrdiff_t gi, std::ptrdiff_t gj,
                     std::uint32_t amax) const {
    if (r_.by_scale) return given_scale(r_.given(gi, gj));
    if (r_.given.data != nullptr) amax = r_.given(gi, gj);
    if (r_.amaxes.data != nullptr) r_.amaxes(gi, gj) = amax;
    if (r_.scales.data == nullptr) return {};
    const group_scale s = scale_of(r_.q, max_, amax);
    r_.scales(gi, gj) = s.scale;
    return s;
  }

  void write_codes(const tile& t, const group_scale* scales) const {
    t.for_columns([&](std::ptrdiff_t j, std::ptrdiff_t n) {
      line_buffer operands;
      bool any_by_core = false;
      t.for_groups(
          j, n, [&](std::ptrdiff_t g, std::ptrdiff_t from, std::ptrdiff_t c) {
            const group_plan p = plan_of(r_.q, scales[g]);
            any_by_core = any_by_core || p.by_core;
            std::fill_n(operands.word + (from - j), c, p.operand);
          });
      for (std::ptrdiff_t i = t.i; i < t.i + t.m; ++i) {
        line_buffer buffer;
        line_buffer scaled;
        const std::uint32_t* x = numbers_.read(i, j, n, buffer);
        scale_line(scaling_, x, operands.word, scaled.word,
                   static_cast<std::size_t>(n));
        codes_.write(scaled.word, nullptr, i, j, n);
        if (!any_by_core) continue;
        t.for_groups(
            j, n, [&](std::ptrdiff_t g, std::ptrdiff_t from, std::ptrdiff_t c) {
              if (!plan_of(r_.q, scales[g]).by_core) return;
              for (std::ptrdiff_t k = from; k < from + c; ++k) {
                const auto code = static_cast<std::uint32_t>(
                    quantize_element(r_.q, scales[g], x[k - j]));
                scatter(&code, r_.codes, i, k, 1);
              }
            });
      }
    });
  }

  /// Does the groups of a tile; at most `line` of them.
  void run(const tile& t, std::ptrdiff_t gi, std::ptrdiff_t gj) const {
    const std::ptrdiff_t groups = ceil_div(t.n, t.width);
    std::uint32_t amax[line];
    group_scale scales[line];
    std::fill_n(amax, groups, 0u);
    if (r_.given.data == nullptr) find_amaxes(t, amax);
    for (std::ptrdiff_t g = 0; g < groups; ++g) {
      scales[g] = finish(gi, gj + g, amax[g]);
    }
    if (r_.codes.data != nullptr) write_codes(t, scales);
  }

  /// Does one large group, m x n from (i, j) on.
  void run_large(std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                 std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) const {
    const std::ptrdiff_t height = n < line ? (16 * line) / n : 16;
    const auto for_parts = [&](auto use) {
      for_tiles(m, n, height, line,
                [&](std::ptrdiff_t pi, std::ptrdiff_t pj, std::ptrdiff_t pm,
                    std::ptrdiff_t pn) {
                  const std::ptrdiff_t part =
                      pi / height * ceil_div(n, line) + pj / line;
                  use(part, tile{i + pi, j + pj, pm, pn, pn});
                });
    };
    std::uint32_t amax = 0;
    if (r_.given.data == nullptr) {
      std::vector<std::uint32_t> parts(
          static_cast<std::size_t>(ceil_div(m, height) * ceil_div(n, line)));
      for_parts([&](std::ptrdiff_t part, const tile& t) {
        find_amaxes(t, &parts[static_cast<std::size_t>(part)]);
      });
      amax = largest_of(parts.data(), parts.size());
    }
    const group_scale s = finish(gi, gj, amax);
    if (r_.codes.data == nullptr) return;
    for_parts([&](std::ptrdiff_t, const tile& t) { write_codes(t, &s); });
  }

 private:
  request r_;
  number_reader numbers_;
  code_writer codes_;
  scaling scaling_;
  std::uint32_t max_;
};

void run(const request& r) {
  const std::ptrdiff_t rows = r.x.rows;
  const std::ptrdiff_t cols = r.x.cols;
  if (rows == 0 || cols == 0) return;
  const group_quantizer job(r);
  const std::ptrdiff_t h = std::min(r.q.group.height(rows), rows);
  const std::ptrdiff_t w = std::min(r.q.group.width(cols), cols);
  if (h > (1 << 20) / w) {
    for (std::ptrdiff_t i = 0; i < rows; i += h) {
      for (std::ptrdiff_t j = 0; j < cols; j += w) {
        job.run_large(i / h, j / w, i, j, std::min(h, rows - i),
                      std::min(w, cols - j));
      }
    }
    return;
  }
  // A tile is part of L2, but takes whole cache lines of each row.
  const std::ptrdiff_t width =
      std::clamp<std::ptrdiff_t>((std::ptrdiff_t{1} << 15) / h, 64, line);
  const std::ptrdiff_t tile_width = std::max(w, width / w * w);
  for_tiles(rows, cols, h, tile_width,
            [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t m,
                std::ptrdiff_t n) {
              job.run({i, j, m, n, w}, i / h, j / w);
            });
}

void check_and_run(request r) {
  check_width(r.q.from, r.x, "quantize, input");
  if (by_reference()) {
    return reference::quantize(r.q, r.x, r.given, r.by_scale, r.codes, r.scales,
                               r.amaxes);
  }
  const float_mode nearest(float_mode::nearest);
  if (runs_down(r.x)) {
    r.q.group = {r.q.group.cols, r.q.group.rows};
    r.x = transposed(r.x);
    r.given = r.given.transposed();
    r.codes = transposed(r.codes);
    r.scales = r.scales.transposed();
    r.amaxes = r.amaxes.transposed();
  }
  run(r);
}

template <class View>
void check_groups(const quantizer& q, const const_code_view& x, const View& v,
                  const char* what) {
  check_shape(v, ceil_div(x.rows, q.group.height(x.rows)),
              ceil_div(x.cols, q.group.width(x.cols)), what, "the groups are");
}

void check_codes(const quantizer& q, const const_code_view& x,
                 const code_view& codes) {
  check_width(q.to, codes, "quantize, codes");
  check_shape(codes, x.rows, x.cols, "quantize, codes", "the input is");
}

void check_outputs(const quantizer& q, const const_code_view& x,
                   const code_view& codes,
                   const matrix_view<std::uint32_t>& scales) {
  check_codes(q, x, codes);
  check_groups(q, x, scales, "quantize, scales");
}

}  // namespace

void quantize(const quantizer& q, const_code_view x, code_view codes,
              matrix_view<std::uint32_t> scales) {
  check_outputs(q, x, codes, scales);
  check_and_run({q, x, {}, false, codes, scales, {}});
}

void quantize(const quantizer& q, const_code_view x,
              matrix_view<const std::uint32_t> amax, code_view codes,
              matrix_view<std::uint32_t> scales) {
  check_outputs(q, x, codes, scales);
  check_groups(q, x, amax, "quantize, amax");
  check_and_run({q, x, amax, false, codes, scales, {}});
}

void quantize_by_scale(const quantizer& q, const_code_view x,
                       matrix_view<const std::uint32_t> scales,
                       code_view codes) {
  check_codes(q, x, codes);
  check_groups(q, x, scales, "quantize, scales");
  check_and_run({q, x, scales, true, codes, {}, {}});
}

void group_amaxes(const quantizer& q, const_code_view x,
                  matrix_view<std::uint32_t> amax) {
  check_groups(q, x, amax, "amax");
  check_and_run({q, x, {}, false, {}, {}, amax});
}

}  // namespace zeroulp::engine
