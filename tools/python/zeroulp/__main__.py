"""`zeroulp` and `python -m zeroulp`: the program that the package carries."""

import os
import sys

from ._library import Error
from ._program import program


def main():
    try:
        path = program()
    except Error as e:
        sys.exit(f"zeroulp: {e}")
    os.execv(path, ["zeroulp", *sys.argv[1:]])


if __name__ == "__main__":
    main()
