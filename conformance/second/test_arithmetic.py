"""fma32, the FP8 and BF16 steps and the quantizers against exact fractions."""
from fractions import Fraction

import numpy as np

from arithmetic import (_step, BF16, E4M3, E5M2, F32, F64, HOPPER_BF16, HOPPER_FP8, chain, fma32, places, round_to)


def nearest32(x):
    """R1 of a Fraction to FP32."""
    if x == 0:
        return F32(0)
    near = F32(float(x))
    around = {near, np.nextafter(near, F32(np.inf)), np.nextafter(near, F32(-np.inf))}
    return min(around, key=lambda c: (abs(Fraction(float(c)) - x), c.view(np.uint32) & 1))


def test_fma(rng, count=60000):
    def sample(n, spread):
        m = rng.integers(1 << 23, 1 << 24, n) * rng.choice([-1, 1], n)
        few = rng.random(n) < 0.5
        m = np.where(few, m & ~((1 << rng.integers(0, 23)) - 1), m)
        return np.ldexp(m.astype(F64), rng.integers(-spread, spread, n) - 23).astype(F32)
    bad = 0
    for spread, shift in ((3, 0), (30, 0), (50, -60), (60, -40)):
        a, b = sample(count // 4, spread), sample(count // 4, spread)
        c = np.where(rng.random(count // 4) < 0.3, (a * b) * F32(-1), sample(count // 4, spread) * F32(2.0) ** rng.integers(-30, 30, count // 4))
        a = (a * F32(2.0 ** shift))
        c = (c * F32(2.0 ** shift)).astype(F32)
        # ties: c a half ulp of the product away
        out = fma32(a, b, c)
        for i in range(len(a)):
            exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
            bad += out[i] != nearest32(exact)
    # c large, the product just around half an ulp of it
    n = 20000
    c = sample(n, 3)
    half = np.spacing(np.abs(c)) / F32(2)
    a = F32(1) + rng.integers(-2, 3, n).astype(F32) * F32(2.0 ** -23)
    b = half * (F32(1) + rng.integers(-2, 3, n).astype(F32) * F32(2.0 ** -23)) * rng.choice([-1, 1], n).astype(F32)
    out = fma32(a, b, c)
    for i in range(n):
        bad += out[i] != nearest32(Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i])))
    print("fma32:", bad, "differences of", count + n)
    assert bad == 0


def cut(x, place, toward=None):
    unit = Fraction(2) ** place
    n = abs(x) / unit
    return (n.numerator // n.denominator) * unit * (1 if x > 0 else -1)


def exponent(x, least):
    return max(int(np.frexp(float(x))[1]) - 1, least)


def exact_step(acc, a, b, la, lb, c, floor):
    terms = [(Fraction(float(x)) * Fraction(float(y)), exponent(x, la) + exponent(y, lb)) for x, y in zip(a, b) if x != 0 and y != 0]
    if c != 0:
        terms.append((Fraction(float(c)), exponent(c, -126)))
    if not terms:
        return 0.0
    P = max(p for _, p in terms)
    if floor is not None:
        P = max(P, floor)
    s = sum(cut(t, P - acc.F) for t, _ in terms)
    if s == 0:
        return 0.0
    e = max(int(np.floor(np.log2(float(abs(s))))), -126)
    while abs(s) >= Fraction(2) ** (e + 1):
        e += 1
    while e > -126 and abs(s) < Fraction(2) ** e:
        e -= 1
    return float(cut(s, e - acc.bits + 1))


def test_steps(rng):
    def sample(fmt, shape, lo, hi):
        x = np.ldexp(rng.random(shape) * 2 - 1, rng.integers(lo, hi, shape))
        return round_to(np.where(rng.random(shape) < 0.1, 0, x), fmt)
    for acc, fa, fb, lo, hi, floor in ((HOPPER_FP8, E4M3, E4M3, -9, 9, None), (HOPPER_FP8, E5M2, E4M3, -16, 15, None),
                                       (HOPPER_FP8, E4M3, E4M3, -9, -5, None),
                                       (HOPPER_BF16, BF16, BF16, -10, 10, -133), (HOPPER_BF16, BF16, BF16, -80, -50, -133),
                                       (HOPPER_BF16, BF16, BF16, -3, 3, -133)):
        a, b = sample(fa, (30, 3 * acc.L - 5), lo, hi), sample(fb, (30, 3 * acc.L - 5), lo, hi)
        out = chain(acc, a, b, fa.least_exponent, fb.least_exponent)
        bad = 0
        for i in range(30):
            for j in range(30):
                c = F32(0)
                for k in range(0, a.shape[1], acc.L):
                    c = F32(exact_step(acc, a[i, k:k + acc.L], b[j, k:k + acc.L], fa.least_exponent, fb.least_exponent, c, floor))
                bad += out[i, j].tobytes() != c.tobytes()
        print("steps", acc.L, fa.name, fb.name, ":", bad, "differences of 900")
        assert bad == 0


def test_spec_example():
    a = np.zeros((1, 32), F32)
    b = a.copy()
    a[0, :2], b[0, :2] = (1.5, 1.125 * 2 ** -6), (1.5, -1.875 * 2 ** -6)
    p = [places(x.T, -6) for x in (a, b)]
    d = _step(HOPPER_FP8, a.T, b.T, *p, np.full((1, 1), 1.75 * 2 ** -13, F32))
    assert d.view(np.uint32)[0, 0] == 0x400FF800


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    test_spec_example()
    test_fma(rng)
    test_steps(rng)
