"""The reference of the C and C++ API: a page a public header, of its comments.

A header of include/zeroulp opens with `//` lines that say what it defines: the
page's beginning. A lone `// Matrices.` is a heading. `///` lines belong to the
declaration behind them. Bodies of functions, static_asserts and what is in a
namespace `detail` are left out."""

import itertools
import re
import textwrap

from markdown import ROOT

INCLUDE = ROOT / "include/zeroulp"

# C headers in the order in which a reader needs them.
C_HEADERS = ["zeroulp.h", "zeroulp_values.h", "zeroulp_training.h",
             "zeroulp_model.h", "zeroulp_suite.h", "plugin.h",
             "zeroulp_cuda.h", "zeroulp_cuda_model.h"]

NAME = [
    r"^#define (\w+)",
    r"^typedef [^;]*?\(\*(\w+)\)\(",
    r"^(?:template <.*?> )?(?:requires .*? )?(?:typedef )?"
    r"(?:struct|class|enum class|enum|union) (\w+)",
    r"^(?:template <.*?> )?(?:using|concept) (\w+)",
    r"^[^(=]*?\b(operator *[^\s\w(]+|\w+)\(",
    r"\b(\w+)(?:\[[^]]*\])?(?: *=|\{|;)",
]
BODY = re.compile(r"\)\s*(const\s*)?(noexcept\s*)?(->\s*[\w:<>]+\s*)?$")
INITIALIZERS = re.compile(r"(\)\s*(?:const\s*)?(?:noexcept\s*)?):(?!:).*$", re.S)


def public():
    """Returns the paths of the public headers."""
    return sorted(str(p.relative_to(ROOT)) for p in INCLUDE.rglob("*.h*"))


class Item:
    """A declaration, a heading, or text."""

    def __init__(self, kind, doc, *codes):
        self.kind, self.doc, self.codes = kind, doc, list(codes)


def name_of(code):
    flat = " ".join(re.sub(r"//.*", "", code).split())
    flat = re.sub(r"^(ZEROULP_API|ZEROULP_HD|ZEROULP_PLUGIN_VISIBLE"
                  r"|\[\[\w+\]\]) *", "", flat)
    for pattern in NAME:
        m = re.search(pattern, flat)
        if m:
            return m[1]
    return flat[:40]


def declaration(code):
    """Returns code without the bodies of its functions."""
    out, at = "", 0
    while at < len(code):
        c = code[at]
        if code.startswith("//", at):
            end = code.find("\n", at)
            end = len(code) if end < 0 else end
            out += code[at:end]
            at = end
            continue
        if c == "{":
            cut = INITIALIZERS.search(statement(out))
            head = out[:len(out) - len(statement(out)) + cut.end(1)] if cut else out
            if BODY.search(head):
                at = matching(code, at) + 1
                out = head.rstrip() + ";"
                continue
        out += c
        at += 1
    return re.sub(r";\s*;", ";", out)


def statement(out):
    """Returns the unfinished last statement of code."""
    return out[max(out.rfind(";"), out.rfind("{"), out.rfind("}")) + 1:]


def matching(code, at):
    depth = 0
    for i in range(at, len(code)):
        depth += {"{": 1, "}": -1}.get(code[i], 0)
        if depth == 0:
            return i
    return len(code) - 1


def without_comment(line):
    return re.sub(r"//.*|'[{}]'|\"[^\"]*\"", "", line)


class Reader:
    """Goes through the lines of a header."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.at = 0
        self.items = []
        self.is_apart = True  # a blank line lies before

    def comment(self, mark):
        """Takes a comment's lines, without their mark."""
        taken = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line != mark and not line.startswith(mark + " "):
                break
            taken.append(line[len(mark) + 1:])
            self.at += 1
        return "\n".join(taken)

    def skip_namespace(self):
        """Skips a namespace `detail`."""
        depth = 0
        while self.at < len(self.lines):
            line = without_comment(self.lines[self.at])
            depth += line.count("{") - line.count("}")
            self.at += 1
            if depth == 0:
                return

    def take_declaration(self):
        taken, depth = [], 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            bare = without_comment(line)
            depth += sum(bare.count(c) for c in "({[")
            depth -= sum(bare.count(c) for c in ")}]")
            taken.append(line)
            self.at += 1
            if depth == 0 and re.search(r"[;}]\s*$", bare.rstrip()):
                break
        return "\n".join(taken)

    def take_macro(self):
        taken = []
        while self.at < len(self.lines):
            taken.append(self.lines[self.at])
            self.at += 1
            if not taken[-1].endswith("\\"):
                return "\n".join(taken)
        return "\n".join(taken)

    def add(self, doc, code):
        if not doc and code.startswith("static_assert"):
            return
        last = self.items[-1] if self.items else None
        code = declaration(code)
        together = (last and last.kind == "declaration" and not doc and
                    not self.is_apart and "ZEROULP_API" not in code and
                    not re.match(r"(struct|enum|typedef)", code))
        if together or (last and last.kind == "declaration" and not doc and
                        name_of(last.codes[-1]) == name_of(code)):
            last.codes.append(code)
        else:
            self.items.append(Item("declaration", doc, code))

    def read(self):
        """Returns the items of the header; the first is its beginning."""
        self.items.append(Item("beginning", self.comment("//")))
        doc = ""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("///"):
                doc = self.comment("///")
                continue
            if line.startswith("//"):
                text = self.comment("//")
                alone = self.at < len(self.lines) and not self.lines[self.at]
                if alone and not text.startswith("namespace"):
                    self.items.append(Item("text", text))
                continue
            if re.match(r"#define \w+_H(PP)?_$|#(?!define)", line):
                self.at += 1
            elif line.startswith("#define"):
                code = self.take_macro()
                if doc:
                    self.items.append(Item("declaration", doc, code))
            elif re.match(r"namespace .*\bdetail\b", line):
                self.skip_namespace()
            elif re.match(r'(inline )?namespace |extern "C" {|}|\s*$', line):
                self.at += 1
                self.is_apart = True
                continue
            else:
                self.add(doc, self.take_declaration())
            doc, self.is_apart = "", False
        return self.items


TERM = re.compile(r"([A-Z](?:\w| (?! ))*) {2,}(?=\S)")


def terms(lines):
    """Returns a list of terms (`Errors    A function ...`) as Markdown."""
    out = []
    for line in lines:
        m = TERM.match(line)
        if m:
            out.append(f"- **{m[1]}** {line[m.end():]}")
        elif line.startswith("    "):
            out.append("  " + line.strip())
        else:
            out += ["", line]
    return out


def prose(text):
    """Returns a comment as Markdown: lines that are indented are code."""
    out = []
    for part in re.split(r"\n\s*\n", text):
        lines = part.split("\n")
        if TERM.match(part):
            out += [*terms(lines), ""]
            continue
        for is_code, some in itertools.groupby(
                lines, lambda line: line.startswith("  ")):
            piece = "\n".join(some)
            out += ["```text", textwrap.dedent(piece), "```"] if is_code else [piece]
        out.append("")
    # Code goes on behind a blank line.
    text = "\n".join(out).replace("\n```\n\n```text\n", "\n\n")
    return text.replace("*,", "\\*,")


def page(path):
    """Returns the page of a header."""
    short = path[len("include/"):]
    language = "c" if path.endswith(".h") else "cpp"
    items = Reader((ROOT / path).read_text()).read()
    out = [f"# {short}", "", f"```{language}", f"#include <{short}>", "```", "",
           prose(items[0].doc)]
    for item in items[1:]:
        if item.kind == "text":
            line = item.doc.split("\n")[0]
            if "\n" not in item.doc and line.endswith(".") and len(line) < 60:
                out += [f"## {line[:-1]}", ""]
            else:
                out += [prose(item.doc)]
            continue
        names = list(dict.fromkeys(name_of(code) for code in item.codes))
        title = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        out += [f"### {escaped(title)}", "", prose(item.doc),
                f"```{language}", "\n".join(item.codes), "```", ""]
    return "\n".join(out)


def escaped(name):
    return re.sub(r"([_*<>\[\]])", r"\\\1", name)


def sentence(path):
    """Returns what a header defines, in its first sentence."""
    text = Reader((ROOT / path).read_text()).comment("//").split("\n\n")[0]
    text = " ".join(text.split())
    return re.split(r"(?<=[.:]) ", text, maxsplit=1)[0].rstrip(":.") + "."


def index(title, first, paths):
    """Returns a page that lists headers."""
    out = [f"# {title}", "", first, "", "| header | what it is |", "|---|---|"]
    for path in paths:
        what = sentence(path).replace("|", "\\|")
        out.append(f"| [{path[len('include/zeroulp/'):]}](../{path}.md) | {what} |")
    out += ["", "```{toctree}", ":hidden:", ""]
    return "\n".join(out + ["../" + path for path in paths] + ["```", ""])


def pages():
    """Returns the pages of all headers and of their lists."""
    every = public()
    c = ["include/zeroulp/" + name for name in C_HEADERS]
    missing = {p for p in every if p.endswith(".h")} ^ set(c)
    if missing:
        raise ValueError(f"C_HEADERS and include/zeroulp differ: {missing}")
    cpp = [p for p in every if p.endswith(".hpp")]
    cpp.sort(key=lambda p: (p.count("/"), not p.endswith("/zeroulp.hpp"), p))
    result = {path + ".md": page(path) for path in every}
    result["api/c.md"] = index(
        "C", "Plain structs and functions that return a status; any language "
        "that calls C can use them. Link `zeroulp`, `zeroulp_suite` or "
        "`zeroulp_cuda`.", c)
    result["api/cpp.md"] = index(
        "C++", "Include `zeroulp/zeroulp.hpp`, or a header alone. Those in "
        "`core` are the definition: constexpr, for host and device.", cpp)
    return result
