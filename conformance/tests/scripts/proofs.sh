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

# build_emulator NAME OPTION...: the emulator's own source, for the host.
build_emulator() {
  local name=$1
  shift
  g++ -std=c++20 -O2 -frounding-math -ffp-contract=off -Wall -Wextra -Werror -Wno-unknown-pragmas \
    -I"$root/conformance/proofs/host" -I"$root" -I"$root/include" "$@" \
    -o "$folder/$name" "$root/conformance/proofs/host/emulator_on_host.cpp"
}

# fma.rz that rounds to nearest is a fault that the host's emulator shows.
fault_is_seen() {
  build_emulator faulty -DZEROULP_FAULT && ! "$folder/faulty" 1
}

mkdir -p "$folder"
tiles=4
[[ ${ZEROULP_LEVEL:-1} -lt 1 ]] || tiles=40
if check "proofs: the emulator's source compiles for the host" \
  build_emulator emulator; then
  "$folder/emulator" $tiles || fail "proofs: the emulator's source"
  check "fault: fma.rz rounds to nearest: the emulator's source" fault_is_seen ||
    true
fi
python=$(python_with_numpy)
if [ -z "$python" ]; then
  skip "proofs" "no NumPy here"
  exit
fi
check "proofs: a shared library" shared_library || true
# Below level 2 the solver is asked about lemmas that are new, and about an eighth
# of the others: each commit another.
known=()
if [[ ${ZEROULP_LEVEL:-1} -lt 2 ]]; then
  known=(--known "$root/conformance/proofs/proved.txt"
    --share "$(sh "$root/conformance/eighth.sh")")
fi
# tools/install.sh puts the solver there.
PYTHONPATH=$root/tools/python:$root/build/solver PYTHONDONTWRITEBYTECODE=1 \
  ZEROULP_LIBRARY=$folder/libzeroulp.so OMP_NUM_THREADS=1 \
  "$python" "$root/conformance/proofs/prove.py" --level "${ZEROULP_LEVEL:-1}" \
  "${known[@]}" ||
  fail "proofs"
finish
