"""The suite's library: cases that know the numerics, and the causes of
differences."""

import ctypes
import functools
import json
import os
import pathlib

import numpy as np

from . import _abi, _library, _operations, _values
from ._arrays import UNSIGNED, bits_of, given_back, whole
from ._library import Error


def _find():
    given = os.environ.get("ZEROULP_SUITE_LIBRARY")
    if given:
        return given
    # A portable wheel has both libraries in one.
    if hasattr(_library.library, "zeroulp_suite_text"):
        return _library.library._name
    beside = pathlib.Path(_library.library._name).parent / "libzeroulp_suite.so"
    if not beside.exists():
        raise Error(
            f"zeroulp: {beside} is not there: a build of the library with "
            "-DBUILD_SHARED_LIBS=ON makes it beside libzeroulp.so, and "
            "`pip install ./tools/python` installs both")
    return str(beside)


@functools.lru_cache(maxsize=None)
def _suite():
    path = _find()
    suite = ctypes.CDLL(path)
    for name, (result, arguments) in _abi.SUITE_FUNCTIONS.items():
        try:
            function = getattr(suite, name)
        except AttributeError:
            raise Error(f"zeroulp: {path} has no {name}: it is older than this "
                        "package") from None
        function.restype, function.argtypes = result, arguments
    return suite


def answer(name, *arguments):
    """Calls a function of the suite; returns the text that it leaves."""
    _library.call(name, *arguments, of=_suite())
    return _suite().zeroulp_suite_text().decode()


def _text(x):
    return None if x is None else str(x).encode()


def _settings(settings):
    return ",".join(f"{name.rstrip('_')}={value}"
                    for name, value in settings.items())


def matrices(words):
    """The matrices of a dict of names and words, as the suite takes them."""
    array = (_abi.zeroulp_named_matrix * len(words))()
    for entry, (name, bits) in zip(array, words.items()):
        entry.name, entry.matrix = name.encode(), bits.const()
    return array, len(words)


class Cause:
    """What may have made a result differ.

    name, what in words, kind ("definition", "displacement", "fault");
    `explained` differing elements have its bits, `left` have not; `added` are
    elements that it alone would change. `exact`: it gives every bit.
    `same_bits` are the names of causes that give the same bits here: nobody can
    tell them apart by this data. `one_of` has a dict of name, what and kind for
    each, the first included."""

    def __init__(self, found):
        self.__dict__.update(found)

    def __repr__(self):
        return f"Cause({_together(self)}: {self.explained} of " \
               f"{self.explained + self.left} differing elements)"


def _together(cause):
    """"NAME", or "one of 3: NAME, ..."."""
    if not cause.same_bits:
        return cause.name
    names = [cause.name, *cause.same_bits]
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    return f"one of {len(names)}: {shown}"


class Explanation:
    """How a result differs from its claim; true if it does not.

    likely: Causes, the likeliest first; empty where no cause gives the bits
    more often than chance. outputs: a dict of each output's name to what was
    found of it (different, max_ulps, patterns, first, frobenius, sqnr_db, ...).
    element: of a quantizer, x, scale and x / scale of the first wrong code.
    apart: a Case in which the first cause and those with the same bits here
    differ, if one was found: run the kernel on its operands, and explain that.
    """

    def __init__(self, found):
        self.report = found
        self.likely = [Cause(c) for c in found["likely"]]
        self.outputs = {o["name"]: o for o in found["outputs"]}
        self.element = found.get("element")
        apart = found.get("apart")
        self.apart = Case(apart["token"]) if apart else None

    def __bool__(self):
        return self.report["same"]

    def __str__(self):
        return self.report["text"].rstrip("\n")

    def __repr__(self):
        if self:
            return "Explanation(the same bits)"
        wrong = ", ".join(f"{o['different']} {name} differ"
                          for name, o in self.outputs.items() if o["different"])
        return f"Explanation({wrong}; likely " + \
            (_together(self.likely[0]) if self.likely else "none") + ")"


def _explained(target, settings, operands, made, ignore):
    held, count = matrices(operands)
    given, given_count = matrices(made)
    return Explanation(json.loads(answer(
        "zeroulp_suite_explain", target.encode(), settings.encode(), held, count,
        given, given_count, ",".join(ignore).encode())))


def _explain_quantizer(made, how, x, format, group, scale, source, ignore):
    if isinstance(made, _operations.Quantized):
        codes, scales = made.codes, made.scales
        format, group = format or made.format.name, group or made.group
        scale = scale or made.scale
    elif isinstance(made, (tuple, list)):
        if len(made) != 2:
            raise Error(f"made: {len(made)} arrays: use codes, or codes and "
                        "scales")
        codes, scales = made
    else:
        codes, scales = made, None
    bits = bits_of(x, "x", source)
    if bits.format not in ("fp32", "fp16", "bf16"):
        raise Error(f"x: elements are {bits.format or bits.words.dtype}: use "
                    "float32, float16 or bfloat16")
    held = bits_of(codes, "codes", format)
    words = {"codes": held}
    if scales is not None:
        words["scales"] = bits_of(scales, "scales", "fp32")
    to = held.format or "e4m3"
    settings = f"from={bits.format},to={to},convention={how.name}," \
               f"group={group or '1x128'},scale={scale or 'fp32'}"
    return _explained("quantize", settings, {"x": bits}, words, ignore)


def _explain_gemm(d, how, a, b, c, output, ignore):
    for name, x in (("a", a), ("b", b)):
        if not isinstance(x, _operations.Quantized):
            raise Error(f"{name}: a Quantized is needed, not "
                        f"{type(x).__name__}")
    operands = {"a": a.bits(), "b": b.bits(), "a_scales": a.scale_bits(),
                "b_scales": b.scale_bits()}
    if c is not None:
        operands["c"] = bits_of(c, "c", "fp32")
    made = bits_of(d, "d", output)
    if made.format not in ("fp32", "bf16"):
        raise Error(f"d: elements are {made.format or made.words.dtype}: use "
                    "float32 or bfloat16")
    def groups(g):
        return f"{g.rows}x{g.cols}"
    settings = f"path=hopper.wgmma.{a.format.name}.{b.format.name}.f32," \
               f"recipe={how.name},output={made.format}," \
               f"a_group={groups(how.a)},b_group={groups(how.b)}," \
               f"end={'store' if c is None else 'accumulate'}"
    return _explained("gemm", settings, operands, {"d": made}, ignore)


def explain(made, claim, x=None, *, a=None, b=None, c=None, format=None,
            group=None, scale=None, source=None, output=None, ignore=()):
    """How a kernel's result differs from what it claims, and what may have made
    it so: an Explanation.

    Of a convention, such as "vllm": `made` is a Quantized, codes, or (codes,
    scales), m x n, and `x` what was quantized; `source` says what unsigned
    integers in x are (bf16), `format`, `group` and `scale` what codes are. Of a
    recipe, such as "deepgemm.1d2d": `made` is D, m x n of float32 or bfloat16
    (`output`="bf16" for unsigned integers), `a` and `b` each a Quantized, `c`
    what was added. `ignore` has kinds of differences that do not count:
    "nan-bits", "zero-sign". SPEC Q, G."""
    if not isinstance(claim, (str, _values.Convention, _values.Recipe)):
        raise Error(f"claim: a {type(claim).__name__}: use the name of a "
                    "convention or a recipe")
    is_recipe = isinstance(claim, _values.Recipe) or \
        claim in _library.names(_abi.ZEROULP_RECIPES)
    if is_recipe:
        if a is None or b is None:
            raise Error("a, b: are needed beside a recipe")
        return _explain_gemm(made, _values.recipe(claim), a, b, c, output,
                             ignore)
    how = _values.convention(claim)
    if x is None:
        raise Error("x: is needed beside a convention")
    return _explain_quantizer(made, how, x, format, group, scale, source, ignore)


class Case:
    """A case that the fuzzer knows: target, settings, and matrices by name:
    `operands` and the `outputs` that they must give. `token` is all of it in
    one word, on any machine."""

    def __init__(self, token):
        held = json.loads(answer("zeroulp_suite_replay", _text(token)))
        self.token = token
        self.target, self.settings = held["target"], held["settings"]
        self.operands = {m["name"]: _array(m) for m in held["operands"]}
        self.outputs = {m["name"]: _array(m) for m in held["outputs"]}

    def __repr__(self):
        shapes = ", ".join(f"{name} {x.shape[0]}x{x.shape[1]}"
                           for name, x in self.operands.items())
        return f"Case({self.target}: {shapes})"


def _array(matrix):
    name = matrix["format"]
    size = 8 if name == "integer" else _values.format(name).bytes
    words = np.array(matrix["words"], np.uint64).astype(UNSIGNED[size])
    shape = matrix["rows"], matrix["cols"]
    return given_back(words, name, shape, words)


def case(target, number=0, *, profile=None, seed=1, **settings):
    """Case `number` of a target ("quantize", "gemm", "step", ...): the same on
    any machine. Settings are those of `zeroulp fuzz TARGET --help`, `from_` for
    from; those that are not given are drawn."""
    return Case(answer("zeroulp_suite_case", _text(target), _text(profile),
                        _settings(settings).encode(),
                       whole(seed, "seed", 0, 2**64 - 1),
                       whole(number, "number", 0, 2**64 - 1)))


def cases(target, count=1000, *, profile=None, seed=1, **settings):
    """Yields so many cases of a target, as `case` makes them."""
    for number in range(count):
        yield case(target, number, profile=profile, seed=seed, **settings)


def replay(token):
    """The Case of a token."""
    return Case(token)


def shrink(failing, fails):
    """The smallest Case for which fails(case) is true, from one for which it
    is."""
    raised = []

    def asks(_, token):
        try:
            return bool(fails(Case(token.decode())))
        except Exception as e:  # ctypes would print it and go on
            raised.append(e)
            return False

    token = failing.token if isinstance(failing, Case) else failing
    try:
        small = answer("zeroulp_suite_shrink", _text(token),
                        _abi.zeroulp_suite_predicate(asks), None)
    except Error:
        if raised:
            raise raised[0] from None
        raise
    if raised:
        raise raised[0]
    return Case(small)
