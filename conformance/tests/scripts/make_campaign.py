#!/usr/bin/env python3
"""Writes the plan and the run folders of a campaign that never ran, whose gaps
are drawn: make_campaign.py FOLDER. Verdicts of every kind are among them."""

import hashlib
import json
import pathlib
import random
import sys

# Arm: mean and deviation of its gap, and seeds that have run.
ARMS = {"control": (0, 4e-4, 12), "near": (5e-4, 3e-4, 6),
        "far": (8e-3, 1e-3, 12), "wide": (1e-3, 4e-3, 12),
        "second_look": (1.2e-3, 1.35e-3, 12), "few": (0, 1e-4, 5)}
PLAN = {"size": "none", "data": "source", "steps": 5, "base": "base",
        "control": "control", "arms": list(ARMS),
        "positive_controls": ["far", "few"],
        "pairs": [["far", "near"], ["near", "control"]],
        "seeds": list(range(1, 13)), "looks": [6, 12], "level": 0.95,
        "bound": 0.0025}


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def write_run(folder, settings, losses, held_out):
    """As `zeroulp train --out` does."""
    folder.mkdir(parents=True)
    text = json.dumps(settings)
    (folder / "settings.json").write_text(text + "\n")
    chain = digest(text)
    lines = ["step,loss,norm,rate,state,chain"]
    for i, loss in enumerate(losses):
        row = f"{i + 1},{hexadecimal(loss)},0x1p+0,0x1p-10," \
            f"{digest(str(i)) if i + 1 == len(losses) else ''}"
        chain = digest(chain + row)
        lines.append(f"{row},{chain}")
    (folder / "receipt.csv").write_text("\n".join(lines) + "\n")
    lines = ["step,batches,arm,loss,chain"]
    for arm, loss in held_out.items():
        row = f"{len(losses)},64,{arm},{hexadecimal(loss)}"
        chain = digest(chain + row)
        lines.append(f"{row},{chain}")
    (folder / "held_out.csv").write_text("\n".join(lines) + "\n")


def hexadecimal(x):
    """Without the zeros at the end that float.hex() has."""
    head, power = x.hex().split("p")
    return (head.rstrip("0").rstrip(".") if "." in head else head) + "p" + power


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    rng = random.Random(1)
    plan = json.dumps(PLAN, indent=1)
    (folder / "plan.json").write_text(plan)
    base = {seed: 1.2 * (1 + rng.gauss(0, 0.004)) for seed in PLAN["seeds"]}
    for arm, (mean, deviation, count) in {"base": (0, 0, 12), **ARMS}.items():
        for seed in PLAN["seeds"][:count]:
            settings = {"size": {"name": "none"}, "arm": {"name": arm},
                        "seed": seed, "steps": 5, "data": "source",
                        "plan": digest(plan)}
            loss = base[seed] * (1 + rng.gauss(mean, deviation))
            by_base = base[seed] if arm == "base" else \
                base[seed] * (1 + rng.gauss(mean / 2, deviation))
            losses = [loss * (1 + 1 / (i + 1)) for i in range(5)]
            write_run(folder / "runs" / f"{arm}.{seed}", settings, losses,
                      {arm: loss, "base": by_base})


if __name__ == "__main__":
    main()
