// Variants of the fuzzer's targets, and of every operator's operands.

#include "tools/parity/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/parity/numbers.hpp"
#include "zeroulp/core/convention.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

using fuzz::target;

matrix* find(outputs& all, std::string_view name) {
  for (matrix& x : all) {
    if (x.name == name) return &x;
  }
  return nullptr;
}

outputs with_operand(problem p, std::size_t i, const format& f) {
  matrix& x = p.in[i];
  for (auto& word : x.words) word = through(f, word, x.type);
  return claimed_outputs(p);
}

outputs with_output(const problem& p, const std::string& name,
                    const format& f) {
  outputs all = claimed_outputs(p);
  for (matrix& x : all) {
    if (x.name != name) continue;
    for (auto& word : x.words) word = through(f, word, x.type);
  }
  return all;
}

/// h = value(bf16(silu(g)) u): as torch's silu of a BF16 tensor has it.
outputs gate_rounded_before_product(const problem& p) {
  outputs all = claimed_outputs(p);
  problem alone = p;
  alone.with.value = bf16;
  for (auto& word : alone.in[1].words) {
    word = recode(fp32, fp32_one, alone.in[1].type);
  }
  outputs gates = claimed_outputs(alone);
  const matrix& gate = *find(gates, "h");
  const matrix& u = p.in[1];
  matrix& h = *find(all, "h");
  for (std::size_t i = 0; i < h.words.size(); ++i) {
    h.words[i] = rounded(
        as_float(bf16, gate.words[i]) * as_float(u.type, u.words[i]), h.type);
  }
  return all;
}

/// A convention's own kind of scales comes before others: packages have that.
void add_quantizer_variants(std::vector<rule>& all) {
  const auto own = [](const named_convention& c) {
    return c.value.power_of_two ? scale_kind::pow2 : scale_kind::float32;
  };
  for (const bool is_own : {true, false}) {
    for (const auto& convention : named_conventions) {
      for (const auto& [scale, kind] : named_scale_kinds) {
        if ((kind == own(convention)) != is_own) continue;
        all.push_back(
            variant(fmt::format("{}, scales {}", convention.name, scale),
                    fmt::format("by the convention {} with scales of {}",
                                convention.name, scale),
                    [&convention, kind = kind](problem p) {
                      p.with.how = convention;
                      p.with.scale = kind;
                      return claimed_outputs(p);
                    }));
      }
    }
  }
}

void add_swiglu_variants(std::vector<rule>& all) {
  all.push_back(variant("gate rounded",
                        "silu(g) is rounded to BF16 before u multiplies it",
                        gate_rounded_before_product));
  all.push_back(
      variant("gate and u exchanged", "h is silu(u) g", [](problem p) {
        std::swap(p.in[0].words, p.in[1].words);
        return claimed_outputs(p);
      }));
}

/// An output that is a number in FP32, rounded once.
struct rounded_output {
  const char* of;
  const char* output;
  void (*keep_fp32)(problem&);
};
constexpr rounded_output rounded_outputs[] = {
    {"rms_norm", "y", [](problem& p) { p.with.value = fp32; }},
    {"swiglu", "h", [](problem& p) { p.with.value = fp32; }},
    {"gemm", "d", [](problem& p) { p.with.gemm.output = fp32; }},
    {"rope", "y", [](problem& p) { p.with.value = fp32; }},
    {"residual", "y", [](problem& p) { p.with.value = fp32; }}};

outputs with_rounding(const problem& p, const rounded_output& of,
                      rounding mode) {
  outputs all = claimed_outputs(p);
  problem wide = p;
  of.keep_fp32(wide);
  outputs numbers = claimed_outputs(wide);
  const matrix& x = *find(numbers, of.output);
  matrix& y = *find(all, of.output);
  for (std::size_t i = 0; i < y.words.size(); ++i) {
    y.words[i] = rounded(as_float(fp32, x.words[i]), y.type, {mode});
  }
  return all;
}

void add_roundings(const problem& p, const outputs& made,
                   std::vector<rule>& all) {
  constexpr rounding modes[] = {rounding::toward_zero, rounding::nearest_away,
                                rounding::up, rounding::down};
  for (const rounded_output& of : rounded_outputs) {
    const bool has = std::any_of(made.begin(), made.end(), [&](const auto& x) {
      return x.name == std::string_view(of.output) && x.type != fp32;
    });
    if (of.of != p.name() || !has) continue;
    for (const rounding mode : modes) {
      all.push_back(variant(
          fmt::format("{} rounded {}", of.output, name_of(mode)),
          fmt::format("{} is rounded {}", of.output, name_of(mode)),
          [of, mode](const problem& q) { return with_rounding(q, of, mode); }));
    }
  }
}

/// Operands and outputs that went through a narrower format.
void add_round_trips(const problem& p, const outputs& made,
                     std::vector<rule>& all) {
  constexpr std::array<format, 4> narrow = {bf16, fp16, e4m3, e5m2};
  for (std::size_t i = 0; i < p.in.size(); ++i) {
    const matrix& x = p.in[i];
    if (x.type != fp32 && x.type != bf16 && x.type != fp16) continue;
    for (const format f : narrow) {
      if (f == x.type || x.words.empty()) continue;
      all.push_back(variant(
          fmt::format("{} through {}", x.name, name_of(f)),
          fmt::format("{} was rounded to {} on its way", x.name, name_of(f)),
          [i, f](const problem& q) { return with_operand(q, i, f); }));
    }
  }
  for (const matrix& x : made) {
    if (x.type != fp32 && x.type != bf16) continue;
    for (const format f : narrow) {
      if (f == x.type) continue;
      const std::string name = x.name;
      all.push_back(variant(
          fmt::format("{} through {}", name, name_of(f)),
          fmt::format("{} was rounded to {} and widened", name, name_of(f)),
          [name, f](const problem& q) { return with_output(q, name, f); }));
    }
  }
}

}  // namespace

bool keep_fp32(problem& p, std::string_view output) {
  for (const rounded_output& of : rounded_outputs) {
    if (of.of != p.name() || of.output != output) continue;
    of.keep_fp32(p);
    return true;
  }
  return false;
}

std::vector<rule> variants_of(const problem& p, const outputs& made) {
  std::vector<rule> all;
  if (p.is->add_variants != nullptr) p.is->add_variants(p, all);
  if (p.is->of == target::rms_norm) add_norm_variants(all);
  if (p.is->of == target::quantize) add_quantizer_variants(all);
  if (p.is->of == target::gemm) add_gemm_variants(p, all);
  if (p.is->of == target::swiglu) add_swiglu_variants(all);
  add_roundings(p, made, all);
  add_round_trips(p, made, all);
  return all;
}

change change_of(const std::string& suspect) {
  constexpr const char* orders[] = {"mutant:training.rms_norm_in_order",
                                    "mutant:training.rms_norm_lanes_of_four",
                                    "mutant:training.rms_norm_tree_of_halves",
                                    "mutant:training.combine_in_reverse",
                                    "mutant:model.route_sum_by_expert"};
  const bool found =
      std::any_of(std::begin(orders), std::end(orders),
                  [&](const char* order) { return suspect == order; });
  return found ? change::order : change::more;
}

}  // namespace zeroulp::parity
