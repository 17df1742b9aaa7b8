"""The sdist: it carries what CMake builds a wheel of. Nothing is compiled."""

import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

ABOVE = pathlib.Path(__file__).resolve().parents
ROOT = ABOVE[3] if len(ABOVE) > 3 else ABOVE[-1]
PACKAGE = ROOT / "tools/python"
if not (PACKAGE / "pyproject.toml").exists():
    pytest.skip("no source tree", allow_module_level=True)
tomllib = pytest.importorskip("tomllib")
SETTINGS = tomllib.loads(
    (PACKAGE / "pyproject.toml").read_text())["tool"]["scikit-build"]
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None,
                                 reason="no cmake here")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def files_in(folder):
    return {path for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}


def carried():
    """What pyproject.toml puts into the sdist: {place: file of the tree}."""
    placed = {}
    left_out = [pathlib.PurePosixPath(name.lstrip("/"))
                for name in SETTINGS["sdist"]["exclude"]]
    for source, place in SETTINGS["sdist"]["force-include"].items():
        source = (PACKAGE / source).resolve()
        place = pathlib.PurePosixPath(place)
        if source.is_file():
            placed[place] = source
            continue
        assert source.is_dir(), f"{source} is listed, and not there"
        for file in files_in(source):
            inner = place / file.relative_to(source).as_posix()
            if not any(folder in inner.parents for folder in left_out):
                placed[inner] = file
    return placed


def carried_of_the_tree():
    return {file.relative_to(ROOT) for file in carried().values()}


def configure(source, build, *options):
    """As scikit-build-core does, and every file by itself."""
    defines = {**SETTINGS["cmake"]["define"], "SKBUILD": True,
               "ZEROULP_BATCHES": False}
    ran = subprocess.run(
        ["cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
         *(f"-D{name}={'ON' if on else 'OFF'}" for name, on in defines.items()),
         *options], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def named_by_cmake(build):
    """Files of the tree that stand in what CMake wrote: sources, export maps,
    scripts, what is installed, and the CMakeLists.txt themselves."""
    path = re.compile(re.escape(str(ROOT)) + r"/([\w.+/-]+)")
    named = set()
    for file in files_in(build):
        if file.suffix in {".make", ".cmake", ".txt", ".ninja"}:
            named.update(path.findall(file.read_text(errors="replace")))
    return {pathlib.Path(os.path.normpath(name)) for name in named
            if (ROOT / name).is_file()}


def test_each_file_keeps_its_place():
    for place, file in carried().items():
        assert place.as_posix() == f"cpp/{file.relative_to(ROOT).as_posix()}"


def test_it_has_no_tests_and_no_other_records():
    kept = {"conformance/tests/batches.cmake"}  # no test
    left_out = ("conformance/tests", "conformance/vectors", "fuzz/corpus",
                "conformance/records/train")
    for file in carried_of_the_tree():
        assert file.as_posix() in kept or \
            not file.as_posix().startswith(left_out), file


@needs_cmake
def test_it_has_what_cmake_needs(tmp_path):
    # With the kernels where there is an nvcc.
    configure(ROOT, tmp_path, "-DZEROULP_CUDA=ON")
    needed = named_by_cmake(tmp_path)
    assert pathlib.Path("src/gemm/gemm.cpp") in needed
    assert pathlib.Path("src/exports.map") in needed
    assert pathlib.Path("tools/examples/zeroulp_plugin.py") in needed
    assert needed <= carried_of_the_tree(), needed - carried_of_the_tree()


def test_it_has_what_its_sources_include():
    files = carried_of_the_tree()
    missing = set()
    for file in files:
        if file.suffix not in {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}:
            continue
        for name in INCLUDE.findall((ROOT / file).read_text()):
            for place in (pathlib.Path(), pathlib.Path("include"), file.parent):
                found = pathlib.Path(os.path.normpath(place / name))
                if (ROOT / found).is_file() and found not in files:
                    missing.add(f"{found} for {file}")
    assert not missing


@needs_cmake
@pytest.mark.parametrize("tools", ["OFF", "ON"])
def test_cmake_configures_what_it_has(tmp_path, tools):
    for place, file in carried().items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, tmp_path / place)
    configure(tmp_path / "cpp", tmp_path / "build", f"-DZEROULP_TOOLS={tools}")


def test_the_version_is_read_in_the_sdist_too():
    override, = SETTINGS["overrides"]
    assert override["if"] == {"from-sdist": True}
    here, there = (s["metadata"]["version"] for s in (SETTINGS, override))
    assert here["regex"] == there["regex"]
    assert carried()[pathlib.PurePosixPath(there["input"])] == \
        (PACKAGE / here["input"]).resolve()


@pytest.mark.skipif(importlib.util.find_spec("scikit_build_core") is None,
                    reason="no scikit-build-core here")
def test_two_are_the_same_bytes(tmp_path):
    archives = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        subprocess.run(
            [sys.executable, "-c", "import sys; from scikit_build_core.build "
             "import build_sdist; build_sdist(sys.argv[1])", folder],
            cwd=PACKAGE, check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        archive, = folder.iterdir()
        archives.append(archive)
    one, two = (hashlib.sha256(a.read_bytes()).hexdigest() for a in archives)
    assert one == two
    with tarfile.open(archives[0]) as archive:
        names = archive.getnames()
    assert len(names) == len(set(names))
    places = {pathlib.PurePosixPath(name).relative_to(
        pathlib.PurePosixPath(name).parts[0]) for name in names}
    assert {p for p in places if p.parts[0] == "cpp"} == carried().keys()
    for name in ("pyproject.toml", "README.md", "zeroulp/__init__.py",
                 "zeroulp/py.typed", "tests/test_sdist.py", "PKG-INFO"):
        assert pathlib.PurePosixPath(name) in places
    assert pathlib.PurePosixPath("CMakeLists.txt") not in places


def test_the_package_of_the_kernels_is_of_this_version():
    project = tomllib.loads((PACKAGE / "cuda13/pyproject.toml").read_text())["project"]
    version = re.search(r"project\(zeroulp VERSION ([0-9.]+)",
                        (ROOT / "CMakeLists.txt").read_text())[1]
    assert project["dependencies"] == [f"zeroulp=={version}"]
