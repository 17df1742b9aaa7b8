"""The plug-in of pytest, run by pytest, and what notebooks show."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import zeroulp

pytest_plugins = ["pytester"]


@pytest.fixture
def run(pytester, request):
    # Where the package is installed, pytest has found the plug-in.
    found = request.config.pluginmanager.hasplugin("zeroulp")
    asked = [] if found else ["-p", "zeroulp.pytest_plugin"]

    def run(text, *options):
        pytester.makepyfile(text)
        return pytester.runpytest(*asked, *options)
    return run


CASES = """
    import pytest
    @pytest.mark.zeroulp(cases=20)
    def test_cases(zeroulp_cases):
        assert len(list(zeroulp_cases("quantize", to="e4m3"))) == {count}
"""


@pytest.mark.parametrize("level, count", [(0, 2), (1, 20), (2, 200)])
def test_the_level_says_how_many_cases(run, level, count):
    run(CASES.format(count=count), f"--zeroulp-level={level}").assert_outcomes(
        passed=1)


def test_the_seed_says_which(run):
    run("""
        from zeroulp import testing
        def test_seed(zeroulp_cases, zeroulp_seed):
            first = next(zeroulp_cases("step"))
            assert zeroulp_seed == 7
            assert first.token == testing.case("step", 0, seed=7).token
    """, "--zeroulp-seed=7").assert_outcomes(passed=1)


def test_a_failure_can_be_replayed(run):
    run("""
        def test_fails(zeroulp_cases):
            for case in zeroulp_cases("quantize"):
                assert case.operands["x"].size < 0
    """).stdout.fnmatch_lines(["*replay: zeroulp.testing.replay('2/quantize/*"])


def test_an_assertion_explains_itself(run):
    run("""
        import numpy as np, zeroulp
        def test_same():
            x = np.random.default_rng(0).standard_normal((4, 256)).astype("f4")
            assert zeroulp.quantize(x) == zeroulp.quantize(x)
            assert zeroulp.quantize(2 * x) == zeroulp.quantize(x)
    """).stdout.fnmatch_lines(["*scales: 8 of 8 elements differ*",
                               "*codes: 1024 elements, the same bits*"])


def test_quantized_matrices_compare_by_their_bits():
    x = np.ones((2, 128), np.float32)
    assert zeroulp.quantize(x) == zeroulp.quantize(x)
    assert zeroulp.quantize(x) != zeroulp.quantize(x, group="128x128")
    assert zeroulp.quantize(x) != 1


def test_notebooks_show_matrices_and_differences():
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    q, other = zeroulp.quantize(x), zeroulp.quantize(x + 1)
    html = q._repr_html_()
    assert "64 x 256 e4m3" in html and "% saturated" in html
    found = zeroulp.compare(q.codes, other.codes, "e4m3")
    assert "where bits differ" in found._repr_html_()
    for text in (html, found._repr_html_(), zeroulp.compare(x, x)._repr_html_()):
        ET.fromstring(f"<div>{text}</div>".replace("<br>", "<br/>"))
