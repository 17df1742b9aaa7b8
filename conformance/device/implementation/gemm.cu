// The GEMM on the GPU as an implementation's function. A hash of the numbers
// seeds the placement of matrices and whether C is D.

#include "conformance/device/implementation/parts.hpp"
#include "conformance/device/kernels/gemm/trial.hpp"

namespace zeroulp::conformance::device {
namespace {

word_matrix copy_of(codes_in x) {
  word_matrix copy(x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) copy.view()(i, j) = x(i, j);
  }
  return copy;
}

/// Returns the scales. Kernels need scales that change along K: if there are
/// none, ones replace them.
word_matrix scales_of(const gemm_operand<std::uint32_t>& x, granularity by) {
  if (x.scales.data != nullptr) return copy_of(x.scales);
  if (by.k == 0) return word_matrix(0, 0);
  word_matrix ones(scale_count(x.codes.rows, by.mn),
                   scale_count(x.codes.cols, by.k));
  ones.words.assign(ones.words.size(), fp32_one);
  return ones;
}

}  // namespace

void gemm_on_gpu(const recipe& r, const gemm_operand<std::uint32_t>& a,
                 const gemm_operand<std::uint32_t>& b, codes_in c,
                 codes_out d) {
  gemm_trial t;
  t.r = r;
  t.fa = a.f, t.fb = b.f;
  t.a = copy_of(a.codes), t.b = copy_of(b.codes);
  t.sa = scales_of(a, r.a), t.sb = scales_of(b, r.b);
  t.before = word_matrix(d.rows, d.cols);
  t.c = c.data == nullptr ? t.before : copy_of(c);
  t.before.words.assign(t.before.words.size(), 0xdead);
  t.shape = {cuda::gemm_groups::none, 1, d.rows, d.cols, a.codes.cols};

  std::uint64_t hash = static_cast<std::uint64_t>(d.rows * 65536 + d.cols);
  for (const word_matrix* x : {&t.a, &t.b, &t.c}) {
    for (const auto word : x->words) hash = mix64(hash + word + golden);
  }
  counter_rng rng(hash, 0);
  t.c_is_d = r.end == epilogue::accumulate && r.output == fp32 && rng.one_in(2);
  const auto out = run_gemm(t, rng);
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) d(i, j) = out.view()(i, j);
  }
}

}  // namespace zeroulp::conformance::device
