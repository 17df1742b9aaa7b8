"""Number formats, rounding, FP32 operations, tensor-core sums, quantizers: sections F, R, C, T, Q, W, G.

BF16 and FP8 tensors are held as float32 arrays of their (exact) values.
"""
from dataclasses import dataclass, replace
from typing import Optional

import numpy as np

F32 = np.float32
F64 = np.float64



def bits32(pattern):
    """FP32 number of a bit pattern."""
    return np.uint32(pattern).view(F32)


# ---- formats -----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Format:
    """F1, F4: a format with its largest finite number."""
    name: str
    exp_bits: int
    man_bits: int
    bias: int
    largest: float

    @property
    def least_exponent(self):
        return 1 - self.bias


E4M3 = Format("e4m3", 4, 3, 7, 448.0)
E5M2 = Format("e5m2", 5, 2, 15, 57344.0)
E5M6 = Format("e5m6", 5, 6, 15, 65024.0)
BF16 = Format("bf16", 8, 7, 127, float.fromhex("0x1.fep127"))


def bf(x):
    """N, C1: FP32 to BF16, nearest-even, under cuda_nosat (NaN 0x7fff)."""
    x = np.ascontiguousarray(x, F32)
    bits = x.view(np.uint32)
    out = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(x), np.uint32(0x7FFF0000), out).view(F32)


def round_to(x, fmt):
    """R1, C3: float64 to the nearest number of fmt, ties to even; what is finite saturates.

    Inf and NaN become NaN (keep_specials of a format without Inf; none occurs in a run)."""
    x = np.asarray(x, F64)
    e = np.maximum(np.frexp(x)[1] - 1, fmt.least_exponent) - fmt.man_bits
    r = np.ldexp(np.rint(np.ldexp(x, -e)), e)
    r = np.clip(r, -fmt.largest, fmt.largest)
    return np.where(np.isfinite(x), r, np.nan).astype(F32)


def codes_of(values, fmt):
    """F1: the codes of numbers that fmt has, as 16-bit integers."""
    values = np.ascontiguousarray(values, F32)
    if fmt is BF16:
        return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    a = np.abs(values.astype(F64))
    e = np.maximum(np.frexp(a)[1] - 1, fmt.least_exponent)
    m = np.ldexp(a, fmt.man_bits - e).astype(np.int64)        # with the hidden bit, if any
    below = np.where(m >> fmt.man_bits, ((e + fmt.bias) << fmt.man_bits) + m - (1 << fmt.man_bits), m)
    sign = np.signbit(values).astype(np.int64) << (fmt.exp_bits + fmt.man_bits)
    return (below | sign).astype(np.uint16)


# ---- FP32 fma ----------------------------------------------------------------------------------

def fma32(a, b, c):
    """A1: fl(a * b + c), one rounding. a * b must be exact in float64 (FP32 operands are).

    The sum in float64 is rounded to odd (by the exact error of two-sum), then to FP32: 53 bits are
    more than 24 + 2, so that the second rounding is that of the exact sum."""
    p = np.multiply(a, b, dtype=F64)
    c = np.asarray(c, F64)
    s = np.asarray(p + c)
    t = s - p
    err = (p - (s - t)) + (c - t)
    bits = s.view(np.int64)
    fix = (err != 0) & ((bits & 1) == 0) & np.isfinite(err)
    step = np.where((err > 0) == (s > 0), 1, -1)
    return np.where(fix, bits + step, bits).view(F64).astype(F32)


# ---- sums of a row (S4, N1) ----------------------------------------------------------------------

def _row_sum(n, shape, dtype, term):
    """S4 (a) to (c): 256 partial sums over floor(j / 8) mod 256, then the tree of neighbours.

    term(p, j) gives the partial sums p after they took the elements j (an index array)."""
    p = np.zeros(shape + (256,), dtype)
    for first in range(0, n, 2048):
        for i in range(8):
            j = np.arange(first + i, min(n, first + 2048), 8)
            p[..., :len(j)] = term(p[..., :len(j)], j)
    while p.shape[-1] > 1:
        p = p[..., 0::2] + p[..., 1::2]
    return p[..., 0]


def row_dot(x, y):
    """N1 (a), S4: dot(x, y) of rows."""
    return _row_sum(x.shape[-1], x.shape[:-1], F32, lambda p, j: fma32(x[..., j], y[..., j], p))


def row_sum(x):
    """N1 (b): sum(x) of rows."""
    return _row_sum(x.shape[-1], x.shape[:-1], F32, lambda p, j: p + x[..., j])


def row_squares64(x):
    """N17 (a): dot(x, x) in FP64; squares of FP32 numbers are exact there, so that fma64 is +."""
    x = x.astype(F64)
    return _row_sum(x.shape[-1], x.shape[:-1], F64, lambda p, j: x[..., j] * x[..., j] + p)


def token_sum(x, y):
    """N2: the sum over tokens (the first dimension) of x[t] y[t]."""
    total = np.zeros(x.shape[1:], F32)
    for first in range(0, len(x), 256):
        p = np.zeros(x.shape[1:], F32)
        for t in range(first, min(len(x), first + 256)):
            p = fma32(x[t], y[t], p)
        total = total + p
    return total


# ---- tensor cores (T) ----------------------------------------------------------------------------

NO_PLACE = -5000      # the place of a zero: below every other, also in sums


@dataclass(frozen=True)
class Accumulator:
    """T: L, F, floor, bits of the output's significand (FP32's exponents), all toward_zero."""
    L: int
    F: int
    floor: int
    bits: int
    work: type         # a type in which a step's cut terms and sum are exact


# A step of FP8 in units of 2^(P - 13) has terms below 2^15 and a sum below 2^21: FP32 holds them.
# Its places are -45 or more (E5M2: -28 and 2^-4 to 13 places below), so a floor of -60 changes nothing.
HOPPER_FP8 = Accumulator(32, 13, -60, 14, F32)
HOPPER_BF16 = Accumulator(16, 25, -133, 24, F64)


def places(x, least):
    """T1, F5: exponents of numbers, those of subnormals being the smallest normal one."""
    e = np.maximum(np.frexp(x)[1] - 1, least)
    return np.where(x == 0, NO_PLACE, e).astype(np.int16)


def _c_places(c):
    """T1: the places of c, FP32."""
    bits = c.view(np.int32)
    e = np.maximum((bits >> 23) & 255, 1) - 127
    return np.where(c == 0, NO_PLACE, e).astype(np.int16)


def _step(acc, a, b, ea, eb, c):
    """T1 to T8: one step of L products of a (L x m) and b (L x n) and c (m x n)."""
    place = np.maximum(_c_places(c), np.int16(acc.floor))
    pair = np.empty(place.shape, np.int16)
    for term_index in range(len(a)):
        np.add(ea[term_index][:, None], eb[term_index][None, :], out=pair)
        np.maximum(place, pair, out=place)
    place = place.astype(np.int32)
    unit = np.ldexp(acc.work(1), acc.F - place)                         # 2^(F - P)
    total = np.trunc(c * unit)
    term = np.empty_like(total)
    for term_index in range(len(a)):
        np.multiply(a[term_index][:, None], b[term_index][None, :], out=term)
        np.multiply(term, unit, out=term)
        np.trunc(term, out=term)
        np.add(total, term, out=total)
    # Toward zero to the bits of the output: clear what is below them.
    if acc.work is F32:
        total.view(np.int32)[...] &= np.int32(-(1 << (24 - acc.bits)))
    else:
        total.view(np.int64)[...] &= np.int64(-(1 << (53 - acc.bits)))
    d = np.ldexp(total, place - acc.F)
    if acc.work is F64:
        tiny = np.abs(d) < 2.0 ** -126
        if tiny.any():
            d[tiny] = np.ldexp(np.trunc(np.ldexp(d[tiny], 149)), -149)
        d[np.abs(d) >= 2.0 ** 128] *= np.inf
    d = d.astype(F32) + F32(0)                                          # T6
    if not (np.isfinite(c).all() and np.isfinite(a).all() and np.isfinite(b).all()):      # T7
        plain = (a[:, :, None].astype(F64) * b[:, None, :].astype(F64)).sum(0) + c
        d = np.where(np.isnan(plain), bits32(0x7FFFFFFF), np.where(np.isinf(plain), plain, d)).astype(F32)
    return d


def chain(acc, a, b, least_a, least_b):
    """T9: the products of rows of a (m x k) and of b (n x k), k a chain of steps from +0."""
    out = np.zeros((len(a), len(b)), F32)
    k = a.shape[1]
    at = np.ascontiguousarray(a.T).astype(acc.work)
    bt = np.ascontiguousarray(b.T).astype(acc.work)
    ea, eb = places(at, least_a), places(bt, least_b)
    rows = max(1, 49152 // max(1, len(b)))
    for r in range(0, len(a), rows):
        s = slice(r, r + rows)
        c = out[s]
        for first in range(0, k, acc.L):
            q = slice(first, first + acc.L)
            c = _step(acc, at[q, s], bt[q], ea[q, s], eb[q], c)
        out[s] = c
    return out


def product_bf16(a, b):
    """N: a product without more, of BF16 operands: unpromoted, one split, FP32."""
    return chain(HOPPER_BF16, a, b, BF16.least_exponent, BF16.least_exponent)


def sequential(a, b, interval=0):
    """T14: one FP32 fma after the other, in k order (every zero +0); G4: with an interval, `add`."""
    out = np.zeros((len(a), len(b)), F32)
    p = np.zeros_like(out)
    for k in range(a.shape[1]):
        p = fma32(a[:, k, None], b[None, :, k], p) + F32(0)
        if interval and (k + 1) % interval == 0:
            out, p = out + p, np.zeros_like(out)
    return out + p


# ---- quantizers (Q) and stored operands -----------------------------------------------------------

TILE, BLOCK, TENSOR, MX_TILE = (1, 128), (128, 128), (0, 0), (1, 32)


@dataclass(frozen=True)
class Storage:
    """N22 (a): how a tensor is stored: plain BF16 (groups None) or quantized."""
    fmt: Format = BF16
    groups: Optional[tuple] = None
    pow2: bool = False
    columnwise: bool = False     # N22 (e): the transpose is stored from the values, too


PLAIN = Storage()


@dataclass
class Stored:
    """Codes (as their values) and scales of a matrix."""
    values: np.ndarray
    scales: Optional[np.ndarray]
    storage: Storage
    columnwise: Optional["Stored"] = None

    def codes(self):
        """F1: the codes as integers."""
        return codes_of(self.values, self.storage.fmt)

    def decoded(self):
        """Q10, W1: fl(code * s)."""
        if self.scales is None:
            return self.values
        return self.values * spread(self.scales, self.storage.groups, self.values.shape)

    def transposed(self):
        """N22 (e): what is stored columnwise. W6, N22 (d): else codes and scales transposed; nothing is rounded (not
        for 1x128)."""
        if self.columnwise is not None:
            return self.columnwise
        assert self.storage.groups not in (TILE, MX_TILE)
        return Stored(np.ascontiguousarray(self.values.T), None if self.scales is None else self.scales.T,
                      self.storage)


def _sizes(groups, shape):
    """Q1: rows and columns of a group; 0 is the whole dimension."""
    return tuple(g or max(1, n) for g, n in zip(groups, shape))


def spread(scales, groups, shape):
    """Q1: the scale of each element."""
    r, c = _sizes(groups, shape)
    return np.repeat(np.repeat(scales, r, 0)[:shape[0]], c, 1)[:, :shape[1]]


def scales_of(x, fmt, groups, pow2):
    """Q2 (finite_only), Q4 (quotient), Q5 (pow2), Q12 (all): the scales of the groups of x."""
    r, c = _sizes(groups, x.shape)
    a = np.abs(np.where(np.isfinite(x), x, F32(0)))
    amax = np.maximum.reduceat(np.maximum.reduceat(a, np.arange(0, x.shape[0], r), 0),
                               np.arange(0, x.shape[1], c), 1)
    if pow2:
        m, e = np.frexp(amax.astype(F64))
        top, top_e = np.frexp(fmt.largest)
        s = np.ldexp(F32(1), np.clip(e - top_e + (m > top), -127, 127))
    else:
        s = np.maximum(amax / F32(fmt.largest), F32(2.0 ** -149))
    return np.where(amax == 0, F32(1), s).astype(F32)


def _encode(x, scales, fmt, groups):
    """Q6 (exact_quotient), W4: x / s rounded once. A quotient of FP32 numbers that is no midpoint of
    fmt is further from it than float64 rounds, so that the division may be float64's."""
    return round_to(x.astype(F64) / spread(scales, groups, x.shape).astype(F64), fmt)


def store(x, storage):
    """N22 (a), (e): plain, or quantized by the convention zeroulp (Q13)."""
    if storage.columnwise:
        one_way = replace(storage, columnwise=False)
        both = store(x, one_way)
        both.columnwise = store(np.ascontiguousarray(x.T), one_way)
        return both
    if storage.groups is None:
        return Stored(bf(x), None, storage)
    if x.size == 0:
        return Stored(x, np.ones((1, 1), F32), storage)
    s = scales_of(x, storage.fmt, storage.groups, storage.pow2)
    return Stored(_encode(x, s, storage.fmt, storage.groups), s, storage)


def retile(kept, fmt):
    """W1, W2, W4: codes with scales 1x128, transposed, to fmt with scales 1x128 of the same kind."""
    assert kept.storage.groups == TILE
    v = np.ascontiguousarray(kept.decoded().T)
    return store(v, Storage(fmt, TILE, kept.storage.pow2))


# ---- GEMM (G) ------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Sums:
    """G2: accumulator, interval (0: none) and splits."""
    accumulator: Accumulator
    interval: int = 0
    splits: int = 1


def gemm(a, b, sums):
    """G1 to G7, N22 (c): D = A B^T in FP32 of stored operands."""
    acc, k = sums.accumulator, a.values.shape[1]
    along = [x.storage.groups is not None and x.storage.groups[1] > 0 for x in (a, b)]
    least = a.storage.fmt.least_exponent, b.storage.fmt.least_exponent
    per_interval = any(along)                                     # product_of_scales, else add
    if sums.splits > 1:
        grain = sums.interval or 4 * acc.L
        if sums.interval and BLOCK in (a.storage.groups, b.storage.groups):
            grain *= 4
        length = -(-(-(-k // grain)) // sums.splits) * grain
    else:
        length = k
    total = None
    for start in range(0, k, max(1, length)):
        end = min(k, start + length)
        part = np.zeros((len(a.values), len(b.values)), F32)
        for first in range(start, end, sums.interval or max(1, k)):
            s = slice(first, min(end, first + (sums.interval or k)))
            p = chain(acc, a.values[:, s], b.values[:, s], *least)
            if per_interval:
                part = fma32(p, _scales_at(a, first)[:, None] * _scales_at(b, first)[None, :], part)   # G5
            else:
                part = part + p if sums.interval else p                                                # G4
        if not per_interval and (a.scales is not None or b.scales is not None):
            one = np.ones((1, 1), F32)
            scale = (one if a.scales is None else a.scales) * (one if b.scales is None else b.scales)
            part = part * scale + F32(0)                                                               # G4 (b)
        total = part if total is None else total + part                                                # G7 (a)
    return np.zeros((len(a.values), len(b.values)), F32) if total is None else total


def _scales_at(x, k):
    """The scale of each row of an operand at element k of K."""
    if x.scales is None:
        return np.ones(len(x.values), F32)
    return spread(x.scales, x.storage.groups, x.values.shape)[:, k]
