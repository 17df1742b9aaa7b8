// Compares one large cuda::gemm call with the emulator.

#include <cstdio>
#include <cstring>

#include "conformance/device/kernels/gemm/large.cuh"
#include "conformance/device/support/output_differences.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Words in mapped host memory, which the device accesses directly.
class host_words {
 public:
  explicit host_words(std::size_t count) {
    require(cudaHostAlloc(&data_, count * 4, cudaHostAllocMapped));
    std::memset(data_, 0, count * 4);
  }
  host_words(const host_words&) = delete;
  host_words& operator=(const host_words&) = delete;
  ~host_words() { cudaFreeHost(data_); }

  std::uint32_t* data() const { return static_cast<std::uint32_t*>(data_); }

 private:
  void* data_ = nullptr;
};

/// Scales of `rows` rows and `blocks` blocks of K. With `by_blocks` the scales
/// of a block of K are contiguous, else those of a row.
struct filled_scales {
  bool by_blocks;
  filled<std::uint32_t> words;

  filled_scales(std::ptrdiff_t rows, std::ptrdiff_t blocks, bool are_by_blocks)
      : by_blocks(are_by_blocks),
        words(content::scales, fp32, by_blocks ? blocks : rows,
              by_blocks ? rows : blocks, by_blocks ? 4 : 1) {}
  matrix_view<const std::uint32_t> view() const {
    return by_blocks ? words.turned() : words.view();
  }
};

}  // namespace

verdict hold_large(const recipe& r, format fa, format fb, const trial_shape& s,
                   const std::vector<std::int32_t>& table,
                   large_places places) {
  const std::ptrdiff_t n = s.n, d_rows = s.d_rows();
  counter_rng rng(input_seeds::next(), 0);
  const bool by_blocks[] = {rng.one_in(2), rng.one_in(2)};
  const filled_scales sa(
      (s.has_several_a() ? s.count : 1) * scale_count(s.m, r.a.mn),
      scale_count(s.k, r.a.k), by_blocks[0]);
  const filled_scales sb(
      (s.has_several_b() ? s.count : 1) * scale_count(n, r.b.mn),
      scale_count(s.k, r.b.k), by_blocks[1]);
  const filled<std::uint8_t> a(content::codes, fa, s.a_rows(), s.k, 16);
  const filled<std::uint8_t> b(content::codes, fb, s.b_rows(), s.k, 16);
  const bool adds = r.end == epilogue::accumulate;
  const filled<std::uint32_t> sums(content::sums, fp32, adds ? d_rows : 0, n);
  const matrix_view<const std::uint32_t> c(sums.memory.data() + places.c_before,
                                           sums.rows, n);
  const auto size = static_cast<std::size_t>(d_rows * n);
  const int bytes = r.output == fp32 ? 4 : 2;
  // Outputs that no product covers stay 0 in both.
  const device_buffer<std::uint32_t> on_device(places.d_on_host ? 1 : size);
  const device_buffer<unsigned char> right(size *
                                           static_cast<std::size_t>(bytes));
  const auto right_from = [&](std::ptrdiff_t row) {
    return right.data() + row * n * bytes;
  };
  const host_words on_host(places.d_on_host ? size : 1);
  std::uint32_t* const d = places.d_on_host ? on_host.data() : on_device.data();
  const device_buffer<std::int32_t> entries(table.size() + 1);
  if (!table.empty()) {
    require(cudaMemcpy(entries.data(), table.data(), 4 * table.size(),
                       cudaMemcpyHostToDevice));
  }
  cuda::gemm(r, {s.kind, s.count, table.empty() ? nullptr : entries.data()},
             operand_of(fa, a.view(), sa.view()),
             operand_of(fb, b.view(), sb.view()), {c.data, c.rows, n},
             {d, d_rows, n});
  for (const auto& p : products_of(r, s, table)) {
    if (p.rows == 0) continue;
    if (p.is_spoiled) {
      const auto fill = [&]<class Code>(Code) {
        fill_with<<<132, 128>>>(content::nan, r.output, 0,
                                static_cast<std::uint64_t>(p.rows * n),
                                reinterpret_cast<Code*>(right_from(p.row)));
      };
      bytes == 2 ? fill(std::uint16_t{}) : fill(std::uint32_t{});
      continue;
    }
    const std::ptrdiff_t length = p.k_end - p.k_begin;
    const auto scales_from = [&](const filled_scales& x, granularity by,
                                 std::ptrdiff_t first, std::ptrdiff_t rows) {
      return x.view().block(first, by.k == 0 ? 0 : p.k_begin / by.k,
                            scale_count(rows, by.mn),
                            scale_count(length, by.k));
    };
    cuda::const_matrix addend;
    if (adds) addend = {c.data + p.row * n, p.rows, n};
    cuda::emulate_gemm(
        r,
        operand_of(fa, a.view().block(p.a_row, p.k_begin, p.rows, length),
                   scales_from(sa, r.a, p.first_a_scale, p.rows)),
        operand_of(fb, b.view().block(p.b_row, p.k_begin, n, length),
                   scales_from(sb, r.b, p.first_b_scale, n)),
        addend, {right_from(p.row), p.rows, n});
  }
  output_differences differences;
  differences.add(d, bytes, right.data(), d_rows, n);
  const auto t = differences.found();
  verdict v;
  v.cases = size;
  v.failures = t.differing;
  v.add(t.sums);
  if (t.differing != 0) {
    gemm_trial trial;
    trial.r = r, trial.fa = fa, trial.fb = fb;
    trial.shape = s, trial.table = table;
    char text[100];
    std::snprintf(text, sizeof text,
                  " (scales by blocks of K: %d, %d; C from word %d, D on the "
                  "host: %d)",
                  by_blocks[0], by_blocks[1], places.c_before,
                  places.d_on_host);
    v.first_failure = trial.name() + ": " + text_of(t, n) + text;
  }
  return v;
}

}  // namespace zeroulp::conformance::device
