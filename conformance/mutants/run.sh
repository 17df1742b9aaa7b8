#!/bin/sh
# Builds zeroulp_mutants and runs it: run.sh [BUILD_DIR] [ARGUMENTS].
#   conformance/mutants/run.sh build --only hand-written
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
[ $# -eq 0 ] || shift
[ -f "$build/CMakeCache.txt" ] || cmake -S "$root" -B "$build"
cmake --build "$build" -j "$(nproc)" --target zeroulp_mutants
exec "$build/bin/zeroulp_mutants" --jobs "$(nproc)" \
  --level "${ZEROULP_LEVEL:-1}" "$@"
