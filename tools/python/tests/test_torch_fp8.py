"""FP8 on tensors of a GPU, without one: the calls of the kernels, in memory of the
CPU, are taken by the CPU's library. So shapes, strides, padded rows and groups are
held here; the kernels by torch_cases.py, on a GPU."""

import ctypes

import pytest
import zeroulp

torch = pytest.importorskip("torch")
import zeroulp.torch  # noqa: E402
from zeroulp import (Error, _abi, _cuda, _library, _torch_fp8,  # noqa: E402
                     _torch_model)

T = zeroulp.torch


def read(x, size):
    """A matrix of the GPU's, as the CPU's library reads it."""
    if isinstance(x, torch.Tensor):
        x = _cuda.struct(x, _abi.zeroulp_cuda_const_matrix)
    return _abi.zeroulp_const_matrix(x.data, x.rows, x.cols, x.stride, 1, size)


def written(x, size):
    if isinstance(x, _cuda.Output):
        x = _cuda.struct(x.tensor, _abi.zeroulp_cuda_matrix)
    return _abi.zeroulp_matrix(x.data, x.rows, x.cols, x.stride, 1, size)


def bytes_of(f):
    bits = 1 + f.exponent_bits + f.fraction_bits
    return 1 if bits <= 8 else 2 if bits <= 16 else 4


def scales_of(out, group, kind):
    """The words beside codes: one for each group."""
    rows, cols = zeroulp._operations.group_counts(
        (out.codes.rows, out.codes.cols), zeroulp._values.group_name(group))
    scales = out.scales
    assert scales.layout == _abi.ZEROULP_LAYOUT_ROW_MAJOR
    return kind(ctypes.cast(scales.data, ctypes.c_void_p), rows, cols,
                scales.stride, 1, 4)


def call(name, *arguments):
    _library.call("zeroulp_" + name, *(
        ctypes.byref(x) if isinstance(x, ctypes.Structure) else x
        for x in arguments))


def turned(x):
    return _abi.zeroulp_const_matrix(x.data, x.cols, x.rows, x.col_stride,
                                     x.row_stride, x.element_bytes)


class Kernels:
    """What takes the calls; `names` are theirs."""

    def __init__(self):
        self.names = []

    def __call__(self, name, *arguments, device):
        self.names.append(name)
        getattr(self, name)(*arguments)

    def quantize(self, q, x, y, yt):
        given = read(x, x.element_size())
        for to, of in ((y, given), (yt, turned(given))):
            if to is not None:
                call("quantize", q, of, written(to.codes, bytes_of(q.to)),
                     scales_of(to, q.group, _abi.zeroulp_matrix))

    def group_amaxes(self, q, x, out):
        call("group_amaxes", q, read(x, x.element_size()), written(out, 4))

    def quantize_by_amax(self, q, x, amaxes, y, yt):
        given = read(x, x.element_size())
        for to, of in ((y, given), (yt, turned(given))):
            if to is not None:
                call("quantize_by_amax", q, of, read(amaxes, 4),
                     written(to.codes, bytes_of(q.to)),
                     scales_of(to, q.group, _abi.zeroulp_matrix))

    def retile(self, r, codes, scales, out):
        group = _abi.zeroulp_group(1, r.tile)
        by = scales_of(_abi.zeroulp_cuda_quantized(
            _cuda.struct(codes, _abi.zeroulp_cuda_matrix),
            _abi.zeroulp_cuda_scales(scales.data, scales.stride, scales.layout)),
            group, _abi.zeroulp_const_matrix)
        call("retile", r, read(codes, bytes_of(getattr(r, "from"))), by,
             written(out.codes, bytes_of(r.to)),
             scales_of(out, group, _abi.zeroulp_matrix))

    def dequantize(self, f, group, codes, scales, to, out):
        by = scales_of(_abi.zeroulp_cuda_quantized(
            _cuda.struct(codes, _abi.zeroulp_cuda_matrix),
            _abi.zeroulp_cuda_scales(scales.data, scales.stride, scales.layout)),
            group, _abi.zeroulp_const_matrix)
        call("dequantize_to", f, group, read(codes, bytes_of(f)), by, to,
             written(out, bytes_of(to)))

    def gemm(self, r, groups, a, b, c, d):
        assert groups is None
        for x in (a, b):
            if x.codes.data % 16 or x.codes.stride * bytes_of(x.format) % 16:
                raise AssertionError("rows are not aligned")
        if r.interval != 128:
            raise Error("the interval is another than the kernel's")
        self.emulate_gemm(r, a, b, c, d)

    def emulate_gemm(self, r, a, b, c, d):
        sides = [_abi.zeroulp_operand(x.format, read(x.codes, bytes_of(x.format)),
                                      x.scales) for x in (a, b)]
        call("gemm", r, *sides, None if c is None else read(c, 4),
             written(d, bytes_of(r.output)))


@pytest.fixture
def kernels(monkeypatch):
    taken = Kernels()
    monkeypatch.setattr(_torch_model, "_on_gpu", lambda x: True)
    monkeypatch.setattr(_cuda, "serves", lambda device: True)
    monkeypatch.setattr(_cuda, "call", taken)
    return taken


def numbers(*shape, dtype=torch.bfloat16):
    g = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=g).to(dtype)


def same(found, want):
    assert found == want
    assert found.codes.dtype == want.codes.dtype
    assert found.codes.shape == want.codes.shape
    assert found.codes.is_contiguous() and found.scales.is_contiguous()
    assert (found.convention, found.scale) == (want.convention, want.scale)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float16])
@pytest.mark.parametrize("shape", [(3, 40, 256), (7, 130), (1, 1), (260, 129), (50,)])
@pytest.mark.parametrize("format, group", [
    ("e4m3", "1x128"), ("e5m2", "128x128"), ("e5m6", "1x128"), ("e4m3", "128x1")])
def test_quantize(kernels, shape, dtype, format, group):
    x = numbers(*shape, dtype=dtype)
    q = T.quantize(x, format, group, "vllm")
    same(q, zeroulp.quantize(x, format, group, "vllm"))
    rows = x.reshape(-1, x.shape[-1])
    same(T.quantize(x, format, group, "vllm", transposed=True),
         zeroulp.quantize(rows.t().contiguous(), format, group, "vllm"))
    assert kernels.names == ["quantize", "quantize"]
    got = T.dequantize(q, "bf16")
    assert got.shape == x.shape
    assert torch.equal(got, q.dequantize("bf16"))


def test_what_the_kernels_do_not_take_is_computed(kernels):
    x = numbers(6, 256)
    for how in (("e4m3fnuz", "1x128"), ("e4m3", "1x64"), ("e2m3", "1x128")):
        same(T.quantize(x, *how), zeroulp.quantize(x, *how))
    wide = zeroulp.Quantized(T.quantize(x).codes.view(torch.uint8).int(),
                             torch.ones(6, 2), "e4m3")
    assert torch.equal(T.dequantize(wide), wide.dequantize())
    codes = x.to(torch.float8_e4m3fn).view(torch.uint8)
    found = T.gemm(codes, codes, "unpromoted", format="e4m3")
    assert torch.equal(found, zeroulp.gemm(codes, codes, "unpromoted", format="e4m3"))
    for empty in (x[:0], x[:, :0]):
        same(T.quantize(empty, transposed=True), zeroulp.quantize(empty.t()))
    assert kernels.names == ["quantize"]
    with pytest.raises(Error, match="unknown convention 'nobodys'"):
        T.quantize(x, convention="nobodys")
    with pytest.raises(Error, match="q: a Tensor: use a Quantized"):
        T.retile(x)
    with pytest.raises(Error, match="scale_a is a float: use a tensor"):
        T.scaled_mm(codes, codes.t(), 1.0, 1.0, out_dtype=torch.bfloat16)


def test_a_whole_matrix_has_one_scale(kernels):
    x = numbers(3, 40, 200)
    q = T.quantize(x, group="tensor")
    same(q, zeroulp.quantize(x, group="tensor"))
    assert torch.equal(T.dequantize(q), q.dequantize())
    assert kernels.names == ["group_amaxes", "quantize_by_amax", "dequantize"]


def test_views_are_what_they_show(kernels):
    """Strides, broadcasts, lazy signs, scales of any shape and type."""
    x = numbers(256, 200)
    for y in (x.t(), x[::2, 3:150], x[:1].expand(5, 200), torch._neg_view(x),
              x.reshape(2, 128, 200).transpose(1, 2), x[0], x[0, 0]):
        for turn in (False, True):
            rows = _torch_fp8.matrix_of(y)
            same(T.quantize(y, transposed=turn),
                 zeroulp.quantize(rows.t() if turn else y))
    q = T.quantize(x.view(2, 128, 200))
    codes, scales = q.codes, q.scales
    w = T.quantize(numbers(40, 200), group="128x128")
    for s in (scales.view(2, 128, 2), scales.bfloat16(), torch._neg_view(-scales),
              scales.t().contiguous().t(), scales[:1].expand(256, 2)):
        given = zeroulp.Quantized(codes, s, "e4m3")
        assert torch.equal(T.dequantize(given), given.dequantize())
        assert T.retile(given) == given.retile()
        assert torch.equal(T.gemm(given, w), zeroulp.gemm(given, w))
    one = zeroulp.Quantized(codes, torch.tensor(0.5), "e4m3", "tensor")
    assert torch.equal(T.dequantize(one), one.dequantize())
    columns = T.quantize(x.view(2, 128, 200), group="128x1")
    wide = T.quantize(numbers(40, 256), group="128x128")
    assert torch.equal(T.gemm(columns, wide), zeroulp.gemm(columns, wide))
    assert "emulate_gemm" not in kernels.names


@pytest.mark.parametrize("shape", [(256, 384), (130, 200), (1, 128), (128, 1)])
def test_retile(kernels, shape):
    q = T.quantize(numbers(*shape), convention="deepseek_v3", scale="pow2")
    same(T.retile(q), q.retile())
    same(T.retile(q, "e5m2"), q.retile("e5m2"))
    assert kernels.names == ["quantize", "retile", "retile"]


@pytest.mark.parametrize("m, n, k", [(64, 192, 256), (7, 130, 200), (1, 1, 1)])
def test_gemm(kernels, m, n, k):
    a = T.quantize(numbers(m, k), convention="vllm")
    b = T.quantize(numbers(n, k), group="128x128", convention="vllm")
    assert torch.equal(T.gemm(a, b), zeroulp.gemm(a, b))
    assert kernels.names == ["quantize", "quantize", "gemm"]
    c = numbers(m, n, dtype=torch.float32)
    tiles = T.quantize(numbers(n, k), convention="vllm")
    for how in ({}, {"c": c}, {"output": "bf16"}):
        assert torch.equal(T.gemm(a, tiles, "deepgemm.1d1d", **how),
                           zeroulp.gemm(a, tiles, "deepgemm.1d1d", **how))
    codes = [x.codes.contiguous() for x in (a, b)]
    assert torch.equal(T.gemm(*codes, "unpromoted"),
                       zeroulp.gemm(*codes, "unpromoted"))
    assert kernels.names[-2:] == ["gemm", "emulate_gemm"]
    columns = T.quantize(numbers(k, m), group="128x1", convention="vllm")
    assert torch.equal(T.gemm(columns, b), zeroulp.gemm(columns, b))


def test_torchs_default_type_changes_nothing(kernels):
    a, b = (T.quantize(numbers(n, 256)) for n in (40, 24))
    want = zeroulp.gemm(a, b, "deepgemm.1d1d")
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = T.gemm(a, b, "deepgemm.1d1d")
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.dtype == torch.float32 and torch.equal(found, want)


def test_bad_products_are_refused_as_on_a_cpu(kernels):
    a, b = T.quantize(numbers(4, 128)), T.quantize(numbers(4, 256))
    with pytest.raises(Error, match="both must have the same K"):
        T.gemm(a, b)
    with pytest.raises(Error, match="b: scales of 1x128, but recipe"):
        T.gemm(b, b)
    with pytest.raises(Error, match="c: 4 x 3, but D is 4 x 4"):
        T.gemm(a, a, "deepgemm.1d1d", c=torch.zeros(4, 3))
    with pytest.raises(Error, match="b is a NoneType: use a Quantized"):
        T.gemm(a, None)
    with pytest.raises(Error, match="x is a list: use a tensor"):
        T.quantize([[1.0]])
    with pytest.raises(Error, match="c is a ndarray: use a tensor"):
        T.gemm(a, a, "deepgemm.1d1d", c=torch.zeros(4, 4).numpy())
    with pytest.raises(Error, match="tensors are on cpu and meta: all"):
        T.gemm(a, zeroulp.Quantized(a.codes.to("meta"), a.scales, "e4m3"))
    with pytest.raises(Error, match="a dense tensor is needed"):
        T.quantize(torch.eye(4).to_sparse())


def test_a_layer(kernels):
    def trained():
        torch.manual_seed(0)
        x = torch.randn(3, 40, 200, dtype=torch.bfloat16, requires_grad=True)
        layer = T.Linear(200, 130, dtype=torch.bfloat16)
        y = layer(x)
        y.backward(torch.randn_like(y))
        return y, x.grad, layer.weight.grad, layer.bias.grad

    found = trained()
    assert kernels.names == ["quantize", "quantize", "gemm"] * 2 + \
        ["quantize", "retile", "retile", "gemm"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_torch_model, "_on_gpu", lambda x: False)
        want = trained()
    assert all(torch.equal(a, b) for a, b in zip(found, want))


def test_what_is_frozen_has_no_gradient(kernels):
    x = numbers(40, 200).requires_grad_()
    layer = T.Linear(200, 130, bias=False, dtype=torch.bfloat16)
    dy = numbers(40, 130)
    layer(x).backward(dy)
    both = x.grad.clone(), layer.weight.grad.clone()
    x.grad = layer.weight.grad = None
    layer.weight.requires_grad_(False)
    y = layer(x)
    kernels.names.clear()
    y.backward(dy)
    assert kernels.names == ["quantize", "quantize", "gemm"]
    assert torch.equal(x.grad, both[0]) and layer.weight.grad is None
    layer.weight.requires_grad_()
    y = layer(x.detach())
    kernels.names.clear()
    y.backward(dy)
    assert kernels.names == ["quantize", "quantize", "retile", "retile", "gemm"]
    assert torch.equal(layer.weight.grad, both[1])


def test_a_scaled_product(kernels):
    a, b = (numbers(m, 256).to(torch.float8_e4m3fn) for m in (48, 32))
    scales = torch.tensor(0.5), torch.tensor(0.25)
    found = T.scaled_mm(a, b.t(), *scales, out_dtype=torch.bfloat16)
    assert kernels.names[0] == "gemm"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_torch_model, "_on_gpu", lambda x: False)
        assert torch.equal(found, T.scaled_mm(a, b.t(), *scales,
                                              out_dtype=torch.bfloat16))


def test_a_gpu_that_the_kernels_do_not_know_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    with pytest.warns(UserWarning, match="cuda:0 has compute capability 8.0"):
        assert not _cuda.serves(torch.device("cuda:0"))


@pytest.mark.parametrize("shape", [(0, 256), (2, 0, 256)])
def test_a_layer_of_nothing(shape):
    x = torch.randn(*shape, requires_grad=True)
    y = T.Linear(256, 130)(x)
    assert y.shape == (*shape[:-1], 130)
    y.sum().backward()
    assert x.grad.shape == shape
    with pytest.raises(Error, match=r"\.\.\. x K and N x K are multiplied"):
        T.linear(torch.zeros(()), torch.zeros(3, 4))


def test_codes_of_another_device_are_not_copied():
    codes = torch.empty(3, 5, 256, dtype=torch.float8_e4m3fn, device="meta")
    scales = torch.empty(15, 2, device="meta")
    assert zeroulp.Quantized(codes, scales, "e4m3").shape == (15, 256)
    with pytest.raises(Error, match="scales: 15 x 3, but 15 x 256 codes"):
        zeroulp.Quantized(codes, torch.empty(15, 3, device="meta"), "e4m3")
