"""src/gemm/tile_panel-inl.hpp and tile_steps.cpp, operation by operation: where
terms stand, and the anchor M = 2^(P + p - F)."""

import core
from bits import ite
from core import FP32, int32

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
