#!/usr/bin/env python3
"""Tests what makes a record stale: check_edits.py [SEED]

100 random edits of comments, white space, layout and #include lines must leave
the digest of a source as it is, 100 of its tokens must change it; and check.sh
must say so of the right records. Prints `ok TEST` or `not ok TEST` lines.
"""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = "conformance/records/check.sh"
KEPT = ("include", "conformance", "fuzz", "cuda", "src")
# A token, a comment or a string: what must not be cut in two.
PIECES = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])+'|#\s*\w+(?:\\\n|[^\n])*|[\w.]+(?:'\w+)*"
    r"|\s+|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||.", re.DOTALL)


def pieces_of(text):
    return [m.group(0) for m in PIECES.finditer(text)]


def is_token(piece):
    return not piece.isspace() and not piece.startswith(("//", "/*", "#"))


def edit_layout(text, rng):
    """Returns text with another comment, gap or #include."""
    pieces = pieces_of(text)
    gaps = [i for i, p in enumerate(pieces) if p.isspace() and "\n" in p]
    at = rng.choice(gaps)
    kind = rng.randrange(5)
    if kind == 0:
        pieces[at] = "  // " + rng.choice(["why", "a \"b", "it's"]) + pieces[at]
    elif kind == 1:
        pieces[at] += rng.choice(["\n", "  ", "\t"])
    elif kind == 2:
        pieces[at] = "\n\n#include \"another/name.hpp\"" + pieces[at]
    elif kind == 3:
        pieces[at] = "\n/* of\n two lines */" + pieces[at]
    else:
        pieces[rng.choice([i for i, p in enumerate(pieces)
                           if p.startswith("//")] or [at])] = "\n"
    # A directive ends with its line: nothing goes behind it on that line.
    if at > 0 and pieces[at - 1].startswith("#"):
        return text + "\n// at the end\n"
    return "".join(pieces)


def edit_token(text, rng):
    """Returns text with one token left out, doubled or another one."""
    pieces = pieces_of(text)
    tokens = [i for i, p in enumerate(pieces) if is_token(p)]
    at = rng.choice(tokens)
    kind = rng.randrange(3)
    if kind == 0 and pieces[at][0] != '"':
        pieces[at] = " "
    elif kind == 1 and pieces[at][0] != '"':
        pieces[at] += " " + pieces[at]
    else:
        pieces[at] = "another" + ("'" if pieces[at][0] == "'" else "")
    return "".join(pieces)


class Tree:
    """A copy of what records depend on."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        for name in KEPT:
            shutil.copytree(ROOT / name, self.root / name, ignore=lambda d, n:
                            [x for x in n if x in ("tests", "build")])
        digest = self.root / "token_digest"
        subprocess.run(
            ["g++", "-std=c++20", "-O1", "-DFMT_HEADER_ONLY", "-I",
             self.root, "-o", digest,
             self.root / "conformance/records/token_digest.cpp",
             self.root / "src/base/sha256.cpp"], check=True)
        self.env = dict(os.environ, TOKEN_DIGEST=str(digest))
        self.records = {}
        for name in ("cpu", "gpu"):
            lines = self.run(CHECK, "--hash", name).split("\n")
            sources = ",\n".join('    "%s": "%s"' % (path, digest) for
                                 digest, path in map(str.split, lines[:-1]))
            self.records[name] = self.root / (name + "_record.json")
            self.records[name].write_text(
                '{\n  "depends_on": "%s",\n  "sources": {\n%s\n  }\n}\n'
                % (name, sources))

    def run(self, *arguments):
        return subprocess.run(["sh", *map(str, arguments)], cwd=self.root,
                              env=self.env, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def digest(self, text, suffix):
        path = self.root / ("edited" + suffix)
        path.write_text(text)
        said = subprocess.run([self.env["TOKEN_DIGEST"], path], check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        return said.split()[0]

    def stale(self):
        said = self.run(CHECK, *self.records.values())
        return {line.split()[1].split("_")[0] for line in said.splitlines()
                if line.startswith("stale")}


failed = 0


def verdict(name, reason):
    global failed
    failed += bool(reason)
    print(("not ok " if reason else "ok ") + name)
    if reason:
        print("    " + reason)


def try_edits(tree, rng, name, edit, keeps):
    sources = [p for folder in KEPT for p in (tree.root / folder).rglob("*")
               if p.suffix in (".hpp", ".cpp", ".cu", ".cuh")
               and "//" in p.read_text()]
    sources = sorted(p for p in sources
                     if any(map(is_token, pieces_of(p.read_text()))))
    for _ in range(100):
        path = rng.choice(sources)
        text = path.read_text()
        edited = edit(text, rng)
        same = tree.digest(text, path.suffix) == tree.digest(edited,
                                                             path.suffix)
        if same != keeps:
            return verdict(name, "of %s: the digest %s" % (
                path.relative_to(tree.root), "stays" if same else "changes"))
    return verdict(name, "")


def try_records(tree):
    def expect(name, stale):
        found = tree.stale()
        verdict(name, "" if found == stale else
                "stale: %s, not %s" % (sorted(found), sorted(stale)))

    expect("records_are_fresh_at_first", set())
    for path, stale in (("include/zeroulp/core/round.hpp", {"cpu", "gpu"}),
                        ("conformance/oracles/gemm_oracle.cpp", {"cpu"}),
                        ("cuda/common/quantizer_plan.cuh", {"gpu"}),
                        ("src/io/npy.cpp", set())):
        file = tree.root / path
        text = file.read_text()
        file.write_text("// Another comment.\n" + text)
        expect("a_comment_of_%s_leaves_records_fresh" % file.stem, set())
        file.write_text(text + "\nint another;\n")
        expect("a_token_of_%s_makes_the_right_records_stale" % file.stem, stale)
        file.write_text(text)
        renamed = file.with_name("renamed" + file.suffix)
        file.rename(renamed)
        expect("another_name_of_%s_leaves_records_fresh" % file.stem, set())
        renamed.rename(file)
    for folder in ("checks", "device"):
        readme = tree.root / "conformance" / folder / "README.md"
        readme.write_text("Another text.\n")
        expect("a_readme_in_%s_leaves_records_fresh" % folder, set())
    vectors = next((tree.root / "conformance/vectors").iterdir())
    vectors.write_bytes(vectors.read_bytes() + b"x")
    expect("a_byte_of_vectors_makes_the_cpus_record_stale", {"cpu"})


def main(seed="1"):
    rng = random.Random(int(seed))
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        try_edits(tree, rng, "edits_of_layout_keep_the_digest", edit_layout,
                  True)
        try_edits(tree, rng, "edits_of_tokens_change_the_digest", edit_token,
                  False)
        try_records(tree)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
