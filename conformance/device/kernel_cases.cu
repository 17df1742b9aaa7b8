// The kernels on the cases of the case engine, against the core on the host. A
// case that differs is shrunk; its token repeats it:
//
//   zeroulp fuzz TARGET --against gpu --replay TOKEN

#include "conformance/device/device.hpp"
#include "conformance/device/test.hpp"
#include "fuzz/finding.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/token.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Returns where the two differ. Not, of course, where a kernel serves no such
/// settings, as shrinking tries some.
std::optional<fuzz::difference> find_difference(const fuzz::problem& p,
                                                const implementation& gpu,
                                                const implementation& core) {
  const auto& info = fuzz::info_of(p.what);
  try {
    return fuzz::first_difference(info.run(gpu, p), info.run(core, p));
  } catch (const input_error&) {
    return {};
  }
}

verdict check_cases(fuzz::target t, std::uint64_t few, std::uint64_t many,
                    const effort& e) {
  verdict v;
  const implementation core = core_implementation();
  const implementation gpu = gpu_implementation();
  const auto& info = fuzz::info_of(t);
  const std::uint64_t count = cases(e, few, many);
  for (std::uint64_t n = 0; n < count; ++n) {
    const auto p = fuzz::generate(
        t, -1, e.seed, n, [t](fuzz::settings& s) { keep_to_kernels(t, s); });
    const bool held =
        !fuzz::first_difference(info.run(gpu, p), info.run(core, p));
    v.count(held, [&] {
      const auto differ = [&](const fuzz::problem& x) {
        return find_difference(x, gpu, core).has_value();
      };
      const auto small = differ(p) ? fuzz::shrink(p, differ, 2000) : p;
      const auto at = find_difference(small, gpu, core);
      const auto where = at.value_or(fuzz::difference{"not again at "});
      return "case " + std::to_string(n) + ": " + where.output + "(" +
             std::to_string(where.row) + ", " + std::to_string(where.col) +
             "): " + fuzz::to_token(small);
    });
  }
  return v;
}

}  // namespace

check_list kernel_case_checks() {
  const auto check_of = [](const char* name, const char* clauses,
                           fuzz::target t, std::uint64_t few,
                           std::uint64_t many) {
    return device_check(name, clauses, "host", [=](const effort& e) {
      return check_cases(t, few, many, e);
    });
  };
  return {check_of("kernel.quantize.cases", "Q1 Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q10 Q11",
                   fuzz::target::quantize, 60, 20000),
          check_of("kernel.retile.cases", "W1 W2 W3 W4 W5 W7",
                   fuzz::target::retile, 60, 20000),
          check_of("kernel.pack.cases", "P1 P2", fuzz::target::pack, 60, 20000),
          check_of("kernel.gemm.cases", "G1 G3 G4 G5 G6 G8 G9 G13",
                   fuzz::target::gemm, 60, 6000)};
}

}  // namespace zeroulp::conformance::device
