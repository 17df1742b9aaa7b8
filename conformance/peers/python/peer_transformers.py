"""Transformers' Fp8Quantize (integrations/finegrained_fp8.py), by PyTorch.

PYTHONPATH: transformers, installed or its wheel unpacked.
"""

import types

import peer_modules
import zeroulp_plugin

module = peer_modules.load("transformers.integrations.finegrained_fp8")


@peer_modules.claims("huggingface", ("1x128",), ("fp32",), multiple=(0, 128, 0))
@peer_modules.claims("huggingface.ue8m0", ("1x128",), ("pow2",), multiple=(0, 128, 0))
@peer_modules.claims("huggingface", ("128x128",), ("fp32",), multiple=(128, 128, 0))
@peer_modules.claims(
    "huggingface.ue8m0", ("128x128",), ("pow2",), multiple=(128, 128, 0)
)
@peer_modules.tensors
def quantize(r):
    config = types.SimpleNamespace(
        weight_block_size=(r.group_rows, r.group_cols),
        scale_fmt="ue8m0" if r.scale == "pow2" else "float",
    )
    quantizer = module.Fp8Quantize(types.SimpleNamespace(quantization_config=config))
    made = quantizer._quantize_one("x.weight", r.x)
    r.codes.copy_(made["x.weight"])
    r.scales.copy_(made["x.weight_scale_inv"])


zeroulp_plugin.serve("Transformers Fp8Quantize", device=peer_modules.DEVICE)
