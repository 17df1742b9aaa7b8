# Types of the package's functions. An _Array is the caller's: of NumPy, ml_dtypes
# or torch, or what speaks DLPack; results are of its library.

import os
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from . import checkpoint as checkpoint
from . import identify as identify
from . import parity as parity
from . import testing as testing

_Array: TypeAlias = Any
# A name of ours, torch's or ml_dtypes', a Format, or a dtype of theirs.
_FormatLike: TypeAlias = Any

__version__: str

class Error(ValueError): ...
class CudaError(RuntimeError): ...
class InternalError(RuntimeError): ...

class _Value:
    name: str
    struct: Any
    def __init__(self, name: str, struct: Any) -> None: ...
    def __getattr__(self, member: str) -> Any: ...
    def __hash__(self) -> int: ...

class Format(_Value):
    exponent_bits: int
    fraction_bits: int
    bias: int
    specials: int
    @property
    def bits(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class Convention(_Value): ...
class Path(_Value): ...

class BlockScaledPath(_Value):
    path: Any
    scale: int
    block: int
    terms: int

class Recipe(_Value):
    interval: int
    splits: int
    def replace(
        self, *, interval: int | None = None, splits: int | None = None,
        output: _FormatLike | None = None, a: str | None = None,
        b: str | None = None
    ) -> Recipe: ...

class Quantized:
    codes: _Array
    scales: _Array
    format: Format
    group: str
    convention: str
    scale: str
    shape: tuple[int, int]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __init__(
        self, codes: _Array, scales: _Array, format: _FormatLike,
        group: str = '1x128', *, convention: str = 'unknown', scale: str = 'fp32'
    ) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def bits(self) -> Any: ...
    def scale_bits(self) -> Any: ...
    def dequantize(self, to: _FormatLike = 'fp32') -> _Array: ...
    def retile(
        self, to: _FormatLike | None = None, *, rule: str = 'amax'
    ) -> Quantized: ...
    @property
    def saturated(self) -> float: ...
    def save(self, folder: str | os.PathLike[str]) -> None: ...
    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Quantized: ...

class QuantizedBlocks:
    codes: _Array
    scales: _Array
    second: _Array | None
    format: Format
    scale: str
    block: int
    convention: str
    shape: tuple[int, int]
    def __init__(
        self, codes: _Array, scales: _Array, format: _FormatLike, scale: str,
        block: int, second: _Array | None = None, *,
        convention: str = 'unknown'
    ) -> None: ...
    def bits(self) -> Any: ...
    def scale_bits(self) -> Any: ...
    def second_bits(self) -> Any: ...
    def dequantize(self, to: _FormatLike = 'fp32') -> _Array: ...
    def interleaved(self) -> _Array: ...

class Comparison:
    format: str | None
    count: int
    different: int
    first: tuple[int, int] | None
    codes: tuple[int, int]
    first_ulps: int
    max_ulps: int
    zero_signs: int
    nan_payloads: int
    nan_mismatches: int
    ulps: dict[str, int]
    shape: tuple[int, int]
    where: _Array
    rows: _Array
    columns: _Array
    def __init__(self, a: Any, b: Any, found: Any) -> None: ...
    def __bool__(self) -> bool: ...

class Errors:
    frobenius: float
    max_over_max: float
    max_over_mean: float
    max_over_rms: float
    bias: float
    sqnr_db: float
    one_minus_cosine: float
    quantiles: list[float]
    def __init__(self, found: Any) -> None: ...

class Cause:
    name: str
    what: str
    kind: str
    explained: int
    left: int
    added: int
    exact: bool
    same_bits: list[str]
    one_of: list[dict[str, str]]
    def __init__(self, found: dict[str, Any]) -> None: ...

class Explanation:
    report: dict[str, Any]
    likely: list[Cause]
    outputs: dict[str, dict[str, Any]]
    element: str | None
    apart: testing.Case | None
    def __init__(self, found: dict[str, Any]) -> None: ...
    def __bool__(self) -> bool: ...

class Tensor(NamedTuple):
    tensor: str
    format: Format
    group: str | None
    scale: str | None
    made_from: str
    used_by: str

class Attention(NamedTuple):
    o: _Array
    largest: _Array
    inverse: _Array

class AttentionGradients(NamedTuple):
    dq: _Array
    dk: _Array
    dv: _Array

class Routing(NamedTuple):
    experts: _Array
    weights: _Array
    scores: _Array

class Plan(NamedTuple):
    rows: _Array
    slots: _Array
    ends: _Array

class IndexerKeys(NamedTuple):
    keys: _Array
    ties: _Array

class MtpInput(NamedTuple):
    joined: _Array
    rstd_h: _Array
    rstd_next: _Array

class MtpGradients(NamedTuple):
    dh: _Array
    d_next: _Array
    dw_h: _Array
    dw_next: _Array

def recode(
    x: _Array, to: _FormatLike, *, format: _FormatLike | None = None,
    rounding: str = 'nearest_even', policy: str = 'cuda_satfinite',
    random: _Array | None = None
) -> _Array: ...
def encode(
    x: _Array, format: _FormatLike = 'e4m3', *, rounding: str = 'nearest_even',
    policy: str = 'cuda_satfinite', random: _Array | None = None
) -> _Array: ...
def decode(
    codes: _Array, format: _FormatLike | None = None, *, to: _FormatLike = 'fp32'
) -> _Array: ...
def quantize(
    x: _Array, format: _FormatLike = 'e4m3', group: str = '1x128',
    convention: str | Convention = 'zeroulp', *, scale: str | None = None,
    scales: _Array | None = None, amax: _Array | float | None = None,
    source: _FormatLike | None = None
) -> Quantized: ...
def dequantize(q: Quantized, to: _FormatLike = 'fp32') -> _Array: ...
def retile(
    q: Quantized, to: _FormatLike | None = None, *, rule: str = 'amax'
) -> Quantized: ...
def gemm(
    a: _Array | Quantized | QuantizedBlocks,
    b: _Array | Quantized | QuantizedBlocks,
    recipe: str | Recipe = 'deepgemm.1d2d', *, c: _Array | None = None,
    interval: int | None = None, splits: int | None = None,
    output: _FormatLike | None = None, format: _FormatLike | None = None
) -> _Array: ...
def quantize_blocks(
    x: _Array, convention: str = 'nvfp4', format: _FormatLike | None = None, *,
    second: str | None = None, scale_max: int = 448, block_rows: int = 1,
    random: _Array | None = None, source: _FormatLike | None = None
) -> QuantizedBlocks: ...
def random_words(
    shape: tuple[int, int], seed: int, *, bits: int = 32,
    source: str = 'philox4x32_10', first: int = 0
) -> _Array: ...
def hadamard(
    x: _Array, signs: str | Sequence[int] | None = None, *, size: int = 16,
    path: str | Path | None = None, scale: float | None = None,
    format: _FormatLike | None = None, source: _FormatLike | None = None
) -> _Array: ...
def interleave_scales(scales: _Array) -> _Array: ...
def separate_scales(
    interleaved: _Array, rows: int, blocks: int
) -> _Array: ...
def block_conventions() -> list[str]: ...
def block_recipes() -> list[str]: ...
def multiply(
    path: str | Path, a: _Array, b: _Array, c: _Array | None = None
) -> _Array: ...
def multiply_block_scaled(
    path: str | BlockScaledPath, a: _Array, scale_a: _Array, b: _Array,
    scale_b: _Array, c: _Array | None = None
) -> _Array: ...
def step(
    path: str | Path, a: _Array, b: _Array, c: _Array | None = None
) -> _Array: ...
def format(name: _FormatLike) -> Format: ...
def convention(name: str | Convention) -> Convention: ...
def recipe(name: str | Recipe) -> Recipe: ...
def path(name: str | Path) -> Path: ...
def formats() -> list[Format]: ...
def conventions() -> list[Convention]: ...
def recipes() -> list[Recipe]: ...
def paths() -> list[Path]: ...
def block_scaled_path(name: str | BlockScaledPath) -> BlockScaledPath: ...
def block_scaled_paths() -> list[BlockScaledPath]: ...
def arms() -> list[str]: ...
def tensors(arm: str = 'full') -> list[Tensor]: ...
def compare(
    a: _Array, b: _Array, format: _FormatLike | None = None
) -> Comparison: ...
def measure_errors(computed: _Array, exact: _Array) -> Errors: ...
def explain(
    made: _Array | Quantized | tuple[_Array, _Array],
    claim: str | Convention | Recipe, x: _Array | None = None, *,
    a: Quantized | None = None, b: Quantized | None = None,
    c: _Array | None = None, format: _FormatLike | None = None,
    group: str | None = None, scale: str | None = None,
    source: _FormatLike | None = None, output: _FormatLike | None = None,
    ignore: Sequence[str] = ()
) -> Explanation: ...
def swiglu(
    g: _Array, u: _Array, format: _FormatLike = 'e4m3', group: str = '1x128',
    convention: str | Convention = 'zeroulp', *, scale: str | None = None,
    values: _FormatLike = 'bf16', source: _FormatLike | None = None
) -> tuple[_Array, Quantized]: ...
def rms_norm(
    x: _Array, w: _Array, eps: float = 1e-06, format: _FormatLike = 'e4m3',
    group: str = '1x128', convention: str | Convention = 'zeroulp', *,
    scale: str | None = None, values: _FormatLike = 'bf16',
    source: _FormatLike | None = None
) -> tuple[_Array, _Array, Quantized]: ...
def adamw(
    g: _Array, m: _Array, v: _Array, w: _Array, *, step: int, rate: float = 0.001,
    beta1: float = 0.9, beta2: float = 0.95, eps: float = 1e-08,
    weight_decay: float = 0.1, rounding: str = 'nearest_even', seed: int = 0,
    first: int = 0
) -> tuple[_Array, _Array, _Array, _Array]: ...
def combine(
    x: _Array, slots: _Array, weights: _Array | None = None,
    rule: str = 'fp32_slots', *, source: _FormatLike | None = None
) -> _Array: ...
def dispatch(
    x: _Array, rows: _Array, format: _FormatLike = 'e4m3', group: str = '1x128',
    convention: str | Convention = 'zeroulp', *, scale: str | None = None,
    source: _FormatLike | None = None
) -> Quantized: ...
def log(x: _Array) -> _Array: ...
def rms_norm_backward(
    dy: _Array, x: _Array, w: _Array, rstd: _Array, residual: _Array | None = None
) -> tuple[_Array, _Array]: ...
def rope_table(
    n: int = 64, positions: int = 4096, *, first: int = 0,
    frequencies: _Array | None = None
) -> tuple[_Array, _Array]: ...
def rope(
    x: _Array, cosines: _Array, sines: _Array, pairs: str = 'adjacent',
    backward: bool = False, heads: int = 1
) -> _Array: ...
def attention(
    q: _Array, k: _Array, v: _Array, heads: int, length: int | None = None,
    scale: float | None = None
) -> Attention: ...
def attention_backward(
    d_o: _Array, q: _Array, k: _Array, v: _Array, o: _Array, largest: _Array,
    inverse: _Array, heads: int, length: int | None = None,
    scale: float | None = None
) -> AttentionGradients: ...
def latent_attention(
    q: _Array, latent: _Array, rope_key: _Array, up: _Array, heads: int,
    order: str = 'unabsorbed', length: int | None = None,
    scale: float | None = None
) -> Attention: ...
def route(
    logits: _Array, top: int, bias: _Array | None = None, score: str = 'sigmoid',
    groups: int = 1, kept: int = 1, group_score: str = 'top2_sum',
    normalized: bool = True, scale: float = 1.0
) -> Routing: ...
def route_backward(
    dweights: _Array, experts: _Array, scores: _Array, score: str = 'sigmoid',
    normalized: bool = True, scale: float = 1.0
) -> _Array: ...
def update_bias(bias: _Array, experts: _Array, speed: float = 0.001) -> _Array: ...
def balance_loss(
    scores: _Array, experts: _Array, alpha: float, score: str = 'sigmoid',
    length: int | None = None
) -> tuple[_Array, _Array]: ...
def update_average(
    average: _Array, weights: _Array, beta: float = 0.999
) -> _Array: ...
def plan(experts: _Array, count: int, align: int = 128) -> Plan: ...
def slot_backward(
    dy: _Array, slots: _Array, weights: _Array | None = None,
    y: _Array | None = None, rows: int | None = None
) -> tuple[_Array, _Array]: ...
def cross_entropy(
    logits: _Array, targets: _Array, factor: float | None = None
) -> tuple[_Array, _Array]: ...
def sum_of_losses(losses: _Array) -> float: ...
def add_shards(shards: Sequence[_Array]) -> _Array: ...
def gradient_norm(gradients: Sequence[_Array]) -> float: ...
def clip_factor(norm: float, clip: float = 1.0) -> Any: ...
def rate_of(
    step: int, *, rate: float, steps: int, warmup: int = 0,
    hold: int | None = None, last: float = 0.0
) -> float: ...
def dual_pipe_steps(stages: int, micro_batches: int, rank: int) -> _Array: ...
def dual_pipe_order(stages: int, micro_batches: int, stage: int) -> _Array: ...
def accumulate_micro_batches(
    gradients: Sequence[_Array], order: Sequence[int] | None = None
) -> _Array: ...
def choose_replicas(experts: _Array, counts: Sequence[int]) -> _Array: ...
def merge_replicas(by_replica: _Array, by_expert: _Array, rows: int) -> _Array: ...
def indexer_logits(
    q: _Array, k: _Array, q_scales: _Array, k_scales: _Array, weights: _Array,
    first: int = 0
) -> _Array: ...
def indexer_keys(logits: _Array, top: int, first: int = 0) -> IndexerKeys: ...
def mtp_tokens(
    targets: _Array, length: int, depth: int = 1
) -> tuple[_Array, ...]: ...
def mtp_input(
    h: _Array, next_rows: _Array, w_h: _Array, w_next: _Array, eps: float = 1e-06
) -> MtpInput: ...
def mtp_input_backward(
    d_joined: _Array, h: _Array, next_rows: _Array, w_h: _Array, w_next: _Array,
    rstd_h: _Array, rstd_next: _Array, residual: _Array | None = None
) -> MtpGradients: ...
def threads() -> int: ...
def use_threads(count: int) -> None: ...

__all__ = [
    "Attention", "AttentionGradients", "BlockScaledPath", "Cause", "Comparison",
    "Convention", "CudaError", "Error", "Errors", "Explanation", "Format",
    "IndexerKeys", "InternalError", "MtpGradients", "MtpInput", "Path", "Plan",
    "Quantized", "QuantizedBlocks", "Recipe", "Routing", "Tensor",
    "__version__", "accumulate_micro_batches", "adamw", "add_shards", "arms",
    "attention", "attention_backward", "balance_loss", "block_conventions",
    "block_recipes", "block_scaled_path", "block_scaled_paths", "checkpoint",
    "choose_replicas", "clip_factor", "combine", "compare", "convention",
    "conventions", "cross_entropy", "decode", "dequantize", "dispatch",
    "dual_pipe_order", "dual_pipe_steps", "encode", "explain", "format",
    "formats", "gemm", "gradient_norm", "hadamard", "identify", "indexer_keys",
    "indexer_logits", "interleave_scales", "latent_attention", "log",
    "measure_errors", "merge_replicas", "mtp_input", "mtp_input_backward",
    "mtp_tokens", "multiply", "multiply_block_scaled", "parity", "path",
    "paths", "plan", "quantize", "quantize_blocks", "random_words", "rate_of", "recipe",
    "recipes", "recode", "retile", "rms_norm", "rms_norm_backward", "rope",
    "rope_table", "route", "route_backward", "separate_scales", "slot_backward",
    "step", "sum_of_losses", "swiglu", "tensors", "testing", "threads",
    "update_average", "update_bias", "use_threads",
]
