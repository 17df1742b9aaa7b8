// The partial sums of chains, shared by the plans that add them up.

#include "fuzz/identify/gemm_chains.hpp"

#include <algorithm>
#include <cmath>

namespace zeroulp::fuzz {
namespace {

/// acc = fl(acc + p), element by element.
void add(std::vector<float>& acc, const std::vector<float>& p) {
  for (std::size_t n = 0; n < acc.size(); ++n) acc[n] += p[n];
}

/// fl(sa * sb) of output number n of a block.
float scale_at_end(const gemm_definition& how, const output_block& at,
                   std::size_t n) {
  const auto flat = static_cast<std::ptrdiff_t>(n);
  const auto a =
      scales_of_row(scales_of(*how.a), how.r.a, at.row + flat / at.cols);
  const auto b =
      scales_of_row(scales_of(*how.b), how.r.b, at.col + flat % at.cols);
  return bit_cast<float>(a.at(0)) * bit_cast<float>(b.at(0));
}

}  // namespace

bool gemm_chains::serves(const gemm_definition& how,
                         std::ptrdiff_t width) const {
  constexpr std::ptrdiff_t narrow = 32;  // narrower parts are slow
  constexpr std::size_t most = 1 << 22;  // elements: bounds the memory
  const std::size_t elements =
      blocks_.a().codes.words.size() + blocks_.b().codes.words.size();
  return how.r.update == promotion::add &&
         !is_slow(blocks_.a().f, blocks_.b().f, how.r.acc) && width >= narrow &&
         elements <= most;
}

void gemm_chains::prepare(std::ptrdiff_t width) {
  const auto [at, is_new] = by_width_.try_emplace(width);
  if (!is_new) return;
  const std::ptrdiff_t k = blocks_.a().codes.cols;
  for (std::ptrdiff_t from = 0; from < k; from += width) {
    const auto count = std::min(width, k - from);
    at->second.a.push_back(prepared_rows(blocks_.a(), block_rows, from, count));
    at->second.b.push_back(prepared_rows(blocks_.b(), block_cols, from, count));
  }
}

std::vector<std::vector<float>> gemm_chains::partials(
    const accumulator& acc, std::ptrdiff_t width,
    const output_block& at) const {
  const recipe alone{acc,        0, promotion::add,  per_tensor,
                     per_tensor, 1, epilogue::store, fp32};
  const auto& cut = by_width_.at(width);
  std::vector<std::uint32_t> words(at.size());
  std::vector<std::vector<float>> all;
  for (std::size_t t = 0; t < cut.a.size(); ++t) {
    engine::gemm(alone, cut.a[t][static_cast<std::size_t>(at.row / block_rows)],
                 {}, cut.b[t][static_cast<std::size_t>(at.col / block_cols)],
                 {}, {}, {words.data(), at.rows, at.cols});
    all.emplace_back();
    for (const auto w : words) all.back().push_back(bit_cast<float>(w));
  }
  return all;
}

std::vector<std::uint32_t> gemm_chains::sums(
    const gemm_definition& how, std::ptrdiff_t width, const output_block& at,
    const std::vector<std::vector<float>>& partials) const {
  const std::ptrdiff_t k = blocks_.a().codes.cols;
  const auto in_range =
      static_cast<std::size_t>(ceil_div(split_span(how.r, k), width));
  std::vector<float> total;
  for (std::size_t begin = 0; begin < partials.size(); begin += in_range) {
    auto acc = partials[begin];
    const auto end = std::min(begin + in_range, partials.size());
    for (std::size_t t = begin + 1; t < end; ++t) add(acc, partials[t]);
    begin == 0 ? total.swap(acc) : add(total, acc);
  }
  const bool scaled = blocks_.a().scales || blocks_.b().scales;
  std::vector<std::uint32_t> words;
  for (std::size_t n = 0; n < total.size(); ++n) {
    if (scaled) {
      total[n] = std::fma(total[n], scale_at_end(how, at, n), 0.0f);
    }
    words.push_back(total[n] != total[n] ? fp32_nan
                                         : bit_cast<std::uint32_t>(total[n]));
  }
  return words;
}

}  // namespace zeroulp::fuzz
