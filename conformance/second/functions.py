"""Elementary functions and operators: sections E, S and N1 to N18."""
import math
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from arithmetic import F32, F64, bf, bits32, fma32, product_bf16, row_dot, row_squares64, row_sum, token_sum


LOG2E, LN2_HIGH, LN2_LOW = bits32(0x3FB8AA3B), bits32(0x3F317200), bits32(0x35BFBE8E)
C2_TO_C6 = [bits32(c) for c in (0x3EFFFFFE, 0x3E2AAA48, 0x3D2AAC7D, 0x3C091DB5, 0x3AB510D6)]
NORM_EPS = bits32(0x358637BD)


def _reduce(x):
    """E1: n, high, low, r, b of |x| <= 104."""
    n = np.rint(x.astype(F64) * F64(LOG2E))                 # 48 bits: exact before rint
    high = (x.astype(F64) - n * F64(LN2_HIGH)).astype(F32)
    low = -(n * F64(LN2_LOW)).astype(F32)
    r = fma32(-n, F64(LN2_LOW), high)
    c2, c3, c4, c5, c6 = C2_TO_C6
    b = fma32(fma32(fma32(fma32(c6, r, c5), r, c4), r, c3), r, c2)
    return n, high, low, r, b


def exp(x):
    """E2."""
    n, high, low, r, b = _reduce(np.clip(x, F32(-104), F32(89)))
    s = F32(1) + high
    t = (high - (s - F32(1))) + low
    p = s + fma32(b, r * r, t)
    return np.ldexp(p.astype(F64), n.astype(np.int64)).astype(F32)


def sigmoid(x):
    """E3."""
    n, _, _, r, b = _reduce(np.minimum(np.abs(x), F32(104)))
    S = np.ldexp(F64(1), -n.astype(np.int64))
    f = fma32(b, r * r, r)
    d = (1 + S).astype(F32) + f
    e = (S + (F32(1) - d).astype(F64)).astype(F32) + f
    y = F32(1) / d
    z = fma32(fma32(-y, e, fma32(-y, d, F32(1))), y, y)
    return np.where(np.signbit(x), (z * S).astype(F32), fma32(-z.astype(F64), S, F32(1)))


def rsqrt(x):
    """E4, of positive finite numbers."""
    small = x < F32(2.0 ** -64)
    v = np.where(small, x * F32(2.0 ** 64), x)
    s = np.sqrt(v)
    y = F32(1) / s
    d = fma32(-s, y, F32(1))
    e = fma32(-s, s, v)
    z = fma32(y, fma32(e * y, -y / F32(2), d), y)
    return np.where(small, z * F32(2.0 ** 32), z)


def fma64(a, b, c):
    """A1 in FP64, of Python floats."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def log(x):
    """E6, of a positive finite FP32 number."""
    m, e = math.frexp(float(x))
    m, e = 2 * m, e - 1
    if int((m - 1) * 2 ** 23) >= 0x3504F3:
        m, e = m / 2, e + 1
    s = (m - 1) / (m + 1)
    z = s * s
    p = 2.0 / 19.0
    for k in range(8, 0, -1):
        p = fma64(p, z, 2.0 / (2 * k + 1))
    line = fma64(s, z * p, 2 * s)
    return F32(fma64(float(e), float(np.uint64(0x3FE62E42FEFA39EF).view(F64)), line))


# ---- SwiGLU and norms ------------------------------------------------------------------------------

def swiglu(g, u):
    """S2."""
    return bf((g * sigmoid(g)) * u)


def swiglu_backward(g, u, dh):
    """S3: h, dg and du."""
    s = sigmoid(g)
    a = g * s
    h = bf(a * u)
    dg = (dh * u) * (s * fma32(g, F32(1) - s, F32(1)))
    return h, bf(dg), bf(dh * a)


def norm_rstd(x):
    """S4, S5."""
    return rsqrt(row_dot(x, x) / F32(x.shape[1]) + NORM_EPS)


def rms_norm(x, w):
    """S5, rounded to BF16."""
    return bf((x * norm_rstd(x)[:, None]) * w)


def rms_norm_backward(dy, x, w, q=None):
    """N3: dx and dw."""
    rstd = norm_rstd(x)[:, None]
    g = dy * w
    a = ((row_dot(g, x)[:, None] * rstd) * rstd) / F32(x.shape[1])
    d = rstd * fma32(-a, x, g)
    return bf(d if q is None else d + q), token_sum(dy, x * rstd)


# ---- rope --------------------------------------------------------------------------------------------

def _nearest32(d):
    """The FP32 number nearest to a Decimal."""
    near = F32(float(d))
    around = [near, np.nextafter(near, F32(-4)), np.nextafter(near, F32(4))]
    return min(around, key=lambda c: abs(Decimal(float(c)) - d))


@lru_cache
def rope_table(positions, n):
    """E7: cos and sin, positions x n / 2, correctly rounded."""
    getcontext().prec = 60
    two_pi = 2 * Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
    c, s = np.empty((2, positions, n // 2), F32)
    for i in range(n // 2):
        f = Decimal(float(Decimal(10000) ** (Decimal(-2 * i) / Decimal(n))))
        for p in range(positions):
            x = (f * p) % two_pi
            term, k, sums = Decimal(1), 0, [Decimal(0), Decimal(0)]
            while abs(term) > Decimal("1e-40") or k < 10:
                sums[k % 2] += term if k % 4 < 2 else -term
                k += 1
                term = term * x / k
            c[p, i], s[p, i] = _nearest32(sums[0]), _nearest32(sums[1])
    return c, s


def rope(x, length, backward=False):
    """N4 (adjacent) of rows x (tokens x ... x n); tokens are sequences of `length`."""
    c, s = (np.tile(v, (len(x) // length, 1)) for v in rope_table(length, x.shape[-1]))
    shape = (len(x),) + (1,) * (x.ndim - 2) + (-1,)
    c, s = c.reshape(shape), s.reshape(shape)
    s = -s if backward else s
    y = np.empty_like(x)
    x0, x1 = x[..., 0::2], x[..., 1::2]
    y[..., 0::2] = bf(fma32(-x1, s, x0 * c))
    y[..., 1::2] = bf(fma32(x0, s, x1 * c))
    return y


# ---- attention -----------------------------------------------------------------------------------------

def _weights(q, k, c):
    """N5, N6: e and r of a sequence and head. Steps of zeros change nothing, so that K is all of T."""
    length = len(q)
    seen = np.tril(np.ones((length, length), bool))
    z = product_bf16(q, k) * c
    m = np.max(np.where(seen, z, F32(-np.inf)), axis=1, keepdims=True) + F32(0)
    e = np.where(seen, bf(exp(np.where(seen, z - m, F32(0)))), F32(0))
    ones = np.ones((1, length), F32)
    return e, F32(1) / product_bf16(e, ones), seen


def attention(q, k, v, c):
    """N5, N6: O of a sequence and head."""
    e, r, _ = _weights(q, k, c)
    return bf(product_bf16(e, np.ascontiguousarray(v.T)) * r)


def attention_backward(q, k, v, c, d_out, kept):
    """N7: dq, dk, dv of a sequence and head."""
    e, r, seen = _weights(q, k, c)
    D = row_dot(d_out, kept)[:, None]
    P = e * r
    dS = np.where(seen, bf(P * (product_bf16(d_out, v) - D)), F32(0))
    dq = bf(c * product_bf16(dS, k.T))
    dv = bf(product_bf16(bf(P).T, d_out.T))
    dk = bf(c * product_bf16(dS.T, q.T))
    return dq, dk, dv


# ---- router ----------------------------------------------------------------------------------------------

def route(logits, bias, top):
    """N8 (sigmoid), N9 (one group), N10 (normalized, scale 1): scores, experts, sums t, weights.

    A stable sort of -b has the order that N9 asks for, NaN last."""
    s = sigmoid(logits)
    experts = np.argsort(-(s + bias), axis=1, kind="stable")[:, :top].astype(np.int32)
    chosen = np.take_along_axis(s, experts, 1)
    t = np.zeros(len(s), F32)
    for k in range(top):
        t = t + chosen[:, k]
    share = chosen / t[:, None]
    return s, experts, t, share


def route_backward(h, s, experts, t, share):
    """N11 (sigmoid, normalized, scale 1): dz."""
    a = np.zeros(len(s), F32)
    for k in range(experts.shape[1]):
        a = fma32(h[:, k], share[:, k], a)
    d = (h - a[:, None]) / t[:, None]
    chosen = np.take_along_axis(s, experts, 1)
    dz = np.zeros_like(s)
    np.put_along_axis(dz, experts, (d * chosen) * (F32(1) - chosen), 1)
    return dz


def plan(experts, count, align=128):
    """N13: token of each row (or -1), row of each slot, ends of the experts' rows."""
    tokens, slots, ends = [], np.empty(experts.shape, np.int64), [0]
    for e in range(count):
        for t, k in zip(*np.nonzero(experts == e)):
            slots[t, k] = len(tokens)
            tokens.append(t)
        tokens += [-1] * (-len(tokens) % align)
        ends.append(len(tokens))
    return np.array(tokens, np.int64), slots, ends


def gather(x, tokens):
    """N20 (e): rows of x, zeros for -1."""
    return np.where(tokens[:, None] >= 0, x[tokens], F32(0)) if len(tokens) else x[:0]


def combine(rows, weights=None):
    """S9 (a), fp32_slots: rows of each slot (a list, tokens x n), by weights (a list) or without."""
    if weights is None:
        acc = rows[0]
        for x in rows[1:]:
            acc = acc + x
    else:
        acc = np.zeros_like(rows[0])
        for x, w in zip(rows, weights):
            acc = fma32(w, x, acc)
    return bf(acc)


# ---- loss, gradients, rate ----------------------------------------------------------------------------------

def cross_entropy(z, targets, factor):
    """N15 (a) to (d): losses and dz."""
    rows = np.arange(len(z))
    m = z.max(1, keepdims=True) + F32(0)
    u = exp(z - m)
    S = row_sum(u)
    losses = np.array([log(v) for v in S], F32) - (z[rows, targets] - m[:, 0])
    hot = np.zeros_like(z)
    hot[rows, targets] = 1
    dz = bf(((u * (F32(1) / S)[:, None]) - hot) * factor)
    none = targets < 0                                      # (d)
    return np.where(none, F32(0), losses), np.where(none[:, None], F32(0), dz)


def loss_sum(losses):
    """N15 (e), the sum in FP64."""
    total = 0.0
    for first in range(0, len(losses), 1024):
        part = 0.0
        for v in losses[first:first + 1024]:
            part += float(v)
        total += part
    return total


def shard_sum(gradients):
    """N16: the balanced tree of neighbours."""
    while len(gradients) > 1:
        gradients = [a + b for a, b in zip(gradients[0::2], gradients[1::2])]
    return gradients[0]


def gradient_norm(gradients):
    """N17: the norm, FP64."""
    total = 0.0
    for g in gradients:
        flat, part = g.reshape(-1), 0.0
        for first in range(0, flat.size, 65536):
            part += float(row_squares64(flat[first:first + 65536]))
        total += part
    return math.sqrt(total)


def rate_of(t, peak, warmup, hold, steps, last):
    """N18."""
    if t <= warmup:
        return (peak * t) / warmup
    if t <= hold:
        return peak
    return peak * (1.0 - ((1.0 - last) * (t - hold)) / (steps - hold))


def power(beta, t):
    """S7 (c)."""
    out = 1.0
    while t:
        if t & 1:
            out *= beta
        beta *= beta
        t >>= 1
    return out


def adamw(w, m, v, g, t, rate, beta1, beta2, eps, weight_decay):
    """S6 to S8: the new w, m, v; m and v BF16, nearest-even."""
    c1, c2 = F32(1 - beta1), F32(1 - beta2)
    q = F32(1 / math.sqrt(1 - power(beta2, t)))
    decay, step = F32(rate * weight_decay), F32(rate / (1 - power(beta1, t)))
    m = fma32(c1, g - m, m)
    v = fma32(c2, (g * g) - v, v)
    D = (np.sqrt(v) * q) + F32(eps)
    w = fma32(-step, m / D, fma32(-decay, w, w))
    return w, bf(m), bf(v)


# ---- random numbers -------------------------------------------------------------------------------------------

G = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(z):
    """S8 (b): splitmix64's finalizer, of uint64 arrays or Python integers."""
    if isinstance(z, int):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class Rng:
    """N24 (a)."""

    def __init__(self, seed, i):
        self.state = mix(mix((seed + G) & MASK) ^ ((i * G + 1) & MASK))

    def word(self):
        self.state = (self.state + G) & MASK
        return mix(self.state)

    def below(self, n):
        return ((self.word() >> 32) * n) >> 32

    def words32(self, count):
        """The next `count` 32-bit words."""
        k = np.arange(1, count + 1, dtype=np.uint64)
        z = np.uint64(self.state) + k * np.uint64(G)
        self.state = (self.state + count * G) & MASK
        return mix(z) >> np.uint64(32)


def normal(seed, i, rows, columns, deviation):
    """N24 (b): a parameter's first numbers."""
    w = Rng(seed, i).words32(rows * columns * 12).reshape(rows, columns, 12).astype(F64) * 2.0 ** -32
    return ((-6.0 + w.sum(2)) * deviation).astype(F32)       # sums of 12 words are exact in FP64
