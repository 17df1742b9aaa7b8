"""The compiled library of the kernels: found where it is first needed, called
on torch's current stream. torch has the memory; nothing is copied."""

import contextlib
import ctypes
import functools
import importlib
import os
import pathlib
import warnings

import torch

from . import _abi, _library
from ._library import CudaError, Error

_SIGNATURES = {
    "zeroulp_abi_version": (ctypes.c_int32, []),
    "zeroulp_last_error": (ctypes.c_char_p, []),
    **_abi.CUDA_FUNCTIONS,
}


def _find():
    given = os.environ.get("ZEROULP_CUDA_LIBRARY")
    if given:
        return os.path.abspath(given)
    beside = pathlib.Path(__file__).parent / "libzeroulp_cuda.so"
    if beside.exists():
        return str(beside)
    try:
        return importlib.import_module("zeroulp_cuda13").library
    except ImportError:
        raise Error(
            "tensors are on a GPU, but the package zeroulp-cuda13 is not installed: "
            "where there is nvcc, `pip install ./tools/python/cuda13` installs it; "
            "or set ZEROULP_CUDA_LIBRARY to libzeroulp_cuda.so") from None


@functools.lru_cache(maxsize=None)
def library():
    """The library, with its functions declared."""
    path = _find()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as e:
        raise Error(f"the library of the kernels: {e}") from None
    for name, (result, arguments) in _SIGNATURES.items():
        try:
            function = getattr(loaded, name)
        except AttributeError:
            raise Error(f"{path} has no {name}: it is older than this package"
                        ) from None
        function.restype, function.argtypes = result, arguments
    version = loaded.zeroulp_abi_version()
    if version != _abi.ZEROULP_ABI_VERSION:
        raise Error(f"{path} has ABI {version}, this package speaks "
                    f"{_abi.ZEROULP_ABI_VERSION}")
    return loaded


_serving = set()


def serves(device):
    """Whether the kernels run on this GPU; if they do not, a warning says why."""
    if device in _serving:
        return True
    found = torch.cuda.get_device_capability(device)
    try:
        if found != (9, 0) or torch.version.hip is not None:
            raise Error(f"{device} has compute capability {found[0]}.{found[1]}, and "
                        "the kernels need 9.0 (Hopper)")
        one = torch.ones(1, 1, dtype=torch.float32, device=device)
        call("log", one, Output(torch.empty_like(one)), device=device)
    except (Error, CudaError) as e:
        warnings.warn(f"zeroulp: {e}: memory is copied and computed on the CPU",
                      stacklevel=4)
        return False
    _serving.add(device)
    return True


def struct(x, kind):
    """A tensor of two dimensions with adjacent elements in its rows."""
    return kind(x.data_ptr() if x.numel() else None, *x.shape, x.stride(0))


class Output:
    """A tensor that a call writes."""

    def __init__(self, tensor):
        self.tensor = tensor


@contextlib.contextmanager
def _current_stream(device):
    with torch.cuda.device(device):
        yield torch.cuda.current_stream(device).cuda_stream


def call(name, *arguments, device):
    """Calls zeroulp_cuda_NAME: tensors are read, an Output is written, other
    structs are passed by address; the stream comes last."""
    function = "zeroulp_cuda_" + name

    def passed(x):
        if isinstance(x, torch.Tensor):
            x = struct(x, _abi.zeroulp_cuda_const_matrix)
        elif isinstance(x, Output):
            x = struct(x.tensor, _abi.zeroulp_cuda_matrix)
        return ctypes.byref(x) if isinstance(x, ctypes.Structure) else x

    with _current_stream(device) as stream:
        _library.call(function, *[passed(x) for x in arguments], stream,
                      of=library())


def room(size, device):
    """(tensor, its address, bytes) of room to work."""
    work = torch.empty(size, dtype=torch.uint8, device=device)
    return work, work.data_ptr() if size else None, size


def words(x):
    """The address of 4-byte elements."""
    return ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_uint32))


def doubles(x):
    """The address of float64 numbers that a call writes."""
    return ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_double))


def bytes_of_attention(shape, depth, value_depth):
    """The room that attention needs for a sequence."""
    found = ctypes.c_int64()
    _library.call("zeroulp_cuda_attention_work_of_depth", ctypes.byref(shape), depth,
                  value_depth, 1, ctypes.byref(found), of=library())
    return found.value
