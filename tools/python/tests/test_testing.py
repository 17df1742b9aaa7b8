"""The assertions find what is wrong, name it, and take what is right."""

import numpy as np
import pytest
import zeroulp
from zeroulp.testing import (assert_multiplies_as, assert_quantizes_as,
                             assert_same_bits)


def by(convention, **rest):
    return lambda x: zeroulp.quantize(x, convention=convention, **rest)


def scaled(x, factor, to=np.float32):
    """vLLM's scales and elements that pass through another format, codes by
    zeroulp."""
    q = zeroulp.quantize(x, convention="vllm")
    s = np.repeat(np.asarray(q.scales), 128, 1)[:, :x.shape[1]]
    with np.errstate(all="ignore"):
        quotient = factor(x, s).astype(to).astype(np.float32)
    return zeroulp.encode(np.nan_to_num(quotient, nan=-448, posinf=448,
                                        neginf=-448)), q.scales


@pytest.mark.parametrize("name", [c.name for c in zeroulp.conventions()])
def test_right_kernels_are_taken(name):
    assert_quantizes_as(by(name), name, shape=(16, 256))


def test_another_convention_is_named():
    with pytest.raises(AssertionError) as e:
        assert_quantizes_as(by("deepep"), "vllm")
    text = str(e.value)
    assert text.startswith("not vllm: on ")
    assert "differ, at most" in text and "convention:deepep" in text


def test_a_detour_by_fp16_is_found():
    kernel = lambda x: scaled(x, np.divide, np.float16)  # noqa: E731
    with pytest.raises(AssertionError, match="quotient.*fp16|fp16|FP16"):
        assert_quantizes_as(kernel, "vllm", specials=False)


def test_a_reciprocal_is_found():
    kernel = lambda x: scaled(x, lambda v, s: v * (1 / s))  # noqa: E731
    with pytest.raises(AssertionError, match="ulp from the tie"):
        assert_quantizes_as(kernel, "vllm", specials=False)


def test_an_ordinary_quotient_is_right():
    assert_quantizes_as(lambda x: scaled(x, np.divide), "vllm", specials=False)


@pytest.mark.parametrize("source", ["fp32", "fp16", "bf16"])
def test_inputs_are_numbers_of_their_format(source):
    for name, x in zeroulp.testing.quantizer_inputs(source=source):
        again = zeroulp.recode(x, source, format=source)
        assert np.array_equal(again.view("u1"), x.view("u1")) or \
            name == "special numbers"
    assert_quantizes_as(by("vllm", source=source), "vllm", source=source)


def test_scales_of_another_shape_are_named():
    def kernel(x):
        q = zeroulp.quantize(x)
        return q.codes, np.asarray(q.scales).T
    with pytest.raises(AssertionError, match="scales: 4 x 64 were given, quantize makes 64 x 4"):
        assert_quantizes_as(kernel, "zeroulp")
    with pytest.raises(zeroulp.Error, match="codes and scales are expected"):
        assert_quantizes_as(lambda x: x, "zeroulp")


@pytest.mark.parametrize("name", [r.name for r in zeroulp.recipes()])
def test_right_products_are_taken(name):
    shapes = ((1, 128, 256),) if name.endswith(".m1") else ((20, 40, 384),)
    assert_multiplies_as(lambda a, b: zeroulp.gemm(a, b, name), name,
                         shapes=shapes)


def test_another_recipe_is_named():
    with pytest.raises(AssertionError, match="recipe:cutlass.blockwise"):
        assert_multiplies_as(
            lambda a, b: zeroulp.gemm(a, b, "cutlass.blockwise", output="fp32"),
            "deepgemm.1d2d", output="fp32")
    with pytest.raises(AssertionError, match="D: 64 x 96 of 32 bits"):
        assert_multiplies_as(lambda a, b: zeroulp.gemm(a, b, output="fp32"))


# fl(p * sa) * sb and p * fl(sa * sb) differ in the last bits of FP32, of which BF16
# keeps none: but where blocks cancel.
@pytest.mark.parametrize("made, claimed", [
    ("cutlass.blockwise", "deepgemm.1d2d"),
    ("deepgemm.1d2d", "deepseek_v3.inference"),
    ("cublaslt.1x128_1x128", "cublaslt.1x128_1x128.k128")])
def test_recipes_are_told_apart_by_bf16(made, claimed):
    with pytest.raises(AssertionError, match="with blocks that cancel"):
        assert_multiplies_as(
            lambda a, b: zeroulp.gemm(a, b, made, output="bf16"), claimed,
            output="bf16", shapes=((8, 32, 512),))


def test_the_same_bits():
    a = np.array([[1.0, 0.0, np.nan]], np.float32)
    assert_same_bits(a, a.copy())
    b = a.copy()
    b[0, 1] = -0.0
    with pytest.raises(AssertionError, match="1 of 3 elements differ"):
        assert_same_bits(a, b)
    assert_same_bits(a, b, ignore=["zero_signs"])
    assert_same_bits(a, b, max_different=1)
    with pytest.raises(zeroulp.Error, match="ignore: 'nan': use zero_signs or"):
        assert_same_bits(a, b, ignore=["nan"])
    words = a.view(np.uint32).copy()
    words[0, 2] ^= 1
    assert_same_bits(a, words.view(np.float32), ignore=["nan_payloads"])


def test_a_comparison_says_where():
    a = np.zeros((300, 8), np.uint8)
    b = a.copy()
    b[260:, 3] = 1
    text = str(zeroulp.compare(a, b, "e4m3"))
    assert "first at (260, 3): 0 (00), expected 0.001953125 (01), 1 ulps" in text
    assert "40 of 300 rows, 1 of 8 columns" in text
    assert "rows 256 to 299, the tail of 300 mod 128" in text
