#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test. Ends with one
# line, 'N passed, N failed, N skipped', and status 1 if anything failed, or
# nothing passed.
#
#   tools/test.sh             both trees
#   tools/test.sh gcc         g++ and, where there is one, nvcc
#   tools/test.sh clang       clang++ with sanitizers, at level 0
#   tools/test.sh lint        what needs no build: rooms, language, layout, records
#   tools/test.sh LABEL...    a part of a tree, see `ctest --print-labels`:
#                             program headers compile_errors digest consumers
#                             examples docs mutants gpu; of clang's: fuzz threads
#
# ZEROULP_LEVEL (0 to 3, here 1) says how much the checks do, from seconds to
# exhaustive; ZEROULP_LEVEL=3 tools/test.sh gcc takes hours.
set -euo pipefail
case ${1-} in
  -h | --help)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
esac
cd "$(dirname "$0")/.."

# Not the build that run.sh keeps: this one is in haste (see `build_gcc`).
gcc=build/test clang=build/clang logs=build/logs
jobs=$(nproc)
clangxx=$(command -v clang++-14 || echo clang++)
reports=()

# build FOLDER COMPILER OPTION...: counts as a test; once, whatever parts ask.
build() {
  local folder=$1 compiler=$2 log=$logs/build-${1##*/}.log
  local tap=$logs/build-${1##*/}.tap name="$2 builds without a warning"
  shift 2
  if [[ " ${reports[*]-} " == *" $tap "* ]]; then
    grep -q '^ok' "$tap"
    return
  fi
  reports+=("$tap")
  if { CXX=$compiler cmake -S . -B "$folder" -DZEROULP_TESTS=ON \
         -DZEROULP_BATCHES=ON -DCMAKE_VERIFY_INTERFACE_HEADER_SETS=ON "$@" &&
       cmake --build "$folder" -j "$jobs"; } >"$log" 2>&1 </dev/null; then
    echo "ok $name" >"$tap"
  else
    tail -n 100 "$log"
    echo "not ok $name" >"$tap"
    return 1
  fi
}

# Where there is no GPU, kernels are compiled in haste.
build_gcc() {
  local quick=ON
  [[ ! -e /dev/nvidiactl ]] || quick=OFF
  build "$gcc" "${CXX:-g++}" -DZEROULP_CUDA=ON -DZEROULP_QUICK_KERNELS=$quick
}
build_clang() {
  build "$clang" "$clangxx" -DZEROULP_CUDA=OFF -DZEROULP_SANITIZE=ON
}

# run TREE CTEST'S OPTION...
run() {
  local tree=$1 report
  shift
  report=$PWD/$logs/${tree##*/}-${#reports[@]}.xml
  reports+=("$report")
  rm -f "$report"  # that of another run
  ctest --test-dir "$tree" -j "$jobs" --output-junit "$report" \
    --test-output-size-passed 100000000 --test-output-size-failed 100000000 \
    --no-tests=error "$@" >"${report%.xml}.log" 2>&1 </dev/null || true
}

lint() {
  reports+=("$logs/lint.tap")
  bash conformance/tests/scripts/lint.sh "$logs" >"$logs/lint.tap" || true
}

[[ $# -gt 0 ]] || set -- gcc clang
known=" gcc clang lint program headers compile_errors digest consumers examples
 docs mutants gpu fuzz threads "
for part; do
  if [[ $part == *[!a-z_]* || ${known//$'\n'/} != *" $part "* ]]; then
    echo "test.sh: there is no part '$part': use one of${known//$'\n'/}" >&2
    exit 2
  fi
done
tools/install.sh test
mkdir -p "$logs"
! command -v ccache >/dev/null || export CMAKE_CXX_COMPILER_LAUNCHER=ccache
export ZEROULP_LEVEL=${ZEROULP_LEVEL:-1}
# The same cases in each run, and at least two threads wherever threads matter.
export RC_PARAMS=${RC_PARAMS:-seed=1} OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive

for part; do
  start=$SECONDS
  case $part in
    gcc) ! build_gcc || run "$gcc" ;;
    clang) ! build_clang || ZEROULP_LEVEL=0 run "$clang" -LE slow ;;
    fuzz | threads) ! build_clang || run "$clang" -L "^$part\$" ;;
    lint) lint ;;
    *) ! build_gcc || run "$gcc" -L "^$part\$" ;;
  esac
  echo "-- $part: $((SECONDS - start)) s"
done
python3 conformance/tests/tally.py "${reports[@]}"
