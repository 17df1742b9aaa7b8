#!/usr/bin/env python3
"""Times PyTorch's attention beside zeroulp's on one GPU, and their errors.

    gpu_attention_peers.py ./gpu.so [--quick] [--json]

gpu_library.py says what makes gpu.so. Causal, BF16, sequences of one length
one after the other, forward and backward. PyTorch's are the backends of
scaled_dot_product_attention: cuDNN's and FlashAttention's; one that refuses a
shape is a line. All read and write the same layout: tokens x heads x width.

Rounds of theirs, ours, ours, theirs, ten launches each, memory rotated through
more than twice the L2, medians over the rounds; ours/peer is the peer's time
over ours, a ratio of a round. A launch takes half a millisecond and more, so
that no time of Python's is in it. TFLOP/s are of the causal half of the
products: S and O, or S, dP, dV, dQ and dK. A backward pass gets the outputs of
a forward pass that is not timed.

Errors are relative Frobenius errors of one head of one sequence beside FP64,
of the same operands. `peer_differs` and `ours_differ`: of that sequence,
computed alone and again among all, the part of the elements whose bits are
not the same.
"""

import argparse
import ctypes
import json
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from gpu_library import Library, matrix_of
from gpu_peers import text_of_columns

PEERS = {"cuDNN": SDPBackend.CUDNN_ATTENTION,
         "FlashAttention": SDPBackend.FLASH_ATTENTION}
# Sequences, length, heads, widths of q and k, of v.
SHAPES = [(64, 1024, 16, 192, 128), (64, 1024, 16, 128, 128),
          (8, 8192, 16, 192, 128), (8, 8192, 16, 128, 128)]
QUICK = [(2, 256, 2, 192, 128), (2, 256, 2, 128, 128)]


class Shape(ctypes.Structure):
    """zeroulp_attention"""
    _fields_ = [("length", ctypes.c_int64), ("heads", ctypes.c_int32),
                ("scale", ctypes.c_uint32)]


class Ours(Library):
    def attention(self, x):
        """What launches the forward and the backward pass of a set."""
        scale = ctypes.c_uint32()
        self.prepare("attention_scale", ctypes.c_int64(x.depth))(
            ctypes.byref(scale))
        shape = Shape(x.length, x.heads, scale.value)
        size = ctypes.c_int64()
        self.prepare("cuda_attention_work_of_depth", shape,
                     *map(ctypes.c_int64, (x.depth, x.width, len(x.q))))(
                         ctypes.byref(size))
        x.work = torch.empty(size.value, device="cuda", dtype=torch.uint8)
        room = ctypes.c_void_p(x.work.data_ptr()), size
        flat = lambda t: matrix_of(t.view(-1, t.shape[-2] * t.shape[-1]))
        inputs = [flat(t) for t in (x.q, x.k, x.v)]
        sums = [matrix_of(t) for t in (x.largest, x.inverse)]
        forward = self.launcher("cuda_attention_forward", shape, *inputs,
                                flat(x.o), *sums, *room)
        backward = self.launcher("cuda_attention_backward", shape, *inputs,
                                 matrix_of(x.wide_o), *sums, flat(x.d_o),
                                 *(flat(t) for t in x.gradients), *room)
        return forward, backward


class Set:
    """Operands of so many sequences, and room for our results."""

    def __init__(self, sequences, length, heads, depth, width):
        self.length, self.heads = length, heads
        self.depth, self.width = depth, width
        normal = lambda n: torch.randn(sequences, length, heads, n,
                                       device="cuda").bfloat16()
        self.q, self.k = normal(depth), normal(depth)
        self.v, self.d_o = normal(width), normal(width)
        self.o = torch.empty_like(self.v)
        tokens = sequences * length
        self.largest, self.inverse = (
            torch.empty(tokens, heads, device="cuda") for _ in range(2))
        # The output as the backward pass takes it: decoded.
        self.wide_o = torch.empty(tokens, heads * width, device="cuda")
        self.gradients = [torch.empty_like(t)
                          for t in (self.q, self.k, self.v)]

    def of_heads(self, leaf):
        """q, k and v as PyTorch takes them: sequences x heads x tokens."""
        return [t.transpose(1, 2).detach().requires_grad_(leaf)
                for t in (self.q, self.k, self.v)]


def theirs(backend, q, k, v):
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True)


def exact(x, head):
    """One head of the first sequence in FP64: o, dq, dk, dv."""
    q, k, v = (t[0, :, head].double().requires_grad_()
               for t in (x.q, x.k, x.v))
    s = q @ k.T / x.depth ** 0.5
    hidden = torch.ones_like(s, dtype=torch.bool).triu(1)
    o = torch.softmax(s.masked_fill(hidden, float("-inf")), 1) @ v
    return [o.detach(),
            *torch.autograd.grad(o, (q, k, v), x.d_o[0, :, head].double())]


def error(got, right):
    return ((got.double() - right).norm() / right.norm()).item()


def differing(a, b):
    return (a.view(torch.int16) != b.view(torch.int16)).float().mean().item()


def work_of(shape, backward):
    sequences, length, heads, depth, width = shape
    with_keys, with_values = (3, 2) if backward else (1, 1)
    return (sequences * heads * length ** 2
            * (with_keys * depth + with_values * width))


def gradients_of(x, backend):
    """The peer's output and gradients."""
    operands = x.of_heads(True)
    o = theirs(backend, *operands)
    grads = torch.autograd.grad(o, operands, x.d_o.transpose(1, 2))
    return [t.transpose(1, 2).contiguous() for t in (o, *grads)]


def ours_of(ours, x):
    forward, backward = ours.attention(x)
    forward()
    x.wide_o.copy_(x.o.view_as(x.wide_o))
    backward()
    return [x.o, *x.gradients]


def alone(x, shape):
    """The first sequence of a set as a set of its own."""
    one = Set(1, *shape[1:])
    for to, of in zip((one.q, one.k, one.v, one.d_o), (x.q, x.k, x.v, x.d_o)):
        to.copy_(of[:1])
    return one


def bits_of(made, made_alone):
    return max(differing(a[:1], b) for a, b in zip(made, made_alone))


def held(name, x, shape, made, made_alone):
    """Errors of o and of the worst gradient, and what batching changes."""
    right = exact(x, shape[2] - 1)
    errors = [error(t[0, :, shape[2] - 1], r) for t, r in zip(made, right)]
    return {name + "_error": errors[0], name + "_gradient_error":
            max(errors[1:]), name + "_differs": bits_of(made, made_alone)}


def measure(players, sets, quick):
    """Seconds of a launch(i) of each of two players, a value a round each."""
    theirs, ours = players
    order = (theirs, ours, ours, theirs)
    rounds, launches = (1, 2) if quick else (20, 10)
    seconds = []
    for _ in range(rounds):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
        theirs(0)  # not counted: the queue is full from here on
        marks[0].record()
        for mark, launch in zip(marks[1:], order):
            for i in range(launches):
                launch(i % sets)
            mark.record()
        marks[-1].synchronize()
        t = [1e-3 * a.elapsed_time(b) / launches
             for a, b in zip(marks, marks[1:])]
        seconds.append(((t[0] + t[3]) / 2, (t[1] + t[2]) / 2))
    return list(zip(*seconds))


def players_of(backend, sets):
    """What launches the peer's forward and backward pass of set i."""
    leaves = [x.of_heads(True) for x in sets]
    operands = [x.of_heads(False) for x in sets]
    outputs = [theirs(backend, *t) for t in leaves]

    def forward(i):
        theirs(backend, *operands[i])

    def backward(i):
        torch.autograd.grad(outputs[i], leaves[i],
                            sets[i].d_o.transpose(1, 2), retain_graph=True)

    return forward, backward


def rows_of(ours, shape, quick):
    sequences, length, heads, depth, width = shape
    size = 4 * sequences * length * heads * (depth + width)
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    sets = [Set(*shape) for _ in range(2 * l2 // size + 2)]
    one = alone(sets[0], shape)
    of_ours = held("our", sets[0], shape, ours_of(ours, sets[0]),
                   ours_of(ours, one))
    for x in sets[1:]:
        ours_of(ours, x)
    mine = list(zip(*(ours.attention(x) for x in sets)))
    for peer, backend in PEERS.items():
        row = {"peer": peer, "size": "{}x{}, {} heads of {}/{}".format(*shape)}
        try:
            row |= held("peer", sets[0], shape,
                        gradients_of(sets[0], backend),
                        gradients_of(one, backend))
        except RuntimeError as e:
            yield row | {"name": "attention",
                         "refused": str(e).splitlines()[0]}
            continue
        passes = players_of(backend, sets)
        for at, name in enumerate(("forward", "backward")):
            both = (passes[at], lambda i, at=at: mine[at][i]())
            peers, own = measure(both, len(sets), quick)
            ratios = [t / o for t, o in zip(peers, own)]
            rate = lambda t: 1e-12 * work_of(shape, at) / statistics.median(t)
            yield row | of_ours | {
                "name": "attention." + name,
                "value": statistics.median(ratios), "unit": "ours/peer",
                "min": min(ratios), "max": max(ratios), "runs": len(ratios),
                "peer_tflops": rate(peers), "our_tflops": rate(own)}


COLUMNS = {"name": "name", "peer": "peer", "size": "size",
           "TFLOP/s": "peer_tflops", "our_TFLOP/s": "our_tflops",
           "ours/peer": "value", "min": "min", "max": "max",
           "error": "peer_error", "our_error": "our_error",
           "d_error": "peer_gradient_error",
           "our_d_error": "our_gradient_error", "differs": "peer_differs",
           "ours_differs": "our_differs", "refused": "refused"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ours", metavar="gpu.so")
    parser.add_argument("--quick", action="store_true", help="small, once")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("gpu_attention_peers: no GPU that PyTorch can use")
    ours = Ours(options.ours)
    rows = [row for shape in (QUICK if options.quick else SHAPES)
            for row in rows_of(ours, shape, options.quick)]
    print(json.dumps(rows, indent=2) if options.json
          else text_of_columns(COLUMNS, rows))


if __name__ == "__main__":
    main()
