"""Block scales: quantizers, the GEMM from numbers, the layout, and what the
record of packages' quantizers (conformance/records/blocks.json) says of them."""

import json
import pathlib
import sys

import numpy as np
import pytest
import zeroulp

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILE = ROOT / "conformance/records/blocks.json"
CLAIMS = [c for c in json.loads(FILE.read_text())["claims"] if "zeroulp" in c]


def matrix(m, k, seed=0):
    return np.random.default_rng(seed).standard_normal((m, k)).astype(np.float32)


@pytest.mark.parametrize("name", zeroulp.block_conventions())
def test_blocks_come_back(name):
    x = matrix(5, 100)
    q = zeroulp.quantize_blocks(x, name)
    assert q.scales.shape == (5, -(-100 // q.block))
    assert (q.second is None) == (q.scale == "ue8m0")
    back = q.dequantize()
    error = np.linalg.norm(back - x) / np.linalg.norm(x)
    assert error < (0.12 if q.scale == "ue4m3" else 0.06)
    once = zeroulp.decode(q.dequantize("bf16"), "bf16")
    assert np.linalg.norm(once - back) < np.linalg.norm(x) / 256


@pytest.mark.parametrize("second", ["none", "tensor", "row"])
def test_a_gemm_is_the_chain_times_the_second_level(second):
    a, b = (zeroulp.quantize_blocks(matrix(m, 96, m), "nvfp4", second=second)
            for m in (3, 4))
    chain = zeroulp.multiply_block_scaled(
        "blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32", a.codes, a.scales, b.codes,
        b.scales)
    scale = np.float32(1) if second == "none" else a.second * b.second.T
    c = matrix(3, 4, 9)
    assert np.array_equal(zeroulp.gemm(a, b, "nvfp4"), chain * scale)
    assert np.array_equal(zeroulp.gemm(a, b, "nvfp4", c=c), chain * scale + c)
    assert zeroulp.gemm(a, b, "nvfp4", output="bf16").dtype.itemsize == 2


def test_scales_lie_in_tiles_of_128_by_4():
    scales = np.random.default_rng(1).integers(0, 256, (130, 5)).astype(np.uint8)
    out = zeroulp.interleave_scales(scales)
    padded = np.zeros((256, 8), np.uint8)
    padded[:130, :5] = scales
    tiles = padded.reshape(2, 4, 32, 2, 4).transpose(0, 3, 2, 1, 4)
    assert np.array_equal(out, tiles.ravel())
    assert np.array_equal(zeroulp.separate_scales(out, 130, 5), scales)


def test_blocks_of_sixteen_rows_serve_both_directions():
    w = matrix(48, 64)
    q, turned = (zeroulp.quantize_blocks(x, "nvfp4", block_rows=16)
                 for x in (w, np.ascontiguousarray(w.T)))
    assert np.array_equal(q.codes, np.asarray(turned.codes).T)
    assert np.array_equal(q.scales[::16], turned.scales[::16].T)
    assert (q.scales[:16] == q.scales[0]).all()


def test_stochastic_rounding_is_right_on_average():
    x = np.tile(matrix(1, 64), (1, 1))
    exact = x.astype(float)
    nearest = zeroulp.quantize_blocks(x).dequantize() - exact
    drawn = [zeroulp.quantize_blocks(
        x, random=zeroulp.random_words(x.shape, seed)).dequantize() - exact
        for seed in range(400)]
    assert np.linalg.norm(np.mean(drawn, 0)) < np.linalg.norm(nearest) / 4
    words = zeroulp.random_words((2, 8), 3, bits=8)
    assert not (words & 0x00FFFFFF).any()
    assert np.array_equal(words.ravel()[5:], zeroulp.random_words(
        (1, 11), 3, bits=8, first=5)[0])
    assert not np.array_equal(words, zeroulp.random_words(
        (2, 8), 3, bits=8, source="splitmix64"))


@pytest.mark.parametrize("size", [2, 16, 128, 1024])
def test_the_transform_is_that_of_the_matrix(size):
    x = matrix(3, 2048)
    signs = np.where(np.random.default_rng(size).random(size) < 0.5, 1, -1)
    h = np.ones((1, 1))
    while len(h) < size:
        h = np.block([[h, h], [h, -h]])
    want = (x.astype(float) * np.tile(signs, 2048 // size)).reshape(
        -1, size) @ h / np.sqrt(size)
    got = zeroulp.hadamard(x, signs, size=size)
    assert np.abs(got.reshape(want.shape) - want).max() < 3e-6
    again = zeroulp.hadamard(got, size=size).reshape(-1, size) * signs
    assert np.abs(again.reshape(x.shape) - x).max() < 3e-6


def test_a_tensor_core_makes_the_transform_too():
    # Numbers of many binades: 25 bits do not hold their sums.
    wide = np.exp2(np.random.default_rng(2).integers(-20, 1, (4, 64)))
    x = zeroulp.encode(matrix(4, 64) * wide.astype(np.float32), "bf16")
    by_steps, exact, butterfly = (
        zeroulp.hadamard(x, "transformer_engine", path=path, format="fp32",
                         source="bf16")
        for path in ("hopper.wgmma.bf16.bf16.f32", "exact.bf16.bf16.f32", None))
    assert np.allclose(by_steps, exact, rtol=0, atol=1e-5)
    assert np.allclose(butterfly, exact, rtol=0, atol=1e-5)
    assert not np.array_equal(by_steps, exact)


def test_what_does_not_fit_is_refused():
    x = matrix(2, 32)
    q = zeroulp.quantize_blocks(x, "nvfp4")
    with pytest.raises(zeroulp.Error, match="did you mean 'nvfp4'"):
        zeroulp.quantize_blocks(x, "nvfp")
    with pytest.raises(zeroulp.Error, match="no second level"):
        zeroulp.quantize_blocks(x, "mx.floor", second="row")
    with pytest.raises(zeroulp.Error, match="e2m1"):
        zeroulp.quantize_blocks(x, "nvfp4", "e4m3")
    with pytest.raises(zeroulp.Error, match="fp64"):
        zeroulp.quantize_blocks(x.astype(np.float64), "nvfp4")
    with pytest.raises(zeroulp.Error, match="random: .*uint32"):
        zeroulp.quantize_blocks(x, random=x)
    with pytest.raises(zeroulp.Error, match="random"):
        zeroulp.quantize_blocks(x, random=np.zeros((2, 31), np.uint32))
    with pytest.raises(zeroulp.Error, match="second level of rows"):
        zeroulp.quantize_blocks(x, block_rows=16, second="row")
    with pytest.raises(zeroulp.Error, match="block_rows"):
        zeroulp.quantize_blocks(x, block_rows=0)
    with pytest.raises(zeroulp.Error, match="philox"):
        zeroulp.random_words((2, 2), 1, source="xorshift")
    with pytest.raises(zeroulp.Error, match="bits"):
        zeroulp.random_words((2, 2), 1, bits=33)
    with pytest.raises(zeroulp.Error, match="signs: 4, but blocks of 16"):
        zeroulp.hadamard(x, "++--")
    with pytest.raises(zeroulp.Error, match="1 or -1"):
        zeroulp.hadamard(x, [0] * 16)
    with pytest.raises(zeroulp.Error, match="scale: 0"):
        zeroulp.hadamard(x, scale=0)
    with pytest.raises(zeroulp.Error, match="size is 24"):
        zeroulp.hadamard(x, size=24)
    with pytest.raises(zeroulp.Error, match="no multiple of 64"):
        zeroulp.hadamard(x, size=64)
    with pytest.raises(zeroulp.Error, match="the path takes bf16"):
        zeroulp.hadamard(x, path="hopper.wgmma.bf16.bf16.f32")
    with pytest.raises(zeroulp.Error, match="QuantizedBlocks"):
        zeroulp.gemm(q, x, "nvfp4")
    with pytest.raises(zeroulp.Error, match="blocks of scales"):
        zeroulp.gemm(q, q, "mxfp4")
    with pytest.raises(zeroulp.Error, match="it takes e4m3, e5m2"):
        zeroulp.gemm(q, q, "mxfp8")
    with pytest.raises(zeroulp.Error, match="no interval"):
        zeroulp.gemm(q, q, "nvfp4", interval=64)


@pytest.mark.parametrize(
    "claim", CLAIMS, ids=lambda c: f"{c['convention']}.{c['format']}.{c['second']}")
def test_the_record_is_of_these_bits(claim, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "conformance/peers/python"))
    sys.modules.pop("blocks", None)
    import blocks

    assert claim["codes that differ"] == claim["scales that differ"] == 0
    assert blocks.digests(zeroulp, claim) == claim["zeroulp"]
