#!/usr/bin/env python3
"""Runs the code blocks of tools/docs, a line of TAP each.

    blocks.py --program BIN --libraries FOLDER [--folder FOLDER] [--update] [PAGE...]

A page's blocks run in order, in a folder of the page's own, with Python's
variables kept from block to block:

  ```console   commands behind `$ ` and, after each, what it prints
  ```sh        commands, run with `set -e`
  ```python    run; an ```output block behind it is what it prints
  ```c ```cpp  compiled, linked and run if it has a main, else compiled alone
  ```cuda      compiled, where there is an nvcc
  ```json      with file=NAME: written there; with any language

`...` in a shown output stands for anything, on a line of its own for any lines.
`status=N` after the language is the exit status that is expected. A tag such as
`gpu` says why a block is not run (markdown.py lists them): it is skipped, and
its syntax is checked. Blocks with `torch` run where PyTorch is. --update writes
what was printed into pages where it differs; read what it wrote.

FOLDER of --libraries has libzeroulp.so, libzeroulp_suite.so and the static
libzeroulp.a. Exit status: 1 a block failed.
"""

import argparse
import ast
import contextlib
import functools
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

import markdown

ROOT = markdown.ROOT
LIMIT = 300  # seconds a block, on a machine that does much else


class Skip(Exception):
    pass


class Wrong(Exception):
    pass


@functools.lru_cache(maxsize=1)
def has_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def matches(shown, printed):
    """Whether a printed text is what a page shows, `...` being anything."""
    def lines(text):
        return [line.rstrip() for line in text.rstrip("\n").split("\n")]

    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == "..." else
        ".*".join(map(re.escape, line.split("..."))) + "\n"
        for line in lines(shown))
    return re.fullmatch(pattern, "\n".join(lines(printed)) + "\n") is not None


def commands_of(lines):
    """Yields (command, its shown output) of a console block."""
    command, shown = None, []
    for line in lines:
        if line.startswith("$ "):
            if command is not None:
                yield command, "\n".join(shown)
            command, shown = line[2:], []
        elif command is None:
            raise Wrong("output before the first `$ `")
        elif command.endswith("\\"):
            command += "\n" + line
        else:
            shown.append(line)
    if command is not None:
        yield command, "\n".join(shown)


def expect(shown, printed):
    if not matches(shown, printed):
        raise Wrong(f"shown:\n{shown}\nprinted:\n{printed}")


class Page:
    """Runs the blocks of a page."""

    def __init__(self, path, options, folder):
        self.path, self.options = path, options
        self.folder = pathlib.Path(folder)
        self.lines = path.read_text().split("\n")
        self.variables = {"__name__": "__main__"}
        self.missing = ""  # why blocks from here on cannot run
        self.edits = []  # (first line, last line, new lines)

    def shell(self, script, status=0):
        run = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script], cwd=self.folder, timeout=LIMIT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if run.returncode != status:
            raise Wrong(f"{script}\nexit status {run.returncode}, not {status}:"
                        f"\n{run.stdout}")
        return run.stdout

    def compare(self, first, shown, printed):
        """Compares what lines from `first` on show, or notes a new text."""
        if matches(shown, printed):
            return
        if not self.options.update:
            expect(shown, printed)
        count = len(shown.split("\n")) if shown else 0
        self.edits.append((first, first + count,
                           [line.rstrip() for line in
                            printed.rstrip("\n").split("\n")]))

    def console(self, block):
        at = block.line  # lines are counted from 0 in self.lines
        found = list(commands_of(block.code))
        for number, (command, shown) in enumerate(found):
            last = number == len(found) - 1
            at += 1 + command.count("\n")
            # The status is that of the last command; others must be 0.
            status = int(block.settings.get("status", 0)) if last else 0
            self.compare(at, shown, self.shell(command, status))
            at += len(shown.split("\n")) if shown else 0

    def python(self, block):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.missing = "no NumPy here"
            raise Skip(self.missing)
        code = "\n".join(block.code)
        printed, before = io.StringIO(), os.getcwd()
        name = f"{self.path.name}:{block.line}"
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(code, name, "exec"), self.variables)
        except Exception:
            raise Wrong(traceback.format_exc())
        finally:
            os.chdir(before)
        self.shown_behind(block, printed.getvalue())

    def shown_behind(self, block, printed):
        if block.output is not None:
            self.compare(block.output.line, "\n".join(block.output.code), printed)
        elif printed.strip():
            raise Wrong(f"prints what no output block shows:\n{printed}")

    def compiled(self, block):
        """C and C++: run where there is a main."""
        cpp = block.language == "cpp"
        source = self.folder / f"block{block.line}.{'cpp' if cpp else 'c'}"
        source.write_text("\n".join(block.code) + "\n")
        compiler = ["g++", "-std=c++20"] if cpp else ["gcc", "-std=c11"]
        compiler += ["-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include"]
        compiler += ["-isystem", "/usr/include/eigen3"] if cpp else []
        if not re.search(r"\bmain\(", source.read_text()):
            self.shell(" ".join(compiler + ["-fsyntax-only", str(source)]))
            return
        program = source.with_suffix("")
        library = self.options.libraries
        self.shell(" ".join(
            compiler + ["-o", str(program), str(source), f"-L{library}",
                        f"-Wl,-rpath,{library}", "-lzeroulp"]))
        status = int(block.settings.get("status", 0))
        self.shown_behind(block, self.shell(str(program), status))

    def cuda(self, block):
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        if not pathlib.Path(nvcc).exists():
            raise Skip("no nvcc here")
        source = self.folder / f"block{block.line}.cu"
        source.write_text("\n".join(block.code) + "\n")
        self.shell(f"{nvcc} -std=c++20 -arch=sm_90a -I{ROOT}/include "
                   f"-c -o {source}.o {source}")

    def check_syntax(self, block):
        """What can be said of a block that is not run."""
        code = "\n".join(block.code)
        if block.language == "python":
            ast.parse(code)
        elif block.language in ("sh", "console"):
            if block.language == "console":
                code = "\n".join(c for c, _ in commands_of(block.code))
            run = subprocess.run(["bash", "-n"], input=code, text=True,
                                 stderr=subprocess.PIPE)
            if run.returncode:
                raise Wrong(run.stderr)
        elif block.language == "cuda":
            self.cuda(block)

    def run(self, block):
        """Runs a block; returns whether it is one of those that count."""
        if "file" in block.settings:
            (self.folder / block.settings["file"]).write_text(
                "\n".join(block.code) + "\n")
        runs = {"console": self.console, "python": self.python,
                "sh": lambda b: self.shell("set -e\n" + "\n".join(b.code)),
                "c": self.compiled, "cpp": self.compiled, "cuda": self.cuda}
        if block.language not in runs:
            return "file" in block.settings
        why = block.why_not_run()
        if why and not ("torch" in block.tags and has_torch()):
            self.check_syntax(block)
            raise Skip(why)
        if self.missing:
            raise Skip(f"what it needs was skipped: {self.missing}")
        runs[block.language](block)
        return True

    def apply_edits(self):
        for first, last, new in sorted(self.edits, reverse=True):
            self.lines[first:last] = new
        if self.edits:
            self.path.write_text("\n".join(self.lines))


def run_page(path, options, folder):
    """Runs a page; returns the number of failures."""
    failures, shown = 0, f"pages/{path.name}"
    page = Page(path, options, folder)
    for block in markdown.blocks_of(path.read_text()):
        name = f"docs: {shown}:{block.line} {block.language}"
        try:
            if page.run(block):
                print(f"ok {name}", flush=True)
        except Skip as why:
            print(f"ok {name} # SKIP {why}", flush=True)
        except (Wrong, SyntaxError, subprocess.TimeoutExpired) as fault:
            failures += 1
            print(re.sub("(?m)^", "# ", str(fault)))
            print(f"not ok {name}", flush=True)
    page.apply_edits()
    return failures


def set_environment(options, shims):
    """Blocks find the program, the libraries and, as python3, this Python."""
    libraries = pathlib.Path(options.libraries).resolve()
    program = pathlib.Path(options.program).resolve()
    options.libraries = libraries
    shim = pathlib.Path(shims) / "python3"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    shim.chmod(0o755)
    os.environ.update(
        ZEROULP_LIBRARY=str(libraries / "libzeroulp.so"),
        ZEROULP_SUITE_LIBRARY=str(libraries / "libzeroulp_suite.so"),
        ZEROULP_PROGRAM=str(program), PYTHONPATH=str(ROOT / "tools/python"),
        PYTHONDONTWRITEBYTECODE="1", ZEROULP_PYTHON=sys.executable,
        ZEROULP_SOURCE=str(ROOT),
        PATH=f"{shims}:{program.parent}:{os.environ['PATH']}")
    sys.path.insert(0, str(ROOT / "tools/python"))
    sys.dont_write_bytecode = True


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--folder")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(dir=options.folder) as shims:
        set_environment(options, shims)
        for path in options.pages or sorted(markdown.PAGES.glob("*.md")):
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                failures += run_page(path.resolve(), options, folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
