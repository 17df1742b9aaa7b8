// Conversion rows, each beside a scalar loop over the core, the MPFR and GMP
// oracle, NVIDIA's host header and ml_dtypes, and the sweep of all 2^32 inputs.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "src/base/threads.hpp"
#include "tools/zeroulp/bench/nvidia.hpp"
#include "tools/zeroulp/bench/python.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/names.hpp"

#ifdef ZEROULP_HAVE_CONFORMANCE
#include "conformance/oracles/mpfr_oracle.hpp"
#endif

namespace zeroulp::program {
namespace {

constexpr policy how_to = cuda_satfinite;

struct conversion_row {
  const char* name;
  format from;
  format to;
};

constexpr conversion_row conversion_rows[] = {
    {"encode.fp32.e4m3", fp32, e4m3}, {"encode.fp32.e5m2", fp32, e5m2},
    {"encode.fp32.e5m6", fp32, e5m6}, {"encode.bf16.e4m3", bf16, e4m3},
    {"encode.bf16.e5m2", bf16, e5m2}, {"encode.bf16.e5m6", bf16, e5m6},
    {"encode.fp32.bf16", fp32, bf16}, {"encode.fp32.fp16", fp32, fp16},
    {"decode.e4m3.fp32", e4m3, fp32}, {"decode.e5m2.fp32", e5m2, fp32},
};

std::uint32_t by_core(const conversion_row& row, std::uint32_t code) {
  return static_cast<std::uint32_t>(recode(row.from, code, row.to, {}, how_to));
}

template <class Code>
using codes_ptr = std::shared_ptr<std::vector<Code>>;

template <class Code>
codes_ptr<Code> make_codes(std::ptrdiff_t n) {
  return std::make_shared<std::vector<Code>>(static_cast<std::size_t>(n));
}

template <class Code>
auto line_of(std::vector<Code>& v) {
  return matrix_view<Code>(v.data(), 1, static_cast<std::ptrdiff_t>(v.size()));
}

/// A job for n elements of a row, whose outputs at `places` are in `out`.
template <class In, class Out>
bench_job make_job(const conversion_row& row, const char* peer,
                   const std::vector<In>& in, std::vector<Out>& out) {
  bench_job j;
  j.name = std::string(row.name) + peer;
  j.unit = "Gelement/s";
  j.work = 1e-9 * static_cast<double>(out.size());
  j.size = std::to_string(out.size());
  for (int i = 0; i < sample_size; ++i) {
    const auto at = static_cast<std::size_t>(
        sampled_place(static_cast<std::ptrdiff_t>(out.size()), i));
    j.sample(out[at], by_core(row, in[at]), fmt::format("element {}", at));
  }
  return j;
}

/// One code after the other.
template <class In, class Out, class Each>
bench_job loop_job(const conversion_row& row, const char* peer,
                   const codes_ptr<In>& in, std::ptrdiff_t n, Each each) {
  const auto out = make_codes<Out>(n);
  bench_job j = make_job(row, peer, *in, *out);
  j.run = [in, out, each] {
    for (std::size_t i = 0; i < out->size(); ++i) {
      (*out)[i] = static_cast<Out>(each((*in)[i]));
    }
  };
  return j;
}

template <class In, class Out>
bench_job python_job(const conversion_row& row,
                     const std::shared_ptr<ml_dtypes>& python,
                     const std::vector<In>& in, std::ptrdiff_t n) {
  const auto first = make_codes<Out>(std::min<std::ptrdiff_t>(n, 256));
  bench_job j = make_job(row, ":ml_dtypes", in, *first);
  j.work = 1e-9 * static_cast<double>(n);
  j.size = std::to_string(n);
  python->send(
      fmt::format("convert {} {} {}", name_of(row.from), name_of(row.to), n));
  python->send(in.data(), static_cast<std::size_t>(n) * sizeof(In));
  const auto request = fmt::format("run {}", python->next_job());
  j.run = [python, request, first] {
    python->send(request);
    python->receive(first->data(), first->size() * sizeof(Out));
  };
  return j;
}

template <class In, class Out>
void add_peers(bench_group& g, const conversion_row& row,
               const codes_ptr<In>& in, bench_context& how) {
  const auto usual = static_cast<std::ptrdiff_t>(in->size());
  const auto n = std::min<std::ptrdiff_t>(usual, 1 << 20);
  add_peer(g, 0, loop_job<In, Out>(row, ":core", in, n, [row](std::uint32_t x) {
             return by_core(row, x);
           }));
#ifdef ZEROULP_HAVE_CONFORMANCE
  const auto few = std::min<std::ptrdiff_t>(usual, 1 << 14);
  add_peer(g, 0,
           loop_job<In, Out>(row, ":mpfr", in, few, [row](std::uint32_t x) {
             return oracle::convert(row.from, x, row.to, {}, how_to);
           }));
#else
  how.absent.insert("mpfr: built without MPFR, GMP or Boost");
#endif
  with_nvidia(row.from, row.to, [&](auto each) {
    add_peer(g, 0, loop_job<In, Out>(row, ":nvidia", in, n, each));
  });
  if (!have_nvidia) how.absent.insert("nvidia: built without the CUDA Toolkit");
  // numpy has no E5M6.
  if (row.from == e5m6 || row.to == e5m6) return;
  if (const auto python = python_peer(how)) {
    add_peer(g, 0, python_job<In, Out>(row, python, *in, n));
  }
}

template <class In, class Out>
bench_group conversion_group(const conversion_row& row, bench_context& how) {
  const auto n = how.sized<std::ptrdiff_t>(1 << 24, 1 << 14);
  const auto in = make_codes<In>(0);
  *in = normal_codes<In>(row.from, 21, n);
  const auto out = make_codes<Out>(n);
  bench_group g;
  g.jobs.push_back(make_job(row, "", *in, *out));
  g.jobs[0].threads = how.threads;
  g.jobs[0].run = [row, in, out] {
    engine::recode(row.from, line_of(*in), row.to, line_of(*out),
                   rounding::nearest_even, how_to);
  };
  add_peers<In, Out>(g, row, in, how);
  return g;
}

/// Calls `use` with a zero of the unsigned type that holds codes of f.
template <class Use>
bench_group with_code_type(format f, Use use) {
  if (f.bits() <= 8) return use(std::uint8_t{});
  if (f.bits() <= 16) return use(std::uint16_t{});
  return use(std::uint32_t{});
}

constexpr std::ptrdiff_t sweep_chunk = 8192;  // stays in the L1 and L2 caches
constexpr conversion_row sweep_row{"sweep.fp32.e4m3", fp32, e4m3};

/// Encodes FP32 codes from `first` on; returns true iff one of them, at a
/// random place, has the core's code.
bool sweep(std::uint32_t first) {
  std::uint32_t in[sweep_chunk];
  std::uint8_t out[sweep_chunk];
  for (std::uint32_t i = 0; i < sweep_chunk; ++i) in[i] = first + i;
  engine::recode(sweep_row.from,
                 matrix_view<const std::uint32_t>(in, 1, sweep_chunk),
                 sweep_row.to, matrix_view<std::uint8_t>(out, 1, sweep_chunk),
                 rounding::nearest_even, how_to);
  const auto at = sampled_place(sweep_chunk, static_cast<int>(first >> 13));
  return out[at] == by_core(sweep_row, in[at]);
}

bench_group sweep_group(const bench_context& how) {
  const auto count =
      how.sized(std::ptrdiff_t{1} << 32, std::ptrdiff_t{1} << 20);
  const auto wrong = std::make_shared<std::uint32_t>(0);
  bench_job j;
  j.name = sweep_row.name;
  j.unit = "s";
  j.work = 0;
  j.size = std::to_string(count);
  j.threads = how.threads;
  j.sample(*wrong, 0, "a code of each 8192 that differs");
  j.run = [count, wrong] {
    std::atomic<std::uint32_t> differ{0};
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads_for())
#endif
    for (std::ptrdiff_t x = 0; x < count; x += sweep_chunk) {
      if (!sweep(static_cast<std::uint32_t>(x))) ++differ;
    }
    *wrong = differ;
  };
  bench_group g;
  g.jobs.push_back(std::move(j));
  return g;
}

}  // namespace

std::vector<bench_entry> conversion_benches() {
  std::vector<bench_entry> all;
  for (const auto& row : conversion_rows) {
    all.push_back({{row.name}, [row](bench_context& how) {
                     return with_code_type(row.from, [&](auto in) {
                       return with_code_type(row.to, [&](auto out) {
                         return conversion_group<decltype(in), decltype(out)>(
                             row, how);
                       });
                     });
                   }});
  }
  all.push_back({{sweep_row.name}, sweep_group});
  return all;
}

}  // namespace zeroulp::program
