#!/usr/bin/env python3
"""Makes the mutants of the kernels, of kernel_mutants.py, one at a time.

  generate_kernels.py check              whether each still applies
  generate_kernels.py list               a line each: name, units, checks,
                                         reason, kind; between tabs
  generate_kernels.py write NAME OUT     OUT/cuda/FILE, mutated

A mutant applies if its text occurs once in its file, lines broken anywhere,
and each of its units includes that file.
"""

import pathlib
import re
import sys

from kernel_mutants import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
CUDA = ROOT / "cuda"


def pattern_of(text):
    """Any white space for white space."""
    return re.compile(r"\s+".join(map(re.escape, text.split())))


def apply(m):
    text = (CUDA / m.file).read_text()
    count = len(pattern_of(m.old).findall(text))
    if count != 1:
        raise ValueError(f"its text occurs {count} times in cuda/{m.file}")
    return pattern_of(m.old).sub(lambda _: m.new, text)


def included(name, seen):
    """The files of cuda/ that one includes, itself among them."""
    if name not in seen:
        seen.add(name)
        text = (CUDA / name).read_text()
        for other in re.findall(r'^#include "cuda/([^"]+)"', text, re.M):
            included(other, seen)
    return seen


def named_checks():
    """What stands in quotes where checks are listed."""
    files = [*(ROOT / "conformance/device").rglob("*.cu"),
             *(ROOT / "conformance/checks").rglob("*.cpp"),
             *(ROOT / "include/zeroulp").glob("*.hpp"),
             *(ROOT / "include/zeroulp/core").glob("*.hpp")]
    text = "".join(f.read_text() for f in files)
    return set(re.findall(r'"([\w.]+)"', text))


def is_check(name, names):
    """As a whole, or a list's prefix and a name of it."""
    stem, _, last = name.rpartition(".")
    return name in names or (stem + "." in names and last in names)


def fault_of(m, names):
    """Why a mutant does not apply; empty if it does."""
    try:
        apply(m)
    except (OSError, ValueError) as error:
        return str(error)
    for unit in m.units:
        if m.file not in included(unit, set()):
            return f"cuda/{unit} does not include cuda/{m.file}"
    for check in m.checks:
        if not is_check(check, names):
            return f"there is no check {check}"
    return "" if m.units and m.checks else "no units or no checks"


def check():
    names = named_checks()
    seen = set()
    bad = 0
    for m in MUTANTS:
        fault = "its name is taken" if m.name in seen else fault_of(m, names)
        seen.add(m.name)
        bad += fault != ""
        print(f"not ok {m.name}: {fault}" if fault else f"ok {m.name}")
    return 1 if bad else 0


def main(arguments):
    if arguments == ["check"]:
        return check()
    if arguments == ["list"]:
        for m in MUTANTS:
            print("\t".join([m.name, " ".join(m.units), " ".join(m.checks),
                             m.reason or "-", m.kind]))
        return 0
    if len(arguments) == 3 and arguments[0] == "write":
        m = {m.name: m for m in MUTANTS}[arguments[1]]
        to = pathlib.Path(arguments[2]) / "cuda" / m.file
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(apply(m))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
