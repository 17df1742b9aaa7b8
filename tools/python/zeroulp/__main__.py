"""`zeroulp` and `python -m zeroulp`: the program that the package carries."""

import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).parent / "bin" / "zeroulp"
    if not program.exists():
        sys.exit("zeroulp: this package was built without the program: it needs "
                 "GMP, MPFR, Boost, CLI11 and nlohmann-json when it is built")
    os.execv(program, ["zeroulp", *sys.argv[1:]])


if __name__ == "__main__":
    main()
