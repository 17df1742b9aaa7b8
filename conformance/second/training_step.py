"""A training step to the bit, from the specification alone: clauses N19 to N24, and N31.

    python training_step.py --size tiny --arm full --steps 3 --shards 1 --data corpus.bin [--digests FILE.csv]
"""
import argparse
import csv
import hashlib
import math
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

import functions as f
from arithmetic import (BF16, BLOCK, E4M3, E5M2, E5M6, F32, HOPPER_BF16, HOPPER_FP8, MX_TILE, PLAIN, TENSOR, TILE, Storage,
                        Sums, bf, codes_of, gemm, product_bf16, retile, sequential, store)

VOCABULARY = 256
PLAIN_N, ROPE_N, VALUE_N = 128, 64, 128          # a head's elements without and with position, its values
HEAD_N = PLAIN_N + ROPE_N


@dataclass(frozen=True)
class Size:
    """The sizes of a model and of a step (N19)."""
    width: int
    layers: int
    dense_layers: int
    heads: int
    rank: int
    dense_hidden: int
    experts: int
    top: int
    hidden: int
    shared: int
    length: int
    sequences: int                               # a step, of all shards
    modules: int = 0                             # of multi-token prediction (N31): none or one

    @property
    def all_layers(self):
        """The model's, then that of the module (N31 e)."""
        return range(self.layers + self.modules)

    def prefix(self, layer):
        """Of the names of a layer's tensors."""
        return f"layer{layer}." if layer < self.layers else "mtp."

    @property
    def qkv_columns(self):
        """N20 (a): without the zeros."""
        return self.heads * HEAD_N + self.rank + ROPE_N


SIZES = {
    "tiny": Size(128, 2, 1, 2, 128, 128, 4, 2, 128, 1, 96, 2),
    "T": Size(256, 2, 1, 2, 128, 512, 4, 2, 128, 1, 128, 8),
}
SIZES.update({name + "+mtp:1": replace(size, modules=1) for name, size in SIZES.items()})
NORMS = "norm", "norm1", "norm2", "norm_h", "norm_next"
LAMBDA = F32(0.3)                                # N31 (e)


# ---- arms (N23) -----------------------------------------------------------------------------------

@dataclass(frozen=True)
class Rule:
    """N22: how a linear stores its tensors, and the sums of its three products."""
    x: Storage
    w: Storage
    dy: Storage
    fprop: Sums
    dgrad: Sums
    wgrad: Sums


@dataclass(frozen=True)
class Arm:
    """N23: the rules of an arm."""
    linear: Rule
    expert_up: Rule
    expert_down: Rule
    head: Rule
    attention: Storage                           # the attention cache
    swiglu: Storage                              # SwiGLU's cache


def _rule(x, w, dy, fprop, backward=None):
    """A rule whose Dgrad and Wgrad have the sums `backward`, or those of Fprop."""
    return Rule(x, w, dy, fprop, backward or fprop, backward or fprop)


def arm_of(text):
    """N23: an arm, or one with other scales, NAME+linear.x.scale:fp32+dispatched:fp32 for example.

    Powers of two hide which of two roundings came first; FP32 scales show it."""
    name, *fields = text.split("+")
    arm = _named(name)
    for field in fields:
        key, value = field.split(":")
        pow2 = {"fp32": False, "pow2": True}[value]
        places = {"dispatched": [("expert_up", "x"), ("expert_down", "dy")]}.get(key)
        if places is None:
            tensor = {f"linear.{t}.scale": t for t in ("x", "w", "dy")}[key]
            places = [(rule, tensor) for rule in ("linear", "expert_up", "expert_down")
                      if (rule, tensor) not in (("expert_up", "x"), ("expert_down", "dy"))]
        for rule, tensor in places:
            old = getattr(arm, rule)
            arm = replace(arm, **{rule: replace(old, **{tensor: replace(getattr(old, tensor), pow2=pow2)})})
    return arm


def _named(name):
    """N23."""
    bf16 = _rule(PLAIN, PLAIN, PLAIN, Sums(HOPPER_BF16))
    if name in ("bf16", "bf16_split_k"):
        if name == "bf16_split_k":
            bf16 = _rule(PLAIN, PLAIN, PLAIN, Sums(HOPPER_BF16, splits=2))
        return Arm(bf16, bf16, bf16, bf16, PLAIN, Storage(BF16, TILE, True))
    promoted, unpromoted = Sums(HOPPER_FP8, 128), Sums(HOPPER_FP8)
    if name in ("tensor", "tensor_unpromoted", "te"):
        one = Storage(E4M3, TENSOR)
        rule = {"tensor": _rule(one, one, one, promoted), "tensor_unpromoted": _rule(one, one, one, unpromoted),
                "te": _rule(one, one, one, unpromoted, promoted)}[name]
        return Arm(rule, rule, rule, bf16, one, one)
    if name in ("te_blockwise", "mx"):
        mx, kept = name == "mx", Storage(BF16, TILE, True)
        x = Storage(E4M3, MX_TILE if mx else TILE, True, True)
        w, dy = x if mx else Storage(E4M3, BLOCK, True), replace(x, columnwise=False)
        rule = _rule(x, w, dy, Sums(HOPPER_FP8, 32) if mx else promoted)
        return Arm(rule, rule, rule, bf16, PLAIN, kept)
    tile = Storage(E4M3, TILE)
    dy = {"full": tile, "hybrid": Storage(E5M2, TILE), "block_gradients": Storage(E4M3, BLOCK)}[name]
    rule = _rule(tile, Storage(E4M3, BLOCK), dy, promoted)
    return Arm(rule, replace(rule, x=replace(rule.x, pow2=True)), replace(rule, dy=replace(dy, pow2=True)), bf16,
               Storage(E5M6, TILE, True), tile)


ARMS = ("bf16", "bf16_split_k", "full", "tensor", "tensor_unpromoted", "te", "hybrid", "block_gradients",
        "te_blockwise", "mx")


# ---- parameters and data (N24) ------------------------------------------------------------------------

def parameters(size, seed):
    """N24 (b): names and FP32 values, in order."""
    d, out = size.width, {}

    def normal(name, rows, columns, deviation=None, zeros=0):
        deviation = 1.0 / math.sqrt(columns) if deviation is None else deviation
        w = f.normal(seed, len(out), rows, columns, deviation)
        out[name] = np.concatenate([w, np.zeros((zeros, columns), F32)])

    def norm(name, n):
        out[name] = np.ones(n, F32)

    def feed(name, hidden):
        normal(name + ".up", 2 * hidden, d)
        normal(name + ".down", d, hidden)

    normal("embedding", VOCABULARY, d, 0.5)
    for layer in size.all_layers:
        p = size.prefix(layer)
        if layer == size.layers:                 # N31 (e)
            norm("mtp.norm_h", d)
            norm("mtp.norm_next", d)
            normal("mtp.project", d, 2 * d)
        norm(p + "norm1", d)
        normal(p + "qkv_a", size.qkv_columns, d, zeros=-size.qkv_columns % 128)
        norm(p + "kv_norm", size.rank)
        normal(p + "kv_b", size.heads * (PLAIN_N + VALUE_N), size.rank)
        normal(p + "out", d, size.heads * VALUE_N)
        norm(p + "norm2", d)
        if layer < size.dense_layers:
            feed(p + "dense", size.dense_hidden)
        else:
            normal(p + "router", size.experts, d)
            feed(p + "shared", size.shared * size.hidden)
            for e in range(size.experts):
                feed(f"{p}expert{e}", size.hidden)
    norm("last_norm", d)
    normal("head", VOCABULARY, d)
    return out


class Windows:
    """N24 (c): the sequences of a run."""

    def __init__(self, data, size, seed):
        self.data, self.size = data, size
        end = len(data) - min(2 ** 22, len(data) // 8)
        self.windows = (end - 1) // size.length
        r, n = f.Rng(seed, 0xDA7A), min(self.windows, 2 ** 31 - 1)
        self.a = 2 * r.below(n) + 1
        while math.gcd(self.a, self.windows) != 1:
            self.a = 2 * r.below(n) + 1
        self.c = r.below(n)

    def sequence(self, step, s):
        """The bytes of sequence s of step `step` (from 0), one more than its length."""
        w = (self.a * ((step * self.size.sequences + s) % self.windows) + self.c) % self.windows
        return np.frombuffer(self.data, np.uint8, self.size.length + 1, self.size.length * w).astype(np.int64)


# ---- linear and feed (N22, N20 g, N21 c) -------------------------------------------------------------------

class Linear:
    """N22: the three products of W under a rule."""

    def __init__(self, w, rule):
        self.rule, self.w = rule, store(w, rule.w)

    def forward(self, x):
        """Y in FP32 and what is kept of x."""
        kept = store(x, self.rule.x)
        return gemm(kept, self.w, self.rule.fprop), kept

    def dgrad(self, dy):
        """N22 (b): dX of dY stored by W's codes, transposed (W6)."""
        return bf(gemm(store(dy, self.rule.dy), self.w.transposed(), self.rule.dgrad))

    def wgrad(self, dy, x_transposed):
        """dW of dY and X^T, stored."""
        return gemm(store(np.ascontiguousarray(dy.T), self.rule.dy), x_transposed, self.rule.wgrad)

    def kept_transposed(self, kept):
        """N22 (d), (e): X^T of what the forward pass kept."""
        if kept.columnwise is not None:
            return kept.columnwise
        if kept.storage.groups == self.rule.x.groups == TILE:
            return retile(kept, self.rule.x.fmt)
        return kept.transposed() if kept.storage == self.rule.x else self.anew_transposed(kept.decoded())

    def anew_transposed(self, x):
        """N22 (d): X^T of down: its values transposed, stored anew."""
        return store(np.ascontiguousarray(x.T), replace(self.rule.x, columnwise=False))


class Feed:
    """N20 (g), N21 (c)."""

    def __init__(self, up, down, up_rule, down_rule, cache):
        self.up, self.down, self.cache = Linear(up, up_rule), Linear(down, down_rule), cache

    def forward(self, x):
        """N20 (g); no rows give none."""
        if len(x) == 0:
            return x
        u, self.kept = self.up.forward(x)
        u = bf(u)
        half = u.shape[1] // 2
        g, u = np.ascontiguousarray(u[:, :half]), np.ascontiguousarray(u[:, half:])
        self.g, self.u = store(g, self.cache), store(u, self.cache)
        return bf(self.down.forward(f.swiglu(g, u))[0])

    def backward(self, dy):
        """dx, dW of up, dW of down."""
        if len(dy) == 0:
            return dy, *(np.zeros(layer.w.values.shape, F32) for layer in (self.up, self.down))
        dh = self.down.dgrad(dy)
        h, dg, du = f.swiglu_backward(self.g.decoded(), self.u.decoded(), dh)
        d_down = self.down.wgrad(dy, self.down.anew_transposed(h))
        d_up_out = np.concatenate([dg, du], 1)
        d_up = self.up.wgrad(d_up_out, self.up.kept_transposed(self.kept))
        return self.up.dgrad(d_up_out), d_up, d_down


# ---- a pass of a shard (N19 to N21) ---------------------------------------------------------------------------

class Pass:
    """N19 to N21: forward and backward of one shard. `trace(name, array, kind)` sees its tensors."""

    def __init__(self, size, arm, weights, biases, trace):
        self.size, self.arm, self.w, self.biases, self.trace = size, arm, weights, biases, trace
        self.factor = F32(1.0 / math.sqrt(HEAD_N))                                               # E8
        self.gradients = {}
        self.experts = {}

    def trace_stored(self, name, stored):
        """Codes, and scales where there are any."""
        self.trace(name + ".codes", stored.codes(), "u16")
        if stored.scales is not None:
            self.trace(name + ".scales", stored.scales, "f32")

    def run(self, inputs, targets, all_tokens):
        """Losses; gradients lie in self.gradients."""
        w = self.w
        x = bf(w["embedding"][inputs])                                                           # N19
        self.trace("x", x, "bf16")
        layers = [{} for _ in self.size.all_layers]
        for layer in range(self.size.layers):
            x = self.layer_forward(layer, x, layers[layer])
        factor = F32(1) / F32(all_tokens)
        losses, dx = self.head("", x, targets, factor)
        self.trace("dx", dx, "bf16")
        if self.size.modules:
            dx, d_next = self.module(x, targets, LAMBDA * factor, dx, layers[-1])
        for layer in reversed(range(self.size.layers)):
            dx = self.layer_backward(layer, dx, layers[layer])
        self.add_gradient("embedding", self.d_embedding(inputs, dx))
        if self.size.modules:
            self.add_gradient("embedding", d_next)
        for name in w:
            self.trace("gradient." + name, self.gradients[name], "f32")
        return losses

    def head(self, p, x, targets, factor):
        """N20 (h), N21 (a): losses and dx of the model, or of a module (N31 b, d), whose gradients are added."""
        w, head = self.w, Linear(self.w["head"], self.arm.head)
        logits, kept = head.forward(f.rms_norm(x, w["last_norm"]))
        self.trace(p + "logits", logits, "f32")
        losses, d_logits = f.cross_entropy(logits, targets, factor)
        self.trace(p + "losses", losses, "f32")
        self.trace(p + "dlogits", d_logits, "bf16")
        self.add_gradient("head", head.wgrad(d_logits, head.kept_transposed(kept)))
        dx, d_norm = f.rms_norm_backward(head.dgrad(d_logits), x, w["last_norm"])
        self.add_gradient("last_norm", d_norm)
        return losses, dx

    def add_gradient(self, name, g):
        """N31 (d): the first one as it is."""
        self.gradients[name] = self.gradients[name] + g if name in self.gradients else g

    @staticmethod
    def d_embedding(tokens, dx):
        """N19."""
        hot = np.zeros((VOCABULARY, len(tokens)), F32)
        hot[tokens, np.arange(len(tokens))] = 1
        return product_bf16(hot, np.ascontiguousarray(dx.T))

    def module(self, h, ids, factor, dh, keep):
        """N31 of depth 1, forward and backward: dh is the gradient that h has; d(h), dE."""
        w, layer, d = self.w, self.size.layers, self.size.width
        targets = np.append(ids[1:], -1)                                                         # (a)
        targets[self.size.length - 1::self.size.length] = -1
        following = bf(w["embedding"][ids])                                                      # (b)
        x = np.concatenate([f.rms_norm(h, w["mtp.norm_h"]), f.rms_norm(following, w["mtp.norm_next"])], 1)
        self.trace("mtp.joined", x, "bf16")
        M = Linear(w["mtp.project"], self.arm.linear)
        y, kept = M.forward(x)
        y = bf(y)
        self.trace("mtp.project", y, "bf16")
        _, dy = self.head("mtp.", self.layer_forward(layer, y, keep), targets, factor)           # (c)
        dy = self.layer_backward(layer, dy, keep)                                                # (d)
        self.gradients["mtp.project"] = M.wgrad(dy, M.kept_transposed(kept))
        dx = M.dgrad(dy)
        self.trace("mtp.d_joined", dx, "bf16")
        dh, self.gradients["mtp.norm_h"] = f.rms_norm_backward(np.ascontiguousarray(dx[:, :d]), h, w["mtp.norm_h"], dh)
        d_next, self.gradients["mtp.norm_next"] = f.rms_norm_backward(np.ascontiguousarray(dx[:, d:]), following,
                                                                      w["mtp.norm_next"])
        self.trace("mtp.d_h", dh, "bf16")
        return dh, self.d_embedding(ids, d_next)

    def heads(self):
        """Sequences and heads, as slices of tokens and indices."""
        for start in range(0, self.tokens, self.size.length):
            for h in range(self.size.heads):
                yield slice(start, start + self.size.length), h

    def layer_forward(self, layer, x, keep):
        """N20 (a) to (f)."""
        size, arm, w, p = self.size, self.arm, self.w, self.size.prefix(layer)
        self.tokens, H = len(x), size.heads
        # (a)
        y = f.rms_norm(x, w[p + "norm1"])
        qkv_a = Linear(w[p + "qkv_a"], arm.linear)
        a, kept_y = qkv_a.forward(y)
        a = bf(a)
        self.trace(p + "norm1", y, "bf16")
        self.trace_stored(p + "norm1", kept_y)
        self.trace(p + "qkv_a", a, "bf16")
        # (b)
        q_end, latent_end = H * HEAD_N, H * HEAD_N + size.rank
        latent = np.ascontiguousarray(a[:, q_end:latent_end])
        kv_b = Linear(w[p + "kv_b"], arm.linear)
        g, kept_latent = kv_b.forward(f.rms_norm(latent, w[p + "kv_norm"]))
        g = bf(g)
        self.trace(p + "kv_b", g, "bf16")
        # (c)
        q = a[:, :q_end].reshape(-1, H, HEAD_N).copy()
        q[..., PLAIN_N:] = f.rope(q[..., PLAIN_N:], size.length)
        g = g.reshape(-1, H, PLAIN_N + VALUE_N)
        k = np.empty_like(q)
        k[..., :PLAIN_N] = g[..., :PLAIN_N]
        k[..., PLAIN_N:] = f.rope(a[:, latent_end:latent_end + ROPE_N], size.length)[:, None]
        v = g[..., PLAIN_N:].copy()
        o = np.empty_like(v)
        for s, h in self.heads():
            o[s, h] = f.attention(q[s, h], k[s, h], v[s, h], self.factor)
        o = o.reshape(len(x), -1)
        cache = store(o, arm.attention)
        self.trace(p + "attention", o, "bf16")
        self.trace_stored(p + "attention", cache)
        # (d)
        out = Linear(w[p + "out"], arm.linear)
        middle = bf(x + bf(out.forward(o)[0]))
        self.trace(p + "middle", middle, "bf16")
        # (e)
        y2 = f.rms_norm(middle, w[p + "norm2"])
        self.trace(p + "norm2", y2, "bf16")
        keep.update(x=x, qkv_a=qkv_a, kept_y=kept_y, latent=latent, kv_b=kv_b, kept_latent=kept_latent, q=q, k=k, v=v,
                    cache=cache, out=out, middle=middle, y2=y2)
        if layer < size.dense_layers:
            keep["dense"] = Feed(w[p + "dense.up"], w[p + "dense.down"], arm.linear, arm.linear, arm.swiglu)
            z = keep["dense"].forward(y2)
        else:
            z = self.experts_forward(layer, y2, keep)
        self.trace(p + "feed", z, "bf16")
        x = bf(middle + z)                                                                        # (f)
        self.trace(p + "x", x, "bf16")
        return x

    def experts_forward(self, layer, y2, keep):
        """N20 (e): router, experts, combine."""
        size, arm, w, p = self.size, self.arm, self.w, self.size.prefix(layer)
        logits = sequential(y2, w[p + "router"])
        s, experts, t, weights = f.route(logits, self.biases[layer], size.top)
        self.experts[layer] = experts
        self.trace(p + "router", logits, "f32")
        self.trace(p + "experts", experts, "i32")
        self.trace(p + "weights", weights, "f32")
        tokens, slots, ends = f.plan(experts, size.experts)
        feeds = [Feed(w[p + n + ".up"], w[p + n + ".down"], arm.expert_up, arm.expert_down, arm.swiglu)
                 for n in [f"expert{e}" for e in range(size.experts)] + ["shared"]]
        rows = f.gather(y2, tokens)
        outs = np.concatenate([feeds[e].forward(rows[ends[e]:ends[e + 1]]) for e in range(size.experts)])
        shared = feeds[-1].forward(y2)
        self.trace(p + "expert_rows", np.concatenate([outs, shared]), "bf16")
        keep.update(s=s, experts=experts, t=t, weights=weights, tokens=tokens, slots=slots, ends=ends, feeds=feeds,
                    outs=outs)
        one = np.ones((len(y2), 1), F32)
        return f.combine([outs[slots[:, k]] for k in range(size.top)] + [shared],
                         [weights[:, k:k + 1] for k in range(size.top)] + [one])

    def experts_backward(self, layer, dy, keep):
        """N21 (b): d(y2)."""
        size, p, feeds = self.size, self.size.prefix(layer), keep["feeds"]
        weights, slots, ends = keep["weights"], keep["slots"], keep["ends"]
        d_rows = np.zeros_like(keep["outs"])                                                     # N14
        d_weights = np.empty_like(weights)
        for k in range(size.top):
            d_rows[slots[:, k]] = bf(weights[:, k:k + 1] * dy)
            d_weights[:, k] = f.row_dot(dy, keep["outs"][slots[:, k]])
        self.trace(p + "d_rows", d_rows, "bf16")
        self.trace(p + "d_weights", d_weights, "f32")
        parts = []
        for e in range(size.experts):
            n = f"{p}expert{e}"
            dx, self.gradients[n + ".up"], self.gradients[n + ".down"] = feeds[e].backward(d_rows[ends[e]:ends[e + 1]])
            parts.append(dx)
        parts = np.concatenate(parts)
        shared, self.gradients[p + "shared.up"], self.gradients[p + "shared.down"] = feeds[-1].backward(dy)
        feed = f.combine([parts[slots[:, k]] for k in range(size.top)] + [shared])
        self.trace(p + "d_feed", feed, "bf16")
        dz = f.route_backward(d_weights, keep["s"], keep["experts"], keep["t"], weights)
        self.trace(p + "d_router", dz, "f32")
        router = self.w[p + "router"]
        self.gradients[p + "router"] = sequential(np.ascontiguousarray(dz.T), np.ascontiguousarray(keep["y2"].T), 1024)
        return bf(feed + sequential(dz, np.ascontiguousarray(router.T)))

    def layer_backward(self, layer, dx, keep):
        """N21."""
        size, w, p, H = self.size, self.w, self.size.prefix(layer), self.size.heads
        if layer < size.dense_layers:
            d_y2, self.gradients[p + "dense.up"], self.gradients[p + "dense.down"] = keep["dense"].backward(dx)
        else:
            d_y2 = self.experts_backward(layer, dx, keep)
        self.trace(p + "d_norm2", d_y2, "bf16")
        d_middle, self.gradients[p + "norm2"] = f.rms_norm_backward(d_y2, keep["middle"], w[p + "norm2"], dx)
        self.trace(p + "d_middle", d_middle, "bf16")
        # (d)
        out, cache = keep["out"], keep["cache"]
        d_o = out.dgrad(d_middle)
        self.gradients[p + "out"] = out.wgrad(d_middle, out.kept_transposed(cache))
        self.trace(p + "d_attention", d_o, "bf16")
        d_o = d_o.reshape(-1, H, VALUE_N)
        kept_o = cache.decoded().reshape(d_o.shape)
        q, k, v = keep["q"], keep["k"], keep["v"]
        dq, dk, dv = np.empty_like(q), np.empty_like(k), np.empty_like(v)
        for s, h in self.heads():
            dq[s, h], dk[s, h], dv[s, h] = f.attention_backward(q[s, h], k[s, h], v[s, h], self.factor,
                                                                d_o[s, h], kept_o[s, h])
        for name, x in (("d_q", dq), ("d_k", dk), ("d_v", dv)):
            self.trace(p + name, x, "bf16")
        key = np.zeros((len(dk), ROPE_N), F32)
        for h in range(H):
            key = key + dk[:, h, PLAIN_N:]
        key = f.rope(bf(key), size.length, backward=True)
        dq[..., PLAIN_N:] = f.rope(dq[..., PLAIN_N:], size.length, backward=True)
        d_g = np.concatenate([dk[..., :PLAIN_N], dv], 2).reshape(len(dk), -1)
        kv_b = keep["kv_b"]
        self.gradients[p + "kv_b"] = kv_b.wgrad(d_g, kv_b.kept_transposed(keep["kept_latent"]))
        d_latent, self.gradients[p + "kv_norm"] = f.rms_norm_backward(kv_b.dgrad(d_g), keep["latent"], w[p + "kv_norm"])
        zeros = np.zeros((len(dk), -size.qkv_columns % 128), F32)
        d_a = np.concatenate([dq.reshape(len(dq), -1), d_latent, key, zeros], 1)
        self.trace(p + "d_qkv_a", d_a, "bf16")
        qkv_a = keep["qkv_a"]
        self.gradients[p + "qkv_a"] = qkv_a.wgrad(d_a, qkv_a.kept_transposed(keep["kept_y"]))
        dx, self.gradients[p + "norm1"] = f.rms_norm_backward(qkv_a.dgrad(d_a), keep["x"], w[p + "norm1"], d_middle)
        self.trace(p + "dx", dx, "bf16")
        return dx


# ---- a run (N24) --------------------------------------------------------------------------------------------------

def to_bytes(x, kind):
    """Little-endian bytes of a traced or stored tensor."""
    if kind == "bf16":
        return codes_of(x, BF16).astype("<u2").tobytes()
    return np.ascontiguousarray(x).astype({"u16": "<u2", "f32": "<f4", "i32": "<i4"}[kind]).tobytes()


class Run:
    """N24: parameters, moments, biases, steps."""

    BETA1, BETA2, EPS, DECAY, CLIP, PEAK, LAST, SPEED = 0.9, 0.95, 1e-8, 0.1, 1.0, 3e-3, 0.1, F32(0.001)

    def __init__(self, size, arm, data, steps, shards, seed=1, trace=lambda step, name, data: None):
        self.size, self.arm, self.steps, self.shards = SIZES[size], arm_of(arm), steps, shards
        self.windows = Windows(data, self.size, seed)
        self.trace = trace
        self.w = parameters(self.size, seed)
        self.m = {n: np.zeros_like(x) for n, x in self.w.items()}
        self.v = {n: np.zeros_like(x) for n, x in self.w.items()}
        self.biases = {layer: np.zeros(self.size.experts, F32) for layer in self.size.all_layers[self.size.dense_layers:]}
        self.done = 0
        self.warmup = min(10, steps)
        self.hold = max(steps - steps // 4, self.warmup)

    def step(self):
        """N24 (d): the mean loss, the norm and the rate."""
        size, t = self.size, self.done + 1
        sequences = [self.windows.sequence(self.done, s) for s in range(size.sequences)]
        each = size.sequences // self.shards
        passes, losses = [], []
        for shard in range(self.shards):
            own = sequences[shard * each:(shard + 1) * each]
            passes.append(Pass(size, self.arm, self.w, self.biases,
                               lambda name, x, kind: self.trace(t, name, to_bytes(x, kind))))
            losses.append(passes[-1].run(np.concatenate([s[:-1] for s in own]), np.concatenate([s[1:] for s in own]),
                                         size.sequences * size.length))
        gradients = {n: f.shard_sum([p.gradients[n] for p in passes]) for n in self.w}            # N16
        norm = f.gradient_norm(gradients.values())                                               # N17
        factor = F32(self.CLIP / norm) if norm > self.CLIP else F32(1)
        rate = f.rate_of(t, self.PEAK, self.warmup, self.hold, self.steps, self.LAST)            # N18
        for n in self.w:
            decay = 0.0 if n.endswith(NORMS) else self.DECAY
            self.w[n], self.m[n], self.v[n] = f.adamw(self.w[n], self.m[n], self.v[n], gradients[n] * factor, t, rate,
                                                      self.BETA1, self.BETA2, self.EPS, decay)
        for layer, bias in self.biases.items():                                                      # N12
            counts = sum(np.bincount(p.experts[layer].reshape(-1), minlength=size.experts) for p in passes)
            share = counts * size.experts
            self.biases[layer] = np.where(share > counts.sum(), bias - self.SPEED,
                                      np.where(share < counts.sum(), bias + self.SPEED, bias))
        self.done = t
        losses = np.concatenate(losses)
        return f.loss_sum(losses) / len(losses), norm, rate

    def digest(self):
        """N24 (e)."""
        tensors = [to_bytes(x, "f32") for x in self.w.values()]
        tensors += [to_bytes(x, "bf16") for moments in (self.m, self.v) for x in moments.values()]
        tensors += [to_bytes(x, "f32") for x in self.biases.values()] + [struct.pack("<Q", self.done)]
        text = "".join(hashlib.sha256(data[i:i + 2 ** 20]).hexdigest()
                       for data in tensors for i in range(0, len(data), 2 ** 20))
        return hashlib.sha256(text.encode()).hexdigest()


def compare(path, traced, steps):
    """Compare traced digests with a recorded CSV; True if all are equal."""
    seen, equal, first, total = Counter(), 0, None, 0
    with open(path) as file:
        for row in csv.reader(file):
            if not row or not row[0].isdigit() or int(row[0]) > steps:
                continue
            key = (int(row[0]), row[1])
            seen[key] += 1
            found = traced.get(key + (seen[key],))
            total += 1
            if found == (int(row[2]), row[3]):
                equal += 1
            elif first is None:
                first = (key, seen[key], row[2], "not traced" if found is None else found[0])
    print(f"tensors: {equal} of {total} recorded are equal; {len(traced)} were traced")
    if first:
        (step, name), shard, size, own = first
        print(f"first difference: step {step}, tensor {name}, pass {shard} (recorded bytes {size}, here {own})")
    return first is None and total == len(traced)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--arm", default="full", help=", ".join(ARMS) + "; with other scales, as arm_of() says")
    parser.add_argument("--steps", type=int, default=3, help="steps of the run: its schedule")
    parser.add_argument("--stop", type=int, help="stop after so many steps")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data")
    parser.add_argument("--digests", help="a recorded CSV: step,tensor,bytes,sha256")
    parser.add_argument("--arms", action="store_true", help="list the arms, and stop")
    args = parser.parse_args()
    if args.arms:
        print(*ARMS)
        return
    if not args.data:
        parser.error("--data is needed")
    try:
        arm_of(args.arm)
    except (KeyError, ValueError):
        parser.error(f"--arm {args.arm}: use one of {', '.join(ARMS)}; +linear.x.scale:fp32, for example, changes a scale")
    traced, count = {}, Counter()

    def trace(step, name, data):
        count[step, name] += 1
        traced[step, name, count[step, name]] = len(data), hashlib.sha256(data).hexdigest()

    with open(args.data, "rb") as file:
        data = file.read()
    run = Run(args.size, args.arm, data, args.steps, args.shards, args.seed, trace)
    print(f"size {args.size}, arm {args.arm}, seed {args.seed}, data sha256:{hashlib.sha256(data).hexdigest()}\n")
    print(f"{'step':>6} {'loss':>10} {'norm':>10} {'rate':>10}  SHA-256 of the state after it")
    stop = args.stop or args.steps
    start = time.time()
    for _ in range(stop):
        loss, norm, rate = run.step()
        print(f"{run.done:6d} {loss:10.6f} {norm:10.4f} {rate:10.3e}  {run.digest()}", flush=True)
    print(f"\n{time.time() - start:.1f} s", file=sys.stderr)
    if args.digests and not compare(args.digests, traced, stop):
        sys.exit(1)


if __name__ == "__main__":
    main()
