#!/bin/sh
# Builds zeroulp_mutants and runs it: run.sh [BUILD_DIR] [ARGUMENTS].
#   conformance/mutants/run.sh build --only hand-written
# Below ZEROULP_LEVEL 2 and without arguments a quarter of them, each commit
# another; --part 0/1 takes all.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
[ $# -eq 0 ] || shift
[ -f "$build/CMakeCache.txt" ] || cmake -S "$root" -B "$build"
cmake --build "$build" -j "$(nproc)" --target zeroulp_mutants
level=${ZEROULP_LEVEL:-1}
if [ $# -eq 0 ] && [ "$level" -lt 2 ]; then
  commit=$(git -C "$root" rev-parse --short=4 HEAD 2>/dev/null) || commit=0
  commit=$(printf %d "0x$commit")
  set -- --part "$((commit % 4))/4"
  echo "# mutants: part $((commit % 4)) of 0 to 3"
fi
exec "$build/bin/zeroulp_mutants" --jobs "$(nproc)" \
  --level "$level" "$@"
