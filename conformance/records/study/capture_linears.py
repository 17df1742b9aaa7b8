#!/usr/bin/env python3
"""Captures the operands of Linears of a model that it trains, on one GPU.

    python3 capture_linears.py DIR [--seconds 90] [--tokens 65536]
    zeroulp study --real DIR --out OUT

Four layers of DeepSeek-V2-Lite's shape (width 2048, latent attention, a dense
FFN, then 32 experts of which 6 and two shared ones are used, balanced by a bias
of the router), trained in BF16 with FP32 master weights on the bytes of the
Python sources that are installed. Then one batch of --tokens goes forward and
backward, and of some Linears

    Fprop  X by W      Dgrad  dY by W^T      Wgrad  dY^T by X^T

are kept: 512 rows of K elements each, BF16 as uint16. DIR/products.json names
them, for each with how far the rows' means are from 0 (|mean| / sigma, median
and largest), and what they were made by. torch's sums are not reproducible: the
study records each file's SHA-256.
"""
import argparse
import glob
import json
import os
import site
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, NOPE, ROPE, LATENT = 2048, 16, 128, 64, 512
DENSE, EXPERT, EXPERTS, TOP, LAYERS, LENGTH = 10944, 1408, 32, 6, 4, 1024
ROWS = 512


class Linear(nn.Module):
    """BF16 products of FP32 weights; what it read and dY, if it is to keep."""

    def __init__(self, n, k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, k) * k ** -0.5)
        self.keep, self.x, self.dy = False, None, None

    def forward(self, x):
        y = F.linear(x, self.weight.bfloat16())
        if self.keep:
            self.x = x.detach().reshape(-1, x.shape[-1])
            y.register_hook(self.take)
        return y

    def take(self, dy):
        self.dy = dy.detach().reshape(-1, dy.shape[-1])


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight,
                          1e-6).bfloat16()


def rotate(x):
    """Rotary positions of the last axis; the one before it is time."""
    half = x.shape[-1] // 2
    step = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angle = torch.arange(x.shape[-2], device=x.device)[:, None] * step
    a, b = x.float().chunk(2, -1)
    sin, cos = angle.sin(), angle.cos()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).bfloat16()


class Attention(nn.Module):
    """Multi-head latent attention, its queries uncompressed."""

    def __init__(self):
        super().__init__()
        self.q = Linear(HEADS * (NOPE + ROPE), WIDTH)
        self.kv_a = Linear(LATENT + ROPE, WIDTH)
        self.norm = Norm(LATENT)
        self.kv_b = Linear(HEADS * 2 * NOPE, LATENT)
        self.out = Linear(WIDTH, HEADS * NOPE)

    def forward(self, x):
        n, t, _ = x.shape

        def heads(y, count):
            return y.view(n, t, count, -1).transpose(1, 2)

        q_nope, q_rope = heads(self.q(x), HEADS).split([NOPE, ROPE], -1)
        latent, k_rope = self.kv_a(x).split([LATENT, ROPE], -1)
        k_nope, v = heads(self.kv_b(self.norm(latent)), HEADS).chunk(2, -1)
        k_rope = rotate(heads(k_rope, 1)).expand(-1, HEADS, -1, -1)
        o = F.scaled_dot_product_attention(
            torch.cat([q_nope, rotate(q_rope)], -1),
            torch.cat([k_nope, k_rope], -1), F.pad(v, (0, ROPE)),
            is_causal=True)[..., :NOPE]
        return self.out(o.transpose(1, 2).reshape(n, t, -1))


class Ffn(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.up = Linear(2 * hidden, WIDTH)
        self.down = Linear(WIDTH, hidden)

    def forward(self, x):
        gate, up = self.up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Parameter(torch.randn(EXPERTS, WIDTH) * WIDTH ** -0.5)
        self.register_buffer("bias", torch.zeros(EXPERTS))
        self.shared = Ffn(2 * EXPERT)
        self.each = nn.ModuleList(Ffn(EXPERT) for _ in range(EXPERTS))

    def forward(self, x):
        rows = x.reshape(-1, WIDTH)
        scores = F.linear(rows.float(), self.router).sigmoid()
        chosen = (scores + self.bias).topk(TOP, -1).indices
        weights = scores.gather(-1, chosen)
        weights = weights / weights.sum(-1, keepdim=True)
        order = chosen.flatten().argsort(stable=True)
        load = chosen.flatten().bincount(minlength=EXPERTS)
        counts = load.tolist()
        # Without an auxiliary loss: the bias follows the load.
        self.bias -= 1e-2 * torch.sign(load - load.float().mean())
        token = order // TOP
        parts = rows[token].split(counts)
        y = torch.cat([e(p) for e, p in zip(self.each, parts)])
        y = y * weights.flatten()[order, None].bfloat16()
        y = torch.zeros_like(rows).index_add(0, token, y)
        return self.shared(x) + y.view_as(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(256, WIDTH) * 0.02)
        self.norms = nn.ModuleList(Norm(WIDTH) for _ in range(2 * LAYERS + 1))
        self.attention = nn.ModuleList(Attention() for _ in range(LAYERS))
        self.ffn = nn.ModuleList([Ffn(DENSE)] +
                                 [Experts() for _ in range(LAYERS - 1)])
        self.head = Linear(256, WIDTH)

    def forward(self, tokens, targets):
        x = self.embedding.bfloat16()[tokens]
        for i in range(LAYERS):
            x = x + self.attention[i](self.norms[2 * i](x))
            x = x + self.ffn[i](self.norms[2 * i + 1](x))
        logits = self.head(self.norms[-1](x)).float()
        return F.cross_entropy(logits.view(-1, 256), targets.flatten())


def corpus():
    """The bytes of the Python sources of the packages, in their order."""
    files = sorted(f for folder in site.getsitepackages()
                   for f in glob.glob(folder + "/**/*.py", recursive=True))
    text, size = [], 0
    for name in files:
        with open(name, "rb") as f:
            text.append(f.read())
        size += len(text[-1])
        if size > 200 << 20:
            break
    return np.frombuffer(b"".join(text), np.uint8)


def kept(model):
    layers = {}
    for i in (0, LAYERS - 1):
        for name in ("q", "kv_b", "out"):
            layers["layer%d.%s" % (i, name)] = getattr(model.attention[i], name)
    last, name = model.ffn[-1], "layer%d" % (LAYERS - 1)
    ffns = {"layer0.ffn": model.ffn[0], name + ".shared": last.shared}
    ffns.update({"%s.expert%d" % (name, i): e
                 for i, e in enumerate(last.each)})
    for name, ffn in ffns.items():
        layers[name + ".up"], layers[name + ".down"] = ffn.up, ffn.down
    return layers


def without_idle_experts(layers):
    """Of the experts, only the one that most tokens came to."""
    experts = [n for n in layers if ".expert" in n]
    most = max(experts, key=lambda n: layers[n].x.shape[0]).rsplit(".", 1)[0]
    return {n: layer for n, layer in layers.items()
            if n not in experts or n.rsplit(".", 1)[0] == most}


def save(folder, name, x):
    """Writes the first rows of a matrix; how far their means are from 0."""
    x = x[:ROWS].contiguous()
    np.save(os.path.join(folder, name + ".npy"),
            x.view(torch.int16).cpu().numpy().view(np.uint16))
    f = x.float()
    away = f.mean(1).abs() / f.std(1).clamp_min(1e-30)
    return {"median": away.median().item(), "largest": away.max().item()}


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("folder")
    parse.add_argument("--seconds", type=float, default=90)
    parse.add_argument("--tokens", type=int, default=65536)
    args = parse.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    torch.manual_seed(1)
    data = torch.from_numpy(corpus().copy()).cuda()
    with torch.device("cuda"):
        model = Model()
    adam = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95),
                             weight_decay=0.1, fused=True)

    def batch(sequences):
        at = torch.randint(len(data) - LENGTH - 1, (sequences, 1),
                           device="cuda")
        text = data[at + torch.arange(LENGTH + 1, device="cuda")].long()
        return text[:, :-1], text[:, 1:]

    start, steps, loss = time.time(), 0, None
    while time.time() - start < args.seconds:
        for group in adam.param_groups:
            group["lr"] = 6e-4 * min(1, (steps + 1) / 50)
        loss = model(*batch(16))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        steps += 1
        if steps % 50 == 1:
            print("step %d: loss %.4f" % (steps, loss.item()), flush=True)
    print("step %d: loss %.4f" % (steps, loss.item()), flush=True)
    layers = kept(model)
    for layer in layers.values():
        layer.keep = True
    loss = model(*batch(args.tokens // LENGTH))
    loss.backward()
    products = []

    def add(name, which, a, b):
        if a.shape[1] < 128:
            return
        tag = "%s.%s.k%d" % (name, which, a.shape[1])
        products.append({
            "name": "%s %s K %d" % (name, which, a.shape[1]),
            "a": tag + ".a.npy", "b": tag + ".b.npy",
            "a_mean_over_sigma": save(args.folder, tag + ".a", a),
            "b_mean_over_sigma": save(args.folder, tag + ".b", b)})

    for name, layer in without_idle_experts(layers).items():
        w = layer.weight.detach().bfloat16()
        add(name, "fprop", layer.x, w)
        add(name, "dgrad", layer.dy, w.t())
        rows = layer.x.shape[0]
        for k in sorted({min(rows, 16384), rows}):
            add(name, "wgrad", layer.dy[:k].t(), layer.x[:k].t())
    with open(os.path.join(args.folder, "products.json"), "w") as f:
        json.dump(products, f, indent=1)
    with open(os.path.join(args.folder, "made.json"), "w") as f:
        json.dump({"torch": torch.__version__,
                   "device": torch.cuda.get_device_name(), "steps": steps,
                   "loss": loss.item(), "tokens": args.tokens,
                   "corpus_bytes": len(data)}, f)
    print("%d products, loss %.4f" % (len(products), loss.item()))


if __name__ == "__main__":
    main()
