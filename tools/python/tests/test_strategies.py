"""Hypothesis finds where two roundings part, and shrinks it."""

import numpy as np
import pytest
import zeroulp

hypothesis = pytest.importorskip("hypothesis")
from zeroulp import strategies  # noqa: E402

quick = hypothesis.settings(max_examples=200, deadline=None, database=None,
                            derandomize=True)


def detour(x):
    """vLLM's codes, but for quotients that pass through FP16."""
    q = zeroulp.quantize(x, convention="vllm")
    quotient = (x / np.asarray(q.scales)).astype(np.float16)
    return zeroulp.encode(quotient)


def test_a_detour_by_fp16_is_found_and_shrunk():
    def holds(x):
        want = zeroulp.quantize(x, convention="vllm").codes
        zeroulp.testing.assert_same_bits(detour(x), want, "e4m3")
    run = hypothesis.settings(quick, max_examples=2000)(
        hypothesis.given(strategies.tiles())(holds))
    with pytest.raises(AssertionError, match="1 of 128 elements differ"):
        run()


@quick
@hypothesis.given(strategies.near("e5m2"))
def test_numbers_are_near_codes(x):
    code = zeroulp.encode(np.array([[x]], np.float32), "e5m2")
    back = zeroulp.decode(code, "e5m2")[0, 0]
    assert abs(back - x) <= abs(x) / 8 + 2.0**-17


@quick
@hypothesis.given(strategies.gemm_operands())
def test_operands_fit_their_recipe(operands):
    a, b = operands
    assert zeroulp.gemm(a, b).shape == (a.shape[0], b.shape[0])


def test_wide_formats_are_refused():
    with pytest.raises(zeroulp.Error, match="format bf16: its codes have 16"):
        strategies.near("bf16")
