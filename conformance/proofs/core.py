"""The core's integers, operation by operation.

Each function is one of include/zeroulp/core, of the same name, for the types
that it has there. A format, a rounding and a policy are known when the C++ is
compiled for a caller, so they are Python's values here.
"""

from dataclasses import dataclass
from typing import Any

from bits import constant, either, ite


@dataclass(frozen=True)
class Format:
    """format.hpp, for the kinds ieee, fn and scale."""
    name: str
    exp_bits: int
    man_bits: int
    bias: int
    kind: str = "ieee"

    @property
    def has_sign(self): return self.kind != "scale"

    @property
    def has_infinity(self): return self.kind == "ieee"

    @property
    def magnitude_bits(self): return self.exp_bits + self.man_bits

    @property
    def bits(self): return self.magnitude_bits + self.has_sign

    @property
    def magnitude_mask(self): return (1 << self.magnitude_bits) - 1

    @property
    def sign_mask(self): return self.has_sign << self.magnitude_bits

    @property
    def infinity_code(self): return ((1 << self.exp_bits) - 1) << self.man_bits

    @property
    def max_code(self):
        return (self.infinity_code if self.has_infinity else
                self.magnitude_mask) - 1

    @property
    def min_exponent(self): return (0 if self.kind == "scale" else 1) - self.bias

    @property
    def quantum_exponent(self): return self.min_exponent - self.man_bits


E4M3 = Format("e4m3", 4, 3, 7, "fn")
E5M2 = Format("e5m2", 5, 2, 15)
E5M6 = Format("e5m6", 5, 6, 15)
BF16 = Format("bf16", 8, 7, 127)
FP16 = Format("fp16", 5, 10, 15)
TF32 = Format("tf32", 8, 10, 127)
FP32 = Format("fp32", 8, 23, 127)
E8M13 = Format("e8m13", 8, 13, 127)
UE8M0 = Format("ue8m0", 8, 0, 127, "scale")


@dataclass(frozen=True)
class Policy:
    """convert.hpp, for the payloads quiet and all_ones."""
    name: str
    saturate_finite: bool
    saturate_infinite: bool
    nan_sign: bool
    quiet: bool
    scale_magnitude: bool


POLICIES = [Policy("ocp_saturate", True, True, True, True, False),
            Policy("ocp_nonsaturate", False, False, True, True, False),
            Policy("cuda_satfinite", True, True, False, False, True),
            Policy("cuda_nosat", False, False, False, False, True),
            Policy("keep_specials", True, False, False, False, False)]


@dataclass
class Number:
    """unpacked.hpp: (-1)^negative * significand * 2^exponent, or a special."""
    significand: Any  # uint64
    exponent: Any  # int32
    is_zero: Any
    is_infinite: Any
    is_nan: Any
    negative: Any


def uint64(x): return constant(x, 64)


def int32(x): return constant(x, 32, True)


def msb(x):
    """config.hpp, for 64 bits: -1 for zero."""
    result = int32(-1)
    for i in range(64):
        result = ite((x >> i & 1) == 1, int32(i), result)
    return result


def low_bits(count):
    """config.hpp."""
    shifted = (uint64(1) << count.as_uint(64)) - 1
    return ite(count >= 64, ~uint64(0), shifted)


def extract(x, position):
    """wide.hpp, for uint64."""
    by = position.as_uint(64)
    shifted = ite(position >= 0, x >> by, x << (-position).as_uint(64))
    return ite(either(position >= 64, position <= -64), uint64(0), shifted)


def any_below(x, position):
    """wide.hpp, for uint64."""
    return (position > 0) & ((x & low_bits(position)) != 0)


def rounds_away(x, shift, odd, mode="nearest_even"):
    """round.hpp, for two of the modes."""
    if mode == "toward_zero":
        return constant(False, 0)
    half = (extract(x, shift - 1) & 1) != 0
    rest = any_below(x, shift - 1)
    return (shift > 0) & half & (rest | odd)


def decode(f, code):
    """convert.hpp. `code` has 64 bits."""
    magnitude = code & f.magnitude_mask
    negative = (code & f.sign_mask) != 0
    special = magnitude > f.max_code
    infinite = special & (magnitude == f.infinity_code if f.has_infinity
                          else constant(False, 0))
    fraction = magnitude & ((1 << f.man_bits) - 1)
    biased = (magnitude >> f.man_bits).as_int(32)
    subnormal = biased == 0
    significand = ite(subnormal, fraction, fraction | 1 << f.man_bits)
    exponent = ite(subnormal, int32(f.quantum_exponent),
                   f.quantum_exponent + biased - 1)
    zero = magnitude == 0
    none = special | zero
    return Number(ite(none, uint64(0), significand), ite(none, int32(0), exponent),
                  zero, infinite, special & ~infinite, negative)


def nan_code(f, negative, p):
    """convert.hpp."""
    if f.kind == "scale":
        return uint64(f.magnitude_mask)
    code = f.magnitude_mask
    if f.kind == "ieee" and p.quiet:
        code = f.infinity_code | 1 << f.man_bits >> 1
    sign = ite(negative, uint64(f.sign_mask), uint64(0))
    return sign | code if p.nan_sign else uint64(code)


def encode(f, x, p, mode="nearest_even"):
    """convert.hpp, for two of the modes."""
    is_scale = f.kind == "scale"
    sign = ite(x.negative, uint64(f.sign_mask), uint64(0))
    overflow = (sign | f.infinity_code if f.has_infinity else
                sign | nan_code(f, x.negative, p))
    exponent = msb(x.significand) + x.exponent
    beyond = exponent - f.min_exponent
    step = ite(beyond > 0, beyond, 0)
    shift = f.quantum_exponent + step - x.exponent
    magnitude = ((step.as_uint(64) << f.man_bits) +
                 extract(x.significand, shift) - is_scale)
    away = rounds_away(x.significand, shift, (magnitude & 1) != 0, mode)
    magnitude = ite(step.as_uint(64) <= f.max_code >> f.man_bits,
                    ite(away, magnitude + 1, magnitude), f.max_code + 1)
    largest = p.saturate_finite or mode == "toward_zero"
    finite = ite(magnitude > f.max_code,
                 sign | f.max_code if largest else overflow,
                 ite(magnitude == 0, sign, sign | magnitude))
    if is_scale:
        finite = ite(beyond < 0, uint64(0), finite)
    result = ite(x.is_infinite,
                 sign | f.max_code if p.saturate_infinite else overflow,
                 ite(x.is_zero, sign, finite))
    if is_scale and not p.scale_magnitude:
        result = ite(x.negative & ~x.is_zero, nan_code(f, x.negative, p), result)
    return ite(x.is_nan, nan_code(f, x.negative, p), result)


def integer_log2(x, y, how):
    """scale.hpp: log2(x / y) as an integer."""
    xm, ym = msb(x.significand), msb(y.significand)
    down = (xm + x.exponent) - (ym + y.exponent)
    top = ite(xm > ym, xm, ym)
    a = x.significand << (top - xm).as_uint(64)
    b = y.significand << (top - ym).as_uint(64)
    floor = ite(a >= b, down, down - 1)
    if how == "pow2":
        return ite(a == b, down, floor + 1)
    if how == "pow2_nearest":
        aa, bb = a * a, b * b  # of 24 bits each: 64 hold what wide<2> does
        return ite(a >= b, ite(aa > bb + bb, down + 1, down),
                   ite(aa + aa > bb, down, down - 1))
    return down if how == "ocp" else floor


def clamp_exponent(e):
    """scale.hpp."""
    return ite(e < -127, int32(-127), ite(e > 127, int32(127), e))


def recode(source, code, f, p, mode="nearest_even"):
    """convert.hpp: 64 bits to 64."""
    return encode(f, decode(source, code), p, mode)
