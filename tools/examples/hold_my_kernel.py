#!/usr/bin/env python3
"""Holds a quantizer against the oracle, from Python: ctypes and NumPy.

    hold_my_kernel.py [LIBRARY] [--save FOLDER]

LIBRARY is libzeroulp.so; without it $ZEROULP_LIBRARY, else the one that the
system finds. --save keeps what the kernel read and wrote, x.npy and codes.npy,
for the twelve lines of README.md. The kernel under test stands in for yours:
it rounds to FP16 on the way from FP32 to E4M3. Exit status: 0 the same bits,
1 others, 2 an error.
"""

import argparse
import ctypes
import ctypes.util
import os
import sys

import numpy as np

ABI_VERSION = 2


class Matrix(ctypes.Structure):
    """zeroulp_matrix and zeroulp_const_matrix."""

    _fields_ = [("data", ctypes.c_void_p)] + [
        (name, ctypes.c_int64)
        for name in "rows cols row_stride col_stride element_bytes".split()
    ]

    def __init__(self, array):
        strides = (stride // array.itemsize for stride in array.strides)
        super().__init__(
            array.ctypes.data, *array.shape, *strides, array.itemsize
        )


class Format(ctypes.Structure):
    """zeroulp_format."""

    _fields_ = [
        (name, ctypes.c_int32)
        for name in ("exponent_bits", "fraction_bits", "bias", "specials")
    ]


class Quantizer(ctypes.Structure):
    """zeroulp_quantizer; the members between the formats and the group."""

    _fields_ = [
        ("from_", Format),
        ("to", Format),
        ("how", ctypes.c_int32 * 24),
        ("scale", ctypes.c_int32),
        ("group", ctypes.c_int32 * 2),
        ("reserved", ctypes.c_int32 * 5),
    ]


class Comparison(ctypes.Structure):
    """zeroulp_comparison."""

    _fields_ = (
        [(n, ctypes.c_int64) for n in ("count", "different", "row", "col")]
        + [(n, ctypes.c_uint64) for n in ("a", "b", "ulps", "max_ulps")]
        + [(n, ctypes.c_int64) for n in ("zeros", "payloads", "nans")]
        + [("buckets", ctypes.c_int64 * 66)]
    )


class Library:
    """libzeroulp: a call that fails raises, with the library's own text."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.zeroulp_last_error.restype = ctypes.c_char_p
        if self.library.zeroulp_abi_version() != ABI_VERSION:
            raise OSError(f"{path} has another ABI than {ABI_VERSION}")

    def __call__(self, name, *arguments):
        by_reference = [
            ctypes.byref(a) if isinstance(a, ctypes.Structure) else a
            for a in arguments
        ]
        if getattr(self.library, "zeroulp_" + name)(*by_reference) != 0:
            raise ValueError(self.library.zeroulp_last_error().decode())

    def quantize(self, quantizer, x):
        """Returns codes and scales; groups are rows x cols."""
        rows, cols = quantizer.group
        codes = np.empty(x.shape, np.uint8)
        groups = -(-len(x) // rows), -(-x.shape[1] // cols)
        scales = np.empty(groups, np.float32)
        self("quantize", quantizer, Matrix(x), Matrix(codes), Matrix(scales))
        return codes, scales

    def format(self, name):
        """Returns the format of this name."""
        result = Format()
        self("format_from_name", name.encode(), result)
        return result

    def encode(self, x, source, target):
        """Returns the codes, of 8 bits, of numbers."""
        codes = np.empty(x.shape, np.uint8)
        self("recode", source, Matrix(x), target, Matrix(codes), 0, None, None)
        return codes

    def compare(self, format_, a, b):
        """Returns the Comparison of codes."""
        result = Comparison()
        self("compare", format_, Matrix(a), Matrix(b), result)
        return result


def my_kernel(zeroulp, x, scales):
    """Codes of x * fl(1 / scale), rounded twice where once was meant."""
    scaled = x * np.repeat(np.float32(1) / scales, 128, axis=1)
    half = scaled.astype(np.float16)
    return zeroulp.encode(half, zeroulp.format("fp16"), zeroulp.format("e4m3"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", nargs="?")
    parser.add_argument("--save", metavar="FOLDER")
    arguments = parser.parse_args()
    path = (
        arguments.library
        or os.environ.get("ZEROULP_LIBRARY")
        or ctypes.util.find_library("zeroulp")
    )
    if path is None:
        sys.exit("no libzeroulp.so: name it, or set ZEROULP_LIBRARY")
    zeroulp = Library(path)

    quantizer = Quantizer()
    names = b"fp32", b"e4m3", b"vllm", None, b"1x128"
    zeroulp("quantizer_from_names", *names, quantizer)
    x = np.random.default_rng(1).standard_normal((256, 512), np.float32)
    codes, scales = zeroulp.quantize(quantizer, x)
    mine = my_kernel(zeroulp, x, scales)
    if arguments.save is not None:
        np.save(os.path.join(arguments.save, "x.npy"), x)
        np.save(os.path.join(arguments.save, "codes.npy"), mine)

    found = zeroulp.compare(quantizer.to, mine, codes)
    if found.different == 0:
        print("the same bits")
        return 0
    print(
        f"{found.different} of {found.count} elements differ; first at "
        f"({found.row}, {found.col}): mine {found.a:02x}, "
        f"oracle {found.b:02x}, {found.ulps} ulps"
    )
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
