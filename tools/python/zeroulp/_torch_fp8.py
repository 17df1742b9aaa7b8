"""Quantization and products in FP8 on tensors: on a GPU of compute capability 9.0
by the kernels, in torch's memory and on its current stream; else by the functions
of zeroulp, which have the same bits. What the kernels do not take (other formats
or groups) is copied and computed on the CPU, too. So is everything where the
library of the kernels or such a GPU is missing, with one warning."""

import torch

from . import _abi, _cuda, _operations, _torch_model, _values
from ._cuda import Output
from ._library import Error
from ._operations import Quantized
from ._torch_model import _rows as rows_of

_DTYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
           "e5m6": torch.int16, "bf16": torch.bfloat16, "fp32": torch.float32}


def _here(by_kernels, on_cpu, *tensors):
    """The results of the kernels, of tensors that are on a GPU; else, and of what
    the kernels refuse, those of the CPU: it computes, or says what is wrong."""
    tensors = [x for x in tensors if x is not None]
    on_gpu = all(isinstance(x, torch.Tensor) and _torch_model._on_gpu(x) and
                 x.numel() for x in tensors)
    if on_gpu and len({x.device for x in tensors}) == 1 and \
            _cuda.serves(tensors[0].device):
        try:
            return by_kernels()
        except Error:
            pass
    return on_cpu()


def _empty(like, rows, cols, format):
    """A matrix on the device of `like`."""
    if format.name not in _DTYPES:
        raise Error(f"format: {format.name} is not among the kernels'")
    return torch.empty(rows, cols, dtype=_DTYPES[format.name], device=like.device)


def _padded(cols, size):
    """So many elements of `size` bytes that rows start on multiples of 16 bytes."""
    return -(-cols * size // 16) * 16 // size


def _aligned(x):
    """Rows of adjacent elements that start on multiples of 16 bytes."""
    size = x.element_size()
    x = rows_of(x)
    if not x.data_ptr() % 16 and not x.stride(0) * size % 16:
        return x
    y = x.new_empty(len(x), _padded(x.shape[1], size))[:, :x.shape[1]]
    return y.copy_(x)


def _matrix(x):
    return _cuda.struct(x, _abi.zeroulp_cuda_matrix)


def _scales(x, kind=_abi.zeroulp_cuda_scales):
    return kind(_cuda.words(x), x.stride(0), _abi.ZEROULP_LAYOUT_ROW_MAJOR)


def _quantized(like, rows, cols, format, group, **how):
    """Room for codes and scales, as a Quantized and as a struct."""
    codes = _empty(like, rows, _padded(cols, format.bytes), format)[:, :cols]
    scales = torch.empty(_operations.group_counts((rows, cols), group),
                         dtype=torch.float32, device=like.device)
    q = Quantized(codes, scales, format, group, **how)
    return q, _abi.zeroulp_cuda_quantized(_matrix(codes), _scales(scales))


def quantize(x, format="e4m3", group="1x128", convention="zeroulp", *, scale=None,
             transposed=False):
    """The Quantized of numbers (float32, float16, bfloat16) where x is; or of
    x's transpose, from the same pass over x. See zeroulp.quantize. SPEC Q1."""
    target, how = _values.format(format), _values.convention(convention)

    def on_cpu():
        y = x.reshape(-1, x.shape[-1]).t() if transposed else x
        return _operations.quantize(y, target, group, how, scale=scale)

    def by_kernels():
        q = _operations.quantizer(x.dtype, target, group, how, scale)
        y = rows_of(x.detach())
        shape = y.shape[::-1] if transposed else y.shape
        made, struct = _quantized(y, *shape, target, group, convention=how.name,
                                  scale=_operations.scale_kind(q))
        outputs = (None, struct) if transposed else (struct, None)
        if q.group.rows == 0 and q.group.cols == 0:
            amax = torch.empty(1, 1, dtype=torch.float32, device=y.device)
            _cuda.call("group_amaxes", q, y, Output(amax), device=y.device)
            _cuda.call("quantize_by_amax", q, y, amax, *outputs, device=y.device)
        else:
            _cuda.call("quantize", q, y, *outputs, device=y.device)
        if not transposed:
            made.codes = made.codes.view(x.shape)
        return made

    return _here(by_kernels, on_cpu, x)


def dequantize(q, to="fp32"):
    """The numbers of a Quantized, where its codes are, as float32 or rounded once
    more: see Quantized.dequantize. SPEC Q10."""
    _operations.need_quantized(q)
    target = _values.format(to)

    def by_kernels():
        codes, scales = rows_of(q.codes), q.scales.contiguous()
        out = _empty(codes, *codes.shape, target)
        _cuda.call("dequantize", q.format.struct, _values.group(q.group), codes,
                   _scales(_words_of(scales), _abi.zeroulp_cuda_const_scales),
                   target.struct, Output(out), device=codes.device)
        return out.reshape(q.codes.shape)

    return _here(by_kernels, lambda: _operations.dequantize(q, target), q.codes,
                 q.scales)


def retile(q, to=None, *, rule="amax"):
    """The transpose of a Quantized of 1x128, with tiles along the other dimension,
    where it is: see zeroulp.retile. SPEC W1."""
    _operations.need_quantized(q)

    def by_kernels():
        target = q.format if to is None else _values.format(to)
        codes, scales = rows_of(q.codes), q.scales.contiguous()
        made, struct = _quantized(codes, *codes.shape[::-1], target, q.group,
                                  convention=q.convention, scale=q.scale)
        _cuda.call("retile", _operations.retiling(q, target, rule), codes,
                   _scales(_words_of(scales), _abi.zeroulp_cuda_const_scales),
                   struct, device=codes.device)
        return made

    return _here(by_kernels, lambda: _operations.retile(q, to, rule=rule), q.codes,
                 q.scales)


def _words_of(scales):
    if scales.dtype != torch.float32:
        raise Error(f"scales: elements are {scales.dtype}: kernels take float32")
    return scales


class _Operand(_operations.Side):
    """One side of D = A B^T on a GPU."""

    def __init__(self, x, what):
        if isinstance(x, Quantized):
            codes, scales = x.codes, _words_of(x.scales)
            super().__init__(x.format, _values.group(x.group), *x.shape)
            # Columns of tiles have K along their rows.
            if self.group.cols == 1 and self.group.rows != 1:
                codes, scales = codes.t(), scales.t()
                super().__init__(x.format, _abi.zeroulp_group(1, self.group.rows),
                                 *x.shape[::-1])
            self.scales = _abi.zeroulp_const_matrix(
                scales.data_ptr(), *scales.shape, *scales.stride(), 4)
        else:
            codes = x.detach()
            rows = rows_of(codes)
            super().__init__(_values.format(codes.dtype), None, *rows.shape)
            self.scales = _abi.zeroulp_const_matrix()
        self.codes = _aligned(codes)
        self.kept = x  # the scales' memory

    def struct(self):
        return _abi.zeroulp_cuda_operand(
            self.format.struct,
            _cuda.struct(self.codes, _abi.zeroulp_cuda_const_matrix), self.scales)


def _codes(x):
    return x.codes if isinstance(x, Quantized) else x


def gemm(a, b, recipe="deepgemm.1d2d", *, c=None, interval=None, splits=None,
         output=None):
    """D = A B^T by a recipe, where its operands are: Hopper's tensor core for the
    recipes that it has, the emulator for others. A m x k, B n x k, each a
    Quantized or FP8 codes without scales; c is m x n float32. See zeroulp.gemm.
    SPEC G1."""
    named = {"interval": interval, "splits": splits, "output": output}

    def by_kernels():
        x, y = _Operand(a, "a"), _Operand(b, "b")
        r, adds = _operations.recipe_of_operands(recipe, x, y, c is not None, **named)
        addend = None
        if adds:
            addend = torch.zeros(x.mn, y.mn, device=x.codes.device) if c is None \
                else rows_of(_operations.needed_addend(c.detach(), x, y))
        out = _empty(x.codes, x.mn, y.mn, _values.format_called(r.output))
        sides = x.struct(), y.struct()
        try:
            _cuda.call("gemm", r, None, *sides, addend, Output(out),
                       device=x.codes.device)
        except Error:
            _cuda.call("emulate_gemm", r, *sides, addend, Output(out),
                       device=x.codes.device)
        return out

    return _here(by_kernels,
                 lambda: _operations.gemm(a, b, recipe, c=c, **named),
                 _codes(a), _codes(b), c,
                 *(x.scales for x in (a, b) if isinstance(x, Quantized)))
