"""Cases of zeroulp.torch, and the comparison of a GPU with the CPU, bit for bit:

    cmake -S . -B build/torch -DBUILD_SHARED_LIBS=ON -DZEROULP_CUDA=ON \\
      -DZEROULP_TESTS=OFF
    cmake --build build/torch --target zeroulp zeroulp_cuda_shared
    ZEROULP_LIBRARY=build/torch/src/libzeroulp.so \\
      ZEROULP_CUDA_LIBRARY=build/torch/src/libzeroulp_cuda.so \\
      PYTHONPATH=tools/python python3 tools/python/tests/torch_cases.py

A line each, and 'N passed, N failed' at the end. Needs no pytest."""

import contextlib
import hashlib
import sys
import time

import torch
import zeroulp
import zeroulp.torch
from zeroulp import _cuda

T = zeroulp.torch


def is_hopper():
    return torch.cuda.is_available() and \
        torch.cuda.get_device_capability() == (9, 0)


def numbers(*shape, seed=0, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g).to(dtype)


def codes(*shape, seed=0):
    return numbers(*shape, seed=seed, dtype=torch.bfloat16)


def table(n=16, positions=96):
    return tuple(map(torch.from_numpy, zeroulp.rope_table(n, positions)))


def heads(*shape, seed):
    return codes(2, 40, 3, *shape, seed=seed)


def of_attention():
    q, k, v = heads(16, seed=0), heads(16, seed=1), heads(24, seed=2)
    return q, k, v


def of_attention_backward():
    q, k, v = of_attention()
    return heads(24, seed=3), q, k, v, *T.attention_forward(q, k, v)


def of_norm():
    x, w = codes(300, 264), numbers(264, seed=1)
    return codes(300, 264, seed=2), x, w, T.rms_norm_forward(x, w)[1], \
        codes(300, 264, seed=3)


def of_route_backward():
    routing = T.route_forward(numbers(50, 16), 4)
    return numbers(50, 4, seed=1), routing.experts, routing.scores


def of_slots():
    experts = T.route_forward(numbers(50, 16), 4).experts
    made = zeroulp.plan(experts, 16, 8)
    return (codes(50, 64), made.slots, numbers(50, 4, seed=1),
            codes(len(made.rows), 64, seed=2))


def of_combine():
    _, slots, weights, y = of_slots()
    return y, slots, weights


def of_losses():
    targets = torch.arange(-1, 299, dtype=torch.int32).reshape(2, 150)
    return 3 * numbers(2, 150, 1000), targets % 1000 - (targets < 0).int() * 1000


def gather_rows():
    rows = torch.tensor([3, -1, 0, 19, 20, 7], dtype=torch.int32)
    return codes(20, 72), rows


def tiles(m, n, seed=0, group="1x128", **how):
    return T.quantize(codes(m, n, seed=seed), group=group, **how)


def fp8(m, n, seed=0):
    return numbers(m, n, seed=seed).to(torch.float8_e4m3fn)


def scaled(*groups):
    """Operands of scaled_mm, 200 x 384 by 384 x 160, and a scale a group."""
    a, b = fp8(200, 384), fp8(160, 384, seed=1)
    of = {"tensor": lambda m: (1, 1), "1x0": lambda m: (m, 1),
          "1x128": lambda m: (m, 3), "128x128": lambda m: (-(-m // 128), 3)}
    sa, sb = (numbers(*of[g](m), seed=2).abs() + 0.5
              for g, m in zip(groups, (200, 160)))
    return lambda: (a, b.t(), sa, sb.t())


BF16, FP32 = {"out_dtype": torch.bfloat16}, {"out_dtype": torch.float32}
# Each function, arguments for it, and what more it is given.
CASES = [
    *(("quantize", lambda n=n, dtype=dtype: (numbers(150, n, dtype=dtype),), how)
      for n in (384, 130, 7)
      for dtype in (torch.bfloat16, torch.float16, torch.float32)
      for how in ({"convention": "vllm"}, {"format": "e5m6", "scale": "pow2"},
                  {"format": "e5m2", "group": "128x128", "transposed": True},
                  {"convention": "deepseek_v3", "transposed": True},
                  {"group": "128x1"}, {"group": "tensor"})),
    *(("retile", lambda shape=shape: (tiles(*shape, scale="pow2"),), how)
      for shape in ((256, 384), (150, 130)) for how in ({}, {"to": "e5m2"})),
    *(("dequantize", lambda group=group: (tiles(150, 384, group=group),),
       {"to": to}) for group in ("1x128", "128x128", "128x1", "tensor")
      for to in ("fp32", "bf16")),
    *(("gemm", lambda k=k, group=group: (tiles(150, k), tiles(96, k, 1, group)),
       {"recipe": recipe}) for k in (512, 200)
      for group, recipe in (("128x128", "deepgemm.1d2d"),
                            ("1x128", "deepgemm.1d1d"),
                            ("128x128", "cutlass.blockwise"))),
    ("gemm", lambda: (tiles(512, 150, group="128x1"), tiles(96, 512, 1, "128x128")),
     {}),
    ("gemm", lambda: (fp8(150, 256), fp8(96, 256, 1)), {"recipe": "unpromoted"}),
    ("gemm", lambda: (tiles(70, 256), tiles(96, 256, 1)),
     {"recipe": "deepgemm.1d1d", "output": "bf16"}),
    ("scaled_mm", scaled("tensor", "tensor"), BF16),
    ("scaled_mm", scaled("tensor", "tensor"), {"use_fast_accum": True, **FP32}),
    ("scaled_mm", scaled("1x0", "1x0"), {"use_fast_accum": True, **BF16}),
    ("scaled_mm", scaled("1x128", "128x128"), BF16),
    ("scaled_mm", scaled("1x128", "1x128"), FP32),
    ("attention_forward", of_attention, {}),
    ("attention_forward", of_attention, {"scale": 0.5}),
    ("attention_backward", of_attention_backward, {}),
    ("rope", lambda: (heads(16, seed=0), *table()), {}),
    ("rope", lambda: (heads(16, seed=0), *table()),
     {"pairs": "halves", "backward": True}),
    ("rms_norm_forward", lambda: of_norm()[1:3], {}),
    ("rms_norm_backward", of_norm, {}),
    ("rms_norm_backward", lambda: of_norm()[:4], {}),
    ("route_forward", lambda: (numbers(50, 16), 4), {}),
    ("route_forward", lambda: (numbers(50, 16), 4, numbers(16, seed=1)),
     {"score": "softmax", "groups": 4, "kept": 2, "scale": 2.5}),
    ("route_backward", of_route_backward, {}),
    ("update_bias", lambda: (numbers(16), of_route_backward()[1]), {}),
    ("plan", lambda: (of_route_backward()[1], 16, 8), {}),
    ("gather", gather_rows, {}),
    ("slot_backward", of_slots, {}),
    ("combine_forward", of_combine, {}),
    ("cross_entropy_forward", of_losses, {}),
    ("cross_entropy_forward", of_losses, {"factor": 0.125}),
    ("sum_of_losses", lambda: (numbers(3000),), {}),
    ("gemm_bf16", lambda: (codes(70, 200), codes(130, 200, seed=1)), {}),
    ("gemm_bf16", lambda: (codes(70, 203), codes(203, 130, seed=1).t()),
     {"splits": 3, "output": "bf16"}),
]


# What the tensor core has no recipe for.
EMULATED = [{"use_fast_accum": True, **BF16}]
# What the kernels do not take: it is copied, and computed on the CPU.
COPIED = [("quantize", lambda: (codes(150, 384),), how)
          for how in ({"group": "1x64"}, {"format": "e4m3fnuz"})]


def on(device, x):
    if isinstance(x, zeroulp.Quantized):
        return zeroulp.Quantized(x.codes.to(device), x.scales.to(device), x.format,
                                 x.group, convention=x.convention, scale=x.scale)
    return x.to(device) if isinstance(x, torch.Tensor) else x


def bits(x):
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return x.detach().cpu().contiguous().view(-1).view(kinds[x.element_size()])


def results(found):
    """A list of tensors; of a plan, rows up to the last expert's."""
    if isinstance(found, zeroulp.Quantized):
        found = found.codes, found.scales
    found = [found] if isinstance(found, torch.Tensor) else list(found)
    if len(found) == 3 and found[0].dim() == 1 and found[2].dim() == 1:
        found[0] = found[0][:int(found[2][-1])]
    return [x for x in found if x is not None]


@contextlib.contextmanager
def called():
    """The names of the kernels that are called."""
    names, call = [], _cuda.call

    def told(name, *arguments, device):
        call(name, *arguments, device=device)
        names.append(name)

    _cuda.call = told
    try:
        yield names
    finally:
        _cuda.call = call


def difference(name, arguments, how):
    """Where a GPU's results part from the CPU's; None: nowhere."""
    given, function = arguments(), getattr(T, name)
    want = results(function(*given, **how))
    with called() as names:
        found = results(function(*(on("cuda", x) for x in given), **how))
    if bool(names) == any(how is case[2] for case in COPIED):
        return f"called {', '.join(names) or 'no kernel'}"
    if "emulate_gemm" in names and how not in EMULATED:
        return "the emulator computed what the tensor core should have"
    if len(found) != len(want):
        return f"{len(found)} results, not {len(want)}"
    for i, (a, b) in enumerate(zip(found, want)):
        if not a.is_cuda or a.dtype != b.dtype or a.shape != b.shape:
            return (f"result {i} is {a.dtype} {tuple(a.shape)} on {a.device}, not "
                    f"{b.dtype} {tuple(b.shape)}")
        apart = (bits(a) != bits(b)).nonzero()
        if len(apart):
            return (f"result {i}: {len(apart)} of {a.numel()} elements, first "
                    f"{int(apart[0])}")
    return None


# As a model has them. Not on tests' small machines.
def large_attention():
    return (codes(2, 1024, 4, 96), codes(2, 1024, 4, 96, seed=1),
            codes(2, 1024, 4, 64, seed=2))


def large_attention_backward():
    given = large_attention()
    return codes(2, 1024, 4, 64, seed=3), *given, *T.attention_forward(*given)


def large_norm():
    x, w = codes(2048, 2048), numbers(2048, seed=1)
    return codes(2048, 2048, seed=2), x, w, T.rms_norm_forward(x, w)[1]


def large_losses():
    targets = torch.arange(1024, dtype=torch.int32) * 31 % 32000
    return 3 * numbers(1024, 32000), targets


LARGE = [
    ("attention_forward", large_attention, {}),
    ("attention_backward", large_attention_backward, {}),
    ("rope", lambda: (codes(2, 4096, 8, 64), *table(64, 4096)), {}),
    ("rms_norm_forward", lambda: large_norm()[1:3], {}),
    ("rms_norm_backward", large_norm, {}),
    ("route_forward", lambda: (numbers(8192, 64), 6, numbers(64, seed=1)),
     {"groups": 8, "kept": 4}),
    ("plan", lambda: (T.route_forward(numbers(8192, 64), 6).experts, 64), {}),
    ("cross_entropy_forward", large_losses, {}),
    ("quantize", lambda: (codes(4096, 7168),), {"convention": "vllm"}),
    ("retile", lambda: (tiles(4096, 2048, scale="pow2"),), {}),
    ("gemm", lambda: (tiles(512, 7168), tiles(1024, 7168, 1, "128x128")), {}),
    ("gemm_bf16", lambda: (codes(512, 2048), codes(768, 2048, seed=1)), {}),
    ("gemm_bf16", lambda: (codes(2048, 512).t(), codes(768, 2048, seed=1)),
     {"splits": 4}),
]


def trained(device, steps=20):
    """Digests of each Y, dX and dW of two Linears, a step each, trained from one
    state by zeroulp's cross entropy, in BF16 with FP32 weights' updates."""
    torch.manual_seed(0)
    layers = [T.Linear(256, 512, bias=False, dtype=torch.bfloat16),
              T.Linear(512, 320, bias=False, dtype=torch.bfloat16)]
    for layer in layers:
        layer.weight.data = on(device, layer.weight.data)
    wide = [layer.weight.detach().float() for layer in layers]
    digests = []
    for step in range(steps):
        x = on(device, codes(192, 256, seed=step)).requires_grad_()
        targets = on(device, torch.arange(192, dtype=torch.int32) * 7 % 320)
        hidden = layers[0](x)
        hidden.retain_grad()
        y = layers[1](hidden.relu())
        loss = T.cross_entropy(y.float(), targets)
        loss.backward()
        made = [hidden, y, x.grad, hidden.grad, loss,
                *(layer.weight.grad for layer in layers)]
        digests.append([hashlib.sha256(bits(t).numpy().tobytes()).hexdigest()
                        for t in made])
        for layer, w in zip(layers, wide):
            w -= 0.5 * layer.weight.grad.float()  # two roundings on each device
            layer.weight.data, layer.weight.grad = w.bfloat16(), None
    return digests


def difference_of_training():
    """None if 20 steps of two Linears have one digest on both."""
    for step, (a, b) in enumerate(zip(trained("cuda"), trained("cpu"))):
        if a != b:
            apart = [i for i, (x, y) in enumerate(zip(a, b)) if x != y]
            return f"step {step}: tensors {apart}"
    return None


def difference_of_graphs():
    """None if a graph's kernels, on other numbers, have the CPU's bits."""
    def run(x, w):
        q = T.quantize(x, group="tensor", convention="vllm")
        rows = T.quantize(x, convention="vllm")
        blocks = T.quantize(w, group="128x128", convention="vllm")
        return [T.dequantize(q), T.gemm(rows, blocks), T.linear(x, w)]

    x, w = codes(130, 200), codes(96, 200, seed=1)
    at = [on("cuda", torch.zeros_like(t)) for t in (x, w)]
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run(*at)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = run(*at)
    for to, t in zip(at, (x, w)):
        to.copy_(t)
    graph.replay()
    torch.cuda.synchronize()
    apart = [i for i, (a, b) in enumerate(zip(made, run(x, w)))
             if not torch.equal(bits(a), bits(b))]
    return f"results {apart}" if apart else None


def difference_of_gradients():
    """None if the gradients on a GPU are those on the CPU."""
    def gradients(device):
        q, k, v = (on(device, x).requires_grad_() for x in of_attention())
        c, s = (on(device, x) for x in table())
        w = on(device, numbers(24, seed=4)).requires_grad_()
        o = T.attention(T.rope(q, c, s), T.rope(k, c, s), v)
        y = T.rms_norm(o, w)
        y.backward(on(device, heads(24, seed=5)))
        logits, targets = (on(device, x) for x in of_losses())
        logits.requires_grad_()
        T.cross_entropy(logits, targets).backward()
        scores = on(device, numbers(50, 16)).requires_grad_()
        T.route(scores, 4).weights.backward(on(device, numbers(50, 4, seed=1)))
        return [x.grad for x in (q, k, v, w, logits, scores)]

    for i, (a, b) in enumerate(zip(gradients("cuda"), gradients("cpu"))):
        if not torch.equal(bits(a), bits(b)):
            return f"gradient {i}"
    return None


def main():
    if not is_hopper():
        print("skipped: no GPU of compute capability 9.0 here")
        return 0
    failed = 0
    runs = [(f"{name} {i}", lambda case=(name, *rest): difference(*case))
            for i, (name, *rest) in enumerate(CASES + COPIED + LARGE)]
    wholes = [("gradients", difference_of_gradients),
              ("training", difference_of_training),
              ("graphs", difference_of_graphs)]
    for name, run in [*runs, *wholes]:
        start = time.monotonic()
        try:
            apart = run()
        except (ValueError, RuntimeError) as e:
            apart = f"{type(e).__name__}: {e}"
        failed += apart is not None
        print(f"{'ok' if apart is None else 'not ok'} {name} "
              f"({time.monotonic() - start:.1f} s){'' if apart is None else ': '}"
              f"{apart or ''}", flush=True)
    print(f"{len(runs) + len(wholes) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
