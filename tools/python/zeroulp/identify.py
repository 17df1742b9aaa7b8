"""Whose bits are these? A search by the program that the package carries: over
all definitions of a quantizer or a GEMM, in seconds."""

import pathlib
import tempfile

import numpy as np

from . import _operations
from ._arrays import bits_of
from ._library import Error
from ._program import answer_of


class Identified:
    """What was found: `exact` if every bit is given, `names` of conventions or
    recipes that give them, `fields` with the values of each field that fit,
    `tried` definitions. `report` is all that the program says."""

    def __init__(self, report):
        self.report = report
        self.exact, self.tried = report["exact"], report["tried"]
        self.names = report.get("names", [])
        self.fields = report.get("fields", {})

    def __bool__(self):
        return self.exact

    def __repr__(self):
        if not self.report["found"]:
            return f"Identified(none of {self.tried} definitions)"
        told = {k: v[0] for k, v in self.fields.items() if len(v) == 1}
        named = ", ".join(self.names) or "a definition without a name"
        return (f"Identified({'' if self.exact else 'nearest: '}{named}; " +
                ", ".join(f"{k}: {v}" for k, v in told.items()) + ")")


def _save(folder, name, bits, number):
    """Writes words as the program reads them: numbers as such, else codes."""
    words = np.ascontiguousarray(bits.words)
    if number and bits.format in ("fp32", "fp16"):
        words = words.view({"fp32": "f4", "fp16": "f2"}[bits.format])
    np.save(pathlib.Path(folder) / name, words)
    return name


def quantizer(x, codes, scales=None, *, format=None, group=None, source=None):
    """Which convention turns x into these codes and scales. `codes` may be a
    Quantized. `format` and `group` are searched for if they are not given;
    `source` says what unsigned integers in x are (bf16)."""
    if isinstance(codes, _operations.Quantized):
        if scales is None:
            scales = codes.scales
        format, group = format or codes.format.name, group or codes.group
        codes = codes.codes
    if scales is None:
        raise Error("scales: are needed beside codes")
    bits = bits_of(x, "x", source)
    if bits.format not in ("fp32", "fp16", "bf16"):
        raise Error(f"x: elements are {bits.format or bits.words.dtype}: use "
                    "float32, float16 or bfloat16")
    held = bits_of(codes, "codes", format)
    if held.format is not None:
        format = held.format
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            "identify", "quantizer", _save(folder, "x.npy", bits, True),
            "--codes", _save(folder, "codes.npy", held, False), "--scales",
            _save(folder, "scales.npy", bits_of(scales, "scales"), True)]
        for option, value in (("--format", format), ("--group", group)):
            if value is not None:
                arguments += [option, str(value)]
        if bits.format == "bf16":
            arguments += ["--dtype", "bf16"]
        return Identified(answer_of(arguments, folder))


def gemm(a, b, d, c=None, *, output=None):
    """Which recipe turns A and B, each a Quantized or codes of torch or
    ml_dtypes, into D (float32 or bfloat16; `output`="bf16" for unsigned
    integers)."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["identify", "gemm"]
        for what, x in (("a", a), ("b", b)):
            quantized = isinstance(x, _operations.Quantized)
            bits = x.bits() if quantized else bits_of(x, what)
            if bits.format is None:
                raise Error(f"{what}: elements are {bits.words.dtype}: use a "
                            "Quantized, which says what they are codes of")
            arguments += [f"--{what}", _save(folder, f"{what}.npy", bits, False),
                          f"--format-{what}", bits.format]
            if quantized:
                arguments += [f"--{what}-scales",
                              _save(folder, f"{what}_scales.npy", x.scale_bits(),
                                    True)]
        result = bits_of(d, "d", output)
        if result.format not in ("fp32", "bf16"):
            raise Error(f"d: elements are {result.format or result.words.dtype}: "
                        "use float32 or bfloat16")
        arguments += ["--d", _save(folder, "d.npy", result, True)]
        if result.format == "bf16":
            arguments += ["--dtype", "bf16"]
        if c is not None:
            arguments += ["--c", _save(folder, "c.npy", bits_of(c, "c"), True)]
        return Identified(answer_of(arguments, folder))
