"""For pytest, which finds it by itself where the package is installed.

    pytest --zeroulp-level 2 --zeroulp-seed 7

    @pytest.mark.zeroulp(cases=1000)
    def test_my_kernel(zeroulp_cases):
        for case in zeroulp_cases("quantize", to="e4m3", from_="bf16"):
            ...

Level 0 has a tenth of the cases, 1 as many as the test asks for (1000 where it
does not), 2 ten times, 3 a hundred times as many. `assert q == zeroulp.quantize(x,
...)` explains itself."""

import pytest

_FACTORS = {0: 0.1, 1: 1, 2: 10, 3: 100}


def pytest_addoption(parser):
    group = parser.getgroup("zeroulp", "FP8 kernels, held to the bit")
    group.addoption("--zeroulp-level", type=int, choices=sorted(_FACTORS), default=1,
                    help="how many cases: 0 a tenth, 1 as asked, 2 ten times, 3 a "
                         "hundred times as many [1]")
    group.addoption("--zeroulp-seed", type=int, default=1,
                    help="of the cases [1]")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "zeroulp(cases): how many cases a test takes at level 1")


@pytest.fixture
def zeroulp_seed(request):
    """The seed of --zeroulp-seed."""
    return request.config.getoption("--zeroulp-seed")


@pytest.fixture
def zeroulp_cases(request, zeroulp_seed):
    """A function of a target and settings: yields its cases, as many as the
    test's mark and --zeroulp-level say. See zeroulp.testing.cases."""
    from . import testing
    mark = request.node.get_closest_marker("zeroulp")
    asked = mark.kwargs.get("cases", 1000) if mark else 1000
    level = request.config.getoption("--zeroulp-level")
    count = max(1, round(asked * _FACTORS[level]))

    def cases(target, **settings):
        for case in testing.cases(target, count, seed=zeroulp_seed, **settings):
            # A failure shows which case it was, and replays it.
            request.node.user_properties[:] = [
                p for p in request.node.user_properties if p[0] != "zeroulp replay"]
            request.node.user_properties.append(("zeroulp replay", case.token))
            yield case

    return cases


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when != "call" or not report.failed:
        return
    for name, token in item.user_properties:
        if name == "zeroulp replay":
            report.sections.append(
                ("zeroulp", f"replay: zeroulp.testing.replay({token!r})"))


def pytest_assertrepr_compare(config, op, left, right):
    from . import Error, Quantized, compare
    if op != "==" or not isinstance(left, Quantized) or \
            not isinstance(right, Quantized):
        return None
    lines = [f"{left!r} == {right!r}"]
    for what in ("scales", "codes"):
        a, b = ((q.scales, "fp32") if what == "scales" else
                (q.codes, q.format.name) for q in (left, right))
        try:
            found = compare(a[0], b[0], a[1])
        except Error as e:
            lines.append(f"{what}: {e}")
        else:
            lines += f"{what}: {found}".splitlines()
    return lines
