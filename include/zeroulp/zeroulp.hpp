// Includes all that a C++ user of zeroulp needs: the core (the definition),
// names, the compiled GEMM and training path, error measures, .npy files.
//
//   zeroulp::encode(zeroulp::e4m3, zeroulp::decode(0.3f))        -> 0x2a
//
// eigen.hpp adds Eigen matrices.

#ifndef ZEROULP_ZEROULP_HPP_
#define ZEROULP_ZEROULP_HPP_

// g++ takes an older standard unless it is told: hundreds of errors below.
#if __cplusplus <= 201703L
#error "zeroulp needs C++20: compile with -std=c++20"
#endif

#include "zeroulp/core/accumulate.hpp"
#include "zeroulp/core/arith.hpp"
#include "zeroulp/core/config.hpp"
#include "zeroulp/core/convention.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/core/elementary.hpp"
#include "zeroulp/core/format.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/core/pack.hpp"
#include "zeroulp/core/path.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/core/reciprocal.hpp"
#include "zeroulp/core/retile.hpp"
#include "zeroulp/core/round.hpp"
#include "zeroulp/core/scale.hpp"
#include "zeroulp/core/training.hpp"
#include "zeroulp/core/training_matrices.hpp"
#include "zeroulp/core/unpacked.hpp"
#include "zeroulp/core/view.hpp"
#include "zeroulp/core/wide.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/metrics.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/threads.hpp"
#include "zeroulp/training.hpp"

#endif  // ZEROULP_ZEROULP_HPP_
