"""Views of memory: whatever strides and offsets an array has, a call reads its
elements and nothing else, and the result is that of a copy."""

import os

import numpy as np
import zeroulp

CALLS = int(os.environ.get("ZEROULP_CALLS", "300"))


def a_view(rng):
    """A view of FP32 or FP16 memory whose other elements are NaNs, and a copy."""
    dtype = rng.choice(["f4", "f2"])
    m, n = rng.integers(0, 9), rng.integers(0, 300)
    steps = rng.integers(1, 4, 2)
    whole = np.full((m * steps[0] + 2, n * steps[1] + 3), np.nan, dtype)
    view = whole[1:1 + m * steps[0]:steps[0], 2:2 + n * steps[1]:steps[1]]
    view[...] = rng.standard_normal(view.shape)
    for axis in (0, 1):
        if rng.random() < 0.3:
            view = np.flip(view, axis)
    if rng.random() < 0.3:
        view = view.T
    if rng.random() < 0.2 and view.shape[0] == 1:
        view = np.broadcast_to(view, (4, view.shape[1]))
    view = view.view()
    view.flags.writeable = bool(rng.integers(2)) and view.flags.writeable
    return view, np.array(view, order="C")


def words(a):
    return a.view(f"u{a.dtype.itemsize}")


def test_a_view_is_its_elements():
    rng = np.random.default_rng(int(os.environ.get("ZEROULP_SEED", "1")))
    groups = ["1x128", "128x128", "1x32", "3x5", "tensor", "0x1"]
    for _ in range(CALLS):
        view, copy = a_view(rng)
        group = rng.choice(groups)
        q, same = (zeroulp.quantize(x, group=group) for x in (view, copy))
        assert np.array_equal(words(q.codes), words(same.codes))
        assert np.array_equal(words(q.scales), words(same.scales))
        turned = zeroulp.Quantized(words(q.codes)[::-1].copy()[::-1], q.scales,
                                   q.format, group)
        assert np.array_equal(turned.dequantize(), same.dequantize(),
                              equal_nan=True)
        assert np.array_equal(words(zeroulp.encode(view, "e5m2")),
                              words(zeroulp.encode(copy, "e5m2")))
        if view.dtype == np.float32 and view.size:
            a = zeroulp.quantize(view)
            b = zeroulp.quantize(np.ascontiguousarray(view), group="128x128")
            c = rng.standard_normal((len(view), 2 * len(view))).astype("f4")[:, ::2]
            assert np.array_equal(
                words(zeroulp.gemm(a, b, c=c, output="fp32")),
                words(zeroulp.gemm(a, b, c=c.copy(), output="fp32")))
