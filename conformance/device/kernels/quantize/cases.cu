// The kernels on the cases of the case engine, against the core on the host. A
// case that differs is shrunk, and its token repeats it:
//
//   zeroulp fuzz TARGET --against gpu --replay TOKEN

#include "conformance/device/device.hpp"
#include "conformance/device/support/test.hpp"
#include "fuzz/cases/token.hpp"
#include "fuzz/engine/enlarge.hpp"
#include "fuzz/engine/shrink.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::device {
namespace {

verdict check_cases(fuzz::target t, std::uint64_t few, std::uint64_t many,
                    const effort& e) {
  verdict v;
  const implementation core = core_implementation();
  const implementation gpu = gpu_implementation();
  const std::uint64_t count = cases(e, few, many);
  for (std::uint64_t n = 0; n < count; ++n) {
    auto p = fuzz::generate(t, -1, e.seed, n,
                            [t](fuzz::settings& s) { keep_to_kernels(t, s); });
    // A few cases are large. Large GEMMs have checks of their own.
    if (n % 64 == 5 && t != fuzz::target::gemm) {
      counter_rng rng(e.seed, n);
      p = fuzz::grown(p, rng);
    }
    const auto found = find_difference(p, gpu, core);
    v.count(!found, [&] {
      return "case " + std::to_string(n) + ": " +
             describe_difference(p, *found, gpu, core);
    });
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

}  // namespace

std::optional<fuzz::difference> find_difference(const fuzz::problem& p,
                                                const implementation& gpu,
                                                const implementation& core) {
  const auto& info = fuzz::info_of(p.what);
  const auto right = info.run(core, p);
  try {
    return fuzz::first_difference(info.run(gpu, p), right);
  } catch (const input_error&) {
    throw;
  } catch (const std::runtime_error& found) {
    // Some CUDA errors are sticky: no later call would succeed.
    if (cudaDeviceSynchronize() != cudaSuccess) throw;
    return fuzz::difference{found.what()};
  }
}

std::string describe_difference(const fuzz::problem& p,
                                const fuzz::difference& found,
                                const implementation& gpu,
                                const implementation& core) {
  // Shrinking may try settings that no kernel serves.
  const auto again = [&](const fuzz::problem& x) {
    try {
      return find_difference(x, gpu, core);
    } catch (const input_error&) {
      return std::optional<fuzz::difference>();
    }
  };
  const auto differs = [&](const fuzz::problem& x) {
    return again(x).has_value();
  };
  const auto small = differs(p) ? fuzz::shrink(p, differs, 2000) : p;
  const auto at = again(small);
  const auto where = at.value_or(found);
  return (at ? "" : "not again: ") + where.output + " (" +
         std::to_string(where.row) + ", " + std::to_string(where.col) +
         "): " + fuzz::to_token(small);
}

check_list kernel_case_checks() {
  const auto check_of = [](const char* name, const char* clauses,
                           fuzz::target t, std::uint64_t few,
                           std::uint64_t many) {
    return device_check(name, clauses, "host", [=](const effort& e) {
      return check_cases(t, few, many, e);
    });
  };
  return {
      check_of("kernel.quantize.cases", "Q1 Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8 Q10 Q11",
               fuzz::target::quantize, 60, 20000),
      check_of("kernel.retile.cases", "W1 W2 W3 W4 W5 W7", fuzz::target::retile,
               60, 20000),
      check_of("kernel.pack.cases", "P1 P2", fuzz::target::pack, 60, 20000),
      check_of("kernel.gemm.cases", "G1 G3 G4 G5 G6 G8 G9 G13",
               fuzz::target::gemm, 60, 6000),
      check_of("kernel.swiglu.cases",
               "S1 S2 S3 E1 E2 E3 Q1 Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8 Q10",
               fuzz::target::swiglu, 60, 3000),
      check_of("kernel.rms_norm.cases",
               "S1 S4 S5 E4 Q1 Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8",
               fuzz::target::rms_norm, 60, 3000),
      check_of("kernel.adamw.cases", "S6 S8", fuzz::target::adamw, 60, 6000),
      check_of("kernel.dispatch.cases", "S11 Q1 Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q8",
               fuzz::target::dispatch, 60, 6000),
      check_of("kernel.combine.cases", "S9 S10", fuzz::target::combine, 60,
               6000)};
}

}  // namespace zeroulp::conformance::device
