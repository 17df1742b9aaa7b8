"""Lemmas: the sum of a step is exact (T4): signs by XOR, and no overflow.

The emulator adds q + bias, or its complement, for each term, bias being the low
word of M; at the end it takes away what bias and complements added. Each lemma
here is a step of an induction over the terms, or its end.
"""

import emulator
import step
from bits import both, constant, implies, ite, variable
from lemma import Lemma

WORD = 32


def words(*names):
    return [variable(name, WORD) for name in names]


def one_term(limit):
    """sum = T + B - m before a term, so after it: T the signed sum of the cuts,
    B what the biases add to, m the number of minus signs. |T| stays below
    `limit` per term, so that 32 bits hold it."""
    total, biases, minus, bias, q, count = words("T", "B", "m", "bias", "q", "n")
    negative = variable("negative", 0)
    total = total.as_int(WORD)
    sign = ite(negative, ~constant(0, WORD), constant(0, WORD))
    before = total.as_uint(WORD) + biases - minus
    after = before + (bias + q ^ sign)
    new_total = ite(negative, total - q.as_int(WORD), total + q.as_int(WORD))
    new_biases = ite(negative, biases - bias, biases + bias)
    new_minus = ite(negative, minus + 1, minus)
    bound = count.as_int(WORD) * limit
    return implies(
        both(q <= limit, count <= 32, total <= bound, total >= -bound),
        both(after == new_total.as_uint(WORD) + new_biases - new_minus,
             new_total <= bound + limit, new_total >= -bound - limit))


def end(row):
    """Of L + 1 terms, m took the bias away, so B = bias * (L + 1 - 2 m). Then the
    emulator's last line leaves T: for each m that there can be."""
    total, bias = words("T", "bias")
    left = []
    for m in range(row.length + 2):
        whole = total + bias * (row.length + 1 - m) - bias * m - m
        minus = constant(m, WORD)
        left.append(whole - emulator.surplus(row, bias, minus) == total)
    return both(*left)


def largest_cut(row, a, b):
    """The largest cut of a product of these formats: both significands are
    full, and the place is the largest."""
    full = ((2 << a.man_bits) - 1) * ((2 << b.man_bits) - 1)
    by = row.fraction_bits - a.man_bits - b.man_bits
    return full << by if by >= 0 else full >> -by


def largest_sum(row, terms):
    """At most this many quanta: `terms` products and c."""
    c = (2 << row.stored.man_bits) - 1
    by = row.fraction_bits - row.stored.man_bits
    c = c << by if by >= 0 else c >> -by
    return terms * max(largest_cut(row, *pair) for pair in row.operands) + c


def fits(number, limit):
    """A condition of constants: the solver has nothing to do."""
    return constant(number, 128) < constant(limit, 128)


def bounds(row):
    """(where, products of a sum, limit): 2^31 quanta, and one a complement; the
    core's 2^63; the engine's 2^p, where a sum leaves the numbers of M."""
    narrow = row.fraction_bits <= 15
    group = 8 if row.length << row.fraction_bits >= 1 << 29 else row.length
    return [("emulator: 32 bits", group, (1 << 31) - row.length - 1),
            ("core: 64 bits", row.length, 1 << 63),
            (f"engine: {'float' if narrow else 'double'}", row.length,
             1 << (23 if narrow else 52)),
            ("convert: exact in " + ("float" if narrow else "double"), row.length,
             1 << (24 if narrow else 53))]


def bound_lemma(row, where, products, limit):
    return Lemma(f"sum of {row.name}, {products} products and c, {where}", "T4 T12",
                 lambda: fits(largest_sum(row, products), limit))


LEMMAS = [bound_lemma(row, *bound) for row in step.ROWS for bound in bounds(row)]
SURPLUS = [Lemma(f"what is taken away at the end, L = {row.length}", "T4",
                 lambda row=row: end(row)) for row in step.ROWS[:1] + step.ROWS[2:5:2]]
LEMMAS += [Lemma("a term joins the sum by XOR, F <= 13", "T4",
                 lambda: one_term(1 << 15))] + SURPLUS
TIES, FAULTS = [], []
WIDER = step.Row("FP8, F = 17", step.FP8, 32, 17, step.NO_FLOOR, step.FP32,
                 "toward_zero")
FALSE = [bound_lemma(step.ROWS[2], "emulator: 32 bits", 16, (1 << 31) - 17),
         bound_lemma(WIDER, "engine: float", 32, 1 << 23),
         Lemma("a term joins the sum by XOR, F = 25, 33 of them", "T4",
               lambda: one_term(1 << 27))]
