"""cuda/emulator/emulator.cuh, operation by operation: units of FP32 windows.

An instruction that IEEE 754 defines is its exact result, rounded as it says.
"""

import core
from bits import constant, ite
from core import FP32, Format, int32, uint64
from exact import Scale

FP64 = Format("fp64", 11, 52, 1023)
FLOOR = -126
NOWHERE = -8192
ROOM = Scale(290, -149)  # of every number that an FP32 window meets


def anchor(window, largest, fraction_bits):
    """narrow::anchor and broad::anchor: the code of M."""
    e = largest + window.man_bits - fraction_bits + window.bias
    return (e.as_uint(64) << window.man_bits) + (1 << (window.man_bits - 1))


def operand(f, code):
    """store_element: value as FP32's code, place, sign. Finite codes."""
    magnitude = code & f.magnitude_mask
    e = (magnitude >> f.man_bits).as_int(32)
    place = ite(magnitude == 0, int32(NOWHERE), ite(e == 0, int32(1), e) - f.bias)
    wide = core.decode(FP32, magnitude << (FP32.man_bits - f.man_bits))
    wide.exponent = wide.exponent + (127 - f.bias)  # fmul_rn: exact
    return core.encode(FP32, wide, core.POLICIES[3]), place, code != magnitude


def addend(row, c):
    """addend_term of an FP32 c: place, sign, and whether it is outside."""
    e = (c >> 23 & 255).as_int(32)
    m = c & 0x7fffff
    place = ite(e == 0, ite(m == 0, int32(2 * NOWHERE), int32(-126)), e - 127)
    outside = (e == 255) | (place > 103 + row.fraction_bits)
    return place, (c >> 31) != 0, outside


def fma_rz(x, y, start):
    """__fmaf_rz of nonnegative FP32 codes, the sum being a normal number."""
    a, b = core.decode(FP32, x), core.decode(FP32, y)
    exponent = a.exponent + b.exponent
    product = ROOM.of(a.significand * b.significand, exponent)
    return ROOM.toward_zero(FP32, ROOM.value(FP32, start) + product)


def surplus(row, bias, minus):
    """What the anchors and complements added."""
    return bias * (row.length + 1 - minus * 2) - minus


def convert(row, total, unit):
    """convert<Unit> of result::window: FP32's code."""
    negative = total < 0
    magnitude = ite(negative, -total, total).as_uint(64)
    no = constant(False, 0)
    whole = core.encode(FP32, core.Number(magnitude, int32(0), magnitude == 0, no,
                                          no, negative), core.POLICIES[3])
    dropped = (1 << (23 - row.fraction_bits)) - 1
    kept = core.decode(FP32, whole & ~uint64(dropped))
    kept.exponent = kept.exponent + unit  # fmul_rn by power(unit): exact
    return ite(total == 0, uint64(0),
               core.encode(FP32, kept, core.POLICIES[3]))


def step(row, pairs, c):
    """step_tile: D of the codes of a and b, what is missing being zeros."""
    f, g = row.operands[0]
    terms = [operand(f, a) + operand(g, b) for a, b in pairs]
    place, negative, _ = addend(row, c)
    largest = ite(place > FLOOR, place, FLOOR)
    for _, at, _, _, other, _ in terms:
        largest = ite(at + other > largest, at + other, largest)
    start = anchor(FP32, largest, row.fraction_bits)
    bias = start.as_uint(32)
    cut = fma_rz(c & 0x7fffffff, uint64(0x3f800000), start).as_uint(32)
    total = ite(negative, ~cut, cut)
    minus = ite(negative, constant(1, 32), constant(0, 32))
    for x, _, minus_a, y, _, minus_b in terms:
        sign = ite(minus_a ^ minus_b, ~constant(0, 32), constant(0, 32))
        total = total + (fma_rz(x, y, start).as_uint(32) ^ sign)
        minus = minus + (sign & 1)
    total = total + bias * (row.length - len(terms))  # |0 * 0| + M is M
    total = (total - surplus(row, bias, minus)).as_int(32)
    return convert(row, total, largest - row.fraction_bits)
