"""The program that the package carries."""

import json
import os
import pathlib
import subprocess

from ._library import Error


def program():
    """Its path. Raises Error where the package was built without it."""
    given = os.environ.get("ZEROULP_PROGRAM")
    path = pathlib.Path(given) if given else \
        pathlib.Path(__file__).parent / "bin" / "zeroulp"
    if not path.exists():
        raise Error(
            "the program zeroulp is not in this package: it needs GMP, MPFR, "
            "Boost, CLI11 and nlohmann-json when it is built (tools/install.sh)")
    return str(path)


def answer_of(arguments, folder):
    """What `zeroulp ARGUMENTS --json` prints, run in `folder`: a dict. Status 1
    is an answer; at status 2 its line is raised as Error."""
    ran = subprocess.run([program(), *arguments, "--json"], cwd=folder,
                         capture_output=True, text=True)
    if ran.returncode > 1:
        lines = (ran.stderr or "no message").strip().splitlines()
        raise Error(lines[-1].removeprefix("zeroulp: "))
    return json.loads(ran.stdout)
