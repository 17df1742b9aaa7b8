"""Layers for torch, to the bit. Linear layers and products, forward and backward
in FP8 as a recipe says.

    layer = zeroulp.torch.Linear(1024, 4096)       # instead of torch.nn.Linear
    zeroulp.torch.convert(model)                   # every Linear of a model
    d = zeroulp.torch.scaled_mm(a, b, sa, sb, out_dtype=torch.bfloat16)

These operators are torch.ops.zeroulp.linear and linear_backward, with shapes for
torch.compile and gradients.

    o = zeroulp.torch.attention(q, k, v)           # [batch, length, heads, depth]

All run where their tensors are, with the same bits: on a GPU (Hopper) by the
kernels, on torch's current stream. So do quantize, retile, dequantize and gemm;
their namesakes in zeroulp copy memory of a GPU."""

import dataclasses

import torch

from . import _like, _operations
from ._arrays import format_name
from ._library import Error
from ._torch_fp8 import (dequantize, gemm, matrix_of, need_tensor, quantize,
                         retile)
from ._torch_model import (attention, attention_backward, attention_forward,
                           combine, combine_forward, cross_entropy,
                           cross_entropy_forward, gather, gemm_bf16, plan,
                           rms_norm, rms_norm_backward, rms_norm_forward, rope,
                           route, route_backward, route_forward,
                           scaled_dot_product_attention, slot_backward,
                           sum_of_losses, update_bias)

__all__ = [
    "Linear", "LinearRecipe", "RECIPES", "attention", "attention_backward",
    "attention_forward", "combine", "combine_forward", "convert",
    "cross_entropy", "cross_entropy_forward", "dequantize", "gather", "gemm",
    "gemm_bf16", "linear", "plan", "quantize", "retile", "rms_norm",
    "rms_norm_backward", "rms_norm_forward", "rope", "route", "route_backward",
    "route_forward", "scaled_dot_product_attention", "scaled_mm",
    "slot_backward", "sum_of_losses", "update_bias",
]


@dataclasses.dataclass(frozen=True)
class LinearRecipe:
    """How a Linear layer multiplies: the format and the convention of X, W and
    dY, the kind of scale, and the recipes of the three products. SPEC G11."""

    format: str = "e4m3"
    convention: str = "deepseek_v3"
    scale: str = "fp32"
    fprop: str = "deepgemm.1d2d"
    dgrad: str = "deepgemm.1d2d"
    wgrad: str = "deepgemm.1d1d"


RECIPES = {
    "deepseek_v3": LinearRecipe(),
    "deepseek_v3.pow2": LinearRecipe(scale="pow2"),
    "zeroulp": LinearRecipe(convention="zeroulp"),
    "cutlass": LinearRecipe(fprop="cutlass.blockwise", dgrad="cutlass.blockwise"),
}


def _recipe(name):
    if name not in RECIPES:
        raise Error(f"recipe: {name!r}: use one of {', '.join(RECIPES)}, or add "
                    "a LinearRecipe to zeroulp.torch.RECIPES")
    return RECIPES[name]


def _numbers(x, what):
    if x.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise Error(f"{what}: elements are {x.dtype}: use float32, bfloat16 or "
                    "float16")
    return matrix_of(x)


def _quantized(x, group, r, transposed=False):
    return quantize(x, r.format, group, r.convention, scale=r.scale,
                    transposed=transposed)


@torch.library.custom_op("zeroulp::linear", mutates_args=())
def _linear(x: torch.Tensor, w: torch.Tensor, recipe: str) -> torch.Tensor:
    r = _recipe(recipe)
    qx = _quantized(_numbers(x, "x"), "1x128", r)
    qw = _quantized(_numbers(w, "w"), "128x128", r)
    y = gemm(qx, qw, r.fprop)
    return y.to(x.dtype).reshape(*x.shape[:-1], w.shape[0])


@_linear.register_fake
def _(x, w, recipe):
    return x.new_empty(*x.shape[:-1], w.shape[0])


@torch.library.custom_op("zeroulp::linear_backward", mutates_args=())
def _linear_backward(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor,
                     recipe: str, needs_dx: bool = True,
                     needs_dw: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    r = _recipe(recipe)
    qdy = _quantized(_numbers(dy, "dy"), "1x128", r)
    dx, dw = x.new_empty(0), w.new_empty(0)
    if needs_dx:
        turned_w = _quantized(_numbers(w, "w"), "128x128", r, transposed=True)
        dx = gemm(qdy, turned_w, r.dgrad).to(x.dtype).reshape(x.shape)
    if needs_dw:
        qx = _quantized(_numbers(x, "x"), "1x128", r)
        dw = gemm(retile(qdy), retile(qx), r.wgrad).to(w.dtype)
    return dx, dw


@_linear_backward.register_fake
def _(dy, x, w, recipe, needs_dx=True, needs_dw=True):
    return (x.new_empty(x.shape if needs_dx else 0),
            w.new_empty(w.shape if needs_dw else 0))


def _save(ctx, inputs, output):
    x, w, ctx.recipe = inputs
    ctx.save_for_backward(x, w)


def _gradients(ctx, dy):
    x, w = ctx.saved_tensors
    needed = ctx.needs_input_grad[:2]
    made = torch.ops.zeroulp.linear_backward(dy.contiguous(), x, w, ctx.recipe,
                                             *needed)
    return *(d if need else None for d, need in zip(made, needed)), None


_linear.register_autograd(_gradients, setup_context=_save)


def linear(x, w, bias=None, recipe="deepseek_v3"):
    """y = x w^T + bias in FP8: forward and backward by `recipe`, a key of
    RECIPES. x is ... x K, w is N x K. The bias is added in y's type."""
    if x.dim() < 1 or w.dim() != 2 or x.shape[-1] != w.shape[-1]:
        raise Error(f"x is {tuple(x.shape)}, w is {tuple(w.shape)}: ... x K and "
                    "N x K are multiplied")
    _recipe(recipe)
    y = torch.ops.zeroulp.linear(x, w, recipe)
    return y if bias is None else y + bias.to(y.dtype)


class Linear(torch.nn.Linear):
    """torch.nn.Linear whose products are those of a recipe."""

    def __init__(self, *arguments, recipe="deepseek_v3", **named):
        super().__init__(*arguments, **named)
        self.recipe = recipe
        _recipe(recipe)

    def forward(self, x):
        return linear(x, self.weight, self.bias, self.recipe)

    def extra_repr(self):
        return f"{super().extra_repr()}, recipe={self.recipe!r}"


def convert(model, recipe="deepseek_v3", keep=lambda name, module: False):
    """Replaces every torch.nn.Linear of `model` by a Linear that has its
    parameters; `keep(name, module)` says which stay. Returns the model."""
    _recipe(recipe)
    for name, module in list(model.named_modules()):
        if type(module) is not torch.nn.Linear or keep(name, module):
            continue
        module.__class__ = Linear
        module.recipe = recipe
    return model


def _scales(scale, what, rows, k):
    """(group, scales as rows x groups of K) of scales as torch has them; `rows`
    of the operand with K along them."""
    def counts(m, n):
        return -(-rows // m), -(-k // n)
    if scale.dtype != torch.float32:
        raise Error(f"{what}: elements are {scale.dtype}: use float32")
    if scale.numel() == 1:
        return "tensor", scale.reshape(1, 1)
    if tuple(scale.shape) == counts(1, 128):
        return "1x128", scale
    if tuple(scale.shape) == counts(128, 128):
        return "128x128", scale
    if tuple(scale.shape) == (rows, 1):
        return "1x0", scale
    raise Error(f"{what}: {tuple(scale.shape)}: one scale, or one for each row "
                f"({(rows, 1)}), 1x128 ({counts(1, 128)}) or 128x128 "
                f"({counts(128, 128)}) is taken")


def _one_scale(other, rows, k):
    """The group of an operand that has one scale, beside one with groups of
    `other`: a row, or a tile that is all of it."""
    if other == "1x0" and rows == 1:
        return "1x0"
    if other in ("1x128", "128x128") and rows == 1 and k <= 128:
        return "1x128"
    if other == "1x128" and rows <= 128 and k <= 128:
        return "128x128"
    return "tensor"


def _recipe_of(m, k, groups, fast):
    """The recipe of torch's call of cuBLASLt: SPEC G10. Where K is one tile
    torch takes scales of tiles for those of rows, where M is 1 for a block's.
    """
    if groups == ("tensor", "tensor"):
        return "unpromoted" if fast else "cublaslt.tensorwise"
    if groups == ("1x0", "1x0"):
        if fast:
            return "cublaslt.rows"
        raise Error("use_fast_accum: what cuBLASLt computes by scales of rows "
                    "without it is not known: use True, or K of 128 at most")
    if groups == ("1x128", "128x128"):
        return "cublaslt.1x128_128x128"
    if groups == ("128x128", "1x128"):
        return "cublaslt.128x128_1x128"
    if groups == ("1x128", "1x128"):
        return "cublaslt.1x128_1x128" + (".k128" if k <= 128 else
                                         ".m1" if m == 1 else "")
    raise Error(f"scale_a is of {groups[0]}, scale_b of {groups[1]}: cuBLASLt "
                "has no such product on Hopper")


def _chosen(like, m, n, k, mats, groups, fast, output):
    """The recipe and splits that a record has of torch's call."""
    if groups == ("1x128", "1x128") and k <= 128:  # SPEC G10 (d)
        groups, fast = ("1x0", "1x0"), True
    elif groups == ("1x128", "1x128") and m == 1:
        groups = "128x128", "1x128"
    whole = {("tensor", "tensor"): "tensor", ("1x0", "1x0"): "rows"}.get(groups)
    scaling = f"{whole}.{'fast' if fast else 'precise'}" if whole else \
        "_".join(groups)
    a, b = (format_name(x.dtype) for x in mats)
    return _like.choice(like, m, n, k, a, b, scaling, output)


def scaled_mm(mat_a, mat_b, scale_a, scale_b, bias=None, scale_result=None,
              out_dtype=None, use_fast_accum=False, *, recipe=None, splits=None,
              like=None):
    """torch._scaled_mm to the bit, as cuBLASLt computes it on Hopper: mat_a is
    M x K, mat_b K x N, both of FP8. Scales are one number, or for each row (by
    fast accumulation), 1x128 or 128x128.

    `splits` is how many ranges of K its algorithm has (1 if it is not given),
    and `recipe` replaces cuBLASLt's. `like`="cublaslt-13.1:h200", or a record's
    file, looks both up: Error where no record has the shape. What has no recipe
    is refused: a bias, scale_result, scales of rows that are summed precisely,
    a result of FP8 or FP16."""
    if bias is not None or scale_result is not None:
        raise Error(("bias" if bias is not None else "scale_result") +
                    ": how cuBLASLt rounds it is not known here")
    if out_dtype not in (torch.bfloat16, torch.float32):
        raise Error(f"out_dtype is {out_dtype}: use torch.bfloat16 or "
                    "torch.float32")
    need_tensor(scale_a, "scale_a")
    need_tensor(scale_b, "scale_b")
    if mat_a.dim() != 2 or mat_b.dim() != 2 or mat_a.shape[1] != mat_b.shape[0]:
        raise Error(f"mat_a is {tuple(mat_a.shape)}, mat_b is "
                    f"{tuple(mat_b.shape)}: M x K and K x N are multiplied")
    (m, k), n = mat_a.shape, mat_b.shape[1]
    group_a, by_a = _scales(scale_a, "scale_a", m, k)
    group_b, by_b = _scales(scale_b if scale_b.numel() == 1 else scale_b.t(),
                            "scale_b", n, k)
    if group_a == "tensor":
        group_a = _one_scale(group_b, m, k)
    elif group_b == "tensor":
        group_b = _one_scale(group_a, n, k)
    output = "fp32" if out_dtype == torch.float32 else "bf16"
    if like is None:
        name = recipe or _recipe_of(m, k, (group_a, group_b), use_fast_accum)
    elif recipe is not None or splits is not None:
        raise Error("like: says recipe and splits: leave them out beside it")
    else:
        name, splits, _ = _chosen(like, m, n, k, (mat_a, mat_b),
                                  (group_a, group_b), use_fast_accum, output)
    if group_a == "1x128" and name in ("cublaslt.1x128_1x128.m1",
                                       "cublaslt.128x128_1x128"):
        group_a = "128x128"  # one row of A is a block's
    a = _operations.Quantized(mat_a, by_a, mat_a.dtype, group_a)
    b = _operations.Quantized(mat_b.t(), by_b, mat_b.dtype, group_b)
    return gemm(a, b, name, splits=1 if splits is None else splits, output=output)
