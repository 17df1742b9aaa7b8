"""Bit-vectors as expressions: written once, proved by a solver, run by NumPy.

An expression is a graph of nodes. `smt.py` prints it as SMT-LIB 2; `evaluate`
computes it on arrays. So what a solver has proved is what the tests run.

A node is signed or not, as C++'s int32_t and uint64_t are: `<` and `>>` follow
that. Arithmetic is modulo 2^width. Both sides of an operation have one width;
as_uint(n) and as_int(n) are static_cast. Python's integers become constants. A
shift by the width or more gives 0 (or the sign), as in SMT-LIB; C++ leaves it
undefined, so a transcription keeps C++'s conditions.
"""

import functools

from evaluate import of_integers


class Node:
    """An expression. Width 0: a truth value."""

    premise = None

    def __init__(self, op, args, width, signed=False, value=None):
        self.op, self.args, self.width = op, args, width
        self.signed, self.value = signed, value

    def _other(self, x):
        if isinstance(x, Node):
            if x.width != self.width:
                raise TypeError(f"{self.op}: {self.width} bits and {x.width}")
            return x
        return constant(int(x), self.width, self.signed)

    def _two(self, op, x, swapped=False):
        a, b = self, self._other(x)
        if swapped:
            a, b = b, a
        return fold(Node(op, (a, b), self.width, self.signed and b.signed))

    def _compare(self, op, x):
        b = self._other(x)
        if op != "=":
            op = ("bvs" if self.signed else "bvu") + op
        return fold(Node(op, (self, b), 0))

    def __add__(self, x): return self._two("bvadd", x)
    def __radd__(self, x): return self._two("bvadd", x, True)
    def __sub__(self, x): return self._two("bvsub", x)
    def __rsub__(self, x): return self._two("bvsub", x, True)
    def __mul__(self, x): return self._two("bvmul", x)
    def __and__(self, x): return self._two("bvand" if self.width else "and", x)
    def __or__(self, x): return self._two("bvor" if self.width else "or", x)
    def __xor__(self, x): return self._two("bvxor" if self.width else "xor", x)
    def __lshift__(self, x): return self._two("bvshl", x)

    def __rshift__(self, x):
        return self._two("bvashr" if self.signed else "bvlshr", x)

    def __invert__(self):
        return fold(Node("bvnot" if self.width else "not", (self,), self.width,
                         self.signed))

    def __neg__(self): return 0 - self
    def __eq__(self, x): return self._compare("=", x)
    def __ne__(self, x): return ~(self == x)
    def __lt__(self, x): return self._compare("lt", x)
    def __le__(self, x): return self._compare("le", x)
    def __gt__(self, x): return self._compare("gt", x)
    def __ge__(self, x): return self._compare("ge", x)
    __hash__ = object.__hash__

    def _resized(self, width, signed):
        if not self.width:
            return ite(self, constant(1, width, signed),
                       constant(0, width, signed))
        op = ("cast" if width == self.width else
              "low" if width < self.width else
              "sign_extend" if self.signed else "zero_extend")
        return fold(Node(op, (self,), width, signed))

    def as_uint(self, width): return self._resized(width, False)
    def as_int(self, width): return self._resized(width, True)


def constant(value, width, signed=False):
    if not width:
        return Node("constant", (), 0, value=bool(value))
    return Node("constant", (), width, signed, value % (1 << width))


@functools.lru_cache(maxsize=None)
def variable(name, width):
    return Node("variable", (), width, value=name)


def ite(condition, yes, no):
    """condition ? yes : no."""
    if not isinstance(condition, Node):
        return yes if condition else no
    if not isinstance(yes, Node):
        yes = no._other(yes)
    no = yes._other(no)
    if condition.op == "constant":
        return yes if condition.value else no
    return Node("ite", (condition, yes, no), yes.width, yes.signed)


def both(*conditions):
    """All of them; True and False count."""
    return _joined(conditions, True)


def either(*conditions):
    return _joined(conditions, False)


def _joined(conditions, neutral):
    found = None
    for c in conditions:
        if not isinstance(c, Node):
            c = constant(c, 0)
        if c.op == "constant" and c.value == neutral:
            continue
        found = c if found is None else (found & c if neutral else found | c)
    return constant(neutral, 0) if found is None else found


def implies(condition, then):
    """The premise is kept: a lemma whose premise nothing fulfils says nothing."""
    node = either(~condition, then)
    node.premise = condition
    return node


def fold(node):
    """The constant that it is, if its arguments are."""
    if any(a.op != "constant" for a in node.args):
        return node
    value = of_integers(node, [a.value for a in node.args])
    return constant(value, node.width, node.signed)


def order(roots):
    """Every node that the roots need, arguments first."""
    found, seen, left = [], set(), [(r, False) for r in roots]
    while left:
        node, ready = left.pop()
        if ready:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            left.append((node, True))
            left.extend((a, False) for a in node.args)
    return found


def evaluate(roots, values, operation):
    """The roots' values; `values` are those of the variables, by name."""
    known = {}
    for node in order(roots):
        if node.op == "variable":
            known[id(node)] = values[node.value]
        elif node.op == "constant":
            known[id(node)] = node.value
        else:
            known[id(node)] = operation(node, [known[id(a)] for a in node.args])
    return [known[id(r)] for r in roots]
