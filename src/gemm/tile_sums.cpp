// Plain sums of products, and promotions, on a tile of outputs.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/gemm/tile_sums.cpp"
#include "src/base/simd.hpp"
// After simd.hpp.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "src/gemm/tile.hpp"
#include "src/gemm/tile_panel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp {
namespace HWY_NAMESPACE {
namespace {

/// a * b + c, rounded once.
template <class D>
HWY_INLINE hn::Vec<D> fused(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c) {
#if HWY_TARGET == HWY_EMU128
  constexpr std::size_t lanes = hn::MaxLanes(D());
  HWY_ALIGN hn::TFromD<D> x[lanes], y[lanes], z[lanes];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < lanes; ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, z);
#else
  (void)d;
  return hn::MulAdd(a, b, c);
#endif
}

/// Products are exact in double: no fusing is needed.
HWY_INLINE auto join(narrow, hn::Vec<narrow::real_tag> a,
                     hn::Vec<narrow::real_tag> b, hn::Vec<narrow::real_tag> c) {
  return fused(narrow::real_tag(), a, b, c);
}
HWY_INLINE auto join(broad, hn::Vec<broad::real_tag> a,
                     hn::Vec<broad::real_tag> b, hn::Vec<broad::real_tag> c) {
  return hn::MulAdd(a, b, c);
}

/// Elements of K that are unpacked at once.
constexpr int depth = 32;

template <class W>
struct sum_scratch {
  alignas(64) typename W::real a[depth * block_rows];
  alignas(64) typename W::real b[depth * block_rows];
};

template <class W>
void unpack(const tile_side& x, int block, std::ptrdiff_t first, int count,
            typename W::real* out) {
  const typename W::real_tag d;
  const hn::Rebind<float, decltype(d)> df;
  constexpr int lanes = W::columns / 4;
  const operand_block& from = x.blocks[block];
  for (int k = 0; k < count; ++k) {
    for (int row = 0; row < block_rows; row += lanes) {
      const auto v = row < from.height
                         ? load_elements(df, x, from, first + k, row)
                         : hn::Zero(df);
      hn::Store(to_real(W(), v), d, out + k * block_rows + row);
    }
  }
}

template <class W>
void sum_block(const sum_scratch<W>& m, int rows, int cols, int count,
               typename W::real* c) {
  const typename W::real_tag d;
  constexpr int lanes = W::columns / 4;
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; col += W::columns) {
      typename W::real* out = c + row * tile_rows + col;
      hn::Vec<typename W::real_tag> sum[4];
      for (int j = 0; j < 4; ++j) sum[j] = hn::LoadU(d, out + j * lanes);
      for (int k = 0; k < count; ++k) {
        const auto x = hn::Set(d, m.a[k * block_rows + row]);
        const auto* y = m.b + k * block_rows + col;
        for (int j = 0; j < 4; ++j) {
          sum[j] = join(W(), x, hn::Load(d, y + j * lanes), sum[j]);
        }
      }
      for (int j = 0; j < 4; ++j) hn::StoreU(sum[j], d, out + j * lanes);
    }
  }
}

template <class W>
void sum(const tile_sums& job, typename W::real* c) {
  auto& memory = *scratch_at<sum_scratch<W>>(job.scratch);
  for (std::ptrdiff_t at = 0; at < job.count; at += depth) {
    const auto left = job.count - at;
    const int count = left < depth ? static_cast<int>(left) : depth;
    for (int j = 0; j * block_rows < job.b.rows; ++j) {
      unpack<W>(job.b, j, job.first + at, count, memory.b);
      const int cols = HWY_MIN(job.b.rows - j * block_rows, block_rows);
      for (int i = 0; i * block_rows < job.a.rows; ++i) {
        unpack<W>(job.a, i, job.first + at, count, memory.a);
        const int rows = HWY_MIN(job.a.rows - i * block_rows, block_rows);
        sum_block(memory, rows, cols, count,
                  c + i * block_rows * tile_rows + j * block_rows);
      }
    }
  }
}

void sum_tile(const tile_sums& job) {
  job.c != nullptr ? sum<narrow>(job, job.c) : sum<broad>(job, job.exact);
}

template <class Update>
HWY_INLINE void for_each_vector(const tile_promotion& job, Update update) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < job.rows; ++i) {
    const auto sa = hn::Set(d, job.scale_a[i]);
    for (int j = 0; j < job.cols; j += lanes) {
      const int at = i * tile_rows + j;
      const auto acc = hn::LoadU(d, job.acc + at);
      const auto p = hn::LoadU(d, job.p + at);
      hn::StoreU(update(p, sa, hn::LoadU(d, job.scale_b + j), acc), d,
                 job.acc + at);
    }
  }
}

void promote(const tile_promotion& job) {
  const hn::ScalableTag<float> d;
  using vector = hn::Vec<decltype(d)>;
  switch (static_cast<promotion>(job.update)) {
    case promotion::add:
      return for_each_vector(job, [](vector p, vector, vector, vector acc) {
        return hn::Add(acc, p);
      });
    case promotion::product_of_scales:
      return for_each_vector(job,
                             [&](vector p, vector sa, vector sb, vector acc) {
                               return fused(d, p, hn::Mul(sa, sb), acc);
                             });
    case promotion::one_then_other:
      return for_each_vector(job,
                             [&](vector p, vector sa, vector sb, vector acc) {
                               return fused(d, hn::Mul(p, sa), sb, acc);
                             });
    case promotion::other_then_one:
      return for_each_vector(job,
                             [&](vector p, vector sa, vector sb, vector acc) {
                               return fused(d, hn::Mul(p, sb), sa, acc);
                             });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroulp {

void run_sums(const tile_sums& job) { ZEROULP_SIMD_DISPATCH(sum_tile)(job); }

void promote_tile(const tile_promotion& job) {
  ZEROULP_SIMD_DISPATCH(promote)(job);
}

}  // namespace zeroulp
#endif
