"""What results are defined to be: SPEC F1, R1, R3, in wide integers.

A magnitude is a whole number of `unit`s, 2^unit being no larger than the last
bit of anything in the statement, so that nothing is ever cut.
"""

from bits import both, constant, either, ite


class Scale:
    """Numbers of `width` bits that count 2^unit."""

    def __init__(self, width, unit):
        self.width, self.unit = width, unit

    def of(self, significand, exponent):
        """significand * 2^exponent, exact if exponent >= unit."""
        by = (exponent.as_int(self.width) - self.unit).as_uint(self.width)
        return significand.as_uint(self.width) << by

    def value(self, f, magnitude):
        """F1: the value of a code below the sign. The codes of Inf and NaN
        continue the numbers, as R8 has it. F3: of a scale, 2^(E - bias)."""
        if not f.has_sign:
            return self.of(magnitude * 0 + 1, magnitude.as_int(64) - f.bias)
        e = (magnitude >> f.man_bits).as_int(self.width)
        fraction = magnitude & ((1 << f.man_bits) - 1)
        normal = ite(e == 0, fraction, fraction | 1 << f.man_bits)
        return self.of(normal, ite(e == 0, e + 1, e) + (f.quantum_exponent - 1))

    def is_toward_zero(self, f, x, magnitude):
        """R3: the largest code whose value is at most x."""
        return both(self.value(f, magnitude) <= x, x < self.value(f, magnitude + 1))

    def toward_zero(self, f, x):
        """R3: that code, for x of the normal numbers of f."""
        digits, e = x, constant(0, self.width)
        for step in (256, 128, 64, 32, 16, 8, 4, 2, 1):
            high = (digits >> step) != 0
            digits = ite(high, digits >> step, digits)
            e = ite(high, constant(step, self.width), constant(0, self.width)) + e
        biased = e + (self.unit + f.bias)
        below = ite(e >= f.man_bits, e - f.man_bits, e * 0)
        fraction = (x >> below) & ((1 << f.man_bits) - 1)
        return ((biased << f.man_bits) | fraction).as_uint(64)

    def is_nearest_even(self, f, x, magnitude):
        """R1: x lies between the midpoints to both neighbours; on one of them
        if this code is even."""
        even = (magnitude & 1) == 0
        here, twice = self.value(f, magnitude), x << 1
        low = here + self.value(f, magnitude - 1)
        high = here + self.value(f, magnitude + 1)
        return both(either(magnitude == 0, twice > low, even & (twice == low)),
                    either(twice < high, even & (twice == high)))

    def is_beyond(self, f, x):
        """R8 for nearest_even: x rounds beyond the largest finite code."""
        top = [self.value(f, x.as_uint(64) * 0 + f.max_code + i) for i in (0, 1)]
        middle, twice = top[0] + top[1], x << 1
        return twice > middle if f.max_code % 2 == 0 else twice >= middle
