"""Two dumps of a pass, made here and compared by the bundled program."""

import hashlib

import numpy as np
import pytest
import zeroulp
from zeroulp import _program, parity

try:
    PROGRAM = _program.program()
except zeroulp.Error:
    PROGRAM = None
pytestmark = pytest.mark.skipif(not PROGRAM, reason="no program zeroulp here")

RNG = np.random.default_rng(4)
CHAIN = [{"name": "quantize", "is": "quantize", "with": "from=fp32,group=1x128",
          "reads": {"x": "x"}, "makes": {"codes": "q", "scales": "q.scale"}}]


def made(x, convention="zeroulp", scale="fp32"):
    q = zeroulp.quantize(x, "e4m3", "1x128", convention, scale=scale)
    return {"x": x, "q": np.asarray(q.codes).view("u1"),
            "q.scale": np.asarray(q.scales, dtype=np.float32)}


X = RNG.standard_normal((128, 256)).astype(np.float32)


def test_equal_passes():
    report = parity.compare(made(X), made(X), CHAIN)
    assert report and report.first_tensor == ""
    assert report.operators[0]["makes"][0]["sha256"] == \
        hashlib.sha256(made(X)["q"].tobytes()).hexdigest()


def test_a_rule_is_named(tmp_path):
    parity.record(tmp_path / "b.safetensors", made(X, scale="pow2"))
    report = parity.compare(made(X), tmp_path / "b.safetensors", CHAIN)
    assert not report
    assert report.first_rule == "quantize"
    assert "pow2" in report.operators[0]["b"]["name"]


def test_other_names():
    b = made(X)
    b["codes"] = b.pop("q")
    assert parity.compare(made(X), b, CHAIN, names={"q": "codes"})
    with pytest.raises(zeroulp.Error, match="no tensor 'q'"):
        parity.compare(made(X), b, CHAIN)


class Module:
    """What a torch module has, as far as a recorder asks."""

    def __init__(self, **children):
        self.children, self.hooks = children, []

    def named_modules(self):
        yield "", self
        for name, child in self.children.items():
            yield name, child

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        owner = self

        class Handle:
            def remove(self):
                owner.hooks.remove(hook)
        return Handle()

    def __call__(self, output):
        for hook in self.hooks:
            hook(self, (), output)


class Tensor(np.ndarray):
    def detach(self):
        return self

    def clone(self):
        return np.array(self)


def test_a_recorder_keeps_outputs(tmp_path):
    norm, pair = Module(), Module()
    model = Module(norm=norm, pair=pair)
    with parity.Recorder(model, {"norm": "normed", "pair": "two"}) as recorder:
        norm(X.view(Tensor))
        pair((X[:2].view(Tensor), None))
    assert not norm.hooks and not pair.hooks
    assert sorted(recorder.tensors) == ["normed", "two.0"]
    recorder.save(tmp_path / "a.safetensors")
    kept = zeroulp.checkpoint.tensors(tmp_path / "a.safetensors")
    assert {t["name"]: t["shape"] for t in kept} == \
        {"normed": [128, 256], "two.0": [2, 256]}


def test_a_recorder_keeps_each_call_and_each_key(tmp_path):
    block = Module()
    with parity.Recorder(Module(block=block), {"block": "y"}) as recorder:
        block(X[:1].view(Tensor))
        block({"h": X[:2].view(Tensor), "cache": object()})
        with pytest.raises(zeroulp.Error, match="'y' is a object"):
            block(object())
    assert {n: t.shape[0] for n, t in recorder.tensors.items()} == \
        {"y": 1, "y@2.h": 2}
    assert recorder.skipped == {"y@2.cache": "object", "y@3": "object"}


@pytest.mark.parametrize("dtype, kind", [
    ("int64", "I64"), ("int32", "I32"), ("int16", "I16"), ("int8", "I8"),
    ("bool", "BOOL")])
def test_integers_are_recorded(tmp_path, dtype, kind):
    x = np.array([[0, 1], [5, -1]]).astype(dtype)
    parity.record(tmp_path / "a.safetensors", {"x": x, "y": x[:, 0]})
    kept = zeroulp.checkpoint.tensors(tmp_path / "a.safetensors")
    assert {t["name"]: (t["type"], t["shape"]) for t in kept} == \
        {"x": (kind, [2, 2]), "y": (kind, [2])}
    assert (tmp_path / "a.safetensors").read_bytes().endswith(
        x.tobytes() + x[:, 0].tobytes())


def test_slots_of_any_width_are_the_same():
    """-1, no row, is -1 in int64 and in int32."""
    chain = [{"name": "sum", "is": "combine", "makes": {"sums": "y"},
              "reads": {"x": "x", "slots": "slots"}}]
    slots = np.array([[0, -1], [1, 0]])
    def side(dtype):
        one = np.full((2, 128), 0x3f80, np.uint16)
        return {"x": one, "y": one, "slots": slots.astype(dtype)}
    assert parity.compare(side("int64"), side("int32"), chain)


def test_a_recorder_names_what_is_missing(tmp_path):
    with pytest.raises(zeroulp.Error, match="no module 'mlp'"):
        parity.Recorder(Module(), {"mlp": "y"})
    with pytest.raises(zeroulp.Error, match="nothing to save"):
        parity.Recorder(Module()).save(tmp_path / "none.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, given, said", [
    ("x", None, "x: is a NoneType"), ("x", "text", "x: is a str"),
    ("__metadata__", X, "'__metadata__': is no name"),
    (3, X, "3: is no name"), ("\ud800", X, "is no name"),
    ("x" * 5000, X, "is no name")])
def test_what_is_no_tensor_is_not_recorded(tmp_path, name, given, said):
    with pytest.raises(zeroulp.Error, match=said):
        parity.record(tmp_path / "a.safetensors", {"y": X, name: given})
    assert not list(tmp_path.iterdir())


def test_lists_of_integers_are_integers(tmp_path):
    parity.record(tmp_path / "a.safetensors", {"slots": [[0, -1], [1, 2]]})
    kept = zeroulp.checkpoint.tensors(tmp_path / "a.safetensors")
    assert (kept[0]["type"], kept[0]["shape"]) == ("I64", [2, 2])
