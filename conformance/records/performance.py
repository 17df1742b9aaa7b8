#!/usr/bin/env python3
"""Makes cuda/PERFORMANCE.md of the records of `bench gpu`: performance.py

  performance.py           writes it
  performance.py --check   writes nothing; status 1 if it is not what stands
                           there

A record is perf_DEVICE.json, made by `zeroulp bench gpu --record FILE`.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parents[1] / "cuda" / "PERFORMANCE.md"
HEAD = """# How fast the kernels are

Made by `conformance/records/performance.py`, of what
`zeroulp bench gpu --record FILE` measured. Ratios are medians over rounds in
one run, both sides alternating. An absolute figure holds on one GPU alone.
[LESSONS.md](LESSONS.md) says why, [experiments.csv](experiments.csv) what was
tried.
"""


def goal(row):
    if "must" not in row:
        return ""
    return f"{row['must']:g}" + (f", aim {row['aim']:g}" if row.get("aim") else "")


def memory_table(rows):
    yield "| kernel | size | of the stream | GB/s | goal |"
    yield "|---|---|---|---|---|"
    for r in rows:
        yield (f"| {r['name']} | {r['size']} | {r['value']:.2f} "
               f"| {r['gb_per_s']:.0f} | {goal(r)} |")


def gemm_table(rows):
    yield "| GEMM | size | TFLOP/s | over | ratio | goal |"
    yield "|---|---|---|---|---|---|"
    ours = None
    for r in rows:
        if "absent" in r:
            continue
        if "ratio" not in r:
            ours = r
            continue
        yield (f"| {r['name']} | {r['size']} | {ours['value']:.0f} "
               f"| {r['who']} | {r['ratio']:.2f} | {goal(r)} |")


def section(record):
    p = record["platform"]
    yield f"## {p['device']}"
    yield ""
    yield (f"`{record['command']}`, commit {record['commit'][:7]}, CUDA {p['CUDA']}, "
           f"driver for CUDA {p['CUDA of the driver']}.")
    rows = record["rows"]
    gemms = [r for r in rows if r.get("unit") == "TFLOP/s" or "absent" in r]
    memory = [r for r in rows if r.get("unit") == "x"]
    yield ""
    yield ("GEMMs: how many times as long the other takes. `wgmma` alone is the "
           "limit.")
    yield ""
    yield from gemm_table(gemms)
    yield ""
    yield ("Kernels bound by memory: the time of a stream that reads and writes "
           "the same bytes, over the kernel's.")
    yield ""
    yield from memory_table(memory)


def page():
    """None without a record of a GPU."""
    lines = []
    for path in sorted(HERE.glob("perf_*.json")):
        record = json.loads(path.read_text())
        if record["depends_on"] == "kernels":
            lines += ["", *section(record)]
    return HEAD + "\n".join(lines) + "\n" if lines else None


def main():
    made = page()
    if sys.argv[1:] == ["--check"]:
        if made == (PAGE.read_text() if PAGE.exists() else None):
            return 0
        print("performance.py: cuda/PERFORMANCE.md is not what the records say")
        return 1
    if sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    if made is None:
        print("performance.py: there is no record of a GPU", file=sys.stderr)
        return 2
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
