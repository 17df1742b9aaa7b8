"""Quantization and products in FP8 on tensors: on a GPU of compute capability 9.0
by the kernels, in torch's memory and on its current stream; else by the functions
of zeroulp, which have the same bits. What the kernels do not take (other formats
or groups) is copied and computed on the CPU, too. So is everything where the
library of the kernels or such a GPU is missing, with a warning."""

import math

import torch

from . import _abi, _blocks, _cuda, _operations, _torch_model, _values
from ._arrays import format_name
from ._cuda import Output
from ._library import Error
from ._operations import Quantized
from ._torch_model import _rows as rows_of

_NUMBERS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_CODES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
          "e5m6": torch.int16}
_GROUPS = ((1, 128), (128, 1), (128, 128), (0, 0))


def _here(tensors, taken, by_kernels, on_cpu):
    """by_kernels() of tensors on a GPU, if it is `taken` and there is something
    to compute; else on_cpu()."""
    places = {x.device for x in tensors}
    on_gpu = [_torch_model._on_gpu(x) for x in tensors]
    if len(places) > 1 and any(on_gpu):
        raise Error(f"tensors are on {' and '.join(sorted(map(str, places)))}: all "
                    "must be on one device")
    dense = all(x.layout == torch.strided and x.numel() for x in tensors)
    if all(on_gpu) and dense and taken and _cuda.serves(tensors[0].device):
        return by_kernels()
    return on_cpu()


def need_tensor(x, what, words="a tensor of torch"):
    if not isinstance(x, torch.Tensor):
        raise Error(f"{what} is a {type(x).__name__}: use {words}")


def matrix_of(x):
    """The matrix that zeroulp sees: leading dimensions are rows."""
    x = x.detach().resolve_neg()
    if x.dim() < 2:
        return x.reshape(1, -1)
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _aligned(x):
    """Rows of adjacent elements that start on multiples of 16 bytes."""
    size = x.element_size()
    x = rows_of(x)
    if not x.data_ptr() % 16 and not x.stride(0) * size % 16:
        return x
    wide = -(-x.shape[1] * size // 16) * 16 // size
    return x.new_empty(len(x), wide)[:, :x.shape[1]].copy_(x)


def _scales(x, kind):
    return kind(_cuda.words(x), x.stride(0), _abi.ZEROULP_LAYOUT_ROW_MAJOR)


def _is_group(group):
    value = _values.group(group)
    return (value.rows, value.cols) in _GROUPS


def _made(like, rows, cols, format, group, **how):
    """Room for codes and scales, as a Quantized and as a struct."""
    codes = torch.empty(rows, cols, dtype=_CODES[format.name], device=like.device)
    scales = torch.empty(_operations.group_counts((rows, cols), group),
                         dtype=torch.float32, device=like.device)
    q = Quantized(codes, scales, format, group, **how)
    return q, _abi.zeroulp_cuda_quantized(
        _cuda.struct(codes, _abi.zeroulp_cuda_matrix),
        _scales(scales, _abi.zeroulp_cuda_scales))


class _Given:
    """A Quantized's codes and scales (FP32) as matrices of a GPU."""

    def __init__(self, q):
        self.codes = rows_of(matrix_of(q.codes))
        self.scales = rows_of(matrix_of(q.scales).float())

    def scale_struct(self):
        return _scales(self.scales, _abi.zeroulp_cuda_const_scales)


def _tensors(*quantized):
    """Codes and scales, if they are torch's; else none, which the CPU takes."""
    all_of = [x for q in quantized for x in (q.codes, q.scales)]
    return all_of if all(isinstance(x, torch.Tensor) for x in all_of) else []


def _is_codes(q, *formats):
    """Whether codes are as wide as their format, one of these, and scales are of
    formats that FP32 holds."""
    return q.format.name in formats and \
        q.codes.element_size() == q.format.bytes and \
        q.scales.dtype in (torch.float32, torch.bfloat16, torch.float16)


def quantize(x, format="e4m3", group="1x128", convention="zeroulp", *, scale=None,
             transposed=False, source=None):
    """The Quantized of numbers (float32, float16, bfloat16) where x is; or of
    x's transpose, from the same pass over x. See zeroulp.quantize. SPEC Q1."""
    need_tensor(x, "x")
    target, how = _values.format(format), _values.convention(convention)

    def on_cpu():
        y = matrix_of(x).t() if transposed else x
        return _operations.quantize(y, target, group, how, scale=scale,
                                    source=source)

    def by_kernels():
        q = _operations.quantizer(x.dtype, target, group, how, scale)
        y = rows_of(matrix_of(x))
        shape = y.shape[::-1] if transposed else y.shape
        made, struct = _made(y, *shape, target, group, convention=how.name,
                             scale=_operations.scale_kind(q))
        outputs = (None, struct) if transposed else (struct, None)
        if q.group.rows == 0:
            amax = torch.empty(1, 1, dtype=torch.float32, device=y.device)
            _cuda.call("group_amaxes", q, y, Output(amax), device=y.device)
            _cuda.call("quantize_by_amax", q, y, amax, *outputs, device=y.device)
        else:
            _cuda.call("quantize", q, y, *outputs, device=y.device)
        if not transposed:
            made.codes = made.codes.view(x.shape or (1,))
        return made

    taken = x.dtype in _NUMBERS.values() and target.name in _CODES and \
        _is_group(group) and source is None
    return _here([x], taken, by_kernels, on_cpu)


def dequantize(q, to="fp32"):
    """The numbers of a Quantized, where its codes are, as float32 or rounded once
    more: see Quantized.dequantize. SPEC Q10."""
    _operations.need_quantized(q)
    target = _values.format(to)
    tensors = _tensors(q)

    def by_kernels():
        given = _Given(q)
        out = given.codes.new_empty(given.codes.shape,
                                    dtype=_NUMBERS[target.name])
        _cuda.call("dequantize", q.format.struct, _values.group(q.group),
                   given.codes, given.scale_struct(), target.struct, Output(out),
                   device=out.device)
        return out.view(q.codes.shape or (1,))

    taken = tensors and _is_codes(q, *_CODES) and target.name in ("fp32", "bf16") \
        and _is_group(q.group)
    return _here(tensors, taken, by_kernels,
                 lambda: _operations.dequantize(q, target))


def retile(q, to=None, *, rule="amax"):
    """The transpose of a Quantized of 1x128, with tiles along the other dimension,
    where it is: see zeroulp.retile. SPEC W1."""
    _operations.need_quantized(q)
    target = q.format if to is None else _values.format(to)
    tensors = _tensors(q)

    def by_kernels():
        given = _Given(q)
        made, struct = _made(given.codes, *given.codes.shape[::-1], target, q.group,
                             convention=q.convention, scale=q.scale)
        _cuda.call("retile", _operations.retiling(q, target, rule), given.codes,
                   given.scale_struct(), struct, device=given.codes.device)
        return made

    taken = tensors and _is_codes(q, *_CODES) and target.name in _CODES and \
        q.group == "1x128"
    return _here(tensors, taken, by_kernels,
                 lambda: _operations.retile(q, target, rule=rule))


class _Operand(_operations.Side):
    """One side of D = A B^T on a GPU: a Quantized, or codes without scales."""

    def __init__(self, x):
        if isinstance(x, Quantized):
            given, format = _Given(x), x.format
            codes, scales, group = given.codes, given.scales, _values.group(x.group)
            if group.cols == 1 and group.rows != 1:  # K lies along the rows
                codes, scales = codes.t(), scales.t()
                group = _abi.zeroulp_group(1, group.rows)
        else:
            codes, scales, group = matrix_of(x), None, None
            format = _values.format(codes.dtype)
        super().__init__(format, group, *codes.shape)
        self.codes, self.scales = _aligned(codes), scales

    def struct(self):
        scales = _abi.zeroulp_const_matrix()
        if self.scales is not None:
            scales = _abi.zeroulp_const_matrix(
                self.scales.data_ptr(), *self.scales.shape, *self.scales.stride(), 4)
        return _abi.zeroulp_cuda_operand(
            self.format.struct,
            _cuda.struct(self.codes, _abi.zeroulp_cuda_const_matrix), scales)


def _is_operand(x):
    if isinstance(x, Quantized):
        return bool(_tensors(x)) and _is_codes(x, "e4m3", "e5m2")
    return isinstance(x, torch.Tensor) and \
        format_name(x.dtype) in ("e4m3", "e5m2", "bf16", "fp16")


def gemm(a, b, recipe="deepgemm.1d2d", *, c=None, interval=None, splits=None,
         output=None, format=None):
    """D = A B^T by a recipe, where its operands are: Hopper's tensor core for the
    recipes that it has, the emulator for others. A m x k, B n x k, each a
    Quantized or codes without scales; c is m x n float32. See zeroulp.gemm.
    SPEC G1."""
    named = {"interval": interval, "splits": splits, "output": output}
    tensors = []
    for x, what in ((a, "a"), (b, "b")):
        if isinstance(x, Quantized):
            tensors += _tensors(x)
        elif not isinstance(x, _blocks.QuantizedBlocks):
            need_tensor(x, what, "a Quantized, or codes in a tensor of torch")
            tensors.append(x)
    if c is not None:
        need_tensor(c, "c")
        tensors.append(c)

    def by_kernels():
        x, y = _Operand(a), _Operand(b)
        r, adds = _operations.recipe_of_operands(recipe, x, y, c is not None, **named)
        addend = None
        if adds:
            addend = torch.zeros(x.mn, y.mn, dtype=torch.float32,
                                 device=x.codes.device) if c is None \
                else rows_of(matrix_of(_operations.needed_addend(c, x, y)))
        dtype = _NUMBERS[_values.format_called(r.output).name]
        out = torch.empty(x.mn, y.mn, dtype=dtype, device=x.codes.device)
        given = x.struct(), y.struct(), addend, Output(out)
        try:
            _cuda.call("gemm", r, None, *given, device=out.device)
        except Error:  # the tensor core has no such recipe
            _cuda.call("emulate_gemm", r, *given, device=out.device)
        return out

    taken = _is_operand(a) and _is_operand(b) and format is None
    return _here(tensors, taken, by_kernels,
                 lambda: _operations.gemm(a, b, recipe, c=c, format=format, **named))
