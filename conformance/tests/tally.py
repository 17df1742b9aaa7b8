#!/usr/bin/env python3
"""Adds up what ran: tally.py REPORT...

A report is CTest's JUnit file, in which a test that printed TAP counts as its
lines and any other as one, or a file of TAP. Prints the outputs of the failed,
what was skipped and why, the ten slowest tests, and `N passed, N failed, N
skipped`; exit status 1 if anything failed or nothing passed.
"""

import re
import sys
import xml.etree.ElementTree as tree

TAP = re.compile(r"^(not ok|ok) (.*)$", re.MULTILINE)


def cases_of(path):
    """Yields (name, status, seconds, output) of each test of a report."""
    try:
        if path.endswith(".tap"):
            with open(path) as file:
                yield path, "run", 0.0, file.read()
            return
        cases = list(tree.parse(path).getroot().iter("testcase"))
        if not cases:
            yield path, "fail", 0.0, "no test has this label"
        for case in cases:
            status = case.get("status")
            skipped = case.find("skipped")
            why = "" if skipped is None else skipped.get("message", "")
            # Else it is a test that could not run: no executable, for one.
            if status == "notrun" and not why.startswith("SKIP_"):
                status = "fail"
            yield (case.get("name"), status, float(case.get("time", 0)),
                   case.findtext("system-out") or why)
    except (OSError, tree.ParseError) as error:
        yield path, "fail", 0.0, f"no report: {error}"


def count(status, lines):
    """Returns [passed, failed, skipped] of a test."""
    if not lines:
        return [status == "run", status == "fail",
                status in ("notrun", "disabled")]
    failed = sum(word == "not ok" for word, _ in lines)
    skipped = sum(word == "ok" and "# SKIP" in rest for word, rest in lines)
    # A script that ended before its last line is one failure more.
    ended = status == "fail" and failed == 0
    return [len(lines) - failed - skipped, failed + ended, skipped]


def main():
    totals = [0, 0, 0]
    times = []
    for path in sys.argv[1:]:
        for name, status, seconds, output in cases_of(path):
            lines = TAP.findall(output)
            counts = count(status, lines)
            totals = [a + b for a, b in zip(totals, counts)]
            times.append((seconds, name))
            if counts[1]:
                print(f"FAILED {name}")
                print("\n".join([line for line in output.splitlines()
                                 if not line.startswith("ok ")][-100:]))
            elif counts[2] and not lines:
                print(f"skipped {name}")
            for word, rest in lines:
                if word == "ok" and "# SKIP" in rest:
                    print("skipped", rest.replace(" # SKIP", ":"))
            print("".join(f"{line[2:]}\n" for line in output.splitlines()
                          if line.startswith("# stale")), end="")
    for seconds, name in sorted(times, reverse=True)[:10]:
        print(f"-- {seconds:.0f} s {name}")
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
