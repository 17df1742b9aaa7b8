"""How a library computed a product, by the records that the package carries:
`zeroulp identify cublaslt --record` makes them."""

import functools
import json
import os
import pathlib
from typing import NamedTuple

from ._library import Error


class Choice(NamedTuple):
    """The recipe and the splits of a product that a record has."""

    recipe: str
    splits: int
    algorithm: str


def _carried():
    here = pathlib.Path(__file__).absolute()
    for folder in (here.parent / "share" / "zeroulp",
                   here.parents[3] / "conformance" / "records"):
        found = sorted(folder.glob("cublaslt_*.json"))
        if found:
            return found
    return []


@functools.lru_cache(maxsize=8)
def _record(path):
    """(library, device, {problem: row}) of a record's file."""
    try:
        content = json.loads(pathlib.Path(path).read_text())
        platform, rows = content["platform"], {}
        for row in content["rows"]:
            rows.setdefault(tuple(row[name] for name in _PROBLEM), row)
        return platform["library"], platform["device"], rows
    except OSError as e:
        raise Error(f"like: {path}: {e.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Error(f"like: {path}: no record: use what `zeroulp identify "
                    "cublaslt --record` writes") from None


_PROBLEM = ("m", "n", "k", "a", "b", "scaling", "output")


def _find(like):
    """The record of LIBRARY-VERSION or LIBRARY-VERSION:GPU, or of a file."""
    if like.endswith(".json") or "/" in like:
        return _record(os.path.abspath(like))
    wanted, _, gpu = like.lower().partition(":")
    known = []
    for path in _carried():
        library, device, rows = _record(str(path))
        known.append(f"{library} on {device}")
        full = library.lower().replace(" ", "-")
        if (full == wanted or full.startswith(wanted + ".")) and \
                (not gpu or gpu in device.lower().split()):
            return library, device, rows
    raise Error(f"like: {like!r}: no such record: use LIBRARY-VERSION:GPU, such "
                "as cublaslt-13.1:h200, or a file of `zeroulp identify cublaslt "
                f"--record`; this package carries {', '.join(known) or 'none'}")


def choice(like, m, n, k, a, b, scaling, output):
    """What the library chose for D = A B, m x k by k x n. Raises Error where no
    record says it, or none of our recipes gives the bits."""
    library, device, rows = _find(str(like))
    what = f"{m} x {n} x {k}, {a} by {b}, {scaling}, to {output}"
    row = rows.get((m, n, k, a, b, scaling, output))
    if row is None:
        raise Error(f"like: {like!r}: no record of {library} for {what}: `zeroulp "
                    "identify cublaslt --shapes` makes one on such a GPU")
    if "refused" in row:
        raise Error(f"like: {like!r}: {library} on {device} refuses {what}: "
                    f"{row['refused']}")
    if row.get("differing") != 0:
        raise Error(f"like: {like!r}: what {library} computes for {what} is not "
                    "known: no recipe gives its bits")
    return Choice(row["recipe"], row["splits"], row["algorithm"])
