"""The search, and the bundled program."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import zeroulp
from zeroulp import _program

try:
    PROGRAM = _program.program()
except zeroulp.Error:
    PROGRAM = None
needs_program = pytest.mark.skipif(not PROGRAM, reason="no program zeroulp here")

RNG = np.random.default_rng(2)
X = RNG.standard_normal((64, 512)).astype(np.float32)


def test_a_convention_is_found():
    for name in ("deepseek_v3", "torchao", "vllm"):
        q = zeroulp.quantize(X, convention=name)
        found = zeroulp.identify.quantizer(X, q)
        assert found.exact and name in found.names
        assert name in repr(found)
        anyhow = zeroulp.identify.quantizer(X, q.codes.view("u1"), q.scales)
        assert anyhow.exact and "e4m3" in anyhow.fields["format"]


def test_a_recipe_is_found():
    a = zeroulp.quantize(X)
    b = zeroulp.quantize(RNG.standard_normal((96, 512)).astype("f4"),
                         group="128x128")
    d = zeroulp.gemm(a, b, "cutlass.blockwise", output="fp32")
    found = zeroulp.identify.gemm(a, b, d)
    assert found.exact and any("cutlass.blockwise" in n for n in found.names)
    half = zeroulp.gemm(a, b, "deepgemm.1d2d")
    assert zeroulp.identify.gemm(a, b, half, output="bf16").exact


def test_noise_is_nobodys():
    x = X[:8, :256]
    codes = RNG.integers(0, 127, x.shape).astype(np.uint8)
    found = zeroulp.identify.quantizer(x, codes, np.ones((8, 2), np.float32),
                                       format="e4m3", group="1x128")
    assert not found and repr(found).startswith("Identified(n")


def test_bad_input_is_named():
    q = zeroulp.quantize(X)
    with pytest.raises(zeroulp.Error, match="x: elements are fp64"):
        zeroulp.identify.quantizer(X.astype("f8"), q)
    with pytest.raises(zeroulp.Error, match="scales: are needed"):
        zeroulp.identify.quantizer(X, q.codes)
    with pytest.raises(zeroulp.Error, match="d: elements are"):
        zeroulp.identify.gemm(q, q, np.zeros((64, 64), np.uint16))


def test_what_does_not_fit_is_refused():
    with pytest.raises(zeroulp.Error, match="codes"):
        zeroulp.identify.quantizer(X, np.zeros((3, 3), np.uint8),
                                   np.ones((1, 1), np.float32))
    with pytest.raises(zeroulp.Error, match="scales: elements are uint16"):
        zeroulp.identify.quantizer(X, zeroulp.quantize(X).codes.view("u1"),
                                   np.ones((64, 4), np.uint16))
    a = zeroulp.quantize(X)
    with pytest.raises(zeroulp.Error):
        zeroulp.identify.gemm(a, a, np.ones((3, 3), np.float32))


def test_scales_may_be_exponents_transposed_and_packed():
    q = zeroulp.quantize(X, scale="pow2", convention="deepseek_v3")
    exponents = (q.scales.view("u4") >> 23).astype(np.uint8)
    packed = exponents.view("<u4")
    for scales in (exponents, exponents.T, packed, packed.T):
        found = zeroulp.identify.quantizer(X, q.codes.view("u1"), scales)
        assert found.exact and "deepseek_v3" in found.names


def test_a_product_with_an_addend_is_found():
    a = zeroulp.quantize(X)
    b = zeroulp.quantize(RNG.standard_normal((32, 512)).astype("f4"))
    c = RNG.standard_normal((64, 32)).astype("f4")
    d = zeroulp.gemm(a, b, "deepgemm.1d1d", c=c)
    found = zeroulp.identify.gemm(a, b, d, c)
    assert found.exact and "deepgemm.1d1d" in found.names[0]


@needs_program
def test_the_program_is_called_by_its_name():
    ran = subprocess.run([sys.executable, "-m", "zeroulp", "encode", "e4m3", "448"],
                         capture_output=True, text=True, env=dict(
                             os.environ, PYTHONPATH=os.pathsep.join(
                                 [str(pathlib.Path(zeroulp.__file__).parents[1]),
                                  os.environ.get("PYTHONPATH", "")])))
    assert ran.stdout == "7e\n"


@pytest.mark.parametrize("recipe, format", [("nvfp4", "e2m1"), ("mxfp8", "e4m3"),
                                            ("mxfp4", "e2m1")])
def test_a_product_with_block_scales_is_found(recipe, format):
    convention = "nvfp4" if recipe == "nvfp4" else "mx.floor"
    a, b = (zeroulp.quantize_blocks(RNG.standard_normal(s).astype("f4"), convention,
                                    format) for s in ((20, 256), (12, 256)))
    d = zeroulp.gemm(a, b, recipe)
    found = zeroulp.identify.gemm(a, b, d)
    assert found.exact and any(recipe in name for name in found.names)
    d = np.asarray(d).copy()
    d.view("u4")[3, 5] ^= 1
    assert not zeroulp.identify.gemm(a, b, d)
    if recipe == "nvfp4":
        a.second = np.ones((3, 1), np.float32)
        with pytest.raises(zeroulp.Error, match="3 x 1 scales of the second level"):
            zeroulp.identify.gemm(a, b, d)
