"""zeroulp: the bit-exact reference that FP8 training kernels are held against.

    import zeroulp
    q = zeroulp.quantize(x, "e4m3", "1x128", "vllm")
    zeroulp.testing.assert_same_bits(my_codes, q.codes)

Arrays are NumPy's, ml_dtypes', torch's or what speaks DLPack; results are of
the caller's library. A matrix has its leading dimensions folded into rows."""

from . import checkpoint, identify, parity, testing
from ._blocks import (QuantizedBlocks, block_conventions, block_recipes, hadamard,
                      interleave_scales, quantize_blocks, random_words,
                      separate_scales)
from ._compare import Comparison, Errors, compare, measure_errors
from ._library import CudaError, Error, InternalError
from ._library import version as __version__
from ._model import (Attention, AttentionGradients, Plan, Routing, add_shards,
                     attention, attention_backward, balance_loss, clip_factor,
                     cross_entropy, gradient_norm, latent_attention, log, plan,
                     rate_of, rms_norm_backward, rope, rope_table, route, route_backward,
                     slot_backward, sum_of_losses, update_average, update_bias)
from ._model_more import (IndexerKeys, MtpGradients, MtpInput,
                          accumulate_micro_batches, choose_replicas,
                          dual_pipe_order, dual_pipe_steps, indexer_keys,
                          indexer_logits, merge_replicas, mtp_input,
                          mtp_input_backward, mtp_tokens)
from ._operations import (Quantized, decode, dequantize, encode, gemm, multiply,
                          multiply_block_scaled, quantize, recode, retile, step)
from ._suite import Cause, Explanation, explain
from ._threads import threads, use_threads
from ._training import adamw, combine, dispatch, rms_norm, swiglu
from ._values import (BlockScaledPath, Convention, Format, Path, Recipe, Tensor,
                      arms, block_scaled_path, block_scaled_paths, convention,
                      conventions, format, formats, path, paths, recipe, recipes,
                      tensors)

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
