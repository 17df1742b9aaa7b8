"""Comparing: where two arrays part, how far, and whose bits these are."""

import ctypes

import numpy as np

from . import _abi, _html
from ._arrays import bits_of, ref
from ._library import Error, call
from ._operations import decode
from ._values import format as format_of


class Comparison:
    """What zeroulp.compare found: true if all bits are the same.

    count, different, first (row, column) and its codes a and b; max_ulps over
    pairs without a NaN; zero_signs, nan_payloads, nan_mismatches; ulps, a dict
    of "0", "1", "2", "3-4", ... to counts; rows and columns that differ; where,
    a matrix of booleans."""

    def __init__(self, a, b, found):
        self.format = a.format
        self.count, self.different = found.count, found.different
        self.first = None if found.first_row < 0 else \
            (found.first_row, found.first_col)
        self.codes = (found.first_a, found.first_b)
        self.first_ulps, self.max_ulps = found.first_ulps, found.max_ulps
        self.zero_signs = found.zero_signs
        self.nan_payloads = found.nan_payloads
        self.nan_mismatches = found.nan_mismatches
        self.ulps = _buckets(found.buckets)
        self.shape = a.words.shape
        self.where = a.words != b.words
        self.rows = np.flatnonzero(self.where.any(axis=1))
        self.columns = np.flatnonzero(self.where.any(axis=0))

    def __bool__(self):
        return self.different == 0

    def _number(self, code):
        if self.format is None:
            return str(code)
        fmt = format_of(self.format)
        word = np.array([[code]], f"u{fmt.bytes}")
        value = decode(word, fmt.name, to="fp64")[0, 0]
        return f"{value:.9g} ({code:0{-(-fmt.bits // 4)}x})"

    def __str__(self):
        if self:
            return f"{self.count} elements, the same bits"
        a, b = (self._number(code) for code in self.codes)
        far = "one of them NaN" if self.first_ulps == _NO_DISTANCE else \
            f"{self.first_ulps} ulps"
        m, n = self.shape
        lines = [f"{self.different} of {self.count} elements differ, at most "
                 f"{self.max_ulps} ulps; first at {self.first}: {a}, expected "
                 f"{b}, {far}",
                 f"  where     {len(self.rows)} of {m} rows, "
                 f"{len(self.columns)} of {n} columns{self._pattern()}",
                 "  ulps      " + ", ".join(f"{k}: {v}" for k, v in
                                            self.ulps.items() if v)]
        if self.nan_mismatches or self.nan_payloads or self.zero_signs:
            lines.append(f"  besides   {self.nan_mismatches} NaN against a "
                         f"number, {self.nan_payloads} NaNs of other bits, "
                         f"{self.zero_signs} signs of zero")
        return "\n".join(lines)

    def _pattern(self):
        """Rows or columns that all lie in one tile of 128, or in a tail."""
        m, n = self.shape
        for name, at, length in (("rows", self.rows, m),
                                 ("columns", self.columns, n)):
            if length <= 128 or len(at) == length:
                continue
            tiles = np.unique(at // 128)
            if len(tiles) == 1:
                first = int(tiles[0]) * 128
                tail = first + 128 > length
                return (f", all in {name} {first} to "
                        f"{min(first + 127, length - 1)}" +
                        (f", the tail of {length} mod 128" if tail else ""))
        return ""

    __repr__ = __str__

    def _repr_html_(self):
        return _html.comparison(self)


_NO_DISTANCE = 2**64 - 1


def _buckets(counts):
    """{"0": ..., "1": ..., "2": ..., "3-4": ...}"""
    named = {}
    for i, count in enumerate(counts):
        low = i if i < 3 else 2 ** (i - 2) + 1
        high = i if i < 3 else 2 ** (i - 1)
        named[str(low) if low == high else f"{low}-{high}"] = count
    return named


def _pair(a, b, format):
    x, y = bits_of(a, "a", format), bits_of(b, "b", format)
    if x.words.dtype != y.words.dtype or (x.format and y.format and
                                          x.format != y.format):
        raise Error(f"a has elements {x.format or x.words.dtype}, b "
                    f"{y.format or y.words.dtype}: compare equal ones")
    if x.shape != y.shape:
        raise Error(f"a is {x.shape}, b is {y.shape}: compare equal shapes")
    return x, y


def compare(a, b, format=None):
    """Compares two arrays bit by bit. `format` says what unsigned integers are
    codes of; without it they are compared as integers. Returns Comparison.
    SPEC M5."""
    x, y = _pair(a, b, format)
    found = _abi.zeroulp_comparison()
    name = x.format or y.format
    f = None if name is None else format_of(name)
    x.format = None if f is None else f.name
    call("zeroulp_compare", None if f is None else ref(f.struct), ref(x.const()),
         ref(y.const()), ctypes.byref(found))
    return Comparison(x, y, found)


class Errors:
    """frobenius, max_over_max, max_over_mean, max_over_rms, bias, sqnr_db,
    one_minus_cosine, quantiles of relative errors (0.5, 0.9, 0.99, 0.999, 1):
    fractions, not percent. SPEC M1 to M4."""

    def __init__(self, found):
        for name, _ in found._fields_:
            value = getattr(found, name)
            setattr(self, name, list(value) if name == "quantiles" else value)

    def __repr__(self):
        return (f"Errors(frobenius={self.frobenius:.4g}, max_over_mean="
                f"{self.max_over_mean:.4g}, bias={self.bias:.4g}, sqnr_db="
                f"{self.sqnr_db:.4g})")


def measure_errors(computed, exact):
    """How far `computed` is from `exact`, both numbers of one shape."""
    def doubles(x, what):
        bits = bits_of(x, what)
        if bits.format != "fp64":
            bits = bits_of(decode(x, to="fp64"), what)
        return bits
    x, y = doubles(computed, "computed"), doubles(exact, "exact")
    if x.shape != y.shape:
        raise Error(f"computed is {x.shape}, exact is {y.shape}")
    found = _abi.zeroulp_errors()
    call("zeroulp_measure_errors", ref(x.const()), ref(y.const()), None,
         ctypes.byref(found))
    return Errors(found)
