"""Lemmas: the lane of the window, one fused multiply-add toward zero (T3).

    fma.rz(|a|, |b|, A) = A + q,   A = (2^p + n) 2^(P - F)

as codes: q is what the core's cut() leaves of |a b|. IEEE 754 defines fma.rz as
the largest number that is not above the exact result, and that is what a lemma
says of the code A + q. The emulator has n = 2^(p - 1): its anchor is 1.5 times
a power of two. The engine begins at n = 0 and adds one product to another.
"""

import core
import emulator
import step
from bits import both, implies, ite, variable
from core import FP32
from emulator import FP64
from exact import Scale
from lemma import Lemma

LARGEST = variable("largest", 32).as_int(32)
N = variable("n", 64)


def anchor(window, fraction_bits, n):
    """The code A: emulator.cuh has n = 2^(p - 1), tile_steps.cpp 0."""
    e = LARGEST + window.man_bits - fraction_bits + window.bias
    return (e.as_uint(64) << window.man_bits) + n


def anchor_is_number(window, fraction_bits, least, most, scale):
    """The code A is finite and (2^p + n) 2^(P - F), for n < 2^p and the places
    that the rooms admit."""
    start = anchor(window, fraction_bits, N)
    value = scale.of(N + (1 << window.man_bits), LARGEST - fraction_bits)
    return implies(both(LARGEST >= least, LARGEST <= most,
                        N < 1 << window.man_bits),
                   both(start < window.infinity_code,
                        scale.value(window, start) == value))


def lane(a, b, fraction_bits):
    """The emulator's lane in FP32, of codes of `a` and `b` below the sign. The
    largest place is at least -126 and at most what keeps M a number."""
    scale = Scale(280, -149)
    x, y = (core.decode(f, variable(name, f.bits - 1).as_uint(64))
            for f, name in ((a, "a"), (b, "b")))
    significand, exponent = step.product(x, y)
    place = exponent + (a.man_bits + b.man_bits)
    start = emulator.anchor(FP32, LARGEST, fraction_bits)
    exact = scale.value(FP32, start) + scale.of(significand, exponent)
    q = step.cut(significand, exponent, LARGEST - fraction_bits)
    numbers = [~(z.is_zero | z.is_nan | z.is_infinite) for z in (x, y)]
    return implies(both(*numbers, LARGEST >= -126, place <= LARGEST,
                        LARGEST <= 103 + fraction_bits),
                   scale.is_toward_zero(FP32, exact, start + q))


def adds_cut(window, fraction_bits, bits, point, spare=2):
    """Any term of `bits` bits, `point` of them fraction bits, added to any A:
    below, at and above it, the numbers are consecutive multiples of the quantum
    2^u. s = u - (the exponent of the term's last bit). Where s > 64 the term is
    less than a quantum, as at 64."""
    term = variable("term", bits).as_uint(64)
    s = variable("s", 32).as_int(32)
    least = point - fraction_bits  # the term's place is the largest
    width = window.man_bits + 2 + 64 + max(0, -least) + bits
    capped = ite(s > 64, core.int32(64), s)

    def quanta(count):  # count * 2^u, in the smaller of both units
        return count.as_uint(width) << ite(s > 0, capped, 0).as_uint(width)
    start = N + (1 << window.man_bits)
    shift = ite(s < 0, -s, 0).as_uint(width)
    exact = quanta(start) + (term.as_uint(width) << shift)
    q = step.cut(term, core.int32(0), s)
    room = (1 << window.man_bits) - (1 << (fraction_bits + spare))
    return implies(both(s >= least, s < 4096, N <= room),
                   both(q < 1 << (bits - point + fraction_bits),
                        quanta(start + q) <= exact,
                        exact < quanta(start + q + 1),
                        start + q < 1 << (window.man_bits + 1)))


def pair_lemma(a, b, n):
    """Of F = 13 at level 0; the others follow from `adds_cut`, too."""
    return Lemma(f"lane of {a.name} and {b.name}, F = {n}", "T1 T3",
                 lambda: lane(a, b, n), 0 if n == 13 else 1)


# What joins a sum: its bits, and how many of them are fraction bits.
NARROW_TERMS = (("E4M3 * E4M3", 8, 6), ("E4M3 * E5M2", 7, 5),
                ("E5M2 * E5M2", 6, 4), ("FP32", 24, 23), ("FP16", 11, 10))
BROAD_TERMS = (("FP16 * FP16 or TF32 * TF32", 22, 20), ("BF16 * BF16", 16, 14),
               ("FP32", 24, 23), ("FP16", 11, 10))
LEMMAS = [pair_lemma(a, b, n) for n in range(13, 7, -1) for a, b in step.FP8]


def anchor_lemma(name, window, n, least, most, scale):
    return Lemma(f"{name} anchor is (2^p + n) 2^(P - {n}), P <= {most}", "T3",
                 lambda: anchor_is_number(window, n, least, most, scale))


NARROW, BROAD = Scale(290, -149), Scale(1300, -950)
LEMMAS += [anchor_lemma("FP32", FP32, n, -126, 103 + n, NARROW)
           for n in range(8, 14)]
LEMMAS += [anchor_lemma("FP64", FP64, 25, -900, 300, BROAD)]
LEMMAS += [
    Lemma(f"fma.rz in {name} cuts {what}, F = {n}", "T3",
          lambda w=w, n=n, bits=bits, point=point: adds_cut(w, n, bits, point),
          int(n in (9, 10, 11, 12)))
    for name, w, n, what, bits, point in
    [("FP32", FP32, n, *term) for n in range(8, 14) for term in NARROW_TERMS] +
    [("FP64", FP64, 25, *term) for term in BROAD_TERMS]]
TIES, FAULTS = [], []
# M is Inf; a sum leaves the numbers of M.
FALSE = [anchor_lemma("FP32", FP32, 13, -126, 105 + 13, NARROW),
         Lemma("fma.rz in FP32 cuts without room, F = 13", "T3",
               lambda: adds_cut(FP32, 13, 8, 6, 1))]
