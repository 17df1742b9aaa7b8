#!/usr/bin/env python3
"""Writes the tables of proofs from the records beside this file.

  table.py            rewrites what stands between the two marker comments of
                      README.md, of the README.md beside this file and of
                      SPEC.md
  table.py --check    changes nothing; exit status 1 if it would

README.md: a row is a section of SPEC.md, a pair of columns a record of all
checks of a level. A check counts in each row whose clauses it cites. Beside
this file: a row is a record, also those of some checks (--only); below stand
the machines. SPEC.md: a row is a convention, with the packages that were held
against it, or the source that it was read from.
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SPEC = HERE.parent / "SPEC.md"
BEGIN = "<!-- Made by conformance/records/table.py -->\n"
END = "<!-- End of what it made -->\n"


def sections():
    """Yields the letter and the title of each section of clauses."""
    found = re.findall(r"^## ([A-Z])\. (.*)$", SPEC.read_text(), re.MULTILINE)
    return [*found, ("N", "The training step")]  # SPEC_TRAINING.md


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


def table_of_proofs(records):
    whole = [r for r in records.values() if is_whole(r)]
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
    return text


def table_of_records(records):
    heads = ["record", "command", "on", "of the SPEC", "checks", "against"]
    text = row(heads) + "|" + "---|" * len(heads) + "\n"
    machines = {}
    for name, r in records.items():
        of = ", ".join(sorted(set().union(*map(letters_of, r["checks"]))))
        count, against = cells(r["checks"])
        text += row([name, f"`{r['command']}`", title(r), of,
                     count or "all skipped", against])
        on = ", ".join(f"{k} {v}" for k, v in r["platform"].items())
        machines.setdefault(on, []).append(name)
    text += "\n" + row(["records", "made on"]) + "|---|---|\n"
    for on, names in machines.items():
        text += row([", ".join(names), on])
    return text


def claim_text(claim):
    """Returns what a claim is of, and what came of it."""
    settings = dict(s.split("=") for s in claim["settings"].split(","))
    text = f"{settings['from']}, {settings['group']}, {settings['scale']}: "
    if not claim["differences"]:
        return f"{text}{number(claim['elements'])} elements {claim['verdict']}"
    return text + "differs, " + ", ".join(
        f"{name} of x = {' '.join(re.search(r'/x=[^.]*[.]([^/]*)', token)[1].split('.'))}"
        for name, token in sorted(claim["differences"].items()))


def sources():
    """Returns the source of each convention, as the core's table has it."""
    core = (ROOT / "include/zeroulp/core/convention.hpp").read_text()
    table = core.partition("named_conventions[] = {")[2].partition("};")[0]
    return dict(re.findall(r'\{"([^"]+)",\s*\w+,\s*"([^"]+)"\}', table))


def table_of_peers(_):
    """A row for each convention of SPEC Q13 and package that claims it."""
    source = sources()
    q13 = SPEC.read_text().partition("- **Q13**")[2].partition("\n\n  \"all\"")[0]
    names = re.findall(r"^  \| ([a-z]\S+) \|", q13, re.MULTILINE)[1:]
    runs = json.loads((HERE / "peers.json").read_text())["runs"]
    text = row(["name", "package, module; or its source", "on", "held"])
    text += "|---|---|---|---|\n"
    for name in names:
        rows = ""
        for run in runs:
            on = f"{run['device']}, PyTorch {run['torch']}"
            on += f", Triton {run['triton']}" if run["triton"] else ""
            for p in run["peers"]:
                claims = [c for c in p.get("claims", []) if c["as"] == name]
                if claims:
                    rows += row([name,
                                 f"{p['package']} {p['version']}, `{p['module']}`",
                                 on, "; ".join(map(claim_text, claims))])
        absent = [name, source[name], "not run", "from its source"]
        if name == "zeroulp":
            absent = [name, source[name], "the checks of section Q", "ours"]
        text += rows or row(absent)
    return text


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    records = {p.stem: json.loads(p.read_text())
               for p in sorted(HERE.glob("*.json"))
               if not p.name.startswith("perf_")}
    records = {name: r for name, r in records.items() if "checks" in r}
    for readme, table in ((ROOT / "README.md", table_of_proofs),
                          (HERE / "README.md", table_of_records),
                          (SPEC, table_of_peers)):
        old = readme.read_text()
        begin = old.index(BEGIN) + len(BEGIN)
        new = (old[:begin] + "\n" + table(records) + "\n" +
               old[old.index(END):])
        if not sys.argv[1:]:
            readme.write_text(new)
        elif new != old:
            sys.exit(f"{readme.relative_to(ROOT)}: "
                     "run conformance/records/table.py")


main()
