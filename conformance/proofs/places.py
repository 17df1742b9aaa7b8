"""Lemmas: decoded operands, the place of each term and the largest (T1, T2)."""

import core
import emulator
import engine
import step
from bits import both, constant, either, implies, ite, variable
from core import FP32, int32
from exact import Scale
from lemma import Lemma

CODE = variable("code", 32).as_uint(64)
PLACE = variable("place", 32).as_int(32)
OPERANDS = (core.E4M3, core.E5M2, core.FP16, core.BF16, core.TF32)
WIDE = Scale(290, -160)


def finite(f):
    return both(CODE < 1 << f.bits, (CODE & f.magnitude_mask) <= f.max_code)


def place(f, x):
    """T1 by the core: the exponent of a decoded number, not of its highest bit."""
    return x.exponent + f.man_bits


def emulator_operand(f):
    """store_element: the value, its place and sign are the core's; zeros are
    nowhere."""
    x = core.decode(f, CODE)
    value, at, negative = emulator.operand(f, CODE)
    return implies(finite(f), both(
        WIDE.value(FP32, value) == WIDE.value(f, CODE & f.magnitude_mask),
        at == ite(x.is_zero, int32(emulator.NOWHERE), place(f, x)),
        negative == x.negative))


def engine_operand(f):
    """prepared_operand and place_of: likewise."""
    x = core.decode(f, CODE)
    value = engine.as_fp32(f, CODE)
    at = engine.place_of(value, f.min_exponent, engine.BROAD_NOWHERE)
    return implies(finite(f), both(
        WIDE.value(FP32, value & 0x7fffffff) ==
        WIDE.value(f, CODE & f.magnitude_mask),
        at == ite(x.is_zero, int32(engine.BROAD_NOWHERE), place(f, x))))


def zeros_never_align():
    """A zero's place and any other sum to less than every floor, in 16 bits;
    the engine's 8 bits saturate at -128, from -128 and at most 31."""
    most, least = 127, core.BF16.min_exponent
    floors = [emulator.FLOOR] + [r.floor for r in step.ROWS if r.floor > -900]
    return constant(emulator.NOWHERE + most < min(floors) and
                    2 * emulator.NOWHERE >= -32768 and 2 * least >= -32768 and
                    -128 + 31 <= engine.NONE < -96, 0)


def emulator_addend(row):
    """addend_term: c's place is the core's, -16384 for a zero. Outside are Inf,
    NaN and |c| >= 2^(104 + F): the others leave M a number."""
    x = core.decode(FP32, CODE)
    at, negative, outside = emulator.addend(row, CODE)
    large = (CODE & 0x7fffffff) >= (104 + row.fraction_bits + 127) << 23
    special = x.is_nan | x.is_infinite
    return implies(CODE < 1 << 32, both(
        outside == (special | large),
        either(special, at == ite(x.is_zero, int32(2 * emulator.NOWHERE),
                                  place(FP32, x))),
        negative == x.negative))


def expected(row, some_product, c, stored):
    """P of T2, or none where no term takes part."""
    x = core.decode(stored, c)
    floor = int32(row.floor)
    largest = ite(some_product & (PLACE > floor), PLACE, floor)
    at = place(stored, x)
    return ite(~x.is_zero & (at > largest), at, largest), some_product | ~x.is_zero


def engine_narrow(row, least=-96):
    """anchor(narrow) where tile.hpp admits c: M's exponent is that of P."""
    some = PLACE >= -64
    code = CODE if row.stored == FP32 else engine.fp16_as_fp32(CODE)
    exponent = (code & 0x7fffffff) >> 23
    admitted = both(either((code & 0x7fffffff) == 0, exponent >= least + 127),
                    exponent < 103 + 127 + row.fraction_bits, exponent < 255,
                    CODE < 1 << row.stored.bits, PLACE <= 40, PLACE >= -128,
                    either(some, PLACE <= engine.NONE))
    largest, any_term = expected(row, some, CODE, row.stored)
    anchor = engine.narrow_anchor(row, PLACE, code)
    field = (largest + (23 - row.fraction_bits + 127)).as_uint(64)
    return implies(admitted, both(
        either(~any_term, anchor == field << 23),
        anchor >> 23 >= 1, anchor >> 23 <= 254))


def engine_broad(row):
    """anchor(broad): any finite c."""
    some = PLACE >= -900
    code = CODE if row.stored == FP32 else engine.fp16_as_fp32(CODE)
    finite_c = (CODE & row.stored.magnitude_mask) < row.stored.infinity_code
    admitted = both(finite_c, CODE < 1 << row.stored.bits, PLACE <= 300,
                    PLACE >= -32768, either(some, PLACE <= -8000))
    largest, _ = expected(row, some, CODE, row.stored)
    field = (largest + (52 - row.fraction_bits + 1023)).as_uint(64)
    return implies(admitted,
                   engine.broad_anchor(row, PLACE, code) == field << 52)


LEMMAS = [Lemma(f"emulator's operand, {f.name}", "F1 T1",
                lambda f=f: emulator_operand(f)) for f in OPERANDS]
LEMMAS += [Lemma(f"engine's operand, {f.name}", "F1 T1",
                 lambda f=f: engine_operand(f)) for f in OPERANDS]
LEMMAS += [Lemma("zeros never align", "T2", zeros_never_align)]
LEMMAS += [Lemma(f"emulator's c, {row.name}", "T1 T2",
                 lambda row=row: emulator_addend(row))
           for row in step.ROWS if row.stored == FP32 and row.fraction_bits < 14]
LEMMAS += [Lemma(f"engine's anchor, {row.name}", "T1 T2",
                 lambda row=row: (engine_narrow if row.fraction_bits <= 15 else
                                  engine_broad)(row)) for row in step.ROWS]
TIES, FAULTS = [], []
# c may then stand as low as zero products do.
FALSE = [Lemma("engine's anchor, FP8 to f32, c from 2^-99", "T1 T2",
               lambda: engine_narrow(step.ROWS[0], -99))]
