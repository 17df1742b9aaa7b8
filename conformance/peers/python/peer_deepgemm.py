"""DeepGEMM's casts (deep_gemm/utils/math.py), run by PyTorch.

PYTHONPATH: its repository.
"""

import peer_modules
import zeroulp_plugin

module = peer_modules.load("deep_gemm.utils.math")
# PyTorch divides tensors on a GPU by a number as it multiplies by fl(1 / it).
NAME = "deepgemm_host.cuda" if peer_modules.DEVICE else "deepgemm_host"
OF_E4M3 = "from=bf16,to=e4m3,place=dense,"


def claims(function):
    for group in ("1x128", "128x128"):
        for scale in ("fp32", "pow2"):
            settings = f"{OF_E4M3}group={group},scale={scale}"
            zeroulp_plugin.claim("quantize", NAME, settings)(function)
    return function


@claims
@peer_modules.tensors
def quantize(r):
    cast = (
        module.per_token_cast_to_fp8
        if r.group_rows == 1
        else module.per_block_cast_to_fp8
    )
    codes, scales = cast(r.x, r.scale == "pow2")
    r.codes.copy_(codes)
    r.scales.copy_(scales)


zeroulp_plugin.serve("DeepGEMM casts", device=peer_modules.DEVICE)
