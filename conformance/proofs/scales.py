"""Lemmas: power-of-two scales of every amax (Q5), and their UE8M0 bytes (Q11).

e = ceil(log2(amax / max)) and its like, from the core's integers, against the
definition by powers of two: no logarithm, all numbers whole.
"""

import sys

import numpy as np

import core
import library
from bits import both, constant, either, implies, ite, variable
from core import FP32
from exact import Scale
from lemma import Fault, Lemma, Tie

AMAX = variable("amax", 32)
KINDS = ("pow2", "pow2_down", "pow2_nearest", "ocp")
TARGETS = (core.E4M3, core.E5M2, core.E5M6)
# Units of 2^-168: amax * 2^-149 and max * 2^(e - 1) for e from -166 on.
WIDE = Scale(330, -190)


def largest(f):
    """The number `max` of a format, as the core decodes it."""
    return core.decode(f, core.uint64(f.max_code))


def exponent(f, kind):
    return core.integer_log2(core.decode(FP32, AMAX.as_uint(64)), largest(f),
                             kind)


def scale(f, kind):
    """pow2_as_fp32 of the clamped exponent."""
    e = core.clamp_exponent(exponent(f, kind))
    no = constant(False, 0)
    return core.encode(FP32, core.Number(core.uint64(1), e, no, no, no, no),
                       core.POLICIES[0])


def is_defined(f, kind, e):
    """Is e the exponent of Q5 (a), before it is kept within -127..127?"""
    amax, most = core.decode(FP32, AMAX.as_uint(64)), largest(f)
    x = WIDE.of(amax.significand, amax.exponent)

    def times(power):  # max * 2^power
        return WIDE.of(most.significand, most.exponent + power)
    if kind == "pow2":
        return both(x <= times(e), x > times(e - 1))
    if kind == "pow2_down":
        return both(times(e) <= x, x < times(e + 1))
    if kind == "ocp":  # floor(log2(amax)) = e + floor(log2(max))
        top = core.msb(core.uint64(f.max_code & ((1 << f.man_bits) - 1) |
                                   1 << f.man_bits)) + most.exponent
        one = core.uint64(1)
        return both(WIDE.of(one, top + e) <= x, x < WIDE.of(one, top + e + 1))
    # |log2(amax / max) - e| < 1/2: 2^(2e - 1) max^2 < amax^2 < 2^(2e + 1) max^2
    square = (lambda n: n.significand.as_uint(128) * n.significand.as_uint(128))
    double = Scale(620, -340)
    low = double.of(square(most), (most.exponent + e) * 2 - 1)
    high = double.of(square(most), (most.exponent + e) * 2 + 1)
    return both(low < double.of(square(amax), amax.exponent * 2),
                double.of(square(amax), amax.exponent * 2) < high)


def is_number():
    return both(AMAX > 0, AMAX < FP32.infinity_code)


def lemma(f, kind):
    def holds():
        e = exponent(f, kind)
        sane = both(e >= -170, e <= 128)
        power = WIDE.value(FP32, scale(f, kind) & 0x7fffffff)
        clamped = core.clamp_exponent(e)
        return implies(is_number(), both(
            sane, is_defined(f, kind, e),
            power == WIDE.of(core.uint64(1), clamped)))
    return Lemma(f"{kind} scale for {f.name}", "Q5", holds,
                 1 if kind == "pow2_nearest" else 0)


def inputs(random, count):
    """Each power of two times the largest numbers, and its neighbours."""
    near = [np.arange(1, 300, dtype=np.uint32)]
    for fraction in (0, 0x400000, 0x600000, 0x780000, 0x7c0000, 0x7e0000,
                     0x3504f3):
        near.append(np.arange(0, 255, dtype=np.uint32) << np.uint32(23) |
                    np.uint32(fraction))
    near = np.concatenate(near)
    near = np.concatenate([near + np.uint32(i) for i in (0, 1, 2**32 - 1)])
    others = random.integers(1, FP32.infinity_code, count, dtype=np.uint32)
    x = np.concatenate([near, others])
    return {"amax": x[(x > 0) & (x < FP32.infinity_code)]}


def tie(f, kind):
    count = 1_000_000 if kind == "pow2" else 100_000
    return Tie(f"{kind} scale for {f.name}", lambda: [scale(f, kind)],
               lambda given: [library.scales(given["amax"], f, kind)],
               lambda random: inputs(random, count))


def stored_byte():
    """lay_out_scales of quantize.hpp: the byte of an FP32 scale."""
    s = variable("s", 32).as_uint(64)
    p = core.POLICIES[1]
    e = core.recode(FP32, s, core.UE8M0, p)
    again = decode_scale(e & 0xff)
    exact = both(s != 0, core.encode(FP32, again, core.POLICIES[0]) == s)
    return ite(exact, e, core.uint64(0xff))


def decode_scale(code):
    """convert.hpp's decode of ue8m0."""
    no = constant(False, 0)
    nan = code > core.UE8M0.max_code
    return core.Number(core.uint64(1), code.as_int(32) - core.UE8M0.bias, no, no,
                       nan, no)


def bytes_are_defined():
    """A power of two within 2^-127..2^127 has its byte; all else has 0xff."""
    s, byte = variable("s", 32).as_uint(64), stored_byte()
    wide = Scale(280, -149)
    of_byte = wide.of(core.uint64(1), (byte & 0xff).as_int(64) - 127)
    finite = s < FP32.infinity_code
    power = both(finite, s != 0, either((s & 0x7fffff) == 0,
                                        s == 0x400000))
    return ite(power, both(byte < 0xff, of_byte == wide.value(FP32, s)),
               byte == 0xff)


def scale_inputs(random):
    powers = np.arange(0, 256, dtype=np.uint32) << np.uint32(23)
    near = np.concatenate([powers, powers + np.uint32(1), powers - np.uint32(1),
                           np.uint32(1) << np.arange(23, dtype=np.uint32)])
    others = random.integers(0, 1 << 32, 1_000_000, dtype=np.uint32)
    return {"s": np.concatenate([near, others])}


BYTES = Lemma("UE8M0 byte of a scale", "Q11", bytes_are_defined)
BYTES_TIE = Tie("UE8M0 byte of a scale", lambda: [stored_byte()],
                lambda given: [library.ue8m0_bytes(given["s"])], scale_inputs)
LEMMAS = [lemma(f, kind) for f in TARGETS for kind in KINDS] + [BYTES]
TIES = [tie(f, kind) for f in TARGETS for kind in KINDS] + [BYTES_TIE]


def always_up(x, y, how):
    """ceil as floor + 1: wrong at the powers of two."""
    return RIGHT(x, y, "pow2_down") + 1


def by_bits(x, y, how):
    """ceil from the exponents alone."""
    return RIGHT(x, y, "ocp") + 1


def counts_from_126(code):
    number = RIGHT_BYTE(code)
    number.exponent = number.exponent + 1
    return number


RIGHT, RIGHT_BYTE = core.integer_log2, decode_scale
FAULTS = [Fault(text, lemma(f, "pow2"), tie(f, "pow2"), core, "integer_log2",
                instead, lambda: AMAX >= 1 << 30)
          for f in TARGETS
          for text, instead in (("ceil is floor + 1", always_up),
                                ("ceil by the exponents alone", by_bits))]
FAULTS += [Fault("floor by the exponents alone", lemma(f, "pow2_down"),
                 tie(f, "pow2_down"), core, "integer_log2",
                 lambda x, y, how: RIGHT(x, y, "ocp"), lambda: AMAX >= 1 << 30)
           for f in TARGETS]
FAULTS += [Fault("a byte counts from 126", BYTES, BYTES_TIE,
                 sys.modules[__name__], "decode_scale", counts_from_126)]
