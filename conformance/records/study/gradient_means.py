#!/usr/bin/env python3
"""Gradients at the same state, by arm and parameter: means over checkpoints.

    zeroulp study --loss --loss-size full --out DIR
    python3 gradient_means.py DIR >gradients.csv

`all` is all gradients together, of DIR/gap.csv; the others are of
DIR/gradients.csv: |g' - g| / |g|, cos(g', g) and <g', g> / <g, g>, where g is
BF16's gradient and g' the arm's.
"""
import csv
import os
import sys


def rows(folder, name):
    with open(os.path.join(folder, name), newline="") as f:
        return list(csv.DictReader(f))


def main():
    folder = sys.argv[1]
    found = [(r["arm"], "all", r["gradient_l2"], r["gradient_cosine"],
              r["gradient_slope"]) for r in rows(folder, "gap.csv")]
    found += [(r["arm"], r["parameter"], r["relative_l2"], r["cosine"],
               r["slope"]) for r in rows(folder, "gradients.csv")]
    numbers = {}
    for arm, parameter, *three in found:
        numbers.setdefault((arm, parameter), []).append(map(float, three))
    print("arm,parameter,relative_l2,cosine,slope")
    arms = list(dict.fromkeys(arm for arm, _ in numbers))
    for arm, parameter in sorted(numbers, key=lambda n: arms.index(n[0])):
        each = list(zip(*numbers[arm, parameter]))
        means = ["%.6g" % (sum(x) / len(x)) for x in each]
        print(",".join([arm, parameter] + means))


if __name__ == "__main__":
    main()
