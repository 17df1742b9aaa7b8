#include "tools/zeroulp/bench/gpu/gemm_sets.hpp"

#include <algorithm>

namespace zeroulp::program {
namespace {

using conformance::peers::cublaslt_operands;
using conformance::peers::cublaslt_scales;
using cuda::gemm_groups;

std::ptrdiff_t padded(std::ptrdiff_t n) { return ceil_div(n, 4) * 4; }

bool has_rows(const gemm_size& s) {
  return s.groups == gemm_groups::m_contiguous ||
         s.groups == gemm_groups::m_masked;
}
std::ptrdiff_t b_rows(const gemm_size& s, bool grouped) {
  return grouped && has_rows(s) ? s.count * s.n : s.n;
}

/// What the groups' table says: all groups are as large.
std::vector<std::int32_t> table_of(const gemm_size& s) {
  std::vector<std::int32_t> all;
  const bool by_k = s.groups == gemm_groups::k_contiguous;
  const std::ptrdiff_t each = (by_k ? s.k : s.m) / s.count;
  for (std::ptrdiff_t g = 0; g <= s.count; ++g) {
    const bool sizes = s.groups == gemm_groups::m_masked;
    all.push_back(static_cast<std::int32_t>(sizes ? each : g * each));
  }
  return all;
}

}  // namespace

std::vector<gpu_operand> gemm_sets::operands_of(const gemm_row& row) {
  const auto& s = row.size;
  const std::ptrdiff_t bn = b_rows(s, true);
  const std::ptrdiff_t copies =
      s.groups == gemm_groups::k_contiguous ? s.count : 1;
  const bool halves =
      std::any_of(row.contestants.begin(), row.contestants.end(),
                  [](const auto& c) { return c.halves; });
  const std::ptrdiff_t k16 = halves ? s.k : 0;
  const std::ptrdiff_t k8 = row.element == bf16 ? 0 : s.k;
  const std::ptrdiff_t groups = ceil_div(k8, 128);
  const auto half = [&](std::ptrdiff_t rows) {
    return row.across ? shape{k16, rows} : shape{rows, k16};
  };
  constexpr auto read = gpu_use::read;
  constexpr auto scales = gpu_fill::scales;
  return {
      {"A", read, e4m3, {s.m, k8}},
      {"B", read, e4m3, {bn, k8}},
      {"scales of A", read, fp32, {groups, padded(s.m)}, scales},
      {"scales of B", read, fp32, {ceil_div(bn, 128), padded(groups)}, scales},
      {"scales of B", read, fp32, {groups, padded(bn)}, scales},
      {"A in BF16", read, bf16, half(s.m)},
      {"B in BF16", read, bf16, half(bn)},
      {"D",
       row.adds ? gpu_use::update : gpu_use::write,
       row.output,
       {copies * s.m, s.n}}};
}

gemm_sets::gemm_sets(gpu_lab& lab, const gemm_row& row)
    : size_(row.size),
      operands_(operands_of(row)),
      layout_(operands_),
      table_(table_of(row.size).size() * sizeof(std::int32_t)),
      element_(row.element),
      across_(row.across) {
  const bool halves = element_ == bf16;
  const std::size_t used = operands_[halves ? a16 : a8].bytes() +
                           operands_[halves ? b16 : b8].bytes() +
                           operands_[result].bytes();
  sets_ = lab.maker.make(operands_, layout_, 2 * lab.l2_bytes / used + 2,
                         lab.stream);
  const auto table = table_of(size_);
  require_cuda(cudaMemcpyAsync(table_.data(), table.data(),
                               table.size() * sizeof(std::int32_t),
                               cudaMemcpyHostToDevice, lab.stream));
  require_cuda(cudaStreamSynchronize(lab.stream));
  if (!across_) return;
  turn(lab, a16);
  turn(lab, b16);
}

void gemm_sets::turn(gpu_lab& lab, form f) {
  const auto& o = operands_[f];
  // Weights have scales, which nobody reads here.
  const shape groups{ceil_div(o.is.m, 128), ceil_div(o.is.n, 128)};
  const auto bytes = static_cast<std::size_t>(groups.count()) * 4;
  const device_memory scales(bytes), turned_scales(bytes);
  const auto words_at = [](const device_memory& x) {
    return reinterpret_cast<std::uint32_t*>(x.data());
  };
  device_memory to(o.bytes());
  cuda::transpose(
      bf16, {at(0, f), o.is.m, o.is.n}, {words_at(scales), groups.n},
      {{to.data(), o.is.n, o.is.m}, {words_at(turned_scales), groups.m}},
      lab.stream);
  require_cuda(cudaStreamSynchronize(lab.stream));
  turned_.emplace(f, std::move(to));
}

cuda::gemm_partition gemm_sets::partition(bool grouped) const {
  if (!grouped) return {};
  return {size_.groups, size_.count,
          reinterpret_cast<const std::int32_t*>(table_.data())};
}

std::vector<gemm_band> gemm_sets::groups(bool grouped) const {
  const auto& s = size_;
  if (!grouped) return {{0, 0, 0, s.m, 0, s.k}};
  std::vector<gemm_band> all;
  for (std::ptrdiff_t g = 0; g < s.count; ++g) {
    const std::ptrdiff_t row = g * (s.m / s.count), k = s.k / s.count;
    if (has_rows(s)) {
      all.push_back({row, row, g * s.n, s.m / s.count, 0, s.k});
    } else {
      all.push_back({g * s.m, 0, 0, s.m, g * k, (g + 1) * k});
    }
  }
  return all;
}

cuda::operand gemm_sets::a(std::size_t set, const recipe& r,
                           const gemm_band& x) const {
  if (element_ == bf16) return half_part(set, a16, x.a_row, x.rows);
  const std::ptrdiff_t groups = ceil_div(x.k_end - x.k_begin, 128);
  const auto* scales = static_cast<const std::uint32_t*>(at(set, a_tiles));
  const std::ptrdiff_t stride = padded(size_.m);
  cuda::operand o{e4m3,
                  static_cast<const unsigned char*>(at(set, a8)) +
                      x.a_row * size_.k + x.k_begin,
                  x.rows, x.k_end - x.k_begin, size_.k};
  o.scales = {scales, 1, 1};
  if (r.a == tile_1x128) {
    o.scales = {scales + x.a_row + x.k_begin / 128 * stride, x.rows, groups, 1,
                stride};
  }
  return o;
}

cuda::operand gemm_sets::a(std::size_t set, const recipe& r) const {
  return a(set, r, {0, 0, 0, size_.m, 0, size_.k});
}

cuda::operand gemm_sets::b(std::size_t set, const recipe& r,
                           const gemm_band& x) const {
  return b_part(set, r, x, size_.n);
}

cuda::operand gemm_sets::b(std::size_t set, const recipe& r,
                           bool grouped) const {
  return b_part(set, r, {0, 0, 0, 0, 0, size_.k}, b_rows(size_, grouped));
}

cuda::operand gemm_sets::b_part(std::size_t set, const recipe& r,
                                const gemm_band& x, std::ptrdiff_t rows) const {
  if (element_ == bf16) return half_part(set, b16, x.b_row, rows);
  const std::ptrdiff_t groups = ceil_div(x.k_end - x.k_begin, 128);
  const auto* blocks = static_cast<const std::uint32_t*>(at(set, b_blocks));
  const auto* tiles = static_cast<const std::uint32_t*>(at(set, b_tiles));
  cuda::operand o{e4m3,
                  static_cast<const unsigned char*>(at(set, b8)) +
                      x.b_row * size_.k + x.k_begin,
                  rows, x.k_end - x.k_begin, size_.k};
  o.scales = {tiles, 1, 1};
  if (r.b == tile_1x128) {
    const std::ptrdiff_t stride = padded(b_rows(size_, true));
    o.scales = {tiles + x.b_row + x.k_begin / 128 * stride, rows, groups, 1,
                stride};
  } else if (r.b == block_128x128) {
    const std::ptrdiff_t stride = padded(ceil_div(size_.k, 128));
    o.scales = {blocks + x.b_row / 128 * stride + x.k_begin / 128,
                ceil_div(rows, 128), groups, stride, 1};
  }
  return o;
}

cuda::operand gemm_sets::half_part(std::size_t set, form f, std::ptrdiff_t row,
                                   std::ptrdiff_t rows) const {
  const auto* const codes = static_cast<const std::uint16_t*>(
      across_ ? turned_.at(f).data() : at(set, f));
  return {bf16, codes + row * size_.k, rows, size_.k, size_.k};
}

matrix_view<const std::uint16_t> gemm_sets::half(std::size_t set,
                                                 form f) const {
  const matrix_view<const std::uint16_t> x(
      static_cast<const std::uint16_t*>(at(set, f)), operands_[f].is.m,
      operands_[f].is.n);
  return across_ ? x.transposed() : x;
}

cublaslt_operands gemm_sets::for_cublaslt(std::size_t set,
                                          const gemm_contestant& c) const {
  return {at(set, c.halves ? a16 : a8), at(set, a_tiles),
          at(set, c.halves ? b16 : b8),
          at(set, c.scales == cublaslt_scales::blocks ? b_blocks : b_tiles),
          at(set, result)};
}

}  // namespace zeroulp::program
