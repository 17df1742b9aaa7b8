"""The operators of a training step on tensors: differentiable, with the bits of
zeroulp's functions on whichever device; what they refuse."""

import contextlib
import pathlib
import sys
import types

import pytest
import zeroulp

torch = pytest.importorskip("torch")
import torch_cases  # noqa: E402
import zeroulp.torch  # noqa: E402
from torch_cases import (CASES, codes, gather_rows, heads, numbers,  # noqa: E402
                         of_attention, of_losses, of_norm, of_slots, table)
from zeroulp import Error, _cuda, _torch_model  # noqa: E402

T = zeroulp.torch
each_case = pytest.mark.parametrize(
    "name, arguments, how", CASES,
    ids=[f"{name}{i}" for i, (name, _, _) in enumerate(CASES)])


@each_case
def test_a_gpu_has_the_bits_of_the_cpu(name, arguments, how):
    if not torch_cases.is_hopper():
        pytest.skip("no GPU of compute capability 9.0 here")
    assert torch_cases.difference(name, arguments, how) is None


def aligned_room(size, device):
    """As torch aligns a GPU's memory."""
    work = torch.empty(size + 256, dtype=torch.uint8)
    return work, work.data_ptr() + -work.data_ptr() % 256, size


@each_case
def test_a_request_reaches_the_gpu(name, arguments, how, monkeypatch):
    # As if the memory were a GPU's: CUDA is asked, which is to say that the
    # library found nothing wrong with the request.
    try:
        _cuda.library()
    except Error as e:
        pytest.skip(f"no library of the kernels here: {e}")
    if torch_cases.is_hopper():
        pytest.skip("it would run")
    given = arguments()
    monkeypatch.setattr(_torch_model, "_on_gpu", lambda x: True)
    monkeypatch.setattr(_cuda, "_current_stream",
                        lambda device: contextlib.nullcontext())
    monkeypatch.setattr(_cuda, "room", aligned_room)
    monkeypatch.setattr(_cuda, "serves", lambda device: True)
    with pytest.raises(zeroulp.CudaError, match="CUDA|compute capability"):
        getattr(T, name)(*given, **how)


def test_attention_in_place_of_torchs():
    q, k, v = (x.transpose(1, 2) for x in of_attention())
    f = T.scaled_dot_product_attention
    o = f(q, k, v, is_causal=True, scale=0.25)
    assert torch.equal(o.transpose(1, 2), T.attention(*of_attention(), 0.25))
    # A row has the bits of the sequence alone, cut behind it; its gradient, too.
    for at in (1, 5, q.shape[2]):
        whole, cut = ([x.detach().clone().requires_grad_() for x in (q, k, v)]
                      for _ in range(2))
        left = f(*whole, is_causal=True)[1, :, :at]
        right = f(*(x[1:2, :, :at] for x in cut), is_causal=True)[0]
        assert torch.equal(left, right)
        slope = torch.ones_like(left)
        left.backward(slope)
        right.backward(slope)
        for x, y in zip(whole, cut):
            assert torch.equal(x.grad, y.grad)
    for how, said in ((dict(), "is_causal is false"),
                      (dict(is_causal=True, dropout_p=0.1), "dropout_p is 0.1"),
                      (dict(is_causal=True, attn_mask=q), "attn_mask"),
                      (dict(is_causal=True, enable_gqa=True), "repeat key")):
        with pytest.raises(Error, match=said):
            f(q, k, v, **how)
    with pytest.raises(Error, match=r"key: .*heads, length, depth"):
        f(q, k[0, 0], v, is_causal=True)
    with pytest.raises(Error, match="query"):
        f(q.float(), k, v, is_causal=True)


def test_attention_is_differentiable():
    q, k, v = (x.requires_grad_() for x in of_attention())
    o = T.attention(q, k, v)
    d_o = heads(24, seed=3)
    o.backward(d_o)
    kept = zeroulp.attention(*(x.detach().flatten(-2) for x in (q, k, v)), 3)
    assert torch.equal(o.flatten(-2), kept.o)
    want = zeroulp.attention_backward(
        d_o.flatten(-2), *(x.detach().flatten(-2) for x in (q, k, v)), *kept, 3)
    for x, g in zip((q, k, v), want):
        assert torch.equal(x.grad.flatten(-2), g)
    others = [x.detach().float().transpose(1, 2).requires_grad_()
              for x in (q, k, v)]
    y = torch.nn.functional.scaled_dot_product_attention(*others, is_causal=True)
    y.backward(d_o.float().transpose(1, 2))
    for x, other in zip((q, k, v), others):
        near = other.grad.transpose(1, 2)
        assert (x.grad - near).norm() / near.norm() < 0.02


def test_rope_turns_back():
    x = heads(16, seed=0).requires_grad_()
    c, s = table()
    y = T.rope(x, c, s, "halves")
    y.backward(y.detach())
    assert (x.grad.float() - x.float()).abs().max() < 0.05
    want = zeroulp.rope(x.detach().flatten(-2), c, s, "halves", heads=3)
    assert torch.equal(y.flatten(-2), want)


def test_rms_norm_is_differentiable():
    dy, x, w, rstd, _ = of_norm()
    x.requires_grad_(), w.requires_grad_()
    y = T.rms_norm(x, w)
    y.backward(dy)
    dx, dw = zeroulp.rms_norm_backward(dy, x.detach(), w.detach(), rstd)
    assert torch.equal(x.grad, dx) and torch.equal(w.grad, dw)
    other = x.detach().float().requires_grad_()
    torch.nn.functional.rms_norm(other, (264,), w.detach(), 1e-6).backward(
        dy.float())
    assert (x.grad - other.grad).norm() / other.grad.norm() < 0.01


def test_weights_of_experts_are_differentiable():
    logits = numbers(50, 16).requires_grad_()
    found = T.route(logits, 4, score="softmax")
    assert not found.scores.requires_grad and found.weights.requires_grad
    slopes = numbers(50, 4, seed=1)
    found.weights.backward(slopes)
    assert torch.equal(logits.grad, zeroulp.route_backward(
        slopes, found.experts, found.scores, "softmax"))


def test_sums_of_experts_are_differentiable():
    dy, slots, weights, y = of_slots()
    y.requires_grad_(), weights.requires_grad_()
    T.combine(y, slots, weights).backward(dy)
    want = zeroulp.slot_backward(dy, slots, weights.detach(), y.detach())
    assert torch.equal(y.grad, want[0]) and torch.equal(weights.grad, want[1])


def test_cross_entropy_is_differentiable():
    logits, targets = of_losses()
    logits.requires_grad_()
    loss = T.cross_entropy(logits, targets)
    loss.backward()
    losses, dlogits = zeroulp.cross_entropy(logits.detach(), targets)
    assert loss.item() == zeroulp.sum_of_losses(losses) / 299
    assert torch.equal(logits.grad, dlogits.float())
    other = torch.nn.functional.cross_entropy(
        logits.detach().flatten(0, 1), targets.flatten().long(), ignore_index=-1)
    assert abs(loss.item() - other.item()) < 1e-5


def test_rows_are_gathered():
    x, rows = gather_rows()
    y = T.gather(x, rows)
    assert torch.equal(y[0], x[3]) and torch.equal(y[3], x[19])
    assert not y[1].any() and not y[4].any()


@pytest.mark.parametrize("call, what", [
    (lambda q, k, v: T.attention(q.float(), k, v),
     "q: elements are float32: use bfloat16"),
    (lambda q, k, v: T.attention(q, k[:1], v),
     r"k: \(1, 40, 3, 16\), but \(2, 40, 3, 16\) is needed"),
    (lambda q, k, v: T.attention(q[0, 0], k, v),
     r"q: \(3, 16\): \[..., length, heads, depth\] is needed"),
    (lambda q, k, v: T.attention(q, k, v, scale=-1.0), "scale is -1.0"),
    (lambda q, k, v: T.attention(q.to("meta"), k, v), "on meta: use cpu or cuda"),
    (lambda q, k, v: T.attention([1], k, v), "q is list: use a tensor of torch"),
    (lambda q, k, v: T.rope(q, *table(8)), r"cosines: \(96, 4\), but 40 positions"),
    (lambda q, k, v: T.rope(q, *table(), "odd"), "pairs: 'odd': use one of"),
    (lambda q, k, v: T.rms_norm(q, torch.ones(8)), r"w: \(8,\), but \(16,\)"),
    (lambda q, k, v: T.rms_norm_backward(q, q, torch.ones(16), torch.ones(2)),
     r"rstd: \(2,\), but \(2, 40, 3\) is needed"),
    (lambda q, k, v: T.route(q, 2), "logits: elements are bfloat16: use float32"),
    (lambda q, k, v: T.route(torch.ones(4, 8), 9), "top"),
    (lambda q, k, v: T.plan(torch.ones(4, 2), 8), "experts: elements are float32"),
    (lambda q, k, v: T.gather(q, torch.ones(2).int()), "two dimensions are needed"),
    (lambda q, k, v: T.cross_entropy(torch.ones(4, 8), torch.ones(4).long()),
     "targets: elements are int64: use int32"),
    (lambda q, k, v: T.cross_entropy_forward(torch.ones(4, 8), torch.ones(3).int()),
     r"targets: \(3,\), but \(4,\) is needed"),
    (lambda q, k, v: T.gemm_bf16(codes(4, 8), codes(4, 9)), "the same K"),
    (lambda q, k, v: T.gemm_bf16(codes(4, 8), codes(4, 8), "fp8"),
     "output: 'fp8': use one of fp32, bf16"),
    (lambda q, k, v: T.slot_backward(codes(4, 8), torch.ones(4, 2).int()),
     "rows: say how many"),
])
def test_bad_requests_are_named(call, what):
    with pytest.raises(Error, match=what):
        call(*of_attention())


def test_a_gpus_own_limits_are_named(monkeypatch):
    monkeypatch.setattr(_torch_model, "_on_gpu", lambda x: True)
    q = codes(1, 8, 1, 12)
    with pytest.raises(Error, match="q: a head is 12 wide: on a GPU use a multiple"):
        T.attention(q, q, q)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setenv("ZEROULP_CUDA_LIBRARY", "/nowhere/libzeroulp_cuda.so")
    _cuda.library.cache_clear()
    try:
        with pytest.raises(Error, match="the library of the kernels: /nowhere"):
            _cuda.library()
    finally:
        _cuda.library.cache_clear()


def test_the_package_of_the_kernels_is_found(monkeypatch, tmp_path):
    monkeypatch.delenv("ZEROULP_CUDA_LIBRARY", raising=False)
    if (pathlib.Path(zeroulp.__file__).parent / "libzeroulp_cuda.so").exists():
        pytest.skip("the kernels are in this package")
    _cuda.library.cache_clear()
    monkeypatch.setitem(sys.modules, "zeroulp_cuda13", None)
    try:
        with pytest.raises(Error, match="the package zeroulp-cuda13 is not install"):
            _cuda.library()
        package = types.SimpleNamespace(library=str(tmp_path / "none.so"))
        monkeypatch.setitem(sys.modules, "zeroulp_cuda13", package)
        with pytest.raises(Error, match="none.so"):
            _cuda.library()
    finally:
        _cuda.library.cache_clear()
