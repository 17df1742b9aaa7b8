r"""What the scripts beside this file call of the C ABI, zeroulp_cuda.h.

    c++ -shared -o gpu.so -Wl,--whole-archive build/cuda/libzeroulp_cuda.a \
      build/src/libzeroulp.a -Wl,--no-whole-archive -L/usr/local/cuda/lib64 \
      -lcudart_static -lfmt -lz -lhwy -fopenmp

makes the library. Values filled from names are arrays of their members, all of
4 bytes. A structure keeps a tensor's address, not the tensor: keep that.
"""

import ctypes
import sys

import torch

Format = ctypes.c_int32 * 4
Quantizer = ctypes.c_int32 * 40
Recipe = ctypes.c_int32 * 32
AdamwFactors = ctypes.c_uint32 * 6


class Matrix(ctypes.Structure):
    """zeroulp_cuda_matrix, zeroulp_cuda_const_matrix"""
    _fields_ = [("data", ctypes.c_void_p), ("rows", ctypes.c_int64),
                ("cols", ctypes.c_int64), ("stride", ctypes.c_int64)]


class StridedMatrix(ctypes.Structure):
    """zeroulp_const_matrix"""
    _fields_ = [("data", ctypes.c_void_p), ("rows", ctypes.c_int64),
                ("cols", ctypes.c_int64), ("row_stride", ctypes.c_int64),
                ("col_stride", ctypes.c_int64),
                ("element_bytes", ctypes.c_int64)]


class Scales(ctypes.Structure):
    """zeroulp_cuda_scales; layout 0 is row-major"""
    _fields_ = [("data", ctypes.c_void_p), ("stride", ctypes.c_int64),
                ("layout", ctypes.c_int64)]


class Quantized(ctypes.Structure):
    """zeroulp_cuda_quantized"""
    _fields_ = [("codes", Matrix), ("scales", Scales)]


class Operand(ctypes.Structure):
    """zeroulp_cuda_operand"""
    _fields_ = [("format", Format), ("codes", Matrix),
                ("scales", StridedMatrix)]


class Swiglu(ctypes.Structure):
    """zeroulp_swiglu"""
    _fields_ = [("cache", Quantizer), ("out", Quantizer)]


class RmsLayer(ctypes.Structure):
    """zeroulp_rms_layer"""
    _fields_ = [("from", Format), ("weight", Format), ("eps", ctypes.c_float),
                ("out", Quantizer)]


class AdamwSettings(ctypes.Structure):
    """zeroulp_adamw_settings"""
    _fields_ = [("rate", ctypes.c_double), ("beta1", ctypes.c_double),
                ("beta2", ctypes.c_double), ("eps", ctypes.c_double),
                ("weight_decay", ctypes.c_double), ("step", ctypes.c_int64)]


class AdamwStep(ctypes.Structure):
    """zeroulp_adamw_step; rounding 0 is nearest-even"""
    _fields_ = [("factors", AdamwFactors), ("gradient", Format),
                ("moment", Format), ("rounding", ctypes.c_int32)]


def matrix_of(x):
    return Matrix(x.data_ptr(), *x.shape, x.stride(0))


def quantized_of(codes, scales):
    return Quantized(matrix_of(codes), Scales(scales.data_ptr(),
                                              scales.stride(0), 0))


class Library:
    """The library at `path`; a call that fails ends the program."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.zeroulp_last_error.restype = ctypes.c_char_p

    def prepare(self, name, *arguments):
        """What calls zeroulp_<name> of these and of what it is given."""
        function = getattr(self.library, "zeroulp_" + name)
        is_struct = lambda x: isinstance(x, ctypes.Structure)
        first = [ctypes.byref(x) if is_struct(x) else x for x in arguments]

        def call(*last):
            if function(*first, *last):
                sys.exit(self.library.zeroulp_last_error().decode())

        return call

    def launcher(self, name, *arguments):
        """The same, on PyTorch's current stream."""
        call = self.prepare(name, *arguments)
        stream = lambda: torch.cuda.current_stream().cuda_stream
        return lambda: call(ctypes.c_void_p(stream()))

    def named(self, kind, function, *names):
        """A value of this kind from its names."""
        value = kind()
        self.prepare(function, *(name.encode() for name in names), value)()
        return value

    def format(self, name):
        return self.named(Format, "format_from_name", name)
