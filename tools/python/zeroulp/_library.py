"""The compiled library: found, checked, called."""

import ctypes
import functools
import os
import pathlib

from . import _abi


class Error(ValueError):
    """A request that the library refuses: the text says what, where, and what
    it takes."""


class CudaError(RuntimeError):
    """CUDA failed, or the GPU is missing or of another kind than Hopper."""


class InternalError(RuntimeError):
    """A defect of the library."""


def _find():
    given = os.environ.get("ZEROULP_LIBRARY")
    if given:
        return os.path.abspath(given)
    folder = pathlib.Path(__file__).absolute().parent
    beside = sorted(folder.glob("libzeroulp.so*"))
    if not beside:
        raise ImportError(
            "zeroulp: libzeroulp.so is not in the package: install it with "
            "`pip install ./tools/python`, or set ZEROULP_LIBRARY to a build of "
            "the library with -DBUILD_SHARED_LIBS=ON")
    return str(beside[0])


def _load():
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"zeroulp: {path} cannot be loaded: {e}") from None
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(
                f"zeroulp: {path} has no {name}: it is older than this package"
            ) from None
        function.restype, function.argtypes = result, arguments
    version = library.zeroulp_abi_version()
    if version != _abi.ZEROULP_ABI_VERSION:
        raise ImportError(
            f"zeroulp: {path} has ABI {version}, this package speaks "
            f"{_abi.ZEROULP_ABI_VERSION}")
    return library


library = _load()
version = library.zeroulp_version().decode()


def call(name, *arguments, of=library):
    """Calls a function that returns a status; raises what the status says."""
    status = getattr(of, name)(*arguments)
    if status == _abi.ZEROULP_OK:
        return
    last_error = of.zeroulp_last_error
    last_error.restype = ctypes.c_char_p
    text = last_error().decode()
    text = text.removeprefix(name + ": ")
    if status == _abi.ZEROULP_INVALID_ARGUMENT:
        raise Error(text)
    if status == _abi.ZEROULP_OUT_OF_MEMORY:
        raise MemoryError(text)
    if status == _abi.ZEROULP_CUDA_ERROR:
        raise CudaError(text)
    raise InternalError(text)


@functools.lru_cache(maxsize=None)
def names(table):
    """The names of a table of the ABI, in order."""
    all_names = []
    while True:
        name = library.zeroulp_name(table, len(all_names))
        if name is None:
            return tuple(all_names)
        all_names.append(name.decode())
