"""Linear layers and torch's scaled product."""

import pytest
import zeroulp

torch = pytest.importorskip("torch")
import zeroulp.torch  # noqa: E402
from zeroulp import Error  # noqa: E402

torch.manual_seed(0)


def test_a_layer_is_its_three_products():
    x = torch.randn(3, 40, 256, dtype=torch.bfloat16, requires_grad=True)
    layer = zeroulp.torch.Linear(256, 192, dtype=torch.bfloat16)
    y = layer(x)
    dy = torch.randn_like(y)
    y.backward(dy)
    rows, drows = x.detach().reshape(-1, 256), dy.reshape(-1, 192)
    qx, qdy = (zeroulp.quantize(t, convention="deepseek_v3", scale="fp32")
               for t in (rows, drows))
    w = layer.weight.detach()
    qw = zeroulp.quantize(w, group="128x128", convention="deepseek_v3",
                          scale="fp32")
    want = zeroulp.gemm(qx, qw).reshape(3, 40, 192) + layer.bias
    assert torch.equal(y, want)
    qwt = zeroulp.quantize(qw.dequantize().t().contiguous(), group="128x128")
    turned = zeroulp.Quantized(qw.codes.t(), qw.scales.t(), "e4m3", "128x128")
    assert torch.equal(turned.dequantize(), qw.dequantize().t())
    assert qwt.shape == (256, 192)
    assert torch.equal(x.grad.reshape(-1, 256), zeroulp.gemm(qdy, turned))
    dw = zeroulp.gemm(qdy.retile(), qx.retile(), "deepgemm.1d1d")
    assert torch.equal(layer.weight.grad, dw.bfloat16())


def test_gradients_are_near_those_of_torch():
    x = torch.randn(64, 256, requires_grad=True)
    mine = torch.nn.Linear(256, 128)
    y = zeroulp.torch.linear(x, mine.weight, mine.bias)
    y.square().sum().backward()
    got = x.grad.clone(), mine.weight.grad.clone()
    x.grad = mine.weight.grad = None
    mine(x).square().sum().backward()
    for a, b in zip(got, (x.grad, mine.weight.grad)):
        assert (a - b).norm() / b.norm() < 0.1


def test_operators_hold_torchs_checks():
    x = torch.randn(8, 128, requires_grad=True)
    w = torch.randn(128, 128, requires_grad=True)
    torch.library.opcheck(torch.ops.zeroulp.linear, (x, w, "zeroulp"),
                          test_utils=("test_schema", "test_autograd_registration",
                                      "test_faketensor"))


def test_rows_do_not_depend_on_the_batch():
    w = torch.randn(256, 384)
    x = torch.randn(200, 384)
    whole = zeroulp.torch.linear(x, w)
    for m in (1, 2, 3, 64, 128, 199):
        assert torch.equal(zeroulp.torch.linear(x[:m], w), whole[:m])


def test_a_model_is_converted():
    model = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(),
                                torch.nn.Linear(128, 4))
    weights = [p.clone() for p in model.parameters()]
    zeroulp.torch.convert(model, keep=lambda name, module: name == "2")
    assert type(model[0]) is zeroulp.torch.Linear
    assert type(model[2]) is torch.nn.Linear
    assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters()))
    losses = []
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    x, y = torch.randn(64, 128), torch.randn(64, 4)
    for _ in range(5):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert "recipe='deepseek_v3'" in repr(model)


def fp8(m, k, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(m, k, generator=g).to(torch.float8_e4m3fn)


@pytest.mark.parametrize("m, k, groups, recipe", [
    (48, 512, ("tensor", "tensor"), "cublaslt.tensorwise"),
    (48, 512, ("1x128", "128x128"), "cublaslt.1x128_128x128"),
    (48, 512, ("1x128", "1x128"), "cublaslt.1x128_1x128"),
    (48, 512, ("128x128", "1x128"), "cublaslt.128x128_1x128"),
    (48, 128, ("1x128", "1x128"), "cublaslt.1x128_1x128.k128"),
    (1, 512, ("1x128", "1x128"), "cublaslt.1x128_1x128.m1"),
    (48, 512, ("1x0", "1x0"), "cublaslt.rows"),
])
def test_scaled_products_follow_the_rule(m, k, groups, recipe):
    n = 160
    a, b = fp8(m, k, 1), fp8(n, k, 2)
    shapes = {"tensor": lambda r: (1, 1), "1x0": lambda r: (r, 1), "1x128": lambda r: (r, -(-k // 128)),
              "128x128": lambda r: (-(-r // 128), -(-k // 128))}
    sa, sb = (torch.rand(shapes[g](r)) + 0.5 for g, r in zip(groups, (m, n)))
    fast = recipe == "cublaslt.rows"
    d = zeroulp.torch.scaled_mm(a, b.t(), sa, sb.t(), out_dtype=torch.float32,
                                use_fast_accum=fast)
    group = "128x128" if recipe.endswith(".m1") else groups[0]
    want = zeroulp.gemm(zeroulp.Quantized(a, sa, "e4m3", group),
                        zeroulp.Quantized(b, sb, "e4m3", groups[1]), recipe,
                        output="fp32")
    assert torch.equal(d, want)
    split = zeroulp.torch.scaled_mm(a, b.t(), sa, sb.t(), splits=2,
                                    out_dtype=torch.bfloat16, use_fast_accum=fast)
    assert split.dtype == torch.bfloat16


@pytest.mark.parametrize("k, shapes, group", [
    (512, ((1, 1), (160, 1)), "1x0"),
    (96, ((1, 1), (160, 1)), "1x0"),
    (96, ((), (2, 1)), "128x128"),
])
def test_one_scale_is_that_of_the_only_row_or_tile(k, shapes, group):
    a, b = fp8(1, k, 1), fp8(160, k, 2)
    sa, sb = (torch.rand(shape) + 0.5 for shape in shapes)
    d = zeroulp.torch.scaled_mm(a, b.t(), sa, sb.t(), out_dtype=torch.float32,
                                use_fast_accum=True)
    recipe = "cublaslt.rows" if group == "1x0" else "cublaslt.1x128_128x128"
    want = zeroulp.gemm(
        zeroulp.Quantized(a, sa.reshape(1, 1), "e4m3", "1x128"
                          if group != "1x0" else group),
        zeroulp.Quantized(b, sb, "e4m3", group), recipe, output="fp32")
    assert torch.equal(d, want)


def test_fast_accumulation_is_not_promoted():
    a, b, one = fp8(32, 4096, 1), fp8(32, 4096, 2), torch.ones(())
    fast, slow = (zeroulp.torch.scaled_mm(a, b.t(), one, one, use_fast_accum=f,
                                          out_dtype=torch.float32)
                  for f in (True, False))
    assert not torch.equal(fast, slow)


@pytest.mark.parametrize("change, what", [
    (dict(bias=torch.ones(8)), "bias: how cuBLASLt rounds it"),
    (dict(scale_result=torch.ones(())), "scale_result: how"),
    (dict(out_dtype=None), "out_dtype is None: use torch.bfloat16 or"),
    (dict(out_dtype=torch.float8_e4m3fn), "out_dtype is torch.float8_e4m3fn"),
    (dict(scale_a=torch.ones(16, 1)), "scale_a is of 1x0, scale_b of tensor"),
    (dict(scale_a=torch.ones(16, 1), scale_b=torch.ones(1, 8)),
     "use_fast_accum: what cuBLASLt computes by scales of rows"),
    (dict(scale_a=torch.ones(5, 1)), r"scale_a: \(5, 1\): one scale, or one for"),
    (dict(scale_a=torch.ones(()).double()), "scale_a: elements are torch.float64"),
    (dict(mat_b=fp8(8, 128, 1).t()), "M x K and K x N are multiplied"),
])
def test_what_has_no_recipe_is_refused(change, what):
    given = dict(mat_a=fp8(16, 256, 1), mat_b=fp8(8, 256, 2).t(),
                 scale_a=torch.ones(()), scale_b=torch.ones(()),
                 out_dtype=torch.bfloat16)
    given.update(change)
    with pytest.raises(Error, match=what):
        zeroulp.torch.scaled_mm(**given)


def test_bad_layers_are_named():
    with pytest.raises(Error, match="recipe: 'mine': use one of deepseek_v3"):
        zeroulp.torch.Linear(8, 8, recipe="mine")
    with pytest.raises(Error, match=r"x is \(4, 8\), w is \(3, 9\)"):
        zeroulp.torch.linear(torch.ones(4, 8), torch.ones(3, 9))
    with pytest.raises(Error, match="x: elements are torch.float64"):
        zeroulp.torch.linear(torch.ones(4, 8).double(), torch.ones(3, 8).double())


def test_assertions_take_tensors():
    def kernel(x):
        assert isinstance(x, torch.Tensor)
        return zeroulp.quantize(x, convention="vllm")
    for source in ("fp32", "bf16"):
        zeroulp.testing.assert_quantizes_as(kernel, "vllm", source=source,
                                            device="cpu")
    zeroulp.testing.assert_multiplies_as(zeroulp.gemm, device="cpu")


def _fp8(rows, cols, seed):
    made = torch.randn(rows, cols, generator=torch.Generator().manual_seed(seed))
    return made.to(torch.float8_e4m3fn)


def test_scaled_mm_is_like_a_library_or_refused():
    a, b = _fp8(1, 7168, 1), _fp8(1536, 7168, 2)
    one = torch.ones(())

    def call(a=a, b=b, one=one, out=torch.bfloat16, **how):
        return zeroulp.torch.scaled_mm(a, b.t(), one, one, out_dtype=out, **how)
    d = call(like="cublaslt-13.1:h200")
    assert torch.equal(d, call(like="cublaslt-13.1"))
    same = call(recipe="cublaslt.tensorwise", splits=2)
    assert torch.equal(d.view(torch.int16), same.view(torch.int16))
    fast = call(like="cublaslt-13.1:h200", use_fast_accum=True)
    same = call(recipe="unpromoted", splits=2)
    assert torch.equal(fast.view(torch.int16), same.view(torch.int16))
    with pytest.raises(zeroulp.Error, match="no record of cuBLASLt.*3 x 1536"):
        call(a=_fp8(3, 7168, 3), like="cublaslt-13.1:h200")
    with pytest.raises(zeroulp.Error, match="no such record.*carries cuBLASLt"):
        call(like="cublaslt-12.9:h100")
    with pytest.raises(zeroulp.Error, match="leave them out"):
        call(like="cublaslt-13.1:h200", splits=2)
    with pytest.raises(zeroulp.Error, match="No such file"):
        call(like="/none.json")
    rows = torch.rand(1, 56), torch.rand(1536, 56)
    by_rows = [zeroulp.torch.scaled_mm(a, b.t(), rows[0], rows[1].t(),
                                       out_dtype=torch.bfloat16, **how)
               for how in (dict(like="cublaslt-13.1"), dict(splits=2))]
    assert torch.equal(*by_rows)
    tiles = torch.ones(1, 56), torch.ones(12, 56)
    with pytest.raises(zeroulp.Error, match="refuses 1 x 1536 x 7168.*128x128"):
        zeroulp.torch.scaled_mm(a, b.t(), tiles[0], tiles[1].t(), out_dtype=torch.bfloat16,
                     like="cublaslt-13.1:h200")
