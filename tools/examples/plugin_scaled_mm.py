#!/usr/bin/env python3
"""torch._scaled_mm with one scale an operand, held against the oracle.

    zeroulp conform --plugin python:plugin_scaled_mm.py

With and without fast accumulation: two recipes, by their names. Needs a GPU.
"""

import torch
import zeroulp_plugin


by_16 = (16, 16, 16)


@zeroulp_plugin.claim("gemm", "unpromoted", "place=dense", by_16)
@zeroulp_plugin.claim("gemm", "cublaslt.tensorwise", "place=dense", by_16)
def gemm(r):
    r.d.copy_(
        torch._scaled_mm(
            r.a,
            r.b.t(),
            scale_a=r.a_scales[0, 0],
            scale_b=r.b_scales[0, 0],
            out_dtype=r.d.dtype,
            use_fast_accum=r.interval == 0,
        )
    )


zeroulp_plugin.serve("torch._scaled_mm", device="cuda")
