"""DeepGEMM's casts (deep_gemm/utils/math.py), run by PyTorch.

PYTHONPATH: its repository.
"""

import peer_modules
import zeroulp_plugin

module = peer_modules.load("deep_gemm.utils.math")
# PyTorch divides tensors on a GPU by a number as it multiplies by fl(1 / it).
NAME = "deepgemm_host.cuda" if peer_modules.DEVICE else "deepgemm_host"


@peer_modules.claims(NAME, groups=("1x128", "128x128"))
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
