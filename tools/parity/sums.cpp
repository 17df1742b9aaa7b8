// Variants of sums: in which order, in what accumulator, of norms and GEMMs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/parity/numbers.hpp"
#include "tools/parity/variants.hpp"
#include "zeroulp/core/training.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

/// How the squares of a row are added: lane t has the runs t, t + lanes, ...
struct lanes {
  std::size_t count;
  std::ptrdiff_t run;
  bool fused;
};

float sum_of_squares(const matrix& x, std::ptrdiff_t row, const lanes& by) {
  std::vector<float> p(by.count, 0.0F);
  for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
    const float value = as_float(x.type, x(row, j));
    float& sum = p[static_cast<std::size_t>(j / by.run) % by.count];
    sum = by.fused ? std::fma(value, value, sum) : sum + value * value;
  }
  while (p.size() > 1) {
    std::vector<float> half(p.size() / 2);
    for (std::size_t t = 0; t < half.size(); ++t) {
      half[t] = p[2 * t] + p[2 * t + 1];
    }
    p = std::move(half);
  }
  return p[0];
}

/// How a norm is computed, where not as S4 and S5 say.
struct norm_reading {
  std::optional<lanes> sum;
  bool rounded_before_weight = false;
  bool weight_plus_one = false;
};

outputs norm_by(const problem& p, const norm_reading& how) {
  using A = core_fp32;
  outputs all = claimed_outputs(p);
  const matrix& x = p.in[0];
  const matrix& w = p.in[1];
  const auto of = [&all](std::string_view name) -> matrix& {
    return *std::find_if(all.begin(), all.end(),
                         [&](const matrix& m) { return name == m.name; });
  };
  matrix& rstd = of("rstd");
  matrix& y = of("y");
  const A::number n{count_as_fp32(x.cols)};
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    std::uint64_t& r = rstd.words[static_cast<std::size_t>(i)];
    if (how.sum) {
      const auto sum = bit_cast<std::uint32_t>(sum_of_squares(x, i, *how.sum));
      const A::number eps{static_cast<std::uint32_t>(p.in[2].words[0])};
      r = rms_rstd<A>({sum}, n, eps).value;
    }
    const float by = as_float(fp32, r);
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      float scaled = as_float(x.type, x(i, j)) * by;
      if (how.rounded_before_weight) {
        scaled = as_float(bf16, rounded(scaled, bf16));
      }
      float weight = as_float(w.type, w(0, j));
      if (how.weight_plus_one) weight += 1;
      y(i, j) = rounded(scaled * weight, y.type);
    }
  }
  return all;
}

outputs with_eps(problem p, std::uint64_t eps) {
  for (matrix& x : p.in) {
    if (x.name == std::string_view("eps")) x.words[0] = eps;
  }
  return claimed_outputs(p);
}

/// The accumulators of all paths into which a GEMM sums, each once.
std::vector<std::pair<std::string, accumulator>> accumulators() {
  std::vector<std::pair<std::string, accumulator>> all;
  for (const named_path& path : all_paths()) {
    const accumulator& acc = path.value.acc;
    const bool known = std::any_of(
        all.begin(), all.end(), [&](const auto& x) { return x.second == acc; });
    if (path.value.lowering != lowering::direct || acc.stored != fp32 ||
        known) {
      continue;
    }
    all.emplace_back(name_of(acc), acc);
  }
  return all;
}

constexpr std::pair<const char*, promotion> updates[] = {
    {"add", promotion::add},
    {"product_of_scales", promotion::product_of_scales},
    {"one_then_other", promotion::one_then_other},
    {"other_then_one", promotion::other_then_one}};

}  // namespace

void add_norm_variants(std::vector<rule>& all) {
  const auto add = [&](std::string name, std::string what, change of,
                       norm_reading how) {
    all.push_back(variant(
        std::move(name), std::move(what),
        [how](const problem& p) { return norm_by(p, how); }, of));
  };
  add("rounded before the weight",
      "x rstd is rounded to BF16 before the weight multiplies it", change::more,
      {{}, true});
  add("weight plus 1", "the weight is 1 + w", change::more, {{}, false, true});
  const std::pair<const char*, std::uint64_t> others[] = {
      {"1e-5", 0x3727c5ac},
      {"1e-8", 0x322bcc77},
      {"0", 0},
      {"1e-6", 0x358637bd},
      {"1e-12", 0x2b8cbccc}};
  for (const auto& [text, eps] : others) {
    all.push_back(
        variant(fmt::format("eps {}", text), fmt::format("eps is {}", text),
                [eps = eps](const problem& p) { return with_eps(p, eps); }));
  }
  for (const std::size_t count : {1U, 32U, 64U, 128U, 256U, 512U, 1024U}) {
    for (const std::ptrdiff_t run : {1, 2, 4, 8}) {
      for (const bool fused : {true, false}) {
        if (count == 1 && run > 1) continue;
        const char* const terms = fused ? "" : ", squares rounded";
        add(fmt::format("{} lanes of {}{}", count, run, terms),
            fmt::format("squares are added in {} lanes of {}, then as a tree{}",
                        count, run, terms),
            fused ? change::order : change::more, {lanes{count, run, fused}});
      }
    }
  }
}

void add_gemm_variants(const problem& claim, std::vector<rule>& all) {
  const auto add = [&](std::string name, std::string what, change of,
                       const std::function<void(fuzz::settings&)>& changed) {
    problem q = claim;
    changed(q.with);
    const bool has = fuzz::info_of(fuzz::target::gemm).refuse(q.with).empty();
    if (!has) return;
    all.push_back(variant(
        std::move(name), std::move(what),
        [changed](problem p) {
          changed(p.with);
          return claimed_outputs(p);
        },
        of));
  };
  for (const std::int32_t splits : {1, 2, 3, 4, 5, 6, 7, 8, 16, 32}) {
    add(fmt::format("splits {}", splits),
        fmt::format("K is cut into {} ranges", splits), change::order,
        [splits](fuzz::settings& s) { s.gemm.splits = splits; });
  }
  for (const std::int32_t interval : {0, 16, 32, 64, 128, 256, 512, 1024}) {
    add(fmt::format("interval {}", interval),
        interval == 0
            ? "sums never leave the accumulator"
            : fmt::format("sums leave the accumulator every {} of K", interval),
        change::order,
        [interval](fuzz::settings& s) { s.gemm.interval = interval; });
  }
  for (const auto& [name, acc] : accumulators()) {
    add("accumulator " + name, "sums are those of " + name, change::accumulator,
        [acc = acc](fuzz::settings& s) {
          s.unit.acc = acc;
          s.gemm.acc = acc;
        });
    add("accumulator " + name + ", interval 0",
        "sums are those of " + name + ", which they never leave",
        change::accumulator, [acc = acc](fuzz::settings& s) {
          s.unit.acc = acc;
          s.gemm.acc = acc;
          s.gemm.interval = 0;
        });
  }
  for (const auto& [name, update] : updates) {
    add(fmt::format("update {}", name),
        fmt::format("partial sums join the FP32 sum by {}", name), change::more,
        [update = update](fuzz::settings& s) { s.gemm.update = update; });
  }
}

}  // namespace zeroulp::parity
