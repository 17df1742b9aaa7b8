#!/usr/bin/env python3
"""Makes the tables of pages/conventions.md and pages/recipes.md, of what the
program lists: conventions.py PROGRAM [--check]

--check changes nothing and says whether the pages have them (exit status 1)."""

import json
import re
import subprocess
import sys

import markdown

BEGIN = "<!-- Made by tools/docs/conventions.py: {} -->"
END = "<!-- End of what it made -->"

EDGES = {"unit_scale_of_zero": "zero", "unit_scale_of_infinity": "infinity",
         "unit_scale_of_nan": "nan", "finite_inverse": "inverse",
         "positive_scale": "positive"}
# Fields whose usual value is not worth a column.
USUAL = {"scale_floor": "0", "exponent": "amax/max", "bf16_amax": False,
         "bf16_scale": False, "unrounded_inverse": False,
         "pre_rounding": "none", "largest": "max", "default_scale": "fp32"}


def listed(program, *arguments):
    return json.loads(subprocess.run(
        [program, *arguments, "--json"], check=True, stdout=subprocess.PIPE,
        text=True).stdout)


def text(value):
    return {True: "yes", False: "no"}.get(value, value) if isinstance(
        value, bool) else str(value)


def code(words):
    return f"`{words}`"


def short(formula):
    """Returns a formula without what the page says below the table."""
    return re.split(r", (?=exact|q of)", formula)[0]


def anchor(name):
    """Returns the anchor of a row; a dot would begin a class there."""
    return name.replace(".", "-")


def anchored(name):
    return f'<a id="{anchor(name)}"></a>{code(name)} '


def row(cells):
    cells = [text(c).replace("|", "\\|") for c in cells]
    if not all(c.strip() for c in cells):
        raise ValueError(f"a blank cell: {cells}")
    return "| " + " | ".join(cells) + " |"


def table(head, rows):
    return "\n".join([row(head), "|" + "---|" * len(head), *map(row, rows)])


def rules(conventions):
    """A row a convention, with an anchor of its name."""
    def more(c):
        return ", ".join(f"{k} {text(c[k])}" for k, usual in USUAL.items()
                         if c[k] != usual) or "none"

    return table(
        ["convention", "scale", "element", "amax", "least amax",
         "edges with a rule", "conversion", "further rules"],
        [[anchored(c['name']), code(c["scale"]),
          code(short(c["element"])), c["amax"],
          "none" if c["amax_floor"] == "0" else c["amax_floor"],
          ", ".join(v for k, v in EDGES.items() if c[k]) or "none",
          code(c["conversion"]), more(c)] for c in conventions])


def differences(conventions):
    """Of each convention the one that differs in the fewest fields."""
    def differing(a, b):
        return [k for k in a if k not in ("name", "source") and a[k] != b[k]]

    rows = []
    for c in conventions:
        other = min((o for o in conventions if o is not c),
                    key=lambda o: len(differing(c, o)))
        what = "; ".join(
            f"{k}: {code(short(text(c[k])))}, there {code(short(text(other[k])))}"
            for k in differing(c, other)) or "nothing"
        rows.append([f"[{c['name']}](#{anchor(c['name'])})",
                     f"[{other['name']}](#{anchor(other['name'])})", what,
                     c["source"]])
    return table(["convention", "nearest to it", "in which they differ",
                  "source of the convention"], rows)


def recipes(found):
    return table(
        ["recipe", "promoted every", "update", "scales of A", "of B", "epilogue",
         "output", "source"],
        [[anchored(r['name']), r["interval"],
          code(r["update"]), r["a"], r["b"], code(r["epilogue"]), r["output"],
          r["source"]] for r in found])


def replaced(page, name, made):
    begin = BEGIN.format(name)
    if begin not in page:
        raise ValueError(f"no place for {name}: {begin}")
    before, rest = page.split(begin, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{begin}\n\n{made}\n\n{END}{after}"


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    conventions = listed(arguments[0], "conventions")
    made = {"conventions": {"rules": rules(conventions),
                            "differences": differences(conventions)},
            "recipes": {"recipes": recipes(listed(arguments[0], "recipes"))}}
    stale = 0
    for name, tables in made.items():
        path = markdown.PAGES / f"{name}.md"
        page = path.read_text()
        new = page
        for table_name, lines in tables.items():
            new = replaced(new, table_name, lines)
        if new != page and "--check" in arguments:
            print(f"{path}: not what the program lists: run "
                  "tools/docs/conventions.py PROGRAM")
            stale = 1
        elif new != page:
            path.write_text(new)
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
