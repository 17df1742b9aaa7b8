#!/usr/bin/env python3
"""Proves the lemmas of this folder: prove.py [--level 1] [--known FILE] [PART...]

A line of TAP each: of a lemma, that no input refutes it; of a false one, that
some input does; of a tie, that the
built library gives what the transcription gives; of a fault, that its lemma is
refuted and that the counterexample shows it in the library. Without a solver,
or without the library (ZEROULP_LIBRARY), what needs it is skipped.

A lemma is a function of its text in SMT-LIB, so that what was proved once stays
proved: --write FILE notes the SHA-256 of each text, and --known FILE does not ask
the solver again for those of FILE, but for those of --share.
"""

import argparse
import hashlib
import importlib
import sys
import time
from unittest import mock

import numpy as np

import library
import significands
import smt
from bits import both, evaluate
from evaluate import of_integers, of_lanes

PARTS = ("conversions", "scales", "packing", "places", "window", "sums",
         "results", "steps")
CHUNK = 1 << 15  # inputs at once: the lanes of all nodes stay in the cache
failures = 0


class Proved:
    """The SHA-256s of the texts of lemmas that are known, and of those of now.
    `share` (i, n): of the known ones, every n-th is asked all the same."""

    def __init__(self, file=None, share=None):
        lines = open(file).read().splitlines() if file else []
        self.known = {line.split()[0] for line in lines if line[:1] != "#"}
        self.share = share
        self.now = []

    def needs(self, digest):
        if digest not in self.known or self.share is None:
            return digest not in self.known
        part, parts = self.share
        return int(digest[:8], 16) % parts == part

    def write(self, file):
        with open(file, "w") as out:
            out.write("# SHA-256 of a lemma's SMT-LIB, its name: prove.py --write\n")
            out.writelines(f"{d} {name}\n" for d, name in self.now)


proved = Proved()


def tell(holds, name, since, text=""):
    global failures
    failures += not holds
    print(f"{'ok' if holds else 'not ok'} {name}", flush=True)
    print(f"# {time.monotonic() - since:.2f} s {text}".rstrip(), flush=True)


def shown(values):
    return ", ".join(f"{n} = {int(v):#x}" for n, v in sorted(values.items()))


def prove(lemma):
    start = time.monotonic()
    holds = lemma.holds()
    name = f"lemma: {lemma.name} ({lemma.clauses})"
    asked = [smt.script(x) for x in (holds.premise, ~holds) if x is not None]
    digest = hashlib.sha256("\0".join(asked).encode()).hexdigest()
    if not proved.needs(digest):
        proved.now.append((digest, lemma.name))
        return tell(True, name, start, "by the record")
    if holds.premise is not None and smt.find(holds.premise) is None:
        return tell(False, f"lemma: {lemma.name}", start, "speaks of no input")
    found = smt.find(~holds)
    if found is None:
        proved.now.append((digest, lemma.name))
    tell(found is None, name, start,
         "" if found is None else "refuted by " + shown(found))


def deny(lemma):
    start = time.monotonic()
    found = smt.find(~lemma.holds())
    tell(found is not None, f"false: {lemma.name}", start,
         "" if found is None else "refuted by " + shown(found))


def differences(tie, given):
    """Where the transcription's results are not the library's."""
    nodes, wrong = tie.results(), []
    size = len(next(iter(given.values())))
    for first in range(0, size, CHUNK):
        some = {n: x[first:first + CHUNK] for n, x in given.items()}
        some = {n: x.astype(np.uint64) for n, x in some.items()}
        ours = (evaluate(nodes, some, of_lanes) if not tie.wide else
                one_by_one(nodes, some))
        for a, b in zip(ours, tie.library(some), strict=True):
            wrong.extend(first + np.flatnonzero(a != b.astype(np.uint64)))
    return size, wrong


def one_by_one(nodes, given):
    """The results on Python's integers."""
    rows = zip(*(x.tolist() for x in given.values()))
    every = [evaluate(nodes, dict(zip(given, row)), of_integers) for row in rows]
    return [np.array(x, np.uint64) for x in zip(*every)]


def run(tie):
    start = time.monotonic()
    given = tie.inputs(np.random.default_rng(1))
    size, wrong = differences(tie, given)
    text = f"{size} inputs"
    if wrong:
        text += " first at " + shown({n: x[wrong[0]] for n, x in given.items()})
    tell(not wrong, f"tie: {tie.name}", start, text)


def at(tie, point):
    return [int(x) for x in evaluate(tie.results(), point, of_integers)]


def refute(fault):
    start = time.monotonic()
    name = f"fault: {fault.text}: {fault.lemma.name}"
    with mock.patch.object(fault.module, fault.name, fault.instead):
        found = smt.find(both(~fault.lemma.holds(), fault.where()))
        if found is None:
            return tell(False, name, start, "not found")
        point = fault.point(found)
        faulty = at(fault.tie, point)
    given = {n: np.array([x], np.uint64) for n, x in point.items()}
    library_gives = [int(x[0]) for x in fault.tie.library(given)]
    ours = at(fault.tie, point)
    text = f"found {shown(found)}; "
    if point != found:
        text += f"run at {shown(point)}; "
    tell(faulty != library_gives and ours == library_gives, name, start,
         text + f"{listed(faulty)}, but the library {listed(library_gives)}")


def listed(values):
    return " ".join(hex(x) for x in values)


def each(part, kind, items, use, solver=False, built=False):
    """Uses each item, or says why none is."""
    why = ("no solver: pip install bitwuzla"
           if solver and smt.solver() is None else
           "no library: set ZEROULP_LIBRARY"
           if built and library.zeroulp() is None else "")
    if why and items:
        print(f"ok {kind} of {part} ({len(items)}) # SKIP {why}")
        return
    for item in items:
        use(item)


def share_of(text):
    part, parts = (int(x) for x in text.split("/"))
    if not 0 <= part < parts:
        raise ValueError(text)
    return part, parts


def main():
    global failures, proved
    command = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    command.add_argument("--level", type=int, default=0)
    command.add_argument("--known", metavar="FILE",
                         help="lemmas that --write wrote: not asked again")
    command.add_argument("--share", type=share_of, metavar="I/N",
                         help="of the known ones, asked all the same")
    command.add_argument("--write", metavar="FILE")
    command.add_argument("parts", nargs="*", metavar="PART", default=PARTS)
    asked = command.parse_args()
    unknown = set(asked.parts) - set(PARTS)
    if unknown:
        command.error(f"no part {min(unknown)}: use {' '.join(PARTS)}")
    proved = Proved(asked.known, asked.share)
    for part in asked.parts:
        module = importlib.import_module(part)
        lemmas = [x for x in module.LEMMAS if x.level <= asked.level]
        each(part, "lemmas", lemmas, prove, solver=True)
        each(part, "false lemmas", getattr(module, "FALSE", []), deny, solver=True)
        each(part, "ties", module.TIES, run, built=True)
        each(part, "faults", module.FAULTS, refute, solver=True, built=True)
    if "window" in asked.parts:
        failures += significands.main()
    if asked.write:
        proved.write(asked.write)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
