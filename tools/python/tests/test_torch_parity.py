"""Two variants of a small torch model, recorded and told apart."""

import dataclasses

import pytest
import zeroulp
from zeroulp import parity

torch = pytest.importorskip("torch")
try:
    PROGRAM = zeroulp.identify.answer_of(["formats"], ".") is not None
except zeroulp.Error:
    PROGRAM = False
pytestmark = pytest.mark.skipif(not PROGRAM, reason="no program zeroulp here")

WIDTH, HEADS, LENGTH = 256, 2, 96
CHAIN = [
    {"name": "norm", "is": "rms_norm", "reads": {"x": "x", "w": "gain"},
     "makes": {"y": "normed"}},
    {"name": "rope", "is": "rope",
     "with": f"heads={HEADS},length={LENGTH},pairs=halves",
     "reads": {"x": "normed"}, "makes": {"y": "turned"}},
    {"name": "add", "is": "residual", "reads": {"x": "x", "r": "turned"},
     "makes": {"y": "out"}}]


class Norm(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(WIDTH).bfloat16())
        self.eps = eps

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return (y * self.weight.float()).bfloat16()


class Rope(torch.nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        batch, length, width = x.shape
        of_head = width // HEADS
        steps = torch.arange(0, of_head, 2, dtype=torch.int64).float()
        by = 1.0 / (10000.0 ** (steps / of_head))
        angles = torch.outer(torch.arange(length).float(), by)
        angles = torch.cat((angles, angles), -1)[None, :, None]
        cosines, sines = (f().to(self.table) for f in (angles.cos, angles.sin))
        x = x.view(batch, length, HEADS, of_head)
        half = of_head // 2
        other = torch.cat((-x[..., half:], x[..., :half]), -1)
        y = x * cosines + other * sines
        return y.bfloat16().reshape(batch, length, width)


class Block(torch.nn.Module):
    def __init__(self, eps=1e-6, table=torch.float32):
        super().__init__()
        self.norm, self.rope = Norm(eps), Rope(table)

    def forward(self, x):
        return x + self.rope(self.norm(x))


def recorded(path, **how):
    torch.manual_seed(0)
    model = torch.nn.ModuleDict({"layer": Block(**how)})
    x = torch.randn(2, LENGTH, WIDTH).bfloat16()
    with parity.Recorder(model, {"layer.norm": "normed", "layer.rope": "turned",
                                 "layer": "out"}) as recorder:
        model["layer"](x)
    recorder.tensors.update({"x": x, "gain": model["layer"].norm.weight})
    recorder.save(path)
    return path


def compared(tmp_path, **how):
    return parity.compare(recorded(tmp_path / "a.safetensors"),
                          recorded(tmp_path / "b.safetensors", **how), CHAIN)


def test_the_same_model_is_the_same(tmp_path):
    assert compared(tmp_path)


def test_an_epsilon_is_named(tmp_path):
    report = compared(tmp_path, eps=1e-5)
    assert (report.first_tensor, report.first_rule) == ("normed", "norm")
    assert report.operators[0]["b"]["name"] == "eps 1e-5"
    assert report.share_of_all_rules == 1


def test_a_table_of_bf16_is_named(tmp_path):
    report = compared(tmp_path, table=torch.bfloat16)
    assert report.first_rule == "rope"
    a, b = (report.operators[1][side]["name"] for side in "ab")
    assert a.startswith("fp32 angles") and "through bf16" not in a
    assert b.startswith("fp32 angles") and "through bf16" in b
    assert report.share_of_all_rules == 1


def test_tensors_of_torch_are_recorded(tmp_path):
    x = torch.randn(4, 6)
    kinds = {"codes": (x.to(torch.float8_e4m3fn).t(), "F8_E4M3", [6, 4]),
             "e5m2": (x.to(torch.float8_e5m2), "F8_E5M2", [4, 6]),
             "slots": (torch.arange(4), "I64", [4]),
             "mask": (x > 0, "BOOL", [4, 6]),
             "bf16": (x.bfloat16()[:, ::2], "BF16", [4, 3]),
             "grad": (x.clone().requires_grad_(), "F32", [4, 6])}
    parity.record(tmp_path / "a.safetensors",
                  {name: kind[0] for name, kind in kinds.items()})
    kept = zeroulp.checkpoint.tensors(tmp_path / "a.safetensors")
    assert {t["name"]: (t["type"], t["shape"]) for t in kept} == \
        {name: kind[1:] for name, kind in kinds.items()}
    with pytest.raises(zeroulp.Error, match="meta"):
        parity.record(tmp_path / "b.safetensors",
                      {"x": torch.empty(2, device="meta")})


def test_outputs_are_kept_as_they_were():
    """A module that writes over its input; one that returns a dataclass."""
    @dataclasses.dataclass
    class Output:
        h: torch.Tensor
        cache: object = None

    class Last(torch.nn.Module):
        def forward(self, x):
            return Output(x)

    model = torch.nn.Sequential(
        torch.nn.Linear(6, 6), torch.nn.ReLU(inplace=True), Last())
    with parity.Recorder(model) as recorder:
        model(torch.randn(4, 6))
    assert sorted(recorder.tensors) == ["0", "1", "2.h"]
    assert recorder.tensors["0"].min() < 0 <= recorder.tensors["1"].min()
