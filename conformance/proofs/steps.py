"""Ties of whole steps to the library, and the faults that they show.

The core's transcription takes a million steps of two products and c; the
emulator's some hundred, as its exact sums have 290 bits.
"""

import numpy as np

import core
import emulator
import engine
import library
import places
import results
import step
import sums
import window
from bits import both, variable
from core import FP32
from lemma import Fault, Tie

NAMES = ("a0", "b0", "a1", "b1", "c")
ROW = step.ROWS[0]
E4M3 = (core.E4M3, core.E4M3)


def paired(row, pair):
    """The row for one pair of operand formats."""
    return step.Row(row.name, (pair,), *list(vars(row).values())[2:])


def path(row, pair):
    a, b = pair
    family = ("hopper.wgmma" if "F =" not in row.name else
              f"whatif.f{row.fraction_bits}")
    result = "f32" if row.stored == FP32 else "f16"
    return f"{family}.{a.name}.{b.name}.{result}"


def transcribed(make, row, pair):
    def results_of():
        a0, b0, a1, b1 = (variable(n, f.bits).as_uint(64)
                          for n, f in zip(NAMES, pair * 2))
        c = variable("c", row.stored.bits).as_uint(64)
        return [make(paired(row, pair), [(a0, b0), (a1, b1)], c)]
    return results_of


def finite(f, codes):
    """The codes, with zeros for Inf and NaN."""
    special = (codes & np.uint64(f.magnitude_mask)) > np.uint64(f.max_code)
    return np.where(special, np.uint64(0), codes)


def inputs(row, pair, count, narrow=False):
    """Half of the steps have exponents near those of the other terms. `narrow`:
    c is what both windows in float admit."""
    def give(random):
        out = {}
        for name, f in zip(NAMES, (*pair, *pair, row.stored)):
            codes = random.integers(0, 1 << f.bits, count, dtype=np.uint64)
            if f.exp_bits == 8:
                e = random.integers(112, 144, count, dtype=np.uint64)
                near = (codes & np.uint64(f.sign_mask | (1 << f.man_bits) - 1) |
                        e << np.uint64(f.man_bits))
                codes = np.where(random.random(count) < 0.5, near, codes)
            out[name] = finite(f, codes)
        if narrow:
            large = (out["c"] & np.uint64(0x7fffffff)) >= np.uint64(
                (104 + row.fraction_bits + 127) << 23)
            small = (out["c"] & np.uint64(0x7fffffff)) < np.uint64(31 << 23)
            out["c"] = np.where(large | small, np.uint64(0), out["c"])
        return out
    return give


def by_library(row, pair, call=library.step):
    def give(given):
        a, b = (np.stack([given[n] for n in names], 1)
                for names in (("a0", "a1"), ("b0", "b1")))
        return [call(path(row, pair), a, b, given["c"], *pair, row.stored)]
    return give


def core_tie(row, pair, count):
    return Tie(f"the core's step, {path(row, pair)}",
               transcribed(step.aligned_step, row, pair), by_library(row, pair),
               inputs(row, pair, count))


def engine_tie(row, pair):
    """The compiled GEMM against the core's transcription."""
    return Tie(f"the engine, {path(row, pair)}",
               transcribed(step.aligned_step, row, pair),
               by_library(row, pair, library.multiply), inputs(row, pair, 12_800))


def emulator_tie(row, pair, count=200):
    return Tie(f"the emulator's step, {path(row, pair)}",
               transcribed(emulator.step, row, pair), by_library(row, pair),
               inputs(row, pair, count, True), wide=True)


def engine_step_tie(row, pair, count=200):
    return Tie(f"the engine's step, {path(row, pair)}",
               transcribed(engine.step, row, pair),
               by_library(row, pair, library.multiply),
               inputs(row, pair, count, True), wide=True)


LEMMAS = []
TIES = [core_tie(row, pair, 1_000_000 if row == ROW and pair == E4M3 else 20_000)
        for row in step.ROWS for pair in row.operands]
TIES += [engine_tie(row, pair) for row in step.ROWS if not row.level
         for pair in row.operands]
TIES += [make(row, pair, 200 if row == ROW else 20)
         for make in (emulator_tie, engine_step_tie)
         for row in results.WINDOWS if not row.level for pair in row.operands]


def point(**values):
    """Codes of a step; what is not named is zero."""
    return dict.fromkeys(NAMES, 0) | values


def rounds_to_nearest(significand, exponent, unit):
    """cut, to nearest."""
    half = (core.extract(significand, unit - exponent - 1) & 1)
    return RIGHT_CUT(significand, exponent, unit) + half


def one_bit_less(f, largest, fraction_bits):
    return RIGHT_ANCHOR(f, largest, fraction_bits - 1)


def engine_one_less(row, place, c):
    return RIGHT_ENGINE(paired_with(row, row.fraction_bits - 1), place, c)


def forgets_complements(row, bias, minus):
    return bias * (row.length + 1 - minus * 2)


def drops_one_more(row, total, unit):
    return RIGHT_CONVERT(paired_with(row, row.fraction_bits - 1), total, unit)


def paired_with(row, fraction_bits):
    values = vars(row) | {"fraction_bits": fraction_bits}
    return step.Row(**values)


def subnormals_lower(f, code):
    """The place of a subnormal from its field alone."""
    value, place, negative = RIGHT_OPERAND(f, code)
    magnitude = code & f.magnitude_mask
    subnormal = both(magnitude != 0, magnitude < 1 << f.man_bits)
    return value, core.ite(subnormal, place - 1, place), negative


def to_nearest(x, shift, odd, mode="nearest_even"):
    return RIGHT_AWAY(x, shift, odd)


RIGHT_CUT, RIGHT_ANCHOR = step.cut, emulator.anchor
RIGHT_CONVERT, RIGHT_OPERAND = emulator.convert, emulator.operand
RIGHT_AWAY, RIGHT_ENGINE = core.rounds_away, engine.narrow_anchor
LANE = window.pair_lemma(*E4M3, 13)


def shows_in_lane():
    """The product is smaller than c = 2^P, and P that of FP8 products."""
    return both(window.LARGEST >= 0, window.LARGEST < 16,
                variable("a", 7) > 8, variable("b", 7) > 8,
                variable("a", 7) < 0x38, variable("b", 7) < 0x38)


def lane_point(found):
    return point(a0=found["a"], b0=found["b"],
                 c=(found["largest"] + 127) << 23)


def sum_point(found):
    """The total as an FP32 number alone, or with the product 1 * 1 below it."""
    unit = found["unit"] - (found["unit"] >> 31 << 32)
    total, top = found["total"], 1 << 13
    if total < 2 * top:
        return point(c=int(np.float32(total * 2.0 ** unit).view(np.uint32)))
    rest = np.float32((total - top) * 2.0 ** unit)
    return point(a0=0x38, b0=0x38, c=int(rest.view(np.uint32)))


def lemma_named(module, name):
    return next(lemma for lemma in module.LEMMAS if lemma.name == name)


CORE, EMULATOR = core_tie(ROW, E4M3, 1), emulator_tie(ROW, E4M3)
ENGINE = engine_step_tie(ROW, E4M3)
TOTAL, UNIT = results.TOTAL, results.UNIT
FAULTS = [
    Fault("terms are cut to nearest", LANE, CORE, step, "cut", rounds_to_nearest,
          shows_in_lane, lane_point),
    Fault("M keeps a bit less", LANE, EMULATOR, emulator, "anchor", one_bit_less,
          shows_in_lane, lane_point),
    Fault("complements are not counted", sums.SURPLUS[0], EMULATOR, emulator,
          "surplus", forgets_complements, lambda: True,
          lambda found: point(a0=0xb8, b0=0x38, c=0x40000001)),
    Fault("the result keeps a bit less",
          lemma_named(results, "the emulator's convert of FP8 to f32"), EMULATOR,
          emulator, "convert", drops_one_more,
          lambda: both(TOTAL > 1 << 13, TOTAL < 1 << 14, UNIT > -60, UNIT < 60),
          sum_point),
    Fault("the sum is rounded to nearest",
          lemma_named(results, "convert_sum of FP8 to f32"), CORE, core,
          "rounds_away", to_nearest,
          lambda: both(TOTAL > 1 << 14, TOTAL < 3 << 13, UNIT == -13), sum_point),
    Fault("a subnormal operand stands by its field",
          lemma_named(places, "emulator's operand, e4m3"), EMULATOR, emulator,
          "operand", subnormals_lower, lambda: True,
          # 2^-20 is below the quantum, 2^(-6 - 13).
          lambda found: point(a0=found["code"], b0=0x38, c=0x35800000)),
    Fault("the engine's M keeps a bit less",
          lemma_named(places, "engine's anchor, FP8 to f32"), ENGINE, engine,
          "narrow_anchor", engine_one_less, lambda: places.PLACE == 0,
          lambda found: point(a0=0x38, b0=0x38, c=0x39200000)),
]
