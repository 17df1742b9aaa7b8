#!/usr/bin/env bash
# The lemmas of conformance/proofs by a solver, and what ties them to the library:
# proofs.sh BUILD FOLDER. Level 0 leaves out those that take seconds each.
set -euo pipefail
build=$1 folder=$2
export logs=$2
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

# The library of this tree, as one that Python loads.
shared_library() {
  g++ -shared -o "$folder/libzeroulp.so" -fopenmp \
    -Wl,--whole-archive "$build/src/libzeroulp.a" -Wl,--no-whole-archive \
    -lfmt -lz
}

mkdir -p "$folder"
python=$(python_with_numpy)
if [ -z "$python" ]; then
  skip "proofs" "no NumPy here"
  exit
fi
check "proofs: a shared library" shared_library || true
# tools/install.sh puts the solver there.
PYTHONPATH=$root/tools/python:$root/build/solver PYTHONDONTWRITEBYTECODE=1 \
  ZEROULP_LIBRARY=$folder/libzeroulp.so OMP_NUM_THREADS=1 \
  "$python" "$root/conformance/proofs/prove.py" --level "${ZEROULP_LEVEL:-1}" ||
  fail "proofs"
finish
