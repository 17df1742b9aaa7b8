"""Whose bits differ first: two dumps of one pass, a trainer's and a sampler's,
by the program that the package carries.

    with zeroulp.parity.Recorder(model, {"norm": "normed"}) as recorder:
        model(x)
    recorder.tensors["x"] = x
    recorder.tensors["gain"] = model.norm.weight
    recorder.save("trainer.safetensors")
    chain = [{"name": "norm", "is": "rms_norm",
              "reads": {"x": "x", "w": "gain"}, "makes": {"y": "normed"}}]
    report = zeroulp.parity.compare("trainer.safetensors",
                                    "sampler.safetensors", chain)
    report.first_tensor, report.first_rule

A chain is a list of operators, or the path of a JSON file with them; `zeroulp
parity --operators` lists what there is. {"repeat": n, "operators": [...]} in it
stands for n layers. Bad input raises zeroulp.Error: file, tensor, operator."""

import collections.abc
import dataclasses
import json
import os
import pathlib
import tempfile

import numpy as np

from ._arrays import bits_of, is_tensor
from ._library import Error
from ._program import answer_of
from .checkpoint import Report

_STORED_AS = {"fp32": "F32", "bf16": "BF16", "fp16": "F16", "fp64": "F64",
              "e4m3": "F8_E4M3", "e5m2": "F8_E5M2", "ue8m0": "F8_E8M0",
              "e4m3fnuz": "F8_E4M3FNUZ"}
_INTEGERS = {1: "U8", 2: "U16", 4: "U32", 8: "U64"}


_SIGNED = {"int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
           "bool": "BOOL"}


def _stored(given, name):
    """The type, the shape and the bytes of an array in a file. Signed integers
    and truth values (experts, slots, positions, masks) are no codes."""
    if given is None or isinstance(given, (str, bytes)):
        raise Error(f"{name}: is a {type(given).__name__}: use an array")
    if getattr(given, "is_meta", False):
        raise Error(f"{name}: is on torch's meta device: it has no numbers")
    if isinstance(given, (int, list, tuple)):
        given = np.asarray(given)
    kind = _SIGNED.get(str(getattr(given, "dtype", "")).removeprefix("torch."))
    if kind is None:
        bits = bits_of(given, name)
        kind = _STORED_AS.get(bits.format) or _INTEGERS[bits.words.itemsize]
        return kind, list(bits.shape), bits.words.tobytes()
    array = given.detach().cpu().numpy() if is_tensor(given) \
        else np.asarray(given)
    return kind, list(array.shape) or [1], array.tobytes()


def _check_name(name):
    try:
        is_name = name != "__metadata__" and len(name.encode()) <= 4096
    except (AttributeError, UnicodeEncodeError):
        is_name = False
    if not is_name:
        raise Error(f"{name!r}: is no name of a tensor: use another text")


def record(path, tensors):
    """Writes {name: array} as one .safetensors file, every bit as it is: NumPy,
    ml_dtypes or torch, on any device; numbers, codes, integers or truth values.
    It appears whole or not at all."""
    header, parts, at = {}, [], 0
    for name, given in tensors.items():
        _check_name(name)
        kind, shape, data = _stored(given, name)
        header[name] = {"dtype": kind, "shape": shape,
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
    module's output under the module's own name. Of a tuple, a dict or a
    dataclass, each tensor is "normed.0" or "normed.KEY". A module's second call
    is "normed@2". `tensors` may be added to; `skipped` has the types of what is no tensor."""

    def __init__(self, model, names=None):
        self.tensors, self.skipped, self._calls = {}, {}, {}
        self._wanted = set((names or {}).values())
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
                self._called(name, output)))
        return self

    def __exit__(self, *_):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _called(self, name, output):
        call = self._calls[name] = self._calls.get(name, 0) + 1
        if not self._keep(name if call == 1 else f"{name}@{call}", output) and \
                name in self._wanted:
            raise Error(f"recorder: {name!r} is a {type(output).__name__} "
                        "without tensors: name a module that returns some")

    def _keep(self, name, output):
        """Whether there was a tensor."""
        if isinstance(output, (tuple, list)):
            return any([self._keep(f"{name}.{i}", one)
                        for i, one in enumerate(output)])
        if dataclasses.is_dataclass(output) and \
                not isinstance(output, collections.abc.Mapping):
            output = vars(output)
        if isinstance(output, collections.abc.Mapping):
            return any([self._keep(f"{name}.{key}", one)
                        for key, one in output.items()])
        if hasattr(output, "detach"):
            self.tensors[name] = output.detach().clone()
            return True
        if output is not None:
            self.skipped[name] = type(output).__name__
        return False

    def save(self, path):
        """Writes what was kept. Raises Error if nothing was."""
        if not self.tensors:
            raise Error("recorder: no module ran: there is nothing to save")
        record(path, self.tensors)


def compare(a, b, chain, *, names=None, rows=128):
    """Where two dumps of one pass part: a Report that is true if every element
    is the same, with `first_tensor`, `first_rule`, `operators`, `checked`,
    `share_of_all_rules` on `share_rows`, and `alone` where only the order of
    sums differs.

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
