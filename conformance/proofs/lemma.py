"""What is proved, what ties it to the code, how a proof is shown to be able to
fail."""

from dataclasses import dataclass
from typing import Any, Callable


@dataclass(frozen=True)
class Lemma:
    """`holds()` is the condition that every input must have, a node. Of level 1
    are those that take long."""
    name: str
    clauses: str
    holds: Callable
    level: int = 0


@dataclass(frozen=True)
class Tie:
    """`results()` are the nodes that a lemma speaks of; `library(inputs)` is what
    the built library gives; `inputs(random)` has arrays by variables' names.
    `wide`: nodes have more bits than a lane, and inputs go through one by one."""
    name: str
    results: Callable
    library: Callable
    inputs: Callable
    wide: bool = False


@dataclass(frozen=True)
class Fault:
    """With `instead` as `module.name` the lemma must be refuted. At the
    counterexample the tie's results must differ from the library's. `where()`
    asks for one that no later step hides; `point(found)` are the tie's inputs."""
    text: str
    lemma: Lemma
    tie: Tie
    module: Any
    name: str
    instead: Any
    where: Callable = lambda: True
    point: Callable = dict
