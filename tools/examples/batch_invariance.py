#!/usr/bin/env python3
"""A trainer and a sampler with the same bits: batch_invariance.py [CONVENTION].

One decoder layer, its four products in FP8 by DeepGEMM's recipe, with the
package zeroulp and NumPy alone. The trainer computes all tokens of two sequences
at once. The sampler reads one prompt in chunks, the other token by token, then
both together in rows of another order, from a cache of keys and values. The
trainer quantizes activations as vLLM does, and so does the sampler, unless
CONVENTION is another's. Exit status: 0 the same bits, 1 others.
"""

import hashlib
import sys

import numpy as np
import zeroulp

WIDTH, HIDDEN, HEADS, LENGTH, PROMPT = 256, 512, 2, 48, 40
DEPTH = WIDTH // HEADS
RECIPE = "deepgemm.1d2d"


class Layer:
    """The weights, and what is computed of each token, wherever it stands."""

    def __init__(self, convention):
        rng = np.random.default_rng(0)

        def quantized(n, k):
            w = rng.standard_normal((n, k)) / np.sqrt(k)
            return zeroulp.quantize(w.astype(np.float32), "e4m3", "128x128",
                                    "vllm")

        self.qkv = quantized(3 * WIDTH, WIDTH)
        self.out = quantized(WIDTH, WIDTH)
        self.gate_up = quantized(2 * HIDDEN, WIDTH)
        self.down = quantized(WIDTH, HIDDEN)
        self.gain = bf16(np.ones(WIDTH))
        self.cosines, self.sines = zeroulp.rope_table(DEPTH, LENGTH)
        self.by = {"convention": convention, "source": "bf16"}

    def queries_keys_values(self, x, positions):
        _, _, q = zeroulp.rms_norm(x, self.gain, **self.by)
        rows = zeroulp.gemm(q, self.qkv, RECIPE, output="bf16")
        queries, keys, values = (np.ascontiguousarray(part)
                                 for part in np.split(rows, 3, axis=1))
        table = self.cosines[positions], self.sines[positions]
        return (zeroulp.rope(queries, *table, heads=HEADS),
                zeroulp.rope(keys, *table, heads=HEADS), values)

    def after_attention(self, x, o):
        q = zeroulp.quantize(o, "e4m3", "1x128", **self.by)
        x = added(x, zeroulp.gemm(q, self.out, RECIPE, output="bf16"))
        _, _, q = zeroulp.rms_norm(x, self.gain, **self.by)
        rows = zeroulp.gemm(q, self.gate_up, RECIPE, output="bf16")
        _, q = zeroulp.swiglu(rows[:, :HIDDEN], rows[:, HIDDEN:], **self.by)
        return added(x, zeroulp.gemm(q, self.down, RECIPE, output="bf16"))


def added(x, y):
    return bf16(zeroulp.decode(x, "bf16") + zeroulp.decode(y, "bf16"))


def bf16(x):
    return zeroulp.encode(x.astype(np.float32), "bf16")


def train(layer, x):
    """All tokens of all sequences, [sequences, LENGTH, WIDTH], at once."""
    rows = x.reshape(-1, WIDTH)
    positions = np.tile(np.arange(LENGTH), len(x))
    q, k, v = layer.queries_keys_values(rows, positions)
    o = zeroulp.attention(q, k, v, HEADS, LENGTH).o
    return layer.after_attention(rows, o).reshape(x.shape)


class Sampler:
    """Some tokens a step, of some sequences; keys and values are kept."""

    def __init__(self, layer, x):
        self.layer, self.x, self.y = layer, x, np.zeros_like(x)
        self.cache = [([], []) for _ in x]

    def step(self, tokens):
        """`tokens` are pairs of sequence and position, each sequence's in
        order."""
        places = tuple(np.array(tokens).T)
        rows = self.x[places]
        q, k, v = self.layer.queries_keys_values(rows, places[1])
        o = np.zeros_like(rows)
        for i, (sequence, position) in enumerate(tokens):
            keys, values = self.cache[sequence]
            keys.append(k[i])
            values.append(v[i])
            # The queries of the tokens before are gone: nothing asks for them.
            queries = np.zeros_like(np.array(keys))
            queries[position] = q[i]
            o[i] = zeroulp.attention(queries, np.array(keys), np.array(values),
                                     HEADS).o[position]
        self.y[places] = self.layer.after_attention(rows, o)


def sample(layer, x):
    sampler = Sampler(layer, x)
    for first in range(0, PROMPT, 16):  # the first sequence's prompt, in chunks
        sampler.step([(0, i) for i in range(first, min(first + 16, PROMPT))])
    for i in range(LENGTH):  # the second from its start, the first joins late
        tokens = [(1, i)]
        if i >= PROMPT:
            tokens.append((0, i))
        sampler.step(tokens)
    return sampler.y


def main():
    x = bf16(np.random.default_rng(1).standard_normal((2, LENGTH, WIDTH)))
    convention = sys.argv[1] if len(sys.argv) > 1 else "vllm"
    results = {"trainer": train(Layer("vllm"), x),
               "sampler": sample(Layer(convention), x)}
    for name, y in results.items():
        print(f"{name} {hashlib.sha256(y.tobytes()).hexdigest()}")
    print(zeroulp.compare(results["sampler"], results["trainer"], "bf16"))

    # NumPy's product in FP32, whose order of additions may follow the shape.
    rng = np.random.default_rng(2)
    a = rng.standard_normal((96, WIDTH)).astype(np.float32)
    b = rng.standard_normal((3 * WIDTH, WIDTH)).astype(np.float32)
    whole = a @ b.T
    other = sum(bool((a[i:i + 1] @ b.T != whole[i]).any()) for i in range(len(a)))
    print(f"NumPy in FP32: {other} of {len(a)} rows have other bits alone")
    return 0 if results["trainer"].tobytes() == results["sampler"].tobytes() else 1


if __name__ == "__main__":
    sys.exit(main())
