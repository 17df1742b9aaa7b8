"""Formats, conventions, recipes and paths: values with names."""

import ctypes
import difflib
from typing import NamedTuple, Optional

from . import _abi
from ._arrays import ALIASES, format_name, whole
from ._library import Error, call, names


def _find(function, struct, name, table, what):
    """The struct of a name; an error has the names that are near."""
    value = struct()
    try:
        call(function, str(name).encode(), ctypes.byref(value))
    except Error as e:
        if "did you mean" in str(e):
            raise
        known = [*names(table), *(ALIASES if what == "format" else ())]
        near = difflib.get_close_matches(str(name), known, 3, 0.6)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise Error(f"unknown {what} {str(name)!r}: {hint}{e}" if near else
                    str(e)) from None
    return value


class _Value:
    """A value of the library: attributes are the members of its struct."""

    def __init__(self, name, struct):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "struct", struct)

    def __getattr__(self, member):
        struct = object.__getattribute__(self, "struct")
        if member.startswith("__") or not hasattr(struct, member):
            raise AttributeError(f"{type(self).__name__} has no {member}")
        return getattr(struct, member)

    def __setattr__(self, member, value):
        raise AttributeError(f"{type(self).__name__} is a value: use replace()")

    def __eq__(self, other):
        return type(self) is type(other) and \
            bytes(self.struct) == bytes(other.struct)

    def __hash__(self):
        return hash(bytes(self.struct))

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"


class Format(_Value):
    """A floating-point format: exponent_bits, fraction_bits, bias, specials.

    SPEC F1 to F3."""

    @property
    def bits(self):
        """Bits of a code."""
        sign = self.specials != _abi.ZEROULP_SPECIALS_SCALE
        return self.exponent_bits + self.fraction_bits + sign

    @property
    def bytes(self):
        """The fewest of 1, 2, 4 and 8 bytes that hold a code."""
        return next(n for n in (1, 2, 4, 8) if 8 * n >= self.bits)


class Convention(_Value):
    """How a kernel quantizes. SPEC Q2 to Q6, Q12, Q13."""


class Path(_Value):
    """A tensor-core path: operand formats and an accumulator. SPEC T10 to T14."""


class BlockScaledPath(_Value):
    """A tensor-core path whose operands have a scale for each `block` elements
    of K. SPEC T17 to T20."""


class Recipe(_Value):
    """How a GEMM sums: accumulator, interval, promotion, groups, splits,
    epilogue, output. SPEC G2 to G8."""

    def replace(self, *, interval=None, splits=None, output=None, a=None,
                b=None):
        """The recipe with other members; groups are texts such as "1x128"."""
        struct = _abi.zeroulp_recipe.from_buffer_copy(self.struct)
        if interval is not None:
            struct.interval = whole(interval, "interval", 0, 2**31 - 1)
        if splits is not None:
            struct.splits = whole(splits, "splits", 0, 2**31 - 1)
        if output is not None:
            struct.output = format(output).struct
        if a is not None:
            struct.a = group(a)
        if b is not None:
            struct.b = group(b)
        return Recipe(self.name, struct)


def format(name):
    """The format of a name of ours, of torch's or ml_dtypes', or eXmY[:bB]."""
    if isinstance(name, Format):
        return name
    called = format_name(name)
    return Format(called, _find("zeroulp_format_from_name", _abi.zeroulp_format,
                                called, _abi.ZEROULP_FORMATS, "format"))


def format_called(struct):
    """The Format of a struct, such as a member of a recipe."""
    name = ctypes.create_string_buffer(64)
    call("zeroulp_format_name", ctypes.byref(struct), name, len(name))
    return format(name.value.decode())


def convention(name):
    """The convention of a name, or of a name with other fields:
    "vllm+scale_floor:1e-7"."""
    if isinstance(name, Convention):
        return name
    return Convention(str(name), _find(
        "zeroulp_convention_from_name", _abi.zeroulp_convention, name,
        _abi.ZEROULP_CONVENTIONS, "convention"))


def recipe(name):
    """The recipe of a name."""
    if isinstance(name, Recipe):
        return name
    return Recipe(str(name), _find("zeroulp_recipe_from_name",
                                   _abi.zeroulp_recipe, name,
                                   _abi.ZEROULP_RECIPES, "recipe"))


def path(name):
    """The tensor-core path of a name, such as hopper.wgmma.e4m3.e4m3.f32."""
    if isinstance(name, Path):
        return name
    return Path(str(name), _find("zeroulp_path_from_name", _abi.zeroulp_path,
                                 name, _abi.ZEROULP_PATHS, "path"))


def block_scaled_path(name):
    """The path with block scales of a name, such as
    blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32."""
    if isinstance(name, BlockScaledPath):
        return name
    return BlockScaledPath(str(name), _find(
        "zeroulp_block_scaled_path_from_name", _abi.zeroulp_block_scaled_path,
        name, _abi.ZEROULP_BLOCK_SCALED_PATHS, "path with block scales"))


def group(name):
    """The struct of a group: RxC, 0 for a whole dimension, or "tensor"."""
    value = _abi.zeroulp_group()
    call("zeroulp_group_from_name", str(name).encode(), ctypes.byref(value))
    return value


def group_name(value):
    if value.rows == 0 and value.cols == 0:
        return "tensor"
    return f"{value.rows}x{value.cols}"


def formats():
    """All named formats."""
    return [format(name) for name in names(_abi.ZEROULP_FORMATS)]


def conventions():
    """All named conventions."""
    return [convention(name) for name in names(_abi.ZEROULP_CONVENTIONS)]


def recipes():
    """All named recipes."""
    return [recipe(name) for name in names(_abi.ZEROULP_RECIPES)]


def paths():
    """All named paths."""
    return [path(name) for name in names(_abi.ZEROULP_PATHS)]


def block_scaled_paths():
    """All named paths with block scales."""
    return [block_scaled_path(name)
            for name in names(_abi.ZEROULP_BLOCK_SCALED_PATHS)]


class Tensor(NamedTuple):
    """How a training step stores a tensor. `group` is the text of what one scale
    covers and `scale` its kind, such as "1x128" and "pow2", None without scales;
    `made_from` and `used_by` say which operators."""

    tensor: str
    format: Format
    group: Optional[str]
    scale: Optional[str]
    made_from: str
    used_by: str


def arms():
    """The names of all arms: how a training step stores and sums. SPEC N23."""
    return list(names(_abi.ZEROULP_ARMS))


def tensors(arm="full"):
    """The tensors of a training step of an arm: "full" is DeepSeek-V3's (report,
    Figure 6); "full+linear.dy.format:e5m2" has another field. SPEC N20 to N23."""
    arm = str(arm).encode()
    count = ctypes.c_int64()
    call("zeroulp_tensor_count", arm, ctypes.byref(count))
    rows = []
    for index in range(count.value):
        row = _abi.zeroulp_tensor()
        call("zeroulp_tensor_at", arm, index, ctypes.byref(row))
        kind = names(_abi.ZEROULP_SCALE_KINDS)[row.scale]
        rows.append(Tensor(
            row.tensor.decode(), format_called(row.format),
            group_name(row.group) if row.scaled else None,
            kind if row.scaled else None,
            row.made_from.decode(), row.used_by.decode()))
    return rows


def number_of(table, name, what):
    """The value called `name` in a table of an enum."""
    value = ctypes.c_int32()
    try:
        call("zeroulp_value_from_name", table, str(name).encode(),
             ctypes.byref(value))
    except Error as e:
        raise Error(f"{what}: {e}") from None
    return value.value


def policy(name):
    value = _abi.zeroulp_policy()
    call("zeroulp_policy_from_name", str(name).encode(), ctypes.byref(value))
    return value
