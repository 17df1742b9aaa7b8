// Defines the black boxes that the program can ask: a path of the SPEC, the
// instruction of a GPU, a GEMM of a plug-in.

#ifndef ZEROULP_TOOLS_ZEROULP_PROBE_BOXES_HPP_
#define ZEROULP_TOOLS_ZEROULP_PROBE_BOXES_HPP_

#include <memory>

#include "conformance/plugin/plugin.hpp"
#include "fuzz/probe/black_box.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::program {

/// The core, for an instruction of `length` products (0: one step's, or 16).
fuzz::black_box box_of_path(const named_path& p, int length);

/// The instruction that is claimed to follow `p`, wgmma or mma.sync. Throws
/// input_error if there is no GPU, or no such instruction.
fuzz::black_box box_of_gpu(const named_path& p, bool by_mma);

/// A GEMM that the plug-in claims, for K = `length`, all scales 1. Without
/// `accumulate` in its claim it takes no c. Throws input_error if K is no
/// multiple that it claims.
fuzz::black_box box_of_claim(
    const std::shared_ptr<conformance::plugin::plugin_code>& code,
    const conformance::plugin::claim& c, int length);

/// Whether a claim is of a GEMM whose outputs hold every bit of the sum.
bool has_box(const conformance::plugin::claim& c);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PROBE_BOXES_HPP_
