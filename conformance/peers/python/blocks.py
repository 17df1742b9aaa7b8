#!/usr/bin/env python3
"""Quantizers of blocks of packages against the conventions of their names.

    blocks.py RECORD

Runs torchao's to_mx (four modes, five formats) and nvfp4_quantize, ModelOpt's
NVFP4QTensor.quantize and Transformer Engine's Python reference of NVFP4 on the
CPU, its blocks of 16 rows and its Hadamard transform too, and its own definition
in NumPy of the OCP's floor; writes to RECORD, JSON, how many codes and scales
differ from zeroulp.quantize_blocks. Needs PyTorch, the packages (or unpacked
wheels) on PYTHONPATH, the package zeroulp and ZEROULP_LIBRARY.

Scales of NaN are compared, but for their sign. The codes below them are not:
what is made of NaN is the processor's. ModelOpt and Transformer Engine's
reference drop the sign of what becomes zero: +0 and -0 are equal there.
"""

import hashlib
import importlib.metadata
import json
import pathlib
import sys
import types

import numpy as np

ROWS, COLS = 64, 256
FAMILIES = ("normal", "outliers", "wide", "tiny", "huge", "zeros", "bits",
            "specials", "turning")  # fmt: skip
MODES = ("floor", "ceil", "even", "rceil")


def words_of(key, count):
    """32-bit words of a stream that no version of NumPy changes."""
    raw = np.random.Philox(key=key).random_raw((count + 1) // 2)
    return raw.view(np.uint32)[:count].copy()


def floats(family, key, bf16):
    """A ROWS x COLS matrix of FP32 numbers, those of BF16 if `bf16`."""
    bits = words_of(key, ROWS * COLS)
    sign = bits & 0x80000000
    fraction = bits & 0x7FFFFF
    draw = words_of(key + 1, ROWS * COLS)

    def binades(low, count):
        return sign | ((low + draw % count) << 23).astype(np.uint32) | fraction

    if family == "wide":
        bits = binades(1, 254)
    elif family == "tiny":
        bits = sign | (fraction >> (draw % 20)) | ((draw >> 8) % 12 << 23)
    elif family == "huge":
        bits = binades(230, 25)
    elif family == "bits":
        bits = np.where((bits & 0x7F800000) == 0x7F800000, bits ^ 0x40000000, bits)
    elif family == "turning":
        # Fractions at and beside what a rule turns on.
        edge = np.array([0, 1, 0x7FFFFF, 0x400000, 0x3FFFFF, 0x600000, 0x5FFFFF,
                         0x780000, 0x77FFFF, 0x700000, 0x6FFFFF, 0x2AAAAB])
        bits = sign | ((100 + draw % 50) << 23).astype(np.uint32) | \
            edge[(draw >> 8) % len(edge)].astype(np.uint32)
    else:
        bits = binades(120, 8)
        if family == "outliers":
            bits = np.where(draw % 50 == 0, bits + np.uint32(20 << 23), bits)
        if family == "zeros":
            bits = np.where(draw % 3 == 0, sign, bits)
            bits.reshape(ROWS, COLS)[::3, 32:128] &= 0x80000000
        if family == "specials":
            bits = np.where(draw % 97 == 0, sign | 0x7F800000, bits)
            bits = np.where(draw % 101 == 1, np.uint32(0x7FC00000), bits)
    bits = bits.astype(np.uint32).reshape(ROWS, COLS)
    return (bits & 0xFFFF0000 if bf16 else bits).view(np.float32)


def ocp_floor(x, largest_exponent, magnitudes):
    """Codes and bytes by the text of the OCP, in FP64."""
    blocks = x.astype(np.float64).reshape(ROWS, -1, 32)
    amax = np.abs(np.where(np.isfinite(blocks), blocks, 0)).max(-1)
    exponent = np.frexp(np.where(amax > 0, amax, 1))[1] - 1 - largest_exponent
    exponent = np.where(amax > 0, np.clip(exponent, -127, 127), 0)
    v = np.abs(blocks / np.exp2(exponent)[..., None]).reshape(x.shape)
    middles = (magnitudes[1:] + magnitudes[:-1]) / 2
    low = np.searchsorted(middles, v, side="left")
    tie = np.isin(v, middles)
    code = low + (tie & (low % 2 == 1))
    return code | np.signbit(x) * (1 << 7 if len(magnitudes) > 32 else 8), \
        exponent + 127


class Tally:
    """What came of one claim."""

    def __init__(self, package, what, convention, format, second=None,
                 without=(), block_rows=1):
        self.args = (convention, format, second, block_rows)
        self.without = without
        self.digest = hashlib.sha256()
        self.row = {"package": package, "what": what, "convention": convention,
                    "format": format, "second": second,
                    "block_rows": block_rows, "without": list(without),
                    "codes": 0, "scales": 0, "codes that differ": 0,
                    "scales that differ": 0, "first": None}

    def inputs(self):
        return each_input(self.without)

    def add(self, zeroulp, x, bf16, codes, scales, nan, keeps_zeros=True):
        row, ours = self.row, given(zeroulp, x, bf16, *self.args)
        self.digest.update(digest_of(ours))
        row["zeroulp"] = self.digest.hexdigest()
        scales = np.asarray(scales).reshape(ours.scales.shape).astype(np.uint8)
        if ours.scale == "ue4m3":
            scales &= 127  # NaN has any sign
        wrong = scales != ours.scales
        row["scales"] += scales.size
        row["scales that differ"] += int(wrong.sum())
        live = ~np.repeat(scales == nan, ours.block, axis=1) & ~np.isnan(x)
        mine = np.asarray(ours.codes).view(np.uint8)
        codes = np.asarray(codes).astype(np.uint8)
        bad = live & (codes != mine)
        if not keeps_zeros:
            bad &= (mine | codes) & 7 != 0
        row["codes"] += int(live.sum())
        row["codes that differ"] += int(bad.sum())
        if row["first"] is None and (bad.any() or wrong.any()):
            at = np.argwhere(bad if bad.any() else
                             np.repeat(wrong, ours.block, axis=1))[0]
            row["first"] = {"x": x[tuple(at)].tobytes()[::-1].hex(),
                            "at": at.tolist()}


def digest_of(q):
    """Of the codes and scales of a QuantizedBlocks."""
    return hashlib.sha256(np.asarray(q.codes).view(np.uint8).tobytes() +
                          np.asarray(q.scales).tobytes()).digest()


def digests(zeroulp, row):
    """What zeroulp gives for the claim of a row of the record, anew."""
    digest = hashlib.sha256()
    for x, bf16 in each_input(row["without"]):
        digest.update(digest_of(given(zeroulp, x, bf16, row["convention"],
                                      row["format"], row["second"],
                                      row.get("block_rows", 1))))
    return digest.hexdigest()


def unpacked(packed):
    """Two codes a byte, the first in the low half."""
    packed = packed.view(np.uint8)
    return np.stack([packed & 15, packed >> 4], -1).reshape(packed.shape[0], -1)


def each_input(without=()):
    for n, family in enumerate(FAMILIES):
        for bf16 in (False, True):
            if family not in without:
                yield floats(family, 2 * n + 100 * bf16, bf16), bf16


def given(zeroulp, x, bf16, convention, format, second, block_rows=1):
    """quantize_blocks of these numbers."""
    source = None
    if bf16:
        x, source = (x.view(np.uint32) >> 16).astype(np.uint16), "bf16"
    return zeroulp.quantize_blocks(x, convention, format, second=second,
                                   block_rows=block_rows, source=source)


def tensor_of(torch, x, bf16):
    return torch.from_numpy(x.copy()).to(torch.bfloat16 if bf16 else torch.float32)


def torchao(zeroulp, torch):
    from torchao.prototype.mx_formats import mx_tensor, nvfp4_tensor
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.utils import to_blocked

    formats = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
               "e3m2": mx_tensor.DTYPE_FP6_E3M2, "e2m3": mx_tensor.DTYPE_FP6_E2M3,
               "e2m1": torch.float4_e2m1fn_x2}  # fmt: skip
    for mode in MODES:
        for name, dtype in formats.items():
            tally = Tally("torchao", "to_mx", f"torchao.{mode}", name)
            for x, bf16 in tally.inputs():
                scales, codes = mx_tensor.to_mx(
                    tensor_of(torch, x, bf16), dtype, 32,
                    ScaleCalculationMode[mode.upper()])
                codes = codes.reshape(ROWS, -1).view(torch.uint8).numpy()
                tally.add(zeroulp, x, bf16,
                          unpacked(codes) if name == "e2m1" else codes,
                          scales.view(torch.uint8).numpy(), 255)
            yield tally.row
    for level in ("tensor", "none"):
        tally = Tally("torchao", "nvfp4_quantize", "torchao.nvfp4", "e2m1", level)
        for x, bf16 in tally.inputs():
            tensor = tensor_of(torch, x, bf16)
            amax = nvfp4_tensor.per_tensor_amax_to_scale(tensor.abs().max())
            scales, codes = nvfp4_tensor.nvfp4_quantize(
                tensor, 16, amax if level == "tensor" else None)
            tally.add(zeroulp, x, bf16, unpacked(codes.numpy()),
                      scales.view(torch.uint8).numpy(), 127)
        yield tally.row
    row = {"package": "torchao", "what": "to_blocked", "scales": 0,
           "scales that differ": 0}
    for m, n in ((1, 1), (128, 4), (129, 5), (300, 9), (31, 33)):
        scales = words_of(m * n, m * n).astype(np.uint8).reshape(m, n)
        theirs = to_blocked(torch.from_numpy(scales)).numpy()
        row["scales"] += theirs.size
        row["scales that differ"] += int(
            (theirs != zeroulp.interleave_scales(scales)).sum())
    yield row


def modelopt(zeroulp, torch):
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor

    # An amax of NaN makes every scale of theirs NaN.
    tally = Tally("nvidia-modelopt", "NVFP4QTensor.quantize", "modelopt.nvfp4",
                  "e2m1", "tensor", ["specials"])
    for x, bf16 in tally.inputs():
        codes, scales, _ = NVFP4QTensor.quantize(tensor_of(torch, x, bf16), 16)
        tally.add(zeroulp, x, bf16, unpacked(codes._quantized_data.numpy()),
                  scales.view(torch.uint8).numpy(), 127, False)
    yield tally.row


def transformer_engine(zeroulp, torch):
    import peer_modules

    module = peer_modules.load(
        "transformer_engine.pytorch.custom_recipes.reference_nvfp4")
    for level, block_rows in (("tensor", 1), ("row", 1), ("tensor", 16)):
        # The reference's amax keeps NaN, that of the kernels does not.
        tally = Tally("transformer-engine", "_quantize_blockwise_reference",
                      "transformer_engine.nvfp4", "e2m1", level, ["specials"],
                      block_rows)
        for x, bf16 in tally.inputs():
            tensor = tensor_of(torch, x, bf16)
            amax = tensor.float().abs()
            amax = amax.max() if level == "tensor" else amax.amax(1)
            codes, scales = \
                module.NVFP4QuantizerRef._quantize_blockwise_reference(
                    tensor, amax, 16, block_rows, pow_2_scales=False,
                    row_scaled_nvfp4=level == "row", eps=0.0)
            scales = scales.view(torch.uint8).numpy()
            tally.add(zeroulp, x, bf16, unpacked(codes.numpy()),
                      scales.repeat(ROWS // len(scales), 0), 127, False)
        yield tally.row
    yield transform(zeroulp, torch, module)


def transform(zeroulp, torch, module):
    """The matrix of the reference's transform, and what it makes of BF16."""
    row = {"package": "transformer-engine", "what": "_apply_rht", "elements": 0,
           "elements that differ": 0}

    def count(theirs, ours):
        row["elements"] += theirs.size
        row["elements that differ"] += int((theirs != ours).sum())

    matrix = module.NVFP4QuantizerRef._build_hadamard_matrix(
        16, "cpu", torch.float32)
    signs = "transformer_engine"
    count(matrix.numpy(), zeroulp.hadamard(np.eye(16, dtype=np.float32), signs,
                                           scale=1))
    x = floats("normal", 0, True)
    theirs = module.NVFP4QuantizerRef._apply_rht(
        types.SimpleNamespace(
            with_rht=True, with_random_sign_mask=True, quant_tile_shape=(1, 16),
            _build_hadamard_matrix=module.NVFP4QuantizerRef._build_hadamard_matrix),
        tensor_of(torch, x, True))
    ours = zeroulp.hadamard((x.view(np.uint32) >> 16).astype(np.uint16), signs,
                            source="bf16")
    count(theirs.view(torch.uint16).numpy(), np.asarray(ours).view(np.uint16))
    return row


def definition(zeroulp, torch):
    for name, exponent in (("e4m3", 8), ("e2m1", 2)):
        codes = np.arange(127 if name == "e4m3" else 8, dtype=np.uint8)
        magnitudes = zeroulp.decode(codes.reshape(1, -1), name, to="fp64")[0]
        tally = Tally("NumPy", "ocp_floor", "mx.floor", name,
                      without=["specials"])
        for x, bf16 in tally.inputs():
            theirs, scales = ocp_floor(x, exponent, magnitudes)
            tally.add(zeroulp, x, bf16, theirs, scales, 255)
        yield tally.row


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import torch
    import zeroulp

    rows = []
    for peer in (definition, torchao, modelopt, transformer_engine):
        try:
            rows += list(peer(zeroulp, torch))
        except ImportError as error:
            rows.append({"package": peer.__name__, "not run": str(error)})
    for row in rows:
        if row["package"] != "NumPy" and "not run" not in row:
            try:
                row["version"] = importlib.metadata.version(row["package"])
            except importlib.metadata.PackageNotFoundError:
                row["version"] = "an unpacked wheel"
        print(json.dumps(row))
    run = {"device": "CPU", "torch": torch.__version__, "claims": rows}
    pathlib.Path(sys.argv[1]).write_text(json.dumps(run, indent=1) + "\n")


if __name__ == "__main__":
    main()
