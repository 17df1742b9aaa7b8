#!/usr/bin/env bash
# Builds the libFuzzer targets and runs them on all cores, one after the other.
#
#   fuzz/libfuzzer/run.sh [-b FOLDER] [-s] [SECONDS] [TARGET...]
#
# SECONDS (60) are shared by the targets (all). -b: use the binaries in FOLDER,
# build nothing. Prints a line of TAP a target; the exit status is 1 if one found
# something, 2 if they could not be built. What a run has learned stays in
# build/libfuzzer/corpus, and the next one starts from there.
#
# -s: the same inputs in each run, as a test has them: from the committed corpus,
# a number of executions for each target, or fewer if SECONDS are over.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build/libfuzzer
binaries=
same=
while [[ ${1-} == -[bs] ]]; do
  case $1 in
    -b) binaries=$(cd "${2-}" && pwd) && shift ;;
    -s) same=yes ;;
  esac
  shift
done
seconds=${1:-60}
shift || true
targets=("$@")
[[ $# -gt 0 ]] || targets=(npy vectors token arguments values c_abi safetensors)
for target in "${targets[@]}"; do
  if [[ ! $seconds =~ ^[0-9]+$ || ! -d $root/fuzz/corpus/$target ]]; then
    echo "usage: run.sh [-b FOLDER] [-s] [SECONDS] [TARGET...]" >&2
    exit 2
  fi
done

if [[ -z $binaries ]]; then
  binaries=$build/bin
  compiler=$(command -v clang++-14 || command -v clang++ || echo none)
  if [[ $compiler == none ]]; then
    echo "ok fuzz # SKIP there is no clang++ here"
    exit 0
  fi
  mkdir -p "$build"
  # Without OpenMP, which Clang has as a shared library alone, the binaries run
  # where nothing is installed.
  if ! cmake -S "$root" -B "$build" -DCMAKE_CXX_COMPILER="$compiler" \
      -DCMAKE_CXX_FLAGS=-fsanitize=fuzzer-no-link \
      -DZEROULP_SANITIZE=ON -DZEROULP_TESTS=OFF -DZEROULP_CUDA=OFF \
      -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON >"$build/build.log" 2>&1; then
    tail -n 50 "$build/build.log" >&2
    exit 2
  fi
  if ! grep -q 'ZEROULP_HAVE_LIBFUZZER:INTERNAL=1' "$build/CMakeCache.txt"; then
    echo "ok fuzz # SKIP $compiler has no libFuzzer"
    exit 0
  fi
  if ! cmake --build "$build" -j "$(nproc)" --target zeroulp_libfuzzer \
      >"$build/build.log" 2>&1; then
    tail -n 50 "$build/build.log" >&2
    exit 2
  fi
fi

cores=$(nproc)  # which OMP_NUM_THREADS would change
export OMP_NUM_THREADS=1
declare -A longest=([npy]=1024 [vectors]=2048 [token]=2048 [arguments]=512
                    [values]=512 [c_abi]=256 [safetensors]=1024)
# Executions of a process with -s: some eight seconds.
declare -A executed=([npy]=500000 [vectors]=8000 [token]=20000 [arguments]=8000
                     [values]=8000 [c_abi]=10000 [safetensors]=20000)
# Short histories of allocations: faster, and the replay has the long ones.
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=8
status=0

# fuzz TARGET: one process a core; they share a corpus, but for -s.
fuzz() {
  local target=$1 job jobs=() executions=0 log count finding
  local work=$build/$target corpus=$build/corpus/$target reload=1 runs=-1
  rm -rf "$work"
  # Targets must not write: they run where nothing else is.
  mkdir -p "$work/findings" "$work/logs" "$work/empty"
  cd "$work/empty"
  for ((job = 1; job <= cores; ++job)); do
    [[ -z $same ]] ||
      corpus=$work/corpus.$job reload=0 runs=${executed[$target]}
    mkdir -p "$corpus"
    cp "$root/fuzz/corpus/$target"/* "$corpus"
    "$binaries/zeroulp_fuzz_$target" -seed="$job" -reload=$reload \
      -runs="$runs" \
      -max_total_time=$((seconds / ${#targets[@]})) -timeout=10 \
      -rss_limit_mb=2048 -malloc_limit_mb=64 -max_len="${longest[$target]}" \
      -dict="$root/fuzz/libfuzzer/$target.dict" \
      -artifact_prefix="$work/findings/" -print_final_stats=1 "$corpus" \
      >"$work/logs/$job" 2>&1 </dev/null &
    jobs+=($!)
  done
  local start=$SECONDS failed=
  for job in "${!jobs[@]}"; do
    log=$work/logs/$((job + 1))
    wait "${jobs[job]}" || failed=$log
    count=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
    executions=$((executions + ${count:-0}))
  done
  # What ran nothing found nothing.
  [[ -n $failed || $executions -gt 0 ]] || failed=$work/logs/1
  if [[ -z $failed && -n $(ls -A) ]]; then
    failed=$work/logs/1
    echo "# it wrote $(ls -A)"
  fi
  if [[ -n $failed ]]; then
    status=1
    echo "not ok fuzz $target"
    grep -m 3 -E 'ERROR|does not hold|SUMMARY' "$failed" | sed 's/^/# /' || true
    for finding in "$work"/findings/*; do
      [[ ! -e $finding ]] ||
        echo "# replay: $binaries/zeroulp_fuzz_$target $finding"
    done
  else
    executions=$(sed ':more;s/\B[0-9]\{3\}\>/,&/;t more' <<<"$executions")
    echo "ok fuzz $target # $executions executions in $((SECONDS - start)) s"
  fi
}

for target in "${targets[@]}"; do
  fuzz "$target"
done
exit $status
