"""Plug-ins in Python, which `zeroulp conform --plugin python:FILE` and `zeroulp
fuzz` run in a process of their own: claim, serve, REFUSED.

The module is zeroulp_plugin, which the program carries for plug-ins that do not
import this package."""

import importlib.util
import pathlib
import sys


def _load():
    here = pathlib.Path(__file__).resolve()
    for path in (here.parent / "share" / "zeroulp" / "zeroulp_plugin.py",
                 here.parents[2] / "examples" / "zeroulp_plugin.py"):
        if not path.exists():
            continue
        spec = importlib.util.spec_from_file_location("zeroulp_plugin", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["zeroulp_plugin"] = module
        spec.loader.exec_module(module)
        return module
    raise ImportError("zeroulp.plugin: zeroulp_plugin.py is not in this package")


_module = sys.modules.get("zeroulp_plugin") or _load()
claim, serve = _module.claim, _module.serve
DONE, REFUSED = _module.DONE, _module.REFUSED
