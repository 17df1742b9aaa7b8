"""Micro-batches, replicas, the indexer and multi-token prediction: what holds to
the bit, and what is refused."""

import numpy as np
import pytest
import zeroulp
from zeroulp import Error

from test_model import bf16, bits, normal, numbers


def test_dual_pipe():
    order = zeroulp.dual_pipe_order(4, 8, 1)
    assert order.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    steps = zeroulp.dual_pipe_steps(4, 8, 0)
    assert steps.shape == (24, 3) and steps[:3].tolist() == [
        [0, 0, 0], [0, 0, 1], [0, 0, 2]]
    with pytest.raises(Error, match="4 stages, 6 micro-batches"):
        zeroulp.dual_pipe_order(4, 6, 0)
    with pytest.raises(Error, match="stage is 4: use 0 to 3"):
        zeroulp.dual_pipe_order(4, 8, 4)


def test_accumulate_micro_batches():
    all_of = np.float32(normal(8, 3, 5))
    a = ((all_of[0] + all_of[1]) + all_of[2]) + all_of[3]
    b = ((all_of[4] + all_of[5]) + all_of[6]) + all_of[7]
    by_pipe = zeroulp.accumulate_micro_batches(all_of,
                                               zeroulp.dual_pipe_order(4, 8, 2))
    assert (by_pipe == a + b).all()
    assert (by_pipe != zeroulp.accumulate_micro_batches(all_of)).any()
    one = np.float32([[-0.0]])
    assert np.signbit(zeroulp.accumulate_micro_batches([one]))
    with pytest.raises(Error, match="a second time"):
        zeroulp.accumulate_micro_batches(all_of, [[0, 0]])


def test_replicas():
    experts = [[0, 1], [1, 2], [1, 0], [2, 1]]
    replicas = zeroulp.choose_replicas(experts, [1, 2, 1])
    assert replicas.tolist() == [[0, 1], [2, 3], [1, 0], [3, 2]]
    one, many = zeroulp.plan(experts, 3, 4), zeroulp.plan(replicas, 4, 4)
    found = zeroulp.merge_replicas(many.slots, one.slots, len(one.rows))
    assert (found[one.slots] == many.slots).all()
    assert (many.rows[found[found >= 0]] == one.rows[found >= 0]).all()
    with pytest.raises(Error, match="expert 1 has no replica"):
        zeroulp.choose_replicas(experts, [1, 0, 1])


def test_indexer():
    q = zeroulp.encode(np.float32(normal(3, 2 * 128)), "e4m3").view(np.uint8)
    k = zeroulp.encode(np.float32(normal(6, 128)), "e4m3").view(np.uint8)
    scales, of_keys = np.float32(normal(3, 2) ** 2), np.float32(normal(6) ** 2)
    w = np.float32(normal(3, 2, seed=1))
    logits = zeroulp.indexer_logits(q, k, scales, of_keys, w, first=3)
    dot = np.einsum("thd,sd->ths", zeroulp.decode(q, "e4m3").reshape(3, 2, 128),
                    zeroulp.decode(k, "e4m3"))
    want = np.einsum("ths,th->ts", np.maximum(dot, 0), w * scales) * of_keys
    seen = np.arange(6) < 4 + np.arange(3)[:, None]
    np.testing.assert_allclose(logits[seen], want[seen], rtol=1e-2, atol=1e-2)
    assert (logits[~seen] == -np.inf).all()
    chosen = zeroulp.indexer_keys(np.float32([[1, 2, 1, 1], [3, 1, 1, 0]]), 2, 2)
    assert chosen.keys.tolist() == [[0, 1], [0, 1]]
    assert chosen.ties.tolist() == [1, 1]
    with pytest.raises(Error, match="q: 256 columns, but 3 heads of 128"):
        zeroulp.indexer_logits(q, k, np.ones((3, 3), np.float32), of_keys,
                               np.ones((3, 3), np.float32))
    with pytest.raises(Error, match="k: elements are fp32"):
        zeroulp.indexer_logits(q, np.zeros((6, 128), np.float32), scales, of_keys, w)


def test_mtp():
    inputs, predictions = zeroulp.mtp_tokens([1, 2, 3, 4, 5, 6], 3)
    assert inputs.tolist() == [1, 2, 3, 4, 5, 6]
    assert predictions.tolist() == [2, 3, -1, 5, 6, -1]
    h, e, slopes = bf16(normal(4, 16)), bf16(normal(4, 16, seed=1)), bf16(normal(4, 32))
    w, v = np.float32(normal(16)), np.float32(normal(16, seed=1))
    made = zeroulp.mtp_input(h, e, w, v)
    alone = zeroulp.rms_norm(np.float32(numbers(e)), v)[0]
    assert (bits(made.joined)[:, 16:] == bits(alone)).all()
    found = zeroulp.mtp_input_backward(slopes, h, e, w, v, *made[1:], residual=h)
    dx, dw = zeroulp.rms_norm_backward(slopes[:, :16], h, w, made.rstd_h, h)
    assert (bits(found.dh) == bits(dx)).all() and (found.dw_h == dw).all()
    assert np.isfinite(numbers(found.d_next)).all()
    with pytest.raises(Error, match="no multiple|sequences of 4"):
        zeroulp.mtp_tokens([1, 2, 3], 4)


def product(a, b):
    """A B^T of BF16 codes, FP32."""
    return zeroulp.gemm(np.ascontiguousarray(a), np.ascontiguousarray(b),
                        "unpromoted", format="bf16")


def rms(x, w):
    return x / np.sqrt((x ** 2).mean(1, keepdims=True) + 1e-6) * w


class Module:
    """N31 at depth 1, without its layer: the projection, a norm, the head."""

    def __init__(self, length=12, d=32, vocabulary=16, weight=0.3):
        self.targets = np.arange(length) * 7 % vocabulary
        self.ids, self.predictions = zeroulp.mtp_tokens(self.targets, length)
        self.factor = weight / length
        self.h = bf16(normal(length, d))
        self.table = bf16(normal(vocabulary, d, seed=1))
        self.m = bf16(normal(d, 2 * d, seed=2) / 8)
        self.head = bf16(normal(vocabulary, d, seed=3) / 4)
        self.norms = [np.float32(1 + normal(d, seed=4 + i) / 8) for i in range(3)]

    def exact(self, h, table, m, head):
        """The loss in FP64."""
        w_h, w_next, w_last = np.float64(self.norms)
        x = np.concatenate([rms(h, w_h), rms(table[self.ids], w_next)], 1)
        z = rms(x @ m.T, w_last) @ head.T
        there = self.predictions >= 0
        logs = np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), self.predictions]
        return self.factor * logs[there].sum()

    def gradients(self, residual=None):
        """By the operators: of h, the table, M and the head."""
        w_h, w_next, w_last = self.norms
        rows = np.ascontiguousarray(bits(self.table)[self.ids])
        made = zeroulp.mtp_input(self.h, rows, w_h, w_next)
        joined = bits(made.joined)
        out = bf16(product(joined, self.m))
        y, rstd, _ = zeroulp.rms_norm(np.float32(numbers(out)), w_last)
        y = bits(y)
        _, dz = zeroulp.cross_entropy(product(y, self.head), self.predictions,
                                      self.factor)
        dz = bits(dz)
        d_out, _ = zeroulp.rms_norm_backward(bf16(product(dz, bits(self.head).T)),
                                             out, w_last, rstd)
        d_out = bits(d_out)
        d_joined = bf16(product(d_out, bits(self.m).T))
        found = zeroulp.mtp_input_backward(d_joined, self.h, rows, w_h, w_next,
                                           made.rstd_h, made.rstd_next, residual)
        one_hot = bf16(np.eye(len(self.table))[self.ids])
        return (found.dh, product(one_hot.T, bits(found.d_next).T),
                product(d_out.T, joined.T), product(dz.T, y.T))


def test_mtp_module_against_differences():
    module = Module()
    given = [numbers(x) for x in (module.h, module.table, module.m, module.head)]
    found = module.gradients()
    for i, x in enumerate(given):
        want = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            kept, sides = x[at], []
            for step in (1e-5, -1e-5):
                x[at] = kept + step
                sides.append(module.exact(*given))
            x[at] = kept
            want[at] = (sides[0] - sides[1]) / 2e-5
        got = numbers(found[i]) if i == 0 else np.float64(found[i])
        assert np.linalg.norm(got - want) < 0.02 * np.linalg.norm(want), i
        # A gradient that is 3 % too large is found.
        assert np.linalg.norm(1.03 * got - want) > 0.02 * np.linalg.norm(want), i


def test_shared_gradients_of_mtp():
    module = Module()
    _, table, _, head = module.gradients()
    for gradient in (table, head):
        main = np.float32(normal(*gradient.shape, seed=9))
        both = zeroulp.accumulate_micro_batches([main, gradient])
        assert (both == main + gradient).all()
    # h has its gradient by the model itself, too: it is added in FP32.
    beside = bf16(normal(*module.h.shape, seed=9) / 64)
    joined = numbers(module.gradients(beside)[0])
    alone = numbers(module.gradients()[0])
    assert np.abs(joined - alone - numbers(beside)).max() < 2.0 ** -10
