"""TileKernels' reference in PyTorch (tile_kernels/torch/cast.py).

PYTHONPATH: tile_kernels' wheel unpacked; its kernels, which need tilelang, are
not run.
"""

import peer_modules
import zeroulp_plugin

module = peer_modules.load("tile_kernels.torch.cast")


@peer_modules.claims("tile_kernels", groups=("1x128", "32x32", "128x128"))
@peer_modules.tensors
def quantize(r):
    codes, scales = module.cast(
        r.x, "e4m3", (r.group_rows, r.group_cols), round_sf=r.scale == "pow2"
    )
    r.codes.copy_(codes)
    r.scales.copy_(scales.view(r.scales.shape))


zeroulp_plugin.serve("TileKernels torch.cast", device=peer_modules.DEVICE)
