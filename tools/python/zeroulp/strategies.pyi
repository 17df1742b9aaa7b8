from typing import Any

from hypothesis.strategies import SearchStrategy

from . import _Array, _FormatLike, Quantized, Recipe

def near(format: _FormatLike = 'e4m3') -> SearchStrategy[Any]: ...
def tiles(
    shape: tuple[int, int] = (1, 128), format: _FormatLike = 'e4m3'
) -> SearchStrategy[_Array]: ...
def gemm_operands(
    recipe: str | Recipe = 'deepgemm.1d2d', m: tuple[int, int] = (1, 8),
    n: tuple[int, int] = (1, 8), k: tuple[int, int] = (1, 512),
    format: _FormatLike = 'e4m3'
) -> SearchStrategy[tuple[Quantized, Quantized]]: ...
