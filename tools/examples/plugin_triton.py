#!/usr/bin/env python3
"""A Triton quantizer, BF16 to E4M3 in tiles of 1x128, held against the oracle.

    zeroulp conform --plugin python:plugin_triton.py

It claims no convention: zeroulp finds out which it follows. Needs a GPU.
"""

import torch
import triton
import triton.language as tl
import zeroulp_plugin


@triton.jit
def quantize_tile(x, codes, scales, cols, tile: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    j = group * tile + tl.arange(0, tile)
    values = tl.load(x + row * cols + j, mask=j < cols, other=0.0)
    values = values.to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(values)), 1e-4) / 448.0
    tl.store(scales + row * tl.num_programs(1) + group, scale)
    code = (values / scale).to(codes.dtype.element_ty)
    tl.store(codes + row * cols + j, code, mask=j < cols)


@zeroulp_plugin.claim(
    "quantize", None, "from=bf16,to=e4m3,scale=fp32,group=1x128,place=dense"
)
def quantize(r):
    quantize_tile[tuple(r.scales.shape)](
        r.x, r.codes, r.scales, r.x.shape[1], tile=128
    )


torch.cuda.init()
zeroulp_plugin.serve("triton", device="cuda")
