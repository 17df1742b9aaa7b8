"""Operators of a model that a plain step does not need: sums over micro-batches
in DualPipe's order, replicas of experts, the lightning indexer, multi-token
prediction. SPEC N28 to N31."""

from typing import NamedTuple

import numpy as np

from . import _abi
from ._arrays import bits_of, given_back
from ._library import Error
from ._model import (_adjacent, _call, _codes, _column, _floats_back, _indices,
                     _indices_back, _new, _of_shape, _row, _whole, _word, _words)
from ._training import _need_shape


class IndexerKeys(NamedTuple):
    """int32: the chosen keys of each query, ascending, then -1; and how many keys
    that are left out equal the last one taken."""

    keys: object
    ties: object


class MtpInput(NamedTuple):
    """`joined` [..., 2 d] (bfloat16) is what the projection reads; the factors
    (float32) are what mtp_input_backward needs."""

    joined: object
    rstd_h: object
    rstd_next: object


class MtpGradients(NamedTuple):
    """The gradients of h and of the embeddings (bfloat16), and of the weights of
    both norms (float32)."""

    dh: object
    d_next: object
    dw_h: object
    dw_next: object


def _pipe(stages, micro_batches):
    return (_whole(stages, "stages", 2, 2**28),
            _whole(micro_batches, "micro_batches", 4, 2**29))


def dual_pipe_steps(stages, micro_batches, rank):
    """What a rank of DualPipe does, in order: int32 [3 micro_batches, 3], a pass
    (0: forward, 1: backward of inputs, 2: gradients of weights), a direction and
    a micro-batch a row. SPEC N28."""
    stages, count = _pipe(stages, micro_batches)
    steps = _new(3 * count, 3, np.int32)
    _call("zeroulp_dual_pipe_steps", stages, count,
          _whole(rank, "rank", 0, stages - 1), steps)
    return steps


def dual_pipe_order(stages, micro_batches, stage):
    """The micro-batches of a stage in the order in which their gradients of
    weights are made: int32 [2, micro_batches / 2], a row a direction.
    accumulate_micro_batches takes it. SPEC N28."""
    stages, count = _pipe(stages, micro_batches)
    order = _new(2, count // 2, np.int32)
    _call("zeroulp_dual_pipe_order", stages, count,
          _whole(stage, "stage", 0, stages - 1), order)
    return order


def accumulate_micro_batches(gradients, order=None):
    """The sum of gradients (float32, of one shape): each row of `order` is a
    chain of them, and the chains are added in order. None: one chain of all, as
    they come. SPEC N28."""
    given = [_words(x, f"gradients[{i}]") for i, x in enumerate(gradients)]
    if not given:
        raise Error("gradients: there are none")
    for i, x in enumerate(given):
        _need_shape(x, f"gradients[{i}]", given[0].words.shape)
    by = _indices([range(len(given))] if order is None else order, "order")
    out = _new(*given[0].words.shape, np.uint32)
    structs = (_abi.zeroulp_const_matrix * len(given))(*(x.const() for x in given))
    _call("zeroulp_accumulate_micro_batches", structs, len(given), by, out)
    return _floats_back(out, given[0].shape, given[0].like)


def choose_replicas(experts, counts):
    """The replica of each slot, as `experts` (route's): those of expert i are
    numbered after those of the experts before it, and tokens take them in turn.
    `counts` are the replicas of each expert. SPEC N29."""
    chosen = _indices(experts, "experts")
    ends = np.concatenate([[0], np.cumsum(np.asarray(counts, np.int64))])
    replicas = _new(*chosen.words.shape, np.uint32)
    _call("zeroulp_choose_replicas", chosen, _column(_indices(ends, "counts")),
          replicas)
    return _indices_back(replicas, chosen.shape, chosen.like)


def merge_replicas(by_replica, by_expert, rows):
    """For each of `rows` rows of a plan by expert the row of a plan by replica,
    or -1 (int32), from the slots of both plans. SPEC N29."""
    expert = _indices(by_expert, "by_expert", -1)
    replica = _of_shape(_indices(by_replica, "by_replica", -1), "by_replica",
                        expert.words.shape)
    rows = _whole(rows, "rows", 0, 2**31 - 1)
    found = _new(rows, 1, np.uint32)
    _call("zeroulp_merge_replicas", replica, expert, found)
    return _indices_back(found, (rows,), expert.like)


def _e4m3(x, what):
    bits = bits_of(x, what)
    if bits.words.dtype != np.uint8 or bits.format not in (None, "e4m3"):
        raise Error(f"{what}: elements are {bits.format or bits.words.dtype}: use "
                    "float8_e4m3fn, or its codes")
    return _adjacent(bits)


def indexer_logits(q, k, q_scales, k_scales, weights, first=0):
    """Logits [m, n] (float32) of the lightning indexer. q [m, heads depth] and k
    [n, depth] are E4M3, with scales q_scales [m, heads] and k_scales [n];
    `weights` are [m, heads], float32. Query i sees the first (first + i + 1)
    keys; others have -Inf. SPEC N30."""
    queries, keys = _e4m3(q, "q"), _e4m3(k, "k")
    by = _words(weights, "weights")
    scales = _of_shape(_words(q_scales, "q_scales"), "q_scales", by.words.shape)
    of_keys = _column(_words(k_scales, "k_scales"))
    logits = _new(queries.words.shape[0], keys.words.shape[0], np.uint32)
    _call("zeroulp_indexer_logits", queries, keys, scales, of_keys, by,
          _whole(first, "first", 0, 2**62), logits)
    return _floats_back(logits, logits.shape, by.like)


def indexer_keys(logits, top, first=0):
    """IndexerKeys(keys [m, top], ties [m]): the keys with the `top` largest logits
    [m, n] of those that a query sees; equal ones: the lower index. SPEC N30."""
    given = _words(logits, "logits")
    m = given.words.shape[0]
    top = _whole(top, "top", 1, 2**31 - 1)
    keys, ties = _new(m, top, np.uint32), _new(m, 1, np.uint32)
    _call("zeroulp_indexer_keys", given, _whole(first, "first", 0, 2**62), keys,
          ties)
    return IndexerKeys(_indices_back(keys, (m, top), given.like),
                       _indices_back(ties, (m,), given.like))


def mtp_tokens(targets, length, depth=1):
    """What a module of multi-token prediction reads and predicts, from the
    model's targets [m] (int, -1: none), sequences of `length`. Returns (inputs,
    predictions), int32 [m]. SPEC N31."""
    given = _column(_indices(targets, "targets", -1))
    m = given.words.shape[0]
    inputs, predictions = (_new(m, 1, np.uint32) for _ in range(2))
    _call("zeroulp_mtp_tokens", given, _whole(length, "length", 1, 2**62),
          _whole(depth, "depth", 1, 2**62), inputs, predictions)
    return tuple(_indices_back(x, (m,), given.like) for x in (inputs, predictions))


def _mtp_rows(h, next_rows, w_h, w_next):
    rows, embedded = _codes(h, "h"), _codes(next_rows, "next")
    _need_shape(embedded, "next", rows.words.shape)
    width = (1, rows.words.shape[1])
    return (rows, embedded, _of_shape(_row(_words(w_h, "w_h")), "w_h", width),
            _of_shape(_row(_words(w_next, "w_next")), "w_next", width))


def mtp_input(h, next_rows, w_h, w_next, eps=1e-6):
    """What the projection of a module of multi-token prediction reads: rows h of
    the model and embeddings, [..., d] (bfloat16), each normalized with weights
    [d] (float32). Returns MtpInput. SPEC N31."""
    given = _mtp_rows(h, next_rows, w_h, w_next)
    m, d = given[0].words.shape
    joined = _new(m, 2 * d, np.uint16)
    factors = [_new(m, 1, np.uint32) for _ in range(2)]
    _call("zeroulp_mtp_input", *given, _word(eps, "eps"), joined, *factors)
    leading, like = given[0].shape[:-1], given[0].like
    return MtpInput(given_back(joined, "bf16", (*leading, 2 * d), like),
                    *(_floats_back(x, leading, like) for x in factors))


def mtp_input_backward(d_joined, h, next_rows, w_h, w_next, rstd_h, rstd_next,
                       residual=None):
    """MtpGradients from d_joined [..., 2 d] (bfloat16) and mtp_input's arguments
    and factors. `residual` [..., d] (bfloat16) is the gradient that h has by the
    model itself: dh has it added. SPEC N31."""
    given = _mtp_rows(h, next_rows, w_h, w_next)
    m, d = given[0].words.shape
    slopes = _of_shape(_codes(d_joined, "d_joined"), "d_joined", (m, 2 * d))
    factors = [_of_shape(_column(_words(x, what)), what, (m, 1))
               for x, what in ((rstd_h, "rstd_h"), (rstd_next, "rstd_next"))]
    beside = None if residual is None else \
        _of_shape(_codes(residual, "residual"), "residual", (m, d))
    rows = [_new(m, d, np.uint16) for _ in range(2)]
    weights = [_new(1, d, np.uint32) for _ in range(2)]
    _call("zeroulp_mtp_input_backward", slopes, *given, *factors, beside, *rows,
          *weights)
    shape, like = given[0].shape, given[0].like
    return MtpGradients(*(given_back(x, "bf16", shape, like) for x in rows),
                        *(_floats_back(x, (d,), like) for x in weights))
