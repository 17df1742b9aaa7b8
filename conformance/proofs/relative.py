"""The definitions R1 and R3 for an x = digits * 2^unit, both of them variables.

Two such numbers are compared by shifting the one of the larger exponent, so
that 130 bits are enough wherever the numbers lie. A shift by more than 64 is
one by 64: digits are below 2^63, so it decides the same.
"""

from bits import both, either, ite

WIDTH = 130


def _shifted(digits, by):
    by = ite(by > 64, by * 0 + 64, ite(by < 0, by * 0, by))
    return digits.as_uint(WIDTH) << by.as_uint(WIDTH)


def is_at_most(a, s, b, t, below=False):
    """a * 2^s <= b * 2^t; below: <."""
    left, right = _shifted(a, s - t), _shifted(b, t - s)
    return left < right if below else left <= right


def value(f, magnitude):
    """F1: a code below the sign as digits and an exponent."""
    e = (magnitude >> f.man_bits).as_int(32)
    fraction = magnitude & ((1 << f.man_bits) - 1)
    return (ite(e == 0, fraction, fraction | 1 << f.man_bits),
            ite(e == 0, e + 1, e) + (f.quantum_exponent - 1))


def is_toward_zero(f, digits, unit, magnitude):
    """R3: the largest code whose value is at most x."""
    return both(is_at_most(*value(f, magnitude), digits, unit),
                is_at_most(digits, unit, *value(f, magnitude + 1), below=True))


def is_nearest_even(f, digits, unit, magnitude):
    """R1: x lies between the midpoints to both neighbours; on one of them if
    this code is even. Below a power of two the gap is half of that above."""
    even = (magnitude & 1) == 0
    here, e = value(f, magnitude)
    power = both((magnitude & ((1 << f.man_bits) - 1)) == 0,
                 magnitude >> f.man_bits > 1)
    low = (ite(power, here * 4 - 1, here * 2 - 1), ite(power, e - 2, e - 1))
    high = here * 2 + 1, e - 1
    x = digits, unit
    return both(either(magnitude == 0, is_at_most(*low, *x, below=True),
                       even & is_at_most(*low, *x)),
                either(is_at_most(*x, *high, below=True),
                       even & is_at_most(*x, *high)))


def is_beyond(f, digits, unit, code):
    """R8 for nearest_even: x rounds beyond the largest finite code. `code` is
    any node of 64 bits."""
    here, e = value(f, code * 0 + f.max_code)
    return is_at_most(here * 2 + 1, e - 1, digits, unit,
                      below=f.max_code % 2 == 0)
