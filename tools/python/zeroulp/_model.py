"""The other operators of a training step, forward and backward: RMSNorm, rope,
attention, the router and its plan, cross entropy, sums of gradients. SPEC E6 to
E8, N1 to N18.

Activations and their gradients are bfloat16, or uint16 that are its codes;
weights, scores and sums are float32. `[..., n]` is an array whose leading
dimensions, as many as you like, are its tokens."""

import ctypes
import math
from typing import NamedTuple

import numpy as np

from . import _abi
from ._arrays import bits_of, given_back, is_tensor, matrix
from ._arrays import number as _number
from ._arrays import ref
from ._arrays import whole as _whole
from ._library import Error, call
from ._operations import decode, floats_of
from ._training import _need_shape

_PAIRS = {"adjacent": _abi.ZEROULP_ROPE_ADJACENT,
          "halves": _abi.ZEROULP_ROPE_HALVES}
_ORDERS = {"unabsorbed": _abi.ZEROULP_MLA_UNABSORBED,
           "absorbed": _abi.ZEROULP_MLA_ABSORBED}
_SCORES = {"sigmoid": _abi.ZEROULP_ROUTER_SIGMOID,
           "softmax": _abi.ZEROULP_ROUTER_SOFTMAX}
_GROUP_SCORES = {"top2_sum": _abi.ZEROULP_GROUP_TOP2_SUM,
                 "max": _abi.ZEROULP_GROUP_MAX}


class Attention(NamedTuple):
    """`o` as attention's v; `largest` and `inverse` (float32, one for each token
    and head) are what attention_backward needs."""

    o: object
    largest: object
    inverse: object


class AttentionGradients(NamedTuple):
    """The gradients of q, k and v, bfloat16."""

    dq: object
    dk: object
    dv: object


class Routing(NamedTuple):
    """`experts` (int32) and `weights` (float32) of each token's slots; `scores`
    of all experts (float32)."""

    experts: object
    weights: object
    scores: object


class Plan(NamedTuple):
    """int32: the token of each row, or -1; the row of each slot; the rows
    ends[i] to ends[i + 1] are those of expert i."""

    rows: object
    slots: object
    ends: object


def _word(x, what):
    """A number, as bits of FP32."""
    with np.errstate(over="ignore"):
        return int(np.float32(_number(x, what)).view(np.uint32))


def _one_of(table, name, what):
    if name not in table:
        raise Error(f"{what}: {name!r}: use one of {', '.join(table)}")
    return table[name]


def _adjacent(bits):
    """The matrix, with the elements of its rows adjacent."""
    words = bits.words
    if words.shape[1] > 1 and words.strides[1] != words.itemsize:
        bits.words = np.ascontiguousarray(words)
    return bits


def _codes(x, what):
    """A matrix of BF16."""
    bits = bits_of(x, what)
    if bits.format is None and bits.words.dtype == np.uint16:
        bits.format = "bf16"
    if bits.format != "bf16":
        raise Error(f"{what}: elements are {bits.format or bits.words.dtype}: use "
                    "bfloat16")
    return _adjacent(bits)


def _words(x, what):
    """A matrix of FP32."""
    x = np.asarray(x) if isinstance(x, np.generic) else x
    return _adjacent(floats_of(x, what, widened=("bf16", "fp16")))


def _indices(x, what, least=0):
    """A matrix of 4-byte integers."""
    like = x if is_tensor(x) else None
    try:
        array = np.asarray(x.cpu() if hasattr(x, "cpu") else x)
    except (TypeError, ValueError) as e:
        raise Error(f"{what}: a {type(x).__name__} that cannot be read: {e}") \
            from None
    if array.size == 0 and not hasattr(x, "dtype"):
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise Error(f"{what}: elements are {array.dtype}: use integers")
    if array.size and (array.min() < least or array.max() >= 2**31):
        raise Error(f"{what}: elements are {array.min()} to {array.max()}: use "
                    f"{least} to 2^31 - 1")
    bits = bits_of(array.astype(np.int32).view(np.uint32), what)
    bits.shape, bits.like = array.shape, array if like is None else like
    return _adjacent(bits)


def _row(bits):
    bits.words = bits.words.reshape(1, -1)
    return bits


def _column(bits):
    bits.words = bits.words.reshape(-1, 1)
    return bits


def _of_shape(bits, what, shape):
    _need_shape(bits, what, shape)
    return bits


def _new(rows, cols, kind):
    return np.empty((rows, cols), kind)


def _floats_back(words, shape, like):
    return given_back(words, "fp32", shape, like)


def _indices_back(words, shape, like):
    if is_tensor(like):
        return given_back(words, None, shape, like)
    return words.reshape(shape).view(np.int32)


def _call(name, *arguments):
    """Calls the function with matrices made of Bits, which it reads, and of
    arrays, which it writes."""
    alive = []

    def passed(x):
        if isinstance(x, np.ndarray):
            x = matrix(x)
        elif hasattr(x, "words"):
            x = x.const()
        elif not isinstance(x, ctypes.Structure):
            return x
        alive.append(x)
        return ref(x)

    call(name, *[passed(x) for x in arguments])


def log(x):
    """The natural logarithm of each number of x (float32), of x's shape.
    SPEC E6."""
    given = _words(x, "x")
    out = _new(*given.words.shape, np.uint32)
    _call("zeroulp_log", given, out)
    return _floats_back(out, given.shape, given.like)


def rms_norm_backward(dy, x, w, rstd, residual=None):
    """The gradients of rms_norm: dx [..., n] (bfloat16), and dw [n] (float32),
    summed over tokens. dy and x are [..., n] (bfloat16), w [n] and rstd [...],
    rms_norm's factors, float32. `residual` [..., n] (bfloat16) is the gradient
    that arrives beside the norm: dx has it added. Returns (dx, dw). SPEC N3."""
    gradient, rows = _codes(dy, "dy"), _codes(x, "x")
    shape = gradient.words.shape
    _need_shape(rows, "x", shape)
    weight = _of_shape(_row(_words(w, "w")), "w", (1, shape[1]))
    factors = _of_shape(_column(_words(rstd, "rstd")), "rstd", (shape[0], 1))
    beside = None if residual is None else \
        _of_shape(_codes(residual, "residual"), "residual", shape)
    dx, dw = _new(*shape, np.uint16), _new(1, shape[1], np.uint32)
    _call("zeroulp_rms_norm_backward", gradient, rows, weight, factors, beside,
          dx, dw)
    return (given_back(dx, "bf16", gradient.shape, gradient.like),
            _floats_back(dw, (shape[1],), gradient.like))


def rope_table(n=64, positions=4096, *, first=0, frequencies=None):
    """The cosines and sines that rope takes: float32 [positions, n / 2], of
    positions `first` and up. `frequencies` (n / 2 numbers from 0 to 1) are
    10000^(-2i / n) unless given. Returns (cosines, sines). SPEC E7."""
    if frequencies is None:
        n = _whole(n, "n", 2, 128)
        if n & (n - 1):
            raise Error(f"n is {n}: use a power of two, or give frequencies")
        found = ctypes.c_double()
        by = np.empty(n // 2)
        for i in range(n // 2):
            call("zeroulp_rope_frequency", n, i, ctypes.byref(found))
            by[i] = found.value
    else:
        try:
            by = np.ascontiguousarray(frequencies, np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise Error("frequencies: use numbers from 0 to 1") from None
    positions = _whole(positions, "positions", 0, 2**20 + 1)
    first = _whole(first, "first", 0, 2**20)
    cosines, sines = (_new(positions, len(by), np.uint32) for _ in range(2))
    _call("zeroulp_rope_table", bits_of(by, "frequencies"), first, cosines, sines)
    return cosines.view(np.float32), sines.view(np.float32)


def rope(x, cosines, sines, pairs="adjacent", backward=False, heads=1):
    """x [..., heads n] (bfloat16) with the pairs of each head turned by the
    angles of the token's position; with `backward`, the other way. `pairs` are
    `adjacent` elements, or those of the two `halves` of a head. Cosines and
    sines are float32 [positions, n / 2], as of rope_table. In x [..., length,
    heads n], a token's position is its place in the sequence; in a matrix it is
    its row modulo positions. SPEC N4."""
    given = _codes(x, "x")
    how = _one_of(_PAIRS, pairs, "pairs")
    c, s = _words(cosines, "cosines"), _words(sines, "sines")
    _need_shape(s, "sines", c.words.shape)
    if len(given.shape) > 2:
        length = given.shape[-2]
        if length > len(c.words):
            raise Error(f"cosines: {len(c.words)} positions, but sequences of "
                        f"{length}")
        c.words, s.words = c.words[:length], s.words[:length]
    y = _new(*given.words.shape, np.uint16)
    _call("zeroulp_rope", how, int(bool(backward)),
          _whole(heads, "heads", 1, 2**31 - 1), given, c, s, y)
    return given_back(y, "bf16", given.shape, given.like)


def _attention_shape(depth, heads, length, scale):
    """The struct; `scale` is that of `depth` unless given."""
    if scale is None:
        found = ctypes.c_uint32()
        call("zeroulp_attention_scale", max(depth, 1), ctypes.byref(found))
        word = found.value
    else:
        word = _word(scale, "scale")
        if not 0 < word < 0x7f800000:
            raise Error(f"scale is {scale}: use a number above 0, within float32")
    return _abi.zeroulp_attention(_whole(length, "length", 1, 2**63 - 1), heads,
                                  word)


def _attention(q, k, v, heads, length, scale):
    """The shape and the matrices of attention."""
    queries, keys, values = _codes(q, "q"), _codes(k, "k"), _codes(v, "v")
    m, width = queries.words.shape
    heads = _whole(heads, "heads", 1, 2**31 - 1)
    _need_shape(keys, "k", (m, width))
    _need_shape(values, "v", (m, values.words.shape[1]))
    if length is None:
        length = queries.shape[-2] if len(queries.shape) > 1 else 1
        length = max(length, 1)
    shape = _attention_shape(width // heads, heads, length, scale)
    return shape, queries, keys, values


def attention(q, k, v, heads, length=None, scale=None):
    """Causal attention. q and k are [..., heads depth], v is [..., heads
    value_depth] (bfloat16), heads beside each other. Sequences are of `length`
    tokens: if None, those of the last but one dimension. Scores are multiplied
    by `scale`, 1 / sqrt(depth) unless given. Returns Attention(o, largest,
    inverse). A token's bits depend on those before it in its sequence alone, not
    on the batch; but where v is infinite or NaN for a later token of its 64, its
    output is NaN. SPEC N5, N6."""
    shape, queries, keys, values = _attention(q, k, v, heads, length, scale)
    m = queries.words.shape[0]
    o = _new(*values.words.shape, np.uint16)
    largest, inverse = (_new(m, shape.heads, np.uint32) for _ in range(2))
    _call("zeroulp_attention_forward", shape, queries, keys, values, o, largest,
          inverse)
    each = (*queries.shape[:-1], shape.heads)
    return Attention(given_back(o, "bf16", values.shape, values.like),
                     _floats_back(largest, each, queries.like),
                     _floats_back(inverse, each, queries.like))


def attention_backward(d_o, q, k, v, o, largest, inverse, heads, length=None,
                       scale=None):
    """The gradients of attention: AttentionGradients(dq, dk, dv) of the shapes of
    q, k, v (bfloat16), from d_o (bfloat16, as o). `o` (bfloat16, or float32 where
    it was kept in another format and decoded), `largest` and `inverse` are
    attention's; the rest are its arguments. SPEC N7."""
    shape, queries, keys, values = _attention(q, k, v, heads, length, scale)
    m = queries.words.shape[0]
    gradient = _of_shape(_codes(d_o, "d_o"), "d_o", values.words.shape)
    if bits_of(o, "o").words.dtype == np.uint16:
        _codes(o, "o")
        o = decode(o, "bf16")
    kept = _of_shape(_words(o, "o"), "o", values.words.shape)
    each = [_of_shape(_words(x, what), what, (m, shape.heads))
            for x, what in ((largest, "largest"), (inverse, "inverse"))]
    out = [_new(*x.words.shape, np.uint16) for x in (queries, keys, values)]
    _call("zeroulp_attention_backward", shape, queries, keys, values, kept, *each,
          gradient, *out)
    return AttentionGradients(*(given_back(a, "bf16", x.shape, x.like)
                                for a, x in zip(out, (queries, keys, values))))


def latent_attention(q, latent, rope_key, up, heads, order="unabsorbed",
                     length=None, scale=None):
    """Attention of MLA. q is [..., heads (depth + rope)], its rope's elements
    turned; all heads share `latent` [..., rank] and `rope_key` [..., rope]; `up`
    [heads (depth + values), rank] has the weights of each head's keys, then of
    its values. All are bfloat16. `order` is that of the products: `unabsorbed`
    (training) or `absorbed` (decoding). Scores are multiplied by `scale`,
    1 / sqrt(depth + rope) unless given. Returns as attention does. SPEC N27."""
    queries, rows = _codes(q, "q"), _codes(latent, "latent")
    key, weights = _codes(rope_key, "rope_key"), _codes(up, "up")
    heads = _whole(heads, "heads", 1, 2**31 - 1)
    m, width = queries.words.shape
    if length is None:
        length = max(queries.shape[-2] if len(queries.shape) > 1 else 1, 1)
    shape = _attention_shape(width // heads, heads, length, scale)
    values = weights.words.shape[0] // heads - width // heads + \
        key.words.shape[1]
    o = _new(m, heads * max(values, 0), np.uint16)
    largest, inverse = (_new(m, heads, np.uint32) for _ in range(2))
    _call("zeroulp_mla_forward", _one_of(_ORDERS, order, "order"), shape, queries,
          rows, key, weights, o, largest, inverse)
    each = (*queries.shape[:-1], heads)
    return Attention(
        given_back(o, "bf16", (*queries.shape[:-1], o.shape[1]), queries.like),
        _floats_back(largest, each, queries.like),
        _floats_back(inverse, each, queries.like))


def _router(top, score, groups, kept, group_score, normalized, scale):
    most = 2**31 - 1
    return _abi.zeroulp_router(
        _one_of(_SCORES, score, "score"), _whole(top, "top", 1, most),
        _whole(groups, "groups", 1, most), _whole(kept, "kept", 1, most),
        _one_of(_GROUP_SCORES, group_score, "group_score"),
        int(bool(normalized)), _word(scale, "scale"))


def route(logits, top, bias=None, score="sigmoid", groups=1, kept=1,
          group_score="top2_sum", normalized=True, scale=1.0):
    """Which `top` experts each token goes to. logits are [..., e], bias [e]
    (float32), which counts for the choice alone. Scores are a `sigmoid` or a
    `softmax`. Experts are in `groups`, of which a token may choose from `kept`
    ones, by the sum of their two best (`top2_sum`) or by their best (`max`).
    Equal ones: the lower index. Weights are shares of the slots' scores if
    `normalized`, times `scale`. Returns Routing(experts [..., top], weights
    [..., top], scores [..., e]). SPEC N8 to N10."""
    given = _words(logits, "logits")
    m, e = given.words.shape
    router = _router(top, score, groups, kept, group_score, normalized, scale)
    by = None if bias is None else \
        _of_shape(_row(_words(bias, "bias")), "bias", (1, e))
    if router.top > e:
        raise Error(f"top is {router.top}, but there are {e} experts")
    scores = _new(m, e, np.uint32)
    experts, weights = (_new(m, router.top, np.uint32) for _ in range(2))
    _call("zeroulp_route", router, given, by, scores, experts, weights)
    each = (*given.shape[:-1], router.top)
    return Routing(_indices_back(experts, each, given.like),
                   _floats_back(weights, each, given.like),
                   _floats_back(scores, given.shape, given.like))


def route_backward(dweights, experts, scores, score="sigmoid", normalized=True,
                   scale=1.0):
    """The gradient of the logits [..., e] (float32) from that of the weights
    [..., top] (float32); `experts` and `scores` are route's, the rest are its
    arguments. SPEC N11."""
    all_scores, chosen = _words(scores, "scores"), _indices(experts, "experts")
    m, top = chosen.words.shape
    _need_shape(all_scores, "scores", (m, all_scores.words.shape[1]))
    slopes = _of_shape(_words(dweights, "dweights"), "dweights", (m, top))
    router = _router(top, score, 1, 1, "top2_sum", normalized, scale)
    dlogits = _new(*all_scores.words.shape, np.uint32)
    _call("zeroulp_route_backward", router, all_scores, chosen, slopes, dlogits)
    return _floats_back(dlogits, all_scores.shape, all_scores.like)


def update_bias(bias, experts, speed=1e-3):
    """The bias [e] (float32) of the next step: of an expert with more slots than
    its share less `speed`, with fewer more. `experts` are route's, of all tokens
    of the step. SPEC N12."""
    given = _row(_words(bias, "bias"))
    out = np.array(given.words, order="C")
    _call("zeroulp_update_bias", _indices(experts, "experts"),
          _word(speed, "speed"), out)
    return _floats_back(out, given.shape, given.like)


def balance_loss(scores, experts, alpha, score="sigmoid", length=None):
    """A penalty for experts that are not in balance over sequences of `length`
    tokens (None: all are one), from route's scores [m, e] and experts [m, top].
    Returns (losses [m / length], dlogits [m, e]), float32. SPEC N25."""
    given, chosen = _words(scores, "scores"), _indices(experts, "experts")
    m, e = given.words.shape
    _need_shape(chosen, "experts", (m, chosen.words.shape[1]))
    length = _whole(m if length is None else length, "length", 1, 2**63 - 1)
    if m % length:
        raise Error(f"scores: {m} rows, no multiple of the length {length}")
    losses, dlogits = _new(m // length, 1, np.uint32), _new(m, e, np.uint32)
    _call("zeroulp_balance_loss", _one_of(_SCORES, score, "score"), length,
          _word(alpha, "alpha"), given, chosen, losses, dlogits)
    return (_floats_back(losses, (m // length,), given.like),
            _floats_back(dlogits, given.shape, given.like))


def update_average(average, weights, beta=0.999):
    """The moving average of weights (float32, of one shape) after a step: it
    moves by 1 - beta. SPEC N26."""
    given, old = _words(weights, "weights"), _words(average, "average")
    _need_shape(given, "weights", old.words.shape)
    out = np.array(old.words, order="C")
    _call("zeroulp_update_average", given,
          _word(1 - _number(beta, "beta"), "beta"), out)
    return _floats_back(out, old.shape, old.like)


def _plan_capacity(slots, count, align):
    """The rows of any choice of so many slots."""
    count = _whole(count, "count", 0, 2**31 - 1)
    align = _whole(align, "align", 1, 2**31 - 1)
    capacity = ctypes.c_int64()
    call("zeroulp_plan_capacity", slots, count, align, ctypes.byref(capacity))
    return capacity.value


def plan(experts, count, align=128):
    """Which row of which expert each slot becomes. `experts` are route's, [...,
    top] of `count`; the rows of an expert are its slots by token, padded to a
    multiple of `align`. Returns Plan(rows, slots, ends): dispatch takes rows,
    combine slots. SPEC N13."""
    chosen = _indices(experts, "experts")
    capacity = _plan_capacity(chosen.words.size, count, align)
    if chosen.words.size and chosen.words.max() >= count:
        raise Error(f"experts: there is no expert {chosen.words.max()} of {count}")
    rows = _new(capacity, 1, np.uint32)
    slots = _new(*chosen.words.shape, np.uint32)
    ends = _new(count + 1, 1, np.uint32)
    _call("zeroulp_make_plan", chosen, align, rows, slots, ends)
    rows = np.array(rows[:ends[-1, 0]])
    return Plan(_indices_back(rows, (len(rows),), chosen.like),
                _indices_back(slots, chosen.shape, chosen.like),
                _indices_back(ends, (count + 1,), chosen.like))


def slot_backward(dy, slots, weights=None, y=None, rows=None):
    """The gradients of combine with weights. dy is [..., n] (bfloat16), `slots`
    [..., top] a plan's, -1 for none. From `weights` [..., top] (float32), those
    of the experts' rows [rows, n] (bfloat16; +0 without a slot); from the
    experts' rows y [rows, n] (bfloat16), those of the weights (float32). What is
    not given gives None; `rows` is only needed without y. Returns (d_rows,
    dweights). SPEC N14."""
    gradient, places = _codes(dy, "dy"), _indices(slots, "slots", -1)
    m, n = gradient.words.shape
    _need_shape(places, "slots", (m, places.words.shape[1]))
    shape = places.words.shape
    by = None if weights is None else \
        _of_shape(_words(weights, "weights"), "weights", shape)
    outputs = None
    if y is not None:
        outputs = _codes(y, "y")
        count = len(outputs.words) if rows is None else _whole(
            rows, "rows", 0, 2**31 - 1)
        _need_shape(outputs, "y", (count, n))
    elif rows is None:
        raise Error("rows: say how many rows the experts have, or give y")
    else:
        count = _whole(rows, "rows", 0, 2**31 - 1)
    d_rows = None if by is None else _new(count, n, np.uint16)
    dweights = None if y is None else _new(*shape, np.uint32)
    _call("zeroulp_slot_backward", gradient, places, by, outputs, d_rows, dweights)
    return (None if d_rows is None else
            given_back(d_rows, "bf16", d_rows.shape, gradient.like),
            None if dweights is None else
            _floats_back(dweights, places.shape, gradient.like))


def cross_entropy(logits, targets, factor=None):
    """The losses [...] (float32) of logits [..., n] (float32) with `targets` [...]
    from 0 to n - 1, or -1 for none; and the gradient of the logits (bfloat16)
    times `factor`, unless given 1 / the number of targets. Returns (losses,
    dlogits). SPEC N15."""
    given = _words(logits, "logits")
    m, n = given.words.shape
    places = _of_shape(_column(_indices(targets, "targets", -1)), "targets", (m, 1))
    if factor is None:
        count = int((places.words.view(np.int32) >= 0).sum())
        factor = 1 / max(count, 1)
    losses, dlogits = _new(m, 1, np.uint32), _new(m, n, np.uint16)
    _call("zeroulp_cross_entropy", given, places, _word(factor, "factor"), losses,
          dlogits)
    return (_floats_back(losses, given.shape[:-1], given.like),
            given_back(dlogits, "bf16", given.shape, given.like))


def sum_of_losses(losses):
    """The sum of losses (float32), a float. SPEC N15."""
    found = ctypes.c_double()
    _call("zeroulp_sum_of_losses", _column(_words(losses, "losses")),
          ctypes.byref(found))
    return found.value


def add_shards(shards):
    """The sum of 1, 2, 4, .. arrays of one shape (float32): a tree of neighbours.
    SPEC N16."""
    given = [_words(x, f"shards[{i}]") for i, x in enumerate(shards)]
    if len(given) & (len(given) - 1) or not given:
        raise Error(f"shards: there are {len(given)}: use a power of two")
    for i, x in enumerate(given):
        _need_shape(x, f"shards[{i}]", given[0].words.shape)
    out = _new(*given[0].words.shape, np.uint32)
    structs = (_abi.zeroulp_const_matrix * len(given))(*(x.const() for x in given))
    _call("zeroulp_add_shards", structs, len(given), out)
    return _floats_back(out, given[0].shape, given[0].like)


def gradient_norm(gradients):
    """The norm of all gradients, an array or some in the order of the parameters
    (float32): a float. SPEC N17."""
    if hasattr(gradients, "dtype"):
        gradients = [gradients]
    total = 0.0
    for i, g in enumerate(gradients):
        found = ctypes.c_double()
        _call("zeroulp_sum_of_squares", _words(g, f"gradients[{i}]"),
              ctypes.byref(found))
        total += found.value
    return math.sqrt(total)


def clip_factor(norm, clip=1.0):
    """What gradients of this norm are multiplied by (float32): clip / norm if the
    norm is above `clip`, else 1. SPEC N17."""
    found = ctypes.c_uint32()
    call("zeroulp_clip_factor", _number(norm, "norm"), _number(clip, "clip"),
         ctypes.byref(found))
    return np.uint32(found.value).view(np.float32)


def rate_of(step, *, rate, steps, warmup=0, hold=None, last=0.0):
    """The rate of learning at a step from 1 to `steps`: it grows to `rate` in
    `warmup` steps, stays until step `hold` (the end of the warmup unless given),
    and falls to `last` times that. A float. SPEC N18."""
    most = 2**63 - 1
    warmup = _whole(warmup, "warmup", 0, most)
    schedule = _abi.zeroulp_rate_schedule(
        _number(rate, "rate"), warmup,
        warmup if hold is None else _whole(hold, "hold", 0, most),
        _whole(steps, "steps", 1, most), _number(last, "last"))
    found = ctypes.c_double()
    _call("zeroulp_rate_of", schedule, _whole(step, "step", 1, most),
          ctypes.byref(found))
    return found.value
