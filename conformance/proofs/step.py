"""accumulate.hpp of the core, operation by operation: the tensor-core step of
finite terms. A row of SPEC T12 or a what-if of T13 (d) is a value."""

from dataclasses import dataclass

import core
from bits import constant, ite
from core import E4M3, E5M2, FP16, FP32, Format, int32, uint64

NO_FLOOR = -32768
CUDA_NOSAT = core.POLICIES[3]


@dataclass(frozen=True)
class Row:
    """path.hpp: an accumulator, the operands that it takes, and the largest
    place that a term of it may have."""
    name: str
    operands: tuple
    length: int
    fraction_bits: int
    floor: int
    output: Format
    conversion: str
    stored: Format = FP32

    @property
    def level(self):
        """What-ifs between F = 8 and 13 are proved at level 1."""
        return int(self.fraction_bits in (9, 10, 11, 12))


FP8 = tuple((a, b) for a in (E4M3, E5M2) for b in (E4M3, E5M2))
HALF = ((FP16, FP16), (core.BF16, core.BF16))
ROWS = [
    Row("FP8 to f32", FP8, 32, 13, NO_FLOOR, core.E8M13, "toward_zero"),
    Row("FP8 to f16", FP8, 32, 13, NO_FLOOR, FP16, "nearest_even", FP16),
    Row("half to f32", HALF, 16, 25, -133, FP32, "toward_zero"),
    Row("FP16 to f16", HALF[:1], 16, 25, -21, FP16, "nearest_even", FP16),
    Row("TF32 to f32", ((core.TF32, core.TF32),), 8, 25, -133, FP32,
        "toward_zero"),
] + [Row(f"FP8 to f32, F = {n}", FP8, 32, n, NO_FLOOR,
         Format(f"e8m{n}", 8, n, 127), "toward_zero") for n in range(8, 13)]


def product(a, b):
    """The significand and exponent of product_term."""
    return a.significand * b.significand, a.exponent + b.exponent


def cut(significand, exponent, unit):
    """cut, toward zero: round_shift without a carry."""
    return core.extract(significand, unit - exponent)


def convert_sum(row, magnitude, unit, negative):
    """convert_sum of the number (-1)^negative * magnitude * 2^unit."""
    out, stored = row.output, row.stored
    zero, no = magnitude == 0, constant(False, 0)
    beyond = out.min_exponent + (1 << out.exp_bits) - 2
    infinite = ~zero & (core.msb(magnitude) + unit >= beyond)
    number = core.Number(magnitude, unit, zero, no, no, negative)
    rounded = core.encode(out, number, CUDA_NOSAT, row.conversion)
    value = core.decode(out, rounded)
    code = ite(value.is_zero, uint64(0), core.encode(stored, value, CUDA_NOSAT))
    sign = ite(negative, uint64(stored.sign_mask), uint64(0))
    return ite(infinite, sign | stored.infinity_code, code)


def aligned_step(row, pairs, c):
    """accumulate of finite operands: codes of D. `pairs` are codes of a and b;
    what is missing of L is zeros."""
    terms = []
    for a, b in pairs:
        x, y = (core.decode(f, z) for f, z in zip(row.operands[0], (a, b)))
        significand, exponent = product(x, y)
        point = row.operands[0][0].man_bits + row.operands[0][1].man_bits
        terms.append((significand, exponent, exponent + point,
                      x.negative ^ y.negative, x.is_zero | y.is_zero))
    z = core.decode(row.stored, c)
    terms.append((z.significand, z.exponent, z.exponent + row.stored.man_bits,
                  z.negative, z.is_zero))
    largest = int32(row.floor)
    for _, _, place, _, skipped in terms:
        largest = ite(~skipped & (place > largest), place, largest)
    unit = largest - row.fraction_bits
    total = constant(0, 64, True)
    for significand, exponent, _, negative, skipped in terms:
        magnitude = cut(significand, exponent, unit).as_int(64)
        total = ite(skipped, total,
                    total + ite(negative, -magnitude, magnitude))
    magnitude = ite(total < 0, -total, total).as_uint(64)
    return convert_sum(row, magnitude, unit, total < 0)
