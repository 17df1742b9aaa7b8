"""src/gemm/tile_panel-inl.hpp and tile_steps.cpp, operation by operation: where
terms stand, the anchor M = 2^(P + p - F), and the step in float."""

import core
from bits import constant, ite
from core import FP32, int32, uint64
from emulator import fma_rz

NONE = -97  # narrow places of zeros: at most this
BROAD_NOWHERE = -8192


def place_of(x, min_exponent, nowhere):
    """place_of: x is FP32's code of the element."""
    magnitude = x & 0x7fffffff
    e = (magnitude >> 23).as_int(32) - 127
    e = ite(e > min_exponent, e, min_exponent)
    return ite(magnitude == 0, int32(nowhere), e)


def larger(a, b):
    return ite(a > b, a, b)


def narrow_anchor(row, place, c):
    """anchor(narrow): FP32's code. `place` is the largest of the products."""
    products = place + 127
    field = (c & 0x7fffffff).as_int(32) >> 23
    own = field
    if row.stored != FP32:
        least = int32(row.stored.min_exponent + 127)
        own = ite(field == 0, field, larger(field, least))
    least = row.floor + 127 if row.floor > -126 else 1
    most = 254 - 23 + row.fraction_bits
    biased = larger(larger(products, own), int32(least))
    biased = ite(biased < most, biased, most)
    return (biased + (23 - row.fraction_bits)).as_uint(64) << 23


def double_field(c):
    """The exponent field of a finite FP32 number as a double: exact."""
    x = core.decode(FP32, c)
    return ite(x.is_zero, int32(0), core.msb(x.significand) + x.exponent + 1023)


def broad_anchor(row, place, c):
    """anchor(broad): FP64's code."""
    field = double_field(c)
    own = larger(field - 1023, int32(row.stored.min_exponent))
    placed = ite(field == 0, int32(BROAD_NOWHERE), own)
    least = int32(row.floor if row.floor > -900 else -900)
    largest = larger(larger(place, placed), least)
    return (largest + (52 + 1023 - row.fraction_bits)).as_uint(64) << 52


def fp16_as_fp32(c):
    """c of an FP16 result is kept as a float."""
    return core.encode(FP32, core.decode(core.FP16, c), core.POLICIES[3])


def as_fp32(f, code):
    """value_bits of operand.cpp."""
    return core.encode(FP32, core.decode(f, code), core.POLICIES[1])


def narrow_place(f, x):
    return place_of(x, f.min_exponent, -128)


def saturated(sum_of_places):
    """SaturatedAdd of 8 bits, where no sum is above 127."""
    return larger(sum_of_places, int32(-128))


def step(row, pairs, c):
    """step_rows and store_d in float, of an FP32 result: D. `pairs` are codes;
    what is missing of L is zeros, which add nothing."""
    f, g = row.operands[0]
    largest, terms = int32(-128), [(c, uint64(0x3f800000))]
    for a, b in pairs:
        x, y = as_fp32(f, a), as_fp32(g, b)
        terms.append((x, y))
        place = saturated(narrow_place(f, x) + narrow_place(g, y))
        largest = larger(largest, place)
    m = narrow_anchor(row, largest, c)
    pos = neg = m
    for x, y in terms:  # c comes first, as c * 1
        negative = ((x ^ y) >> 31) == 1
        magnitudes = x & 0x7fffffff, y & 0x7fffffff
        pos, neg = (ite(negative, pos, fma_rz(*magnitudes, pos)),
                    ite(negative, fma_rz(*magnitudes, neg), neg))
    unit = (m >> 23).as_int(32) - (127 + 23)
    less, no = pos < neg, constant(False, 0)
    left = ite(less, neg - pos, pos - neg)
    exact = core.encode(FP32, core.Number(left, unit, left == 0, no, no, less),
                        core.POLICIES[3])
    kept = exact & (0xffffffff << (23 - row.output.man_bits) & 0xffffffff)
    return ite((kept & 0x7fffffff) == 0, uint64(0), kept)
