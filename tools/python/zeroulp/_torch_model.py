"""The operators of a training step on tensors: on a GPU (Hopper) by the kernels,
in torch's memory and on its current stream; on the CPU by the functions of
zeroulp, which have the same bits. SPEC N1 to N17.

attention, rms_norm, rope, route, combine and cross_entropy are differentiable;
what is called _forward and _backward is what they are made of. Activations are
bfloat16; weights, scores and sums float32; indices int32. `[..., n]` is a tensor
whose leading dimensions are its tokens. On a GPU indices are not checked: what
names nothing reads nothing."""

import torch

from . import _abi, _cuda, _model, _operations, _training
from ._cuda import Output
from ._library import Error
from ._model import Attention, AttentionGradients, Plan, Routing

_NAMES = {torch.bfloat16: "bfloat16", torch.float32: "float32",
          torch.int32: "int32"}


def _on_gpu(x):
    return x.is_cuda


def _checked(x, what, dtype, like=None):
    """A tensor of this type, on the device of `like`."""
    if not isinstance(x, torch.Tensor):
        raise Error(f"{what} is {type(x).__name__}: use a tensor of torch")
    if x.dtype != dtype:
        raise Error(f"{what}: elements are {str(x.dtype).removeprefix('torch.')}: "
                    f"use {_NAMES[dtype]}")
    if like is not None and x.device != like.device:
        raise Error(f"{what}: on {x.device}, but other tensors are on "
                    f"{like.device}")
    if x.device.type not in ("cpu", "cuda"):
        raise Error(f"{what}: on {x.device}: use cpu or cuda")
    return x.detach().resolve_neg()


def _need(x, what, shape):
    if tuple(x.shape) != tuple(shape):
        raise Error(f"{what}: {tuple(x.shape)}, but {tuple(shape)} is needed")
    return x


def _need_dims(x, what, least, words):
    if x.dim() < least:
        raise Error(f"{what}: {tuple(x.shape)}: {words} is needed")
    return x


def _two_dims(x, what):
    if x.dim() != 2:
        raise Error(f"{what}: {tuple(x.shape)}: two dimensions are needed")
    return x


def _rows(x, n=None, aligned=False):
    """As a matrix of rows of n elements, adjacent; a copy if x has none such.
    `aligned`: rows start on multiples of 16 bytes."""
    n = x.shape[-1] if n is None else n
    y = x.reshape(x.numel() // n if n else 0, n)
    if n > 1 and y.stride(1) != 1:
        y = y.contiguous()
    if len(y) > 1 and y.stride(0) < n:  # broadcast
        y = y.contiguous()
    if len(y) == 1 and y.stride(0) < n:
        y = y.as_strided(y.shape, (n, 1))
    if aligned and (y.data_ptr() % 16 or y.stride(0) % 8):
        y = y.clone(memory_format=torch.contiguous_format)
    return y


def _column(x):
    return x.reshape(-1, 1).contiguous()


def _new(like, shape, dtype):
    return torch.empty(shape, dtype=dtype, device=like.device)


def _call(name, like, *arguments, work=None):
    """The function, with `work` bytes of room if it takes any."""
    room, rest = None, ()
    if work is not None:
        room, *rest = _cuda.room(work, like.device)
    _cuda.call(name, *arguments, *rest, device=like.device)
    del room  # the allocator knows the stream


# Attention.


def _attention(q, k, v, scale):
    q = _need_dims(_checked(q, "q", torch.bfloat16), "q", 3,
                   "[..., length, heads, depth]")
    k = _need(_checked(k, "k", torch.bfloat16, q), "k", q.shape)
    v = _need_dims(_checked(v, "v", torch.bfloat16, q), "v", 3,
                   "[..., length, heads, value_depth]")
    _need(v, "v", (*q.shape[:-1], v.shape[-1]))
    for x, what in ((q, "q"), (v, "v")):
        if _on_gpu(x) and (x.shape[-1] % 8 or x.shape[-1] == 0):
            raise Error(f"{what}: a head is {x.shape[-1]} wide: on a GPU use a "
                        "multiple of 8")
    length, heads, depth = q.shape[-3:]
    if 0 in (length, heads, depth):
        raise Error(f"q: {tuple(q.shape)}: length, heads and depth are above 0")
    rows = [_rows(x, heads * x.shape[-1], aligned=_on_gpu(x)) for x in (q, k, v)]
    shape = _model._attention_shape(depth, heads, length, scale)
    return shape, q, v, rows


def _attention_work(shape, q, v, rows):
    """Room for all sequences, as long as that is not more than a GiB."""
    sequences = max(len(rows[0]) // shape.length, 1)
    one = _cuda.bytes_of_attention(shape, q.shape[-1], v.shape[-1])
    return one * max(1, min(sequences, 2**30 // one))


def attention_forward(q, k, v, scale=None):
    """Causal attention: q and k are [..., length, heads, depth], v is [...,
    length, heads, value_depth], bfloat16; o is as v. Scores are multiplied by
    `scale`, 1 / sqrt(depth) unless given. Returns Attention(o, largest, inverse):
    the latter, [..., length, heads], float32, are what attention_backward needs.
    On a GPU depths are multiples of 8. SPEC N5, N6."""
    shape, q, v, rows = _attention(q, k, v, scale)
    if not _on_gpu(q):
        kept = _model.attention(*rows, shape.heads, shape.length, scale)
        return Attention(kept.o.reshape(v.shape),
                         *(x.reshape(q.shape[:-1]) for x in kept[1:]))
    o = _new(v, v.shape, torch.bfloat16)
    largest, inverse = (_new(q, q.shape[:-1], torch.float32) for _ in range(2))
    if o.numel():
        _call("attention_forward", q, shape, *rows,
              Output(_rows(o, rows[2].shape[1])), Output(_rows(largest)),
              Output(_rows(inverse)), work=_attention_work(shape, q, v, rows))
    return Attention(o, largest, inverse)


def attention_backward(d_o, q, k, v, o, largest, inverse, scale=None):
    """AttentionGradients(dq, dk, dv), bfloat16, from d_o (bfloat16, as o) and what
    attention_forward took and made; o is bfloat16, or float32 where it was kept
    otherwise. SPEC N7."""
    shape, q, v, rows = _attention(q, k, v, scale)
    d_o = _need(_checked(d_o, "d_o", torch.bfloat16, q), "d_o", v.shape)
    kept_in = torch.float32 if getattr(o, "dtype", None) == torch.float32 else \
        torch.bfloat16
    o = _checked(o, "o", kept_in, q).float()
    kept = [_need(o, "o", v.shape)]
    for x, what in ((largest, "largest"), (inverse, "inverse")):
        kept.append(_need(_checked(x, what, torch.float32, q), what,
                          q.shape[:-1]))
    kept = [_rows(kept[0], rows[2].shape[1]), *map(_rows, kept[1:])]
    slope = _rows(d_o, rows[2].shape[1], aligned=_on_gpu(d_o))
    shapes = q.shape, q.shape, v.shape
    if not _on_gpu(q):
        found = _model.attention_backward(slope, *rows, *kept, shape.heads,
                                          shape.length, scale)
        return AttentionGradients(*(x.reshape(s) for x, s in zip(found, shapes)))
    out = [_new(q, s, torch.bfloat16) for s in shapes]
    if q.numel():
        _call("attention_backward", q, shape, *rows, *kept, slope,
              *(Output(_rows(x, y.shape[1])) for x, y in zip(out, rows)),
              work=_attention_work(shape, q, v, rows))
    return AttentionGradients(*out)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, scale):
        kept = attention_forward(q, k, v, scale)
        ctx.save_for_backward(q, k, v, *kept)
        ctx.scale = scale
        return kept.o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, d_o):
        return *attention_backward(d_o, *ctx.saved_tensors, ctx.scale), None


def attention(q, k, v, scale=None):
    """The o of attention_forward; differentiable."""
    return _Attention.apply(q, k, v, scale)


def scaled_dot_product_attention(query, key, value, attn_mask=None,
                                 dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """In place of torch.nn.functional's of this name, where is_causal is true:
    query, key and value are [..., heads, length, depth], bfloat16. A row's bits
    depend on no tile, batch or length: they are those of a call with this
    sequence alone, cut behind the row, forward and backward. Refused: a mask,
    dropout, key heads that several query heads share, and queries that are not as
    many as keys. SPEC N5 to N7."""
    for given, what in ((attn_mask is not None, "attn_mask is given"),
                        (dropout_p != 0, f"dropout_p is {dropout_p}, not 0"),
                        (not is_causal, "is_causal is false"),
                        (enable_gqa, "enable_gqa is true: repeat key and value")):
        if given:
            raise Error(f"scaled_dot_product_attention: {what}: causal attention "
                        "of all heads is what there is")
    for x, what in ((query, "query"), (key, "key"), (value, "value")):
        _need_dims(_checked(x, what, torch.bfloat16), what, 3,
                   "[..., heads, length, depth]")
    o = attention(*(x.transpose(-3, -2) for x in (query, key, value)), scale)
    return o.transpose(-3, -2)


# Rope.


def _turn(x, cosines, sines, pairs, backward):
    x = _need_dims(_checked(x, "x", torch.bfloat16), "x", 3,
                   "[..., length, heads, n]")
    c = _checked(cosines, "cosines", torch.float32, x)
    s = _need(_checked(sines, "sines", torch.float32, x), "sines", c.shape)
    how = _model._one_of(_model._PAIRS, pairs, "pairs")
    length, heads, n = x.shape[-3:]
    if c.dim() != 2 or n % 2 or c.shape[1] != n // 2 or len(c) < length:
        raise Error(f"cosines: {tuple(c.shape)}, but {length} positions or more "
                    f"x {n / 2:g} are needed")
    if x.numel() == 0:
        return x.clone()
    c, s, rows = c[:length], s[:length], _rows(x, heads * n)
    if not _on_gpu(x):
        return _model.rope(rows, c, s, pairs, backward, heads).reshape(x.shape)
    y = _new(x, x.shape, torch.bfloat16)
    _call("rope", x, how, int(backward), heads, rows, _rows(c), _rows(s),
          Output(_rows(y, heads * n)))
    return y


class _Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cosines, sines, pairs, backward):
        ctx.save_for_backward(cosines, sines)
        ctx.how = pairs, backward
        return _turn(x, cosines, sines, pairs, backward)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        pairs, backward = ctx.how
        return (_turn(dy, *ctx.saved_tensors, pairs, not backward),
                None, None, None, None)


def rope(x, cosines, sines, pairs="adjacent", backward=False):
    """x [..., length, heads, n] (bfloat16) with the pairs of each head turned by
    the angles of the token's position, its place in the sequence; with `backward`
    the other way. `pairs` are `adjacent` or the two `halves`. Cosines and sines
    are float32 [length or more, n / 2], as zeroulp.rope_table's. Differentiable
    in x. SPEC N4."""
    return _Rope.apply(x, cosines, sines, pairs, bool(backward))


# RMSNorm.


def rms_norm_forward(x, w, eps=1e-6):
    """y = x / sqrt(mean(x^2) + eps) w for each row of x [..., n] (bfloat16), w [n]
    (float32). Returns (y, rstd): bfloat16 as x, and the rows' factors [...],
    float32. SPEC S4."""
    x = _need_dims(_checked(x, "x", torch.bfloat16), "x", 1, "[..., n]")
    n = x.shape[-1]
    w = _need(_checked(w, "w", torch.float32, x), "w", (n,))
    if x.numel() == 0:
        raise Error(f"x: {tuple(x.shape)}: there are no elements")
    rows = _rows(x)
    if not _on_gpu(x):
        y, rstd, _ = _training.rms_norm(rows, w.contiguous(), eps)
        return y.reshape(x.shape), rstd.reshape(x.shape[:-1])
    layer = _training.rms_layer("bf16", "fp32", eps)
    y, rstd = _new(x, x.shape, torch.bfloat16), _new(x, x.shape[:-1],
                                                     torch.float32)
    _call("rms_norm", x, layer, rows, _rows(w), Output(_rows(y)),
          Output(_column(rstd)), None)
    return y, rstd


def rms_norm_backward(dy, x, w, rstd, residual=None):
    """dx [..., n] (bfloat16) and dw [n] (float32, summed over tokens) from dy and x
    (bfloat16), w [n] and rstd [...] (float32, rms_norm_forward's). `residual`
    [..., n] (bfloat16) is the gradient that arrives beside the norm: dx has it
    added. Returns (dx, dw). SPEC N3."""
    dy = _need_dims(_checked(dy, "dy", torch.bfloat16), "dy", 1, "[..., n]")
    n = dy.shape[-1]
    x = _need(_checked(x, "x", torch.bfloat16, dy), "x", dy.shape)
    w = _need(_checked(w, "w", torch.float32, dy), "w", (n,))
    rstd = _need(_checked(rstd, "rstd", torch.float32, dy), "rstd", dy.shape[:-1])
    if residual is not None:
        residual = _rows(_need(_checked(residual, "residual", torch.bfloat16, dy),
                               "residual", dy.shape))
    if dy.numel() == 0:
        return torch.empty_like(dy), torch.zeros_like(w)
    rows = _rows(dy), _rows(x)
    if not _on_gpu(dy):
        dx, dw = _model.rms_norm_backward(*rows, w.contiguous(),
                                          rstd.reshape(-1), residual)
        return dx.reshape(dy.shape), dw
    dx, dw = _new(dy, dy.shape, torch.bfloat16), _new(dy, (n,), torch.float32)
    _call("rms_norm_backward", dy, *rows, _rows(w), _column(rstd), residual,
          Output(_rows(dx)), Output(_rows(dw)),
          work=4 * -(-len(rows[0]) // 256) * n)
    return dx, dw


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, eps):
        y, rstd = rms_norm_forward(x, w, eps)
        ctx.save_for_backward(x, w, rstd)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        return *rms_norm_backward(dy, *ctx.saved_tensors), None


def rms_norm(x, w, eps=1e-6):
    """The y of rms_norm_forward; differentiable in x and w."""
    return _RmsNorm.apply(x, w, eps)


# Experts.


def route_forward(logits, top, bias=None, score="sigmoid", groups=1, kept=1,
                  group_score="top2_sum", normalized=True, scale=1.0):
    """As zeroulp.route: Routing(experts [..., top] int32, weights [..., top]
    float32, scores [..., e] float32) from logits [..., e] and bias [e], float32.
    SPEC N8 to N10."""
    logits = _need_dims(_checked(logits, "logits", torch.float32), "logits", 1,
                        "[..., e]")
    e = logits.shape[-1]
    if bias is not None:
        bias = _need(_checked(bias, "bias", torch.float32, logits), "bias", (e,))
    router = _model._router(top, score, groups, kept, group_score, normalized,
                            scale)
    rows, each = _rows(logits), (*logits.shape[:-1], router.top)
    if not _on_gpu(logits):
        found = _model.route(rows, top, bias, score, groups, kept, group_score,
                             normalized, scale)
        return Routing(found.experts.reshape(each), found.weights.reshape(each),
                       found.scores.reshape(logits.shape))
    experts = _new(logits, each, torch.int32)
    weights = _new(logits, each, torch.float32)
    scores = _new(logits, logits.shape, torch.float32)
    _call("route", logits, router, rows, None if bias is None else _rows(bias),
          Output(_rows(scores)), Output(_rows(experts)), Output(_rows(weights)),
          work=4 * len(rows) * (e + router.groups))
    return Routing(experts, weights, scores)


def route_backward(dweights, experts, scores, score="sigmoid", normalized=True,
                   scale=1.0):
    """The gradient of the logits [..., e] (float32) from that of the weights
    [..., top] (float32); `experts` (int32) and `scores` are route_forward's.
    SPEC N11."""
    dweights = _need_dims(_checked(dweights, "dweights", torch.float32),
                          "dweights", 1, "[..., top]")
    experts = _need(_checked(experts, "experts", torch.int32, dweights),
                    "experts", dweights.shape)
    scores = _checked(scores, "scores", torch.float32, dweights)
    _need(scores, "scores", (*dweights.shape[:-1], scores.shape[-1]))
    router = _model._router(dweights.shape[-1], score, 1, 1, "top2_sum",
                            normalized, scale)
    rows = _rows(scores), _rows(experts), _rows(dweights)
    if not _on_gpu(dweights):
        return _model.route_backward(rows[2], rows[1], rows[0], score, normalized,
                                     scale).reshape(scores.shape)
    dlogits = _new(scores, scores.shape, torch.float32)
    _call("route_backward", scores, router, *rows, Output(_rows(dlogits)))
    return dlogits


class _Route(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, bias, top, how):
        found = route_forward(logits, top, bias, **how)
        ctx.save_for_backward(found.experts, found.scores)
        ctx.how = {k: how[k] for k in ("score", "normalized", "scale")}
        ctx.mark_non_differentiable(found.experts, found.scores)
        return tuple(found)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, _, dweights, __):
        return (route_backward(dweights, *ctx.saved_tensors, **ctx.how),
                None, None, None)


def route(logits, top, bias=None, score="sigmoid", groups=1, kept=1,
          group_score="top2_sum", normalized=True, scale=1.0):
    """route_forward; the weights are differentiable in the logits."""
    how = dict(score=score, groups=groups, kept=kept, group_score=group_score,
               normalized=normalized, scale=scale)
    return Routing(*_Route.apply(logits, bias, top, how))


def update_bias(bias, experts, speed=1e-3):
    """The bias [e] (float32) of the next step, from the experts (int32) of all
    slots of this one. SPEC N12."""
    bias = _need_dims(_checked(bias, "bias", torch.float32), "bias", 1, "[e]")
    _need(bias, "bias", (bias.numel(),))
    experts = _checked(experts, "experts", torch.int32, bias)
    if not _on_gpu(bias):
        return _model.update_bias(bias, experts, speed)
    out = bias.clone(memory_format=torch.contiguous_format)
    _call("update_bias", bias, _column(experts), _model._word(speed, "speed"),
          Output(_rows(out)))
    return out


def plan(experts, count, align=128):
    """As zeroulp.plan: Plan(rows, slots, ends), int32, of experts [..., top]
    (int32) of `count`. On a GPU, which is not waited for, `rows` has room for any
    choice: those from ends[-1] on are -1. SPEC N13."""
    experts = _need_dims(_checked(experts, "experts", torch.int32), "experts", 1,
                         "[..., top]")
    if not _on_gpu(experts):
        return _model.plan(experts, count, align)
    capacity = _model._plan_capacity(experts.numel(), count, align)
    rows = _new(experts, (capacity,), torch.int32)
    slots = _new(experts, experts.shape, torch.int32)
    ends = _new(experts, (count + 1,), torch.int32)
    _call("make_plan", experts, _rows(experts), align, Output(_column(rows)),
          Output(_rows(slots)), Output(_column(ends)),
          work=4 * -(-experts.numel() // 256) * count)
    return Plan(rows, slots, ends)


def gather(x, rows):
    """Row r is row rows[r] of x [m, n] (bfloat16); of -1, and of what is no row:
    +0. `rows` (int32) are a plan's. SPEC N14."""
    x = _two_dims(_checked(x, "x", torch.bfloat16), "x")
    rows = _checked(rows, "rows", torch.int32, x)
    _need(rows, "rows", (rows.numel(),))
    y = _new(x, (len(rows), x.shape[1]), torch.bfloat16)
    if y.numel() == 0:
        return y
    if _on_gpu(x):
        _call("gather", x, _rows(x), _column(rows), Output(y))
        return y
    there = (rows >= 0) & (rows < len(x))
    y.zero_()
    y[there] = x[rows[there].long()]
    return y


def combine_forward(x, slots, weights):
    """Row t is the sum of the rows of x [rows, n] (bfloat16) that slots [..., top]
    (int32) name for token t, each times its weight [..., top] (float32), in FP32
    and rounded once; of -1: nothing. Returns [..., n], bfloat16. SPEC S9."""
    x = _two_dims(_checked(x, "x", torch.bfloat16), "x")
    slots = _need_dims(_checked(slots, "slots", torch.int32, x), "slots", 1,
                       "[..., top]")
    weights = _need(_checked(weights, "weights", torch.float32, x), "weights",
                    slots.shape)
    shape = (*slots.shape[:-1], x.shape[1])
    given = _rows(x), _rows(slots), _rows(weights)
    if not _on_gpu(x):
        return _training.combine(*given).reshape(shape)
    out = _new(x, shape, torch.bfloat16)
    _call("combine", x, _abi.ZEROULP_COMBINE_FP32_SLOTS, *given,
          Output(_rows(out)))
    return out


class _Combine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slots, weights):
        ctx.save_for_backward(x, slots, weights)
        return combine_forward(x, slots, weights)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, slots, weights = ctx.saved_tensors
        dx, dweights = slot_backward(dy, slots, weights, x)
        return dx, None, dweights


def combine(x, slots, weights):
    """combine_forward; differentiable in x and weights."""
    return _Combine.apply(x, slots, weights)


def slot_backward(dy, slots, weights=None, y=None, rows=None):
    """As zeroulp.slot_backward: (d_rows, dweights), the gradients of combine, from
    dy [..., n] (bfloat16) and slots [..., top] (int32). SPEC N14."""
    dy = _need_dims(_checked(dy, "dy", torch.bfloat16), "dy", 1, "[..., n]")
    slots = _checked(slots, "slots", torch.int32, dy)
    _need(slots, "slots", (*dy.shape[:-1], slots.shape[-1]))
    if weights is not None:
        weights = _rows(_need(_checked(weights, "weights", torch.float32, dy),
                              "weights", slots.shape))
    if y is not None:
        y = _checked(y, "y", torch.bfloat16, dy)
        y = _rows(_need(y, "y", (len(y) if rows is None else rows,
                                 dy.shape[-1])))
        rows = len(y)
    if rows is None:
        raise Error("rows: say how many rows the experts have, or give y")
    given = _rows(dy), _rows(slots)
    if not _on_gpu(dy):
        d_rows, dweights = _model.slot_backward(*given, weights, y, rows)
        return d_rows, None if dweights is None else dweights.reshape(slots.shape)
    d_rows = None if weights is None else _new(dy, (rows, dy.shape[-1]),
                                               torch.bfloat16)
    dweights = None if y is None else _new(dy, slots.shape, torch.float32)
    _call("slot_backward", dy, *given, weights, y,
          None if d_rows is None else Output(_rows(d_rows)),
          None if dweights is None else Output(_rows(dweights)))
    return d_rows, dweights


# Losses.


def cross_entropy_forward(logits, targets, factor=None):
    """As zeroulp.cross_entropy: (losses [...] float32, dlogits [..., n] bfloat16)
    of logits [..., n] (float32) and targets [...] (int32, -1 for none). The
    gradient is times `factor`: unless given, 1 / the number of targets, for which
    a GPU is waited for. SPEC N15."""
    logits = _need_dims(_checked(logits, "logits", torch.float32), "logits", 1,
                        "[..., n]")
    n = logits.shape[-1]
    targets = _need(_checked(targets, "targets", torch.int32, logits), "targets",
                    logits.shape[:-1])
    if n == 0:
        raise Error(f"logits: {tuple(logits.shape)}: a row has no logits")
    if factor is None:
        factor = 1 / max(int(((targets >= 0) & (targets < n)).sum()), 1)
    rows = _rows(logits)
    if not _on_gpu(logits):
        losses, dlogits = _model.cross_entropy(rows, targets.reshape(-1), factor)
        return losses.reshape(targets.shape), dlogits.reshape(logits.shape)
    losses = _new(logits, targets.shape, torch.float32)
    dlogits = _new(logits, logits.shape, torch.bfloat16)
    _call("cross_entropy", logits, rows, _column(targets),
          _model._word(factor, "factor"), Output(_column(losses)),
          Output(_rows(dlogits)), work=4 * len(rows) * n)
    return losses, dlogits


def sum_of_losses(losses):
    """The sum of losses (float32): a tensor of float64 without dimensions, on
    their device. SPEC N15."""
    losses = _checked(losses, "losses", torch.float32)
    if not _on_gpu(losses):
        return torch.tensor(_model.sum_of_losses(losses), dtype=torch.float64)
    out = _new(losses, (), torch.float64)
    _call("sum_of_losses", losses, _column(losses), _cuda.doubles(out),
          work=8 * -(-losses.numel() // 1024))
    return out


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, targets):
        count = max(int(((targets >= 0) & (targets < logits.shape[-1])).sum()), 1)
        losses, dlogits = cross_entropy_forward(logits, targets, 1 / count)
        ctx.save_for_backward(dlogits)
        total = sum_of_losses(losses)
        # By a number torch multiplies by the reciprocal, on a GPU.
        return total / torch.full_like(total, count)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, slope):
        # Times 1, as of loss.backward(), these are N15's bits.
        return ctx.saved_tensors[0].float() * slope.float(), None


def cross_entropy(logits, targets):
    """The mean loss of the targets, a float64 without dimensions, differentiable
    in the logits: arguments are cross_entropy_forward's. The gradient has N15's
    bits if that of the loss is 1. SPEC N15."""
    _checked(targets, "targets", torch.int32,
             _checked(logits, "logits", torch.float32))
    return _CrossEntropy.apply(logits, targets)


# Products.


def gemm_bf16(a, b, output="fp32", splits=1):
    """D = a b^T on the tensor core, a [m, k], b [n, k], bfloat16, each sum over k
    in order, in `splits` ranges. D is [m, n], of `output`: fp32 or bf16. SPEC
    clause G, row BF16 of T12."""
    a = _two_dims(_checked(a, "a", torch.bfloat16), "a")
    b = _two_dims(_checked(b, "b", torch.bfloat16, a), "b")
    if a.shape[1] != b.shape[1]:
        raise Error(f"a is {tuple(a.shape)}, b is {tuple(b.shape)}: both must "
                    "have the same K")
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16}
    kind = _model._one_of(kinds, output, "output")
    splits = _model._whole(splits, "splits", 1, 2**31 - 1)
    if not _on_gpu(a):
        return _operations.gemm(a, b, "unpromoted", output=output, splits=splits)
    d = _new(a, (len(a), len(b)), kind)
    if d.numel() == 0:
        return d
    a, b = _factor(a), _factor(b)
    one = _abi.zeroulp_cuda_batch_strides(0, 0)
    gemm = _abi.zeroulp_cuda_bf16_gemm(
        _strided(a), _strided(b), _cuda.struct(d, _abi.zeroulp_cuda_matrix),
        _operations.format_of(output).struct, splits, _abi.ZEROULP_CUDA_SPAN_ALL,
        0x3f800000, None, 1, 1, one, one, one, one)
    _call("gemm_bf16", a, gemm)
    return d


def _factor(x):
    """One stride 1, the other a multiple of 8, data on a multiple of 16 bytes: a
    copy with room behind each row if x is not such."""
    near, far = (1, 0) if x.stride(1) == 1 else (0, 1)
    if x.stride(near) == 1 and x.stride(far) % 8 == 0 and \
            x.stride(far) >= x.shape[near] and x.data_ptr() % 16 == 0:
        return x
    wide = x.new_zeros(len(x), -(-max(x.shape[1], 1) // 8) * 8)
    wide[:, :x.shape[1]] = x
    return wide[:, :x.shape[1]]


def _strided(x):
    return _abi.zeroulp_const_matrix(x.data_ptr() if x.numel() else None,
                                     *x.shape, *x.stride(), 2)
