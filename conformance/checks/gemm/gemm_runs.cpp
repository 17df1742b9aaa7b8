#include "conformance/checks/gemm/gemm_runs.hpp"

#include <fmt/format.h>

#include "conformance/cases/step_cases.hpp"
#include "conformance/oracles/gemm_oracle.hpp"

namespace zeroulp::conformance {
namespace {

constexpr std::uint32_t nobody = 0xdeadbeef;

std::uint32_t beyond(format f) {
  return static_cast<std::uint32_t>(largest_code(f) + 1);
}

/// The operands of a case, laid out.
struct laid_out {
  explicit laid_out(const gemm_case& g, placement how)
      // What nobody may read is Inf or NaN.
      : a(how, g.m(), g.k(), beyond(g.fa)),
        b(how, g.n(), g.k(), beyond(g.fb)),
        sa(how, g.sa.rows, g.sa.cols, 0x7fc00000),
        sb(how, g.sb.rows, g.sb.cols, 0x7fc00000),
        c(how, g.m(), g.n(), 0x7fc00000),
        d(how, g.m(), g.n(), nobody) {
    a.load(g.a);
    b.load(g.b);
    sa.load(g.sa);
    sb.load(g.sb);
    c.load(g.c);
  }

  gemm_operand<std::uint32_t> operand(format f, placed<std::uint32_t>& codes,
                                      placed<std::uint32_t>& scales) {
    gemm_operand<std::uint32_t> x{f, codes.input()};
    if (scales.input().rows > 0) x.scales = scales.input();
    return x;
  }

  placed<std::uint32_t> a, b, sa, sb, c, d;
};

}  // namespace

gemm_result run_gemm(const implementation& i, const gemm_case& g) {
  laid_out x(g, g.layout);
  // A recipe that stores must not read C.
  i.gemm(g.r, x.operand(g.fa, x.a, x.sa), x.operand(g.fb, x.b, x.sb),
         x.c.input(), x.d.view());
  return {x.d.read(), x.d.guards_hold()};
}

oracle::grid expected_gemm(const gemm_case& g) {
  laid_out x(g, placement::dense);
  oracle::promoted_gemm(g.r, x.operand(g.fa, x.a, x.sa),
                        x.operand(g.fb, x.b, x.sb), x.c.input(), x.d.view());
  return x.d.read();
}

std::string describe_gemm(const gemm_case& g) {
  const auto& r = g.r;
  return fmt::format(
      "e{}m{} x e{}m{}, m={} n={} k={}, L={} F={} interval={} update={} "
      "A={}x{}{} B={}x{}{} splits={} accumulate={} output=m{} layout={}",
      g.fa.exp_bits, g.fa.man_bits, g.fb.exp_bits, g.fb.man_bits, g.m(), g.n(),
      g.k(), r.acc.length, r.acc.fraction_bits, r.interval,
      static_cast<int>(r.update), r.a.mn, r.a.k,
      g.sa.rows == 0 ? " (no scales)" : "", r.b.mn, r.b.k,
      g.sb.rows == 0 ? " (no scales)" : "", r.splits,
      r.end == epilogue::accumulate, r.output.man_bits,
      static_cast<int>(g.layout));
}

bool count_result(const gemm_case& g, const gemm_result& got,
                  const oracle::grid& expected, const std::string& what,
                  verdict& v) {
  const bool held = got.d == expected && got.guards_hold;
  v.got.add(got.d.words), v.expected.add(expected.words);
  v.count(held, [&] {
    const std::string text = describe_gemm(g) + ": ";
    for (std::ptrdiff_t i = 0; i < expected.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < expected.cols; ++j) {
        if (got.d(i, j) == expected(i, j)) continue;
        std::string scales;
        if (!g.sa.words.empty()) {
          scales += fmt::format(" sa[0]={:08x}", g.sa.words[0]);
        }
        if (!g.sb.words.empty()) {
          scales += fmt::format(" sb[0]={:08x}", g.sb.words[0]);
        }
        return text + fmt::format("D({}, {}){} c={:08x} got {:08x}, {} {:08x}",
                                  i, j, scales, g.c(i, j), got.d(i, j), what,
                                  expected(i, j));
      }
    }
    return text + "wrote around D";
  });
  return held;
}

}  // namespace zeroulp::conformance
