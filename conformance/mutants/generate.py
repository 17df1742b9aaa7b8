#!/usr/bin/env python3
"""Writes mutants of the core: generate.py CORE_DIR OUT_DIR.

Copies CORE_DIR/*.hpp to OUT_DIR/zeroulp/core and rewrites each place of a
function's body where one token can be changed by one, so that a single build
holds all mutants ("schemata") and a flag chosen at run time switches one on:

  constant        7      ->  zm::constant(7, 17) gives 7, or 8 under mutant 17
  operator        a < b  ->  a < zm::site{17} < b, which is a < b, or a <= b
  && and ||       a && b ->  !(!a && !b) under the mutant, still short-circuit
  condition       c ? .. ->  negated under the mutant; likewise `if (call())`
  enumerator      kind::nan and others, policies, true, false, {} as a rounder

An operator keeps its precedence, since it is only written twice. OUT_DIR also
gets sites.cpp: a key for each mutant, stable against shifts of lines:

  wide.hpp:msb: for (int i = Words - 1; i {>= => >} 0; --i)
"""

import pathlib
import re
import sys

# Not behind the table of an implementation: nothing of the suite calls them
# there, so a fault in them cannot be seen by it.
NOT_BEHIND_THE_TABLE = {
    "to_double", "to_float", "is_valid", "what_if_fraction", "stored_shape",
    "packed_bytes", "packed_word_bytes", "bits", "bit_cast",
    "is_quantizable", "exact_mx", "torchao_mx", "interleaved_bytes",
}
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
}
ASSIGNMENTS = {"+=": "-=", "-=": "+=", "|=": "&=", "<<=": ">>=", "%=": "+="}
ENUMERATORS = {
    "rounding": ["nearest_even", "nearest_away", "toward_zero", "up", "down",
                 "to_odd", "stochastic"],
    "kind": ["zero", "finite", "infinite", "nan"],
    "specials": ["ieee", "fn", "fnuz", "finite", "scale"],
    "nan_payload": ["quiet", "all_ones", "lowest", "largest"],
    "scale_kind": ["pow2", "pow2_down", "pow2_nearest", "float32", "ocp"],
    "exponent_rule": ["exact", "of_scale", "of_log2"],
    "pre_rounding": ["none", "to_bf16", "to_fp16"],
    "amax_rule": ["finite_only", "skip_nan", "keep_nan"],
    "promotion": ["add", "product_of_scales", "one_then_other"],
    "epilogue": ["store", "accumulate"],
    "lowering": ["direct", "hmma_chained", "hmma_zero"],
    "addend": ["aligned", "last"],
    "history_rule": ["maximum", "moving_average"],
    "retile_rule": ["amax", "max_scale"],
    "block_rule": ["floor", "ceil", "even", "round_up", "exact_quotient",
                   "quotient", "two_quotients", "product"],
    "block_ends": ["exact", "normal", "unit_of_zero"],
    "second_level": ["none", "tensor", "row"],
    "scale_layout": ["row_major", "mn_major", "blk128", "packed_ue8m0"],
}
POLICIES = {"cuda_nosat": "ocp_saturate", "ocp_nonsaturate": "cuda_satfinite",
            "keep_specials": "cuda_satfinite"}

# Nothing here is computed at compile time; tables inside functions stay.
REWRITES = [
    (r"^static_assert\((?:[^;]|\n)*?\);[^\n]*\n", ""),
    (r"^ +static_assert\(.*\);\n", ""),
    # What lists the rows is not mutated, and does not know when it is compiled
    # how many there are.
    (r"^consteval (.*\b(?:count_rules|list_families)\()", r"static \1"),
    (r"^#include <array>$", "#include <vector>"),
    (r"std::array<path_family, count_rules\(\)> all\{\}",
     "std::vector<path_family> all(count_rules())"),
    (r"std::array<path_family, count_rules\(\)>", "std::vector<path_family>"),
    (r"^inline constexpr ", "inline const "),
    (r"^( +)constexpr (explicit |const )", r"\1\2"),
    (r"\bZEROULP_HD constexpr ", "inline "),
    (r"^( +)constexpr (\w+\()", r"\1\2"),
    (r"^( +)constexpr (\S+ \w+\[\d+\] = )", r"\1static constexpr \2"),
    (r"^( +)constexpr ", r"\1const "),
]
TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*) | (?P<string>"[^"]*") |
    (?P<number>0x[0-9a-fA-F]+u?|\d+u?) |
    (?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*) |
    (?P<op><<=|>>=|->|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|.)""", re.X)


class File:
    """One header: its tokens, and what is inserted before and after each."""

    def __init__(self, name, text, sites):
        self.name, self.sites = name, sites
        for pattern, by in REWRITES:
            text = re.sub(pattern, by, text, flags=re.M)
        self.tokens = [(m.lastgroup, m.group()) for m in TOKEN.finditer(text)]
        self.before = [""] * len(self.tokens)
        self.after = [""] * len(self.tokens)
        self.replaced = {}

    def solid(self, i, step):
        """The next token that is not space, from i on in direction `step`."""
        i += step
        while 0 <= i < len(self.tokens) and self.tokens[i][0] == "space":
            i += step
        return i

    def text(self, i):
        return self.tokens[i][1] if 0 <= i < len(self.tokens) else ""

    def key(self, function, i, change):
        """The line of token i, with the change where the token stood."""
        first = last = i
        while first > 0 and "\n" not in self.text(first - 1):
            first -= 1
        while last + 1 < len(self.tokens) and "\n" not in self.text(last + 1):
            last += 1
        line = "".join(self.text(k) for k in range(first, i))
        line += "{" + self.text(i) + " => " + change + "}"
        line += "".join(self.text(k) for k in range(i + 1, last + 1))
        return f"{self.name}:{function}: {line.strip()}"

    def site(self, function, i, change):
        key, n = self.key(function, i, change), 1
        while key + (f" #{n}" if n > 1 else "") in self.sites:
            n += 1
        self.sites[key + (f" #{n}" if n > 1 else "")] = len(self.sites)
        return len(self.sites) - 1

    def operand(self, i, step, stops):
        """The last token of the operand next to operator i."""
        closing, opening = (")]}", "([{") if step < 0 else ("([{", ")]}")
        depth, end = 0, i
        while True:
            i = self.solid(i, step)
            t = self.text(i)
            if depth == 0 and (t in opening or t in stops or t in ",;?:"
                               or t in ("return", "=") or t in ASSIGNMENTS):
                return end
            depth += (t in closing) - (t in opening)
            end = i

    def functions(self):
        """Yields name, first and last token of each function's body."""
        i = 0
        while i < len(self.tokens):
            i += 1
            if self.text(i - 1) != "inline":
                continue
            name = ""
            while self.text(i) not in ("{", ";"):
                if self.text(i) == "operator":
                    name = "operator" + self.text(i + 1)
                elif self.tokens[i][0] == "name" and not name and \
                        self.text(i + 1) == "(":
                    name = self.text(i)
                i += 1
            if self.text(i) == "{" and name:
                first, depth = i, 1
                while depth:
                    i += 1
                    depth += (self.text(i) == "{") - (self.text(i) == "}")
                yield name, first, i

    not_seen = NOT_BEHIND_THE_TABLE

    def mutate(self):
        for function, first, last in self.functions():
            if function not in self.not_seen:
                for i in range(first + 1, last):
                    if not self.in_table(i):
                        self.mutate_token(function, i)

    def in_for_header(self, i):
        depth = 0
        while self.text(i) not in ("{", "}") and depth < 1:
            i -= 1
            depth += (self.text(i) == "(") - (self.text(i) == ")")
        return self.text(self.solid(i, -1)) == "for"

    def in_table(self, i):
        while self.text(i) not in (";", "("):
            if self.text(i) == "static":
                return True
            i -= 1
        return False

    def mutate_token(self, function, i):
        group, t = self.tokens[i]
        p, n = self.text(self.solid(i, -1)), self.text(self.solid(i, 1))
        spaced = (self.tokens[i - 1][0] == "space" and
                  self.tokens[i + 1][0] == "space")
        if group == "number" and self.text(i - 1) != "<":
            self.mutate_number(function, i, p)
        elif t in OPERATORS and spaced:
            if not self.is_minimum(i):
                s = self.site(function, i, OPERATORS[t])
                self.replaced[i] = f"{t} zm::site{{{s}}} {t}"
        elif t in ("&&", "||") and spaced:
            self.mutate_logical(function, i, t)
        elif t == "?":
            s = self.site(function, i, "negated")
            start = self.operand(i, -1, ())
            self.before[start] += f"(zm::on({s}) != bool("
            self.replaced[i] = ")) ?"
        elif t == "if" and n == "(":
            self.mutate_condition(function, i)
        elif t in ASSIGNMENTS and not self.in_for_header(i):
            s = self.site(function, i, ASSIGNMENTS[t])
            self.replaced[i] = f"= {self.left(i)} {t[:-1]} zm::site{{{s}}} " \
                f"{t[:-1]} ("
            if t == "%=":
                self.replaced[i] = f"%= zm::on({s}) ? 1 : ("
            k = i
            while self.text(k) != ";":
                k += 1
            self.before[k] = ")" + self.before[k]
        elif t in ("++", "--") and p in (";", ")", "{", "}") and \
                not self.in_for_header(i):
            s = self.site(function, i, "--" if t == "++" else "++")
            k = self.solid(i, 1)
            self.replaced[i] = ""
            self.after[k] += f" {t[0]}= zm::on({s}) ? -1 : 1"
        elif t in ("true", "false"):
            s = self.site(function, i, "true" if t == "false" else "false")
            self.replaced[i] = f"({t} != zm::on({s}))"
        elif t in POLICIES:
            s = self.site(function, i, POLICIES[t])
            self.replaced[i] = f"(zm::on({s}) ? {POLICIES[t]} : {t})"
        elif self.is_default_rounder(i, p):
            a = self.site(function, i, "nearest_away")
            b = self.site(function, i, "toward_zero")
            self.replaced[i] = f"zm::nearest<rounder, rounding>({a}, {b}"
            self.replaced[i + 1] = ")"
        elif group == "name" and "::" in t and p != "case" and p != "<":
            self.mutate_enumerator(function, i, t)

    def is_default_rounder(self, i, p):
        """True at the {} of `encode(format, x, {}, policy)`."""
        comma = self.solid(i + 1, 1)
        after = self.text(self.solid(comma, 1))
        return (self.text(i) == "{" and self.text(i + 1) == "}" and
                p == "," and self.text(comma) == "," and
                (after in POLICIES or after == "q"))

    def left(self, i):
        """The text of the left side of assignment i: it begins a statement."""
        end = i
        k = self.solid(i, -1)
        while self.text(k) not in (";", "{", "}") and not (
                self.text(k) == ")" and self.tokens[k + 1][0] == "space"):
            end = k
            k -= 1
        return "".join(self.text(k) for k in range(end, i)).strip()

    def is_minimum(self, i):
        """True in `a < b ? a : b`: at equality both are the same."""
        around = "".join(self.text(k) for k in range(max(i - 16, 0), i + 40))
        left = "".join(self.text(k) for k in range(max(i - 16, 0), i))
        found = re.search(r"([\w.\[\]()*, +-]+?) $", left)
        if not found or self.text(i) not in "<>":
            return False
        rest = around[len(left):]
        m = re.match(r"[<>] ([^?;]+?)\s*\?\s*([^?;]+?)\s*:\s*([^?;]+?);", rest)
        if not m:
            return False
        a, b = re.sub(r"\s+", " ", m.group(2)), re.sub(r"\s+", " ", m.group(3))
        right = re.sub(r"\s+", " ", m.group(1))
        return (left.rstrip().endswith(a) and right == b) or \
            (left.rstrip().endswith(b) and right == a)

    def mutate_number(self, function, i, p):
        t = self.text(i)
        value = int(t.rstrip("u"), 0)
        show = (lambda v: hex(v)) if t.startswith("0x") else str
        up = self.site(function, i, show(value + 1))
        down = -1
        if value > 0 or p not in ("=", "["):
            down = self.site(function, i, show(value - 1))
        self.replaced[i] = f"zm::constant({t}, {up}, {down})"

    def mutate_logical(self, function, i, t):
        s = self.site(function, i, "||" if t == "&&" else "&&")
        stops = ("||",) if t == "&&" else ()
        start = self.operand(i, -1, stops)
        end = self.operand(i, 1, ("&&", "||") if t == "&&" else ("||",))
        self.before[start] = f"(((zm::on({s}) != bool(" + self.before[start]
        self.replaced[i] = f")) {t} (zm::on({s}) != bool("
        self.after[end] += f"))) != zm::on({s}))"

    def mutate_condition(self, function, i):
        start = self.solid(i, 1)
        end, depth = start, 1
        while depth:
            end += 1
            depth += (self.text(end) == "(") - (self.text(end) == ")")
        inside = [self.text(k) for k in range(start, end)]
        if not any(x in inside for x in ("<", ">", "<=", ">=", "==", "!=",
                                         "&&", "||")):
            s = self.site(function, i, "if not")
            self.after[start] += f"zm::on({s}) != bool("
            self.before[end] = ")" + self.before[end]

    def mutate_enumerator(self, function, i, t):
        scope, _, name = t.rpartition("::")
        names = ENUMERATORS.get(scope.rpartition("::")[2], [])
        if name in names:
            other = names[(names.index(name) + 1) % len(names)]
            s = self.site(function, i, other)
            self.replaced[i] = f"(zm::on({s}) ? {scope}::{other} : {t})"

    def result(self):
        return "".join(self.before[i] + self.replaced.get(i, t) + self.after[i]
                       for i, (_, t) in enumerate(self.tokens))


def write_sites(out, sites):
    """Writes sites.cpp: the keys, and a flag of each."""
    quoted = ("\n".join('    "%s",' % k.replace("\\", "\\\\").replace(
        '"', '\\"') for k in sites))
    (out / "sites.cpp").write_text(
        "namespace zm {\nextern const char* const keys[];\n"
        "extern const int count;\nextern bool flags[];\n"
        "extern bool reached[];\n"
        f"const char* const keys[] = {{\n{quoted}\n}};\n"
        f"const int count = {len(sites)};\nbool flags[{len(sites)}];\n"
        f"bool reached[{len(sites)}];\n"
        "}  // namespace zm\n")


# Held by checks that take another table; faults are put into them by hand, in
# conformance/tests/study/training_sensitivity_test.cpp. Those of core/model have
# conformance/tests/train/model_sensitivity_test.cpp.
# The step with block scales: none is generated yet.
OTHERS = ["elementary.hpp", "training.hpp", "training_matrices.hpp",
          "block_scaled.hpp"]


def main():
    core, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder = out / "zeroulp" / "core"
    folder.mkdir(parents=True, exist_ok=True)
    support = pathlib.Path(__file__).parent / "runner" / "schemata.hpp"
    sites = {}
    for path in sorted(core.glob("*.hpp")):
        text, known = path.read_text(), len(sites)
        f = File(path.name, text, sites)
        if path.name not in OTHERS:
            f.mutate()
        result = f.result()
        if path.name == "config.hpp":
            result = result.replace("namespace zeroulp {", '#include "%s"\n\n'
                                    "namespace zeroulp {" % support, 1)
        (folder / path.name).write_text(result)
        print(f"{path.name:18} {len(sites) - known:4} mutants")
    write_sites(out, sites)
    print(f"{'all':18} {len(sites):4} mutants")


if __name__ == "__main__":
    main()
