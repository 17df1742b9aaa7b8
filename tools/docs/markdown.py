"""Pages as the site and its test read them: fences, links, included parts."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "tools/docs/pages"

FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^`]*)$")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<to>[^()\s]+)\)")
CODE = re.compile(r"`[^`\n]+`")

# Tags of a fence: why a block is not run. With `torch` it is, where that is.
NOT_RUN = {
    "gpu": "needs a Hopper GPU",
    "torch": "needs PyTorch",
    "triton": "needs Triton and a GPU",
    "install": "installs or builds",
    "consumers": "is run by the test of installed packages, consumers.sh",
    "package": "needs the installed package",
    "long": "takes minutes",
    "yours": "is about files of yours",
}


class Block:
    """A fenced block: language, tags, settings (status=1), code, output."""

    def __init__(self, line, info):
        words = info.split()
        self.line = line
        self.language = words[0] if words else ""
        self.tags = [w for w in words[1:] if "=" not in w]
        self.settings = dict(w.split("=", 1) for w in words[1:] if "=" in w)
        self.code = []
        self.end = line
        self.output = None  # the block behind it, of the language `output`

    def why_not_run(self):
        """Returns why no test runs it, or ''."""
        for tag in self.tags:
            if tag in NOT_RUN:
                return NOT_RUN[tag]
        return ""


def blocks_of(text):
    """Returns the fenced blocks of a page in order."""
    found, block, marks, indent = [], None, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        m = FENCE.match(line)
        if block is None:
            if m:
                block, marks = Block(number, m["info"]), m["marks"]
                indent = len(m["indent"])
        elif line.strip() == marks:
            block.end = number
            previous = found[-1] if found else None
            if block.language == "output" and previous is not None:
                previous.output = block
            found.append(block)
            block = None
        else:
            block.code.append(line[indent:])
    if block is not None:
        raise ValueError(f"line {block.line}: a code block that is not closed")
    return found


def outside_code(text, change):
    """Returns text with change(piece) for each piece that is no code."""
    out, prose, fence = [], [], ""

    def flush():
        if prose:
            joined = "\n".join(prose)
            at, done = 0, []
            for m in CODE.finditer(joined):
                # `code` as the text of a link is part of the link.
                if joined[:m.start()].endswith("["):
                    continue
                done += [change(joined[at:m.start()]), m[0]]
                at = m.end()
            out.append("".join(done) + change(joined[at:]))
            prose.clear()

    for line in text.split("\n"):
        m = FENCE.match(line)
        if fence:
            out.append(line)
            if line.strip() == fence:
                fence = ""
        elif m:
            flush()
            out.append(line)
            fence = m["marks"]
        else:
            prose.append(line)
    flush()
    return "\n".join(out)
