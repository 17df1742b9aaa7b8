"""Plug-ins by the package."""

import os
import subprocess
import sys

import pytest
import zeroulp

PLUGIN = '''
import numpy as np
from zeroulp import plugin

@plugin.claim("quantize", "vllm", "from=fp32,to=e4m3,scale=fp32,group=1x128,place=dense")
def quantize(r):
    import zeroulp
    q = zeroulp.quantize(r.x, convention="vllm")
    r.codes[:], r.scales[:] = q.codes.view("u1"), q.scales

plugin.serve("mine")
'''


def test_the_module_is_found():
    from zeroulp import plugin
    assert callable(plugin.claim) and callable(plugin.serve)


@pytest.mark.skipif(os.environ.get("ZEROULP_LEVEL", "2") < "2",
                    reason="a standard run takes half a minute")
def test_a_plugin_is_held(tmp_path):
    from zeroulp._program import program
    try:
        program()
    except zeroulp.Error:
        pytest.skip("no program zeroulp here")
    (tmp_path / "mine.py").write_text(PLUGIN)
    ran = subprocess.run(
        [program(), "conform", "--plugin", f"python:{tmp_path / 'mine.py'}",
         "--level", "0", "--trust"], capture_output=True, text=True,
        env=dict(os.environ, ZEROULP_PYTHON=sys.executable))
    assert "0 failed" in ran.stdout, ran.stdout + ran.stderr
