"""Whose bits are these? A search by the suite's library: over all definitions of
a quantizer or a GEMM, in seconds."""

import json

from . import _blocks, _operations, _suite
from ._arrays import bits_of, format_name
from ._library import Error


class Identified:
    """What was found: `exact` if every bit is given, `names` of conventions or
    recipes that give them, `fields` with the values of each field that fit,
    `tried` definitions. `report` is all that was found."""

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


def _searched(target, settings, words):
    text = ",".join(f"{name}={value}" for name, value in settings.items()
                    if value is not None)
    held, count = _suite.matrices(words)
    return Identified(json.loads(_suite.answer(
        "zeroulp_suite_identify", target.encode(), text.encode(), held, count)))


def _scale_words(scales, what):
    """Scales as bits, and what the bits are: unsigned integers are exponents, or
    words of four."""
    bits = bits_of(scales, what)
    if bits.format == "ue8m0":
        return bits, "ue8m0"
    if bits.format is not None:
        return _operations.scales_of(scales, what), "fp32"
    kinds = {1: "ue8m0", 4: "packed_ue8m0"}
    if bits.words.itemsize not in kinds:
        raise Error(f"{what}: elements are {bits.words.dtype}: use float32, or "
                    "uint8 with the exponents of ue8m0, or uint32 with four of "
                    "these")
    return bits, kinds[bits.words.itemsize]


def quantizer(x, codes, scales=None, *, format=None, group=None, source=None):
    """Which convention turns x into these codes and scales. `codes` may be a
    Quantized. `format` and `group` are searched for if they are not given;
    `source` says what unsigned integers in x are (bf16). Scales are float32 or
    their inverses, uint8 exponents, or uint32 with four of these; padded or
    transposed as SPEC Q11 has them."""
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
    by, kind = _scale_words(scales, "scales")
    to = held.format or (None if format is None else format_name(format))
    return _searched(
        "quantizer", {"from": bits.format, "to": to, "group": group,
                      "scales": kind},
        {"x": bits, "codes": held, "scales": by})


def gemm(a, b, d, c=None, *, output=None):
    """Which recipe turns A and B, each a Quantized, a QuantizedBlocks, or codes of
    torch or ml_dtypes, into D (float32 or bfloat16; `output`="bf16" for unsigned
    integers). `c` is what was added, float32."""
    words, settings = {}, {}
    for what, x in (("a", a), ("b", b)):
        if isinstance(x, _blocks.QuantizedBlocks):
            words[what], settings[what] = x.bits(), x.format.name
            words[f"{what}_scales"] = x.scale_bits()
            settings[f"{what}_scales"] = "ue8m0"  # bytes; how they are read is found
            if x.second is not None:
                words[f"{what}_second"] = x.second_bits()
            continue
        quantized = isinstance(x, _operations.Quantized)
        bits = x.bits() if quantized else bits_of(x, what)
        if bits.format is None:
            raise Error(f"{what}: elements are {bits.words.dtype}: use a "
                        "Quantized, which says what they are codes of")
        words[what], settings[what] = bits, bits.format
        if quantized:
            words[f"{what}_scales"] = x.scale_bits()
    result = bits_of(d, "d", output)
    if result.format not in ("fp32", "bf16"):
        raise Error(f"d: elements are {result.format or result.words.dtype}: "
                    "use float32 or bfloat16")
    words["d"], settings["output"] = result, result.format
    if c is not None:
        words["c"] = _operations.floats_of(c, "c")
    return _searched("gemm", settings, words)
