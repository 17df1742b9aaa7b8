"""SGLang's per-token-group kernel in Triton; needs a GPU.

PYTHONPATH: sglang's wheel unpacked; of it fp8_kernel.py is read.
"""

import peer_modules
import zeroulp_plugin

module = peer_modules.load("sglang.kernels.ops.quantization.fp8_kernel")


@peer_modules.claims("sglang.triton", scales=("fp32",), multiple=(0, 128, 0))
def quantize(r):
    module._per_token_group_quant_8bit[(r.x.numel() // 128,)](
        r.x, r.codes, r.scales, 128, 128, 1e-10,
        bit8_min=-448.0, bit8_max=448.0, BLOCK=128, num_warps=1, num_stages=1,
    )  # fmt: skip


zeroulp_plugin.serve("SGLang _per_token_group_quant_8bit", device="cuda")
