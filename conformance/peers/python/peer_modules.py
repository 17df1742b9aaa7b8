"""What the peers share: a module of a package, claims, tensors of a request.

    module = peer_modules.load("vllm.model_executor.layers....fp8_utils")

loads one module of a package of which the rest is not needed.

The file is looked for on PYTHONPATH, where the package may be unpacked: its
__init__ does not run. What the module imports of its own package is a stand-in
that is false, has every attribute and can be called, unless `real` says what
it is: load(name, {"vllm.triton_utils": {"tl": tl, "triton": triton}}).
"""

import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

import torch

# Where PyTorch's own operations run; Triton's need "cuda".
DEVICE = "cuda" if torch.cuda.is_available() else None


class _StandIn(types.ModuleType):
    """Nothing: of any attribute, call, subscript or base class."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _StandIn(f"{self.__name__}.{name}")

    def __call__(self, *_, **__):
        return self

    def __getitem__(self, _):
        return self

    def __or__(self, _):
        return self

    __ror__ = __or__

    def __bool__(self):
        return False

    def __mro_entries__(self, _):
        return ()


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, package, real):
        self.package, self.real = package, real

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != self.package:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = _StandIn(spec.name)
        vars(module).update(self.real.get(spec.name, {}))
        return module

    def exec_module(self, module):
        pass


def load(name, real=None):
    """The module called `name`; ImportError says where it was looked for."""
    below = pathlib.Path(*name.split(".")).with_suffix(".py")
    files = [pathlib.Path(folder) / below for folder in sys.path]
    file = next((f for f in files if f.is_file()), None)
    if file is None:
        raise ImportError(f"no {below} in any folder of PYTHONPATH")
    sys.meta_path.insert(0, _StandIns(name.partition(".")[0], real or {}))
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def claims(as_, groups=("1x128",), scales=("fp32", "pow2"), sources=("bf16",),
           multiple=(0, 0, 0)):  # fmt: skip
    """Claims `as_` for E4M3 codes of each source, group and kind of scale."""
    import zeroulp_plugin  # whichever stands for it now

    def add(function):
        for source in sources:
            for group in groups:
                for scale in scales:
                    settings = (
                        f"from={source},to=e4m3,place=dense,"
                        f"group={group},scale={scale}"
                    )
                    zeroulp_plugin.claim("quantize", as_, settings, multiple)(function)
        return function

    return add


def tensors(function):
    """Has a function of tensors serve on the host, too, if there is no GPU."""
    if DEVICE:
        return function
    types_of = {
        "bf16": torch.bfloat16,
        "fp16": torch.float16,
        "fp32": torch.float32,
        "e4m3": torch.float8_e4m3fn,
    }

    def on_host(r):
        given = types.SimpleNamespace(**vars(r))
        for name, of in (("x", r.from_), ("codes", r.to), ("scales", "fp32")):
            words = getattr(r, name)
            words = words.view(f"i{words.itemsize}")
            setattr(given, name, torch.from_numpy(words).view(types_of[of]))
        return function(given)

    return on_host
