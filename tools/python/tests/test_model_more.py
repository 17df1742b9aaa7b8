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
