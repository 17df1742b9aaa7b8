// The GEMM kernels against the emulator, all on the device: every output of the
// shapes that are timed and of those that DeepSeek-V3 trains with, and of
// random ones.

#include <span>

#include "conformance/device/gemm_trial.hpp"
#include "conformance/device/operands.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::gemm_groups;

enum class content : std::uint8_t { codes, scales, sums };

/// Codes of about N(0, 1); positive FP32 numbers, or any, around 1.
template <class Word>
__global__ void fill_with(content what, format f, std::uint64_t seed,
                          std::uint64_t count, Word* out) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) {
    counter_rng rng(seed, i);
    const std::uint32_t sign = what == content::sums ? 0x80000000 : 0;
    out[i] = static_cast<Word>(what == content::codes
                                   ? normal_code(f, rng)
                                   : (120 + rng.below(8)) << 23 |
                                         (rng.next32() & (0x7fffff | sign)));
  }
}

struct output_difference {
  unsigned long long count, at;
  std::uint32_t got, right;
};

/// `right`: a word for each output.
template <class Code>
__global__ void compare_outputs(std::uint64_t count, const Code* got,
                                const std::uint32_t* right,
                                output_difference* found) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) {
    if (got[i] == right[i]) continue;
    if (atomicAdd(&found->count, 1) != 0) continue;
    found->at = i, found->got = got[i], found->right = right[i];
  }
}

/// A filled matrix; rows may start on multiples of 16.
template <class Word>
struct filled {
  std::ptrdiff_t rows, cols, stride;
  device_buffer<Word> memory;

  filled(content what, format f, std::ptrdiff_t m, std::ptrdiff_t n,
         int each = 1)
      : rows(m),
        cols(n),
        stride(ceil_div(n, each) * each),
        memory(static_cast<std::size_t>(m * stride) + 1) {
    static std::uint64_t seed = 0;
    fill_with<<<132 * 16, 128>>>(
        what, f, ++seed, static_cast<std::uint64_t>(m * stride), memory.data());
  }
  matrix_view<const Word> view() const {
    return {memory.data(), rows, cols, stride, 1};
  }
};

cuda::operand operand_of(format f, matrix_view<const std::uint8_t> codes,
                         matrix_view<const std::uint32_t> scales) {
  return {f, codes.data, codes.rows, codes.cols, codes.row_stride, scales};
}

/// One call of cuda::gemm, and the emulator's for each of its products.
verdict hold_large(const recipe& r, format fa, format fb, const trial_shape& s,
                   const std::vector<std::int32_t>& table = {}) {
  const std::ptrdiff_t n = s.n, d_rows = s.d_rows();
  const auto scales = [&](granularity by, bool several, std::ptrdiff_t rows) {
    return filled<std::uint32_t>(
        content::scales, fp32,
        (several ? s.count : 1) * scale_count(rows, by.mn),
        scale_count(s.k, by.k));
  };
  const filled<std::uint8_t> a(content::codes, fa, s.a_rows(), s.k, 16);
  const filled<std::uint8_t> b(content::codes, fb, s.b_rows(), s.k, 16);
  const auto sa = scales(r.a, s.has_several_a(), s.m);
  const auto sb = scales(r.b, s.has_several_b(), s.n);
  const bool adds = r.end == epilogue::accumulate;
  const filled<std::uint32_t> c(content::sums, fp32, adds ? d_rows : 0, n);
  const auto size = static_cast<std::size_t>(d_rows * n);
  // What no product covers stays 0 in both.
  const device_buffer<std::uint32_t> d(size), right(size);
  const device_buffer<std::int32_t> entries(table.size() + 1);
  if (!table.empty()) {
    require(cudaMemcpy(entries.data(), table.data(), 4 * table.size(),
                       cudaMemcpyHostToDevice));
  }
  cuda::gemm(r, {s.kind, s.count, table.empty() ? nullptr : entries.data()},
             operand_of(fa, a.view(), sa.view()),
             operand_of(fb, b.view(), sb.view()), {c.memory.data(), c.rows, n},
             {d.data(), d_rows, n});
  for (const auto& p : products_of(r, s, table)) {
    if (p.rows == 0) continue;
    const std::ptrdiff_t length = p.k_end - p.k_begin;
    const auto scales_from = [&](const filled<std::uint32_t>& x, granularity by,
                                 std::ptrdiff_t first, std::ptrdiff_t rows) {
      return x.view().block(first, by.k == 0 ? 0 : p.k_begin / by.k,
                            scale_count(rows, by.mn),
                            scale_count(length, by.k));
    };
    const auto rows = [&](matrix_view<std::uint32_t> x) {
      return x.block(p.row, 0, p.rows, n);
    };
    matrix_view<const std::uint32_t> addend;
    if (adds) addend = rows({c.memory.data(), d_rows, n});
    cuda::emulate_gemm(
        r,
        operand_of(fa, a.view().block(p.a_row, p.k_begin, p.rows, length),
                   scales_from(sa, r.a, p.first_a_scale, p.rows)),
        operand_of(fb, b.view().block(p.b_row, p.k_begin, n, length),
                   scales_from(sb, r.b, p.first_b_scale, n)),
        addend, rows({right.data(), d_rows, n}));
  }
  const device_buffer<output_difference> found(1);
  if (r.output == fp32) {
    compare_outputs<<<132 * 16, 128>>>(size, d.data(), right.data(),
                                       found.data());
  } else {
    compare_outputs<<<132 * 16, 128>>>(
        size, reinterpret_cast<const std::uint16_t*>(d.data()), right.data(),
        found.data());
  }
  finish_kernel();
  output_difference x{};
  found.copy_to(&x, 1);
  verdict v;
  v.cases = size;
  v.failures = x.count;
  if (x.count != 0) {
    gemm_trial t;
    t.r = r, t.fa = fa, t.fb = fb, t.shape = s, t.table = table;
    char text[80];
    std::snprintf(text, sizeof text, ": output %llu is %x, not %x", x.at, x.got,
                  x.right);
    v.first_failure = t.name() + text;
  }
  return v;
}

recipe recipe_called(const char* name) { return parse_recipe(name).value; }

/// What is trained with, then the other promotion and the controls.
std::vector<recipe> large_recipes() {
  auto unpromoted = recipe_called("unpromoted");
  auto often = unpromoted;
  unpromoted.output = bf16;
  often.interval = 32;
  auto wgrad = recipe_called("deepgemm.1d1d");
  wgrad.end = epilogue::store;
  auto to_fp32 = recipe_called("deepgemm.1d2d");
  to_fp32.output = fp32;
  auto added = to_fp32;
  added.end = epilogue::accumulate;
  return {recipe_called("deepgemm.1d2d"),
          to_fp32,
          added,
          recipe_called("deepgemm.1d1d"),
          recipe_called("cublaslt.tensorwise"),
          recipe_called("cublaslt.1x128_1x128"),
          recipe_called("cutlass.blockwise"),
          wgrad,
          unpromoted,
          often};
}

struct size3 {
  std::ptrdiff_t m, n, k;
};

verdict check_timed(const effort& e) {
  constexpr size3 few[] = {{130, 260, 300}, {1, 70, 512}};
  constexpr size3 small[] = {{1, 4096, 7168},    {16, 4096, 7168},
                             {64, 4096, 7168},   {64, 7168, 16384},
                             {128, 24576, 1536}, {64, 32768, 512},
                             {128, 7168, 16384}, {2048, 2048, 4096}};
  constexpr size3 large[] = {{4096, 2048, 7168}, {4096, 24576, 1536},
                             {4096, 32768, 512}, {4096, 7168, 16384},
                             {4096, 4096, 7168}, {4096, 7168, 2048},
                             {8192, 8192, 8192}};
  verdict v;
  std::size_t turn = 0;
  const auto hold_all = [&](std::span<const size3> sizes) {
    for (const auto& x : sizes) {
      for (const auto& r : large_recipes()) {
        const bool other = ++turn % 3 == 0;
        v += hold_large(r, other ? e5m2 : e4m3, turn % 4 == 0 ? e5m2 : e4m3,
                        {gemm_groups::none, 1, x.m, x.n, x.k});
      }
    }
  };
  if (e.level == 0) hold_all(few);
  if (e.level >= 1) hold_all(small);
  if (e.level >= 2) hold_all(large);
  return v;
}

/// Output and input channels of the layers of DeepSeek-V3, for 4096 tokens
/// forward and backward; Wgrad for more of them.
verdict check_layers(const effort& e) {
  constexpr struct {
    std::ptrdiff_t out, in;
  } layers[] = {{1536, 7168},  {24576, 1536}, {576, 7168},
                {32768, 512},  {7168, 16384}, {18432, 7168},
                {7168, 18432}, {4096, 7168},  {7168, 2048}};
  verdict v;
  const auto forward = recipe_called("deepgemm.1d2d");
  const auto backward = recipe_called("deepgemm.1d1d");
  const auto hold = [&](const recipe& r, std::ptrdiff_t m, std::ptrdiff_t n,
                        std::ptrdiff_t k) {
    const bool is_gradient = r.end == epilogue::accumulate;
    v += hold_large(r, is_gradient ? e5m2 : e4m3, e4m3,
                    {gemm_groups::none, 1, m, n, k});
  };
  if (e.level == 0) {
    hold(forward, 100, 576, 300);
    hold(backward, 60, 130, 700);
    return v;
  }
  hold(backward, 8192, 7168, 128);  // the ring has little but C
  for (const auto& x : layers) {
    hold(forward, 4096, x.out, x.in);
    hold(forward, 4096, x.in, x.out);
    hold(backward, x.out, x.in, 4096);
    if (e.level == 1) return v;
  }
  for (const std::ptrdiff_t tokens : {16384, 65536, 65500}) {
    hold(backward, 2048, 7168, tokens);
    hold(backward, 576, 7168, tokens);
  }
  return v;
}

/// Experts: of the sizes that are timed, and of uneven ones.
verdict check_experts(const effort& e) {
  verdict v;
  const auto forward = recipe_called("deepgemm.1d2d");
  const auto backward = recipe_called("deepgemm.1d1d");
  const auto hold = [&](const recipe& r, gemm_groups kind, std::ptrdiff_t count,
                        std::ptrdiff_t each, std::ptrdiff_t n, std::ptrdiff_t k,
                        bool is_even) {
    counter_rng rng(e.seed, static_cast<std::uint64_t>(count + each));
    const auto size = [&](int multiple) {
      const auto most = static_cast<int>(each);
      return is_even ? most : rng.between(0, most / multiple) * multiple;
    };
    std::vector<std::int32_t> table;
    trial_shape s{kind, count, each, n, k};
    if (kind == gemm_groups::first_rows) {
      for (std::ptrdiff_t g = 0; g < count; ++g) table.push_back(size(1));
    } else {
      const bool by_k = kind == gemm_groups::k_ranges;
      table.push_back(0);
      for (std::ptrdiff_t g = 0; g < count; ++g) {
        table.push_back(table.back() + size(by_k ? 128 : 1));
      }
      // With ranges of K, `k` is M and `each` the elements of a range.
      (by_k ? s.k : s.m) = table.back();
      if (by_k) s.m = k;
    }
    v += hold_large(r, e4m3, e4m3, s, table);
  };
  using enum gemm_groups;
  for (const bool is_even : {true, false}) {
    if (is_even) {  // tiles of 256 rows, half of which may be empty
      hold(forward, first_rows, 7, 129, 4000, 300, true);
      hold(forward, first_rows, 7, 256, 4000, 300, false);
      hold(forward, rows, 7, 401, 4000, 300, true);  // begins anywhere
    }
    if (e.level == 0) {
      hold(forward, rows, 3, 70, 130, 200, is_even);
      hold(forward, first_rows, 3, 70, 130, 200, is_even);
      hold(backward, k_ranges, 3, 256, 130, 140, is_even);
      continue;
    }
    hold(forward, rows, 32, 256, 4096, 7168, is_even);
    hold(forward, first_rows, 32, 64, 4096, 7168, is_even);
    hold(backward, k_ranges, 8, 1024, 2048, 4096, is_even);
    if (e.level == 1) continue;
    hold(forward, rows, 4, 8192, 4096, 7168, is_even);
    hold(forward, first_rows, 4, 8192, 4096, 7168, is_even);
    hold(forward, rows, 4, 8192, 7168, 2048, is_even);
    hold(backward, k_ranges, 8, 8192, 7168, 2048, is_even);
  }
  return v;
}

verdict check_any(const effort& e) {
  verdict v;
  const int most = e.level == 0 ? 200 : 3000;
  const std::uint64_t count = cases(e, 3, 80);
  for (std::uint64_t i = 0; i < count; ++i) {
    counter_rng rng(e.seed + 30, i);
    const auto r = draw_served_recipe(rng);
    v += hold_large(r, rng.one_in(3) ? e5m2 : e4m3, rng.one_in(3) ? e5m2 : e4m3,
                    {gemm_groups::none, 1, draw_length(most, rng),
                     draw_length(most, rng), draw_length(2 * most, rng)});
  }
  return v;
}

}  // namespace

check_list gemm_large_checks() {
  const char* const clauses = "G1 G3 G4 G5 G6 G8 G9 G10 G13";
  const auto check_of = [&](const char* name, auto run) {
    return device_check(name, clauses, "the emulator on the device", run);
  };
  return {check_of("kernel.gemm.large.timed", check_timed),
          check_of("kernel.gemm.large.layers", check_layers),
          check_of("kernel.gemm.large.experts", check_experts),
          check_of("kernel.gemm.large.random", check_any)};
}

}  // namespace zeroulp::conformance::device
