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


# Columns of the table of GEMMs: who, and how the records call them.
PEERS = {
    "cuBLASLt 1x128 by 128x128": ("cuBLASLt 1x128 128x128",),
    "cuBLASLt 1x128 by 1x128": ("cuBLASLt 1x128 1x128",),
    "cuBLASLt, one scale": ("cuBLASLt per-tensor, fast",),
    "cuBLASLt BF16": ("cuBLASLt BF16",),
    "`wgmma` alone": ("wgmma m64n256k32 alone", "wgmma m64n128k32 alone"),
    "other": ("ours, dense", "ours, a launch a group", "promoted every "),
}


def goal(row):
    if "must" not in row:
        return ""
    aim = f", aim {row['aim']:.3g}" if row.get("aim") else ""
    return f"{row['must']:.3g}{aim}"


def with_mark(value, row):
    """What does not reach its goal is bold."""
    text = f"{value:.2f}"
    return f"**{text}**" if value < row.get("must", 0) else text


def memory_table(rows):
    sizes = list(dict.fromkeys(r["size"] for r in rows))
    by_name = {}
    for r in rows:
        by_name.setdefault(r["name"], {})[r["size"]] = r
    yield "| kernel | " + " | ".join(sizes) + f" | GB/s at {sizes[1]} | goal |"
    yield "|---|" + "---|" * (len(sizes) + 2)
    for name, of_size in by_name.items():
        cells = [with_mark(of_size[s]["value"], of_size[s])
                 if s in of_size else "" for s in sizes]
        speed = of_size.get(sizes[1], {}).get("gb_per_s", 0)
        some = next(iter(of_size.values()))
        yield f"| {name} | " + " | ".join(cells) + f" | {speed:.0f} | {goal(some)} |"


def model_table(rows):
    """A line for each size: these kernels have sizes of their own."""
    yield "| kernel | size | stream's time over the kernel's | GB/s | goal |"
    yield "|---|---|---|---|---|"
    for r in rows:
        yield (f"| {r['name']} | {r['size']} | {with_mark(r['value'], r)} | "
               f"{r['gb_per_s']:.0f} | {goal(r)} |")


def attention_table(rows):
    yield "| attention | sequences x length | TFLOP/s | ms | goal |"
    yield "|---|---|---|---|---|"
    for r in rows:
        value = f"{r['value']:.0f}"
        if r["value"] < r.get("must", 0):
            value = f"**{value}**"
        yield (f"| {r['name']} | {r['size']} | {value} | "
               f"{r['microseconds'] / 1000:.2f} | {goal(r)} |")


def gemm_table(rows):
    """A row for each run of ours; what follows it in the record are its peers."""
    yield "| GEMM | M x N x K | TFLOP/s | " + " | ".join(PEERS) + " | goal |"
    yield "|---|" + "---|" * (len(PEERS) + 3)
    groups = []
    for r in rows:
        if "absent" not in r and "ratio" not in r:
            groups.append((r, []))
        elif "ratio" in r:
            groups[-1][1].append(r)
    for ours, others in groups:
        cells = []
        for names in PEERS.values():
            found = [r for r in others if r["who"].startswith(names)]
            cells.append(", ".join(
                with_mark(r["ratio"], r) +
                (f" ({r['who']})" if names == PEERS["other"] else "")
                for r in found))
        goals = [goal(r) for r in others if "must" in r]
        yield (f"| {ours['name']} | {ours['size']} | {ours['value']:.0f} | " +
               " | ".join(cells) + f" | {', '.join(goals)} |")


def measured(row):
    return row.get("ratio", row.get("value"))


def is_of(row, family):
    return row["name"].startswith(family + ".")


# After the tables that every record has: which rows, what is said of them.
MORE = (
    ("model", model_table,
     "Between the products of a training step: kernels bound by memory, each "
     "beside a stream of what it has to read and write once."),
    ("attention", attention_table,
     "Causal attention: the causal half of its products, two forward and five "
     "backward."),
)


def section(record):
    p = record["platform"]
    yield f"## {p['device']}"
    yield ""
    yield (f"`{record['command']}`, commit {record['commit'][:7]}, CUDA {p['CUDA']}, "
           f"driver for CUDA {p['CUDA of the driver']}.")
    rows = record["rows"]
    others = [r for r in rows if not any(is_of(r, m[0]) for m in MORE)]
    gemms = [r for r in others if r.get("unit") == "TFLOP/s"]
    memory = [r for r in others if r.get("unit") == "x"]
    musts = [r for r in rows if "must" in r]
    reached = sum(measured(r) >= r["must"] for r in musts)
    yield ""
    yield f"{reached} of {len(musts)} goals are reached; what is not is bold."
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
    for family, table, text in MORE:
        found = [r for r in rows if is_of(r, family)]
        if found:
            yield from ("", text, "", *table(found))


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
