#!/usr/bin/env python3
"""Writes README.md's table of proofs from the records beside this file.

  table.py            rewrites what stands between the two marker comments
  table.py --check    changes nothing; exit status 1 if it would

A row is a section of SPEC.md, a pair of columns a record of all checks of a
level. A check counts in each row whose clauses it cites. Below stands a line
for each record, also of those of some checks (--only).
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


def is_whole(record):
    """Returns whether all checks of the level were run."""
    return "--only" not in record["command"]


def title(record):
    device = record["platform"].get("device", "CPU")
    level = re.search(r"--level (\d)", record["command"])[1]
    return device if level == "1" else f"{device}, level {level}"


def number(n):
    """Returns 650000000 as 6.5e8."""
    return re.sub(r"e\+0*", "e", f"{n:.2g}") if n >= 100000 else str(n)


def letters_of(check):
    return {clause[0] for clause in check["clauses"].split()}


def cells(checks):
    """Returns how many there are, and against what they were held."""
    checks = [c for c in checks if c["verdict"] != "skipped"]
    if not checks:
        return ["", ""]
    proved = sum(c["verdict"] == "proved" for c in checks)
    cases = sum(c["cases"] for c in checks)
    failed = sum(c["verdict"] in ("FAILED", "VACUOUS") for c in checks)
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
    whole = [r for r in records if is_whole(r)]
    heads = ["of the SPEC"]
    for r in whole:
        heads += [f"checks, {title(r)}", "against"]
    text = row(heads) + "|" + "---|" * len(heads) + "\n"
    for letter, name in sections():
        columns = [
            cell for r in whole for cell in cells(
                [c for c in r["checks"] if letter in letters_of(c)])
        ]
        if any(columns):
            text += row([f"{letter}. {name}"] + columns)
    text += "\n"
    said = set()
    for r in whole + [r for r in records if not is_whole(r)]:
        on = ", ".join(f"{k} {v}" for k, v in r["platform"].items())
        what = ""
        if not is_whole(r):
            count, against = cells(r["checks"])
            of = ", ".join(sorted(set().union(*map(letters_of, r["checks"]))))
            what = f": checks of {of}: {count or 'all skipped'}"
            what += f", against {against}" if against else ""
        text += f"- {title(r)}: `{r['command']}`{what}"
        text += ".\n" if on in said else f"; {on}.\n"
        said.add(on)
    return text


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    records = [json.loads(p.read_text()) for p in sorted(HERE.glob("*.json"))]
    records = [r for r in records if "checks" in r]
    old = README.read_text()
    begin = old.index(BEGIN) + len(BEGIN)
    new = old[:begin] + "\n" + table(records) + "\n" + old[old.index(END):]
    if not sys.argv[1:]:
        README.write_text(new)
    elif new != old:
        sys.exit("README.md: run conformance/records/table.py")


main()
