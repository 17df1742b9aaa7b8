#!/usr/bin/env bash
# Installs what is missing, builds the program and runs it.
#
#   tools/run.sh                      the main job: zeroulp measure
#   tools/run.sh encode e4m3 1.5      any other: zeroulp encode e4m3 1.5
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build

"$root/tools/install.sh"

# The GPU's part takes minutes to build: only for those who ask for it. A first
# build compiles several files at once, which takes two thirds of the time.
options=()
[[ -f $build/CMakeCache.txt ]] ||
  options=(-DZEROULP_CUDA=OFF -DZEROULP_BATCHES=ON)
for argument in "$@"; do
  case $argument in --gpu | gpu | silicon) options+=(-DZEROULP_CUDA=ON) ;; esac
done

# How far the first build is: a line that changes, or one for each ten per cent.
progress() {
  if [[ -x $build/bin/zeroulp ]]; then
    cat >/dev/null
    return
  fi
  awk -v terminal="$([[ ! -t 2 ]] || echo yes)" '
    match($0, /^\[ *[0-9]+%\]/) {
      percent = substr($0, 2, RLENGTH - 3) + 0
      if (terminal) printf "\rbuilding zeroulp (once): %d %%", percent
      else if (percent >= shown + 10) {
        shown = percent - percent % 10
        print "building zeroulp (once): " shown " %"
      }
      fflush()
    }
    END { if (terminal && percent) print "" }' >&2
}

build_program() {
  CXX=${CXX:-g++} cmake -S "$root" -B "$build" -DZEROULP_TESTS=OFF \
    "${options[@]}" &&
    cmake --build "$build" -j "$(nproc)" --target zeroulp_program
}

mkdir -p "$build"
if ! build_program 2>&1 | tee "$build/run.log" | progress; then
  cat "$build/run.log" >&2
  echo "run.sh: the build failed; see above" >&2
  exit 2
fi

if [[ $# -eq 0 ]]; then
  set -- measure --out "$build/measure"
fi
exec "$build/bin/zeroulp" "$@"
