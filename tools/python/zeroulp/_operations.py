"""The operations: as conformance/SPEC.md defines them, under its names."""

import ctypes
import json
import pathlib

import numpy as np

from . import _abi, _blocks, _html, _values
from ._arrays import (UNSIGNED, bits_of, format_name, given_back, matrix, number,
                      random_bits_of, ref, stand_in)
from ._library import Error, call, names
from ._values import format as format_of
from ._values import format_called


def _empty(rows, cols, fmt):
    return np.empty((rows, cols), UNSIGNED[fmt.bytes])


def _format_of(bits, what, argument="format"):
    if bits.format is None:
        raise Error(f"{what}: elements are {bits.words.dtype}: say by "
                    f"{argument}= what they are codes of")
    return format_of(bits.format)


def floats_of(x, what, widened=()):
    """A matrix of FP32 numbers, or of the formats that are `widened` to it, as
    bits of FP32."""
    bits = bits_of(x, what)
    if bits.format == "fp64" and not hasattr(x, "dtype"):
        bits = bits_of(np.asarray(x, np.float32), what)
    if bits.format in widened:
        bits = bits_of(decode(x), what)
    if bits.format != "fp32":
        raise Error(f"{what}: elements are {bits.format or bits.words.dtype}: "
                    "use float32")
    return bits


def scales_of(x, what):
    """A matrix of scales, as bits of FP32: exact from float16, bfloat16 and
    float8_e8m0fnu."""
    return floats_of(x, what, widened=("bf16", "fp16", "ue8m0"))


def _like_bits(words, fmt, bits):
    return given_back(words, fmt.name, bits.shape, bits.like)


def _inputs(*matrices):
    """Structs that stay alive for a call."""
    return [None if m is None else m.const() for m in matrices]


def recode(x, to, *, format=None, rounding="nearest_even",
           policy="cuda_satfinite", random=None):
    """Converts codes or numbers to the format `to`, rounded once.

    `format` says what unsigned integers in `x` are codes of. Stochastic
    rounding takes `random`, uint32 of x's shape. Returns an array of x's shape.
    SPEC R1 to R8, C1 to C8. Raises Error."""
    bits = bits_of(x, "x", format)
    source, target = _format_of(bits, "x"), format_of(to)
    mode = _values.number_of(_abi.ZEROULP_ROUNDINGS, rounding, "rounding")
    chance = random_bits_of(random)
    out = _empty(*bits.words.shape, target)
    given, drawn = _inputs(bits, chance)
    call("zeroulp_recode", ref(source.struct), ref(given), ref(target.struct),
         ref(matrix(out)), mode, ref(_values.policy(policy)), ref(drawn))
    return _like_bits(out, target, bits)


def encode(x, format="e4m3", *, rounding="nearest_even", policy="cuda_satfinite",
           random=None):
    """Numbers (float64, 32, 16, bfloat16) to codes of `format`: see recode."""
    return recode(x, format, rounding=rounding, policy=policy, random=random)


def decode(codes, format=None, *, to="fp32"):
    """Codes to numbers, float32 or with to="fp64" float64: exact."""
    return recode(codes, to, format=format, policy="keep_specials")


def magnitudes(fmt):
    """The numbers of a format of at most 8 bits that are finite and not
    negative, in the order of their codes."""
    codes = np.arange(1 << (fmt.bits - 1), dtype=np.uint8).reshape(1, -1)
    numbers = decode(codes, fmt.name)[0]
    return numbers[np.isfinite(numbers)]


class Quantized:
    """A quantized matrix: `codes` and `scales` (one for each group: float32,
    float16, bfloat16 or float8_e8m0fnu), `format`, `group`, `convention` and the kind of
    `scale`.

    The codes are of the caller's library; scales are a matrix."""

    def __init__(self, codes, scales, format, group="1x128", *, convention="unknown",
                 scale="fp32"):
        self.codes, self.scales = codes, scales
        self.format, self.group = format_of(format), str(group)
        self.convention, self.scale = str(convention), str(scale)
        bits = bits_of(stand_in(codes), "codes", self.format.name)
        self.shape = bits.words.shape
        wanted = group_counts(self.shape, self.group)
        found = scales_of(stand_in(scales), "scales").words.shape
        if found != wanted:
            raise Error(f"scales: {found[0]} x {found[1]}, but "
                        f"{self.shape[0]} x {self.shape[1]} codes in groups "
                        f"{self.group} need {wanted[0]} x {wanted[1]}")

    def __repr__(self):
        m, n = self.shape
        return (f"Quantized({m} x {n} {self.format.name}, {self.scale} scales of "
                f"{self.group}, {self.convention})")

    def _repr_html_(self):
        return _html.quantized(self)

    def __eq__(self, other):
        """Whether format, groups, codes and scales have the same bits."""
        if not isinstance(other, Quantized):
            return NotImplemented
        return (self.format, self.group, self.shape) == \
            (other.format, other.group, other.shape) and \
            np.array_equal(self.bits().words, other.bits().words) and \
            np.array_equal(self.scale_bits().words, other.scale_bits().words)

    __hash__ = None

    def bits(self):
        return bits_of(self.codes, "codes", self.format.name)

    def scale_bits(self):
        return scales_of(self.scales, "scales")

    def dequantize(self, to="fp32"):
        """code * scale, float32 or of another format: rounded once, so that
        "bf16" is not always what float32 becomes as BF16. SPEC Q10."""
        bits, scales, target = self.bits(), self.scale_bits(), format_of(to)
        out = _empty(*self.shape, target)
        given, by = _inputs(bits, scales)
        call("zeroulp_dequantize_to", ref(self.format.struct),
             ref(_values.group(self.group)), ref(given), ref(by),
             ref(target.struct), ref(matrix(out)))
        return _like_bits(out, target, bits)

    def retile(self, to=None, *, rule="amax"):
        """The transpose, quantized again with tiles along the other dimension:
        see zeroulp.retile."""
        return retile(self, to, rule=rule)

    @property
    def saturated(self):
        """The share of codes that are the format's largest number."""
        words = self.bits().words
        largest = encode(np.full((1, 1), np.inf, np.float32), self.format)
        largest = bits_of(largest, "largest", self.format.name).words[0, 0]
        magnitudes = words & ((1 << (self.format.bits - 1)) - 1)
        return float(np.mean(magnitudes == largest)) if words.size else 0.0

    def save(self, folder):
        """Writes the folder that the program's gemm, retile and dequantize
        read."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        meta = {"zeroulp": 1, "format": self.format.name, "group": self.group,
                "scale": self.scale, "layout": "row_major",
                "convention": self.convention, "shape": list(self.shape)}
        scales = self.scale_bits().words
        (folder / "scales.npy").unlink(missing_ok=True)
        if self.group == "tensor":
            meta["scale_bits"] = f"{scales[0, 0]:08x}"
        else:
            turned = scales.T if _k_along_rows(self.group) else scales
            np.save(folder / "scales.npy",
                    np.ascontiguousarray(turned).view(np.float32))
        np.save(folder / "codes.npy", np.ascontiguousarray(self.bits().words))
        (folder / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")

    @classmethod
    def load(cls, folder):
        """Reads what save() or `zeroulp quantize` wrote, scales row-major."""
        folder = pathlib.Path(folder)
        try:
            return cls._read(folder, json.loads((folder / "meta.json").read_text()))
        except (OSError, EOFError, KeyError, TypeError, AttributeError,
                ValueError) as e:
            if isinstance(e, Error):
                raise
            what = f"there is no {e}" if isinstance(e, KeyError) else e
            raise Error(f"{folder}: no quantized matrix can be read: {what}") \
                from None

    @classmethod
    def _read(cls, folder, meta):
        if meta.get("layout") != "row_major":
            raise Error(f"{folder}: scales lie as {meta.get('layout')}: "
                        "row_major alone is read here")
        group = meta["group"]
        if group == "tensor":
            word = np.full((1, 1), int(meta["scale_bits"], 16), np.uint32)
            scales = word.view(np.float32)
        else:
            scales = np.load(folder / "scales.npy", allow_pickle=False)
            scales = scales.T if _k_along_rows(group) else scales
        codes = np.load(folder / "codes.npy", allow_pickle=False)
        return cls(given_back(codes, meta["format"], codes.shape, codes), scales,
                   meta["format"], group, convention=meta["convention"],
                   scale=meta["scale"])


def _k_along_rows(group):
    """Whether tiles lie along columns: files have such scales transposed."""
    value = _values.group(group)
    return value.cols == 1 and value.rows != 1


def group_counts(shape, group):
    """How many groups a matrix has: rows, columns."""
    value = _values.group(group)
    counts = []
    for length, size in zip(shape, (value.rows, value.cols)):
        counts.append(-(-length // size) if size else min(length, 1))
    return tuple(counts)


def quantizer(source, format="e4m3", group="1x128", convention="zeroulp",
              scale=None):
    """The struct of a quantizer, from names."""
    struct = _abi.zeroulp_quantizer()
    how = _values.convention(convention)
    call("zeroulp_quantizer_from_names", format_name(source).encode(),
         format_of(format).name.encode(), how.name.encode(),
         None if scale is None else str(scale).encode(), str(group).encode(),
         ctypes.byref(struct))
    return struct


def quantize(x, format="e4m3", group="1x128", convention="zeroulp", *,
             scale=None, scales=None, amax=None, source=None):
    """Quantizes numbers (float32, float16, bfloat16): a scale for each group.

    `source` says what unsigned integers in x are: bf16, where ml_dtypes is not.
    `group` is RxC, 0 for a whole dimension, or "tensor". `scale` is the kind:
    fp32, pow2, pow2_down, pow2_nearest, ocp; the convention's own if None.
    `scales` are given ones (static scaling; 1 is a cast), `amax` given amaxes
    (delayed scaling); a number or a float32 matrix with one for each group.
    Returns Quantized. SPEC Q1 to Q14. Raises Error; of float64, as rounding it
    to float32 first would round twice."""
    bits = bits_of(x, "x", source)
    if bits.format == "fp64":
        raise Error("x: elements are float64: a quantizer takes float32, "
                    "float16 or bfloat16; rounding float64 to one of them first "
                    "would be a second rounding, so that it is yours to do")
    target, how = format_of(format), _values.convention(convention)
    q = quantizer(_format_of(bits, "x", "source").name, target, group, how, scale)
    counts = group_counts(bits.words.shape, group)
    if scales is not None and amax is not None:
        raise Error("scales and amax: one of them makes the codes")
    codes = _empty(*bits.words.shape, target)
    given = bits.const()
    if scales is not None:
        by = _per_group(scales, "scales", counts)
        out = by.words.copy()
        call("zeroulp_quantize_by_scale", ref(q), ref(given), ref(by.const()),
             ref(matrix(codes)))
    else:
        out = np.empty(counts, np.uint32)
        if amax is None:
            call("zeroulp_quantize", ref(q), ref(given), ref(matrix(codes)),
                 ref(matrix(out)))
        else:
            by = _per_group(amax, "amax", counts)
            call("zeroulp_quantize_by_amax", ref(q), ref(given),
                 ref(by.const()), ref(matrix(codes)), ref(matrix(out)))
    return Quantized(_like_bits(codes, target, bits),
                     given_back(out, "fp32", counts, bits.like), target, group,
                     convention=how.name, scale=scale_kind(q))


def _per_group(given, what, counts):
    if not hasattr(given, "shape") and not isinstance(given, (list, tuple)):
        given = np.full(counts, number(given, what), np.float32)
    bits = scales_of(given, what)
    if bits.words.shape != counts:
        raise Error(f"{what}: {bits.words.shape[0]} x {bits.words.shape[1]}, but "
                    f"{counts[0]} x {counts[1]} groups")
    return bits


def scale_kind(q):
    """The name of a quantizer's kind of scale."""
    return names(_abi.ZEROULP_SCALE_KINDS)[q.scale]


def need_quantized(q):
    if not isinstance(q, Quantized):
        raise Error(f"q: a {type(q).__name__}: use a Quantized, such as "
                    "Quantized(codes, scales, format, group)")


def dequantize(q, to="fp32"):
    """The numbers of a Quantized: see Quantized.dequantize."""
    need_quantized(q)
    return q.dequantize(to)


def retiling(q, target, rule):
    """The struct of a re-tiling, from names."""
    group = _values.group(q.group)
    if group.rows != 1:
        raise Error(f"q: scales of {q.group}: 1xC is re-tiled")
    return _abi.zeroulp_retiling(
        q.format.struct, target.struct,
        _values.number_of(_abi.ZEROULP_SCALE_KINDS, q.scale, "scale"), group.cols,
        _values.number_of(_abi.ZEROULP_RETILE_RULES, rule, "rule"))


def retile(q, to=None, *, rule="amax"):
    """The transpose of a Quantized of 1xC, with tiles of C along the other
    dimension, in the format `to`. `rule` is amax or max_scale. SPEC W1 to W7."""
    need_quantized(q)
    target = q.format if to is None else format_of(to)
    r = retiling(q, target, rule)
    bits, scales = q.bits(), q.scale_bits()
    m, n = q.shape
    codes = _empty(n, m, target)
    out = np.empty(group_counts((n, m), q.group), np.uint32)
    given, by = _inputs(bits, scales)
    call("zeroulp_retile", ref(r), ref(given), ref(by), ref(matrix(codes)),
         ref(matrix(out)))
    return Quantized(given_back(codes, target.name, codes.shape, bits.like),
                     given_back(out, "fp32", out.shape, bits.like), target,
                     q.group, convention=q.convention, scale=q.scale)


class Side:
    """One side of D = A B^T: mn x k codes of a format with scales for each of a
    group, or without: None."""

    def __init__(self, format, group, mn, k):
        self.format, self.group, self.mn, self.k = format, group, mn, k

    def covers(self, wanted):
        """Whether the scales cover the operand as a recipe wants it."""
        def of(size, length):
            return min(size, length) if size else length
        return self.group is None or (
            of(self.group.rows, self.mn) == of(wanted.rows, self.mn) and
            of(self.group.cols, self.k) == of(wanted.cols, self.k))


class _Operand(Side):
    """A side in memory of the CPU."""

    def __init__(self, x, what, format):
        if isinstance(x, Quantized):
            self.bits, self.scales = x.bits(), x.scale_bits()
            format, group = x.format, _values.group(x.group)
            # Columns of tiles have K along their rows.
            if group.cols == 1 and group.rows != 1:
                self.bits.words = self.bits.words.T
                self.scales.words = self.scales.words.T
                group = _abi.zeroulp_group(1, group.rows)
        else:
            self.bits, self.scales = bits_of(x, what, format), None
            format, group = _format_of(self.bits, what), None
        super().__init__(format, group, *self.bits.words.shape)

    def struct(self):
        scales = _abi.zeroulp_const_matrix() if self.scales is None else \
            self.scales.const()
        return _abi.zeroulp_operand(self.format.struct, self.bits.const(), scales)


def recipe_of_operands(recipe, x, y, adds, **members):
    """The struct of a recipe for two Sides, with other `members`, and whether it
    adds, as it is told to or by itself. Raises Error if they do not fit."""
    how = _values.recipe(recipe).replace(**members)
    if x.k != y.k:
        raise Error(f"a is {x.mn} x {x.k}, b is {y.mn} x {y.k}: both must have "
                    "the same K")
    for side, what in ((x, "a"), (y, "b")):
        wanted = getattr(how.struct, what)
        if not side.covers(wanted):
            raise Error(f"{what}: scales of {_values.group_name(side.group)}, "
                        f"but recipe {how.name} needs "
                        f"{_values.group_name(wanted)}")
    r = _abi.zeroulp_recipe()
    call("zeroulp_recipe_for_operands", ref(how.struct), ref(x.format.struct),
         ref(y.format.struct), ctypes.byref(r))
    if adds:
        r.epilogue = _abi.ZEROULP_EPILOGUE_ACCUMULATE
    return r, r.epilogue == _abi.ZEROULP_EPILOGUE_ACCUMULATE


def needed_addend(c, x, y):
    """c, which has the shape of D and elements of float32."""
    found = floats_of(stand_in(c), "c").words.shape
    if found != (x.mn, y.mn):
        raise Error(f"c: {found[0]} x {found[1]}, but D is {x.mn} x {y.mn}")
    return c


def gemm(a, b, recipe="deepgemm.1d2d", *, c=None, interval=None, splits=None,
         output=None, format=None):
    """D = A B^T by a recipe: A m x k, B n x k, each a Quantized, or codes
    without scales (`format` says of what, for unsigned integers).

    `c` (m x n float32) is added at the end; zeros, if the recipe adds and there
    is none. `interval`, `splits` and `output`
    ("fp32", "bf16") replace the recipe's own. Returns m x n numbers. SPEC G1 to
    G12. Raises Error if shapes, groups or formats do not fit the recipe.

    A recipe of block_recipes(), such as "nvfp4", takes two QuantizedBlocks, `c`
    and `output`, fp32 if None. SPEC G14."""
    if isinstance(recipe, str) and recipe in _blocks.block_recipes():
        if interval is not None or splits is not None:
            raise Error(f"recipe {recipe} takes no interval and no splits")
        return _blocks.gemm_blocks(a, b, recipe, c=c, output=output)
    x, y = _Operand(a, "a", format), _Operand(b, "b", format)
    r, adds = recipe_of_operands(recipe, x, y, c is not None, interval=interval,
                                 splits=splits, output=output)
    addend = None
    if adds:
        addend = floats_of(needed_addend(
            np.zeros((x.mn, y.mn), np.float32) if c is None else c, x, y), "c")
    wide = format_called(r.output)
    out = _empty(x.mn, y.mn, wide)
    given = None if addend is None else addend.const()
    call("zeroulp_gemm", ref(r), ref(x.struct()), ref(y.struct()), ref(given),
         ref(matrix(out)))
    return given_back(out, wide.name, out.shape, x.bits.like)


def multiply(path, a, b, c=None):
    """D = the chain of steps of a tensor-core path over K, from C: what one
    instruction's accumulator holds. `a` m x k and `b` n x k are codes of the
    path's formats; `c` and D are m x n codes of its accumulator. SPEC T9."""
    p = _values.path(path)
    return _chain("zeroulp_multiply", p.struct, p.struct, (a, b), (None, None),
                  c)


def multiply_block_scaled(path, a, scale_a, b, scale_b, c=None):
    """D = the chain of steps of a path with block scales over K, from C.

    `a` m x k and `b` n x k are codes of the path's formats, a byte each, also of
    FP4. `scale_a` m x ceil(k / block) and `scale_b` n x ceil(k / block) are
    scales, or their bytes: of ue8m0, or of E4M3 without its sign. `c` and D are
    m x n numbers. NVFP4's scale of a whole tensor is not applied. SPEC T17 to
    T20. Raises Error if shapes or formats do not fit the path."""
    p = _values.block_scaled_path(path)
    of = ("ue8m0", "e4m3")[p.scale]
    scales = [bits_of(s, what, of)
              for s, what in ((scale_a, "scale_a"), (scale_b, "scale_b"))]
    return _chain("zeroulp_multiply_block_scaled", p.struct, p.path, (a, b),
                  scales, c)


def _chain(function, struct, path, operands, scales, c):
    """The chain of a function that takes `struct`, of which `path` is the path."""
    x, y = (_path_operand(given, what, f) for given, what, f in
            zip(operands, "ab", (path.a, path.b)))
    stored = format_called(path.accumulator.stored)
    out = _empty(x.words.shape[0], y.words.shape[0],
                 format_of("fp32"))  # elements of 4 bytes, whatever the format
    start = None if c is None else bits_of(c, "c", stored.name)
    if start is not None:
        start.words = start.words.astype(np.uint32)
    first = _inputs(start)[0]
    ops = [_abi.zeroulp_operand(f, m.const(), _abi.zeroulp_const_matrix()
                                if s is None else s.const())
           for f, m, s in ((path.a, x, scales[0]), (path.b, y, scales[1]))]
    call(function, ref(struct), ref(ops[0]), ref(ops[1]), ref(first),
         ref(matrix(out)))
    return given_back(out.astype(UNSIGNED[stored.bytes]), stored.name, out.shape,
                      x.like)


def step(path, a, b, c=None):
    """One tensor-core step for each row: D[i] = c[i] + sum over k of
    a[i, k] b[i, k]. `a` and `b` are n x count codes of the path's formats, `c`
    and D n codes of its accumulator. SPEC T1 to T15."""
    p = _values.path(path)
    x, y = _path_operand(a, "a", p.a), _path_operand(b, "b", p.b)
    stored = format_called(p.accumulator.stored)
    rows = x.words.shape[0]
    out = _empty(rows, 1, stored)
    start = None if c is None else bits_of(c, "c", stored.name)
    if start is not None:
        start.words = start.words.reshape(-1, 1)
    given, others, first = _inputs(x, y, start)
    call("zeroulp_step", ref(p.struct), ref(given), ref(others), ref(first),
         ref(matrix(out)))
    return given_back(out, stored.name, (rows,), x.like)


def _path_operand(x, what, struct):
    return bits_of(x, what, format_called(struct).name)
