from collections.abc import Callable, Mapping
from typing import Any

DONE: int
REFUSED: int

def claim(
    operation: str, as_: str | None = None,
    settings: Mapping[str, object] | None = None,
    multiple: tuple[int, int, int] = (0, 0, 0)
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def serve(name: str, device: Any = None) -> None: ...
