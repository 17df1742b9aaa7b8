// Elements: groups of one row, whose first element is the amax.

#include <algorithm>
#include <cmath>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/nearest_code.hpp"

namespace zeroulp::conformance {
namespace {

void check_row(const implementation& i, const quantizer_case& q,
               const std::vector<std::uint32_t>& row, verdict& v) {
  oracle::grid x(1, static_cast<std::ptrdiff_t>(row.size()));
  x.words = row;
  check_quantized(i, q, x, placement::dense, placement::dense, v);
}

/// The codes of the magnitudes 0 to `last` (codes of q.from) in ascending
/// order. An element's code never falls as the element grows, so that between
/// two equal codes all are equal; nothing is assumed of div.full.
void fill_codes(const quantizer& q, group_scale s, std::uint32_t first,
                std::uint32_t last, std::vector<std::uint32_t>& codes) {
  const auto code_at = [&](std::uint32_t x) {
    const double value = oracle::code_value(q.from, x);
    return oracle::quantize_element(q, s, static_cast<float>(value));
  };
  codes[first] = code_at(first);
  codes[last] = code_at(last);
  const auto fill = [&](auto self, std::uint32_t a, std::uint32_t b) -> void {
    const bool flat = codes[a] == codes[b] &&
                      q.how.element != element_rule::approximate_quotient;
    if (flat) {
      std::fill(codes.begin() + a, codes.begin() + b, codes[a]);
      return;
    }
    const std::uint32_t middle = (a + b) / 2;
    if (middle == a) return;
    codes[middle] = code_at(middle);
    self(self, a, middle);
    self(self, middle, b);
  };
  fill(fill, first, last);
}

/// All BF16 numbers up to `amax`, both signs, in one group.
void check_all_elements(const implementation& i, const quantizer_case& q,
                        std::uint32_t amax, verdict& v) {
  const auto n = static_cast<std::ptrdiff_t>(amax) + 1;
  oracle::grid x(2, n);
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    x(0, j) = static_cast<std::uint32_t>(j);
    x(1, j) = static_cast<std::uint32_t>(j) | 0x8000u;
  }
  oracle::grid codes(2, n);
  oracle::grid scale(1, 1);
  const auto as_view = [](oracle::grid& g) {
    return codes_out(g.words.data(), g.rows, g.cols);
  };
  i.quantize(q.value(), as_view(x), as_view(codes), as_view(scale));
  const group_scale s = oracle::make_scale(q.value(), amax << 16);
  std::vector<std::uint32_t> want(static_cast<std::size_t>(n));
  fill_codes(q.value(), s, 0, amax, want);
  const auto sign = static_cast<std::uint32_t>(oracle::sign_bit(q.to.value));
  output_digest got, right;
  bool held = scale.words[0] == s.scale;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const std::uint32_t code = want[static_cast<std::size_t>(j)];
    got.add(codes(0, j)), got.add(codes(1, j));
    right.add(code), right.add(code | sign);
    held = held && codes(0, j) == code && codes(1, j) == (code | sign);
  }
  v.cases += 2 * static_cast<std::uint64_t>(n);
  if (held) {
    v.got.add_sum(got.sum()), v.expected.add_sum(right.sum());
    return;
  }
  // The usual way finds and describes the difference.
  check_quantized(i, q, x, placement::dense, placement::dense, v);
}

/// The named ones, and ours with a rounding that overflows first.
std::vector<named_convention> conventions_of_elements() {
  std::vector<named_convention> all(std::begin(named_conventions),
                                    std::end(named_conventions));
  for (const auto through : {pre_rounding::to_bf16, pre_rounding::to_fp16}) {
    all.push_back(named_conventions[0]);
    all.back().name = "zeroulp, rounded first";
    all.back().value.through = through;
  }
  return all;
}

}  // namespace

verdict special_elements(const implementation& i, const effort& e) {
  verdict v;
  const double nan = std::nan("");
  const double infinity = HUGE_VAL;
  const std::vector<std::vector<double>> strewn{
      {},         {nan},       {-nan},
      {infinity}, {-infinity}, {nan, -infinity},
      {0.0},      {-0.0},      {infinity, nan, -0.0}};
  const std::vector<const char*> sources{"fp32", "bf16", "fp16"};
  for (const named_format& to : targets(e, 6)) {
    for (const named_convention& how : conventions_of_elements()) {
      for (const named_scale_kind& kind : named_scale_kinds) {
        if (e.level == 0 && kind.value > scale_kind::pow2) continue;
        for (const char* from : sources) {
          const quantizer_case q{format_named(from), to, how, kind, {1, 0}};
          for (const double amax :
               {0.0, 0x1p-149, 0x1p-133, 0x1p-24, 1e-9, 1.0, 449.0, 65504.0,
                0x1.fep127, 0x1.fffffep127}) {
            for (const auto& specials : strewn) {
              std::vector<std::uint32_t> row;
              for (const double x :
                   {amax, amax / 3, -amax, -amax / 4096, 0.0, -0.0}) {
                row.push_back(code_near(q.from.value, x));
              }
              const policy keep_nan{false, false, true, nan_payload::quiet,
                                    false};
              for (const double x : specials) {
                row.push_back(static_cast<std::uint32_t>(
                    oracle::nearest_code(q.from.value, x, 1, keep_nan)));
              }
              check_row(i, q, row, v);
              if (e.stop_early && v.failures > 0) return v;
            }
          }
        }
      }
    }
  }
  return v;
}

verdict elements_at_midpoints(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t rounds = e.level == 0 ? 1 : e.level == 1 ? 2 : 120;
  std::uint64_t index = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const named_format& to : targets(e, 4)) {
      // At most some 300 codes a row: the others are as the first ones are.
      const std::uint64_t step = oracle::largest_code(to.value) / 300 + 1;
      for (const named_convention& how : named_conventions) {
        for (const named_scale_kind& kind : named_scale_kinds) {
          if (e.level == 0 && kind.value > scale_kind::pow2) continue;
          const quantizer_case q{format_named("fp32"), to, how, kind, {1, 0}};
          for (int choice = 0; choice < 5; ++choice) {
            counter_rng rng(e.seed, index++);
            const std::uint32_t amax =
                choice == 0 ? exact_amax(to.value, 12, rng.between(-9, 9), rng)
                : choice == 1 ? exact_amax(to.value, 3, rng.between(-9, 9), rng)
                : choice == 2 ? disputed_amax(to.value, rng)
                : choice == 3 ? 0x38000000 + (rng.below(0x1000) << 16)
                              : 0x03000000 + rng.below(0x08000000);
            const auto s =
                oracle::to_float(oracle::make_scale(q.value(), amax).scale);
            if (!std::isfinite(s) || s <= 0) continue;
            const std::uint64_t first = step == 1 ? 0 : rng.below(8);
            check_row(i, q, midpoint_row(to.value, s, amax, first, step), v);
            if (e.stop_early && v.failures > 0) return v;
          }
        }
      }
    }
  }
  return v;
}

verdict elements_of_bf16(const implementation& i, const effort& e) {
  verdict v;
  v.exhaustive = e.level >= 3;
  const named_format from = format_named("bf16");
  std::uint64_t index = 0;
  for (const named_format& to :
       {format_named("e4m3"), format_named("e5m6"), format_named("e5m2")}) {
    for (const named_convention& how : named_conventions) {
      for (const auto& kind : {row_named(named_scale_kinds, "fp32"),
                               row_named(named_scale_kinds, "pow2")}) {
        const quantizer_case q{from, to, how, kind, {0, 0}};
        // All elements of some amaxes, at level 3 of all.
        const std::uint32_t stride = e.level >= 3   ? 1
                                     : e.level == 2 ? 331
                                     : e.level == 1 ? 10'007
                                                    : 0x8000;
        const auto offset = static_cast<std::uint32_t>(e.seed % stride);
        for (std::uint32_t amax = offset; e.level > 0 && amax < 0x7f80;
             amax += stride) {
          check_all_elements(i, q, amax, v);
          if (e.stop_early && v.failures > 0) return v;
        }
        for (int round = 0; round < (e.level == 0 ? 8 : 64); ++round) {
          counter_rng rng(e.seed, index++);
          const std::uint32_t amax = 0x3800 + rng.below(0x1000);
          std::vector<std::uint32_t> row{amax};
          for (int n = 0; n < 200; ++n) {
            const std::uint32_t x = amax - rng.below(amax < 0x700 ? 1 : 0x700);
            row.push_back(x | (rng.one_in(2) ? 0x8000u : 0));
          }
          check_row(i, q, row, v);
          if (e.stop_early && v.failures > 0) return v;
        }
      }
    }
  }
  return v;
}

}  // namespace zeroulp::conformance
