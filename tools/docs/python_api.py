"""The reference of the Python package: signatures of its stubs, docstrings of
its modules. Nothing is imported."""

import ast
import re

from markdown import ROOT

PACKAGE = ROOT / "tools/python/zeroulp"
# zeroulp.plugin is this module.
PLUGIN = ROOT / "tools/examples/zeroulp_plugin.py"

MODULES = {
    "zeroulp": "__init__", "zeroulp.testing": "testing",
    "zeroulp.identify": "identify", "zeroulp.parity": "parity",
    "zeroulp.checkpoint": "checkpoint", "zeroulp.torch": "torch",
    "zeroulp.strategies": "strategies", "zeroulp.plugin": "plugin",
    "zeroulp.pytest_plugin": "pytest_plugin",
}


def definitions(tree):
    """Returns the functions and classes of a module by name."""
    return {node.name: node for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def known_to(tree):
    """Returns {name: node} of what a module defines, or takes from another one
    of the package by `from ._x import name`."""
    found = {}
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        path = PACKAGE / f"{node.module}.py"
        if not path.exists():
            continue
        theirs = known_to(ast.parse(path.read_text()))
        for name in node.names:
            if name.name in theirs:
                found[name.asname or name.name] = theirs[name.name]
    return {**found, **definitions(tree)}


def signature(node):
    text = ast.unparse(node.args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return public_types(f"({text}){returns}")


def public_types(text):
    """Returns annotations without the underscore of the stubs' own types."""
    return re.sub(r"\b_(?=[A-Z])", "", text)


def doc_of(node):
    text = ast.get_docstring(node) if node is not None else None
    # `*` of a product is no emphasis; names are code.
    return re.sub(r"(?<!`)\*", r"\\*", text) if text else ""


def indented(text, by="    "):
    return "\n".join(by + line if line else "" for line in text.split("\n"))


def function(module, node, source, kind="function"):
    return directive(kind, f"{module}{node.name}{signature(node)}",
                     doc_of(source))


def directive(kind, what, body, ticks=4):
    marks = "`" * ticks
    return f"{marks}{{py:{kind}}} {what}\n\n{body}\n{marks}\n"


def members(node, source):
    """Returns the methods and attributes of a class, documented by its source."""
    known = {n.name: n for n in source.body
             if isinstance(n, ast.FunctionDef)} if source else {}
    out, seen = [], set()
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and not part.target.id.startswith("_"):
            kind = public_types(ast.unparse(part.annotation))
            out.append(f"```{{py:attribute}} {part.target.id}\n:type: {kind}\n```\n")
        if not isinstance(part, ast.FunctionDef) or part.name in seen:
            continue
        if part.name.startswith("_"):
            continue
        seen.add(part.name)
        decorators = {ast.unparse(d) for d in part.decorator_list}
        part.args.args = part.args.args if "staticmethod" in decorators \
            else part.args.args[1:]
        text = doc_of(known.get(part.name))
        if "property" in decorators:
            kind = f":type: {public_types(ast.unparse(part.returns))}\n" \
                if part.returns else ""
            out.append(f"```{{py:property}} {part.name}\n{kind}\n{text}\n```\n")
        else:
            out.append(directive("method", part.name + signature(part), text, 3))
    return "\n".join(out)


def klass(module, node, source):
    bases = [ast.unparse(b) for b in node.bases]
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and
                 n.name == "__init__"), None)
    arguments = ""
    if made is not None:
        made.args.args = made.args.args[1:]
        made.returns = None
        arguments = signature(made)
    text = doc_of(source)
    if bases and not bases[0].startswith("_"):
        text = f"A `{bases[0]}`. " + text if text else f"A `{bases[0]}`."
    kind = "exception" if bases in (["ValueError"], ["RuntimeError"]) else "class"
    return directive(kind, f"{module}{node.name}{arguments}",
                     f"{text}\n\n{members(node, source)}")


def page(name, stem):
    """Returns the page of a module, or None if it has no public name."""
    source = ast.parse((PACKAGE / f"{stem}.py").read_text())
    stub = PACKAGE / f"{stem}.pyi"
    types = ast.parse(stub.read_text()) if stub.exists() else source
    known = known_to(ast.parse(PLUGIN.read_text()) if stem == "plugin" else source)
    shown = [n for n in definitions(types).values()
             if not n.name.startswith(("_", "pytest_"))]
    if stem == "__init__":
        names = next(ast.literal_eval(n.value) for n in source.body
                     if isinstance(n, ast.Assign) and
                     n.targets[0].id == "__all__")
        shown = [n for n in shown if n.name in names]
    out = [f"# {name}", "", doc_of(source), ""]
    for title, kind in (("Functions", ast.FunctionDef), ("Classes", ast.ClassDef)):
        nodes = sorted((n for n in shown if isinstance(n, kind)),
                       key=lambda n: n.name)
        if nodes:
            out += [f"## {title}", ""]
        for node in nodes:
            make = function if kind is ast.FunctionDef else klass
            out.append(make(f"{name}.", node, known.get(node.name)))
    return "\n".join(out)


def pages():
    result = {}
    rows = ["# Python", "", "The package `zeroulp`: "
            "[install](../../install.md) it, or read "
            "[its README](../../tools/python/README.md). An Array is NumPy's, "
            "ml_dtypes', torch's or what speaks DLPack; a FormatLike is a name "
            "of a format, a Format, or a dtype of theirs.", "",
            "| module | what it has |", "|---|---|"]
    for name, stem in MODULES.items():
        result[f"api/python/{name}.md"] = page(name, stem)
        text = ast.get_docstring(ast.parse((PACKAGE / f"{stem}.py").read_text()))
        first = re.split(r"(?<=[.:])\s", text.removeprefix("zeroulp: "),
                         maxsplit=1)[0].rstrip(":.") + "."
        rows.append(f"| [{name}]({name}.md) | {' '.join(first.split())} |")
    rows += ["", "```{toctree}", ":hidden:", "", *MODULES, "```", ""]
    result["api/python/index.md"] = "\n".join(rows)
    return result
