import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from . import _Array
from .checkpoint import Report

_PathLike: TypeAlias = str | os.PathLike[str]
_Dump: TypeAlias = _PathLike | Mapping[str, _Array]

def record(path: _PathLike, tensors: Mapping[str, _Array]) -> None: ...

class Recorder:
    tensors: dict[str, _Array]
    skipped: dict[str, str]
    def __init__(self, model: Any, names: Mapping[str, str] | None = None) -> None: ...
    def __enter__(self) -> Recorder: ...
    def __exit__(self, *_: object) -> None: ...
    def save(self, path: _PathLike) -> None: ...

def compare(
    a: _Dump, b: _Dump, chain: _PathLike | Sequence[Any] | Mapping[str, Any], *,
    names: _PathLike | Mapping[str, str] | None = None, rows: int = 128
) -> Report: ...
