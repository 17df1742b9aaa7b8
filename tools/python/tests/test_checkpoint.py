"""Checkpoints by the bundled program, from files that the test writes."""

import json
import struct

import numpy as np
import pytest
import zeroulp
from zeroulp import _program, checkpoint

try:
    PROGRAM = _program.program()
except zeroulp.Error:
    PROGRAM = None
pytestmark = pytest.mark.skipif(not PROGRAM, reason="no program zeroulp here")

RNG = np.random.default_rng(3)


def write(folder, tensors, config=None):
    """A .safetensors file of {name: (type, shape, bytes)}."""
    folder.mkdir(exist_ok=True)
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": list(shape),
                        "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            f.write(data)
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def bf16_words(x):
    return np.asarray(zeroulp.encode(x, "bf16")).view("u2")


X = RNG.standard_normal((130, 256)).astype("f4") * 0.02
W = bf16_words(X)
Q = zeroulp.quantize(zeroulp.decode(W, "bf16"), group="128x128", convention="vllm")
Q_CODES = np.asarray(Q.codes).view("u1")


@pytest.fixture
def fp8(tmp_path):
    scales = np.asarray(Q.scales)
    return write(tmp_path / "fp8", {
        "a.weight": ("F8_E4M3", Q_CODES.shape, Q_CODES.tobytes()),
        "a.weight_scale_inv": ("F32", scales.shape, scales.tobytes()),
        "n.weight": ("BF16", [256], W[0].tobytes())})


@pytest.fixture
def plain(tmp_path):
    return write(tmp_path / "plain", {
        "a.weight": ("BF16", W.shape, W.tobytes()),
        "n.weight": ("BF16", [256], W[0].tobytes())})


def test_tensors_are_listed(fp8):
    of = {t["name"]: t for t in checkpoint.tensors(fp8)}
    assert of["a.weight"]["group"] == "128x128"
    assert of["a.weight"]["scale"]["name"] == "a.weight_scale_inv"


def test_a_weight_is_read_as_it_was_quantized(fp8):
    q = checkpoint.read(fp8, "a.weight")
    assert np.array_equal(np.asarray(q.codes).view("u1"), Q_CODES)
    assert np.array_equal(q.scales, np.asarray(Q.scales)) and q.group == "128x128"
    n = checkpoint.read(fp8, "n.weight")
    assert np.array_equal(np.asarray(n).view("u2"), W[0])


@pytest.mark.parametrize("second", [None, "multiply", "divide"])
def test_packed_codes_are_read(tmp_path, second):
    codes = RNG.integers(0, 256, (16, 32), dtype="u1")
    if second is None:
        scale = RNG.integers(110, 120, (16, 2), dtype="u1")
        extra = {}
    else:
        scale = RNG.integers(0x30, 0x50, (16, 4), dtype="u1")
        extra = {"c.weight_scale_2" if second == "multiply" else
                 "c.weight_global_scale": ("F32", [1], struct.pack("<f", 0.3))}
    name = "c.weight_packed" if second == "divide" else "c.weight"
    folder = write(tmp_path / "fp4", {
        name: ("U8", codes.shape, codes.tobytes()),
        "c.weight_scale": ("U8" if second is None else "F8_E4M3", scale.shape,
                           scale.tobytes()), **extra})
    q = checkpoint.read(folder, name)
    assert q.format.name == "e2m1" and q.shape == (16, 64)
    checkpoint.dequantize(folder, tmp_path / "out")
    out = checkpoint.read(tmp_path / "out", "c.weight")
    assert np.array_equal(np.asarray(q.dequantize("bf16")).view("u2"),
                          np.asarray(out).view("u2"))


def test_dequantize_has_the_bits_of_the_library(fp8, tmp_path):
    done = checkpoint.dequantize(fp8, tmp_path / "out", threads=1)
    assert done and done.shards_written == 1 and done.numbers == X.size
    out = checkpoint.read(tmp_path / "out", "a.weight")
    assert np.array_equal(np.asarray(out).view("u2"),
                          np.asarray(Q.dequantize("bf16")).view("u2"))
    assert checkpoint.diff(fp8, tmp_path / "out").tensors[0]["rule"] == \
        "B is A dequantized by one rounding"


def test_the_convention_is_identified(plain, fp8):
    found = checkpoint.identify(plain, fp8)
    assert found and "vllm (fp32)" in found.conventions


def test_requantize_and_rescale_say_what_changes(plain, fp8, tmp_path):
    assert not checkpoint.requantize(plain, lossless=True)
    assert checkpoint.requantize(plain, tmp_path / "q", convention="vllm",
                                 scale="fp32", except_="nothing")
    assert checkpoint.diff(tmp_path / "q", fp8)
    assert checkpoint.rescale(fp8).codes > 0


def test_hashes_of_values_do_not_depend_on_the_format(fp8, tmp_path):
    checkpoint.dequantize(fp8, tmp_path / "out", "fp32")
    assert checkpoint.hash(fp8).values == checkpoint.hash(tmp_path / "out").values
    assert checkpoint.hash(fp8).bytes != checkpoint.hash(tmp_path / "out").bytes


def test_a_lost_scale_is_found_and_refused(tmp_path):
    folder = write(tmp_path / "lost", {
        "a.weight": ("F8_E4M3", Q_CODES.shape, Q_CODES.tobytes())})
    found = checkpoint.verify(folder)
    assert not found and found.faults[0]["check"] == "scale"
    with pytest.raises(zeroulp.Error, match="tensor a.weight: expected a scale"):
        checkpoint.dequantize(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert checkpoint.verify(folder, allow_unscaled=True)
    with pytest.raises(zeroulp.Error, match="none of this name"):
        checkpoint.read(folder, "b.weight")
