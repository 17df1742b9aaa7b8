#!/usr/bin/env python3
"""Times DeepGEMM beside zeroulp's GEMM, in one process, and compares the bits.

    gpu_gemm_peers.py ./gpu.so [--quick] [--json]

gpu_library.py says what makes gpu.so.

D = A B^T, E4M3, A scaled by 1x128, B by 128x128, D of BF16: recipe
deepgemm.1d2d, the same memory for both. The method is that of `zeroulp bench
gpu`: rounds of ours, DeepGEMM, DeepGEMM, ours, twenty launches each, memory
rotated through more than twice the L2, random-normal data, medians of the
rounds' ratios. Ours begin while the launch before ends, and so do DeepGEMM's,
where it can be told to, unless --no-pdl. Any bit that differs ends it. A quick
run holds bits; its times are Python's.
"""

import argparse
import json
import statistics
import sys

import deep_gemm
import torch

from gpu_library import Library, Operand, Recipe, StridedMatrix, matrix_of

BLOCK = 128
SHAPES = [(4096, 2048, 7168), (4096, 24576, 1536), (4096, 32768, 512),
          (4096, 7168, 16384), (4096, 4096, 7168), (4096, 7168, 2048),
          (8192, 8192, 8192)]


class Ours(Library):
    def __init__(self, path):
        super().__init__(path)
        self.recipe = self.named(Recipe, "recipe_from_name", "deepgemm.1d2d")
        self.e4m3 = self.format("e4m3")

    def operand(self, codes, scales):
        return Operand(self.e4m3, matrix_of(codes),
                       StridedMatrix(scales.data_ptr(), *scales.shape,
                                     *scales.stride(), 4))

    def prepare_gemm(self, a, sa, b, sb, d):
        """What launches D = A B^T."""
        return self.launcher("cuda_gemm", self.recipe, None,
                             self.operand(a, sa), self.operand(b, sb), None,
                             matrix_of(d))


def make_set(m, n, k):
    """Codes of about N(0, 1), scales of about 1, and two outputs."""
    normal = lambda *s: torch.randn(s, device="cuda").to(torch.float8_e4m3fn)
    scales = lambda *s: torch.rand(s, device="cuda") + 0.5
    blocks = -(-k // BLOCK)
    sa = deep_gemm.get_mn_major_tma_aligned_tensor(scales(m, blocks))
    outputs = torch.empty(2, m, n, device="cuda", dtype=torch.bfloat16)
    return (normal(m, k), sa, normal(n, k), scales(-(-n // BLOCK), blocks),
            *outputs)


def launches_of(ours, one):
    a, sa, b, sb, d, theirs = one
    peer = lambda: deep_gemm.fp8_gemm_nt((a, sa), (b, sb), theirs,
                                         disable_ue8m0_cast=True)
    return ours.prepare_gemm(a, sa, b, sb, d), peer


def hold_bits(ours, one, name):
    for launch in launches_of(ours, one):
        launch()
    d, theirs = one[4:]
    wrong = (d.view(torch.int16) != theirs.view(torch.int16)).sum().item()
    if wrong:
        sys.exit(f"gpu_gemm_peers: {name}: {wrong} outputs differ")


def measure(ours, shape, rounds, launches):
    m, n, k = shape
    name = "x".join(map(str, shape))
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    count = 2 * l2 // (m * k + n * k + 2 * m * n) + 2
    sets = [make_set(*shape) for _ in range(count)]
    for one in sets:
        hold_bits(ours, one, name)
    mine, peer = zip(*(launches_of(ours, one) for one in sets))
    turn = 0

    def run(players):
        nonlocal turn
        for _ in range(launches):
            turn += 1
            players[turn % count]()

    times = []
    for _ in range(rounds):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
        run(mine)  # not counted: the queue is full from here on
        marks[0].record()
        for mark, players in zip(marks[1:], (mine, peer, peer, mine)):
            run(players)
            mark.record()
        marks[-1].synchronize()
        t = [x.elapsed_time(y) for x, y in zip(marks, marks[1:])]
        times.append((t[0] + t[3], t[1] + t[2]))
    ratios = [theirs / own for own, theirs in times]
    tflops = [4e-9 * m * n * k * launches / statistics.median(t)
              for t in zip(*times)]
    return {"size": name, "sets": count, "ours_tflops": tflops[0],
            "deepgemm_tflops": tflops[1], "ratio": statistics.median(ratios),
            "min": min(ratios), "max": max(ratios), "rounds": rounds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", help="gpu.so")
    parser.add_argument("--quick", action="store_true", help="small, once")
    parser.add_argument("--no-pdl", action="store_true",
                        help="DeepGEMM's launches do not overlap")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("gpu_gemm_peers: no GPU that PyTorch can use")
    ours = Ours(options.library)
    inner = getattr(deep_gemm, "_C", None)
    set_pdl = getattr(deep_gemm, "set_pdl", getattr(inner, "set_pdl", None))
    overlaps = bool(set_pdl) and not options.no_pdl
    if overlaps:
        set_pdl(True)
    about = {"device": torch.cuda.get_device_name(),
             "deepgemm": deep_gemm.__version__, "deepgemm_overlaps": overlaps}
    shapes, effort = (SHAPES, (10, 20))
    if options.quick:
        shapes, effort = ([(256, 256, 512)], (1, 2))
    rows = [measure(ours, shape, *effort) | about for shape in shapes]
    if options.json:
        return print(json.dumps(rows, indent=2))
    print(", ".join(f"{name}: {value}" for name, value in about.items()))
    for row in rows:
        print("{size}: {ours_tflops:.0f} TFLOP/s, DeepGEMM "
              "{deepgemm_tflops:.0f}, ratio {ratio:.3f} ({min:.3f} to "
              "{max:.3f}), same bits".format(**row))


if __name__ == "__main__":
    main()
