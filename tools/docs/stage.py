#!/usr/bin/env python3
"""Writes the pages of the site for Sphinx: stage.py FOLDER

Takes tools/docs/pages, the SPECs, every README.md and what they link to, and
the reference of the C, C++ and Python API, made of headers and docstrings. No
text is copied by hand: links are rewritten, and all else stays. A link to no
file, a part to include that is not there or a page that no list names is an
error: one line each, exit status 1.

Needs Python alone. tools/docs/build.sh runs Sphinx on the folder, and
conformance/tests/scripts/docs.sh this program alone.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import headers
import markdown
import python_api

ROOT = markdown.ROOT
PAGES = "tools/docs/pages/"

# The pages in the order of the sidebar; of a path of the tree, or a page here.
CONTENTS = {
    "Begin": ["install", "whose_bits", "ties", "fourteen_bits",
              "block_scales"],
    "Names": ["conventions", "recipes"],
    "Hold a kernel": ["hold", "plugin", "campaigns"],
    "Train": ["training_step", "parity", "study"],
    "Judge": ["proofs", "performance", "glossary", "conformance/SPEC.md",
              "conformance/SPEC_TRAINING.md"],
    "Reference": ["tools/zeroulp/README.md", "api/python/index.md",
                  "api/c.md", "api/cpp.md"],
    "Rooms of the tree": ["rooms.md"],
}
# More pages in full, beside each README.md.
MORE = ["conformance/SPEC.md", "conformance/SPEC_TRAINING.md",
        "cuda/PERFORMANCE.md", "cuda/LESSONS.md", ".github/CONTRIBUTING.md"]
SOURCES = {".c": "c", ".h": "c", ".hpp": "cpp", ".cpp": "cpp", ".cu": "cuda",
           ".cuh": "cuda", ".py": "python", ".sh": "bash", ".txt": "text"}


class Fault(Exception):
    pass


def tracked(*patterns):
    said = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT,
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    return [name for name in said.split("\0") if name]


def page_of(path):
    """Returns where the page of a file of the tree lies in the site."""
    if path.startswith(PAGES):
        return path[len(PAGES):]
    if path.startswith(".github/"):
        return path[len(".github/"):]
    return path if path.endswith(".md") else path + ".md"


class Site:
    """The folder that is written, and what is still to write."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.whole = set(tracked("README.md", "*/README.md")) | set(MORE)
        self.whole |= set(tracked(PAGES + "*.md"))
        self.headers = set(headers.public())
        self.sources = set()
        self.faults = []

    def write(self, page, text):
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def copy(self, path):
        to = self.folder / path
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, to)

    def target(self, path):
        """Returns the page or file of the site for a path of the tree, or None
        where it has none; what is to be written for it is noted."""
        file = ROOT / path
        if file.is_dir():
            if path == "include/zeroulp/core":
                return "api/cpp.md"
            readme = os.path.join(path, "README.md")
            return page_of(readme) if readme in self.whole else None
        if path in self.whole or path in self.headers:
            return page_of(path)
        if file.suffix in SOURCES:
            self.sources.add(path)
            return page_of(path)
        if file.suffix == ".md":
            raise Fault(f"a page that stage.py does not take: {path}")
        self.copy(path)
        return path

    def rewrite(self, text, path, page):
        """Returns a text of `path` with links as they are from `page`."""
        folder, here = os.path.dirname(path), os.path.dirname(page)

        def link(m):
            to = m["to"]
            if re.match(r"[a-z][a-z0-9+.-]*:", to) or to.startswith("#"):
                return m[0]
            name, _, anchor = to.partition("#")
            goal = os.path.normpath(os.path.join(folder, name))
            if goal.startswith("..") or not (ROOT / goal).exists():
                raise Fault(f"link to no file: {to}")
            leads = self.target(goal)
            if leads is None:
                return m["text"]
            leads = os.path.relpath(leads, here or ".")
            return (f"{m['image']}[{m['text']}]({leads}"
                    f"{'#' + anchor if anchor else ''})")

        return markdown.outside_code(
            text, lambda piece: markdown.LINK.sub(link, piece))

    def included(self, path, page, options):
        """Returns the part of a file that an include names."""
        text = (ROOT / path).read_text()
        for option, cut in (("start-after", lambda t, m: t.split(m, 1)[1]),
                            ("end-before", lambda t, m: t.split(m, 1)[0])):
            if option in options:
                if options[option] not in text:
                    raise Fault(f"{path} has no {options[option]!r}")
                text = cut(text, options[option])
        return self.rewrite(text.strip("\n"), path, page)

    def blocks(self, text, path, page):
        """Returns a page with its includes, and blocks as Sphinx shows them:
        a block that no test runs says why."""
        lines = text.split("\n")
        for block in reversed(markdown.blocks_of(text)):
            at, end = block.line - 1, block.end
            if block.language == "{include}":
                name = block.tags[0]
                goal = os.path.normpath(os.path.join(os.path.dirname(path), name))
                options = dict(line[1:].split(": ", 1) for line in block.code)
                if not (ROOT / goal).exists():
                    raise Fault(f"line {block.line}: includes no file: {name}")
                lines[at:end] = self.included(goal, page, options).split("\n")
                continue
            indent = re.match(" *", lines[at])[0]
            language = {"output": "text", "": "text", "cuda": "cuda"}.get(
                block.language, block.language)
            why = block.why_not_run()
            if why:
                note = ("Run only where PyTorch is." if "torch" in block.tags
                        else "Run by the test of installed packages."
                        if "consumers" in block.tags
                        else f"No test runs this: it {why}.")
                lines[at] = (f"{indent}```{{code-block}} {language}\n"
                             f"{indent}:caption: {note}\n")
            elif not language.startswith("{"):
                lines[at] = f"{indent}```{language}"
        return "\n".join(lines)

    def page(self, path):
        """Writes the page of a text of the tree."""
        page = page_of(path)
        try:
            text = (ROOT / path).read_text()
            text = self.rewrite(text, path, page)
            if path.startswith(PAGES):
                text = re.sub(r'<a id="([\w.-]+)"></a>(`?)([^|`]+)\2 ',
                              r"[\2\3\2]{#\1} ", text)
            text = self.blocks(text, path, page)
            if page == "index.md":
                text += contents()
            elif page not in listed():
                text = "---\norphan: true\n---\n\n" + text
            self.write(page, text)
        except (Fault, ValueError) as fault:
            self.faults.append(f"{path}: {fault}")

    def source(self, path):
        """A page with a source: found by links, not by a search."""
        text = (ROOT / path).read_text().rstrip("\n")
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        language = SOURCES[pathlib.Path(path).suffix]
        self.write(page_of(path), f"---\norphan: true\nnosearch: true\n---\n\n"
                   f"# {path}\n\n{fence}{language}\n{text}\n{fence}\n")

    def rooms(self):
        """The page that lists every README.md, a folder each."""
        rows = ["# Rooms of the tree\n", "Each folder has a README.md: what is "
                "here, what may be touched, what depends on it.\n",
                "| folder | what it is |", "|---|---|"]
        for path in sorted(tracked("README.md", "*/README.md")):
            title = (ROOT / path).read_text().split("\n", 1)[0].lstrip("# ")
            folder = os.path.dirname(path) or "the root"
            what = title.partition(": ")[2] or title
            rows.append(f"| [{folder}]({page_of(path)}) | {what} |")
        rows += ["", "[CONTRIBUTING](CONTRIBUTING.md) says how to add a format, "
                 "a convention, a kernel; [LESSONS](cuda/LESSONS.md) what was "
                 "learned about Hopper."]
        self.write("rooms.md", "\n".join(rows) + "\n")


def listed():
    """Returns the pages that the sidebar has."""
    return {name if name.endswith(".md") else name + ".md"
            for names in CONTENTS.values() for name in names}


def contents():
    """Returns the sidebar, for Sphinx."""
    text = ""
    for caption, names in CONTENTS.items():
        entries = "\n".join(n[:-3] if n.endswith(".md") else n for n in names)
        text += (f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n"
                 f":caption: {caption}\n\n{entries}\n```\n")
    return text


def stage(folder):
    """Writes all pages; returns the faults and the number of pages."""
    site = Site(folder)
    for path in sorted(site.whole):
        site.page(path)
    site.rooms()
    for page, text in {**headers.pages(), **python_api.pages()}.items():
        site.write(page, text)
    for path in sorted(site.sources):
        site.source(path)
    pages = list(site.folder.rglob("*.md"))
    for page in listed():
        if not (site.folder / page).exists():
            site.faults.append(f"the sidebar lists no page: {page}")
    for path in tracked(PAGES + "*.md"):
        if page_of(path) not in listed() | {"index.md"}:
            site.faults.append(f"{path}: the sidebar does not list it")
    return site.faults, len(pages)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    faults, count = stage(arguments[0])
    for fault in faults:
        print(fault)
    print(f"{count} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
