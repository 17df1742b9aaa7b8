#!/bin/sh
# Builds zeroulp_mutants and runs it: run.sh [BUILD_DIR] [ARGUMENTS].
#   conformance/mutants/run.sh build --only hand-written
# Below ZEROULP_LEVEL 2 and without --part or --only an eighth of them, each
# commit another; --part 0/1 takes all.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build}
[ $# -eq 0 ] || shift
[ -f "$build/CMakeCache.txt" ] || cmake -S "$root" -B "$build"
# ZEROULP_BUILT: it is, and others may be running it.
[ -n "${ZEROULP_BUILT:-}" ] ||
  cmake --build "$build" -j "$(nproc)" --target zeroulp_mutants
level=${ZEROULP_LEVEL:-1}
chosen=
case " $* " in *" --part "* | *" --only "*) chosen=yes ;; esac
if [ -z "$chosen" ] && [ "$level" -lt 2 ]; then
  part=$(sh "$root/conformance/eighth.sh")
  set -- --part "$part" "$@"
  echo "# mutants: part $part"
fi
exec "$build/bin/zeroulp_mutants" --jobs "${ZEROULP_JOBS:-$(nproc)}" \
  --level "$level" "$@"
