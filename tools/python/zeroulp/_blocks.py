"""Block scales: the quantizers and GEMMs of MXFP8, MXFP6, MXFP4 and NVFP4, and what
training in NVFP4 does besides: stochastic rounding, the Hadamard transform."""

import ctypes

import numpy as np

from . import _abi
from ._arrays import bits_of, given_back, matrix, random_bits_of, ref
from ._library import Error, call, names
from ._values import format as format_of
from ._values import path as path_of

_SCALES = ("ue8m0", "ue4m3")
_LEVELS = ("none", "tensor", "row")
_RANDOM_SOURCES = ("philox4x32_10", "splitmix64")
# What is multiplied by before the transform, by whose it is.
_SIGNS = {"transformer_engine": "+++-+------+-+--"}


def block_conventions():
    """The names of all conventions of blocks."""
    return names(_abi.ZEROULP_BLOCK_CONVENTIONS)


def block_recipes():
    """The names of all recipes with block scales."""
    return names(_abi.ZEROULP_BLOCK_RECIPES)


def _blocks(shape, block):
    return shape[0], -(-shape[1] // block)


class QuantizedBlocks:
    """A matrix quantized in blocks of K: `codes`, a byte each also of FP4;
    `scales`, uint8, one for each row and `block` elements, of the format
    `scale` (ue8m0 or ue4m3); `second`, float32 of 1 x 1 or m x 1, or None.

    An element is code * scale * second. SPEC Q15."""

    def __init__(self, codes, scales, format, scale, block, second=None, *,
                 convention="unknown"):
        self.codes, self.scales, self.second = codes, scales, second
        self.format, self.scale, self.block = format_of(format), scale, int(block)
        self.convention = str(convention)
        if scale not in _SCALES:
            raise Error(f"scale {scale!r}: use ue8m0 or ue4m3")
        if self.block < 1:
            raise Error(f"block: {self.block}: use 1 or more")
        self.shape = self.bits().words.shape
        found, wanted = self.scale_bits().words.shape, _blocks(self.shape, self.block)
        if found != wanted:
            raise Error(f"scales: {found[0]} x {found[1]}, but {self.shape[0]} x "
                        f"{self.shape[1]} codes in blocks of {self.block} need "
                        f"{wanted[0]} x {wanted[1]}")
        if second is not None and self.second_bits().words.shape not in \
                ((1, 1), (self.shape[0], 1)):
            raise Error("second: use one scale, 1 x 1, or one for each row, m x 1")

    def __repr__(self):
        m, n = self.shape
        level = "" if self.second is None else ", two levels"
        return (f"QuantizedBlocks({m} x {n} {self.format.name}, {self.scale} "
                f"scales of 1x{self.block}{level}, {self.convention})")

    def bits(self):
        return bits_of(self.codes, "codes", self.format.name)

    def scale_bits(self):
        return bits_of(self.scales, "scales", ("ue8m0", "e4m3")[
            _SCALES.index(self.scale)])

    def second_bits(self):
        if self.second is None:
            return None
        bits = bits_of(self.second, "second")
        if bits.format != "fp32":
            raise Error(f"second: elements are {bits.format}: use float32")
        return bits

    def dequantize(self, to="fp32"):
        """code * scale * second, rounded once to the format `to`."""
        bits, target = self.bits(), format_of(to)
        out = np.empty(self.shape, f"u{target.bytes}")
        scales, second = self.scale_bits().const(), self.second_bits()
        given = bits.const()
        level = None if second is None else second.const()
        call("zeroulp_dequantize_blocks", ref(self.format.struct),
             _SCALES.index(self.scale), self.block, ref(given), ref(scales),
             ref(level), ref(target.struct), ref(matrix(out)))
        return given_back(out, target.name, bits.shape, bits.like)

    def interleaved(self):
        """The scales in the order that the tensor core's products expect, uint8
        of one dimension: tiles of 128 rows by 4 blocks. SPEC Q18."""
        return interleave_scales(self.scales)


def interleave_scales(scales):
    """Block scales, m x n bytes, as tiles of 128 rows by 4 blocks, 512 bytes
    each: what cuBLASLt calls VEC32_UE8M0 and VEC16_UE4M3. SPEC Q18."""
    words = np.ascontiguousarray(bits_of(scales, "scales", "ue8m0").words)
    m, n = words.shape
    out = np.empty((1, -(-m // 128) * -(-n // 4) * 512), np.uint8)
    given = bits_of(words, "scales", "ue8m0").const()
    call("zeroulp_interleave_scales", ref(given), ref(matrix(out)))
    return out[0]


def separate_scales(interleaved, rows, blocks):
    """The inverse of interleave_scales: rows x blocks bytes."""
    words = np.ascontiguousarray(
        bits_of(interleaved, "interleaved", "ue8m0").words.reshape(1, -1))
    out = np.empty((rows, blocks), np.uint8)
    given = bits_of(words, "interleaved", "ue8m0").const()
    call("zeroulp_separate_scales", ref(given), ref(matrix(out)))
    return out


def _convention_shape(name):
    """The format of the scales and the block of a convention."""
    scale, block = ctypes.c_int32(), ctypes.c_int32()
    call("zeroulp_block_convention_from_name", name.encode(), ctypes.byref(scale),
         ctypes.byref(block))
    return _SCALES[scale.value], block.value


def _numbers(x, source, what):
    """The bits of x, which must be numbers."""
    bits = bits_of(x, "x", source)
    if bits.format not in ("fp32", "fp16", "bf16"):
        raise Error(f"x: elements are {bits.format or bits.words.dtype}: {what} "
                    "takes float32, float16 or bfloat16")
    return bits


def random_words(shape, seed, *, bits=32, source="philox4x32_10", first=0):
    """Words of 32 random bits, uint32 of `shape` (m, n), for stochastic rounding:
    those with the indices first, first + 1, ... of a source: philox4x32_10, which is
    cuRAND's, or splitmix64. Only the highest `bits` are kept. SPEC Q20."""
    if source not in _RANDOM_SOURCES:
        raise Error(f"source {source!r}: use {' or '.join(_RANDOM_SOURCES)}")
    words = np.empty(shape, np.uint32)
    if words.ndim != 2:
        raise Error(f"shape {shape}: two dimensions")
    call("zeroulp_random_words", _RANDOM_SOURCES.index(source), int(bits), int(seed),
         int(first), ref(matrix(words)))
    return words


def hadamard(x, signs=None, *, size=16, path=None, scale=None, format=None,
             source=None):
    """The Hadamard transform of each `size` consecutive elements of a row: a power
    of two from 2 to 1024, which divides K.

    y[i, j] = scale * sum over e of signs[e] * (-1)^popcount(e & j) * x[i, e]

    `signs` are 1 or -1, a text of + and -, or "transformer_engine"; `scale` is
    1 / sqrt(size) if None. Sums are FP32 in a butterfly; with `path`, a name of
    paths(), they are the steps of that tensor core. `format` is that of the result:
    x's if None. `source` says what unsigned integers in x are. SPEC Q21."""
    bits = _numbers(x, source, "a transform")
    target = format_of(format or bits.format)
    flips = None
    if signs is not None:
        text = _SIGNS.get(signs, signs) if isinstance(signs, str) else signs
        if len(text) != size:
            raise Error(f"signs: {len(text)}, but blocks of {size}")
        flips = (ctypes.c_int32 * size)(
            *({"+": 1, "-": -1}.get(s, 0) if isinstance(s, str) else int(s)
              for s in text))
    by = None if path is None else path_of(path).struct
    factor = 0 if scale is None else int(np.float32(scale).view(np.uint32))
    if scale is not None and factor == 0:
        raise Error(f"scale: {scale}: use another than 0")
    how = _abi.zeroulp_hadamard_transform(format_of(bits.format).struct,
                                          target.struct, int(size), factor)
    out = np.empty(bits.words.shape, f"u{target.bytes}")
    given = bits.const()
    call("zeroulp_hadamard", ref(how), ref(by), flips, ref(given),
         ref(matrix(out)))
    return given_back(out, target.name, bits.shape, bits.like)


def quantize_blocks(x, convention="nvfp4", format=None, *, second=None,
                    scale_max=448, block_rows=1, random=None, source=None):
    """Quantizes numbers (float32, float16, bfloat16) in blocks of K, a scale of
    one byte each, by a name of block_conventions().

    `format` is e4m3 if None, or e2m1 for scales of ue4m3, which take no other.
    `second` says what an FP32 scale of the second level covers: "none",
    "tensor" (ue4m3's, if None) or "row". `scale_max`, 448 or 256, is the block
    scale that the largest amax gets. `block_rows` rows share a block's scale, which
    stands in each: 16 for NVFP4's weights. `random`, uint32 of x's shape such as of
    random_words, rounds elements stochastically. `source` says what unsigned
    integers in x are. Returns QuantizedBlocks. SPEC Q15 to Q19. Raises Error."""
    bits = _numbers(x, source, "a quantizer")
    name = str(convention)
    scale, block = _convention_shape(name)
    level = second or ("tensor" if scale == "ue4m3" else "none")
    if level not in _LEVELS:
        raise Error(f"second {level!r}: use none, tensor or row")
    target = format_of(format or ("e2m1" if scale == "ue4m3" else "e4m3"))
    shape = bits.words.shape
    codes = np.empty(shape, f"u{target.bytes}")
    scales = np.empty(_blocks(shape, block), np.uint8)
    extra = None if level == "none" else \
        np.empty((shape[0] if level == "row" else 1, 1), np.uint32)
    given = bits.const()
    words = random_bits_of(random)
    drawn = None if words is None else words.const()
    how = _abi.zeroulp_block_quantizer(
        name.encode(), format_of(bits.format).struct, target.struct,
        _LEVELS.index(level), int(scale_max), int(block_rows))
    call("zeroulp_quantize_blocks_by", ref(how), ref(given), ref(drawn),
         ref(matrix(codes)), ref(matrix(scales)),
         ref(None if extra is None else matrix(extra)))
    return QuantizedBlocks(
        given_back(codes, target.name, bits.shape, bits.like), scales, target,
        scale, block, None if extra is None else extra.view(np.float32),
        convention=name)


def gemm_blocks(a, b, recipe, *, c=None, output=None):
    """gemm by a recipe with block scales: see zeroulp.gemm."""
    for x, what in ((a, "a"), (b, "b")):
        if not isinstance(x, QuantizedBlocks):
            raise Error(f"{what}: a {type(x).__name__}: recipe {recipe} takes a "
                        "QuantizedBlocks, such as of quantize_blocks")
    if a.shape[1] != b.shape[1]:
        raise Error(f"a is {a.shape[0]} x {a.shape[1]}, b is {b.shape[0]} x "
                    f"{b.shape[1]}: both must have the same K")
    wide = format_of(output or "fp32")
    kept = [(x.bits(), x.scale_bits(), x.second_bits()) for x in (a, b)]
    ops = [_abi.zeroulp_operand(x.format.struct, bits.const(), scales.const())
           for x, (bits, scales, _) in zip((a, b), kept)]
    levels = [None if s is None else s.const() for _, _, s in kept]
    addend = None if c is None else bits_of(c, "c")
    if addend is not None and addend.format != "fp32":
        raise Error("c: use float32")
    out = np.empty((a.shape[0], b.shape[0]), np.uint32)
    start = None if addend is None else addend.const()
    call("zeroulp_gemm_block_scaled", str(recipe).encode(), ref(ops[0]),
         ref(levels[0]), ref(ops[1]), ref(levels[1]), ref(start),
         ref(wide.struct), ref(matrix(out)))
    words = out if wide.bytes == 4 else out.astype(np.uint16)
    return given_back(words, wide.name, words.shape, kept[0][0].like)
