"""Lemmas: FP32 to E4M3, E5M2, E5M6, BF16 and UE8M0, for all 2^32 inputs.

The core's recode() gives what SPEC C1 to C7 and R1 define.
"""

import numpy as np

import core
import library
from bits import both, ite, variable
from core import FP32
from exact import Scale
from lemma import Fault, Lemma, Tie

# Units of 2^-149; the largest midpoint is below 2^129, twice it below 2^130.
SCALE = Scale(282, -149)
TARGETS = (core.E4M3, core.E5M2, core.E5M6, core.BF16, core.UE8M0)


def result(f, p):
    """The core's code of FP32's code x."""
    return core.recode(FP32, variable("x", 32).as_uint(64), f, p)


def is_defined(f, p, x, code):
    """C1 to C7: may x, FP32, become this code?"""
    negative = (x >> 31) == 1
    magnitude = (x & 0x7fffffff).as_uint(64)
    exact = SCALE.value(FP32, magnitude)
    sign = ite(negative, core.uint64(f.sign_mask), core.uint64(0))
    nan = core.nan_code(f, negative, p)
    beyond = sign | f.infinity_code if f.has_infinity else sign | nan
    rounded = code & f.magnitude_mask
    finite = both(rounded <= f.max_code, code == (sign | rounded),
                  SCALE.is_nearest_even(f, exact, rounded))
    if f == core.UE8M0:  # C7: what is below the smallest code is that code
        finite = ite(exact < SCALE.value(f, core.uint64(0)), code == 0, finite)
    largest = sign | f.max_code
    number = ite(SCALE.is_beyond(f, exact),
                 code == (largest if p.saturate_finite else beyond), finite)
    infinite = code == (largest if p.saturate_infinite else beyond)
    if f == core.UE8M0 and not p.scale_magnitude:
        refused = negative & (magnitude != 0)
        number = ite(refused, code == nan, number)
        infinite = ite(refused, code == nan, infinite)
    return ite(magnitude > FP32.infinity_code, code == nan,
               ite(magnitude == FP32.infinity_code, infinite, number))


def lemma(f, p):
    slow = f == core.BF16 and p not in core.POLICIES[:2]
    return Lemma(f"FP32 to {f.name}, {p.name}", "C1 C3 C4 C5 C7 C8 R1 R8",
                 lambda: is_defined(f, p, variable("x", 32), result(f, p)),
                 1 if slow else 0)


def inputs(f, random, count):
    """Every code and midpoint of the target, where FP32 has it as such, and one
    bit to each side; Inf and NaN; and `count` others."""
    by = 22 - f.man_bits
    near = np.arange(0, 1 << (31 - by), dtype=np.uint32) << np.uint32(by)
    near = np.concatenate([near + np.uint32(i) for i in (0, 1, 2**32 - 1)])
    both_signs = np.concatenate([near, near ^ np.uint32(1 << 31)])
    others = random.integers(0, 1 << 32, count, dtype=np.uint32)
    return {"x": np.concatenate([both_signs, others])}


def tie(f, p):
    count = 1_000_000 if p == core.POLICIES[1] else 10_000
    return Tie(f"FP32 to {f.name}, {p.name}", lambda: [result(f, p)],
               lambda given: [library.recode(given["x"], f, p)],
               lambda random: inputs(f, random, count))


ALL = [(f, p) for f in TARGETS for p in core.POLICIES]
LEMMAS = [lemma(f, p) for f, p in ALL]
TIES = [tie(f, p) for f, p in ALL]


def ties_away(x, shift, odd, mode="nearest_even"):
    return (shift > 0) & ((core.extract(x, shift - 1) & 1) != 0)


def forgets_the_rest(x, shift, odd, mode="nearest_even"):
    return ties_away(x, shift, odd) & odd


def one_bit_short(x, position):
    return (position > 1) & ((x & core.low_bits(position - 1)) != 0)


FAULTS = [
    Fault(text, lemma(f, p), tie(f, p), core, name, instead)
    for f, p in [(f, core.POLICIES[0]) for f in TARGETS]
    for text, name, instead in (
        ("ties go away from zero", "rounds_away", ties_away),
        ("what lies below the half is forgotten", "rounds_away",
         forgets_the_rest),
        ("the highest bit below the half is forgotten", "any_below",
         one_bit_short))]
