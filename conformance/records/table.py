#!/usr/bin/env python3
"""Writes README.md's table of proofs from the records beside this file.

  table.py            rewrites what stands between the two marker comments
  table.py --check    changes nothing; exit status 1 if it would

A row is a section of SPEC.md, a pair of columns a record with checks. A check
counts in each row whose clauses it cites.
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
README = HERE.parent.parent / "README.md"
SPEC = HERE.parent / "SPEC.md"
BEGIN = "<!-- Made by conformance/records/table.py -->\n"
END = "<!-- End of what it made -->\n"


def sections():
    """Yields the letter and the title of each section of clauses."""
    return re.findall(r"^## ([A-Z])\. (.*)$", SPEC.read_text(), re.MULTILINE)


def title(record):
    """Returns the device and, if not all was run, what was."""
    device = record["platform"].get("device", "CPU")
    only = re.search(r"--only (\S+)", record["command"])
    return f"{device}, {only[1].strip('.')}" if only else device


def number(n):
    """Returns 650000000 as 6.5e8."""
    return re.sub(r"e\+0*", "e", f"{n:.2g}") if n >= 100000 else str(n)


def cells(record, letter):
    """Returns what was checked of a section, and against what."""
    checks = [
        c for c in record["checks"]
        if any(clause[0] == letter for clause in c["clauses"].split())
        and c["verdict"] != "skipped"
    ]
    if not checks:
        return ["", ""]
    proved = sum(c["verdict"] == "proved" for c in checks)
    cases = sum(c["cases"] for c in checks)
    failed = sum(c["failures"] > 0 for c in checks)
    text = str(len(checks))
    if proved:
        text += f" ({proved} proved)"
    text += f", {number(cases)} cases"
    if failed:
        text += f", **{failed} failed**"
    oracles = [o for c in checks for o in c["oracle"].split(", ")]
    return [text, ", ".join(dict.fromkeys(oracles))]


def row(texts):
    return "| " + " | ".join(texts) + " |\n"


def table(records):
    heads = ["of the SPEC"]
    notes = []
    for r in records:
        heads += [f"checks, {title(r)}", "against"]
        on = ", ".join(f"{k} {v}" for k, v in r["platform"].items())
        notes.append(f"- {title(r)}: `{r['command']}`; {on}.\n")
    text = row(heads) + "|" + "---|" * len(heads) + "\n"
    for letter, name in sections():
        columns = [cell for r in records for cell in cells(r, letter)]
        if any(columns):
            text += row([f"{letter}. {name}"] + columns)
    return text + "\n" + "".join(notes)


def main():
    records = [json.loads(p.read_text()) for p in sorted(HERE.glob("*.json"))]
    records = [r for r in records if "checks" in r]
    old = README.read_text()
    begin = old.index(BEGIN) + len(BEGIN)
    new = old[:begin] + "\n" + table(records) + "\n" + old[old.index(END):]
    if "--check" not in sys.argv[1:]:
        README.write_text(new)
    elif new != old:
        sys.exit("README.md: run conformance/records/table.py")


main()
