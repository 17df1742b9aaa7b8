"""The generated binding against the headers that it is made of."""

import ctypes
import pathlib
import re
import subprocess
import sys

import pytest
from zeroulp import _abi

ABOVE = pathlib.Path(__file__).resolve().parents
ROOT = ABOVE[3] if len(ABOVE) > 3 else ABOVE[-1]
HEADERS = ROOT / "include"
pytestmark = pytest.mark.skipif(not HEADERS.exists(), reason="no source tree")


def test_the_binding_is_that_of_the_headers():
    made = subprocess.run(
        [sys.executable, ROOT / "tools/python/generate_abi.py", HEADERS],
        check=True, capture_output=True, text=True).stdout
    assert made == (ROOT / "tools/python/zeroulp/_abi.py").read_text()


def test_structs_have_the_sizes_of_the_abi():
    text = (ROOT / "conformance/compile/struct_sizes.c").read_text()
    sizes = dict(re.findall(r"HAS_SIZE\((\w+), (\d+)\)", text))
    structs = set()
    for name, kind in vars(_abi).items():
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and \
                kind is not ctypes.Structure:
            assert ctypes.sizeof(kind) == int(sizes[name]), name
            structs.add(name)
    assert len(structs) > 30
    assert structs == sizes.keys() & vars(_abi).keys()


def test_every_function_is_bound():
    exported = (ROOT / "conformance/compile/exports.txt").read_text().split()
    for name in _abi.FUNCTIONS:
        assert name in exported
