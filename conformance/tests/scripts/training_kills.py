#!/usr/bin/env python3
"""Kills a training run at random times and lets it go on; changes bits of its
folder: training_kills.py PROGRAM FOLDER. TAP. Of ZEROULP_LEVEL 2 on 50 kills and
400 bits, else 8 and 40.

The run that was killed prints the losses and states of the one that was not. A
checkpoint with another bit, or another length, gets one line and exit status 2,
and so do a receipt and settings that an audit reads."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

DEEP = int(os.environ.get("ZEROULP_LEVEL", "1")) >= 2
KILLS, BITS = (50, 400) if DEEP else (8, 40)
PROGRAM = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(sys.argv[2])
RUN = [PROGRAM, "train", "--size", "tiny", "--arm", "full", "--held-out", "0",
       "--steps", str(KILLS)]
failures = 0


def verdict(name, reason):
    global failures
    failures += bool(reason)
    print(f"not ok {name}\n# {reason}" if reason else f"ok {name}", flush=True)


def run(*more):
    return subprocess.run([*RUN, *more], capture_output=True, text=True)


def steps_of(file):
    """The steps of a checkpoint: lines behind the one of settings."""
    if not file.exists():
        return 0
    return file.read_bytes().split(b"\n\n", 1)[0].count(b"\n") - 2


def killed_runs(out, whole, each, rng):
    """Kills runs, of steps of `each` seconds, until so many were running; returns
    what went wrong."""
    kills, most = 0, 0
    while kills < KILLS:
        with subprocess.Popen([*RUN, "--every", "1", "--out", out],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            time.sleep(rng.uniform(0.01, 4 * each))
            process.kill()
            said, complaint = process.communicate()
        if process.returncode == -signal.SIGKILL:
            kills += 1
            most = max(most, steps_of(pathlib.Path(out) / "run.zeroulp"))
        elif process.returncode == 0 and said == whole:
            shutil.rmtree(out)  # it was ready before: from the beginning
        else:
            return f"status {process.returncode} after {kills} kills: {complaint}"
    print(f"# killed as late as after step {most} of {KILLS}")
    ended = run("--every", "1", "--out", out)
    if ended.returncode != 0 or ended.stdout != whole:
        return f"status {ended.returncode}: {ended.stdout}{ended.stderr}"
    return "" if most > 2 else "no run had come as far as step 3"


def changed(data, rng):
    """Copies of a file, each with what was done to it: most with one other bit,
    half of these in the lines at its beginning."""
    lines = data.find(b"\n\n") + 2
    for n in range(BITS):
        at = rng.randrange(lines if n % 2 == 0 and lines > 1 else len(data))
        bit = rng.randrange(8)
        copy = bytearray(data)
        copy[at] ^= 1 << bit
        yield f"bit {bit} of byte {at}", bytes(copy)
    for length in (0, 1, lines, len(data) - 1):
        yield f"cut to {length} bytes", data[:length]
    yield "a byte more", data + b"\0"


def accepted_changes(file, rng, command):
    """Changes of a file that `command` did not refuse: the first, in words."""
    data = file.read_bytes()
    for what, copy in changed(data, rng):
        file.write_bytes(copy)
        got = subprocess.run(command, capture_output=True, text=True)
        refused = got.returncode == 2 and not got.stdout and \
            got.stderr.count("\n") == 1 and file.name in got.stderr
        if not refused:
            return f"{file.name}, {what}: status {got.returncode}: {got.stderr}"
        if file.read_bytes() != copy:
            return f"{file.name}, {what}: it was written"
    file.write_bytes(data)
    return ""


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    rng = random.Random(1)
    start = time.monotonic()
    whole = run().stdout
    each = (time.monotonic() - start) / KILLS
    out = str(FOLDER / "run")
    verdict(f"training goes on after {KILLS} kills, byte for byte",
            killed_runs(out, whole, each, rng))
    verdict(f"training refuses each of {BITS} changed bits of its checkpoint",
            accepted_changes(pathlib.Path(out) / "run.zeroulp", rng,
                             [*RUN, "--out", out]))
    for name in ("settings.json", "receipt.csv"):
        verdict(f"an audit refuses each of {BITS} changed bits of {name}",
                accepted_changes(pathlib.Path(out) / name, rng,
                                 [PROGRAM, "train", "--audit", out,
                                  "--step", "0"]))
    verdict("training goes on from the checkpoint as it was",
            "" if run("--out", out).stdout == whole else "another state")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
