#!/usr/bin/env python3
"""Holds packages that are installed against the conventions of their names.

    hold.py ZEROULP RECORD [PEER...]

Runs `ZEROULP fuzz` against each claim of each peer_*.py of this folder whose
package is on PYTHONPATH. Writes what was held to RECORD, JSON, in place of an
earlier run on the same device. NaNs of any bits are equal: they are the
processor's. Needs PyTorch; peers with kernels in Triton need a GPU. A package
that is no distribution has its version in ZEROULP_PEER_VERSION, by the name of
its module: "kernel=9b4e978,deep_gemm=54e2261".
"""

import hashlib
import importlib.metadata
import json
import os
import pathlib
import runpy
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent


def declared(peer):
    """The claims of a peer, and the module that it holds."""
    claims = []

    def claim(operation, as_=None, settings=None, multiple=(0, 0, 0)):
        def add(function):
            claims.append({"operation": operation, "as": as_, "settings": settings})
            return function

        return add

    recorder = types.ModuleType("zeroulp_plugin")
    recorder.claim, recorder.serve = claim, lambda *_, **__: None
    sys.modules["zeroulp_plugin"] = recorder
    names = runpy.run_path(str(peer))
    return claims, names.get("module")


def version_of(package):
    known = dict(
        entry.split("=")
        for entry in os.environ.get("ZEROULP_PEER_VERSION", "").split(",")
        if entry
    )
    return known.get(package) or importlib.metadata.version(package)


def answer(zeroulp, peer, claim):
    """What the fuzzer says of one claim."""
    command = [zeroulp, "fuzz", claim["operation"], "--against", f"python:{peer}",
               "--convention", claim["as"], "--cases", "20000", "--json",
               "--ignore", "nan-bits", "--load-limit", "300",
               "--limit", "120"]  # fmt: skip
    for setting in claim["settings"].split(","):
        name, _, value = setting.partition("=")
        if name != "place":
            command += [f"--{name}", value]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode not in (0, 1):
        raise RuntimeError(f"{peer.name}: {made.stderr.strip()}")
    found = json.loads(made.stdout)
    return {
        "verdict": found["verdict"],
        "cases": found["cases"],
        "elements": found["elements"],
        "NaNs of other bits": found["ignored"]["nan-bits"]["elements"],
        "differences": {f["class"]: f["token"] for f in found.get("findings", [])},
    }


def held(zeroulp, peer):
    """What came of a peer, or why it was not run."""
    try:
        claims, module = declared(peer)
        package = module.__name__.partition(".")[0]
        file = pathlib.Path(module.__file__)
        return {
            "peer": peer.name,
            "package": package,
            "version": version_of(package),
            "module": module.__name__,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "claims": [c | answer(zeroulp, peer, c) for c in claims],
        }
    except (ImportError, RuntimeError) as error:
        return {"peer": peer.name, "not run": str(error)}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    zeroulp, record, *peers = sys.argv[1:]
    sys.path.insert(0, str(HERE))
    peers = [HERE / p for p in peers] or sorted(HERE.glob("peer_*.py"))
    results = []
    for peer in peers:
        if peer.name != "peer_modules.py":
            results.append(held(zeroulp, peer))
            print(json.dumps(results[-1]), flush=True)
    import torch

    on_gpu = torch.cuda.is_available()
    run = {
        "device": torch.cuda.get_device_name() if on_gpu else "CPU",
        "torch": torch.__version__,
        "triton": importlib.metadata.version("triton") if on_gpu else None,
        "peers": results,
    }
    record = pathlib.Path(record)
    runs = json.loads(record.read_text())["runs"] if record.exists() else []
    runs = [r for r in runs if r["device"] != run["device"]] + [run]
    record.write_text(json.dumps({"runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
