"""The built library, by its Python package: ZEROULP_LIBRARY says where it is."""

import ctypes
import functools

import numpy as np


@functools.lru_cache(maxsize=None)
def zeroulp():
    """The package, or None where it or the library is missing."""
    try:
        import zeroulp as package
    except ImportError:
        return None
    return package


def recode(x, f, p):
    """FP32 codes to codes of `f`."""
    x = np.atleast_1d(np.asarray(x, np.uint32))
    return np.asarray(zeroulp().recode(x.reshape(1, -1), f.name, format="fp32",
                                       policy=p.name)).ravel()


def _call(name, *arguments):
    from zeroulp import _library
    _library.call(name, *arguments)


def _given(x):
    from zeroulp import _arrays
    return _arrays.ref(_arrays.Bits(x, None, None, None).const())


def _matrix(x):
    from zeroulp import _arrays
    return _arrays.ref(_arrays.matrix(x))


def scales(amaxes, f, kind):
    """The scales that amaxes give under the convention zeroulp: FP32 codes."""
    from zeroulp import _abi
    q = _abi.zeroulp_quantizer()
    _call("zeroulp_quantizer_from_names", b"fp32", f.name.encode(), b"zeroulp",
          kind.encode(), b"1x1", ctypes.byref(q))
    x = np.ascontiguousarray(np.atleast_2d(np.asarray(amaxes, np.uint32)))
    out = np.empty_like(x)
    _call("zeroulp_make_scales", ctypes.byref(q), _given(x), _matrix(out), None)
    return out.ravel()


def pack(packing, codes, width):
    """Rows of 12-bit codes, packed: 0 as bytes, 1 as words."""
    codes = np.ascontiguousarray(codes.astype(np.uint16))
    out = np.zeros((codes.shape[0], width), np.uint8)
    _call("zeroulp_pack", packing, _given(codes), _matrix(out))
    return out


def unpack(packing, packed, count):
    packed = np.ascontiguousarray(packed.astype(np.uint8))
    out = np.zeros((packed.shape[0], count), np.uint16)
    _call("zeroulp_unpack", packing, _given(packed), _matrix(out))
    return out


def ue8m0_bytes(scales):
    """FP32 codes of scales, four to a word: their bytes."""
    x = np.zeros((1, (len(scales) + 3) // 4 * 4), np.uint32)
    x[0, :len(scales)] = scales
    out = np.zeros((x.shape[1] // 4, 4), np.uint32)
    _call("zeroulp_lay_out_scales", 3, _given(x), _matrix(out))
    words = np.ascontiguousarray(out[:, 0])
    return words.view(np.uint8)[:len(scales)]


def _words(x, f):
    kind = np.uint8 if f.bits <= 8 else np.uint16 if f.bits <= 16 else np.uint32
    return np.ascontiguousarray(x.astype(kind))


def _codes(d, stored):
    return np.asarray(d).view(np.uint16 if stored.bits == 16 else np.uint32)


def step(path, a, b, c, f, g, stored):
    """The core: rows of codes of `f` and `g`, and codes of c, give D."""
    return _codes(zeroulp().step(path, _words(a, f), _words(b, g),
                                 _words(c, stored)), stored)


def multiply(path, a, b, c, f, g, stored):
    """The engine: of A B^T + C the outputs on the diagonal, 128 at once."""
    out = []
    for first in range(0, len(c), 128):
        x, y, z = (w[first:first + 128] for w in (a, b, c))
        every = np.repeat(z[:, None], len(z), 1)
        d = zeroulp().multiply(path, _words(x, f), _words(y, g),
                               _words(every, stored))
        out.append(_codes(d, stored).diagonal())
    return np.concatenate(out)
