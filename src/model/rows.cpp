// The rows of a training step's operators, compiled for each set of vector
// instructions.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/model/rows.cpp"
#include "src/base/simd.hpp"
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on

#include "src/arrays/reference.hpp"
#include "src/model/rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp::engine {
namespace HWY_NAMESPACE {
namespace {

using by_hardware = model_rows<hardware_fp32, hardware_fp64>;

// The equations must become part of a function here, since what the headers
// define is compiled for no set in particular.
#define ZEROULP_DEFINE(NAME, PARAMETERS, ARGUMENTS)     \
  __attribute__((flatten)) void NAME##_any PARAMETERS { \
    by_hardware::NAME ARGUMENTS;                        \
  }
ZEROULP_MODEL_ROWS(ZEROULP_DEFINE)
#undef ZEROULP_DEFINE

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroulp::engine {
namespace {
using by_core = HWY_NAMESPACE::model_rows<core_fp32, core_fp64>;
}

// The reference is the definition, whatever the set.
#define ZEROULP_DEFINE(NAME, PARAMETERS, ARGUMENTS)                 \
  void NAME PARAMETERS {                                            \
    by_reference() ? by_core::NAME ARGUMENTS                        \
                   : (*ZEROULP_SIMD_DISPATCH(NAME##_any))ARGUMENTS; \
  }
ZEROULP_MODEL_ROWS(ZEROULP_DEFINE)
#undef ZEROULP_DEFINE

}  // namespace zeroulp::engine
#endif
