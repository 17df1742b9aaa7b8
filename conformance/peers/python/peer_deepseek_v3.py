"""DeepSeek-V3's act_quant (inference/kernel.py, Triton); needs a GPU.

PYTHONPATH: the folder `inference` of its repository.
"""

import kernel as module
import zeroulp_plugin

TILES = "to=e4m3,group=1x128,place=dense,"


def claims(function):
    for source in ("bf16", "fp32"):
        for scale in ("fp32", "pow2"):
            settings = f"{TILES}from={source},scale={scale}"
            zeroulp_plugin.claim("quantize", "deepseek_v3", settings, (0, 128, 0))(
                function
            )
    return function


@claims
def quantize(r):
    scale_fmt = "ue8m0" if r.scale == "pow2" else None
    codes, scales = module.act_quant(r.x, 128, scale_fmt)
    r.codes.copy_(codes)
    r.scales.copy_(scales)


zeroulp_plugin.serve("DeepSeek-V3 act_quant", device="cuda")
