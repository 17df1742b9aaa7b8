#!/usr/bin/env python3
"""Checks the language and the links of texts: lint_text.py [FILE...]

Without FILE it checks every tracked README.md and CONTRIBUTING.md, and the pages
of tools/docs. Code blocks, tables, headings and HTML comments are no sentences;
`code` is one word, and a link is its text. A fault is a line, `path:line: what`:

  a file whose sentences have a median of more than 18 words, or without any
  a sentence of more than 35 words
  a sentence that begins with "Of", "What", "The same of" or "Those of"
  the word that standards have for a byte
  a relative link to no file, or to no heading of a file
  a README.md of the root with more than 150 lines
  a code block that is not closed

Exit status: 0 and what was counted; 1 a fault; 2 nothing to check.
"""

import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEDIAN, LONGEST, LINES = 18, 35, 150
BEGINNING = re.compile(r"\W*(Of|What|The same of|Those of)\b")
BYTE = re.compile(r"\bocte[t]s?\b", re.IGNORECASE)
ITEM = re.compile(r"\s*([-*+]|\d+\.) ")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^()\s]+)\)")
END = re.compile(r"[.!?][\"')\0]*\s+(?=\S)")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|cf|vs)\.$")


class Text:
    """A file: its lines, its blocks of prose, its headings, its links."""

    def __init__(self, path):
        self.path = path
        self.lines = path.read_text().splitlines()
        self.blocks = []  # lists of (number, line)
        self.headings = []
        self.open_fence = 0
        self.read()

    def read(self):
        block, fence, comment = [], 0, False

        def end():
            if block:
                self.blocks.append(block[:])
            block.clear()

        for number, line in enumerate(self.lines, 1):
            bare = line.strip()
            if bare.startswith("```"):
                end()
                fence = 0 if fence else number
            elif fence:
                continue
            elif comment or bare.startswith("<!--"):
                end()
                comment = "-->" not in bare
            elif bare.startswith("#") or bare.startswith("|") or not bare:
                end()
                if bare.startswith("#"):
                    self.headings.append(bare.lstrip("#").strip())
            else:
                if ITEM.match(line):
                    end()
                    line = ITEM.sub("", line, count=1)
                block.append((number, bare if block else line.strip()))
        end()
        self.open_fence = fence

    def sentences(self):
        """Yields the line on which each begins, and its text."""
        for block in self.blocks:
            text = plain(" ".join(line for _, line in block))
            at = 0
            for stop in [m.end() for m in END.finditer(text)] + [len(text)]:
                piece = text[at:stop]
                if ABBREVIATION.search(piece.rstrip()) and stop < len(text):
                    continue
                if words_of(piece):
                    yield line_of(block, at), piece.replace("\0", "").strip()
                at = stop

    def links(self):
        """Yields the line of each link and where it leads."""
        kept, fenced = [], False
        for line in self.lines:
            is_fence = line.strip().startswith("```")
            kept.append("" if fenced or is_fence else line)
            fenced ^= is_fence
        text = re.sub(r"`[^`]*`", blank, "\n".join(kept))
        for m in LINK.finditer(text):
            yield text.count("\n", 0, m.start()) + 1, m[2]


def blank(m):
    """Returns nothing but the line ends of a match."""
    return re.sub(r"[^\n]", " ", m[0])


def plain(text):
    """Returns text as it is read, of the same length: NUL is nothing."""
    def code(m):
        return "C" + "\0" * (len(m[0]) - 1)

    def link(m):
        if m[0].startswith("!"):
            return "\0" * len(m[0])
        return "\0" + m[1] + "\0" * (len(m[0]) - len(m[1]) - 1)

    return re.sub(r"[*]", "\0", LINK.sub(link, re.sub(r"`[^`]*`", code, text)))


def words_of(text):
    words = text.replace("\0", "").split()
    return [w for w in words if re.search(r"\w", w)]


def line_of(block, at):
    for number, line in block:
        if at <= len(line):
            return number
        at -= len(line) + 1
    return block[-1][0]


def anchors_of(path):
    """Returns what GitHub calls the headings of a file, and its own anchors."""
    text = Text(path)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-")
            for h in text.headings} | \
        set(re.findall(r'<a id="([^"]+)">', "\n".join(text.lines)))


def fault_of_link(path, to):
    """Returns what is wrong with a link, or ''."""
    if re.match(r"[a-z][a-z0-9+.-]*:", to):
        return ""
    name, _, anchor = to.partition("#")
    file = path.parent / name if name else path
    if not file.exists():
        return f"link to no file: {to}"
    if anchor and file.suffix == ".md" and anchor not in anchors_of(file):
        return f"link to no heading: {to}"
    return ""


def check(text, report):
    """Reports the faults of a file; returns its counts of words and links."""
    lengths = []
    for number, sentence in text.sentences():
        count = len(words_of(sentence))
        lengths.append(count)
        shown = " ".join(sentence.split()[:6])
        if count > LONGEST:
            report(number, f"a sentence of {count} words, {LONGEST} at most: "
                   f"{shown} ...")
        if BEGINNING.match(sentence):
            report(number, f"a sentence that begins so: {shown} ...")
    if not lengths:
        report(1, "no sentence")
    elif statistics.median(lengths) > MEDIAN:
        report(1, f"sentences of {statistics.median(lengths):g} words in the "
               f"median, {MEDIAN} at most")
    for number, line in enumerate(text.lines, 1):
        if BYTE.search(line):
            report(number, f"'{BYTE.search(line)[0]}': say vec8 or byte")
    links = list(text.links())
    for number, to in links:
        fault = fault_of_link(text.path, to)
        if fault:
            report(number, fault)
    if text.path == ROOT / "README.md" and len(text.lines) > LINES:
        report(LINES + 1, f"{len(text.lines)} lines, {LINES} at most")
    if text.open_fence:
        report(text.open_fence, "a code block that is not closed")
    return lengths, links


def tracked():
    said = subprocess.run(
        ["git", "ls-files", "-z", "README.md", "*/README.md",
         "CONTRIBUTING.md", "*/CONTRIBUTING.md", "tools/docs/pages/*.md"], cwd=ROOT, check=True,
        text=True, stdout=subprocess.PIPE).stdout
    return [ROOT / name for name in said.split("\0") if name]


def main(names):
    paths = [pathlib.Path(n).resolve() for n in names] or tracked()
    if not paths:
        print("lint_text.py: nothing to check", file=sys.stderr)
        return 2
    faults, medians, sentences, links = 0, [], 0, 0
    for path in paths:
        shown = path.relative_to(ROOT) if ROOT in path.parents else path

        def report(number, fault):
            nonlocal faults
            faults += 1
            print(f"{shown}:{number}: {fault}")

        lengths, leads = check(Text(path), report)
        sentences += len(lengths)
        links += len(leads)
        medians += [statistics.median(lengths)] if lengths else []
    if faults:
        return 1
    print(f"{len(paths)} files, {sentences} sentences of "
          f"{min(medians):g} to {max(medians):g} words in the median, "
          f"{links} links")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
