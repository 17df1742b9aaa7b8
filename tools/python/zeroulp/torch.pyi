import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from . import (Attention, AttentionGradients, Convention, Format, Plan,
               Quantized, Recipe, Routing)

_Module = TypeVar("_Module", bound=torch.nn.Module)

@dataclasses.dataclass(frozen=True)
class LinearRecipe:
    format: str = 'e4m3'
    convention: str = 'deepseek_v3'
    scale: str = 'fp32'
    fprop: str = 'deepgemm.1d2d'
    dgrad: str = 'deepgemm.1d2d'
    wgrad: str = 'deepgemm.1d1d'

RECIPES: dict[str, LinearRecipe]

class Linear(torch.nn.Linear):
    recipe: str
    def __init__(
        self, *arguments: Any, recipe: str = 'deepseek_v3', **named: Any
    ) -> None: ...
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...

def convert(
    model: _Module, recipe: str = 'deepseek_v3',
    keep: Callable[[str, torch.nn.Module], bool] = ...
) -> _Module: ...
def linear(
    x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None,
    recipe: str = 'deepseek_v3'
) -> torch.Tensor: ...
def quantize(
    x: torch.Tensor, format: str | Format | torch.dtype = 'e4m3',
    group: str = '1x128', convention: str | Convention = 'zeroulp', *,
    scale: str | None = None, transposed: bool = False,
    source: str | Format | None = None
) -> Quantized: ...
def dequantize(
    q: Quantized, to: str | Format | torch.dtype = 'fp32'
) -> torch.Tensor: ...
def retile(
    q: Quantized, to: str | Format | torch.dtype | None = None, *,
    rule: str = 'amax'
) -> Quantized: ...
def gemm(
    a: torch.Tensor | Quantized, b: torch.Tensor | Quantized,
    recipe: str | Recipe = 'deepgemm.1d2d', *, c: torch.Tensor | None = None,
    interval: int | None = None, splits: int | None = None,
    output: str | Format | torch.dtype | None = None,
    format: str | Format | torch.dtype | None = None
) -> torch.Tensor: ...
def scaled_mm(
    mat_a: torch.Tensor, mat_b: torch.Tensor, scale_a: torch.Tensor,
    scale_b: torch.Tensor, bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None, use_fast_accum: bool = False, *,
    recipe: str | None = None, splits: int | None = None, like: str | None = None
) -> torch.Tensor: ...
def attention_forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    scale: float | None = None
) -> Attention: ...
def attention_backward(
    d_o: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    o: torch.Tensor, largest: torch.Tensor, inverse: torch.Tensor,
    scale: float | None = None
) -> AttentionGradients: ...
def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    scale: float | None = None
) -> torch.Tensor: ...
def scaled_dot_product_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    attn_mask: torch.Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False
) -> torch.Tensor: ...
def rope(
    x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor,
    pairs: str = 'adjacent', backward: bool = False
) -> torch.Tensor: ...
def rms_norm_forward(
    x: torch.Tensor, w: torch.Tensor, eps: float = 1e-06
) -> tuple[torch.Tensor, torch.Tensor]: ...
def rms_norm_backward(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor,
    residual: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]: ...
def rms_norm(
    x: torch.Tensor, w: torch.Tensor, eps: float = 1e-06
) -> torch.Tensor: ...
def route_forward(
    logits: torch.Tensor, top: int, bias: torch.Tensor | None = None,
    score: str = 'sigmoid', groups: int = 1, kept: int = 1,
    group_score: str = 'top2_sum', normalized: bool = True, scale: float = 1.0
) -> Routing: ...
def route_backward(
    dweights: torch.Tensor, experts: torch.Tensor, scores: torch.Tensor,
    score: str = 'sigmoid', normalized: bool = True, scale: float = 1.0
) -> torch.Tensor: ...
def route(
    logits: torch.Tensor, top: int, bias: torch.Tensor | None = None,
    score: str = 'sigmoid', groups: int = 1, kept: int = 1,
    group_score: str = 'top2_sum', normalized: bool = True, scale: float = 1.0
) -> Routing: ...
def update_bias(
    bias: torch.Tensor, experts: torch.Tensor, speed: float = 0.001
) -> torch.Tensor: ...
def plan(experts: torch.Tensor, count: int, align: int = 128) -> Plan: ...
def gather(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor: ...
def combine_forward(
    x: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor: ...
def combine(
    x: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor: ...
def slot_backward(
    dy: torch.Tensor, slots: torch.Tensor, weights: torch.Tensor | None = None,
    y: torch.Tensor | None = None, rows: int | None = None
) -> tuple[torch.Tensor, torch.Tensor | None]: ...
def cross_entropy_forward(
    logits: torch.Tensor, targets: torch.Tensor, factor: float | None = None
) -> tuple[torch.Tensor, torch.Tensor]: ...
def sum_of_losses(losses: torch.Tensor) -> torch.Tensor: ...
def cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor: ...
def gemm_bf16(
    a: torch.Tensor, b: torch.Tensor, output: str = 'fp32', splits: int = 1
) -> torch.Tensor: ...

__all__ = [
    "Linear", "LinearRecipe", "RECIPES", "attention", "attention_backward",
    "attention_forward", "combine", "combine_forward", "convert",
    "cross_entropy", "cross_entropy_forward", "gather", "gemm_bf16", "linear",
    "plan", "rms_norm", "rms_norm_backward", "rms_norm_forward", "rope",
    "route", "route_backward", "route_forward", "scaled_dot_product_attention",
    "scaled_mm", "slot_backward", "sum_of_losses", "update_bias",
]
