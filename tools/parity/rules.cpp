// What an operator does: the problem of its tensors, and the rule that gives
// its outputs.

#include "tools/parity/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "fuzz/explain/settings_text.hpp"
#include "fuzz/explain/suspects.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

using fuzz::matrix;
using fuzz::outputs;
using fuzz::problem;
using fuzz::target;

/// A setting that follows from the type of an operand's or output's tensor.
struct followed {
  target is;
  const char* setting;
  const char* tensor_of;
};
constexpr followed settings_that_follow[] = {
    {target::quantize, "from", "x"},   {target::quantize, "to", "codes"},
    {target::rms_norm, "from", "x"},   {target::rms_norm, "weight", "w"},
    {target::rms_norm, "value", "y"},  {target::rms_norm, "to", "codes"},
    {target::swiglu, "from", "g"},     {target::swiglu, "value", "h"},
    {target::swiglu, "to", "h_codes"}, {target::gemm, "output", "d"},
    {target::dispatch, "from", "x"},   {target::dispatch, "to", "codes"}};

/// The chain's settings after those that follow from types.
std::string settings_text(const chain_operator& o, const dump& types) {
  std::string text;
  for (const followed& f : settings_that_follow) {
    if (f.is != o.is) continue;
    const std::string* tensor = o.reads_as(f.tensor_of);
    if (tensor == nullptr) tensor = o.makes_as(f.tensor_of);
    if (tensor == nullptr || !types.has(*tensor)) continue;
    if (const auto held = types.format_of(*tensor)) {
      text += fmt::format("{}={},", f.setting, name_of(*held));
    }
  }
  text += o.with;
  if (text.ends_with(',')) text.pop_back();
  return text;
}

/// A row or a column, whichever way the tensor lies.
void orient(matrix& m, const fuzz::operand_spec& spec) {
  const std::ptrdiff_t count = m.rows * m.cols;
  if (spec.rows.name == 0 && m.rows != 1) {
    m.rows = 1;
    m.cols = count;
  } else if (spec.cols.name == 0 && m.cols != 1) {
    m.rows = count;
    m.cols = 1;
  }
}

/// The share of the differing elements from which on a cause is the rule.
constexpr double most_of_it = 0.9;
constexpr std::uint64_t usual_eps = 0x358637bd;  // 1e-6

}  // namespace

problem problem_of(const chain_operator& o, const dump& types,
                   const tensor_source& source) {
  problem p;
  p.what = o.is;
  p.with = fuzz::settings_of(o.is, settings_text(o, types));
  const auto specs = fuzz::info_of(o.is).operands(p.with);
  for (const auto& spec : specs) {
    const std::string* const tensor = o.reads_as(spec.name);
    if (tensor == nullptr) {
      p.in.emplace_back(spec.name, spec.type, 0, 0);
      continue;
    }
    matrix m =
        source(*tensor, spec.name, spec.type, spec.rows.name, spec.rows.group);
    orient(m, spec);
    p.in.push_back(std::move(m));
  }
  const auto m = fuzz::length_of(p, 'm');
  const auto n = fuzz::length_of(p, 'n');
  const auto k = fuzz::length_of(p, 'k');
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (p.in[i].rows > 0 || specs[i].optional) continue;
    const bool is_eps = specs[i].name == std::string_view("eps");
    p.in[i] = make_operand(specs[i], m, n, k, is_eps ? usual_eps : 0);
  }
  return p;
}

namespace {

outputs with_operand(problem p, std::size_t i, const format& through) {
  matrix& x = p.in[i];
  for (auto& word : x.words) {
    word = recode(through, recode(x.type, word, through), x.type);
  }
  return fuzz::claimed_outputs(p);
}

outputs with_output(const problem& p, const std::string& name,
                    const format& through) {
  outputs all = fuzz::claimed_outputs(p);
  for (matrix& x : all) {
    if (x.name != name) continue;
    for (auto& word : x.words) {
      word = recode(through, recode(x.type, word, through), x.type);
    }
  }
  return all;
}

float as_float(format f, std::uint64_t code) {
  return bit_cast<float>(static_cast<std::uint32_t>(recode(f, code, fp32)));
}
std::uint64_t rounded(float x, format f) {
  return recode(fp32, bit_cast<std::uint32_t>(x), f);
}

matrix* find(outputs& all, std::string_view name) {
  for (matrix& x : all) {
    if (x.name == name) return &x;
  }
  return nullptr;
}

/// y = value(bf16(x rstd) w): as Hugging Face's modules have it.
outputs norm_rounded_before_weight(const problem& p) {
  outputs all = fuzz::claimed_outputs(p);
  const matrix& x = p.in[0];
  const matrix& w = p.in[1];
  const matrix rstd = *find(all, "rstd");
  matrix& y = *find(all, "y");
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const float r = as_float(fp32, rstd.words[static_cast<std::size_t>(i)]);
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float scaled =
          as_float(bf16, rounded(as_float(x.type, x(i, j)) * r, bf16));
      y(i, j) = rounded(scaled * as_float(w.type, w(0, j)), y.type);
    }
  }
  return all;
}

/// h = value(bf16(silu(g)) u): as torch's silu of a BF16 tensor has it.
outputs gate_rounded_before_product(const problem& p) {
  outputs all = fuzz::claimed_outputs(p);
  problem alone = p;
  alone.with.value = bf16;
  for (auto& word : alone.in[1].words) {
    word = recode(fp32, 0x3f800000, alone.in[1].type);
  }
  outputs gates = fuzz::claimed_outputs(alone);
  const matrix& gate = *find(gates, "h");
  const matrix& u = p.in[1];
  matrix& h = *find(all, "h");
  for (std::size_t i = 0; i < h.words.size(); ++i) {
    h.words[i] = rounded(
        as_float(bf16, gate.words[i]) * as_float(u.type, u.words[i]), h.type);
  }
  return all;
}

outputs with_eps(problem p, std::uint64_t eps) {
  for (matrix& x : p.in) {
    if (x.name == std::string_view("eps")) x.words[0] = eps;
  }
  return fuzz::claimed_outputs(p);
}

/// What implementations do besides definitions, misreadings and faults.
std::vector<rule> variants_of(const question& q) {
  std::vector<rule> all;
  const auto add = [&](std::string name, std::string what, auto answer) {
    all.push_back({std::move(name), std::move(what), "", std::move(answer)});
  };
  if (q.p.what == target::rms_norm) {
    add("rounded before the weight",
        "x rstd is rounded to BF16 before the weight multiplies it",
        norm_rounded_before_weight);
    const std::pair<const char*, std::uint64_t> others[] = {
        {"1e-5", 0x3727c5ac}, {"1e-8", 0x322bcc77}, {"0", 0}};
    for (const auto& [text, eps] : others) {
      add(fmt::format("eps {}", text), fmt::format("eps is {}", text),
          [eps = eps](const problem& p) { return with_eps(p, eps); });
    }
  }
  if (q.p.what == target::quantize) {
    for (const auto& convention : named_conventions) {
      for (const auto& [scale, kind] : named_scale_kinds) {
        add(fmt::format("{}, scales {}", convention.name, scale),
            fmt::format("by the convention {} with scales of {}",
                        convention.name, scale),
            [&convention, kind = kind](problem p) {
              p.with.how = convention;
              p.with.scale = kind;
              return fuzz::claimed_outputs(p);
            });
      }
    }
  }
  if (q.p.what == target::gemm) {
    for (const std::int32_t splits : {1, 2, 3, 4, 8, 16}) {
      add(fmt::format("splits {}", splits),
          fmt::format("with K in {} ranges", splits), [splits](problem p) {
            p.with.gemm.splits = splits;
            return fuzz::claimed_outputs(p);
          });
    }
  }
  if (q.p.what == target::swiglu) {
    add("gate rounded", "silu(g) is rounded to BF16 before u multiplies it",
        gate_rounded_before_product);
  }
  const format narrow[] = {bf16, fp16, e4m3};
  for (std::size_t i = 0; i < q.p.in.size(); ++i) {
    const matrix& x = q.p.in[i];
    if (x.type != fp32 && x.type != bf16 && x.type != fp16) continue;
    for (const format f : narrow) {
      if (f == x.type || x.words.empty()) continue;
      add(fmt::format("{} through {}", x.name, name_of(f)),
          fmt::format("{} was rounded to {} on its way", x.name, name_of(f)),
          [i, f](const problem& p) { return with_operand(p, i, f); });
    }
  }
  for (const matrix& x : q.made) {
    if (x.type != fp32 && x.type != bf16) continue;
    for (const format f : narrow) {
      if (f == x.type) continue;
      const std::string name = x.name;
      add(fmt::format("{} through {}", name, name_of(f)),
          fmt::format("{} was rounded to {} and widened", name, name_of(f)),
          [name, f](const problem& p) { return with_output(p, name, f); });
    }
  }
  return all;
}

/// Whether `answer` has every bit of what was made.
bool gives(const outputs& answer, const outputs& made) {
  return std::all_of(made.begin(), made.end(), [&](const matrix& x) {
    return std::any_of(answer.begin(), answer.end(), [&](const matrix& y) {
      return std::string_view(x.name) == y.name && x == y;
    });
  });
}

/// Whether a variant is a rule of this problem, and has every bit.
bool answers(const rule& v, const question& q) {
  try {
    return gives(v.answer(q.p), q.made);
  } catch (const input_error&) {
    return false;  // the library has no such recipe for these operands
  }
}

/// The suspect of an explanation, to be asked again.
std::optional<rule> rule_of(const fuzz::likely_cause& cause, const problem& p) {
  for (auto* list : {fuzz::definitions, fuzz::misreadings, fuzz::faults}) {
    for (fuzz::suspect& s : list(p)) {
      if (s.name == cause.name && s.of == cause.of) {
        return rule{s.name, s.what, "", std::move(s.answer)};
      }
    }
  }
  return {};
}

}  // namespace

rule find_rule(const question& q) {
  if (gives(q.claimed, q.made)) {
    return {"as claimed", "the chain's settings", "", fuzz::claimed_outputs};
  }
  for (rule& v : variants_of(q)) {
    if (answers(v, q)) return std::move(v);
  }
  fuzz::explain_options how;
  how.named = 8;
  const fuzz::explanation found = fuzz::explain(q.p, q.made, how);
  rule near{"", "", "", {}};
  for (const auto& cause : found.likely) {
    // What reads a neighbour's place differs at the edge of a window.
    if (cause.exact() || cause.share() >= most_of_it) {
      if (auto known = rule_of(cause, q.p)) return std::move(*known);
      return {cause.name, cause.what, "", {}};
    }
    if (near.near.empty()) {
      near.near = fmt::format("{} ({:.0f} %)", cause.name, 100 * cause.share());
      near.what = cause.what;
    }
  }
  return near;
}

}  // namespace zeroulp::parity
