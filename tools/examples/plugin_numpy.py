#!/usr/bin/env python3
"""A quantizer in NumPy, held against the oracle.

    zeroulp conform --plugin python:plugin_numpy.py

FP32 to E4M3, which it rounds by hand, and FP32 scales. It claims no
convention: zeroulp identifies it, and then holds it to that.
"""

import numpy as np
import zeroulp_plugin


def to_e4m3(x):
    """E4M3 codes, nearest-even; the least quantum is 2^-9.

    As fminf(fmaxf(x, -448), 448) does, NaN becomes -448.
    """
    clamped = np.fmin(np.fmax(x, -448), 448)
    magnitude = np.abs(clamped)
    _, exponent = np.frexp(magnitude)
    quantum = np.maximum(exponent - 4, -9)
    steps = np.rint(np.ldexp(magnitude, -quantum)).astype(np.int32)
    codes = np.where(magnitude == 0, 0, steps + 8 * (quantum + 9))
    return (codes | np.signbit(clamped) * 0x80).astype(np.uint8)


@zeroulp_plugin.claim(
    "quantize", None, "from=fp32,to=e4m3,scale=fp32,group=1x128"
)
def quantize(r):
    for g in range(r.scales.shape[1]):
        tile = slice(128 * g, 128 * g + 128)
        x = r.x[:, tile]
        amax = np.max(np.where(np.isnan(x), 0, np.abs(x)), axis=1)
        scale = np.maximum(amax, np.float32(1e-10)) / np.float32(448)
        r.scales[:, g] = scale
        r.codes[:, tile] = to_e4m3(x / scale[:, None])


np.seterr(all="ignore")
zeroulp_plugin.serve("numpy")
