#!/usr/bin/env python3
"""Times what PyTorch and Triton do of `zeroulp bench gpu`, on the same GPU.

    zeroulp bench gpu --json > ours.json; gpu_peers.py ours.json
    gpu_peers.py [--quick] [--json]

The method is the program's: rounds of peer, copy, copy, peer, twenty launches
each (in CUDA graphs: none of Python's time), memory rotated through more than
twice the L2, random-normal data, medians over the rounds. The copy is PyTorch's
and reads half of the bytes that the operation must move. With the program's
JSON the peer stands beside our stream (x_stream) and our kernel, too.

The peers quantize BF16 to E4M3 with an FP32 scale for each 1x128. AdamW is
PyTorch's fused one on BF16 parameters: parameters, gradients and moments are
BF16, 14 bytes an element. It cannot keep FP32 master weights with BF16 moments,
as ours does, so compare its rate, not its time.
"""

import argparse
import json
import statistics
import sys

import torch
import triton
import triton.language as tl

GROUP = 128
SHAPES = [(4096, 7168), (8192, 7168), (16384, 2048)]


def quantize_eager(x):
    """Codes and scales, by vLLM's convention."""
    groups = x.view(-1, GROUP).float()
    amax = groups.abs().amax(1, keepdim=True)
    scale = amax.clamp(min=1e-10) / 448.0
    return (groups / scale).to(torch.float8_e4m3fn).view_as(x), scale


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


class Timer:
    """Rounds of an operation beside a copy of the same bytes."""

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

    def measure(self, launch, size, sets):
        """Seconds of launch(i), and of the copy, a value a round each."""
        bank = torch.randn(sets, 2, size // 4, device="cuda").bfloat16()
        copy = self.capture(lambda i: bank[i, 1].copy_(bank[i, 0]), sets)
        peer = self.capture(launch, sets)
        seconds = []
        for _ in range(self.rounds):
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
            copy.replay()  # not counted: the queue is full from here on
            marks[0].record()
            for mark, graph in zip(marks[1:], (peer, copy, copy, peer)):
                graph.replay()
                mark.record()
            marks[-1].synchronize()
            t = [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
            scale = 1e-3 / (2 * self.launches)
            seconds.append(((t[0] + t[3]) * scale, (t[1] + t[2]) * scale))
        return zip(*seconds)


def row_of(peer, name, shape, size, times):
    seconds, copies = (list(t) for t in times)
    ratios = [c / s for s, c in zip(seconds, copies)]
    return {
        "name": name,
        "peer": peer,
        "size": "{}x{}".format(*shape),
        "value": statistics.median(ratios),
        "unit": "x copy",
        "min": min(ratios),
        "max": max(ratios),
        "runs": len(ratios),
        "microseconds": 1e6 * statistics.median(seconds),
        "gb_per_s": 1e-9 * size / statistics.median(seconds),
        "copy_gb_per_s": 1e-9 * size / statistics.median(copies),
    }


def quantizer_rows(timer, shape):
    m, n = shape
    size = m * n * 3 + m * n // GROUP * 4
    sets = 2 * timer.l2 // size + 2
    inputs = [torch.randn(m, n, device="cuda").bfloat16() for _ in range(sets)]
    right = quantize_eager(inputs[0])[0]
    for peer, quantize in QUANTIZERS.items():
        codes = quantize(inputs[0])[0]
        # Triton divides by div.full: one code in thousands may differ.
        wrong = (codes.float() != right.float()).float().mean().item()
        if wrong > 1e-3:
            sys.exit(f"gpu_peers: {peer}: {wrong:.2%} of the codes differ")
        kept = {}  # outputs, so that they rotate, too
        launch = lambda i: kept.update({i: quantize(inputs[i])})
        times = timer.measure(launch, size, sets)
        yield row_of(peer, "quantize.1x128.vllm", shape, size, times)


def adamw_row(timer, shape):
    numbers = torch.randn(*shape, device="cuda").bfloat16()
    parameter = numbers.clone().requires_grad_()
    parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.AdamW([parameter], fused=True, capturable=True)
    size = parameter.numel() * 14  # reads p, g, m, v; writes p, m, v
    times = timer.measure(lambda i: optimizer.step(), size, 2)
    return row_of("torch fused, all BF16", "adamw", shape, size, times)


def text_of(rows):
    names = "name peer size microseconds gb_per_s copy_gb_per_s value".split()
    names += ["of_our_stream", "ours_over_peer"]
    lines = ["name peer size us GB/s copy x_copy x_stream ours/peer".split()]
    for row in rows:
        cells = [row.get(name, "-") for name in names]
        lines.append([f"{c:.4g}" if isinstance(c, float) else c for c in cells])
    widths = [max(map(len, column)) for column in zip(*lines)]
    form = "  ".join(f"{{:{width}}}" for width in widths)
    return "\n".join(form.format(*line).rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ours", nargs="?", help="zeroulp bench gpu --json")
    parser.add_argument("--quick", action="store_true", help="small, once")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("gpu_peers: no GPU that PyTorch can use")
    ours = {}
    if options.ours:
        with open(options.ours, encoding="utf-8") as file:
            ours = {(row["name"], row["size"]): row for row in json.load(file)}
    timer = Timer(options.quick)
    rows = []
    for shape in [(256, 512)] if options.quick else SHAPES:
        rows += [*quantizer_rows(timer, shape), adamw_row(timer, shape)]
    for row in rows:
        mine = ours.get((row["name"], row["size"]))
        if mine and "failed" not in mine:
            row["of_our_stream"] = row["gb_per_s"] / mine["stream_gb_per_s"]
            row["ours_over_peer"] = mine["gb_per_s"] / row["gb_per_s"]
    print(json.dumps(rows, indent=2) if options.json else text_of(rows))


if __name__ == "__main__":
    main()
