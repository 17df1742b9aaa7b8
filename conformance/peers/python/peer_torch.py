"""What users write in eager PyTorch on a BF16 tensor: every step in BF16."""

import peer_modules
import torch
import zeroulp_plugin

module = torch


@zeroulp_plugin.claim(
    "quantize", "torch_bf16", "from=bf16,to=e4m3,scale=fp32,group=1x0,place=dense"
)
@peer_modules.tensors
def quantize(r):
    inverse = 448 / r.x.abs().amax(dim=1, keepdim=True)
    r.codes.copy_((r.x * inverse).clamp(-448, 448).to(torch.float8_e4m3fn))
    # A BF16 NaN widened is another NaN than a sum of FP32 has.
    r.scales.copy_((1 / inverse).float() + 0)


zeroulp_plugin.serve("eager PyTorch", device=peer_modules.DEVICE)
