"""The training path, on cases that can be worked out by hand or in FP64."""

import numpy as np
import pytest
import zeroulp
from zeroulp import Error

RNG = np.random.default_rng(3)


def bf16(x):
    """BF16 as uint16, where ml_dtypes may not be."""
    codes = zeroulp.recode(np.asarray(x, np.float32), "bf16",
                           policy="ocp_nonsaturate")
    return codes.view(np.uint16)


def numbers(codes):
    return zeroulp.decode(codes.view(np.uint16), "bf16")


def test_swiglu():
    g, u = (RNG.standard_normal((6, 256)).astype(np.float32) for _ in range(2))
    h, q = zeroulp.swiglu(g, u, values="fp32")
    want = g.astype("f8") / (1 + np.exp(-g.astype("f8"))) * u
    assert np.abs(h - want).max() < 1e-6
    same = zeroulp.quantize(h)
    assert np.array_equal(q.codes.view("u1"), same.codes.view("u1"))
    rounded, _ = zeroulp.swiglu(bf16(g), bf16(u), source="bf16")
    assert np.abs(numbers(rounded) - want).max() < 0.1
    with pytest.raises(Error, match="u: 3 x 256, but 6 x 256 are needed"):
        zeroulp.swiglu(g, u[:3])


def test_rms_norm():
    x = RNG.standard_normal((5, 128)).astype(np.float32)
    w = RNG.standard_normal(128).astype(np.float32)
    y, factors, q = zeroulp.rms_norm(x, w, 1e-5, values="fp32", group="1x64")
    scale = 1 / np.sqrt((x.astype("f8") ** 2).mean(1) + 1e-5)
    assert np.allclose(factors, scale, rtol=1e-6)
    assert np.allclose(y, x * scale[:, None] * w, rtol=1e-5, atol=1e-7)
    assert q.scales.shape == (5, 2)
    with pytest.raises(Error, match="w: 1 x 5, but 1 x 128 are needed"):
        zeroulp.rms_norm(x, w[:5])


def test_adamw():
    g, w = (RNG.standard_normal((4, 16)).astype(np.float32) for _ in range(2))
    zero = np.zeros_like(g)
    before = w.copy()
    m, v, new, copy = zeroulp.adamw(g, zero, zero, w, step=1, rate=0.01)
    assert np.array_equal(w, before)
    want = w - 0.01 * (np.sign(g) / (1 + 1e-8 / np.abs(g)) + 0.1 * w)
    assert np.allclose(new, want, rtol=1e-5)
    assert np.allclose(m, 0.1 * g) and np.allclose(v, 0.05 * g * g)
    assert np.array_equal(copy.view("u2"), bf16(new))
    for bad, what in ((dict(step=0), "step is 0"),
                      (dict(step=1, beta1=1.0), "settings.beta1"),
                      (dict(step=1, rounding="odd"), "rounding: unknown name")):
        with pytest.raises(Error, match=what):
            zeroulp.adamw(g, zero, zero, w, **bad)


def test_combine():
    x = bf16([[1, 2], [4, 8], [16, 32]])
    out = zeroulp.combine(x, [[0, 2], [1, -1], [-1, -1]])
    assert numbers(out).tolist() == [[17, 34], [4, 8], [0, 0]]
    out = zeroulp.combine(x, [[0, 1]], np.array([[2, 0.5]], np.float32))
    assert numbers(out).tolist() == [[4, 8]]
    with pytest.raises(Error, match="rule: 'sum': use one of fp32_slots"):
        zeroulp.combine(x, [[0]], rule="sum")
    with pytest.raises(Error, match="slots: rows are -1"):
        zeroulp.combine(x, [[-2]])
    with pytest.raises(Error, match=r"slot \(0, 0\): there is no row 3 of 3"):
        zeroulp.combine(x, [[3]])
    with pytest.raises(Error, match="weights: 1 x 1, but 1 x 2 are needed"):
        zeroulp.combine(x, [[0, 1]], np.ones((1, 1), np.float32))


def test_dispatch():
    x = RNG.standard_normal((6, 256)).astype(np.float32)
    q = zeroulp.dispatch(x, [3, -1, 0, 3], convention="deepep", scale="pow2")
    same = zeroulp.quantize(x, convention="deepep", scale="pow2")
    for r, from_ in ((0, 3), (2, 0), (3, 3)):
        assert np.array_equal(q.codes.view("u1")[r], same.codes.view("u1")[from_])
        assert np.array_equal(q.scales[r], same.scales[from_])
    assert not q.codes.view("u1")[1].any() and (q.scales[1] == 1).all()
    with pytest.raises(Error, match="rows"):
        zeroulp.dispatch(x, [6])
    with pytest.raises(Error, match="rows: elements are float64"):
        zeroulp.dispatch(x, np.ones(3))
