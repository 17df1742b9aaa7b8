"""Each operator's backward pass against FP64: torch's autograd where torch is,
and finite differences. Every element lies within a bound that follows from the
formats' rounding; a gradient that is 3 % too large (of attention, 10 %) does not.

The bounds are of first order. B and U are half an ulp of BF16 and FP32, relative;
each bound counts the roundings on the way, times the sum of the magnitudes that
are added. exp and sigmoid count as two (SPEC E5). A product on the tensor core
loses at most 18 units of 2^-23 of the sum of magnitudes each 16 products."""

import math

import numpy as np
import pytest
import zeroulp
from zeroulp import _abi
from zeroulp._arrays import bits_of, matrix, ref
from zeroulp._library import call
from zeroulp._operations import quantizer
from zeroulp._values import format as format_of

torch = None
try:
    import torch
except ImportError:
    pass

B, U = 2.0 ** -8, 2.0 ** -24
METHODS = [pytest.param("autograd", marks=pytest.mark.skipif(
    torch is None, reason="no torch")), "differences"]
every_method = pytest.mark.parametrize("method", METHODS)


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def bf16(x):
    """BF16 as uint16, where ml_dtypes may not be."""
    codes = zeroulp.recode(np.asarray(x, np.float32), "bf16",
                           policy="ocp_nonsaturate")
    return codes.view(np.uint16)


def numbers(codes):
    return np.float64(zeroulp.decode(np.asarray(codes).view(np.uint16), "bf16"))


def gradients(method, forward, inputs, upstream):
    """The gradients of sum(forward(...) upstream): forward(library, *inputs) is
    written for NumPy and torch alike."""
    if method == "autograd":
        given = [torch.tensor(x, dtype=torch.float64, requires_grad=True)
                 for x in inputs]
        out = forward(torch, *given)
        (out * torch.tensor(upstream)).sum().backward()
        return [x.grad.numpy() for x in given]
    found = []
    for x in inputs:
        gradient = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            kept, step = x[at], 1e-5 * max(1.0, abs(x[at]))
            x[at] = kept + step
            above = (forward(np, *inputs) * upstream).sum()
            x[at] = kept - step
            below = (forward(np, *inputs) * upstream).sum()
            x[at] = kept
            gradient[at] = (above - below) / (2 * step)
        found.append(gradient)
    return found


def holds(found, want, bound, method, loose=200, off=1.03):
    """Every error is within its bound, which is at most `loose` times too large;
    and the bound sees what is `off` times as large."""
    found = np.asarray(found, np.float64)
    assert found.shape == want.shape
    if method == "differences":
        bound = bound + 1e-8 * (1 + np.abs(want).max())
    error = np.abs(found - want)
    assert (error <= bound).all(), (error / bound).max()
    if method == "autograd":
        assert (error * loose >= bound).any(), (error / bound).max()
    assert (np.abs(off * found - want) > bound).any()


def product(n):
    """What the tensor core loses of a sum of n products, relative."""
    return 18 * (n // 16 + 2) * 2.0 ** -23


@every_method
@pytest.mark.parametrize("m,n,beside", [(3, 40, False), (5, 64, True),
                                        (300, 3, True)])
def test_rms_norm(method, m, n, beside):
    x, dy, q = (bf16(normal(m, n, seed=s)) for s in range(3))
    w = np.float32(1 + 0.3 * normal(n, seed=3))
    _, rstd, _ = zeroulp.rms_norm(np.float32(numbers(x)), w)
    dx, dw = zeroulp.rms_norm_backward(dy, x, w, rstd, q if beside else None)

    def forward(xp, x, w):
        return x / xp.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w

    rows, upstream, by = numbers(x), numbers(dy), np.float64(w)
    want_dx, want_dw = gradients(method, forward, [rows, by], upstream)
    r = 1 / np.sqrt((rows ** 2).mean(1, keepdims=True) + 1e-6)
    g = np.abs(upstream * by)
    along = (g * np.abs(rows)).sum(1, keepdims=True)
    sizes = r * g + r ** 3 / n * np.abs(rows) * along
    if beside:
        want_dx = want_dx + numbers(q)
        sizes = sizes + np.abs(numbers(q))
    holds(numbers(dx), want_dx, B * np.abs(want_dx) + 100 * U * sizes, method)
    holds(dw, want_dw, (m + 40) * U * np.abs(upstream * rows * r).sum(0), method,
          loose=1000)


@every_method
@pytest.mark.parametrize("pairs", ["adjacent", "halves"])
def test_rope(method, pairs):
    length, heads, n = 7, 2, 8
    x, dy = (bf16(normal(length, heads * n, seed=s)) for s in range(2))
    c, s = zeroulp.rope_table(n, length)
    angles = np.arange(length)[:, None] * 10000.0 ** (-2 * np.arange(n // 2) / n)
    dx = zeroulp.rope(dy, c, s, pairs, backward=True, heads=heads)
    y = zeroulp.rope(x, c, s, pairs, heads=heads)
    # Element i of a head is turned with element other[i], minus for the first.
    at = np.arange(n)
    other = at ^ 1 if pairs == "adjacent" else (at + n // 2) % n
    pair = at // 2 if pairs == "adjacent" else at % (n // 2)
    sign = np.where(other > at, -1.0, 1.0)
    other = np.concatenate([other + n * h for h in range(heads)])
    cosine = np.tile(np.cos(angles)[:, pair], heads)
    sine = np.tile(np.sin(angles)[:, pair] * sign, heads)

    def forward(xp, x):
        return x * xp.asarray(cosine) + x[:, other] * xp.asarray(sine)

    def sizes(x):
        return np.abs(x * cosine) + np.abs(x[:, other] * sine)

    want = forward(np, numbers(x))
    holds(numbers(y), want, B * np.abs(want) + 4 * U * sizes(numbers(x)), method)
    want, = gradients(method, forward, [numbers(x)], numbers(dy))
    holds(numbers(dx), want, B * np.abs(want) + 4 * U * sizes(numbers(dy)), method)


@every_method
@pytest.mark.parametrize("length,heads,depth,width", [(5, 2, 8, 4), (66, 1, 12, 8)])
def test_attention(method, length, heads, depth, width):
    q, k = (bf16(normal(length, heads * depth, seed=s)) for s in range(2))
    v, d_o = (bf16(normal(length, heads * width, seed=s)) for s in range(2, 4))
    scale = np.float32(1 / math.sqrt(depth))
    kept = zeroulp.attention(q, k, v, heads)
    found = zeroulp.attention_backward(d_o, q, k, v, *kept, heads)
    seen = np.tril(np.ones((length, length)))

    def forward(xp, q, k, v):
        e = xp.exp(q @ k.T * float(scale)) * xp.asarray(seen)
        return e / e.sum(1, keepdims=True) @ v

    for h in range(heads):
        a, b = slice(h * depth, (h + 1) * depth), slice(h * width, (h + 1) * width)
        x, y, z = (numbers(t)[:, s] for t, s in ((q, a), (k, a), (v, b)))
        upstream = numbers(d_o)[:, b]
        o = forward(np, x, y, z)
        want = gradients(method, forward, [x, y, z], upstream)
        # e is rounded to BF16; so is what a score's error makes of it.
        size = np.abs(x) @ np.abs(y).T * scale
        e = np.exp(x @ y.T * scale) * seen
        p = e / e.sum(1, keepdims=True)
        weight = B + (product(depth) + 4 * U) * size + 4 * U
        weight = weight.max(1, keepdims=True)
        share = (2 * weight + product(length) + 2 * U) * p
        of_o = share @ np.abs(z) + B * np.abs(o)
        holds(numbers(kept.o)[:, b], o, of_o, method)
        dp = upstream @ z.T
        along = (upstream * o).sum(1, keepdims=True)
        of_dp = product(width) * (np.abs(upstream) @ np.abs(z).T)
        of_along = (np.abs(upstream) * (of_o + 20 * U * np.abs(o))).sum(
            1, keepdims=True)
        ds = p * (dp - along)
        of_ds = share * np.abs(dp - along) + p * (of_dp + of_along) + \
            (B + 4 * U) * np.abs(ds)
        of_p = share + B * p
        lost = B + product(length) + 2 * U
        bounds = (scale * ((of_ds + lost * np.abs(ds)) @ np.abs(y)),
                  scale * ((of_ds + lost * np.abs(ds)).T @ np.abs(x)),
                  (of_p + lost * p).T @ np.abs(upstream))
        for gradient, exact, bound, at in zip(found, want, bounds, (a, a, b)):
            # Products of rounding errors.
            holds(numbers(gradient)[:, at], exact, 1.02 * bound, method, off=1.1)


@every_method
@pytest.mark.parametrize("score,normalized,groups,scale",
                         [("sigmoid", True, 1, 1.0), ("sigmoid", False, 4, 2.5),
                          ("softmax", True, 4, 1.0), ("softmax", False, 1, 16.0)])
def test_router(method, score, normalized, groups, scale):
    m, e, top = 6, 16, 3
    z = np.float32(normal(m, e))
    bias = np.float32(0.1 * normal(e, seed=1))
    h = np.float32(normal(m, top, seed=2))
    kept = zeroulp.route(z, top, bias, score, groups, max(groups // 2, 1),
                         normalized=normalized, scale=scale)
    dz = zeroulp.route_backward(h, kept.experts, kept.scores, score, normalized,
                                scale)
    rows, chosen = np.arange(m)[:, None], np.int64(kept.experts)

    def scores(xp, z):
        if score == "sigmoid":
            return 1 / (1 + xp.exp(-z))
        u = xp.exp(z)
        return u / u.sum(1, keepdims=True)

    def forward(xp, z):
        s = scores(xp, z)[rows, chosen]
        return s * scale / (s.sum(1, keepdims=True) if normalized else 1)

    z = np.float64(z)
    weights = forward(np, z)
    holds(kept.weights, weights, 60 * U * weights, method)
    want, = gradients(method, forward, [z], np.float64(h))
    s = scores(np, z)
    slope = np.abs(h * scale)
    if normalized:
        t = s[rows, chosen]
        share = t / t.sum(1, keepdims=True)
        slope = (slope + (slope * share).sum(1, keepdims=True)) / \
            t.sum(1, keepdims=True)
    sizes = np.zeros_like(s)
    sizes[rows, chosen] = slope
    if score == "softmax":
        sizes += (slope * s[rows, chosen]).sum(1, keepdims=True)
    holds(dz, want, 60 * U * sizes * s, method)


@every_method
@pytest.mark.parametrize("m,n", [(5, 9), (6, 300)])
def test_cross_entropy(method, m, n):
    z = np.float32(2 * normal(m, n))
    targets = np.int32(np.random.default_rng(n).integers(0, n, m))
    targets[0] = -1
    factor = 1 / m
    losses, dz = zeroulp.cross_entropy(z, targets, factor)
    rows = np.arange(1, m)

    def forward(xp, z):
        return xp.log(xp.exp(z).sum(1))[rows] - z[rows, targets[1:]]

    z = np.float64(z)
    want = forward(np, z)
    assert losses[0] == 0
    holds(losses[1:], want, 30 * U * (1 + np.abs(want)), method, loose=1000)
    want, = gradients(method, forward, [z], np.full(m - 1, np.float32(factor)))
    sizes = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    sizes[rows, targets[1:]] += 1
    sizes[0] = 0
    assert not numbers(dz)[0].any()
    holds(numbers(dz), want, B * np.abs(want) + 60 * U * factor * sizes, method)


@every_method
def test_slots(method):
    m, n, top, experts = 6, 40, 2, 4
    chosen = np.random.default_rng(0).integers(0, experts, (m, top))
    plan = zeroulp.plan(chosen, experts, 4)
    slots = np.array(plan.slots)
    slots[3, 1] = -1
    dy, y = bf16(normal(m, n)), bf16(normal(len(plan.rows), n, seed=1))
    w = np.float32(normal(m, top, seed=2))
    d_rows, dweights = zeroulp.slot_backward(dy, slots, w, y)
    there = np.float64(slots >= 0)

    def forward(xp, y, w):
        return (y[np.int64(slots)] * (w * xp.asarray(there))[:, :, None]).sum(1)

    upstream = numbers(dy)
    want_rows, want_weights = gradients(
        method, forward, [numbers(y), np.float64(w)], upstream)
    holds(numbers(d_rows), want_rows, (B + U) * np.abs(want_rows), method)
    sizes = (np.abs(numbers(y)[slots]) * np.abs(upstream)[:, None]).sum(2) * there
    holds(dweights, want_weights, 20 * U * sizes, method)


def swiglu_backward(codes, scales, dh):
    """h, dg and du (float32) from dh (float32) and cached codes of g and u."""
    q = quantizer("fp32", "e4m3", "1x128", "zeroulp", "pow2")
    layer = _abi.zeroulp_swiglu(q, q)
    given = [bits_of(x, "x") for x in (*codes, *scales)]
    held = [x.const() for x in given]
    g, u = (_abi.zeroulp_const_quantized(held[i], held[2 + i]) for i in range(2))
    out = [np.empty(dh.shape, np.uint32) for _ in range(3)]
    structs = [matrix(x) for x in out]
    upstream = bits_of(dh, "dh")
    struct = upstream.const()
    call("zeroulp_swiglu_backward", ref(layer), ref(format_of("fp32").struct),
         ref(struct), ref(g), ref(u), *(ref(s) for s in structs), None, None)
    return [x.view(np.float32) for x in out]


@every_method
def test_swiglu(method):
    m, n = 4, 128
    cached = [zeroulp.quantize(np.float32(normal(m, n, seed=s)), scale="pow2")
              for s in range(2)]
    g, u = (np.float64(zeroulp.dequantize(x)) for x in cached)
    dh = np.float32(normal(m, n, seed=2))
    h, dg, du = swiglu_backward([x.codes for x in cached],
                                [x.scales for x in cached], dh)

    def forward(xp, g, u):
        return g / (1 + xp.exp(-g)) * u

    want = forward(np, g, u)
    holds(h, want, 8 * U * np.abs(want), method)
    want_dg, want_du = gradients(method, forward, [g, u], np.float64(dh))
    s = 1 / (1 + np.exp(-g))
    holds(dg, want_dg, 20 * U * np.abs(dh * u) * s * (1 + np.abs(g)), method)
    holds(du, want_du, 8 * U * np.abs(want_du), method)
