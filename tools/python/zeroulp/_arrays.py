"""Arrays of the caller's: NumPy, ml_dtypes, torch, DLPack, seen as matrices of
bits, and results given back as what was given."""

import ctypes
import functools
import operator
import sys

import numpy as np

from . import _abi
from ._library import Error

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

# What others call our formats.
ALIASES = {
    "float8_e4m3fn": "e4m3", "e4m3fn": "e4m3", "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz", "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "ue8m0", "e8m0fnu": "ue8m0", "e8m0": "ue8m0",
    "float4_e2m1fn": "e2m1", "float6_e2m3fn": "e2m3", "float6_e3m2fn": "e3m2",
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32",
    "float": "fp32", "float64": "fp64", "double": "fp64",
}
# The types of theirs that hold a format. torch's 4-bit type holds two codes.
_DTYPE_OF = {
    "fp32": "float32", "fp16": "float16", "fp64": "float64", "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz",
    "ue8m0": "float8_e8m0fnu",
}
_ML_DTYPE_OF = dict(_DTYPE_OF, e2m1="float4_e2m1fn", e2m3="float6_e2m3fn",
                    e3m2="float6_e3m2fn")


def format_name(given):
    """Our name of a format: of a name of ours or theirs, or a dtype."""
    text = str(getattr(given, "name", given)).removeprefix("torch.") \
        if not isinstance(given, str) else given.replace("torch.", "")
    return ALIASES.get(text, text)


def _torch():
    return sys.modules.get("torch")


@functools.lru_cache(maxsize=None)
def _ml_dtypes():
    # An import that fails is tried again each time, and takes its time.
    try:
        import ml_dtypes
    except Exception:  # one that another NumPy needs raises what it likes
        return None
    return ml_dtypes


def is_tensor(x):
    torch = _torch()
    return torch is not None and isinstance(x, torch.Tensor)


def whole(x, what, least, most):
    """An integer, as Python's."""
    try:
        number = operator.index(x)
    except TypeError:
        raise Error(f"{what} is {_shown(x)}: use an integer") from None
    if not least <= number <= most:
        raise Error(f"{what} is {number}: use {least} to {most}")
    return number


def number(x, what):
    """A number, as float64."""
    try:
        return float(x)
    except (TypeError, ValueError):
        raise Error(f"{what} is {_shown(x)}: use a number") from None


def _shown(x):
    """A value in a message; of a large one only what it is."""
    text = repr(x)
    return text if len(text) <= 60 else f"a {type(x).__name__}"


class Bits:
    """A matrix of codes: what a call reads or writes. `words` is a NumPy array
    of unsigned integers with two dimensions; `format` is None for integers."""

    def __init__(self, words, format, shape, like):
        self.words, self.format = words, format
        self.shape, self.like = shape, like

    def const(self):
        return _abi.zeroulp_const_matrix(*_fields(self.words))


def _fields(words):
    item = words.itemsize
    strides = [s // item for s in words.strides]
    return (words.ctypes.data if words.size else None, *words.shape, *strides,
            item)


def matrix(words):
    """A matrix that a call writes."""
    return _abi.zeroulp_matrix(*_fields(words))


def ref(struct):
    return None if struct is None else ctypes.byref(struct)


def _words_of_tensor(x, what):
    torch = _torch()
    if x.layout != torch.strided or x.is_quantized:
        raise Error(f"{what}: a dense tensor is needed, not {x.layout}")
    if x.is_complex():
        raise Error(f"{what}: elements are {x.dtype}: they must be real")
    name = str(x.dtype).removeprefix("torch.")
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    kind = integers[x.element_size()]
    # Memory of another device is copied.
    host = x.detach().cpu().resolve_conj().resolve_neg()
    if host.dim() == 0:
        host = host.reshape(1)
    return host.view(kind).numpy().view(UNSIGNED[x.element_size()]), name


def _array_of(x, what):
    """What is no array of NumPy or torch as one of NumPy; numbers of Python are
    float64."""
    try:
        if hasattr(x, "__dlpack__") and not isinstance(x, np.generic):
            try:
                return np.from_dlpack(x)
            except Exception:
                # JAX gives its FP8 and BF16 by __array__ alone.
                if not hasattr(x, "__array__"):
                    raise
        if hasattr(x, "__array__"):
            return np.asarray(x)
        if isinstance(x, (list, tuple, int, float)):
            return np.asarray(x, dtype=np.float64)
    except Exception as e:
        raise Error(f"{what}: a {type(x).__name__} that cannot be read: {e}") \
            from None
    raise Error(f"{what}: a {type(x).__name__}: use an array of NumPy, ml_dtypes "
                "or torch, or one that speaks DLPack")


def _words_of_array(x, what):
    if isinstance(x, np.ma.MaskedArray):
        raise Error(f"{what}: a masked array: use {what}.filled(...)")
    x = np.asarray(x)
    if x.dtype.byteorder == ">" or (x.dtype.byteorder == "=" and
                                    sys.byteorder == "big"):
        raise Error(f"{what}: elements are {x.dtype.str}, big-endian: use "
                    f"{what}.astype({x.dtype.newbyteorder('<').str!r})")
    if x.dtype.itemsize not in UNSIGNED or x.dtype.kind in "cOSUmMb" or \
            x.dtype.fields is not None:
        raise Error(f"{what}: elements are {x.dtype}: use floating-point "
                    "numbers, or unsigned integers that are codes")
    name = x.dtype.name
    if x.dtype.kind == "V" and name.startswith("void"):
        name = "codes"  # what NumPy makes of a file that ml_dtypes wrote
    if x.dtype.kind == "i":
        raise Error(f"{what}: elements are {x.dtype}: codes are unsigned "
                    "integers")
    if x.ndim == 0:
        x = x.reshape(1)
    return x.view(UNSIGNED[x.dtype.itemsize]), name


def stand_in(x):
    """What has x's type and shape: of a tensor that is not in the CPU's memory one
    without its numbers, so that nothing is copied; else x."""
    if not is_tensor(x) or x.device.type == "cpu" or x.layout != _torch().strided:
        return x
    return _torch().empty((), dtype=x.dtype).expand(x.shape)


def bits_of(x, what, format=None):
    """`x` as a matrix of bits; leading dimensions are rows. `format` says what
    unsigned integers are codes of. Raises Error naming the argument `what`."""
    like = x
    if is_tensor(x):
        words, name = _words_of_tensor(x, what)
        shape = tuple(x.shape)
    else:
        if not isinstance(x, np.ndarray):
            x = like = _array_of(x, what)
        words, name = _words_of_array(x, what)
        shape = x.shape
    own = ALIASES.get(name)
    given = None if format is None else format_name(format)
    if own is not None and given is not None and own != given:
        raise Error(f"{what}: elements are {name}, but format={given!r}")
    if words.ndim == 1:
        words = words.reshape(1, -1)
    elif words.ndim > 2:
        words = words.reshape(-1, words.shape[-1])
    if any(s % words.itemsize for s in words.strides) or \
            (words.size and words.ctypes.data % words.itemsize):
        words = words.copy()
    return Bits(words, own or given, shape, like)


def random_bits_of(random):
    """The words of stochastic rounding; None without any."""
    if random is None:
        return None
    bits = bits_of(random, "random")
    if bits.format or bits.words.dtype != np.uint32:
        raise Error(f"random: elements are {bits.format or bits.words.dtype}: use "
                    "uint32")
    return bits


def given_back(words, format, shape, like):
    """The codes `words` as the type that `like` is of: a tensor on its device,
    else an array; with ml_dtypes' types where it is installed."""
    words = words.reshape(shape)
    name = _DTYPE_OF.get(format)
    if is_tensor(like):
        torch = _torch()
        kinds = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}
        kind = kinds[words.itemsize]
        out = torch.from_numpy(np.ascontiguousarray(words).view(kind))
        dtype = getattr(torch, name, None) if name else None
        if dtype is not None and words.itemsize == dtype.itemsize:
            out = out.view(dtype)
        return out.to(like.device)
    if name in ("float16", "float32", "float64"):
        return words.view(name)
    types = _ml_dtypes()
    name = _ML_DTYPE_OF.get(format)
    if types is None or name is None or not hasattr(types, name):
        return words
    dtype = np.dtype(getattr(types, name))
    return words.view(dtype) if dtype.itemsize == words.itemsize else words
