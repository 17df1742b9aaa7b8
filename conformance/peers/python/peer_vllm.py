"""vLLM's per-token-group kernel in Triton (its fallback); needs a GPU.

PYTHONPATH: vllm's wheel unpacked; of it fp8_utils.py is read.
"""

import peer_modules
import triton
import triton.language as tl
import zeroulp_plugin

module = peer_modules.load(
    "vllm.model_executor.layers.quantization.utils.fp8_utils",
    {"vllm.triton_utils": {"tl": tl, "triton": triton}},
)


@peer_modules.claims("vllm.triton", sources=("bf16", "fp32"), multiple=(0, 128, 0))
def quantize(r):
    rows, cols = r.x.shape
    module._per_token_group_quant_fp8[(rows * cols // 128,)](
        r.x, r.codes, r.scales, 128, cols, cols, 1e-10,
        fp8_min=-448.0, fp8_max=448.0, use_ue8m0=r.scale == "pow2",
        BLOCK=128, num_warps=1, num_stages=1,
    )  # fmt: skip


zeroulp_plugin.serve("vLLM _per_token_group_quant_fp8", device="cuda")
