"""Transformers' Fp8Quantize (integrations/finegrained_fp8.py), by PyTorch.

PYTHONPATH: transformers, installed or its wheel unpacked.
"""

import types

import peer_modules
import zeroulp_plugin

module = peer_modules.load("transformers.integrations.finegrained_fp8")


def claims(function):
    for group, rows in (("1x128", 0), ("128x128", 128)):
        for scale in ("fp32", "pow2"):
            settings = f"from=bf16,to=e4m3,place=dense,group={group},scale={scale}"
            name = "huggingface" if scale == "fp32" else "huggingface.ue8m0"
            zeroulp_plugin.claim("quantize", name, settings, (rows, 128, 0))(function)
    return function


@claims
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
