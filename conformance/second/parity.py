#!/usr/bin/env python3
"""The report of a campaign again, from its raw losses alone, by NumPy:
parity.py PLAN FOLDER, where FOLDER has losses.csv and parity.json. TAP.

Written from training.md 3.5 and the plan's fields: gaps of held-out losses over
paired seeds, Student's intervals, the verdict, its power. Quantiles are found by
numerical integration and bisection, the power by simulation."""

import csv
import json
import math
import pathlib
import sys

import numpy as np

failures = 0


def verdict(name, wrong):
    global failures
    failures += bool(wrong)
    print(f"not ok {name}\n# {wrong}" if wrong else f"ok {name}")


def integral(density, low, high):
    """By Gauss and Legendre on 400 panels of eight points."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(low, high, 401)
    half = (edges[1:] - edges[:-1]) / 2
    x = (edges[1:] + edges[:-1])[:, None] / 2 + half[:, None] * nodes
    return float((density(x) * weights * half[:, None]).sum())


def bisect(rising, goal, low, high):
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < goal else (low, middle)
    return low


def students_t(freedom, level):
    """The t that holds a two-sided share `level`."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) \
        / math.sqrt(freedom * math.pi)

    def density(x):
        return scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    return bisect(lambda t: 2 * integral(density, 0, t), level, 0, 1000)


def chi_squared(freedom, share):
    """Of which `share` lies below; in sqrt(x), where the density is smooth."""
    scale = 2 / (2 ** (freedom / 2) * math.exp(math.lgamma(freedom / 2)))

    def density(r):
        return scale * r ** (freedom - 1) * np.exp(-r * r / 2)
    return bisect(lambda r: integral(density, 0, r), share, 0, 100) ** 2


def place(low, high, bound):
    if -bound < low and high < bound:
        return "within"
    return "beyond" if low > bound or high < -bound else "undecided"


def estimate(gaps, level):
    n = len(gaps)
    mean, sd = float(np.mean(gaps)), float(np.std(gaps, ddof=1))
    half = students_t(n - 1, level) * sd / math.sqrt(n)
    squares = (n - 1) * sd * sd
    return {"n": n, "mean": mean, "low": mean - half, "high": mean + half,
            "sd": sd, "sd_low90": math.sqrt(squares / chi_squared(n - 1, 0.95)),
            "sd_high90": math.sqrt(squares / chi_squared(n - 1, 0.05))}


def simulated_power(n, sd, bound, level):
    rng = np.random.default_rng(1)
    gaps = rng.normal(0, sd, (100000, n))
    half = students_t(n - 1, level) * gaps.std(axis=1, ddof=1) / math.sqrt(n)
    mean = gaps.mean(axis=1)
    return float(np.mean((mean - half > -bound) & (mean + half < bound)))


def expected(plan, held, arm, base, numerics):
    """What the plan's rule says of an arm; `numerics` names who computes."""
    gaps, seeds = [], []
    for seed in plan["seeds"]:
        if (arm, seed) not in held or (base, seed) not in held:
            break
        ours = held[arm, seed][numerics or arm]
        theirs = held[base, seed][numerics or base]
        gaps.append((ours - theirs) / theirs)
        seeds.append(seed)
    want = {"arm": arm, "beside": base, "seeds": seeds, "gaps": gaps}
    for look in plan["looks"]:
        if len(gaps) < look:
            break
        found = estimate(np.array(gaps[:look]), plan["level"])
        found["verdict"] = place(found["low"], found["high"], plan["bound"])
        want.update(found)
        want["power"] = simulated_power(look, found["sd"], plan["bound"],
                                        plan["level"]) if found["sd"] else 1.0
        if found["verdict"] != "undecided":
            break
    return want


def difference(want, got):
    if set(want) != set(got):
        return f"fields {sorted(got)}, expected {sorted(want)}"
    for field, value in want.items():
        if field == "power":
            same = abs(value - got[field]) < 0.01
        elif field == "gaps":
            same = np.allclose(value, got[field], rtol=1e-12, atol=1e-18)
        elif isinstance(value, float):
            same = abs(value - got[field]) <= 1e-9 * max(abs(value), got["sd"])
        else:
            same = value == got[field]
        if not same:
            return f"{field} is {got[field]}, expected {value}"
    return ""


def main():
    plan = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    report = json.loads((folder / "parity.json").read_text())
    held = {}
    with open(folder / "losses.csv", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["step"].startswith("held out by "):
                key = row["arm"], int(row["seed"])
                held.setdefault(key, {})[row["step"][12:]] = \
                    float.fromhex(row["loss"])
    base = plan["base"]
    for part, numerics in (("own", None), ("by_base", base)):
        want = [expected(plan, held, arm, base, numerics)
                for arm in plan["arms"]]
        verdict(f"{part}: {len(want)} arms", "; ".join(
            f"{w['arm']}: {d}" for w, g in zip(want, report[part])
            if (d := difference(w, g))) or
            (len(want) != len(report[part]) and "another number of arms"))
    for (a, b), got in zip(plan["pairs"], report["pairs"]):
        verdict(f"{a} beside {b}",
                difference(expected(plan, held, a, b, None), got))
    looked = [r for r in report["own"]
              if r["arm"] in plan["positive_controls"] and "verdict" in r]
    sensitive = any(r["verdict"] == "beyond" for r in looked) if looked \
        else "unknown"
    verdict("sensitivity", "" if report["is_sensitive"] == sensitive
            else f"{report['is_sensitive']}, expected {sensitive}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
