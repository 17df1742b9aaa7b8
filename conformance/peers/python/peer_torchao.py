"""torchao's quantizers of a tile of 1x128 (Triton); needs a GPU.

PYTHONPATH: torchao, installed or its wheel unpacked.
"""

import peer_modules
import torch
import torchao.prototype.blockwise_fp8_training.kernels as module
import zeroulp_plugin


@peer_modules.claims("torchao", scales=("fp32",), multiple=(0, 128, 0))
def quantize(r):
    codes, scales = module.triton_fp8_blockwise_act_quant_lhs(r.x)
    r.codes.copy_(codes)
    r.scales.copy_(scales)


torch.cuda.init()
zeroulp_plugin.serve("torchao blockwise_fp8_training", device="cuda")
