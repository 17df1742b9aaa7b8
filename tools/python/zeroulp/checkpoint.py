"""Checkpoints of quantized models on disk, by the program that the package
carries: what fits, whose bits they are, conversions to the bit.

    zeroulp.checkpoint.verify("DeepSeek-V3")             # is it sound?
    q = zeroulp.checkpoint.read("DeepSeek-V3", name)     # a Quantized
    zeroulp.checkpoint.dequantize("DeepSeek-V3", "V3-bf16")
    zeroulp.checkpoint.identify("trained-bf16", "V3-fp8").conventions

A path is a folder, a .safetensors file, an index, a .npy or .npz file. Bad
input raises zeroulp.Error: file, tensor, expected, found."""

import os
import pathlib

import numpy as np

from . import _operations
from ._arrays import _ml_dtypes
from ._library import Error
from ._program import answer_of

# NumPy's types of elements; of the others, the words and what they hold.
_PLAIN = {"BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2",
          "F16": "<f2", "U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8",
          "I64": "<i8", "F64": "<f8", "C64": "<c8"}
_CODES = {"BF16": ("<u2", "bfloat16"), "F8_E4M3": ("u1", "float8_e4m3fn"),
          "F8_E5M2": ("u1", "float8_e5m2"), "F8_E8M0": ("u1", "float8_e8m0fnu"),
          "F8_E4M3FNUZ": ("u1", "float8_e4m3fnuz"),
          "F8_E5M2FNUZ": ("u1", "float8_e5m2fnuz"), "F4": ("u1", None)}


class Report:
    """What a command found: its fields are attributes, `report` is all of them.
    True if it held: verified, the same, identified, or written."""

    def __init__(self, report, held):
        self.report, self.held = report, held

    def __bool__(self):
        return self.held

    def __getattr__(self, name):
        try:
            return self.__dict__["report"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        short = {k: v for k, v in self.report.items()
                 if not isinstance(v, (list, dict))}
        return f"Report({short})"


def _ask(command, paths, options, out=None):
    """The answer of `zeroulp checkpoint COMMAND`."""
    arguments = ["checkpoint", command, *(os.path.abspath(p) for p in paths)]
    if out is not None:
        arguments += ["--out", os.path.abspath(out)]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(option)
        elif value is not None and value is not False:
            arguments += [option, str(value)]
    return answer_of(arguments, ".")


def tensors(path, **options):
    """A dict for each tensor: name, type, shape, file, and of weights group,
    format and scale."""
    return _ask("list", [path], options)["tensors"]


def verify(path, **options):
    """Whether weights and scales fit and are sound; `faults` if not."""
    answer = _ask("verify", [path], options)
    return Report(answer, answer["held"])


def hash(path, **options):
    """SHA-256 of bytes and of values, of each tensor and of all."""
    return Report(_ask("hash", [path], options), True)


def dequantize(path, out, to="bf16", *, via=None, **options):
    """Writes the checkpoint with weights as numbers, rounded once, or by
    via="fp32" twice."""
    options = dict(options, to=to, via=via)
    return Report(_ask("dequantize", [path], options, out), True)


def requantize(path, out=None, **options):
    """Quantizes weights: to, group, scale, convention, family, scale_type,
    only, except_, lossless. True if it was written, or nothing changes; without
    `out` it only says what would change."""
    if "except_" in options:
        options["except"] = options.pop("except_")
    answer = _ask("requantize", [path], options, out)
    return Report(answer, answer["written"] or
                  answer["exact"] == len(answer["weights"]))


def rescale(path, out=None, **options):
    """Makes scales powers of two; without `out` it only says what would
    change."""
    return Report(_ask("rescale", [path], options, out), True)


def diff(a, b, **options):
    """Whether two checkpoints have the same numbers, and where they part."""
    answer = _ask("diff", [a, b], options)
    return Report(answer, answer["same"])


def identify(numbers, codes, **options):
    """Which conventions turn one checkpoint's numbers into another's codes and
    scales: `conventions` of all weights, and `tensors`."""
    answer = _ask("identify", [numbers, codes], options)
    return Report(answer, answer["exact"])


def _words(t):
    """The elements of a tensor, as they are stored."""
    kind = _PLAIN.get(t["type"]) or _CODES.get(t["type"], ("u1",))[0]
    with open(t["path"], "rb") as f:
        f.seek(t["offset"])
        data = f.read(t["bytes"])
    if len(data) != t["bytes"]:
        raise Error(f"{t['path']}: tensor {t['name']}: expected {t['bytes']} "
                    f"bytes, found {len(data)}")
    return np.frombuffer(data, kind)


def _array(t):
    """A tensor as it is: of ml_dtypes, or words, where NumPy has no type."""
    words = _words(t)
    name = _CODES.get(t["type"], (None, None))[1]
    if name is not None and _ml_dtypes() is not None:
        words = words.view(getattr(_ml_dtypes(), name))
    return words if t["type"] == "F4" else words.reshape(t["shape"])


def _numbers(t):
    """A tensor of scales as float32, exactly. Bytes are exponents."""
    words = _words(t)
    if t["type"] == "BF16":
        return (words.astype("u4") << 16).view("f4")
    if t["type"] in ("U8", "F8_E8M0"):
        return np.where(words == 255, np.nan,
                        np.ldexp(1.0, words.astype("i4") - 127)).astype("f4")
    if t["type"] == "F8_E4M3":
        return np.asarray(_operations.decode(words.reshape(1, -1), "e4m3"))[0]
    return words.astype("f4")


def _quantized(t, by_name):
    shape = t["numbers"]
    cols = shape[-1] if shape else 1
    codes = _words(t).view("u1")
    if t["format"] == "e2m1":
        codes = np.stack([codes & 15, codes >> 4], -1)
    codes = codes.reshape(-1, cols)
    height, width = (0, 0) if t["group"] == "tensor" else \
        map(int, t["group"].split("x"))
    if len(shape) > 2 and height > 1 and shape[-2] % height:
        raise Error(f"{t['path']}: tensor {t['name']}: its matrices of "
                    f"{shape[-2]} rows are no whole groups of {height}: read "
                    "it by dequantize")
    if "scale" not in t:
        scales = np.ones(1, "f4")
    else:
        scales = _numbers(by_name[t["scale"]["name"]])
    if "second_scale" in t:
        second = _numbers(by_name[t["second_scale"]])[0]
        scales = scales / second if t["second_use"] == "divide" else \
            scales * second
    groups = (-(-len(codes) // height) if height else 1,
              -(-cols // width) if width else 1)
    if scales.size == 1:
        scales = np.broadcast_to(scales, groups).copy()
    return _operations.Quantized(codes, scales.reshape(groups), t["format"],
                                 t["group"])


def read(path, name, **options):
    """One tensor: a quantized weight as a Quantized, whose dequantize("bf16")
    has the bits of the program, and any other as an array. NumPy has no type
    for BF16 and FP8: of ml_dtypes where it is installed, else words."""
    by_name = {t["name"]: t for t in tensors(path, **options)}
    if name not in by_name:
        raise Error(f"{pathlib.Path(path)}: tensor {name}: expected one of "
                    f"{len(by_name)} tensors, found none of this name")
    t = by_name[name]
    return _quantized(t, by_name) if "numbers" in t else _array(t)
