#!/usr/bin/env python3
"""Writes mutants of the fast paths: generate_engine.py SOURCE_DIR OUT_DIR.

As generate.py does of the core, for the files of FILES, compiled for one set of
vector instructions. Besides its changes:

  vector call    hn::Add(a, b) ->  zm::Add(zm::site{17}, a, b), which subtracts
                                   under mutant 17; see engine_schemata.hpp
  vector shift   hn::ShiftLeft<23>(x), by one more and one less
  min and max    std::min, std::max, HWY_MIN
  statement      f(x); or x = y; left out
  real constant  1.0f doubled, 0.0f one

and, in the operators of a model (MODEL_FILES, and core/model):

  arithmetic     A::add(a, b)  -> zm::add<A>(zm::site{17}, a, b), which subtracts
                 A::fma(a, b, c)  rounded twice; bf16_code<A>(a) cut, not rounded

The other files that they include are copied.
"""

import pathlib
import re
import sys

import generate

FILES = [
    "gemm/tile_panel-inl.hpp", "gemm/tile_steps.cpp", "gemm/tile_sums.cpp",
    "gemm/chain_plan.cpp", "gemm/multiplication.hpp",
    "gemm/multiplication.cpp", "gemm/multiply.cpp", "gemm/gemm.cpp",
    "gemm/operand.cpp", "gemm/exact_products.cpp",
    "arrays/formats.hpp",
    "arrays/kernels.hpp", "arrays/lanes.hpp", "arrays/lines.hpp",
    "arrays/lines.cpp", "arrays/scale.hpp", "arrays/dequantize.cpp",
    "arrays/encode.cpp", "arrays/decode_and_scale.cpp", "arrays/pack.cpp",
    "arrays/quantize.cpp", "arrays/recode.cpp", "arrays/retile.cpp",
]
MODEL_FILES = [
    "model/attention.cpp", "model/checks.hpp", "model/hardware.hpp",
    "model/indexer.cpp", "model/mla.cpp", "model/model.cpp", "model/mtp.cpp",
    "model/parallel.cpp", "model/rope_table.cpp", "model/rows-inl.hpp",
]
# Of each function of an arithmetic, the change; see engine_schemata.hpp.
ARITHMETIC = {
    "add": "subtract", "subtract": "add", "multiply": "divide",
    "divide": "multiply", "fma": "two roundings", "negate": "as it is",
    "square_root": "as it is", "bf16_code": "cut",
}
# Of each, the change; both have the same parameters.
CALLS = {
    "Add": "Sub", "Sub": "Add", "Min": "Max", "Max": "Min", "Gt": "Ge",
    "Ge": "Gt", "Lt": "Le", "Eq": "Ne", "Ne": "Eq", "And": "Or", "Or": "And",
    "Xor": "Or", "AndNot": "And", "IfThenElse": "arms swapped",
    "IfThenElseZero": "IfThenZeroElse", "IfThenZeroElse": "IfThenElseZero",
    "Mul": "Div", "Div": "Mul", "MulAdd": "NegMulAdd", "NegMulAdd": "MulAdd",
    "Abs": "as it is", "Neg": "as it is", "Not": "as it is",
    "CopySign": "first", "SaturatedAdd": "Add", "BroadcastSignBit": "as it is",
    "Shl": "Shr", "Shr": "Shl", "ShiftLeftSame": "ShiftRightSame",
    "ShiftRightSame": "ShiftLeftSame", "MaxOfLanes": "as it is",
    "AllFalse": "true",
}
# Whatever these say, the bits are the same: which way lines run, and whether
# threads are worth it.
SPEED_ONLY = {"runs_down", "work_each"}
SPEED_ONLY_LINES = re.compile(r"(\[\[\w+\]\] )?const double work =|using ")
generate.ENUMERATORS.update({
    "kernel": ["core", "steps", "sums", "exact_sums"],
    "storage": ["two_bytes", "four_bytes"],
    "scaling": ["multiply", "divide", "divide_exactly", "multiply_exactly"],
    "element_rule": ["exact_quotient", "quotient", "scale_reciprocal",
                     "inverse", "approximate_quotient"],
    "rope_pairs": ["adjacent", "halves"],
    "pipe_pass": ["forward", "backward", "weights"],
    "mla_order": ["unabsorbed", "absorbed"],
    "router_score": ["sigmoid", "softmax"],
    "group_score": ["top2_sum", "max"],
    "scale_rule": ["quotient", "times_reciprocal",
                   "reciprocal_inverse", "reciprocal_product"],
})
generate.REWRITES = [
    (r"^#if HWY_TARGET == HWY_EMU128\n(?:[^#]*\n)?#else\n([^#]*)#endif\n",
     r"\1"),
    # As with the widest vectors: more than one row.
    (r"rows_at_once = .*;", "rows_at_once = 2;"),
    (r"^( *)constexpr ((?:[\w:]+ )+\w+\()", r"\1inline \2"),
] + [r for r in generate.REWRITES if "S+" not in r[0]]
generate.TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|^\#[^\n]*) | (?P<string>"[^"]*") |
    (?P<real>0x[\da-f]+(?:\.[\da-f]+)?p[-+]?\d+f?|\d+\.\d+f?) |
    (?P<number>0x[0-9a-fA-F]+u?|\d+u?) |
    (?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*) |
    (?P<op><<=|>>=|->|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|.)""",
                            re.X | re.M)


class File(generate.File):
    def functions(self):
        """As there, of functions at namespace and class scope."""
        i, start = 0, 0
        while i < len(self.tokens):
            t = self.text(i)
            if t in (";", "{", "}") or (t == ":" and self.text(
                    self.solid(i, -1)) in ("public", "private")):
                if t == "{":
                    body = self.body(start, i)
                    if body:
                        yield body
                        i = body[2]
                    elif not self.is_scope(start, i):
                        i = self.closing(i)
                start = i + 1
            elif t == "(":
                i = self.closing(i)
            i += 1

    def header(self, start, i):
        return [self.text(k) for k in range(start, i)
                if self.tokens[k][0] != "space"]

    def is_scope(self, start, i):
        return any(t in ("namespace", "class", "struct")
                   for t in self.header(start, i)) and \
            "(" not in self.header(start, i)

    def body(self, start, i):
        """Name, first and last token of the function that { opens, if any."""
        tokens = self.header(start, i)
        if "(" not in tokens or "=" in tokens[:tokens.index("(")] or \
                "operator" in tokens:
            return None
        name = tokens[tokens.index("(") - 1].rpartition("::")[2]
        # Initializers of members, which may have braces.
        first = i
        k = start
        while k < i:
            if self.text(k) == "(":
                k = self.closing(k)
            elif self.text(k) == ":":
                first = k
                break
            k += 1
        while first != i and self.tokens[self.solid(i, -1)][0] == "name":
            i = self.closing(i)
            while self.text(i) != "{":
                i = self.closing(i) if self.text(i) == "(" else i
                i += 1
        return name, first, self.closing(i)

    def closing(self, i):
        depth = 0
        while True:
            depth += self.text(i) in ("(", "{", "[")
            depth -= self.text(i) in (")", "}", "]")
            if depth == 0:
                return i
            i += 1

    def operand(self, i, step, stops):
        """As there; a block's end is one of a statement."""
        closing, opening = (")]}", "([{") if step < 0 else ("([{", ")]}")
        depth, end = 0, i
        while True:
            i = self.solid(i, step)
            t = self.text(i)
            block = step < 0 and t == "}" and "\n" in self.text(i + 1)
            if depth == 0 and (block or t in opening or t in stops
                               or t in ",;?:" or t in ("return", "=")
                               or t in generate.ASSIGNMENTS):
                return end
            depth += (t in closing) - (t in opening)
            end = i

    def in_table(self, i):
        return False

    def in_static_condition(self, i):
        depth = 0
        while self.text(i) not in ("{", "}", ";"):
            depth += (self.text(i) == "(") - (self.text(i) == ")")
            if self.text(i) == "constexpr" and depth > 0:
                return True
            i -= 1
        return False

    def mutate_token(self, function, i):
        group, t = self.tokens[i]
        p = self.text(self.solid(i, -1))
        n = self.text(self.solid(i, 1))
        if group == "space" or self.in_static_condition(i) or \
                function in SPEED_ONLY or \
                SPEED_ONLY_LINES.match(self.statement(i)):
            return
        if group == "real":
            s = self.site(function, i, "1" if t.startswith("0.0") else "twice")
            self.replaced[i] = f"zm::real({t}, {s})"
        elif group == "number":
            size = p == "[" and n == "]" and \
                self.text(self.solid(self.solid(i, 1), 1)) in (";", "=", "[")
            argument = self.text(i - 1) == "<" or self.text(i + 1) == ">"
            if p != "case" and not argument and not size:
                super().mutate_token(function, i)
        elif t in ("true", "false") and (n == ">" or p == "<"):
            pass
        elif t in ("std::min", "std::max", "HWY_MIN"):
            self.mutate_extreme(function, i)
        elif t.startswith("hn::") and t[4:] in CALLS and n == "(":
            s = self.site(function, i, CALLS[t[4:]])
            self.replaced[i] = f"zm::{t[4:]}"
            self.after[self.solid(i, 1)] += f"zm::site{{{s}}}, "
        elif t in ("hn::ShiftLeft", "hn::ShiftRight"):
            k = i
            while self.text(k) != ">":
                k += 1
            up = self.site(function, i + 2, "one more")
            down = self.site(function, i + 2, "one less")
            self.replaced[i] = t.replace("hn", "zm")
            self.after[self.solid(k, 1)] += f"{up}, {down}, "
        else:
            super().mutate_token(function, i)
        if group == "name" and p in (";", "{", "}", ")", ":", "else"):
            self.leave_out(function, i, p)

    def statement(self, i):
        """The statement of token i, from its first token to this one."""
        first = i
        while self.text(first - 1) not in (";", "{", "}"):
            first -= 1
        return "".join(self.text(k) for k in range(first, i + 1)
                       if not self.text(k).startswith("//")).lstrip()

    def mutate_extreme(self, function, i):
        t = self.text(i)
        s = self.site(function, i, "min" if t == "std::max" else "max")
        k = i
        while self.text(k) != "(":
            k += 1
        self.replaced[i] = "zm::max" if t == "std::max" else "zm::min"
        self.after[k] += f"zm::site{{{s}}}, "

    def leave_out(self, function, i, p):
        """The statement that begins at i, if it is a call or an assignment."""
        if "\n" not in self.text(i - 1) and p != ")":
            return
        k = i
        calls = False
        while True:
            n = self.solid(k, 1)
            if self.text(n) in ("(", "["):
                calls = self.text(n) == "("
                k = self.closing(n)
            elif self.text(n) in (".", "->"):
                k = self.solid(n, 1)
            else:
                break
        if self.text(i) in ("return", "if", "for", "while", "switch", "else"):
            return
        # What is left without a value may have the right one.
        if self.text(n) == "=" and k == i and self.text(i).endswith("_") or \
                self.text(i) in ("std::fill_n", "std::memset", "find_scales"):
            return
        if self.text(n) == "=":
            while self.text(n) != ";":
                n = self.closing(n) if self.text(n) in "([{" else n
                n = self.solid(n, 1)
        elif not (calls and self.text(n) == ";"):
            return
        s = self.site(function, i, "left out")
        self.before[i] = f"(void)(zm::on({s}) || (void(" + self.before[i]
        self.before[n] = self.before[n] + "), true))"


class ModelFile(File):
    """A file of a model's operators: besides, each call of an arithmetic."""

    # Calls of bf16_code become those of zm::bf16_code.
    not_seen = {"bit_cast", "bf16_code"}

    def mutate_token(self, function, i):
        group, t = self.tokens[i]
        n = self.solid(i, 1)
        if group == "name" and self.is_arithmetic(i):
            name = t.rpartition("::")[2]
            s = self.site(function, i, ARITHMETIC[name])
            if t.startswith(("A::", "D::")):
                name += f"<{t[0]}>"
            elif t == "bf16_code":
                n = self.closing_angle(n)
            self.replaced[i] = f"zm::{name}"
            self.after[self.solid(n - 1, 1)] += f"zm::site{{{s}}}, "
        elif t in ("++", "--") and not self.in_for_header(i):
            self.mutate_step(function, i, t)
        else:
            super().mutate_token(function, i)

    def is_arithmetic(self, i):
        t = self.text(i)
        n = self.solid(i, 1)
        scope, _, name = t.rpartition("::")
        if name not in ARITHMETIC:
            return False
        if t == "bf16_code":
            return self.text(n) == "<"
        if self.text(n) != "(" or self.text(self.solid(n, 1)) == ")":
            return False
        first = self.text(self.solid(n, 1))
        return scope in ("A", "D") or t == "std::fma" or \
            first in ("fp32", "fp64")

    def closing_angle(self, i):
        while self.text(i) != ">":
            i += 1
        return self.solid(i, 1)

    def mutate_step(self, function, i, t):
        """++x(i).y or --x[i] as a statement."""
        if self.text(self.solid(i, -1)) not in (";", ")", "{", "}") or \
                self.tokens[self.solid(i, 1)][0] != "name":
            return
        k = self.solid(i, 1)
        while self.text(k + 1) in (".", "(", "["):
            k = k + 2 if self.text(k + 1) == "." else self.closing(k + 1)
        s = self.site(function, i, "--" if t == "++" else "++")
        self.replaced[i] = ""
        self.after[k] += f" {t[0]}= zm::on({s}) ? -1 : 1"


def main():
    root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    src, core = root / "src", root / "include" / "zeroulp" / "core"
    out.mkdir(parents=True, exist_ok=True)
    runner = pathlib.Path(__file__).parent / "runner"
    sites = {}

    def write(path, name, to, kind):
        text = path.read_text()
        if kind:
            f = kind(name, text, sites)
            f.mutate()
            text = f.result()
            support = f'#include "{runner / "engine_schemata.hpp"}"\n\n'
            if "hn::" in text or "ints" in text:
                support = support.replace("engine_", "simd_")
            text = re.sub(r"^(HWY_BEFORE_NAMESPACE|namespace zeroulp)",
                          lambda m: support + m.group(), text, count=1,
                          flags=re.M)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)

    kinds = {**dict.fromkeys(FILES, File),
             **dict.fromkeys(MODEL_FILES, ModelFile)}
    others = [str(p.relative_to(src)) for p in sorted(src.glob("*/*.hpp"))]
    others += ["base/simd.cpp", "model/rows.cpp"]
    for name in [*kinds, *(n for n in others if n not in kinds)]:
        write(src / name, name, out / "src" / name, kinds.get(name))
    for path in sorted((core / "model").glob("*.hpp")):
        name = f"core/model/{path.name}"
        write(path, name, out / "zeroulp" / name, ModelFile)
    generate.write_sites(out, sites)


if __name__ == "__main__":
    main()
