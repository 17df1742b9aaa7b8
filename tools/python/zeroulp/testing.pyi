from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _Array, Convention, _FormatLike, Quantized, Recipe

class Case:
    token: str
    target: str
    settings: dict[str, Any]
    operands: dict[str, _Array]
    outputs: dict[str, _Array]
    def __init__(self, token: str) -> None: ...

def case(
    target: str, number: int = 0, *, profile: str | None = None, seed: int = 1,
    **settings: object
) -> Case: ...
def cases(
    target: str, count: int = 1000, *, profile: str | None = None,
    seed: int = 1, **settings: object
) -> Iterator[Case]: ...
def replay(token: str) -> Case: ...
def shrink(failing: str | Case, fails: Callable[[Case], bool]) -> Case: ...
def assert_same_bits(
    got: _Array, expected: _Array, format: _FormatLike | None = None, *,
    max_different: int = 0, ignore: Sequence[str] = ()
) -> None: ...
def quantizer_inputs(
    format: _FormatLike = 'e4m3', group: str = '1x128', *,
    source: _FormatLike = 'fp32', shape: tuple[int, int] = (64, 512),
    seed: int = 0, specials: bool = True
) -> Iterator[tuple[str, _Array]]: ...
def assert_quantizes_as(
    kernel: Callable[[Any], Any], convention: str | Convention,
    format: _FormatLike = 'e4m3', group: str = '1x128', *,
    source: _FormatLike = 'fp32', scale: str | None = None,
    shape: tuple[int, int] = (64, 512), seed: int = 0, specials: bool = True,
    device: str | None = None
) -> None: ...
def gemm_operands(
    recipe: str | Recipe = 'deepgemm.1d2d', *, m: int = 64, n: int = 96,
    k: int = 512, format: _FormatLike = 'e4m3', seed: int = 0,
    cancelling: bool = False
) -> tuple[Quantized, Quantized]: ...
def assert_multiplies_as(
    kernel: Callable[[Quantized, Quantized], Any],
    recipe: str | Recipe = 'deepgemm.1d2d', *, output: _FormatLike | None = None,
    splits: int | None = None,
    shapes: Sequence[tuple[int, int, int]] = ((64, 96, 512), (1, 128, 1024), (130, 40, 384)),
    format: _FormatLike = 'e4m3', seed: int = 0, device: str | None = None
) -> None: ...
