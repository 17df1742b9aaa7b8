"""Strategies of Hypothesis: numbers where rounding is decided, tiles of them,
operands of a GEMM. Shrinking leads to few elements that are not zero."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from . import _operations, _values


def _codes(format):
    """The numbers of a format of at most 8 bits that are not negative."""
    f = _values.format(format)
    if f.bits > 8:
        raise _values.Error(f"format {f.name}: its codes have {f.bits} bits: up "
                            "to 8 are taken here")
    return _operations.magnitudes(f)


def near(format="e4m3"):
    """FP32 numbers that are codes of `format`, midpoints between two, or a few
    steps beside them; of both signs."""
    numbers = _codes(format)
    halves = (numbers[:-1].astype(np.float64) + numbers[1:]) / 2
    places = np.unique(np.concatenate([numbers, halves]).astype(np.float32))

    def number(drawn):
        place, steps, negative = drawn
        word = places[place:place + 1].view(np.int32)[0] + steps
        x = np.array(max(int(word), 0), np.int32).view(np.float32)[()]
        return np.float32(-x if negative else x)
    return st.tuples(st.integers(0, len(places) - 1), st.integers(-3, 3),
                     st.booleans()).map(number)


@st.composite
def tiles(draw, shape=(1, 128), format="e4m3"):
    """A float32 matrix that is one group: its first element is the format's
    largest number times a scale, the others are `near` codes under that
    scale."""
    scale = np.float32(draw(st.floats(2.0**-12, 2.0**12, width=32)))
    x = draw(hnp.arrays(np.float32, shape, elements=near(format),
                        fill=st.just(np.float32(0)))) * scale
    x.flat[0] = _codes(format)[-1] * scale
    return x


@st.composite
def gemm_operands(draw, recipe="deepgemm.1d2d", m=(1, 8), n=(1, 8), k=(1, 512),
                  format="e4m3"):
    """Two operands of a recipe, each a Quantized: any finite codes, and scales
    near 1. `m`, `n` and `k` are ranges."""
    how = _values.recipe(recipe)
    depth = draw(st.integers(*k))
    f = _values.format(format)
    finite = np.nonzero(np.isfinite(_operations.decode(
        np.arange(1 << f.bits, dtype=np.uint8).reshape(1, -1), f.name)[0]))[0]
    codes = st.sampled_from([int(c) for c in finite])
    made = []
    for rows, group in ((draw(st.integers(*m)), how.a),
                        (draw(st.integers(*n)), how.b)):
        name = _values.group_name(group)
        words = draw(hnp.arrays(np.uint8, (rows, depth), elements=codes,
                                fill=st.just(0)))
        scales = draw(hnp.arrays(
            np.float32, _operations.group_counts((rows, depth), name),
            elements=st.floats(0.25, 4, width=32), fill=st.just(np.float32(1))))
        made.append(_operations.Quantized(words, scales, f, name))
    return tuple(made)
