// Holds functions of one number against their oracles: log, rope's
// frequencies and table, the scale of attention, rates.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/conversion/float_sweep.hpp"
#include "conformance/checks/model/model_parts.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

namespace zeroulp::conformance {
namespace {

/// Those of all arguments whose logarithm, by E6 (e), lies at most two FP64
/// ulps from halfway between FP32 numbers: any other operation may round them
/// the other way.
constexpr std::uint32_t hard_logs[] = {
    0x6f31a8ec, 0x3c413d3a, 0x66a8c860, 0x65d890d3, 0x41178feb, 0x4c5d65a5,
    0x4d604ebe, 0x1f116ab8, 0x79e7ec37, 0x2c4c24b7, 0x3bf86ef0, 0x4665a9a6,
    0x5ee8984e, 0x1a8446cb, 0x111c87f8, 0x0dc8bba4, 0x4e85f412, 0x464d5b2b,
    0x28e3fa26, 0x66abbd63, 0x2e492984};

/// Arguments of log where it changes its nature.
std::vector<std::uint32_t> special_arguments() {
  std::vector<std::uint32_t> x(std::begin(hard_logs), std::end(hard_logs));
  for (const auto code : special_codes(fp32)) {
    x.push_back(static_cast<std::uint32_t>(code));
  }
  const auto around = [&x](std::uint32_t at, std::uint32_t reach) {
    for (std::uint32_t step = 0; step <= 2 * reach; ++step) {
      x.push_back(at - reach + step);
    }
  };
  around(0x3f800000, 200);
  for (std::uint32_t exponent = 1; exponent <= 254; ++exponent) {
    around(exponent << 23, 2);
    around(exponent << 23 | 0x3504f3, 2);
  }
  // Subnormal ones, normalised: the same two places.
  for (int bits = 1; bits <= 23; ++bits) {
    around(1u << (bits - 1), 1);
    around(0xb504f3u >> (24 - bits), 1);
  }
  return x;
}

/// Calls use(x) for blocks of arguments: special ones, then every so many of
/// all 2^32.
template <class Use>
void for_arguments(const effort& e, Use use) {
  use(special_arguments());
  const std::uint64_t stride = sweep_stride(e.level);
  constexpr std::size_t block = 1 << 14;
  std::vector<std::uint32_t> x;
  for (std::uint64_t code = e.seed % stride; code >> 32 == 0; code += stride) {
    x.push_back(static_cast<std::uint32_t>(code));
    if (x.size() < block) continue;
    use(x);
    x.clear();
  }
  use(x);
}

template <class Count>
void for_logs(const model_functions& t, const effort& e, const verdict& v,
              Count count) {
  std::vector<std::uint32_t> out;
  for_arguments(e, [&](const std::vector<std::uint32_t>& x) {
    if (x.empty() || (e.stop_early && v.failures > 0)) return;
    const auto n = static_cast<std::ptrdiff_t>(x.size());
    out.resize(x.size());
    t.log({x.data(), 1, n}, {out.data(), 1, n});
    for (std::size_t i = 0; i < x.size(); ++i) count(x[i], out[i]);
  });
}

constexpr double bound_of_log = 0.5000001;

/// Returns false if MPFR need not be asked: FP64's logarithm, which may be off
/// by 2^-28 of an FP32 ulp, is within the bound all the same.
bool is_close(std::uint32_t x, std::uint32_t result) {
  const std::uint32_t magnitude = result & 0x7fffffff;
  if (magnitude < 0x00800000 || magnitude >= 0x7f800000) return false;
  const double y = std::log(static_cast<double>(oracle::to_float(x)));
  const double error = static_cast<double>(oracle::to_float(result)) - y;
  return std::fabs(error) <
         (bound_of_log - 0x1p-27) * std::ldexp(1.0, std::ilogb(y) - 23);
}

/// Logs of a matrix, in place or not.
void logs_of_rows(const model_functions& t, const effort& e, verdict& v) {
  for (std::uint64_t n = 0; n < case_count(e, 8); ++n) {
    counter_rng rng(e.seed, n);
    const grid x =
        any_numbers(fp32, rng.between(1, 5), rng.between(1, 40), rng);
    grid want = x;
    for (auto& word : want.words) word = oracle::logarithm(word);
    word_rows in(x, rng), out(x, rng);
    t.log(rng.one_in(2) ? out.input() : in.input(), out.view());
    count_output(v, out, want, "log ", [&] {
      return fmt::format("{}: log of {} x {}", t.name, x.rows, x.cols);
    });
  }
}

/// Compares the table of `frequencies` at `count` positions from `first`.
void hold_table(const model_functions& t, const std::vector<double>& f,
                std::ptrdiff_t first, std::ptrdiff_t count, counter_rng& rng,
                verdict& v) {
  const auto n = static_cast<std::ptrdiff_t>(f.size());
  word_rows cosines(count, n, rng), sines(count, n, rng);
  t.rope_table(f, first, cosines.view(), sines.view());
  const auto compare_one = [&](std::uint32_t got, std::uint32_t want,
                               const char* what, std::ptrdiff_t p, double by) {
    v.compare(got, want, [&] {
      return fmt::format("{}: {} of {} times {:a} is {:08x}, not {:08x}",
                         t.name, what, p, by, got, want);
    });
  };
  for (std::ptrdiff_t p = 0; p < count; ++p) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const double by = f[static_cast<std::size_t>(i)];
      const auto want = oracle::turn(by, first + p);
      compare_one(cosines.input()(p, i), want.cosine, "cosine", first + p, by);
      compare_one(sines.input()(p, i), want.sine, "sine", first + p, by);
    }
  }
  v.count(cosines.guards_hold() && sines.guards_hold(),
          [&] { return t.name + ": wrote beside a rope table"; });
}

std::vector<double> usual_frequencies(std::ptrdiff_t n) {
  std::vector<double> f;
  for (std::ptrdiff_t i = 0; i < n / 2; ++i) {
    f.push_back(oracle::frequency_of(n, i));
  }
  return f;
}

constexpr std::ptrdiff_t last_position = std::ptrdiff_t{1} << 20;

double unit(counter_rng& rng) {
  return static_cast<double>(rng.next() >> 11) * 0x1p-53;
}

/// A frequency that turns `position` to an angle whose cosine, or sine, is
/// nearly halfway between two FP32 numbers.
double hard_frequency(std::ptrdiff_t position, counter_rng& rng) {
  const double middle =
      static_cast<double>((rng.next() >> 40) * 2 + 1) * 0x1p-25;
  const bool sine = rng.one_in(2);
  const auto exact = static_cast<long double>(middle);
  const long double first = sine ? std::asin(exact) : std::acos(exact);
  constexpr long double full = 6.283185307179586476925286766559L;
  const auto p = static_cast<long double>(position);
  const auto room = static_cast<long double>(p - first) / full;
  const auto rounds =
      std::floor(static_cast<long double>(unit(rng)) * std::max(room, 0.0L));
  return std::min(static_cast<double>((first + rounds * full) / p), 1.0);
}

}  // namespace

verdict log_operations(const model_functions& t, const effort& given) {
  verdict v;
  const effort e = within_reason(t, given);
  for_logs(t, e, v, [&](std::uint32_t x, std::uint32_t result) {
    const auto want = oracle::logarithm(x);
    v.compare(result, want, [&] {
      return fmt::format("{}: log({:08x}) is {:08x}, not {:08x}", t.name, x,
                         result, want);
    });
  });
  logs_of_rows(t, e, v);
  v.exhaustive = e.level >= 3;
  return v;
}

verdict log_bound(const model_functions& t, const effort& given) {
  verdict v;
  const effort e = within_reason(t, given);
  for_logs(t, e, v, [&](std::uint32_t x, std::uint32_t result) {
    if (is_close(x, result)) {
      ++v.cases;
      return;
    }
    const double error = oracle::logarithm_error(x, result);
    v.count(error <= bound_of_log, [&] {
      return fmt::format("{}: log({:08x}) is {:08x}: off by {} ulps", t.name, x,
                         result, error);
    });
  });
  v.exhaustive = e.level >= 3;
  return v;
}

verdict rope_frequencies(const model_functions& t, const effort&) {
  verdict v;
  for (std::ptrdiff_t n = 2; n <= 128; n *= 2) {
    for (std::ptrdiff_t i = 0; i < n / 2; ++i) {
      const auto got = bits_of_double(t.rope_frequency(n, i));
      const auto want = bits_of_double(oracle::frequency_of(n, i));
      v.compare(got, want, [&] {
        return fmt::format("{}: frequency {} of {} is {:016x}, not {:016x}",
                           t.name, i, n, got, want);
      });
    }
  }
  v.exhaustive = true;
  return v;
}

verdict rope_tables(const model_functions& t, const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 0);
  const auto f = usual_frequencies(128);
  hold_table(t, f, 0, e.level == 0 ? 2048 : 16384, rng, v);
  hold_table(t, f, last_position - 99, 100, rng, v);
  for (const std::ptrdiff_t n : {2, 4, 16, 64}) {
    hold_table(t, usual_frequencies(n), rng.between(0, 1 << 19), 17, rng, v);
  }
  hold_table(t, {0, 1, 0x1p-126, 0x1.fffffffffffffp-1, 0x1p-64}, 0, 9, rng, v);
  for (std::uint64_t c = 0; c < case_count(e, 100); ++c) {
    std::vector<double> any(5);
    for (double& x : any) x = std::ldexp(unit(rng), -rng.between(0, 40));
    const auto first = static_cast<std::ptrdiff_t>(rng.below(1 << 20));
    hold_table(t, any, first, 1 + (first + 1 < last_position ? 1 : 0), rng, v);
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

verdict hard_angles(const model_functions& t, const effort& e) {
  verdict v;
  for (std::uint64_t c = 0; c < case_count(e, 2000); ++c) {
    counter_rng rng(e.seed, c);
    const int bits = rng.between(1, 20);
    const std::ptrdiff_t p = rng.one_in(4) ? 2 : rng.between(2, 1 << bits);
    const double f = hard_frequency(p, rng);
    hold_table(t, {f}, p, 1, rng, v);
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

verdict attention_scales(const model_functions& t, const effort&) {
  verdict v;
  const auto hold = [&](std::ptrdiff_t n) {
    const auto got = t.attention_scale(n);
    const auto want = oracle::usual_scale(n);
    v.compare(got, want, [&] {
      return fmt::format("attention_scale({}) is {:08x}, not {:08x}", n, got,
                         want);
    });
  };
  for (std::ptrdiff_t n = 1; n <= 4096; ++n) hold(n);
  // The quotient is halfway between FP32 numbers, or one FP64 ulp from it.
  for (const std::ptrdiff_t n : {836041631, 104343751, 274349613}) hold(n);
  return v;
}

verdict rates_and_clipping(const model_functions& t, const effort& e) {
  verdict v;
  for (std::uint64_t c = 0; c < case_count(e, 1000); ++c) {
    counter_rng rng(e.seed, c);
    const int warmup = rng.between(0, 50);
    const int hold = warmup + rng.between(0, 50);
    const int steps = std::max(hold + rng.between(0, 100), 1);
    const rate_schedule s{std::ldexp(unit(rng), -7), warmup, hold, steps,
                          rng.one_in(4) ? 0 : unit(rng)};
    const int steps_of_note[] = {warmup, hold, hold + 1, steps};
    const int step = std::clamp(
        rng.one_in(2) ? steps_of_note[rng.below(4)] : rng.between(1, steps), 1,
        steps);
    const auto rate = bits_of_double(t.rate_of(s, step));
    const auto right_rate = bits_of_double(oracle::rate(s, step));
    v.compare(rate, right_rate, [&] {
      return fmt::format(
          "rate {:a} of step {} ({}, {}, {}, {:a}) is {:016x}, not {:016x}",
          s.rate, step, warmup, hold, steps, s.last, rate, right_rate);
    });
    const double clips[] = {1, 0, INFINITY, std::ldexp(unit(rng), 3)};
    const double clip = clips[std::min(rng.below(8), 3u)];
    const double norm = rng.one_in(8) ? clip : std::ldexp(unit(rng), 4);
    for (const double n : {norm, 0.0, double{INFINITY}, double{NAN}}) {
      const auto factor = t.clip_factor(n, clip);
      const auto want = oracle::clipping(n, clip);
      v.compare(factor, want, [&] {
        return fmt::format(
            "factor of norm {:a}, clip {:a} is {:08x}, not "
            "{:08x}",
            n, clip, factor, want);
      });
    }
  }
  return v;
}

}  // namespace zeroulp::conformance
