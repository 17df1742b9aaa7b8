"""Prints expressions as SMT-LIB 2 and asks a solver.

`pip install bitwuzla` or `pip install z3-solver`; with none, `solver()` is None.
"""

import os

from bits import order


def _text(node, names):
    if node.op == "constant":
        if not node.width:
            return "true" if node.value else "false"
        return f"(_ bv{node.value} {node.width})"
    x = [names[id(a)] for a in node.args]
    if node.op == "cast":
        return x[0]
    if node.op == "low":
        return f"((_ extract {node.width - 1} 0) {x[0]})"
    if node.op in ("zero_extend", "sign_extend"):
        return f"((_ {node.op} {node.width - node.args[0].width}) {x[0]})"
    return f"({node.op} {' '.join(x)})"


def script(condition):
    """SMT-LIB 2: is there an input with this condition?"""
    lines, names = ["(set-logic QF_BV)"], {}
    for number, node in enumerate(order([condition])):
        sort = f"(_ BitVec {node.width})" if node.width else "Bool"
        if node.op == "variable":
            names[id(node)] = node.value
            lines.append(f"(declare-const {node.value} {sort})")
        elif node.op == "constant":
            names[id(node)] = _text(node, names)
        else:
            names[id(node)] = f"n{number}"
            lines.append(f"(define-fun n{number} () {sort} {_text(node, names)})")
    lines.append(f"(assert {names[id(condition)]})")
    return "\n".join(lines + ["(check-sat)"]) + "\n"


def _bitwuzla():
    import bitwuzla

    def find(text, names):
        options = bitwuzla.Options()
        options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        manager = bitwuzla.TermManager()
        parser = bitwuzla.Parser(manager, options)
        parser.parse(text, True, False)
        solver = parser.bitwuzla()
        result = solver.check_sat()
        if result == bitwuzla.Result.UNSAT:
            return None
        if result != bitwuzla.Result.SAT:
            raise RuntimeError("bitwuzla: unknown")
        return {n: int(solver.get_value(parser.parse_term(n)).value(10))
                for n in names}
    return find


def _z3():
    import z3

    def value(x):
        return int(z3.is_true(x)) if z3.is_bool(x) else x.as_long()

    def find(text, names):
        solver = z3.SolverFor("QF_BV")
        solver.from_string(text)
        result = solver.check()
        if result == z3.unsat:
            return None
        if result != z3.sat:
            raise RuntimeError("z3: unknown")
        model = {d.name(): solver.model()[d] for d in solver.model().decls()}
        return {n: value(model[n]) if n in model else 0 for n in names}
    return find


KNOWN = {"bitwuzla": _bitwuzla, "z3": _z3}


def solver(name=os.environ.get("ZEROULP_SOLVER")):
    """The function that finds a model, of the first solver that is here."""
    for known, make in KNOWN.items():
        if name in (None, known):
            try:
                return make()
            except ImportError:
                continue
    return None


def find(condition):
    """An input with this condition, by the variables' names, or None."""
    if condition.op == "constant":
        return {} if condition.value else None
    names = [n.value for n in order([condition]) if n.op == "variable"]
    return solver()(script(condition), names)
