// Makes the grid of identify_gemm for these operands.

#include "fuzz/identify/gemm_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

void check_codes(const operand_evidence& x) {
  if (x.f.bits() > 32) {
    throw input_error(fmt::format("{}: {} has more than 32 bits: use another",
                                  x.codes_name, name_of(x.f)));
  }
  for (const std::uint64_t code : x.codes.words) {
    if (code >> x.f.bits() == 0) continue;
    throw input_error(
        fmt::format("{}: a code is {:#x}: {} has {} bits; say which format "
                    "these codes have",
                    x.codes_name, code, name_of(x.f), x.f.bits()));
  }
}

/// The accumulators of all direct paths with an FP32 result, and the what-ifs.
std::vector<gemm_accumulator> all_accumulators() {
  std::vector<gemm_accumulator> all;
  const auto add = [&all](const std::string& name, const accumulator& acc) {
    const auto same = [&acc](const auto& a) { return a.value == acc; };
    if (std::any_of(all.begin(), all.end(), same)) return;
    all.push_back(
        {fmt::format("{} (L {}, F {})", name,
                     acc.length == 0 ? "all" : std::to_string(acc.length),
                     acc.fraction_bits == uncut
                         ? "exact"
                         : std::to_string(acc.fraction_bits)),
         acc});
  };
  for (const auto& family : path_families) {
    if (family.lowering == lowering::direct && family.acc.stored == fp32) {
      add(family.name, family.acc);
    }
  }
  for (int bits = 8; bits <= 34; ++bits) {
    add(fmt::format("whatif.f{}", bits), what_if_fraction(bits));
  }
  return all;
}

/// The intervals tried: none; `length` doubled again and again, below K; three
/// times those of 32 and more; and the usual 128. An interval that holds all of
/// K means the same as none.
std::vector<std::int32_t> intervals_of(int length, std::ptrdiff_t k) {
  constexpr std::int32_t usual = 128;
  std::vector<std::int32_t> all{0};
  if (length == 0) return all;
  for (std::int32_t i = length; i < k && i < (1 << 29); i *= 2) {
    all.push_back(i);
    if (i >= 32 && 3 * i < k) all.push_back(3 * i);
  }
  const bool is_new = std::find(all.begin(), all.end(), usual) == all.end();
  if (usual % length == 0 && is_new) all.push_back(usual);
  return all;
}

/// The sizes of groups along a dimension: all of it, the usual 128, and those
/// rare ones that are smaller than the dimension, or 1.
std::vector<std::int32_t> sizes_along(
    std::ptrdiff_t length, std::initializer_list<std::int32_t> rare) {
  std::vector<std::int32_t> sizes{0, 128};
  for (const std::int32_t size : rare) {
    if (size < length || size == 1) sizes.push_back(size);
  }
  return sizes;
}

/// Returns scales as FP32 bits: a row for each group of M or N, a column for
/// each group of K.
oracle::grid read_scales(const operand_evidence& x, const scale_place& place,
                         scale_shape shape) {
  oracle::grid read(shape.mn, shape.k);
  for (std::ptrdiff_t i = 0; i < shape.mn; ++i) {
    for (std::ptrdiff_t k = 0; k < shape.k; ++k) {
      const auto word = word_at(*x.scales, place, position_of(place, i, k));
      read(i, k) = x.words == scale_words::numbers
                       ? word
                       : static_cast<std::uint32_t>(recode(ue8m0, word, fp32));
    }
  }
  return read;
}

/// A note on a place, besides what its scales cover.
std::string note_of(const scale_place& place) {
  if (place.words == scale_words::packed || place.padded) return place.layout;
  return place.k_in_rows ? "transposed" : "";
}

/// Ways to read the scales of an operand.
std::vector<scale_cover> covers_of(const operand_evidence& x) {
  if (!x.scales) return {{per_tensor, {}, {}}};
  const layout_shape file{x.scales->rows, x.scales->cols};
  std::vector<scale_cover> found;
  // Powers of two along M and N, which gemm_blocks needs.
  for (const auto mn : sizes_along(x.codes.rows, {1, 2, 4, 8, 16, 32, 64})) {
    for (const auto k : sizes_along(
             x.codes.cols, {32, 64, 96, 192, 256, 384, 512, 768, 1024})) {
      const scale_shape shape{oracle::groups_along(x.codes.rows, mn),
                              oracle::groups_along(x.codes.cols, k)};
      // Shapes do not tell how much was padded: try only the usual groups.
      const bool usual = (mn == 1 || mn == 128) && (k == 32 || k == 128);
      for (const auto& place : places_of(x.words, file, shape)) {
        const bool by_fours = place.padded || x.words == scale_words::packed;
        if (by_fours && !usual) continue;
        found.push_back(
            {{mn, k}, note_of(place), read_scales(x, place, shape)});
      }
    }
  }
  if (found.empty()) {
    throw input_error(fmt::format(
        "{}: {} x {} scales for {} x {} codes: use a scale for each 1 to 128 "
        "rows (or all) and each 32 to 1024 elements of K (or all), in a layout "
        "of SPEC Q11 or its transpose",
        x.scales_name, file.rows, file.cols, x.codes.rows, x.codes.cols));
  }
  return found;
}

/// Adds the plans of one accumulator and interval to the chains that they use.
void add_plans(const gemm_evidence& e, std::size_t acc, std::int32_t interval,
               gemm_grid& grid, std::map<std::ptrdiff_t, gemm_chain>& chains) {
  const std::ptrdiff_t k = e.a.codes.cols;
  const auto at =
      std::find(grid.intervals.begin(), grid.intervals.end(), interval);
  const auto index = static_cast<std::size_t>(at - grid.intervals.begin());
  if (at == grid.intervals.end()) grid.intervals.push_back(interval);

  const bool scaled = e.a.scales || e.b.scales;
  const std::size_t updates = scaled ? std::size(grid_updates) : 1;
  const gemm_chain of_acc{acc, 0, {}};
  for (std::size_t u = 0; u < updates; ++u) {
    for (std::size_t i = 0; i < grid.a.size(); ++i) {
      for (std::size_t j = 0; j < grid.b.size(); ++j) {
        auto r = recipe_of(grid, of_acc, {index, {0}, u, i, j});
        if (!is_valid(r)) continue;
        std::map<std::ptrdiff_t, std::vector<std::size_t>, std::greater<>>
            by_span;  // the fewest splits first
        for (std::size_t s = 0; s < std::size(grid_splits); ++s) {
          r.splits = grid_splits[s];
          by_span[split_span(r, k)].push_back(s);
        }
        for (auto& [span, splits] : by_span) {
          const auto width =
              std::min<std::ptrdiff_t>(interval > 0 ? interval : span, k);
          gemm_chain& chain = chains[width];
          chain.acc = acc;
          chain.width = width;
          chain.plans.push_back({index, std::move(splits), u, i, j});
        }
      }
    }
  }
}

}  // namespace

recipe recipe_of(const gemm_grid& grid, const gemm_chain& c,
                 const gemm_plan& p) {
  return {grid.accumulators[c.acc].value,
          grid.intervals[p.interval],
          grid_updates[p.update],
          grid.a[p.a].covers,
          grid.b[p.b].covers,
          grid_splits[p.splits[0]],
          epilogue::store,
          fp32};
}

void check_gemm_shapes(const gemm_evidence& e) {
  const auto m = e.a.codes.rows;
  const auto n = e.b.codes.rows;
  if (e.a.codes.cols != e.b.codes.cols) {
    throw input_error(fmt::format(
        "{} is {} x {}, {} is {} x {}: A is m x k and B n x k, with the same k",
        e.a.codes_name, m, e.a.codes.cols, e.b.codes_name, n, e.b.codes.cols));
  }
  if (e.d.rows != m || e.d.cols != n) {
    throw input_error(fmt::format("{}: {} x {} results: A and B give {} x {}",
                                  e.d_name, e.d.rows, e.d.cols, m, n));
  }
  if (e.c && (e.c->rows != m || e.c->cols != n)) {
    throw input_error(fmt::format("{}: C is {} x {}: it must be {} x {}",
                                  e.c_name, e.c->rows, e.c->cols, m, n));
  }
  if (e.a.codes.words.empty() || e.b.codes.words.empty()) {
    throw input_error(
        fmt::format("{}: no products: there is nothing to "
                    "identify",
                    e.d_name));
  }
  check_codes(e.a);
  check_codes(e.b);
}

gemm_grid make_gemm_grid(const gemm_evidence& e) {
  check_gemm_shapes(e);
  gemm_grid grid{all_accumulators(), {}, covers_of(e.a), covers_of(e.b), {}};
  for (std::size_t acc = 0; acc < grid.accumulators.size(); ++acc) {
    std::map<std::ptrdiff_t, gemm_chain> chains;
    const int length = grid.accumulators[acc].value.length;
    for (const auto interval : intervals_of(length, e.a.codes.cols)) {
      add_plans(e, acc, interval, grid, chains);
    }
    for (auto& [width, chain] : chains) grid.chains.push_back(std::move(chain));
  }
  if (grid.chains.empty()) {
    throw input_error(fmt::format(
        "{}: no recipe can follow scales that change along K like this",
        e.a.scales_name));
  }
  return grid;
}

}  // namespace zeroulp::fuzz
