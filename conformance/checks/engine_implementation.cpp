// The compiled library, as one more implementation.

#include "conformance/checks/implementation.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::conformance {

implementation engine_implementation() {
  implementation i = core_implementation();
  i.name = "engine";
  i.gemm = [](const recipe& r, const gemm_operand<std::uint32_t>& a,
              const gemm_operand<std::uint32_t>& b, codes_in c, codes_out d) {
    engine::gemm(r, {a.f, a.codes}, a.scales, {b.f, b.codes},
                 b.scales, c, d);
  };
  return i;
}

}  // namespace zeroulp::conformance
