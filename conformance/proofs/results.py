"""Lemmas: the sum becomes a code (T5, T6, T8), for every sum of every row.

The core's convert_sum gives the code that the SPEC defines. What the emulator
and the engine do with a sum gives the same: by the definition of the
instruction that rounds, or as a lemma.
"""

import core
import emulator
import relative
import step
from bits import both, constant, implies, ite, variable
from core import FP16, FP32
from exact import Scale
from lemma import Lemma
from sums import largest_sum

TOTAL = variable("total", 64).as_int(64)
UNIT = variable("unit", 32).as_int(32)


def units(row):
    """The units 2^u that sums of a row have: of places from the floor, or from
    the lowest product, to the largest of c or a product."""
    low, high = 0, 127 if row.stored == FP32 else 15
    for a, b in row.operands:
        low = min(low, a.min_exponent + b.min_exponent)
        high = max(high, sum(f.bias + (f.kind == "fn") for f in (a, b)))
    floor = -126 if row.stored == FP32 else FP16.min_exponent
    low = max(min(low, floor), row.floor)
    return low - row.fraction_bits, high - row.fraction_bits


def sums(row):
    """Every sum, its magnitude, and whether it is one of the row."""
    low, high = units(row)
    most = largest_sum(row, row.length)
    magnitude = ite(TOTAL < 0, -TOTAL, TOTAL).as_uint(64)
    return magnitude, both(TOTAL <= most, TOTAL >= -most, UNIT >= low,
                           UNIT <= high)


def is_defined(row, code, magnitude):
    """T5, T6, T8: is this the code of D?"""
    out, stored = row.output, row.stored
    sign = ite(TOTAL < 0, core.uint64(stored.sign_mask), core.uint64(0))
    infinite = code == (sign | stored.infinity_code)
    by = stored.man_bits - out.man_bits
    rounded = (code & stored.magnitude_mask) >> by
    if row.conversion == "toward_zero":
        beyond = relative.is_at_most(core.uint64(1), core.int32(128), magnitude,
                                     UNIT)
        right = relative.is_toward_zero(out, magnitude, UNIT, rounded)
    else:
        beyond = relative.is_beyond(out, magnitude, UNIT, code)
        right = relative.is_nearest_even(out, magnitude, UNIT, rounded)
    here = both(right, (code & ((1 << by) - 1)) == 0,
                code == ite(rounded == 0, core.uint64(0),
                            sign | (code & stored.magnitude_mask)))
    return ite(beyond, infinite, here)


def core_converts(row):
    magnitude, of_row = sums(row)
    code = step.convert_sum(row, magnitude, UNIT, TOTAL < 0)
    return implies(of_row, is_defined(row, code, magnitude))


def emulator_converts(row):
    """convert<result::window>: the code of convert_sum. c is below 2^(104 + F),
    or the core makes the step."""
    magnitude, of_row = sums(row)
    return implies(both(of_row, UNIT <= 103, UNIT >= -126 - row.fraction_bits),
                   emulator.convert(row, TOTAL, UNIT) ==
                   step.convert_sum(row, magnitude, UNIT, TOTAL < 0))


def engine_keeps(row):
    """keep() of tile_steps.cpp: an FP32 number, its bits cut, is the number of
    `output` toward zero; subnormal ones, too."""
    x = variable("x", 31).as_uint(64)
    scale = Scale(280, -149)
    by = 23 - row.output.man_bits
    mask = ~((1 << by) - 1) & 0xffffffff
    return implies(x < FP32.infinity_code, scale.is_toward_zero(
        row.output, scale.value(FP32, x), (x & mask) >> by))


def difference_is_exact(window, least, most):
    """The engine's pos - neg: both are (2^p + n) 2^u, and what is left is a
    number of the window, so that no rounding mode changes it."""
    p = variable("pos", 64), variable("neg", 64)
    most_n = 1 << window.man_bits
    less = p[0] < p[1]
    left = ite(less, p[1] - p[0], p[0] - p[1])
    no = constant(False, 0)
    code = core.encode(window, core.Number(left, UNIT, left == 0, no, no, less),
                       core.POLICIES[3])
    here = relative.value(window, code & window.magnitude_mask)
    return implies(both(p[0] < most_n, p[1] < most_n, UNIT >= least, UNIT <= most),
                   both(relative.is_at_most(*here, left, UNIT),
                        relative.is_at_most(left, UNIT, *here)))


WINDOWS = [step.ROWS[0]] + step.ROWS[5:]
LEMMAS = [Lemma(f"convert_sum of {row.name}", "T5 T6 T8 T12",
                lambda row=row: core_converts(row), row.level) for row in step.ROWS]
LEMMAS += [Lemma(f"the emulator's convert of {row.name}", "T5 T6",
                 lambda row=row: emulator_converts(row), row.level) for row in WINDOWS]
LEMMAS += [Lemma(f"the engine's cut of {row.name}", "T5",
                 lambda row=row: engine_keeps(row), row.level) for row in WINDOWS]
LEMMAS += [Lemma("the engine's pos - neg is exact in float", "T4",
                 lambda: difference_is_exact(FP32, -149, 104)),
           Lemma("the engine's pos - neg is exact in double", "T4",
                 lambda: difference_is_exact(emulator.FP64, -1000, 300))]
TIES, FAULTS = [], []
FALSE = [Lemma("the engine's pos - neg is exact below 2^-149", "T4",
               lambda: difference_is_exact(FP32, -151, 104))]
