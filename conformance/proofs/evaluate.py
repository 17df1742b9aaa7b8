"""What a node of bits.py is: on Python's integers, and on arrays of uint64."""

import operator

import numpy as np

COMPARE = {"=": operator.eq, "lt": operator.lt, "le": operator.le,
           "gt": operator.gt, "ge": operator.ge}
PLAIN = {"bvadd": operator.add, "bvsub": operator.sub, "bvmul": operator.mul,
         "bvand": operator.and_, "bvor": operator.or_, "bvxor": operator.xor,
         "and": operator.and_, "or": operator.or_, "xor": operator.xor,
         "bvshl": operator.lshift, "bvlshr": operator.rshift,
         "bvashr": operator.rshift}


def is_signed(op):
    return op in ("sign_extend", "bvashr") or (
        op.startswith("bvs") and op[3:] in COMPARE)


def comparison(op):
    return COMPARE.get(op if op == "=" else op[3:])


def of_integers(node, x):
    """The value of an operation on Python's integers: exact, of any width."""
    op, mask = node.op, (1 << node.width) - 1
    if op == "ite":
        return x[1] if x[0] else x[2]
    if op in ("bvshl", "bvlshr", "bvashr"):
        x = [x[0], min(x[1], node.width)]
    if is_signed(op):
        widths = [a.width for a in node.args]
        count = 1 if op == "bvashr" else len(x)
        for i in range(count):
            x[i] -= (x[i] >> (widths[i] - 1)) << widths[i]
    if op in ("not", "bvnot"):
        return not x[0] if op == "not" else x[0] ^ mask
    if comparison(op):
        return comparison(op)(x[0], x[1])
    if op in PLAIN:
        value = PLAIN[op](x[0], x[1])
        return value & mask if node.width else value
    return x[0] & mask  # a change of width


def of_lanes(node, x):
    """The same on arrays of uint64, for widths up to 64."""
    op, width = node.op, node.width
    if width > 64:
        raise OverflowError(f"{width} bits: no lane is that wide")
    mask = np.uint64((1 << width) - 1)
    x = [y if isinstance(y, np.ndarray) and y.dtype != object else
         np.asarray(y, np.uint64 if a.width else bool)
         for a, y in zip(node.args, x)]
    if op == "ite":
        return np.where(x[0], x[1], x[2])
    if is_signed(op):
        by = [np.int64(64 - a.width) for a in node.args]
        x = [y.astype(np.int64) << b >> b for y, b in zip(x, by)]
    if op in ("bvshl", "bvlshr", "bvashr"):
        last = x[1].dtype.type(width - 1)
        beyond, by = x[1] > last, np.minimum(x[1], last)
        if op == "bvashr":
            beyond = x[1].astype(np.uint64) > np.uint64(width - 1)
            by = np.where(beyond, last, x[1])
            return (x[0] >> by).astype(np.uint64) & mask
        shifted = PLAIN[op](x[0], by) & mask
        return np.where(beyond, np.uint64(0), shifted)
    if op in ("not", "bvnot"):
        return ~x[0] if op == "not" else x[0] ^ mask
    if comparison(op):
        return comparison(op)(x[0], x[1])
    if op in PLAIN:
        value = PLAIN[op](x[0], x[1])
        return value & mask if width else value
    return x[0].astype(np.uint64) & mask
