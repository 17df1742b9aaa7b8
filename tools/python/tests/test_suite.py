"""Explanations, cases and shrinking."""

import numpy as np
import pytest
import zeroulp
from zeroulp import testing


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).standard_normal((64, 512)).astype(np.float32)


def test_right_bits_are_taken(x):
    found = zeroulp.explain(zeroulp.quantize(x, convention="vllm"), "vllm", x)
    assert found and not found.likely
    assert repr(found) == "Explanation(the same bits)"


def test_another_convention_is_named(x):
    found = zeroulp.explain(zeroulp.quantize(x, convention="deepep"), "vllm", x)
    assert not found
    first = found.likely[0]
    assert first.kind == "definition" and first.exact
    assert "convention:deepep" in [first.name, *first.same_bits]
    assert found.outputs["scales"]["different"] > 0
    assert "likely" in str(found) and "likely one of" in repr(found)


def test_ties_are_one_answer_and_a_case_tells_them_apart(x):
    found = zeroulp.explain(zeroulp.quantize(x, convention="deepep"), "vllm", x)
    first = found.likely[0]
    names = [first.name, *first.same_bits]
    assert [one["name"] for one in first.one_of] == names and len(names) > 1
    assert f"one of {len(names)} with the same bits" in str(found)
    assert repr(first).startswith(f"Cause(one of {len(names)}: ")
    case = found.apart
    assert case.settings["convention"] == "vllm"
    assert f"{found.report['apart']['results']} different results" in str(found)


def test_arrays_and_codes_alone_are_taken(x):
    q = zeroulp.quantize(x, convention="vllm")
    assert zeroulp.explain((q.codes, q.scales), "vllm", x)
    assert zeroulp.explain(q.codes, "vllm", x, format="e4m3")
    found = zeroulp.explain(np.asarray(q.codes).view("u1") ^ 1, "vllm", x)
    assert not found and "ulp from the tie" in found.element


def test_a_kernel_that_is_one_tile_off_is_told(x):
    q = zeroulp.quantize(x, convention="vllm")
    codes = np.asarray(q.codes).view("u1").copy()
    codes[:, 128:256] = codes[:, :128]
    found = zeroulp.explain((codes, q.scales), "vllm", x)
    assert found.outputs["codes"]["patterns"] == ["only columns 128 to 255"]
    assert found.likely[0].name == "place:codes.columns"
    assert "those 128 before" in found.likely[0].what


def test_a_recipe_is_named():
    a, b = testing.gemm_operands("deepgemm.1d2d")
    d = zeroulp.gemm(a, b, "deepgemm.1d2d", output="fp32")
    assert zeroulp.explain(d, "deepgemm.1d2d", a=a, b=b)
    found = zeroulp.explain(d, "cutlass.blockwise", a=a, b=b)
    first = found.likely[0]
    assert "recipe:deepgemm.1d2d" in [first.name, *first.same_bits]


def test_what_cannot_be_explained_is_refused(x):
    q = zeroulp.quantize(x)
    with pytest.raises(zeroulp.Error, match="x: is needed beside a convention"):
        zeroulp.explain(q, "vllm")
    with pytest.raises(zeroulp.Error, match="a, b: are needed"):
        zeroulp.explain(q, "deepgemm.1d2d")
    with pytest.raises(zeroulp.Error, match="a: a Quantized is needed"):
        zeroulp.explain(x, "deepgemm.1d2d", a=x, b=q)
    with pytest.raises(zeroulp.Error, match="codes: 32 x 512 were given"):
        zeroulp.explain(np.asarray(q.codes)[:32], "vllm", x, format="e4m3")
    with pytest.raises(zeroulp.Error, match="made: 3 arrays"):
        zeroulp.explain((q.codes, q.scales, 1), "vllm", x)
    with pytest.raises(zeroulp.Error, match="ignored: there is no 'all'"):
        zeroulp.explain(q, "vllm", x, ignore=["all"])
    with pytest.raises(zeroulp.Error, match="unknown convention"):
        zeroulp.explain(q, "vlm", x)


def test_cases_are_the_same_each_time():
    made = [c.token for c in testing.cases("quantize", 5, to="e4m3")]
    assert made == [c.token for c in testing.cases("quantize", 5, to="e4m3")]
    again = testing.replay(made[0])
    assert again.settings["to"] == "e4m3" and "x" in again.operands
    assert again.operands["x"].shape == again.outputs["codes"].shape
    assert "quantize: x " in repr(again)
    with pytest.raises(zeroulp.Error, match="unknown target 'quantise'"):
        testing.case("quantise")


def test_cases_hold_what_the_library_gives():
    for c in testing.cases("quantize", 20, from_="fp32", to="e4m3", group="1x128",
                           scale="fp32", place="dense"):
        q = zeroulp.quantize(c.operands["x"], convention=c.settings["convention"],
                             scale="fp32")
        assert np.array_equal(np.asarray(q.codes).view("u1"),
                              np.asarray(c.outputs["codes"]).view("u1"))


def test_a_failing_case_becomes_small():
    def fails(c):
        return bool((np.nan_to_num(c.operands["x"]) > 1).any())
    big = next(c for c in testing.cases("quantize", from_="fp32") if fails(c))
    small = testing.shrink(big, fails)
    assert fails(small) and small.operands["x"].size == 1
    with pytest.raises(zeroulp.Error, match="does not fail"):
        testing.shrink(big, lambda c: False)
    with pytest.raises(ZeroDivisionError):
        testing.shrink(big, lambda c: 1 / 0)
