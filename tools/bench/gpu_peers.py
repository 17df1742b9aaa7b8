#!/usr/bin/env python3
"""Times what PyTorch and Triton do of `zeroulp bench gpu`, on the same GPU.

    gpu_peers.py [--ours ./gpu.so] [--quick] [--json]

gpu_library.py says what makes gpu.so; with it our kernels run in the same
rounds, on the same inputs: copy, peer, ours, ours, peer, copy, twenty launches
each (in CUDA graphs: none of Python's time), memory rotated through more than
twice the L2, random-normal data, medians over the rounds, a ratio being one of
a round. x_copy is the copy's time over the peer's; the copy is PyTorch's and
reads half of the bytes that the peer must move. ours/peer is the peer's time
over ours, `rates` our bytes a second over its.

The quantizers make E4M3 of BF16 with an FP32 scale for each 1x128, by vLLM's
convention, though PyTorch's scales, which it multiplies by the reciprocal of
448, are an ulp off. Before anything is timed ours must have the bits of the
quotients, which PyTorch makes, too, if asked. The row quantize.1x128.zeroulp
has our own convention, other bits, beside Triton with vLLM's. SwiGLU and
RMSNorm, quantized in the same pass, are what torch.compile makes of them: not
the arithmetic of ours, so `differ`, the part of the codes that differ, is for
information.

AdamW is PyTorch's fused one on BF16 parameters: parameters, gradients and
moments are BF16, 14 bytes an element. It cannot keep FP32 master weights with
BF16 moments. Ours does, and writes a BF16 copy of them, 20 bytes an element: it
does more, and the ratios of times and of rates are two things.
"""

import argparse
import ctypes
import json
import statistics
import sys

import torch
import triton
import triton.language as tl

from gpu_library import (AdamwFactors, AdamwSettings, AdamwStep, Library,
                         Quantizer, RmsLayer, Swiglu, matrix_of,
                         quantized_of)

GROUP = 128
SHAPES = [(4096, 7168), (8192, 7168), (16384, 2048)]
EPS = 1e-6
ADAMW = {"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}


def quantize_by(x, largest):
    """Codes and scales, the latter amaxes divided by `largest`."""
    groups = x.view(-1, GROUP).float()
    amax = groups.abs().amax(1, keepdim=True)
    scale = amax.clamp(min=1e-10) / largest
    return (groups / scale).to(torch.float8_e4m3fn).view_as(x), scale


def quantize_eager(x):
    """As users write it: PyTorch multiplies by the reciprocal of 448."""
    return quantize_by(x, 448.0)


def quantize_exactly(x):
    """vLLM's convention, whose scales are quotients."""
    return quantize_by(x, torch.full((), 448.0, device=x.device))


TRIED = [(groups, warps) for groups in (8, 16, 32, 64) for warps in (4, 8)]
CONFIGS = [triton.Config({"GROUPS": g}, num_warps=w) for g, w in TRIED]


@triton.autotune(CONFIGS, key=["count"])
@triton.jit
def quantize_groups(x, codes, scales, count, GROUPS: tl.constexpr):
    """Each program quantizes GROUPS of the `count` groups of 128."""
    group = tl.program_id(0).to(tl.int64) * GROUPS + tl.arange(0, GROUPS)
    inside = group < count
    at = group[:, None] * 128 + tl.arange(0, 128)[None, :]
    value = tl.load(x + at, mask=inside[:, None], other=0).to(tl.float32)
    amax = tl.max(tl.abs(value), axis=1)
    scale = tl.maximum(amax, 1e-10) / 448.0
    code = (value / scale[:, None]).to(tl.float8e4nv)
    tl.store(codes + at, code, mask=inside[:, None])
    tl.store(scales + group, scale, mask=inside)


def quantize_triton(x):
    codes = torch.empty_like(x, dtype=torch.float8_e4m3fn)
    count = x.numel() // GROUP
    scales = torch.empty(count, 1, device=x.device)
    grid = lambda meta: (triton.cdiv(count, meta["GROUPS"]),)
    quantize_groups[grid](x, codes, scales, count)
    return codes, scales


QUANTIZERS = {
    "torch eager": quantize_eager,
    "torch.compile": torch.compile(quantize_eager, dynamic=False),
    "triton": quantize_triton,
}


@torch.compile(dynamic=False)
def swiglu(g, u):
    return quantize_eager(torch.nn.functional.silu(g) * u)


@torch.compile(dynamic=False)
def rms_norm(x, w):
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(1, keepdim=True) + EPS) * w.float()
    return quantize_eager(y.bfloat16())


class Ours(Library):
    """Our kernels: each function gives what launches one."""

    def quantizer(self, convention):
        return self.named(Quantizer, "quantizer_from_names", "bf16", "e4m3",
                          convention, "fp32", f"1x{GROUP}")

    def quantize(self, convention):
        how = self.quantizer(convention)
        return lambda x, *out: self.launcher(
            "cuda_quantize", how, matrix_of(x), quantized_of(*out), None)

    def swiglu(self, g, u, *out):
        layer = Swiglu(self.quantizer("vllm"), self.quantizer("vllm"))
        return self.launcher("cuda_swiglu_forward", layer, matrix_of(g),
                             matrix_of(u), None, quantized_of(*out), None,
                             None)

    def rms_norm(self, x, w, *out):
        bf16 = self.format("bf16")
        layer = RmsLayer(bf16, bf16, EPS, self.quantizer("vllm"))
        return self.launcher("cuda_rms_norm", layer, matrix_of(x),
                             matrix_of(w), None, None, quantized_of(*out))

    def adamw(self, g, m, v, w, copy):
        settings = AdamwSettings(ADAMW["lr"], *ADAMW["betas"], ADAMW["eps"],
                                 ADAMW["weight_decay"], 1000)
        factors = AdamwFactors()
        self.prepare("make_adamw_factors", settings, factors)()
        bf16 = self.format("bf16")
        return self.launcher("cuda_adamw", AdamwStep(factors, bf16, bf16, 0),
                             ctypes.c_uint64(0), ctypes.c_uint64(0),
                             *map(matrix_of, (g, m, v, w, copy)))


class Timer:
    """Rounds of launches beside a copy."""

    def __init__(self, quick):
        self.rounds, self.launches = (1, 2) if quick else (20, 20)
        self.l2 = torch.cuda.get_device_properties(0).L2_cache_size

    def capture(self, launch, sets):
        """A graph of the launches, which rotate through the sets."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for i in range(max(sets, 3)):
                launch(i % sets)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(self.launches):
                launch(i % sets)
        return graph

    def measure(self, players, size, sets):
        """Seconds of a copy of `size` bytes and of each player's launch(i), a
        value a round each."""
        bank = torch.randn(sets, 2, size // 4, device="cuda").bfloat16()
        copy = lambda i: bank[i, 1].copy_(bank[i, 0])
        graphs = [self.capture(launch, sets) for launch in (copy, *players)]
        order = graphs + graphs[::-1]
        seconds = []
        for _ in range(self.rounds):
            marks = [torch.cuda.Event(enable_timing=True)
                     for _ in range(len(order) + 1)]
            order[0].replay()  # not counted: the queue is full from here on
            marks[0].record()
            for mark, graph in zip(marks[1:], order):
                graph.replay()
                mark.record()
            marks[-1].synchronize()
            t = [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
            scale = 1e-3 / (2 * self.launches)
            both = [(a + b) * scale for a, b in zip(t, t[::-1])]
            seconds.append(both[:len(graphs)])
        return list(zip(*seconds))


def row_of(name, peer, shape, times, size, our_size):
    """`times`: of the copy, the peer and, if they run, ours."""
    copies, theirs, *ours = times
    ratios = [c / t for c, t in zip(copies, theirs)]
    row = {
        "name": name,
        "peer": peer,
        "size": "{}x{}".format(*shape),
        "value": statistics.median(ratios),
        "unit": "x copy",
        "min": min(ratios),
        "max": max(ratios),
        "runs": len(ratios),
        "bytes": size,
        "microseconds": 1e6 * statistics.median(theirs),
        "gb_per_s": 1e-9 * size / statistics.median(theirs),
        "copy_gb_per_s": 1e-9 * size / statistics.median(copies),
    }
    for mine in ours:
        ratios = [t / o for t, o in zip(theirs, mine)]
        row |= {
            "our_bytes": our_size,
            "our_microseconds": 1e6 * statistics.median(mine),
            "our_gb_per_s": 1e-9 * our_size / statistics.median(mine),
            "ours_over_peer": statistics.median(ratios),
            "ours_over_peer_min": min(ratios),
            "ours_over_peer_max": max(ratios),
            "our_rate_over_peer": statistics.median(ratios) * our_size / size,
        }
    return row


def normal(*shape):
    return torch.randn(*shape, device="cuda").bfloat16()


def differing(a, b, bits):
    return (a.view(bits) != b.view(bits)).sum().item()


def outputs_like(codes, scales):
    """Zeros, a row of scales a row of codes."""
    scales = torch.zeros_like(scales).view(codes.shape[0], -1)
    return torch.zeros_like(codes), scales


def hold_bits(prepare, x, right):
    """Ends the program unless ours has the right codes and scales."""
    out = outputs_like(*right)
    prepare(x, *out)()
    for what, a, b, bits in zip(("codes", "scales"), out, right,
                                (torch.uint8, torch.int32)):
        wrong = differing(a.view(-1), b.view(-1), bits)
        if wrong:
            sys.exit(f"gpu_peers: ours, vllm: {wrong} {what} differ")


def quantizing_row(timer, name, peer, quantize, inputs, prepare):
    """`quantize` makes codes and scales of each of the inputs, as does what
    `prepare`, or none, gives for it."""
    right = quantize(*inputs[0])
    size = sum(x.nbytes for x in (*inputs[0], *right))
    kept = {}  # outputs, so that they rotate, too
    players = [lambda i: kept.update({i: quantize(*inputs[i])})]
    differ = {}
    if prepare:
        outputs = [outputs_like(*right) for _ in inputs]
        ours = [prepare(*x, *out) for x, out in zip(inputs, outputs)]
        ours[0]()
        wrong = differing(outputs[0][0], right[0], torch.uint8)
        differ = {"codes_that_differ": wrong / right[0].numel()}
        players.append(lambda i: ours[i]())
    times = timer.measure(players, size, len(inputs))
    return row_of(name, peer, right[0].shape, times, size, size) | differ


def quantizing_rows(timer, shape, ours):
    m, n = shape
    sets = 2 * timer.l2 // (3 * m * n) + 2
    inputs = [(normal(m, n),) for _ in range(sets)]
    right = quantize_eager(*inputs[0])[0]
    vllm = ours and ours.quantize("vllm")
    if ours:
        hold_bits(vllm, *inputs[0], quantize_exactly(*inputs[0]))
    for peer, quantize in QUANTIZERS.items():
        codes = quantize(*inputs[0])[0]
        # Triton divides by div.full: one code in thousands may differ.
        wrong = (codes.float() != right.float()).float().mean().item()
        if wrong > 1e-3:
            sys.exit(f"gpu_peers: {peer}: {wrong:.2%} of the codes differ")
        yield quantizing_row(timer, "quantize.1x128.vllm", peer, quantize,
                             inputs, vllm)
    if ours:
        yield quantizing_row(timer, "quantize.1x128.zeroulp", "triton, vllm",
                             quantize_triton, inputs, ours.quantize("zeroulp"))
    w = normal(1, n)
    yield quantizing_row(timer, "rms_norm", "torch.compile", rms_norm,
                         [(x, w) for (x,) in inputs], ours and ours.rms_norm)
    yield quantizing_row(timer, "swiglu.forward", "torch.compile", swiglu,
                         [(x, normal(m, n)) for (x,) in inputs],
                         ours and ours.swiglu)


def adamw_row(timer, shape, ours):
    parameter = normal(*shape).requires_grad_()
    parameter.grad = normal(*shape)
    optimizer = torch.optim.AdamW([parameter], fused=True, capturable=True,
                                  **ADAMW)
    players = [lambda i: optimizer.step()]
    if ours:
        w = parameter.detach().float()
        m, v, copy = (torch.zeros_like(parameter.grad) for _ in range(3))
        launch = ours.adamw(parameter.grad, m, v, w, copy)
        players.append(lambda i: launch())
    # Reads p, g, m, v, writes p, m, v, all of 2 bytes; ours g, m, v of 2 and w
    # of 4, then m, v, copy of 2 and w of 4.
    size, our_size = (parameter.numel() * a for a in (14, 20))
    times = timer.measure(players, size, 2)
    return row_of("adamw", "torch fused, all BF16", shape, times, size,
                  our_size)


COLUMNS = {"name": "name", "peer": "peer", "size": "size",
           "us": "microseconds", "GB/s": "gb_per_s", "copy": "copy_gb_per_s",
           "x_copy": "value", "our_us": "our_microseconds",
           "our_GB/s": "our_gb_per_s", "ours/peer": "ours_over_peer",
           "min": "ours_over_peer_min", "max": "ours_over_peer_max",
           "rates": "our_rate_over_peer", "differ": "codes_that_differ"}


def text_of_columns(columns, rows):
    """A table of the columns, head: key, that any row has."""
    shown = {head: key for head, key in columns.items()
             if any(key in row for row in rows)}
    lines = [list(shown)]
    for row in rows:
        cells = [row.get(key, "-") for key in shown.values()]
        lines.append([f"{c:.4g}" if isinstance(c, float) else c for c in cells])
    widths = [max(map(len, column)) for column in zip(*lines)]
    form = "  ".join(f"{{:{width}}}" for width in widths)
    return "\n".join(form.format(*line).rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", metavar="gpu.so", help="our kernels, too")
    parser.add_argument("--quick", action="store_true", help="small, once")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("gpu_peers: no GPU that PyTorch can use")
    ours = Ours(options.ours) if options.ours else None
    timer = Timer(options.quick)
    rows = []
    for shape in [(256, 512)] if options.quick else SHAPES:
        rows += quantizing_rows(timer, shape, ours)
        rows.append(adamw_row(timer, shape, ours))
    print(json.dumps(rows, indent=2) if options.json else text_of_columns(COLUMNS, rows))


if __name__ == "__main__":
    main()
