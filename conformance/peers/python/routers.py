#!/usr/bin/env python3
"""Routers of packages, run on the same logits, against each other and route.

    routers.py RECORD

Runs the routers of DeepSeek-V3 (inference/model.py, as the module `model`),
vLLM, SGLang and Megatron-Core on PYTHONPATH, on the CPU and eagerly, and writes
how often each pair disagrees to RECORD, JSON. Needs PyTorch, the package
zeroulp and ZEROULP_LIBRARY. As hold.py, a package that is no distribution has
its version in ZEROULP_PEER_VERSION: "model=9b4e978".

A router gets logits, so that no GEMM is part of what is compared. What a token's
slots are compared by: the experts as a set; the weights by expert, in FP32.
"""

import hashlib
import itertools
import json
import pathlib
import subprocess
import sys
import types

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 2048

# As two models of DeepSeek route. Names are those of route's arguments.
SETTINGS = {
    "v3": {"experts": 256, "top": 8, "groups": 8, "kept": 4, "score": "sigmoid",
           "group_score": "top2_sum", "bias": True, "normalized": True,
           "scale": 2.5},
    "v2": {"experts": 160, "top": 6, "groups": 8, "kept": 3, "score": "softmax",
           "group_score": "max", "bias": False, "normalized": False,
           "scale": 16.0},
}  # fmt: skip
FAMILIES = ("normal", "wide", "ties", "zeros", "underflow", "nan", "groups")


def _words(key, count):
    """32-bit words of a stream that no version of NumPy changes."""
    raw = np.random.Philox(key=key).random_raw((count + 1) // 2)
    return raw.view(np.uint32)[:count]


def _normal(key, *shape):
    """Nearly N(0, 1): twelve uniform numbers, less 6."""
    words = _words(key, 12 * int(np.prod(shape))).reshape(12, *shape)
    return (words * 2.0**-32).sum(0) - 6


def rounded_to_bf16(x):
    bits = x.view(np.uint32).astype(np.uint64)
    even = bits + 0x7FFF + (bits >> 16 & 1)
    kept = np.where(np.isnan(x), bits, even).astype(np.uint32) & 0xFFFF0000
    return kept.view(np.float32)


def inputs(setting, family, bf16):
    """Logits [tokens, experts] and a bias [experts] or None, FP32."""
    s = SETTINGS[setting]
    key = 16 * sorted(SETTINGS).index(setting) + FAMILIES.index(family)
    shape = TOKENS, s["experts"]
    z = _normal(key, *shape)
    bias = 0.05 * _normal(1000 + key, s["experts"])
    picks = _words(2000 + key, z.size).reshape(shape)
    if family == "wide":
        z *= 16
    elif family == "ties":
        z, bias = np.round(2 * z) / 2, np.round(4 * bias) / 4
    elif family == "zeros":
        z = np.where(picks % 2 == 0, 0.0, -0.0)
        bias = np.choose(_words(3000 + key, s["experts"]) % 3, [0.0, -0.0, -0.5])
    elif family == "underflow":
        z = z - 100
        bias = 0 * bias
    elif family == "nan":
        z = np.where(picks % 512 == 0, np.nan, z)
    elif family == "groups":
        each = s["experts"] // s["groups"]
        first = z[:, :each]
        z = np.concatenate([np.roll(first, g, 1) for g in range(s["groups"])], 1)
        bias = 0 * bias
    z = z.astype(np.float32)
    if bf16:
        z = rounded_to_bf16(z)
    return z, bias.astype(np.float32) if s["bias"] else None


def dense(experts, weights, count):
    """What was chosen [tokens, count], and the weights by expert, else 0."""
    chosen = np.zeros((len(experts), count), bool)
    by_expert = np.zeros((len(experts), count), np.float32)
    rows = np.arange(len(experts))[:, None]
    chosen[rows, experts] = True
    by_expert[rows, experts] = weights
    return chosen, by_expert


def of_zeroulp(setting, z, bias, _):
    import zeroulp

    s = SETTINGS[setting]
    made = zeroulp.route(
        z, s["top"], bias, score=s["score"], groups=s["groups"], kept=s["kept"],
        group_score=s["group_score"], normalized=s["normalized"],
        scale=s["scale"],
    )  # fmt: skip
    return dense(made.experts.astype(np.int64), made.weights, s["experts"])


def digest(made):
    """Of what was chosen and with which weights; every NaN is the same."""
    chosen, weights = made
    bits = np.where(np.isnan(weights), np.uint32(0x7FFFFFFF), weights.view(np.uint32))
    return hashlib.sha256(np.packbits(chosen).tobytes() + bits.tobytes()).hexdigest()


def packages():
    """Name: the module and a function of (setting, z, bias, dtype)."""
    import peer_modules
    import torch

    # Eagerly: what a compiler fuses is its own.
    torch.compile = lambda *_, **__: lambda function: function

    def result(weights, experts, count):
        return dense(experts.numpy(), weights.float().numpy(), count)

    def deepseek():
        stand_in = types.ModuleType("kernel")
        stand_in.act_quant = stand_in.weight_dequant = stand_in.fp8_gemm = None
        sys.modules["kernel"] = stand_in
        module = peer_modules.load("model")
        module.linear = lambda x, weight: x  # x is the logits

        def run(setting, z, bias):
            s = SETTINGS[setting]
            # It has a bias if its width is that of V3.
            gate = module.Gate(types.SimpleNamespace(
                dim=7168 if s["bias"] else 2, n_activated_experts=s["top"],
                n_expert_groups=s["groups"], n_limited_groups=s["kept"],
                score_func=s["score"], route_scale=s["scale"],
                n_routed_experts=s["experts"]))  # fmt: skip
            if s["bias"]:
                gate.bias.data = bias
            return result(*gate(z), s["experts"])

        return module, run

    def vllm():
        # Its own defaults.
        envs = types.SimpleNamespace(
            VLLM_USE_FUSED_MOE_GROUPED_TOPK=True, VLLM_BATCH_INVARIANT=False
        )
        module = peer_modules.load(
            "vllm.model_executor.layers.fused_moe.router.grouped_topk_router",
            {
                "vllm": {"envs": envs},
                "vllm.model_executor.custom_op": {"CustomOp": _Registry},
            },
        )

        def run(setting, z, bias):
            s = SETTINGS[setting]
            made = module.grouped_topk(
                z, z, s["top"], s["normalized"], s["groups"], s["kept"],
                s["score"], s["scale"], bias,
            )  # fmt: skip
            return result(made[0], made[1].long(), s["experts"])

        return module, run

    def sglang():
        module = peer_modules.load("sglang.srt.layers.moe.topk")

        def run(setting, z, bias):
            s = SETTINGS[setting]
            given = {"renormalize": s["normalized"],
                     "num_expert_group": s["groups"], "topk_group": s["kept"],
                     "routed_scaling_factor": s["scale"],
                     "apply_routed_scaling_factor_on_output": True}  # fmt: skip
            if s["bias"]:
                made = module.biased_grouped_topk_impl(z, z, bias, s["top"], **given)
            else:
                made = module.grouped_topk_gpu(
                    z, z, s["top"], scoring_func=s["score"], **given
                )
            return result(made[0], made[1].long(), s["experts"])

        return module, run

    def megatron():
        module = peer_modules.load(
            "megatron.core.transformer.moe.moe_utils",
            {"megatron.core.utils": {"internal_api": lambda function: function}},
        )

        def run(setting, z, bias):
            s = SETTINGS[setting]
            weights, chosen = module.topk_routing_with_score_function(
                z, s["top"], use_pre_softmax=True, num_groups=s["groups"],
                group_topk=s["kept"], scaling_factor=s["scale"],
                score_function=s["score"], expert_bias=bias,
            )  # fmt: skip
            return chosen.numpy(), weights.float().numpy()

        return module, run

    made = {}
    for name, load in (("deepseek_v3", deepseek), ("vllm", vllm),
                       ("sglang", sglang), ("megatron", megatron)):  # fmt: skip
        module, run = load()

        def on_torch(setting, z, bias, bf16, run=run):
            z = torch.from_numpy(z.copy())
            bias = None if bias is None else torch.from_numpy(bias)
            with torch.no_grad():
                return run(setting, z.bfloat16() if bf16 else z, bias)

        made[name] = module, on_torch
    return made


class _Registry:
    """vLLM's CustomOp, as far as the definition of a class needs it."""

    @staticmethod
    def register(_):
        return lambda cls: cls


def compare(one, other):
    """Shares of tokens: of other experts; of the same ones, of other weights.
    And the most FP32 ulps between weights that are numbers."""
    differ = (one[0] != other[0]).any(1)
    bits = [np.where(np.isnan(w), np.uint32(0x7FC00000), (w + 0.0).view(np.uint32))
            for _, w in (one, other)]  # fmt: skip
    apart = (bits[0] != bits[1]).any(1) & ~differ
    finite = np.isfinite(one[1]) & np.isfinite(other[1]) & apart[:, None]
    ulps = np.abs(bits[0].astype(np.int64) - bits[1].astype(np.int64))[finite]
    return {
        "experts": round(float(differ.mean()), 6),
        "weights": round(float(apart.sum() / max(1, (~differ).sum())), 6),
        "ulps": int(ulps.max(initial=0)),
    }


def sources():
    """What zeroulp's bits follow from, as check.sh has it."""
    check = HERE.parent.parent / "records" / "check.sh"
    lines = subprocess.run(["sh", check, "--hash", "routers"], check=True,
                           capture_output=True, text=True).stdout  # fmt: skip
    return {path: value for value, path in map(str.split, lines.splitlines())}


def about(name, module):
    import hold

    file = pathlib.Path(module.__file__)
    package = {"megatron": "megatron-core"}.get(name, module.__name__.partition(".")[0])
    return {
        "package": package,
        "version": hold.version_of(package),
        "module": module.__name__,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.path.insert(0, str(HERE))
    import torch

    torch.set_num_threads(1)
    loaded = packages()
    runs = {"zeroulp": of_zeroulp} | {n: run for n, (_, run) in loaded.items()}
    digests, matrix = {}, []
    for setting, bf16, family in itertools.product(SETTINGS, (False, True), FAMILIES):
        z, bias = inputs(setting, family, bf16)
        made = {name: run(setting, z, bias, bf16) for name, run in runs.items()}
        of = f"{setting}.{'bf16' if bf16 else 'fp32'}.{family}"
        digests[of] = digest(made["zeroulp"])
        for one, other in itertools.combinations(runs, 2):
            matrix.append({"of": of, "pair": [one, other]} |
                          compare(made[one], made[other]))  # fmt: skip
    record = {
        "command": "conformance/peers/python/routers.py",
        "depends_on": "routers",
        "sources": sources(),
        "device": f"CPU, {torch.backends.cpu.get_cpu_capability()}",
        "torch": torch.__version__,
        "tokens": TOKENS,
        "settings": SETTINGS,
        "packages": {n: about(n, m) for n, (m, _) in loaded.items()},
        "zeroulp": digests,
        "matrix": matrix,
    }
    text = json.dumps(record, indent=1)
    # A row of the matrix a line.
    for row in matrix:
        text = text.replace(json.dumps(row, indent=1).replace("\n", "\n  "),
                            json.dumps(row))  # fmt: skip
    pathlib.Path(sys.argv[1]).write_text(text + "\n")


if __name__ == "__main__":
    main()
