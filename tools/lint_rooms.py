#!/usr/bin/env python3
"""Checks the rooms of the tree: lint_rooms.py

A fault is a line, `path:line: what`, of a tracked C, C++ or CUDA source:

  an include that runs up: of a room that is not below this one (BELOW)
  an include that is not from the root, such as "simd.hpp" for
  "src/base/simd.hpp"
  an include guard that is not the path of its file
  a folder with more than 30 sources

Exit status: 0 and what was counted; 1 a fault.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
SOURCES = (".cpp", ".hpp", ".cu", ".cuh", ".h", ".c")
MOST = 30
# They include by another rule: as users do, or what lies beside them.
AS_USERS = ("include/", "tools/examples/", "tools/consumers/",
            "conformance/tests/plugins/")
# Which rooms, by the beginning of their path, may include which.
SUITE = ("src/", "conformance/contract/", "conformance/cases/",
         "conformance/checks/", "conformance/oracles/", "conformance/mutants/", "fuzz/")
ALL = ("",)
BELOW = {
    "src/base/": ("src/base/",),
    "src/io/": ("src/base/", "src/io/"),
    "src/gemm/": ("src/base/", "src/gemm/"),
    "src/arrays/": ("src/base/", "src/arrays/"),
    "src/training/": ("src/base/", "src/arrays/", "src/training/"),
    "src/model/": ("src/base/", "src/arrays/", "src/training/", "src/model/"),
    "src/c_abi/": ("src/",),
    "cuda/": ("cuda/", "src/c_abi/"),
    "tools/train/": ("src/", "tools/train/"),
    "tools/study/": ("src/", "tools/train/", "tools/study/"),
    "tools/checkpoint/": ("src/", "tools/checkpoint/"),
    "tools/parity/": SUITE + ("tools/checkpoint/", "tools/parity/"),
    "fuzz/libfuzzer/": SUITE + ("tools/zeroulp/", "tools/checkpoint/"),
    "fuzz/": SUITE,
    "conformance/mutants/runner/": SUITE + ("conformance/tests/engine/",),
    "conformance/mutants/": SUITE + ("conformance/device/",),
    "conformance/proofs/": ("conformance/proofs/", "cuda/"),
    "conformance/peers/": ("conformance/contract/", "conformance/peers/"),
    "conformance/plugin/": SUITE + ("conformance/plugin/",),
    "conformance/device/": SUITE + ("conformance/device/", "cuda/",
                                    "conformance/peers/"),
    "conformance/tests/": ALL,
    "conformance/": SUITE,
    "tools/zeroulp/": SUITE + ("cuda/", "conformance/device/",
                               "conformance/peers/", "conformance/plugin/",
                               "tools/train/", "tools/study/",
                               "tools/checkpoint/", "tools/parity/",
                               "tools/zeroulp/"),
}
faults = []


def fault(path, line, what):
    faults.append(f"{path}:{line}: {what}")


def longest(path, table):
    """The entry of `table` with the longest beginning of `path`."""
    found = [begin for begin in table if path.startswith(begin)]
    return table[max(found, key=len)] if found else None


def check_includes(path, text, tracked):
    below = longest(path, BELOW)
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not found or found[1].startswith("zeroulp/"):
            continue
        if found[1] not in tracked:
            fault(path, number, f'"{found[1]}" is not from the root')
        elif below and not found[1].startswith(below):
            fault(path, number, f'"{found[1]}" runs up')


def check_guard(path, text):
    # zeroulp/core/round.hpp is ZEROULP_CORE_ROUND_HPP_: as users include it.
    name = path.removeprefix("include/zeroulp/")
    guard = "ZEROULP_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper() + "_"
    found = re.search(r"\b(ZEROULP_\w+_H(?:PP)?_|ZEROULP_\w+_CUH_)\b", text)
    if not found:
        fault(path, 1, f"no include guard, which is {guard}")
    elif found[1] != guard:
        line = text.count("\n", 0, found.start()) + 1
        fault(path, line, f"{found[1]} is not {guard}")


def main():
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True,
                             capture_output=True, text=True).stdout.split("\n")
    sources = [p for p in tracked if p.endswith(SOURCES) and
               (ROOT / p).exists()]
    folders = collections.Counter(str(pathlib.Path(p).parent) for p in sources)
    for path in sources:
        text = (ROOT / path).read_text()
        if not path.startswith(AS_USERS):
            check_includes(path, text, set(tracked))
        if path.endswith((".hpp", ".cuh", ".h")):
            check_guard(path, text)
    for folder, count in folders.items():
        if count > MOST:
            fault(folder, 1, f"{count} sources, more than {MOST}")
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(sources)} sources in {len(folders)} folders, "
          f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
