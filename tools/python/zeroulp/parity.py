"""Whose bits differ first: two dumps of one pass, a trainer's and a sampler's,
by the program that the package carries.

    with zeroulp.parity.Recorder(model, {"norm": "normed"}) as recorder:
        model(x)
    recorder.save("trainer.safetensors")
    report = zeroulp.parity.compare("trainer.safetensors",
                                    "sampler.safetensors", chain)
    report.first_tensor, report.first_rule

A chain is a list of operators, or the path of a JSON file with them (`zeroulp
parity --help`); {"repeat": n, "operators": [...]} in it stands for n layers. Bad input raises zeroulp.Error: file, tensor, operator."""

import json
import os
import pathlib
import tempfile

from ._arrays import bits_of
from ._library import Error
from ._program import answer_of
from .checkpoint import Report

_STORED_AS = {"fp32": "F32", "bf16": "BF16", "fp16": "F16", "fp64": "F64",
              "e4m3": "F8_E4M3", "e5m2": "F8_E5M2", "ue8m0": "F8_E8M0",
              "e4m3fnuz": "F8_E4M3FNUZ"}
_INTEGERS = {1: "U8", 2: "U16", 4: "U32", 8: "U64"}


def record(path, tensors):
    """Writes {name: array} as one .safetensors file, every bit as it is: NumPy,
    ml_dtypes or torch, on any device. It appears whole or not at all."""
    header, parts, at = {}, [], 0
    for name, given in tensors.items():
        bits = bits_of(given, name)
        data = bits.words.tobytes()
        kind = _STORED_AS.get(bits.format) or _INTEGERS[bits.words.itemsize]
        header[name] = {"dtype": kind, "shape": list(bits.shape),
                        "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = pathlib.Path(path)
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for data in parts:
                file.write(data)
        os.replace(partial, path)
    except OSError as e:
        partial.unlink(missing_ok=True)
        raise Error(f"{path}: cannot write: {e.strerror}") from None


class Recorder:
    """Keeps what modules of a torch model return while it is open.

    `names` says under which name: {"layers.0.norm": "normed"}; without it, each
    module's output under the module's own name. `tensors` may be added to."""

    def __init__(self, model, names=None):
        self.tensors = {}
        modules = dict(model.named_modules())
        missing = [m for m in names or {} if m not in modules]
        if missing:
            raise Error(f"names: the model has no module {missing[0]!r}")
        self._hooked = [(modules[m], name) for m, name in names.items()] \
            if names else [(module, m) for m, module in modules.items() if m]
        self._handles = []

    def __enter__(self):
        for module, name in self._hooked:
            self._handles.append(module.register_forward_hook(
                lambda _module, _inputs, output, name=name:
                self._keep(name, output)))
        return self

    def __exit__(self, *_):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _keep(self, name, output):
        if isinstance(output, (tuple, list)):
            for i, one in enumerate(output):
                self._keep(f"{name}.{i}", one)
        elif hasattr(output, "detach"):
            self.tensors[name] = output.detach().clone()

    def save(self, path):
        """Writes what was kept. Raises Error if nothing was."""
        if not self.tensors:
            raise Error("recorder: no module ran: there is nothing to save")
        record(path, self.tensors)


def compare(a, b, chain, *, names=None, rows=128):
    """Where two dumps of one pass part: a Report that is true if every element
    is the same, with `first_tensor`, `first_rule`, `operators`,
    `share_of_all_rules`, and `alone` where only the order of sums differs.

    a, b: paths of dumps, or {name: array}. names: {name in the chain: name in
    b}. rows: on which rules are sought; 0: all."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def path_of(given, name):
            if isinstance(given, (str, os.PathLike)):
                return os.path.abspath(given)
            record(folder / f"{name}.safetensors", given)
            return str(folder / f"{name}.safetensors")

        def json_of(given, name):
            if isinstance(given, (str, os.PathLike)):
                return os.path.abspath(given)
            (folder / name).write_text(json.dumps(given))
            return str(folder / name)

        operators = {"operators": chain} if isinstance(chain, list) else chain
        arguments = ["parity", path_of(a, "a"), path_of(b, "b"),
                     "--chain", json_of(operators, "chain.json"),
                     "--rows", str(rows)]
        if names is not None:
            arguments += ["--map", json_of(names, "map.json")]
        answer = answer_of(arguments, ".")
    return Report(answer, answer["same"])
