// compare --against: says how a kernel's result differs from what a convention
// or a recipe gives, and what may have made it so.

#include "tools/zeroulp/compare/against.hpp"

#include <fmt/format.h>

#ifdef ZEROULP_HAVE_CONFORMANCE
#include <algorithm>
#include <filesystem>
#include <optional>

#include "fuzz/explain/report.hpp"
#include "tools/zeroulp/ignored.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::program {
namespace {

using fuzz::outputs;
using fuzz::problem;

/// A problem and what a kernel gave for it.
struct evidence {
  problem p;
  outputs given;
};

fuzz::matrix to_words(const char* name, format f, const code_matrix& codes) {
  fuzz::matrix m(name, f, codes.rows, codes.cols);
  const auto wide = widen(codes);
  std::copy(wide.data.begin(), wide.data.end(), m.words.begin());
  return m;
}

fuzz::matrix to_words(const char* name, const matrix<std::uint32_t>& bits) {
  fuzz::matrix m(name, fp32, bits.rows, bits.cols);
  std::copy(bits.data.begin(), bits.data.end(), m.words.begin());
  return m;
}

void require_option(const std::string& value, const char* option,
                    const std::string& claim) {
  if (!value.empty()) return;
  throw input_error(
      fmt::format("--against {}: {} is needed, too", claim, option));
}

void refuse_option(const std::string& value, const char* option,
                   const char* why) {
  if (value.empty()) return;
  throw input_error(fmt::format("{}: {}", option, why));
}

/// FP32 numbers, or exponents of ue8m0 as uint8.
fuzz::matrix read_scales(const std::string& file) {
  auto a = read_npy(file);
  while (a.shape.size() < 2) a.shape.push_back(1);
  const auto [m, n] = matrix_shape(a, file);
  fuzz::matrix scales("scales", fp32, m, n);
  const bool exponents = a.type == dtype::u8;
  if (!exponents && a.type != dtype::f32) {
    throw input_error(fmt::format(
        "{}: elements are {}: scales are float32, or uint8 with the exponents "
        "of ue8m0",
        file, descr_of(a.type)));
  }
  visit_bits(a, [&](auto elements) {
    std::transform(elements.begin(), elements.end(), scales.words.begin(),
                   [exponents](auto word) -> std::uint64_t {
                     return exponents ? recode(ue8m0, word, fp32) : word;
                   });
  });
  return scales;
}

evidence of_quantizer(const against_request& q, const named_convention& how) {
  require_option(q.input, "--input", q.claim);
  for (const auto& [value, option] :
       {std::pair{q.a, "--a"}, {q.b, "--b"}, {q.c, "--c"}}) {
    refuse_option(value, option, "is of a GEMM, and a convention was claimed");
  }
  evidence e;
  e.p.what = fuzz::target::quantize;
  fuzz::settings& s = e.p.with;
  s.how = how;
  fuzz::matrix codes, scales;
  if (std::filesystem::is_directory(q.result)) {
    for (const auto& [value, option] : {std::pair{q.scales, "--scales"},
                                        {q.format, "--format"},
                                        {q.group, "--group"},
                                        {q.scale, "--scale"}}) {
      refuse_option(value, option, "a tensor directory says it already");
    }
    const tensor t = read_tensor(q.result);
    s.to = t.element;
    s.group = t.group;
    s.scale = t.scale;
    codes = to_words("codes", s.to, t.codes);
    scales = to_words("scales", t.scales);
  } else {
    s.to = parse_format(q.format.empty() ? "e4m3" : q.format);
    check_target(s.to, "--format");
    if (!q.group.empty()) s.group = parse_group(q.group);
    if (!q.scale.empty()) s.scale = parse_scale_kind(q.scale);
    const auto read = read_npy(q.result);
    codes = to_words("codes", s.to, code_matrix(read, q.result));
    const std::uint64_t beyond = ~low_bits(s.to.bits());
    for (const auto code : codes.words) {
      if ((code & beyond) == 0) continue;
      throw input_error(fmt::format("{}: {:#x} is no code of {}", q.result,
                                    code, name_of(s.to)));
    }
    if (!q.scales.empty()) scales = read_scales(q.scales);
  }
  const auto input = read_input(q.input, q.dtype);
  s.from = input.element;
  e.p.in = {to_words("x", s.from, input.bits),
            fuzz::matrix("history", fp32, 1, 0),
            fuzz::matrix("current", fp32, 1, 1)};
  e.given = {codes};
  if (!scales.words.empty()) e.given.push_back(scales);
  return e;
}

/// An operand with K along its rows, whatever its groups.
struct operand {
  format element;
  granularity groups;
  fuzz::matrix codes;
  fuzz::matrix scales;
};

operand read_operand(const std::string& dir, const char* codes,
                     const char* scales) {
  const tensor t = read_tensor(dir);
  operand o{t.element,
            {t.group.rows, t.group.cols},
            to_words(codes, t.element, t.codes),
            to_words(scales, t.scales)};
  o.scales.name = scales;
  if (t.group.cols == 1 && t.group.rows != 1) {
    o.groups = {t.group.cols, t.group.rows};
    o.codes = fuzz::transposed(o.codes);
    o.scales = fuzz::transposed(o.scales);
  }
  return o;
}

evidence of_gemm(const against_request& q, const recipe& claimed) {
  require_option(q.a, "--a", q.claim);
  require_option(q.b, "--b", q.claim);
  for (const auto& [value, option] : {std::pair{q.input, "--input"},
                                      {q.scales, "--scales"},
                                      {q.format, "--format"},
                                      {q.group, "--group"},
                                      {q.scale, "--scale"}}) {
    refuse_option(value, option, "is of a quantizer, and a recipe was claimed");
  }
  operand a = read_operand(q.a, "a", "a_scales");
  operand b = read_operand(q.b, "b", "b_scales");
  if (a.codes.cols != b.codes.cols) {
    throw input_error(fmt::format("{} has K = {}, {} has {}", q.a, a.codes.cols,
                                  q.b, b.codes.cols));
  }
  const auto d = read_input(q.result, q.dtype);
  evidence e;
  e.p.what = fuzz::target::gemm;
  fuzz::settings& s = e.p.with;
  s.gemm = engine::for_operands(claimed, a.element, b.element);
  s.unit = {a.element, b.element, s.gemm.acc};
  s.gemm.a = a.groups;
  s.gemm.b = b.groups;
  s.gemm.output = d.element;
  s.gemm.end = q.c.empty() ? epilogue::store : epilogue::accumulate;
  fuzz::matrix c("c", fp32, a.codes.rows, b.codes.rows);
  if (!q.c.empty()) {
    c = to_words("c", read_fp32(q.c));
    if (c.rows != a.codes.rows || c.cols != b.codes.rows) {
      throw input_error(fmt::format("{}: {} x {}, D has {} x {}", q.c, c.rows,
                                    c.cols, a.codes.rows, b.codes.rows));
    }
  }
  e.p.in = {std::move(a.codes), std::move(b.codes), std::move(a.scales),
            std::move(b.scales), std::move(c)};
  e.given = {to_words("d", d.element, d.bits)};
  return e;
}

/// The convention, unless only a recipe has the name.
evidence read_evidence(const against_request& q) {
  std::optional<named_convention> convention;
  try {
    convention = parse_convention(q.claim);
  } catch (const input_error& e) {
    const bool is_recipe =
        std::any_of(all_recipes().begin(), all_recipes().end(),
                    [&q](const auto& r) { return r.name == q.claim; });
    if (!is_recipe) {
      throw input_error(
          fmt::format("--against: {}; nor is it a recipe: "
                      "zeroulp recipes lists them",
                      e.what()));
    }
  }
  return convention ? of_quantizer(q, *convention)
                    : of_gemm(q, parse_recipe(q.claim).value);
}

}  // namespace

void run_against(const against_request& q, outcome& out) {
  const evidence e = read_evidence(q);
  fuzz::explain_options how;
  how.ignored = fuzz::kinds_of(parse_ignored(q.ignored));
  const auto found = fuzz::explain(e.p, e.given, how);
  out.status = found.same() ? 0 : 1;
  q.as_json ? print_json(fuzz::to_json(found, q.claim))
            : print(fuzz::to_text(found, q.claim));
}

}  // namespace zeroulp::program

#else

void zeroulp::program::run_against(const against_request&, outcome&) {
  throw input_error(
      "compare --against: this build has no MPFR, GMP or Boost, and with them "
      "the part that names causes is left out: install them and build again");
}

#endif
