"""The record of packages' routers (conformance/records/routers.json) is of the
bits that route gives."""

import importlib.util
import json
import pathlib

import pytest

ABOVE = pathlib.Path(__file__).resolve().parents
ROOT = ABOVE[3] if len(ABOVE) > 3 else ABOVE[-1]
FILE = ROOT / "conformance/records/routers.json"
if not FILE.exists():
    pytest.skip("no source tree", allow_module_level=True)
RECORD = json.loads(FILE.read_text())


@pytest.fixture(scope="module")
def routers():
    file = ROOT / "conformance/peers/python/routers.py"
    spec = importlib.util.spec_from_file_location("routers", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("of", RECORD["zeroulp"])
def test_route_gives_the_bits_of_the_record(routers, of):
    setting, kind, family = of.split(".")
    z, bias = routers.inputs(setting, family, kind == "bf16")
    made = routers.of_zeroulp(setting, z, bias, kind == "bf16")
    assert routers.digest(made) == RECORD["zeroulp"][of]


def test_record_has_every_pair_of_every_family(routers):
    names = ["zeroulp", *RECORD["packages"]]
    pairs = {(a, b) for i, a in enumerate(names) for b in names[i + 1:]}
    for of in RECORD["zeroulp"]:
        rows = [tuple(r["pair"]) for r in RECORD["matrix"] if r["of"] == of]
        assert set(rows) == pairs and len(rows) == len(pairs)
    assert RECORD["settings"] == routers.SETTINGS
    assert len(RECORD["zeroulp"]) == 4 * len(routers.FAMILIES)
