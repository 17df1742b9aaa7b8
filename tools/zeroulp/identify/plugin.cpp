// identify plugin: which definitions give a plug-in's bits.

#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/identify/plugin.hpp"

#include <fmt/format.h>

#include "conformance/cases/gemm_cases.hpp"
#include "conformance/cases/matrix_cases.hpp"
#include "fuzz/cases/options.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/identify/report.hpp"
#include "tools/zeroulp/plugin/plugins.hpp"

namespace zeroulp::program {
namespace {

using namespace conformance;
using conformance::plugin::claim;
using conformance::plugin::kind;
using conformance::plugin::plugin_code;
using oracle::grid;
using shared_code = std::shared_ptr<plugin_code>;

/// A row of groups whose amaxes and elements lie where definitions part.
void fill_boundary_row(const fuzz::settings& s, grid& x, std::ptrdiff_t row,
                       counter_rng& rng) {
  const auto edges = boundary_amaxes(s.to);
  const std::ptrdiff_t width = s.group.width(x.cols);
  for (std::ptrdiff_t j = 0; j < x.cols; j += width) {
    std::uint32_t amax = disputed_amax(s.to, rng);
    if (rng.one_in(3)) {
      amax = edges[rng.below(static_cast<std::uint32_t>(edges.size()))];
    }
    const bool usable = amax > 0x01000000 && amax < 0x7f000000;
    if (!usable) amax = exact_amax(s.to, 5, rng.between(-20, 10), rng);
    const float max = to_float(decode(s.to, s.to.max_code()));
    const auto values = midpoint_row(s.to, bit_cast<float>(amax) / max, amax,
                                     rng.below(8), 1 + rng.below(7));
    for (std::ptrdiff_t n = 0; n < std::min(width, x.cols - j); ++n) {
      const auto at = static_cast<std::size_t>(n);
      const std::uint32_t bits = at < values.size() ? values[at] : 0;
      x(row, j + n) = static_cast<std::uint32_t>(
          recode(fp32, bits, s.from, {}, keep_specials));
    }
  }
}

grid evidence_for(const fuzz::settings& s, bool specials) {
  const std::ptrdiff_t m = s.group.rows > 1 ? 2 * s.group.rows : 64;
  const std::ptrdiff_t n = 512;
  constexpr matrix_family families[] = {
      matrix_family::normal,     matrix_family::outliers,
      matrix_family::zero_tiles, matrix_family::wide,
      matrix_family::subnormal,  matrix_family::specials};
  grid x(m, n);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    counter_rng rng(1, static_cast<std::uint64_t>(i));
    const auto nth = static_cast<std::size_t>(i % 9);
    if (nth >= (specials ? 6 : 5)) {
      fill_boundary_row(s, x, i, rng);
      continue;
    }
    const grid row = make_matrix(families[nth], s.from, 1, n, rng);
    for (std::ptrdiff_t j = 0; j < n; ++j) x(i, j) = row(0, j);
  }
  return x;
}

codes_in view_of(const grid& g) { return {g.words.data(), g.rows, g.cols}; }
codes_out view_of(grid& g) { return {g.words.data(), g.rows, g.cols}; }

void need_answer(const shared_code& code, std::uint64_t before) {
  if (code->calls() == before) {
    throw input_error(fmt::format(
        "{} refuses the matrices that would identify it", code->name()));
  }
}

plugin_identity identify_quantize(const shared_code& code, const claim& c,
                                  bool specials) {
  const fuzz::settings s = settings_of(c);
  fuzz::quantizer_evidence e;
  e.x = evidence_for(s, specials);
  e.from = s.from;
  e.codes = grid(e.x.rows, e.x.cols);
  e.code_bits = s.to.bits() <= 8 ? 8 : s.to.bits() <= 16 ? 16 : 32;
  e.scales = grid(ceil_div(e.x.rows, s.group.height(e.x.rows)),
                  ceil_div(e.x.cols, s.group.width(e.x.cols)));
  e.to = s.to;
  e.group = s.group;
  const auto before = code->calls();
  plugin::implementation_of(code).quantize(
      {s.from, s.to, s.how.value, s.scale, s.group},
      view_of(std::as_const(e.x)), view_of(e.codes), view_of(e.scales));
  need_answer(code, before);
  const auto a = fuzz::identify_quantizer(e);
  return {a.exact,
          !specials,
          a.exact ? a.found.names : std::vector<std::string>{},
          e.codes.words.size() + e.scales.words.size(),
          answer_text(e, a),
          answer_json(e, a)};
}

plugin_identity identify_gemm_claim(const shared_code& code, const claim& c) {
  const fuzz::settings s = settings_of(c);
  const recipe r = fuzz::recipe_of(s);
  constexpr std::ptrdiff_t m = 16, n = 144, k = 1024;
  counter_rng rng(1, 0);
  const auto operand = [&](format f, granularity by, std::ptrdiff_t rows) {
    fuzz::operand_evidence x{f, grid(rows, k),
                             grid(by.mn > 0 ? ceil_div(rows, by.mn) : 1,
                                  by.k > 0 ? ceil_div(k, by.k) : 1),
                             "codes", "scales"};
    for (auto& w : x.codes.words) w = make_code(f, code_family::normal, rng);
    for (auto& w : x.scales->words) {
      w = make_scale_bits(scale_family::normal, rng);
    }
    return x;
  };
  fuzz::gemm_evidence e;
  e.a = operand(s.unit.a, r.a, m);
  e.b = operand(s.unit.b, r.b, n);
  e.d = grid(m, n);
  e.output = r.output;
  grid before_sum(m, n);
  if (r.end == epilogue::accumulate) {
    for (auto& w : before_sum.words) {
      w = make_scale_bits(scale_family::normal, rng);
    }
    e.c = before_sum;
  }
  const auto before = code->calls();
  const auto side = [](const fuzz::operand_evidence& x) {
    return gemm_operand<std::uint32_t>{x.f, view_of(x.codes),
                                       view_of(*x.scales)};
  };
  plugin::implementation_of(code).gemm(r, side(e.a), side(e.b),
                                       view_of(std::as_const(before_sum)),
                                       view_of(e.d));
  need_answer(code, before);
  const auto a = fuzz::identify_gemm(e);
  return {a.exact,
          true,
          a.exact ? a.found.names : std::vector<std::string>{},
          e.d.words.size(),
          answer_text(e, a),
          answer_json(e, a)};
}

bool is_identifiable(const claim& c) {
  return c.what == kind::quantize || c.what == kind::gemm;
}

struct plugin_request {
  std::string file;
  bool as_json = false;
  plugin_user user;
};

void run_plugin(plugin_request& q, outcome& out) {
  if (!is_plugin(q.file)) {
    throw input_error(
        fmt::format("{}: a plug-in is LIB.so or python:FILE.py", q.file));
  }
  const auto code = q.user.find(q.file);
  json all = json::array();
  std::string text;
  for (const claim& c : code->claims()) {
    if (!is_identifiable(c)) continue;
    const auto found = identify_claim(code, c);
    if (!found.exact) out.status = 1;
    all.push_back(found.as_json);
    all.back()["claim"] = c.text();
    all.back()["finite_inputs_only"] = found.finite;
    text += fmt::format("{}{}\n{}", c.text(),
                        found.finite && c.what == kind::quantize
                            ? " (finite inputs alone)"
                            : "",
                        found.text);
  }
  if (all.empty()) {
    throw input_error(
        fmt::format("{} claims neither quantize nor gemm, and others have no "
                    "definitions to choose from",
                    q.file));
  }
  text += q.user.seal_note();
  const auto left_running = q.user.leftovers();
  if (!left_running.empty()) {
    out.status = 1;
    all.back()["left_running"] = left_running;
    text += left_running + "\n";
  }
  q.as_json ? print_json(all) : print(text);
}

}  // namespace

plugin_identity identify_claim(const shared_code& code, const claim& c) try {
  if (c.what == kind::gemm) return identify_gemm_claim(code, c);
  auto found = identify_quantize(code, c, true);
  if (found.exact) return found;
  // Kernels often have no rule for NaN and Inf.
  auto finite = identify_quantize(code, c, false);
  return finite.exact ? finite : found;
} catch (const call_failure& failure) {
  // Who reads this knows neither whose call it was nor which.
  throw call_failure(failure.kind,
                     fmt::format("{}: asked for {}, it {}", code->file(),
                                 c.text(), failure.what()));
}

std::string adopt_identities(const shared_code& code, fuzz::target t) {
  std::string text;
  for (std::size_t i = 0; i < code->claims().size(); ++i) {
    const claim& c = code->claims()[i];
    if (plugin::target_of(c.what) != t || !plugin::lacks_name(c)) continue;
    const auto found = identify_claim(code, c);
    if (found.names.empty()) {
      throw input_error(fmt::format(
          "{} does not say what it follows, and no named {} gives "
          "its bits: see zeroulp identify plugin",
          code->name(), c.what == kind::gemm ? "recipe" : "convention"));
    }
    code->adopt(i, found.names[0]);
    text += fmt::format(
        "claims no {}: identified as {}{}\n",
        c.what == kind::gemm ? "recipe" : "convention",
        fmt::join(found.names, ", "),
        found.finite && c.what == kind::quantize ? " on finite inputs" : "");
  }
  return text;
}

void add_identify_plugin(cli::app& identify, outcome& out) {
  auto* sub = add_command(identify, "plugin",
                          "Which convention or recipe a plug-in follows",
                          "zeroulp identify plugin ./mine.so");
  auto q = std::make_shared<plugin_request>();
  sub->add_option("LIB", q->file, "LIB.so or python:FILE.py")->required();
  sub->add_flag("--json", q->as_json);
  q->user.add_options(sub);
  sub->callback([q, &out] { run_plugin(*q, out); });
}

}  // namespace zeroulp::program
#endif
