"""The stubs: what they say is what is there, and strict users pass mypy."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
import zeroulp

needs_mypy = pytest.mark.skipif(importlib.util.find_spec("mypy") is None,
                                reason="no mypy here")
FOLDER = pathlib.Path(zeroulp.__file__).parent

USER = '''
import numpy as np
import zeroulp
from zeroulp import checkpoint, identify, parity, plugin, testing


def kernel(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q = zeroulp.quantize(x, "e4m3", "1x128", "vllm")
    return q.codes, q.scales


def names(x: np.ndarray) -> list[str]:
    q: zeroulp.Quantized = zeroulp.quantize(x)
    d = zeroulp.gemm(q, q, "deepgemm.1d1d", output="fp32")
    print(zeroulp.measure_errors(d, x @ x.T).sqnr_db, q.format.bits)
    testing.assert_quantizes_as(kernel, "vllm")
    for case in testing.cases("quantize", 10, to="e4m3"):
        print(case.operands["x"], plugin.DONE)
    report = parity.compare({"x": x}, {"x": x}, [])
    if not report or not checkpoint.verify("a.safetensors"):
        return []
    return identify.quantizer(x, q).names
'''


def run(folder, *arguments):
    ran = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, capture_output=True,
        text=True, env=dict(os.environ, MYPYPATH=str(FOLDER.parent)))
    return ran.returncode, ran.stdout + ran.stderr


@needs_mypy
def test_a_strict_user_passes(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    status, said = run(tmp_path, "mypy", "--strict", "user.py")
    assert status == 0, said
    (tmp_path / "user.py").write_text(USER.replace('"vllm")', 'x, 3)', 1))
    status, said = run(tmp_path, "mypy", "--strict", "user.py")
    assert status == 1 and "user.py:8" in said, said


@needs_mypy
def test_the_stubs_are_what_is_there(tmp_path):
    without = [p.stem for p in FOLDER.glob("*.py")
               if not p.with_suffix(".pyi").exists()]
    (tmp_path / "mypy.ini").write_text("[mypy]\n" + "".join(
        f"[mypy-zeroulp.{name}]\nignore_errors = True\n" for name in without) +
        "[mypy-torch.*]\nfollow_imports = skip\nignore_missing_imports = True\n")
    _, said = run(tmp_path, "mypy.stubtest", "zeroulp", "--ignore-missing-stub",
                  "--concise", "--mypy-config-file", "mypy.ini")
    wrong = [line for line in said.splitlines()
             if line and not line.startswith("zeroulp._")]
    assert not wrong, "\n".join(wrong)


def test_every_public_module_has_a_stub():
    public = {p.stem for p in FOLDER.glob("*.py")
              if not p.stem.startswith("_")} - {"pytest_plugin"}
    assert (FOLDER / "py.typed").exists() and (FOLDER / "__init__.pyi").exists()
    assert public == {p.stem for p in FOLDER.glob("*.pyi")} - {"__init__"}
