"""Assertions for tests: equal bits, or an AssertionError that says where, how
far, and what may have made them so; cases that know the numerics: cases, case,
replay, shrink."""

import itertools

import numpy as np

from . import _operations, _suite, _values
from ._arrays import bits_of, given_back
from ._compare import compare
from ._library import Error
from ._suite import Case, case, cases, replay, shrink  # noqa: F401

_IGNORED = ("zero_signs", "nan_payloads")


def assert_same_bits(got, expected, format=None, *, max_different=0, ignore=()):
    """Raises AssertionError unless all elements have the same bits, but for
    `max_different` of them. `ignore` has differences that do not count:
    "zero_signs", "nan_payloads". `format` says what unsigned integers are codes
    of."""
    for name in ignore:
        if name not in _IGNORED:
            raise Error(f"ignore: {name!r}: use {' or '.join(_IGNORED)}")
    found = compare(got, expected, format)
    differing = found.different - sum(getattr(found, name) for name in ignore)
    if differing > max_different:
        raise AssertionError(str(found))


def _wide(rng, shape):
    """Numbers of any magnitude that FP16 and BF16 have, too."""
    exponents = rng.integers(-14, 15, size=shape)
    return np.ldexp(rng.uniform(1, 2, shape), exponents) * \
        rng.choice([-1, 1], shape)


def _near_ties(rng, shape, format, group, source):
    """Elements whose quotients by their scales lie on midpoints between codes,
    or one step of the input format beside them; the first element of each group
    is its amax."""
    x = rng.standard_normal(shape)
    struct = _values.group(group)
    height, width = struct.rows or shape[0], struct.cols or shape[1]
    for i in range(0, shape[0], height):
        for j in range(0, shape[1], width):
            x[i, j] = 8 * np.exp2(rng.uniform(-6, 6))
            tile = x[i:i + height, j:j + width]
            tile[np.abs(tile) > x[i, j]] /= 64
    x = _rounded(x, source)
    made = _operations.quantize(x, format, group)
    scales = np.repeat(np.repeat(np.asarray(made.scales), height, 0), width, 1)
    scales = scales[:shape[0], :shape[1]]
    numbers = _operations.magnitudes(made.format).astype(np.float64)
    codes = made.bits().words & ((1 << (made.format.bits - 1)) - 1)
    low = np.minimum(codes, len(numbers) - 2)
    ties = (numbers[low] + numbers[low + 1]) / 2 * scales
    beside = rng.integers(-1, 2, shape) * np.spacing(ties.astype(np.float32))
    ties = _rounded((ties + beside) * np.sign(x), source)
    first = np.zeros(shape, bool)
    first[::height, ::width] = True
    limit = np.repeat(np.repeat(np.abs(x)[::height, ::width], height, 0), width,
                      1)[:shape[0], :shape[1]]
    return np.where(first | (np.abs(ties) > limit), x, ties)


def _rounded(x, source):
    """Numbers of a format, as float32 or float64 holds them."""
    codes = bits_of(_operations.recode(np.asarray(x, np.float64), source), "x",
                    source)
    return np.asarray(_operations.decode(codes.words, source))


def _specials(rng, shape):
    x = rng.standard_normal(shape)
    x[:, ::37] = 0
    x[rng.integers(shape[0]), :] = 0
    at = rng.integers(shape[0], size=6), rng.integers(shape[1], size=6)
    x[at] = [np.nan, np.inf, -np.inf, -0.0, 1e-40, 3e38]
    return x


def quantizer_inputs(format="e4m3", group="1x128", *, source="fp32",
                     shape=(64, 512), seed=0, specials=True):
    """Yields (name, matrix of `source` numbers as NumPy has them): N(0, 1),
    numbers of all magnitudes, numbers near ties, zeros and special numbers."""
    rng = np.random.default_rng(seed)
    made = [("N(0, 1)", rng.standard_normal(shape)), ("all magnitudes",
                                                      _wide(rng, shape))]
    if _values.format(format).bits <= 8:
        made += [("near ties", _near_ties(rng, shape, format, group, source))
                 for _ in range(4)]
    if specials:
        made.append(("special numbers", _specials(rng, shape)))
    for name, x in made:
        words = bits_of(_operations.recode(np.asarray(x, np.float64), source),
                        "x", source).words
        yield name, given_back(words, source, words.shape, words)


def _as_kernel_takes(x, source, device):
    """The matrix as a tensor of torch, if a device is named."""
    if device is None:
        return x
    import torch
    words = bits_of(x, "x", source).words
    return given_back(words, source, words.shape,
                      torch.empty(0, device=device))


def _outputs(kernel, x):
    made = kernel(x)
    if isinstance(made, _operations.Quantized):
        return made.codes, made.scales
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise Error(f"kernel: returned {type(made).__name__}: codes and scales "
                    "are expected")
    return made


def _words(x, what, format):
    return bits_of(x, what, format).words


def _same(got, q, format):
    """Whether codes and scales have the bits of q; any NaN counts as one."""
    codes, scales = got
    return np.array_equal(_words(codes, "codes", format), q.bits().words) and \
        _equal_numbers(_words(scales, "scales", "fp32"), q.scale_bits().words)


def _equal_numbers(a, b):
    if a.shape != b.shape:
        return False
    nan = (a & 0x7fffffff) > 0x7f800000
    return np.array_equal(nan, (b & 0x7fffffff) > 0x7f800000) and \
        np.array_equal(a[~nan], b[~nan])


def _explained(made, claim, *args, **settings):
    """The text of explain(), or why there is none."""
    try:
        return str(_suite.explain(made, claim, *args, **settings))
    except Error as e:
        return f"  likely    unknown: {e}"


def assert_quantizes_as(kernel, convention, format="e4m3", group="1x128", *,
                        source="fp32", scale=None, shape=(64, 512), seed=0,
                        specials=True, device=None):
    """Holds kernel(x) -> (codes, scales) against a convention, on matrices of
    `shape` from quantizer_inputs. `source` is what x is of: fp32, fp16, bf16.
    x is an array, or with `device` ("cpu", "cuda") a tensor of torch. Raises
    AssertionError that names the inputs, where the bits part, and what may have
    made them so."""
    how = _values.convention(convention)
    for name, x in quantizer_inputs(format, group, source=source, shape=shape,
                                    seed=seed, specials=specials):
        got = _outputs(kernel, _as_kernel_takes(x, source, device))
        want = _operations.quantize(x, format, group, how, scale=scale,
                                    source=source)
        if _same(got, want, format):
            continue
        raise AssertionError(
            f"not {how.name}: on {name}, {shape[0]} x {shape[1]} {source}\n" +
            _explained(got, how, x, format=format, group=group, scale=scale,
                       source=source))


def gemm_operands(recipe="deepgemm.1d2d", *, m=64, n=96, k=512, format="e4m3",
                  seed=0, cancelling=False):
    """Two operands of a recipe, each Quantized: N(0, 1) quantized in its
    groups. With `cancelling` each second block of 128 along K takes away what the
    one before it gave, but for a part in 2^20: what is left of D is rounded by the
    order of scales and sums, which even BF16 shows."""
    how = _values.recipe(recipe)
    rng = np.random.default_rng(seed)
    made = []
    for rows, group in ((m, how.a), (n, how.b)):
        x = rng.standard_normal((rows, k)).astype(np.float32)
        if cancelling:
            _let_blocks_cancel(x, negative=not made)
        made.append(_operations.quantize(x, format, _values.group_name(group)))
    return tuple(made)


def _let_blocks_cancel(x, negative):
    """The second block of a pair is the first, or its negative with another
    scale. Behind the last pair nearly nothing is left."""
    blocks = x.shape[1] // 256 * 2
    for first in range(0, 128 * blocks, 256):
        block = x[:, first:first + 128]
        x[:, first + 128:first + 256] = -block * (1 + 2.0**-20) if negative else block
    x[:, 128 * blocks:] *= 2.0**-20


def assert_multiplies_as(kernel, recipe="deepgemm.1d2d", *, output=None, splits=None,
                         shapes=((64, 96, 512), (1, 128, 1024), (130, 40, 384)),
                         format="e4m3", seed=0, device=None):
    """Holds kernel(a, b) -> D = A B^T against a recipe. `a` and `b` are
    Quantized: codes and scales, tensors of torch with `device`. `shapes` are M,
    N, K: each is tried with numbers from N(0, 1), and with blocks that cancel.
    Raises AssertionError that says where the bits part, and what may have made them
    so."""
    how = _values.recipe(recipe)
    for (m, n, k), cancelling in itertools.product(shapes, (False, True)):
        a, b = gemm_operands(how, m=m, n=n, k=k, format=format, seed=seed,
                             cancelling=cancelling)
        want = _operations.gemm(a, b, how, splits=splits, output=output)
        got = kernel(_on_device(a, device), _on_device(b, device))
        fmt = bits_of(want, "D", _output_name(want)).format
        x, y = bits_of(got, "D").words, _words(want, "D", fmt)
        if x.shape == y.shape and x.dtype == y.dtype and np.array_equal(x, y):
            continue
        if x.dtype != y.dtype or x.shape != y.shape:
            raise AssertionError(
                f"D: {x.shape[0]} x {x.shape[1]} of {8 * x.itemsize} bits, "
                f"expected {y.shape[0]} x {y.shape[1]} of {8 * y.itemsize}")
        raise AssertionError(
            f"not {how.name}: M, N, K = {m}, {n}, {k}"
            f"{', with blocks that cancel' if cancelling else ''}\n" +
            _explained(got, how, a=a, b=b, output=fmt))


def _output_name(d):
    bits = bits_of(d, "D")
    return bits.format or ("bf16" if bits.words.itemsize == 2 else "fp32")


def _on_device(q, device):
    if device is None:
        return q
    import torch
    like = torch.empty(0, device=device)
    bits, scales = q.bits(), q.scale_bits()
    return _operations.Quantized(
        given_back(bits.words, q.format.name, bits.words.shape, like),
        given_back(scales.words, "fp32", scales.words.shape, like), q.format,
        q.group, convention=q.convention, scale=q.scale)
