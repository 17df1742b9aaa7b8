"""Exhausts the FP64 window (F = 25): every pair of significands of FP16, of BF16.

The host's FPU, set to round toward zero, adds each product to 1.5 * 2^(52 - 25)
at each distance below the largest place. A product has at most 22 bits, so that
it is exact in FP64, and the sum is what fma.rz gives. The low words of result
and anchor must differ by floor(product / quantum). Signs and places do nothing
else, so that a pair of significands stands for all their codes.
"""

import ctypes
import ctypes.util
import platform
import time

import numpy as np

FRACTION_BITS = 25
TOWARD_ZERO = {"x86_64": 0xc00, "aarch64": 0xc00000}.get(platform.machine())


def toward_zero(add):
    """Calls add() with the FPU rounding toward zero."""
    c = ctypes.CDLL(ctypes.util.find_library("m"))
    before = c.fegetround()
    if c.fesetround(TOWARD_ZERO):
        raise OSError("the FPU does not round toward zero")
    try:
        return add()
    finally:
        c.fesetround(before)


def products(man_bits):
    """Those of two significands, each product once, 1.0 * 1.0 being 2^(2 m)."""
    one = np.arange(1, 2 << man_bits, dtype=np.int64)
    return np.unique(one[:, None] * one)


def wrong(product, man_bits, distance, anchor=1.5):
    """How many products are not cut right, `distance` below the largest place."""
    quantum = FRACTION_BITS - 2 * man_bits - distance
    m = anchor * 2.0 ** (52 - FRACTION_BITS)
    exact = product * 2.0 ** (-2 * man_bits - distance)
    words = toward_zero(lambda: exact + m).view(np.uint64)
    cut = product << quantum if quantum >= 0 else product >> -quantum
    low = words - np.float64(m).view(np.uint64)
    return int(np.count_nonzero(low != cut.astype(np.uint64)))


def main():
    """Lines of TAP; 0 iff all hold."""
    failures = 0
    for name, man_bits in (("FP16", 10), ("BF16", 7)):
        start, distances = time.monotonic(), range(FRACTION_BITS + 3)
        every = products(man_bits)
        faults = sum(wrong(every, man_bits, d) for d in distances)
        failures += faults != 0
        print(f"{'not ok' if faults else 'ok'} exhausted: significands of {name}, "
              "F = 25")
        print(f"# {time.monotonic() - start:.2f} s {len(every)} products, "
              f"{len(distances)} distances, {faults} wrong")
    # An anchor of four times as much has a quantum of four times as much.
    caught = wrong(products(10), 10, 0, 6.0)
    failures += caught == 0
    print(f"{'ok' if caught else 'not ok'} fault: M keeps two bits less, F = 25")
    print(f"# {caught} wrong")
    return failures
