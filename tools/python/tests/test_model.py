"""The other operators of a training step: near FP64, and what holds to the bit."""

import math

import numpy as np
import pytest
import zeroulp
from zeroulp import Error

torch = None
try:
    import torch
except ImportError:
    pass
needs_torch = pytest.mark.skipif(torch is None, reason="no torch")


def bf16(x):
    """BF16 as uint16, where ml_dtypes may not be."""
    codes = zeroulp.recode(np.asarray(x, np.float32), "bf16",
                           policy="ocp_nonsaturate")
    return codes.view(np.uint16)


def numbers(codes):
    return np.float64(zeroulp.decode(np.asarray(codes).view(np.uint16), "bf16"))


def bits(x):
    return np.asarray(x).view(np.uint16)


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def near(found, want, relative):
    """Holds the error against the size of what is wanted."""
    assert np.shape(found) == np.shape(want)
    error = np.linalg.norm(found - want)
    assert error <= relative * np.linalg.norm(want), error


def attention_in_fp64(q, k, v, d_o, scale):
    """Output and gradients of one head: q, k are length x depth."""
    scores = q @ k.T * scale
    scores[np.triu_indices(len(q), 1)] = -np.inf
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    o = p @ v
    dp = d_o @ v.T
    ds = p * (dp - (d_o * o).sum(1, keepdims=True)) * scale
    return o, ds @ k, ds.T @ q, p.T @ d_o


@pytest.mark.parametrize("length,heads,depth,value_depth",
                         [(1, 1, 8, 8), (70, 2, 16, 8), (130, 3, 32, 48)])
def test_attention_is_near_fp64(length, heads, depth, value_depth):
    q, k = (bf16(normal(2, length, heads * depth, seed=s)) for s in (1, 2))
    v, d_o = (bf16(normal(2, length, heads * value_depth, seed=s)) for s in (3, 4))
    kept = zeroulp.attention(q, k, v, heads)
    assert kept.o.shape == v.shape and kept.largest.shape == (2, length, heads)
    found = zeroulp.attention_backward(d_o, q, k, v, *kept, heads)
    again = zeroulp.attention_backward(
        d_o, q, k, v, np.float32(numbers(kept.o)), kept.largest, kept.inverse,
        heads, scale=1 / math.sqrt(depth))
    for a, b, x in zip(found, again, (q, k, v)):
        assert a.shape == x.shape and np.array_equal(bits(a), bits(b))
    for b in range(2):
        for h in range(heads):
            head = slice(h * depth, (h + 1) * depth)
            value = slice(h * value_depth, (h + 1) * value_depth)
            o, *want = attention_in_fp64(
                numbers(q)[b, :, head], numbers(k)[b, :, head],
                numbers(v)[b, :, value], numbers(d_o)[b, :, value],
                1 / math.sqrt(depth))
            mine = numbers(kept.o)[b, :, value]
            # Some ulps of BF16 of the largest number in the row.
            ulp = 2.0 ** -8 * np.abs(o).max(1, keepdims=True)
            assert (np.abs(mine - o) <= 4 * ulp).all()
            for g, w, at in zip(found, want, (head, head, value)):
                if np.abs(w).max() > 1e-9:
                    near(numbers(g)[b, :, at], w, 0.02)


def test_attention_does_not_depend_on_the_batch_or_on_later_tokens():
    q, k, v, d_o = (bf16(normal(3, 100, 32, seed=s)) for s in range(4))
    all_o = zeroulp.attention(q, k, v, 2)
    all_g = zeroulp.attention_backward(d_o, q, k, v, *all_o, 2)
    for b in range(3):
        alone = zeroulp.attention(q[b], k[b], v[b], 2)
        gradients = zeroulp.attention_backward(d_o[b], q[b], k[b], v[b], *alone, 2)
        for one, many in zip((*alone, *gradients), (*all_o, *all_g)):
            assert np.array_equal(one.view("u1"), many[b].view("u1"))
    # The same tokens as rows of a matrix.
    flat = zeroulp.attention(*(x.reshape(300, 32) for x in (q, k, v)), 2, 100)
    assert np.array_equal(bits(flat.o), bits(all_o.o).reshape(300, 32))
    # Strides of any kind.
    strided = zeroulp.attention(*(x.T.copy().T for x in (q[0], k[0], v[0])), 2)
    assert np.array_equal(bits(strided.o), bits(all_o.o)[0])
    for at in (1, 63, 64, 99):
        later = [x[0].copy() for x in (q, k, v)]
        for x in later:
            x[at:] = bf16(normal(100 - at, 32, seed=9))
        short = zeroulp.attention(*(x[0, :at] for x in (q, k, v)), 2)
        changed = zeroulp.attention(*later, 2)
        for part, full, new in zip(short, all_o, changed):
            assert np.array_equal(full[0, :at].view("u1"), new[:at].view("u1"))
            assert np.array_equal(full[0, :at].view("u1"), part.view("u1"))


def test_attention_reads_values_that_are_no_numbers_in_steps_of_64():
    q, k, v = (bf16(normal(150, 16, seed=s)) for s in range(3))
    o = zeroulp.attention(q, k, v, 1).o
    bad = v.copy()
    bad[100] = 0x7f80
    found = zeroulp.attention(q, k, bad, 1).o
    assert np.array_equal(bits(found)[:64], bits(o)[:64])
    assert np.isnan(numbers(found)[64:100]).all()
    # Scores of later tokens are never read.
    keys = k.copy()
    keys[100] = 0x7fc0
    found = zeroulp.attention(q, keys, v, 1).o
    assert np.array_equal(bits(found)[:100], bits(o)[:100])
    assert np.isnan(numbers(found)[100:]).all()


def test_attention_refuses():
    q = bf16(normal(6, 16))
    f = zeroulp.attention
    kept = f(q, q, q, 2)
    for call, what in (
            (lambda: f(q, q[:5], q, 2), "k: 5 x 16, but 6 x 16 are needed"),
            (lambda: f(q, q, q[:5], 2), "v: 5 x 16, but 6 x 16 are needed"),
            (lambda: f(q, q, q, 3), "q: 16 columns, but 3 heads"),
            (lambda: f(q, q, q, 0), "heads is 0"),
            (lambda: f(q, q, q, 1.5), "heads is 1.5: use an integer"),
            (lambda: f(q, q, q, 2, 4), "q: 6 rows, but sequences of 4"),
            (lambda: f(q, q, q, 2, 0), "length is 0"),
            (lambda: f(q, q, q, 2, scale=0), "scale is 0: use a number above 0"),
            (lambda: f(q, q, q, 2, scale=-1), "scale is -1"),
            (lambda: f(q, q, q, 2, scale=math.nan), "scale is nan"),
            (lambda: f(q, q, q, 2, scale=1e99), "scale is 1e"),
            (lambda: f(q, q, q, 2, scale="x"), "scale is 'x': use a number"),
            (lambda: f(np.float32(normal(6, 16)), q, q, 2),
             "q: elements are fp32: use bfloat16"),
            (lambda: f(q, np.uint32(q), q, 2), "k: elements are uint32"),
            (lambda: zeroulp.attention_backward(q[:5], q, q, q, *kept, 2),
             "d_o: 5 x 16, but 6 x 16"),
            (lambda: zeroulp.attention_backward(q, q, q, q, q[:, :8], *kept[1:], 2),
             "o: 6 x 8, but 6 x 16"),
            (lambda: zeroulp.attention_backward(q, q, q, q, kept.o, kept.largest,
                                                kept.inverse[:, :1], 2),
             "inverse: 6 x 1, but 6 x 2")):
        with pytest.raises(Error, match=what):
            call()


def test_rope():
    n, heads = 16, 3
    cosines, sines = zeroulp.rope_table(n, 50)
    frequencies = 10000.0 ** (-2 * np.arange(n // 2) / n)
    angles = np.arange(50)[:, None] * frequencies
    assert np.abs(cosines - np.cos(angles)).max() < 1e-7
    assert np.abs(sines - np.sin(angles)).max() < 1e-7
    later = zeroulp.rope_table(n, 20, first=30)
    assert np.array_equal(later[0], cosines[30:])
    own = zeroulp.rope_table(positions=50, frequencies=[0.5, 0.25, 0])
    assert own[0].shape == (50, 3) and (own[0][:, 2] == 1).all()
    x = bf16(normal(2, 40, heads * n))
    given = numbers(x).reshape(2, 40, heads, n)
    c, s = (f(angles[:40])[:, None] for f in (np.cos, np.sin))
    for pairs, a, b in (("adjacent", slice(0, None, 2), slice(1, None, 2)),
                        ("halves", slice(0, n // 2), slice(n // 2, None))):
        want = np.empty_like(given)
        want[..., a] = given[..., a] * c - given[..., b] * s
        want[..., b] = given[..., a] * s + given[..., b] * c
        y = zeroulp.rope(x, cosines, sines, pairs, heads=heads)
        assert y.shape == x.shape
        assert np.abs(numbers(y) - want.reshape(x.shape)).max() < 0.02
        back = zeroulp.rope(y, cosines, sines, pairs, backward=True, heads=heads)
        assert np.abs(numbers(back) - numbers(x)).max() < 0.04
        # Rows of a matrix: their positions are those of the table, again and
        # again.
        flat = zeroulp.rope(x.reshape(80, -1), cosines[:40], sines[:40], pairs,
                            heads=heads)
        assert np.array_equal(bits(flat), bits(y).reshape(80, -1))
    first = zeroulp.rope(x[:, :1], cosines, sines, heads=heads)
    assert np.array_equal(bits(first), x[:, :1])


def test_rope_refuses():
    cosines, sines = zeroulp.rope_table(8, 4)
    x = bf16(normal(4, 16))
    for call, what in (
            (lambda: zeroulp.rope(x, cosines, sines), "x: 16 columns, but 1 heads"),
            (lambda: zeroulp.rope(x, cosines, sines[:3], heads=2), "sines: 3 x 4"),
            (lambda: zeroulp.rope(x, cosines, sines, "odd", heads=2),
             "pairs: 'odd': use one of adjacent, halves"),
            (lambda: zeroulp.rope(bf16(normal(2, 9, 8)), cosines, sines),
             "cosines: 4 positions, but sequences of 9"),
            (lambda: zeroulp.rope_table(12), "n is 12: use a power of two"),
            (lambda: zeroulp.rope_table(8, first=-1), "first is -1"),
            (lambda: zeroulp.rope_table(8, 2, first=2**20), "positions"),
            (lambda: zeroulp.rope_table(frequencies=[2]), "frequency 0 is 2"),
            (lambda: zeroulp.rope_table(frequencies=["a"]), "frequencies: use")):
        with pytest.raises(Error, match=what):
            call()


def test_rms_norm_backward():
    x, dy, q = (bf16(normal(5, 60, 48, seed=s)) for s in range(3))
    codes = bf16(normal(48, seed=4))
    w = np.float32(numbers(codes))
    _, rstd, _ = zeroulp.rms_norm(x, codes, source="bf16", group="1x48")
    rstd = rstd.reshape(5, 60)
    dx, dw = zeroulp.rms_norm_backward(dy, x, w, rstd)
    a, b, r = numbers(x), numbers(dy), np.float64(rstd)[..., None]
    g = b * w
    want = r * (g - a * (g * a).mean(-1, keepdims=True) * r * r)
    near(numbers(dx), want, 0.004)
    near(np.float64(dw), (b * a * r).sum((0, 1)), 1e-5)
    beside, same = zeroulp.rms_norm_backward(dy, x, w, rstd, q)
    near(numbers(beside), want + numbers(q), 0.004)
    assert np.array_equal(dw, same)
    with pytest.raises(Error, match="w: 1 x 4, but 1 x 48"):
        zeroulp.rms_norm_backward(dy, x, w[:4], rstd)
    with pytest.raises(Error, match="rstd: 3 x 1, but 300 x 1"):
        zeroulp.rms_norm_backward(dy, x, w, rstd[0, :3])
    with pytest.raises(Error, match="residual: 4 x 48, but 300 x 48"):
        zeroulp.rms_norm_backward(dy, x, w, rstd, q[0, :4])


def chosen_in_fp64(biased, top, groups, kept, group_score):
    """The experts of one token: a stable sort keeps the lower index first."""
    each = len(biased) // groups
    best = np.sort(biased.reshape(groups, each), 1)[:, ::-1]
    of_group = best[:, :2].sum(1) if group_score == "top2_sum" else best[:, 0]
    allowed = np.argsort(-of_group, kind="stable")[:kept]
    masked = np.where(np.isin(np.arange(len(biased)) // each, allowed), biased,
                      -np.inf)
    return np.argsort(-masked, kind="stable")[:top]


@pytest.mark.parametrize("score,groups,kept,group_score,normalized", [
    ("sigmoid", 1, 1, "top2_sum", True), ("sigmoid", 4, 2, "top2_sum", True),
    ("softmax", 4, 2, "max", True), ("softmax", 1, 1, "max", False)])
def test_route(score, groups, kept, group_score, normalized):
    logits = np.float32(normal(3, 50, 16))
    bias = np.float32(0.1 * normal(16, seed=1))
    how = dict(score=score, normalized=normalized, scale=2.5)
    found = zeroulp.route(logits, 4, bias, groups=groups, kept=kept,
                          group_score=group_score, **how)
    assert found.experts.shape == found.weights.shape == (3, 50, 4)
    z = logits.astype("f8")
    s = 1 / (1 + np.exp(-z)) if score == "sigmoid" else \
        np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    assert np.allclose(found.scores, s, rtol=1e-6)
    for at in np.ndindex(3, 50):
        want = chosen_in_fp64(s[at] + bias, 4, groups, kept, group_score)
        assert found.experts[at].tolist() == want.tolist()
    share = np.take_along_axis(s, np.int64(found.experts), -1)

    def weights(share):
        return 2.5 * (share / share.sum(-1, keepdims=True) if normalized else share)

    assert np.allclose(found.weights, weights(share), rtol=1e-5)
    # The gradient, by small differences of what is held to be right above.
    dweights = np.float32(normal(3, 50, 4, seed=2))
    mine = zeroulp.route_backward(dweights, found.experts, found.scores, **how)
    want = np.zeros_like(z)
    for e in range(16):
        sides = []
        for by in (1e-5, -1e-5):
            moved = z.copy()
            moved[..., e] += by
            t = 1 / (1 + np.exp(-moved)) if score == "sigmoid" else \
                np.exp(moved) / np.exp(moved).sum(-1, keepdims=True)
            t = np.take_along_axis(t, np.int64(found.experts), -1)
            sides.append((weights(t) * dweights).sum(-1))
        want[..., e] = (sides[0] - sides[1]) / 2e-5
    near(np.float64(mine), want, 1e-4)


def test_ties_of_route_go_to_the_lower_index():
    logits = np.zeros((2, 8), np.float32)
    logits[1, [2, 5, 6]] = 1
    for score in ("sigmoid", "softmax"):
        found = zeroulp.route(logits, 4, score=score)
        assert found.experts.tolist() == [[0, 1, 2, 3], [2, 5, 6, 0]]
    assert (zeroulp.route(logits, 4).weights[0] == 0.25).all()
    grouped = zeroulp.route(logits, 2, groups=4, kept=1)
    assert grouped.experts.tolist() == [[0, 1], [2, 3]]


def test_route_refuses():
    z = np.zeros((2, 8), np.float32)
    for call, what in (
            (lambda: zeroulp.route(z, 9), "top is 9, but there are 8 experts"),
            (lambda: zeroulp.route(z, 0), "top is 0"),
            (lambda: zeroulp.route(z, 2, groups=3), "8 experts in 3 groups"),
            (lambda: zeroulp.route(z, 2, score="relu"), "score: 'relu': use one of"),
            (lambda: zeroulp.route(z, 2, group_score="sum"), "group_score: 'sum'"),
            (lambda: zeroulp.route(z, 2, np.zeros(7, np.float32)), "bias: 1 x 7"),
            (lambda: zeroulp.route(np.uint32(z), 2), "logits: elements are uint32"),
            (lambda: zeroulp.route_backward(z[:, :2], [[0, 8], [0, 1]], z),
             r"experts \(0, 1\): 8, but 0 to 7"),
            (lambda: zeroulp.route_backward(z[:, :2], [[0, -1], [0, 1]], z),
             "experts: elements are -1"),
            (lambda: zeroulp.route_backward(z[:, :2], [[0.5, 1], [0, 1]], z),
             "experts: elements are float64: use integers"),
            (lambda: zeroulp.route_backward(z[:, :3], [[0, 1], [0, 1]], z),
             "dweights: 2 x 3, but 2 x 2")):
        with pytest.raises(Error, match=what):
            call()


def test_latent_attention():
    heads, depth, rope, values, rank, length = 2, 16, 8, 12, 32, 20
    codes = [bf16(normal(*shape)) for shape in (
        (length, heads * (depth + rope)), (length, rank), (length, rope),
        (heads * (depth + values), rank))]
    one, other = (zeroulp.latent_attention(*codes, heads, order=order)
                  for order in ("unabsorbed", "absorbed"))
    a, b = numbers(one.o), numbers(other.o)
    assert a.shape == (length, heads * values) and (a != b).any()
    assert np.abs(a - b).max() < 0.05 * np.abs(a).max()
    with pytest.raises(Error, match="order: 'other': use one of"):
        zeroulp.latent_attention(*codes, heads, order="other")
    with pytest.raises(Error, match="latent: 19 x 32, but 20 x 32"):
        zeroulp.latent_attention(codes[0], codes[1][:19], *codes[2:], heads)


def test_update_bias():
    bias = np.float32([0, 0.5, 1, 0])
    new = zeroulp.update_bias(bias, [[0, 1], [0, 1], [0, 3], [0, 2]], 0.25)
    assert new.tolist() == [-0.25, 0.5, 1.25, 0.25] and bias[0] == 0
    with pytest.raises(Error, match="speed is None: use a number"):
        zeroulp.update_bias(bias, [[0]], None)
    with pytest.raises(Error, match=r"experts \(0, 0\): 4"):
        zeroulp.update_bias(bias, [[4]])


def test_balance_loss():
    logits = np.float32(normal(8, 6))
    made = zeroulp.route(logits, 2)
    losses, dlogits = zeroulp.balance_loss(made.scores, made.experts, 0.5, length=4)
    assert losses.shape == (2,) and dlogits.shape == (8, 6)
    s = made.scores.astype(np.float64)
    share = (s / s.sum(1, keepdims=True)).reshape(2, 4, 6).mean(1)
    count = [np.bincount(e.ravel(), minlength=6) for e in made.experts.reshape(2, 4, 2)]
    want = 0.5 * (np.array(count) * 6 / 8 * share).sum(1)
    np.testing.assert_allclose(losses, want, rtol=1e-6)
    with pytest.raises(Error, match="no multiple of the length 3"):
        zeroulp.balance_loss(made.scores, made.experts, 0.5, length=3)
    with pytest.raises(Error, match="score: 'relu': use one of"):
        zeroulp.balance_loss(made.scores, made.experts, 0.5, score="relu")


def test_update_average():
    old, new = np.float32([[1, 2]]), np.float32([[3, 2]])
    assert zeroulp.update_average(old, new, 0.75).tolist() == [[1.5, 2]]
    assert old.tolist() == [[1, 2]]
    with pytest.raises(Error, match="weights"):
        zeroulp.update_average(old, new[0, :1])


@pytest.mark.parametrize("align", [1, 4, 128])
def test_plan(align):
    logits = np.float32(normal(70, 6))
    logits[:, 4] = -9  # an expert that nobody chooses
    experts = zeroulp.route(logits, 3).experts
    rows, slots, ends = zeroulp.plan(experts, 6, align)
    assert ends[0] == 0 and ends[-1] == len(rows) and not (ends % align).any()
    assert ends[4] == ends[5]
    assert len(set(slots.ravel().tolist())) == slots.size
    tokens = np.broadcast_to(np.arange(70)[:, None], slots.shape)
    assert np.array_equal(rows[slots], tokens)
    assert (rows >= 0).sum() == slots.size
    assert ((slots >= ends[experts]) & (slots < ends[experts + 1])).all()
    for e in range(6):
        of_expert = rows[ends[e]:ends[e + 1]]
        real = of_expert[of_expert >= 0]
        assert (np.diff(real) > 0).all()
        assert (of_expert[len(real):] == -1).all()
    # What combine and dispatch take.
    x = bf16(normal(70, 128))
    q = zeroulp.dispatch(x, rows, source="bf16")
    assert q.codes.shape == (len(rows), 128)
    zeroulp.combine(bf16(normal(len(rows), 128)), slots)


def test_plan_refuses():
    for call, what in (
            (lambda: zeroulp.plan([[0]], 1, 0), "align is 0"),
            (lambda: zeroulp.plan([[2]], 2), "experts: there is no expert 2 of 2"),
            (lambda: zeroulp.plan([[-1]], 2), "experts: elements are -1"),
            (lambda: zeroulp.plan([[0]], -1), "count is -1"),
            (lambda: zeroulp.plan([[0]], 2**30, 2**30), "more than 2\\^31 - 1")):
        with pytest.raises(Error, match=what):
            call()
    rows, slots, ends = zeroulp.plan(np.zeros((0, 2), np.int32), 3)
    assert rows.size == slots.size == 0 and ends.tolist() == [0, 0, 0, 0]


def test_slot_backward():
    dy, y = bf16(normal(4, 32)), bf16(normal(9, 32, seed=1))
    slots = np.int64([[0, 3], [8, -1], [2, 1], [-1, 7]])
    weights = np.float32(normal(4, 2, seed=2))
    d_rows, dweights = zeroulp.slot_backward(dy, slots, weights, y)
    want = np.zeros((9, 32))
    for (t, k), row in np.ndenumerate(slots):
        if row < 0:
            assert dweights[t, k] == 0
            continue
        want[row] = numbers(dy)[t] * weights[t, k]
        assert dweights[t, k] == pytest.approx(numbers(dy)[t] @ numbers(y)[row],
                                               rel=1e-4)
    near(numbers(d_rows), want, 0.004)
    assert not bits(d_rows)[4:7].any()
    alone, none = zeroulp.slot_backward(dy, slots, weights, rows=9)
    assert none is None and np.array_equal(bits(alone), bits(d_rows))
    none, alone = zeroulp.slot_backward(dy, slots, y=y)
    assert none is None and np.array_equal(alone, dweights)
    for call, what in (
            (lambda: zeroulp.slot_backward(dy, slots, weights), "rows: say how many"),
            (lambda: zeroulp.slot_backward(dy, slots, weights, rows=8),
             r"slots \(1, 0\): 8, but -1 to 7"),
            (lambda: zeroulp.slot_backward(dy, slots[:3], weights, y), "slots: 3 x 2"),
            (lambda: zeroulp.slot_backward(dy, slots, weights[:, :1], y),
             "weights: 4 x 1, but 4 x 2"),
            (lambda: zeroulp.slot_backward(dy, slots, weights, y[:, :8]), "y: 9 x 8"),
            (lambda: zeroulp.slot_backward(dy, 0 * slots, weights, y),
             "row 0 is another slot's")):
        with pytest.raises(Error, match=what):
            call()


def test_cross_entropy():
    logits = np.float32(3 * normal(2, 30, 50))
    targets = np.random.default_rng(0).integers(-1, 50, (2, 30))
    losses, dlogits = zeroulp.cross_entropy(logits, targets)
    z = logits.astype("f8")
    p = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    there = targets >= 0
    at = np.where(there, targets, 0)[..., None]
    want = np.where(there, -np.log(np.take_along_axis(p, at, -1))[..., 0], 0)
    assert losses.shape == (2, 30) and np.abs(losses - want).max() < 1e-5
    np.put_along_axis(p, at, np.take_along_axis(p, at, -1) - 1, -1)
    near(numbers(dlogits), p * there[..., None] / there.sum(), 0.004)
    assert not bits(dlogits)[~there].any()
    assert zeroulp.sum_of_losses(losses) == pytest.approx(want.sum(), rel=1e-6)
    doubled = zeroulp.cross_entropy(logits, targets, 2 / there.sum())[1]
    near(numbers(doubled), 2 * numbers(dlogits), 1e-9)


@pytest.mark.parametrize("n", [1, 7, 256, 1000])
def test_cross_entropy_of_alike_logits_is_the_logarithm(n):
    logits = np.full((3, n), 1.75, np.float32)
    losses, dlogits = zeroulp.cross_entropy(logits, [0, n // 2, n - 1])
    assert (losses == zeroulp.log(np.float32([n]))[0]).all()
    assert abs(losses[0] - math.log(n)) <= 1e-6 * max(math.log(n), 1)
    assert dlogits.shape == (3, n)


def test_cross_entropy_refuses():
    z = np.zeros((2, 8), np.float32)
    for targets, what in (([0, 8], r"targets \(1, 0\): 8, but -1 to 7"),
                          ([0, -2], "targets: elements are -2"),
                          ([0], "targets: 1 x 1, but 2 x 1 are needed"),
                          ([0.0, 1.0], "targets: elements are float64")):
        with pytest.raises(Error, match=what):
            zeroulp.cross_entropy(z, targets)
    with pytest.raises(Error, match="logits: elements are uint32: use float32"):
        zeroulp.cross_entropy(np.uint32(z), [0, 0])


def test_log():
    x = np.float32(np.exp(3 * normal(5, 40)))
    assert np.abs(zeroulp.log(x) - np.log(x.astype("f8"))).max() < 1e-6
    assert zeroulp.log(np.float32([1, 0, -1])).tolist()[:2] == [0, -math.inf]
    assert np.isnan(zeroulp.log(np.float32([-1]))[0])


def test_add_shards():
    shards = [np.float32(normal(6, 1500, seed=s)) for s in range(8)]
    a, b, c, d = (x + y for x, y in zip(shards[::2], shards[1::2]))
    assert np.array_equal(zeroulp.add_shards(shards), (a + b) + (c + d))
    assert np.array_equal(zeroulp.add_shards(shards[:1]), shards[0])
    with pytest.raises(Error, match="shards: there are 3: use a power of two"):
        zeroulp.add_shards(shards[:3])
    with pytest.raises(Error, match=r"shards\[1\]: 5 x 1500, but 6 x 1500"):
        zeroulp.add_shards([shards[0], shards[1][:5]])


def test_norm_and_factor():
    g = [np.float32(normal(300, 400)), np.float32(normal(7))]
    want = math.sqrt(sum((x.astype("f8") ** 2).sum() for x in g))
    assert zeroulp.gradient_norm(g) == pytest.approx(want, rel=1e-14)
    assert zeroulp.gradient_norm(np.float32([3, 4])) == 5
    assert zeroulp.gradient_norm(g[0].T) != 0
    factor = zeroulp.clip_factor(4.0)
    assert factor == 0.25 and factor.dtype == np.float32
    assert zeroulp.clip_factor(0.5) == 1 and zeroulp.clip_factor(8, 2) == 0.25
    with pytest.raises(Error, match="clip is -1"):
        zeroulp.clip_factor(1, -1)
    with pytest.raises(Error, match="norm is 'x': use a number"):
        zeroulp.clip_factor("x")
    with pytest.raises(Error, match=r"gradients\[1\]: elements are fp64"):
        zeroulp.gradient_norm([g[0], normal(3)])


def test_rate_of():
    how = dict(rate=1e-3, warmup=10, hold=90, steps=100, last=0.5)
    assert [zeroulp.rate_of(t, **how) for t in (5, 10, 90, 100)] == \
        [5e-4, 1e-3, 1e-3, 5e-4]
    assert zeroulp.rate_of(3, rate=1, steps=4) == 0.25
    with pytest.raises(Error, match="step is 101: use 1 to 100"):
        zeroulp.rate_of(101, **how)
    with pytest.raises(Error, match="they must ascend"):
        zeroulp.rate_of(1, **dict(how, hold=5))


@needs_torch
def test_tensors_of_torch():
    def tensor(*shape, seed=0):
        return torch.from_numpy(np.float32(normal(*shape, seed=seed)))

    q, k, v = (tensor(2, 20, 32, seed=s).bfloat16() for s in range(3))
    kept = zeroulp.attention(q, k, v, 2)
    assert kept.o.dtype == torch.bfloat16 and kept.o.shape == v.shape
    found = zeroulp.attention_backward(v, q, k, v, *kept, 2)
    assert found.dk.dtype == torch.bfloat16
    x = torch.nn.functional.scaled_dot_product_attention(
        *(y.float().reshape(2, 20, 2, 16).transpose(1, 2) for y in (q, k, v)),
        is_causal=True).transpose(1, 2).reshape(2, 20, 32)
    near(kept.o.double().numpy(), x.double().numpy(), 0.01)
    routing = zeroulp.route(tensor(40, 8), 2)
    assert routing.experts.dtype == torch.int32
    made = zeroulp.plan(routing.experts, 8, 4)
    assert made.rows.dtype == torch.int32 and int(made.ends[-1]) == len(made.rows)
    targets = torch.arange(40) % 8
    losses, dlogits = zeroulp.cross_entropy(tensor(40, 8), targets)
    assert losses.dtype == torch.float32 and dlogits.dtype == torch.bfloat16
    assert torch.allclose(losses, torch.nn.functional.cross_entropy(
        tensor(40, 8), targets, reduction="none"), atol=1e-5)


def test_tensors_of_the_report():
    full = {t.tensor: t for t in zeroulp.tensors()}
    assert full["X"][1:4] == (zeroulp.format("e4m3"), "1x128", "fp32")
    assert full["attention's output, kept"][1:4] == \
        (zeroulp.format("e5m6"), "1x128", "pow2")
    assert full["logits"].group is None and full["logits"].scale is None
    assert "Fprop" in full["W"].used_by and "Dgrad" in full["W"].used_by
    hybrid = {t.tensor: t for t in zeroulp.tensors("full+linear.dy.format:e5m2")}
    assert hybrid["dY"].format.name == "e5m2" and hybrid["X"] == full["X"]
    assert {"full", "bf16", "te_blockwise", "mx"} <= set(zeroulp.arms())
    for arm in zeroulp.arms():
        assert len(zeroulp.tensors(arm)) >= len(full)
    with pytest.raises(zeroulp.Error, match="did you mean 'full'"):
        zeroulp.tensors("ful")
