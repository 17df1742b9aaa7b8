"""The training path: SwiGLU, RMSNorm, AdamW, combine, dispatch. SPEC S1 to
S11."""

import ctypes

import numpy as np

from . import _abi, _values
from ._arrays import bits_of, given_back, matrix, number, ref, whole
from ._library import Error, call
from ._operations import (Quantized, _empty, _inputs, floats_of, group_counts,
                          quantizer, scale_kind)
from ._values import format as format_of
from ._values import format_called

_COMBINE = {"fp32_slots": _abi.ZEROULP_COMBINE_FP32_SLOTS,
            "bf16_hops": _abi.ZEROULP_COMBINE_BF16_HOPS,
            "bf16_pair": _abi.ZEROULP_COMBINE_BF16_PAIR}


def _values_of(x, what, source=None):
    """A matrix of fp32, bf16 or fp16."""
    bits = bits_of(x, what, source)
    if bits.format not in ("fp32", "bf16", "fp16"):
        raise Error(f"{what}: elements are {bits.format or bits.words.dtype}: use "
                    "float32, bfloat16 or float16")
    return bits


def _need_shape(bits, what, shape):
    if bits.words.shape != shape:
        m, n = bits.words.shape
        raise Error(f"{what}: {m} x {n}, but {shape[0]} x {shape[1]} are needed")


class _Output:
    """A quantized output of m x n: memory, its struct, and what it becomes."""

    def __init__(self, q, shape, group, convention, like):
        self.target = format_called(q.to)
        self.codes = _empty(*shape, self.target)
        self.scales = np.empty(group_counts(shape, group), np.uint32)
        self.struct = _abi.zeroulp_quantized(matrix(self.codes),
                                             matrix(self.scales))
        self.rest = group, convention, scale_kind(q), like

    def result(self):
        group, convention, kind, like = self.rest
        return Quantized(
            given_back(self.codes, self.target.name, self.codes.shape, like),
            given_back(self.scales, "fp32", self.scales.shape, like),
            self.target, group, convention=_values.convention(convention).name,
            scale=kind)


def swiglu(g, u, format="e4m3", group="1x128", convention="zeroulp", *,
           scale=None, values="bf16", source=None):
    """h = g sigmoid(g) u, rounded to `values`, and h quantized. g and u are of
    one shape and type (`source` for unsigned integers). Returns (h, Quantized).
    SPEC S1 to S3."""
    x, y = _values_of(g, "g", source), _values_of(u, "u", source)
    _need_shape(y, "u", x.words.shape)
    if x.format != y.format:
        raise Error(f"g is {x.format}, u is {y.format}: both are of one type")
    kept = format_of(values)
    layer = _abi.zeroulp_swiglu(
        quantizer(x.format, format, group, convention, scale),
        quantizer(kept.name, format, group, convention, scale))
    h = _empty(*x.words.shape, kept)
    out = _Output(layer.out, x.words.shape, group, convention, x.like)
    first, second = _inputs(x, y)
    call("zeroulp_swiglu_forward", ref(layer), ref(first), ref(second),
         ref(matrix(h)), ref(out.struct), None, None)
    return given_back(h, kept.name, x.shape, x.like), out.result()


def rms_layer(source, weight, eps, format="e4m3", group="1x128",
              convention="zeroulp", scale=None, values="bf16"):
    """The struct of a layer, from names."""
    return _abi.zeroulp_rms_layer(
        format_of(source).struct, format_of(weight).struct,
        int(np.float32(number(eps, "eps")).view(np.uint32)),
        quantizer(format_of(values).name, format, group, convention, scale))


def rms_norm(x, w, eps=1e-6, format="e4m3", group="1x128", convention="zeroulp",
             *, scale=None, values="bf16", source=None):
    """y = x / sqrt(mean(x^2) + eps) w for each row, rounded to `values`, the
    rows' factors (float32), and y quantized. x is m x n, w has n elements.
    Returns (y, factors, Quantized). SPEC S4."""
    rows, weight = _values_of(x, "x", source), _values_of(w, "w", source)
    weight.words = weight.words.reshape(1, -1)
    _need_shape(weight, "w", (1, rows.words.shape[1]))
    kept = format_of(values)
    layer = rms_layer(rows.format, weight.format, eps, format, group, convention,
                      scale, values)
    y = _empty(*rows.words.shape, kept)
    factors = np.empty((rows.words.shape[0], 1), np.uint32)
    out = _Output(layer.out, rows.words.shape, group, convention, rows.like)
    given, by = _inputs(rows, weight)
    call("zeroulp_rms_norm", ref(layer), ref(given), ref(by), ref(matrix(y)),
         ref(matrix(factors)), ref(out.struct))
    return (given_back(y, kept.name, rows.shape, rows.like),
            given_back(factors, "fp32", (len(factors),), rows.like), out.result())


def adamw(g, m, v, w, *, step, rate=1e-3, beta1=0.9, beta2=0.95, eps=1e-8,
          weight_decay=0.1, rounding="nearest_even", seed=0, first=0):
    """One step of AdamW. g is of fp32, bf16 or fp16; m and v are of one format,
    w is float32. `step` counts from 1; stochastic rounding takes another `seed`
    for each. Returns (m, v, w, the weights in bfloat16). SPEC S6 to S8."""
    gradient, moment = _values_of(g, "g"), bits_of(m, "m")
    second, weights = bits_of(v, "v"), floats_of(w, "w")
    for bits, what in ((moment, "m"), (second, "v"), (weights, "w")):
        _need_shape(bits, what, gradient.words.shape)
    if moment.format is None or moment.format != second.format:
        raise Error(f"m is {moment.format or moment.words.dtype}, v is "
                    f"{second.format or second.words.dtype}: both are of one "
                    "format")
    settings = _abi.zeroulp_adamw_settings(
        number(rate, "rate"), number(beta1, "beta1"), number(beta2, "beta2"),
        number(eps, "eps"), number(weight_decay, "weight_decay"),
        whole(step, "step", 1, 2**63 - 1))
    factors = _abi.zeroulp_adamw_factors()
    call("zeroulp_make_adamw_factors", ref(settings), ctypes.byref(factors))
    how = _abi.zeroulp_adamw_step(
        factors, format_of(gradient.format).struct,
        format_of(moment.format).struct,
        _values.number_of(_abi.ZEROULP_ROUNDINGS, rounding, "rounding"))
    made = [np.array(b.words, order="C") for b in (moment, second, weights)]
    copy = _empty(*gradient.words.shape, format_of("bf16"))
    given = gradient.const()
    structs = [matrix(a) for a in (*made, copy)]
    call("zeroulp_adamw", ref(how), whole(seed, "seed", 0, 2**64 - 1),
         whole(first, "first", 0, 2**64 - 1), ref(given),
         *(ref(s) for s in structs))
    names = (moment.format, second.format, "fp32", "bf16")
    likes = (moment, second, weights, weights)
    return tuple(given_back(a, name, b.shape, b.like)
                 for a, name, b in zip((*made, copy), names, likes))


def _indices(x, what):
    """Row numbers, -1 for none: 4-byte integers."""
    try:
        if not hasattr(x, "dtype"):
            x = np.asarray(x, np.int64)
        words = np.asarray(x.cpu() if hasattr(x, "cpu") else x)
    except (TypeError, ValueError, OverflowError) as e:
        raise Error(f"{what}: a {type(x).__name__} that cannot be read: {e}") \
            from None
    if words.dtype.kind not in "iu":
        raise Error(f"{what}: elements are {words.dtype}: use integers")
    if words.size and (words.min() < -1 or words.max() >= 2**31):
        raise Error(f"{what}: rows are -1 (none) to 2^31 - 1")
    words = words.astype(np.int32).view(np.uint32)
    return bits_of(words, what)


def combine(x, slots, weights=None, rule="fp32_slots", *, source=None):
    """Row t is the sum of the rows of x (bfloat16) that row t of `slots` names,
    -1 for none, each times its weight (float32). `rule` is fp32_slots,
    bf16_hops or bf16_pair. SPEC S9, S10."""
    rows, places = bits_of(x, "x", source or "bf16"), _indices(slots, "slots")
    if rows.format != "bf16":
        raise Error(f"x: elements are {rows.format}: use bfloat16")
    if rule not in _COMBINE:
        raise Error(f"rule: {rule!r}: use one of {', '.join(_COMBINE)}")
    by = None if weights is None else floats_of(weights, "weights")
    if by is not None:
        _need_shape(by, "weights", places.words.shape)
    out = _empty(places.words.shape[0], rows.words.shape[1], format_of("bf16"))
    given, at, times = _inputs(rows, places, by)
    call("zeroulp_combine", _COMBINE[rule], ref(given), ref(at), ref(times),
         ref(matrix(out)))
    return given_back(out, "bf16", out.shape, rows.like)


def dispatch(x, rows, format="e4m3", group="1x128", convention="zeroulp", *,
             scale=None, source=None):
    """Row r of the result is row rows[r] of x, quantized; -1 gives codes 0 and
    scales 1. Groups are one row high. Returns Quantized. SPEC S11."""
    given, places = _values_of(x, "x", source), _indices(rows, "rows")
    places.words = places.words.reshape(-1, 1)
    q = quantizer(given.format, format, group, convention, scale)
    shape = (places.words.shape[0], given.words.shape[1])
    out = _Output(q, shape, group, convention, given.like)
    source_rows, at = _inputs(given, places)
    call("zeroulp_dispatch", ref(q), ref(source_rows), ref(at),
         ref(out.struct.codes), ref(out.struct.scales))
    return out.result()
