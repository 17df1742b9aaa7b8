"""DeepSeek-V3's act_quant (inference/kernel.py, Triton); needs a GPU.

PYTHONPATH: the folder `inference` of its repository.
"""

import kernel as module
import peer_modules
import zeroulp_plugin


@peer_modules.claims("deepseek_v3", sources=("bf16", "fp32"), multiple=(0, 128, 0))
def quantize(r):
    scale_fmt = "ue8m0" if r.scale == "pow2" else None
    codes, scales = module.act_quant(r.x, 128, scale_fmt)
    r.codes.copy_(codes)
    r.scales.copy_(scales)


zeroulp_plugin.serve("DeepSeek-V3 act_quant", device="cuda")
