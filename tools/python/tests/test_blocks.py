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
