"""Operations on arrays of NumPy, ml_dtypes and torch, and bad input."""

import ctypes

import numpy as np
import pytest
import zeroulp
from zeroulp import Error, _abi, _arrays
from zeroulp._library import call

torch = None
try:
    import torch
except ImportError:
    pass
needs_torch = pytest.mark.skipif(torch is None, reason="no torch")

RNG = np.random.default_rng(1)
X = RNG.standard_normal((12, 300)).astype(np.float32)


def words(a):
    """The bits of an array of whatever type."""
    if torch is not None and isinstance(a, torch.Tensor):
        kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
        a = a.cpu().view(kind[a.element_size()]).numpy()
    return a.view(f"u{a.dtype.itemsize}")


def test_codes_of_the_readme():
    codes = zeroulp.encode([448, 0.3, -1.5, np.nan])
    assert words(codes).tolist() == [0x7e, 0x2a, 0xbc, 0x7f]
    assert zeroulp.decode(codes, "e4m3").tolist()[:3] == [448, 0.3125, -1.5]


def test_numbers_of_64_bits_are_rounded_once():
    x = np.array([1 + 2**-4 + 2**-30])  # in FP32 the midpoint, a tie to even
    assert words(zeroulp.encode(x)).tolist() == [0x39]
    assert words(zeroulp.encode(x.astype(np.float32))).tolist() == [0x38]
    with pytest.raises(Error, match="x: elements are float64: .* second rounding"):
        zeroulp.quantize(x.reshape(1, 1))


def test_scales_and_codes():
    q = zeroulp.quantize(np.array([[3, -1, 0.5, 448]], np.float32), group="1x4",
                         scale="pow2")
    assert np.asarray(q.scales).tolist() == [[1.0]]
    assert words(q.codes).tolist() == [[0x44, 0xb8, 0x30, 0x7e]]
    assert q.dequantize().tolist() == [[3, -1, 0.5, 448]]
    assert repr(q) == "Quantized(1 x 4 e4m3, pow2 scales of 1x4, zeroulp)"
    assert q.saturated == 0.25


def test_dequantization_to_bf16_rounds_once():
    # 1.5 * scale is 2.0703125 + 2^-24: FP32 rounds it to a tie of BF16.
    scale = np.array([[0x3fb0aaab]], np.uint32).view(np.float32)
    q = zeroulp.Quantized(np.array([[0x3c]], np.uint8), scale, "e4m3", "1x1")
    assert words(q.dequantize("bf16")).tolist() == [[0x4005]]
    assert words(zeroulp.encode(q.dequantize(), "bf16")).tolist() == [[0x4004]]
    assert q.dequantize().dtype == np.float32
    assert zeroulp.dequantize(q, "fp16").dtype == np.float16
    with pytest.raises(Error, match="out: elements of 8 bytes"):
        q.dequantize("fp64")


def test_scales_of_other_types_are_exact():
    codes = np.array([[0x44, 0xb8]], np.uint8)
    half = zeroulp.Quantized(codes, np.array([[0.5]], np.float16), "e4m3", "1x2")
    assert half.dequantize().tolist() == [[1.5, -0.5]]
    with pytest.raises(Error, match="scales: elements are fp64: use float32"):
        zeroulp.Quantized(codes, np.array([[0.5]]), "e4m3", "1x2")


def test_scales_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e8m0fnu"):
        scales = np.array([[0.25, 2]], np.float32).astype(getattr(ml_dtypes, name))
        q = zeroulp.Quantized(np.array([[0x44, 0xb8]], np.uint8), scales, "e4m3", "1x1")
        assert q.dequantize().tolist() == [[0.75, -2]]
        again = zeroulp.quantize(q.dequantize(), group="1x1", scales=scales)
        assert words(again.codes).tolist() == [[0x44, 0xb8]]


def test_given_scales_and_amaxes():
    x = np.array([[3, -0.01, 1000]], np.float32)
    cast = zeroulp.quantize(x, group="tensor", convention="vllm", scales=1)
    assert words(cast.codes).tolist() == [[0x44, 0x85, 0x7e]]
    by = np.array([[0.5, 2.0]], np.float32)
    q = zeroulp.quantize(x, group="1x2", scales=by)
    assert np.array_equal(np.asarray(q.scales), by)
    delayed = zeroulp.quantize(x, group="tensor", amax=448.0)
    assert words(delayed.codes).tolist() == words(cast.codes).tolist()
    with pytest.raises(Error, match="scales: 1 x 2, but 1 x 1 groups"):
        zeroulp.quantize(x, scales=by)
    with pytest.raises(Error, match="scales and amax"):
        zeroulp.quantize(x, scales=1, amax=1)


def test_a_gemm_is_exact_on_small_numbers():
    t = np.array([[1, 2], [-4, 0.5]], np.float32)
    a = zeroulp.quantize(t, scale="pow2")
    b = zeroulp.quantize(t, group="128x128", scale="pow2")
    d = zeroulp.gemm(a, b, output="fp32")
    assert d.tolist() == [[5, -3], [-3, 16.25]]
    assert zeroulp.gemm(a, b, c=np.ones((2, 2), np.float32),
                        output="fp32").tolist() == [[6, -2], [-2, 17.25]]
    assert words(zeroulp.gemm(a, b)).tolist() == [[0x40a0, 0xc040],
                                                  [0xc040, 0x4182]]
    plain = zeroulp.gemm(t.astype(np.float16), t.astype(np.float16), "unpromoted")
    assert plain.tolist() == [[5, -3], [-3, 16.25]]
    with pytest.raises(Error, match="b: scales of 1x128, but recipe deepgemm.1d2d"):
        zeroulp.gemm(a, a)
    with pytest.raises(Error, match="both must have the same K"):
        zeroulp.gemm(a, zeroulp.quantize(t[:, :1], group="128x128"))


def test_column_tiles_multiply_along_their_rows():
    x, dy = X[:, :40], RNG.standard_normal((12, 24)).astype(np.float32)
    a = zeroulp.quantize(dy, group="128x1")
    b = zeroulp.quantize(x, group="128x1")
    across = zeroulp.gemm(zeroulp.quantize(dy.T), zeroulp.quantize(x.T),
                          "deepgemm.1d1d")
    assert np.array_equal(zeroulp.gemm(a, b, "deepgemm.1d1d"), across)


def test_a_step_of_the_tensor_core():
    d = zeroulp.step("hopper.wgmma.e4m3.e4m3.f32",
                     np.array([[0x7e, 0x38]], np.uint8),
                     np.array([[0x7e, 0x01]], np.uint8), np.ones(1, np.float32))
    assert d.tolist() == [200704.0]
    chain = zeroulp.multiply("hopper.wgmma.e4m3.e4m3.f32",
                             np.array([[0x7e, 0x38]], np.uint8),
                             np.array([[0x7e, 0x01]], np.uint8))
    assert chain.tolist() == [[200704.0]]


def test_a_step_with_block_scales():
    """One block: 16 times 1 * 1.5, scaled by 2 and 1.125."""
    nvfp4 = "blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32"
    a, b = np.full((1, 16), 2, np.uint8), np.full((1, 16), 3, np.uint8)
    two, more = np.array([[0x40]], np.uint8), np.array([[0x39]], np.uint8)
    d = zeroulp.multiply_block_scaled(nvfp4, a, two, b, more)
    assert d.tolist() == [[16 * 1.5 * 2 * 1.125]]
    with pytest.raises(zeroulp.Error, match="blocks of scales"):
        zeroulp.multiply_block_scaled(nvfp4, a, two[:, :0], b, more)
    with pytest.raises(zeroulp.Error, match="did you mean"):
        zeroulp.block_scaled_path("blackwell.tcgen05.mxf4nvf.e2m1.e2m1.f32")


@pytest.mark.parametrize("path", zeroulp.block_scaled_paths(), ids=str)
def test_block_scales_are_exact(path):
    """Scales that are powers of two only move a result."""
    rng = np.random.default_rng(5)
    wide = 4 if path.block == 16 or path.terms else 1
    k = 2 * wide * path.block
    one = 127 if path.scale == 0 else 0x38
    step = 1 if path.scale == 0 else 8
    a, b = (rng.integers(0, 8, (3, k)).astype(np.uint8) for _ in "ab")
    ones = np.full((3, k // path.block), one, np.uint8)
    plain = zeroulp.multiply_block_scaled(path, a, ones, b, ones)
    moved = zeroulp.multiply_block_scaled(path, a, ones + 2 * step, b,
                                          ones - 3 * step)
    assert (moved == plain / 2).all() and (plain != 0).any()


def test_retiling_is_quantizing_the_transpose_of_the_numbers():
    q = zeroulp.quantize(X, "e5m6", scale="pow2")
    t = q.retile("e4m3")
    back = zeroulp.quantize(np.ascontiguousarray(q.dequantize().T), "e4m3",
                            scale="pow2")
    assert np.array_equal(words(t.codes), words(back.codes))
    with pytest.raises(Error, match="1xC is re-tiled"):
        zeroulp.retile(zeroulp.quantize(X, group="128x128"))


def test_strides_and_dimensions():
    q = zeroulp.quantize(X)
    for view in (X[::2, ::3], X[::-1], X.T, X[:, 5:], X[:0], X[0]):
        same = zeroulp.quantize(np.ascontiguousarray(view))
        assert zeroulp.compare(words(zeroulp.quantize(view).codes),
                               words(same.codes))
    deep = zeroulp.quantize(X.reshape(3, 4, 300))
    assert deep.codes.shape == (3, 4, 300)
    assert np.array_equal(words(deep.codes).reshape(12, 300), words(q.codes))
    fixed = X.copy()
    fixed.flags.writeable = False
    assert np.array_equal(words(zeroulp.quantize(fixed).codes), words(q.codes))
    odd = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32)
    assert np.array_equal(words(zeroulp.quantize(odd.reshape(12, 300)).codes),
                          words(q.codes))


def test_names_of_others():
    for name in ("e4m3", "float8_e4m3fn", "torch.float8_e4m3fn"):
        assert zeroulp.format(name) == zeroulp.format("e4m3")
    assert zeroulp.format("bfloat16").name == "bf16"
    for theirs, ours in _arrays.ALIASES.items():  # the library knows them, too
        value = _abi.zeroulp_format()
        call("zeroulp_format_from_name", theirs.encode(), ctypes.byref(value))
        assert bytes(value) == bytes(zeroulp.format(ours).struct)
    assert zeroulp.convention("vllm+scale_floor:1e-7").scale_floor == 0x33d6bf95
    for find, text, near in ((zeroulp.format, "e4m3n", "e4m3"),
                             (zeroulp.convention, "vlm", "vllm"),
                             (zeroulp.recipe, "deepgem.1d2d", "deepgemm.1d2d")):
        with pytest.raises(Error, match=f"did you mean .*{near}"):
            find(text)
    with pytest.raises(AttributeError):
        zeroulp.recipe("exact").interval = 3


def test_every_name_is_found():
    for find, rows in ((zeroulp.format, zeroulp.formats()),
                       (zeroulp.convention, zeroulp.conventions()),
                       (zeroulp.recipe, zeroulp.recipes()),
                       (zeroulp.path, zeroulp.paths())):
        assert rows
        for row in rows:
            assert find(row.name) == row


def test_folders_of_the_program(tmp_path):
    for group in ("1x128", "128x1", "128x128", "tensor"):
        q = zeroulp.quantize(X, group=group)
        q.save(tmp_path / "q")
        back = zeroulp.Quantized.load(tmp_path / "q")
        assert np.array_equal(words(back.codes), words(q.codes))
        assert np.array_equal(np.asarray(back.scales), np.asarray(q.scales))


@pytest.mark.parametrize("bad, what", [
    (X.astype(">f4"), r"x: elements are >f4, big-endian: use x.astype"),
    (X.astype(complex), "x: elements are complex128"),
    (X.astype(np.int32), "x: elements are int32: codes are unsigned integers"),
    (X.astype(np.uint8), "x: elements are uint8: say by source="),
    (X.astype(bool), "x: elements are bool"),
    (X.astype(object), "x: elements are object"),
    (X.astype(np.longdouble), "x: elements are"),
    (np.zeros((2, 2), "datetime64[s]"), "x: elements are datetime64"),
])
def test_elements_that_are_no_numbers(bad, what):
    with pytest.raises(Error, match=what):
        zeroulp.quantize(bad)


def test_shapes_that_do_not_fit():
    with pytest.raises(Error, match=r"a is \(12, 300\), b is \(3, 300\)"):
        zeroulp.compare(X, X[:3])
    with pytest.raises(Error, match="scales: 1 x 1, but 12 x 300 codes in groups"):
        zeroulp.Quantized(np.zeros((12, 300), np.uint8),
                          np.ones((1, 1), np.float32), "e4m3")
    with pytest.raises(Error, match="unknown group '1x'"):
        zeroulp.quantize(X, group="1x")
    with pytest.raises(Error, match="c: 12 x 300, but D is 12 x 12"):
        zeroulp.gemm(zeroulp.quantize(X), zeroulp.quantize(X, group="128x128"),
                     c=X)


def test_errors_are_measured():
    e = zeroulp.measure_errors(np.array([[1.0, 2.1]]), np.array([[1.0, 2.0]]))
    assert e.max_over_max == pytest.approx(0.05)
    assert "frobenius" in repr(e)


def test_threads():
    before = zeroulp.threads()
    zeroulp.use_threads(1)
    assert zeroulp.threads() == 1
    zeroulp.use_threads(0)
    assert zeroulp.threads() == before
    with pytest.raises(Error, match="count is -1"):
        zeroulp.use_threads(-1)


def test_types_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    q = zeroulp.quantize(X.astype(ml_dtypes.bfloat16), convention="vllm")
    assert q.codes.dtype == ml_dtypes.float8_e4m3fn
    assert np.array_equal(zeroulp.decode(q.codes), q.codes.astype(np.float32))
    mine = X.astype(ml_dtypes.float8_e4m3fn)
    assert zeroulp.compare(mine, zeroulp.encode(X, policy="ocp_nonsaturate"))
    with pytest.raises(Error, match="elements are float8_e4m3fn, but format"):
        zeroulp.decode(mine, "e5m2")


def test_files_that_ml_dtypes_wrote(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    mine = X.astype(ml_dtypes.float8_e4m3fn)
    np.save(tmp_path / "c.npy", mine)
    read = np.load(tmp_path / "c.npy")
    assert read.dtype.kind == "V"  # NumPy does not say what it is
    assert np.array_equal(zeroulp.decode(read, "e4m3"), mine.astype("f4"))
    with pytest.raises(Error, match="codes: elements|x: elements are"):
        zeroulp.decode(read)


@needs_torch
def test_tensors_of_torch():
    t = torch.from_numpy(X)
    q, same = zeroulp.quantize(t, "torch.float8_e4m3fn"), zeroulp.quantize(X)
    assert q.codes.dtype == torch.float8_e4m3fn and q.scales.dtype == torch.float32
    assert np.array_equal(words(q.codes), words(same.codes))
    half = zeroulp.quantize(t.bfloat16(), "e5m2")
    assert half.codes.dtype == torch.float8_e5m2
    assert q.dequantize().dtype == torch.float32
    b = zeroulp.quantize(t, group="128x128")
    assert zeroulp.gemm(q, b).dtype == torch.bfloat16
    assert torch.equal(zeroulp.encode(t).view(torch.uint8),
                       t.to(torch.float8_e4m3fn).view(torch.uint8))
    grad = t.clone().requires_grad_()
    assert np.array_equal(words(zeroulp.quantize(grad[:, ::2]).codes),
                          words(zeroulp.quantize(X[:, ::2]).codes))
    with pytest.raises(Error, match="a dense tensor is needed"):
        zeroulp.quantize(t.to_sparse())
