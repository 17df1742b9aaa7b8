from typing import Any

from . import _Array, _FormatLike, Quantized, QuantizedBlocks

class Identified:
    report: dict[str, Any]
    exact: bool
    tried: int
    names: list[str]
    fields: dict[str, list[str]]
    def __init__(self, report: dict[str, Any]) -> None: ...
    def __bool__(self) -> bool: ...

def quantizer(
    x: _Array, codes: _Array | Quantized, scales: _Array | None = None, *,
    format: _FormatLike | None = None, group: str | None = None,
    source: _FormatLike | None = None
) -> Identified: ...
def gemm(
    a: _Array | Quantized | QuantizedBlocks,
    b: _Array | Quantized | QuantizedBlocks, d: _Array,
    c: _Array | None = None, *, output: _FormatLike | None = None
) -> Identified: ...
