#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test. Ends with one
# line, 'N passed, N failed, N skipped', and status 1 if anything failed, or
# nothing passed.
#
#   tools/test.sh             every stage
#   tools/test.sh STAGE...    some of: gcc program clang threads fuzz digest
#                             headers compile_errors consumers examples mutants gpu
#                             records lint
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

# Not the build that run.sh keeps: this one is in haste (see gcc_build).
build=build/test
clang_build=build/clang
logs=build/logs
jobs=$(nproc)
passed=0 failed=0 skipped=0 notices=0

pass() { passed=$((passed + 1)); echo "ok $1"; }
fail() { failed=$((failed + 1)); echo "not ok $1"; }
skip() { skipped=$((skipped + 1)); echo "skipped $1: $2"; }

# log_of NAME: a file for the output of the test NAME.
log_of() { echo "$logs/${1//[^A-Za-z0-9+-]/_}.log"; }

# check NAME COMMAND...: a test that passes iff COMMAND does. What it prints is
# shown if it fails.
check() {
  local name=$1 log
  log=$(log_of "$name")
  shift
  if "$@" >"$log" 2>&1 </dev/null; then
    pass "$name"
  else
    tail -n 100 "$log"
    fail "$name"
    return 1
  fi
}

# tap NAME COMMAND...: COMMAND prints 'ok TEST', 'not ok TEST' and
# 'ok TEST # SKIP why' lines, one a test.
tap() {
  local name=$1 log status=0 ok bad skips
  log=$(log_of "$name")
  shift
  "$@" >"$log" 2>&1 </dev/null || status=$?
  ok=$(grep -c '^ok ' "$log" || true)
  bad=$(grep -c '^not ok ' "$log" || true)
  skips=$(grep -c '^ok .*# SKIP' "$log" || true)
  passed=$((passed + ok - skips))
  failed=$((failed + bad))
  skipped=$((skipped + skips))
  echo "$name: $((ok - skips)) passed, $bad failed, $skips skipped"
  if [[ $((ok + bad)) -eq 0 || ($status -ne 0 && $bad -eq 0) ]]; then
    tail -n 100 "$log"
    fail "$name ended with status $status after $((ok + bad)) tests"
  elif [[ $bad -gt 0 ]]; then
    grep -v '^ok ' "$log" | tail -n 100
  fi
}

# count FILE KEY: the number of the first KEY of a GoogleTest report.
count() { grep -m1 "\"$2\":" "$1" | tr -dc 0-9; }

# googletest NAME PROGRAM: runs PROGRAM in as many shards as there are cores.
googletest() {
  local name=$1 program=$2 base shard pids=() total=0
  local status tests failures disabled skips
  base=$(log_of "$name")
  rm -f "$base".*
  for ((shard = 0; shard < jobs; ++shard)); do
    GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$shard "$program" \
      --gtest_brief=1 --gtest_output="json:$base.$shard.json" \
      >"$base.$shard" 2>&1 </dev/null &
    pids+=($!)
  done
  for ((shard = 0; shard < jobs; ++shard)); do
    status=0
    wait "${pids[shard]}" || status=$?
    if [[ ! -s $base.$shard.json ]]; then
      tail -n 100 "$base.$shard"
      fail "$name, shard $shard of $jobs, ended with status $status"
      continue
    fi
    tests=$(count "$base.$shard.json" tests)
    failures=$(count "$base.$shard.json" failures)
    disabled=$(count "$base.$shard.json" disabled)
    skips=$(grep -c '"result": "SKIPPED"' "$base.$shard.json" || true)
    skips=$((skips + disabled))
    total=$((total + tests))
    passed=$((passed + tests - failures - skips))
    failed=$((failed + failures))
    skipped=$((skipped + skips))
    if [[ $failures -gt 0 ]]; then
      tail -n 200 "$base.$shard"
    elif [[ $status -ne 0 ]]; then
      tail -n 100 "$base.$shard"
      fail "$name, shard $shard of $jobs, ended with status $status"
    fi
  done
  [[ $total -gt 0 ]] || fail "$name: no tests"
  echo "$name: $total tests"
}

configure_and_build() {
  local folder=$1
  shift
  cmake -S . -B "$folder" -DZEROULP_TESTS=ON \
    -DCMAKE_VERIFY_INTERFACE_HEADER_SETS=ON "$@" &&
    cmake --build "$folder" -j "$jobs"
}

# Builds with g++ when the first stage asks for it. Where there is no GPU, kernels
# are compiled in haste.
gcc_status=
gcc_build() {
  local quick=ON
  if [[ -z $gcc_status ]]; then
    gcc_status=0
    [[ ! -e /dev/nvidiactl ]] || quick=OFF
    CXX=${CXX:-g++} check "g++: builds without a warning" \
      configure_and_build "$build" -DZEROULP_CUDA=ON \
      -DZEROULP_QUICK_KERNELS=$quick || gcc_status=1
  fi
  return "$gcc_status"
}

# Sanitizers slow everything down: what they run is level 0, the quick part.
clang_status=
clang_build() {
  if [[ -z $clang_status ]]; then
    clang_status=0
    CXX=$clang check "clang++: builds without a warning" \
      configure_and_build "$clang_build" -DZEROULP_CUDA=OFF \
      -DZEROULP_SANITIZE=ON || clang_status=1
  fi
  return "$clang_status"
}

stage_gcc() {
  gcc_build || return 0
  googletest "g++: zeroulp_tests" "$build/bin/zeroulp_tests"
  if [[ -x $build/bin/zeroulp_cuda_c_tests ]]; then
    check "g++: the C ABI of the kernels" "$build/bin/zeroulp_cuda_c_tests" ||
      true
  else
    skip "g++: the C ABI of the kernels" "no nvcc here"
  fi
}

needs_only_the_c_library() {
  ! ldd "$1" | grep -vE 'linux-vdso|ld-linux|/lib(c|m|dl|pthread|rt)\.so'
}

stage_program() {
  gcc_build || return 0
  check "g++: the program needs the C library only" \
    needs_only_the_c_library "$build/bin/zeroulp" || true
  tap "g++: program" bash conformance/tests/program.sh "$build/bin/zeroulp"
}

# Without the tests that search or train for long: they do what others do, only
# oftener.
stage_clang() {
  local slow=(
    'Mutants.*' 'TrainingChecks.*' 'Recording.Kills*' '*CasesThatKillMutants*'
    '*AStandardRunLeavesNoBinEmpty*' 'Study.Frobenius*' 'LossGap.*'
    'LossStudy.BitsDoNot*' 'LossStudy.GoesOn*' 'LossStudy.HasEvery*'
    'LossTraining.*' 'LossStudy.SaysWhich*' 'LossStudy.RefusesDamaged*'
    'IdentifyForeignGemm.TensorCores*' 'IdentifyForeignGemm.AnFp32*'
    'IdentifyGemm.EveryNamed*' 'IdentifyGemm.Cublaslt*' 'IdentifyGemm.Splits*'
    'IdentifyGemm.WhereEverything*' 'IdentifyQuantizer.EveryNamedConventionIs*')
  clang_build || return 0
  GTEST_FILTER="-$(IFS=:; echo "${slow[*]}")" ZEROULP_LEVEL=0 \
    googletest "sanitizers: zeroulp_tests" "$clang_build/bin/zeroulp_tests"
  ZEROULP_LEVEL=0 tap "sanitizers: program" \
    bash conformance/tests/program.sh "$clang_build/bin/zeroulp"
}

# ThreadSanitizer, which learns from Archer what OpenMP's threads wait for.
build_for_threads() {
  cmake -S . -B "$build/threads" -DZEROULP_TOOLS=OFF -DZEROULP_TESTS=OFF \
    -DZEROULP_CUDA=OFF -DCMAKE_BUILD_TYPE=Sanitize \
    -DCMAKE_CXX_FLAGS_SANITIZE="-O1 -g1 -fsanitize=thread" &&
    cmake --build "$build/threads" -j "$jobs" --target zeroulp &&
    "$clang" -std=c++20 -O1 -g1 -fsanitize=thread -fopenmp -Iinclude -I. \
      -isystem /usr/include/eigen3 -o "$build/threads/watched" \
      conformance/compile/threads.cpp "$build/threads/src/libzeroulp.a" -lz
}

watch_threads() {
  local archer
  archer=$(find /usr/lib/llvm-*/lib -name libarcher.so | head -1)
  OMP_NUM_THREADS=4 OMP_TOOL_LIBRARIES=$archer \
    TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
    "$build/threads/watched" "$@"
}
reports_a_race() { ! watch_threads race; }

stage_threads() {
  CXX=$clang check "ThreadSanitizer: builds" build_for_threads || return 0
  check "ThreadSanitizer: no race in the library" watch_threads || true
  check "ThreadSanitizer: reports a race" reports_a_race || true
}

# A minute; fuzz/libfuzzer/run.sh SECONDS takes longer.
stage_fuzz() {
  clang_build || return 0
  if ! grep -q 'ZEROULP_HAVE_LIBFUZZER:INTERNAL=1' \
      "$clang_build/CMakeCache.txt"; then
    skip "fuzz" "$clang has no libFuzzer"
    return 0
  fi
  check "fuzz: builds" cmake --build "$clang_build" -j "$jobs" \
    --target zeroulp_libfuzzer || return 0
  tap "fuzz" bash fuzz/libfuzzer/run.sh -b "$clang_build/bin" 60
}

# digest COMPILER FLAGS...: must print what g++ -O0 printed.
digest() {
  "$@" -std=c++20 -Iinclude -o "$build/digest" conformance/compile/digest.cpp &&
    "$build/digest" >"$build/digest.txt" && cat "$build/digest.txt" &&
    { [[ -f $build/digest.first ]] || cp "$build/digest."{txt,first}; } &&
    cmp "$build/digest.first" "$build/digest.txt"
}

stage_digest() {
  local compiler flags
  rm -f "$build/digest".*
  for compiler in g++ "$clang"; do
    for flags in -O0 -O3 "-O3 -ffast-math"; do
      # shellcheck disable=SC2086
      check "core digest: $compiler $flags" digest "$compiler" $flags || true
    done
  done
}

# The headers of the core under nvcc, as host and as device code.
nvcc_headers() {
  (cd include && printf '#include "%s"\n' zeroulp/core/*.hpp) >"$build/core.cu"
  "$1" -std=c++20 -gencode=arch=compute_90a,code=sm_90a -Werror all-warnings \
    -Iinclude -c -o "$build/core.o" "$build/core.cu"
}

find_nvcc() {
  sed -n 's/^ZEROULP_NVCC:[^=]*=\(\/.*\)/\1/p' "$build/CMakeCache.txt"
}

stage_headers() {
  local nvcc header
  if gcc_build; then
    check "g++: each header compiles on its own" cmake --build "$build" \
      -j "$jobs" --target all_verify_interface_header_sets || true
  fi
  if clang_build; then
    check "clang++: each header compiles on its own" cmake --build \
      "$clang_build" -j "$jobs" --target all_verify_interface_header_sets ||
      true
  fi
  for header in include/zeroulp/*.h; do
    check "${header##*/} is C99" gcc -std=c99 -pedantic-errors -Wall -Werror \
      -Iinclude -fsyntax-only -x c "$header" || true
  done
  nvcc=$(find_nvcc)
  if [[ -n $nvcc ]]; then
    check "nvcc: the core's headers compile" nvcc_headers "$nvcc" || true
  else
    skip "nvcc: the core's headers compile" "no nvcc here"
  fi
}

# Case 0 of the file compiles, the others do not.
compiles() {
  g++ -std=c++20 -fsyntax-only -Iinclude -DZEROULP_CASE="$1" \
    conformance/compile/must_not_compile.cpp
}
must_not_compile() { ! compiles "$1"; }

# readme_block FOLDER LANGUAGE: what the README.md of a folder shows first in it.
readme_block() {
  sed -n '/^```'"$2"'$/,/^```$/p' "$1/README.md" | sed '1d;/^```$/,$d'
}

# The C++ that include/zeroulp/README.md shows.
readme_compiles() {
  readme_block include/zeroulp cpp >"$build/readme.cpp"
  [[ -s $build/readme.cpp ]] &&
    g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -Iinclude \
      -isystem /usr/include/eigen3 "$build/readme.cpp"
}

stage_compile_errors() {
  local number last
  last=$(grep -c 'elif ZEROULP_CASE' conformance/compile/must_not_compile.cpp)
  check "compiles: case 0" compiles 0 || true
  check "compiles: README's example" readme_compiles || true
  for ((number = 1; number <= last; ++number)); do
    check "does not compile: case $number" must_not_compile "$number" || true
  done
}

consumer() {
  local name=$1
  shift
  cmake -S "tools/consumers/$name" -B "$build/consumers/$name" "$@" &&
    cmake --build "$build/consumers/$name" -j "$jobs" &&
    "$build/consumers/$name/consumer"
}

without_nvcc() {
  rm -rf "$build/no-nvcc"
  env -u CUDACXX cmake -S . -B "$build/no-nvcc" \
    -DZEROULP_NVCC=OFF | tee "$build/no-nvcc.txt" &&
    grep -q 'zeroulp: no nvcc' "$build/no-nvcc.txt"
}

with_a_shared_library() {
  cmake -S . -B "$build/shared" -DBUILD_SHARED_LIBS=ON -DZEROULP_CUDA=OFF &&
    cmake --build "$build/shared" -j "$jobs" --target zeroulp
}

# What it exports is what stands in a committed list.
exports_what_is_listed() {
  nm -D --defined-only --format=posix "$build/shared/src/libzeroulp.so" |
    cut -d ' ' -f 1 | c++filt | LC_ALL=C sort -u |
    diff conformance/compile/exports.txt -
}

# What links the kernels of the package: without nvcc there are none.
kernels_consumer() {
  local name="consumer: find_package, kernels"
  if [[ -n $(find_nvcc) ]]; then
    check "$name" consumer find_package_cuda -DCMAKE_PREFIX_PATH="$1" || true
  else
    skip "$name" "no nvcc here"
  fi
}

# What python:FILE.py imports is the one installed beside the program.
finds_python_module() {
  local said
  echo 'import zeroulp_plugin as z; raise ValueError(z.__file__)' \
    >"$build/where.py"
  said=$(ZEROULP_PYTHON=$2 "$1/bin/zeroulp" identify plugin \
    "python:$build/where.py" 2>&1) || true
  echo "$said"
  [[ $said == *"$1/share/zeroulp/zeroulp_plugin.py"* ]]
}

stage_consumers() {
  local python prefix=$PWD/$build/prefix
  gcc_build || return 0
  rm -rf "$prefix" "$build/consumers"
  check "install" cmake --install "$build" --prefix "$prefix" || return 0
  check "installed program" "$prefix/bin/zeroulp" --help || true
  python=$(python_with_numpy)
  if [[ -n $python ]]; then
    check "installed program: zeroulp_plugin.py" finds_python_module \
      "$prefix" "$python" || true
  else
    skip "installed program: zeroulp_plugin.py" "no python3 with NumPy here"
  fi
  check "consumer: find_package" consumer find_package \
    -DCMAKE_PREFIX_PATH="$prefix" || true
  kernels_consumer "$prefix"
  check "consumer: add_subdirectory" consumer add_subdirectory || true
  check "configures without nvcc" without_nvcc || true
  check "builds a shared library" with_a_shared_library || return 0
  check "exports what is listed" exports_what_is_listed || true
}

# install_library NAME BUILD: installs what stands in BUILD as users get it;
# lib_of NAME: where the library lies then.
install_library() {
  rm -rf "$build/examples/$1"
  cmake --install "$2" --prefix "$PWD/$build/examples/$1"
}
lib_of() {
  dirname "$(find "$PWD/$build/examples/$1" -name 'libzeroulp.[as]*' |
    head -n 1)"
}

install_shared_library() {
  cmake -S . -B "$build/shared" -DBUILD_SHARED_LIBS=ON -DZEROULP_CUDA=OFF \
    -DZEROULP_TESTS=OFF -DZEROULP_TOOLS=OFF &&
    cmake --build "$build/shared" -j "$jobs" &&
    install_library shared "$build/shared"
}

# The kernels of the examples are wrong: what holds them says where.
finds_the_difference() {
  local status=0 text
  text=$("$@") || status=$?
  echo "$text"
  [[ $status -eq 1 ]] &&
    grep -Eq 'first at \([0-9]+, [0-9]+\): mine [0-9a-f]+' <<<"$text"
}

# example static|shared SOURCE PACKAGES COMPILER...
example() {
  local library=$1 source=tools/examples/$2 packages=$3 lib options=() flags
  shift 3
  lib=$(lib_of "$library")
  [[ $library == shared ]] || options=(--static)
  # shellcheck disable=SC2086
  flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config "${options[@]}" \
    --cflags --libs $packages) || return 1
  # shellcheck disable=SC2086
  "$@" -o "$build/examples/example" "$source" $flags &&
    LD_LIBRARY_PATH=$lib finds_the_difference "$build/examples/example"
}

python_with_numpy() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

# The Python that tools/examples/README.md shows, on what the example's kernel
# read and wrote.
readme_python_runs() {
  readme_block tools/examples python >"$build/examples/readme.py"
  [[ -s $build/examples/readme.py ]] || return 1
  local lib
  lib=$(lib_of shared)
  (cd "$build/examples" && LD_LIBRARY_PATH=$lib "$1" readme.py) |
    tee "$build/examples/readme.txt"
  grep -Eq 'first at \([0-9]+, [0-9]+\): [0-9a-f]+, oracle [0-9a-f]+' \
    "$build/examples/readme.txt"
}

# plugin_conforms NAME: holds what stands in build/plugins or, of Python, in
# tools/examples.
plugin_conforms() { "$build/bin/zeroulp" conform --plugin "$1" --level 0; }

# The plug-in that conformance/plugin/README.md shows, built as it says, and that
# of plugin.h.
readme_plugin_conforms() {
  local folder=$PWD/$build/examples/readme
  mkdir -p "$folder" && cp conformance/tests/plugins/my_kernel.c "$folder"
  case $1 in
    README) readme_block conformance/plugin c ;;
    plugin.h) sed -n '/^\/\/   #include/,/^\/\/   const/s,^//,,p' \
      include/zeroulp/plugin.h ;;
  esac >"$folder/mine.c"
  cat "$folder/mine.c"
  # The commands as they stand, where `include` is; of the rest only conform.
  local command
  command=$(grep -m 1 -E '^cc ' conformance/plugin/README.md)
  ln -sfn "$PWD/include" "$folder/include"
  (cd "$folder" && rm -f mine.so && sh -c "$command" &&
    gcc -std=c99 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only \
      -I include mine.c) &&
    plugin_conforms "$folder/mine.so" | tee /dev/stderr |
    grep -q '^1 held, 0 failed'
}

# Where there is a GPU for the kernels, status 2 is no reason to skip them.
no_hopper() {
  ! nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    grep -qx 9.0
}

# The quantizer and the GEMM of a GPU: where there is none, status 2 says why.
plugin_on_a_gpu() {
  local name="example: $1" status=0 log
  log=$(log_of "$name")
  plugin_conforms "$2" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -eq 2 ]] && no_hopper; then
    skip "$name" "$(tail -n 1 "$log")"
  elif [[ $status -eq 0 ]]; then
    pass "$name"
  else
    tail -n 100 "$log"
    fail "$name"
  fi
}

# A wrong plug-in is caught, named and replayed.
plugin_is_caught() {
  local status=0 text token
  text=$("$build/bin/zeroulp" fuzz quantize --against "$1") || status=$?
  echo "$text"
  [[ $status -eq 1 ]] && grep -q 'likely .*mutant:' <<<"$text" || return 1
  token=$(sed -n 's/.* --replay \(.*\)$/\1/p' <<<"$text" | head -n 1)
  status=0
  "$build/bin/zeroulp" fuzz quantize --against "$1" --replay "$token" ||
    status=$?
  [[ $status -eq 1 ]]
}

stage_examples() {
  local library python text strict=(-pedantic-errors -Wall -Wextra -Werror)
  gcc_build || return 0
  mkdir -p "$build/examples"
  check "installs the static library" install_library static "$build" ||
    return 0
  check "installs the shared library" install_shared_library || return 0
  for library in static shared; do
    check "example: C, $library library" example "$library" \
      hold_my_quantizer.c zeroulp gcc -std=c11 "${strict[@]}" || true
    check "example: C++ with Eigen, $library library" example "$library" \
      hold_my_gemm.cpp "zeroulp eigen3" g++ -std=c++20 -O2 -Wall -Wextra || true
  done
  if [[ ! -x $build/examples/linear_layer ]]; then
    skip "example: a Linear layer" "no nvcc here"
  elif "$build/examples/linear_layer" | grep -q '^skipped'; then
    skip "example: a Linear layer" "no Hopper GPU here"
  else
    check "example: a Linear layer" "$build/examples/linear_layer" || true
  fi
  check "example: the engine as a plug-in" plugin_conforms \
    "$build/plugins/plugin_engine.so" || true
  for text in README plugin.h; do
    check "$text's plug-in" readme_plugin_conforms "$text" || true
  done
  check "example: a wrong plug-in is caught" plugin_is_caught \
    "$build/plugins/plugin_wrong.so" || true
  if [[ -e $build/plugins/plugin_cuda.so ]]; then
    plugin_on_a_gpu "a CUDA quantizer as a plug-in" \
      "$build/plugins/plugin_cuda.so"
    plugin_on_a_gpu "cuBLASLt as a plug-in" \
      "$build/plugins/plugin_cublaslt.so"
  else
    skip "example: plug-ins on a GPU" "no nvcc here"
  fi
  python=$(python_with_numpy)
  if [[ -z $python ]]; then
    skip "example: a plug-in in NumPy" "no python3 with NumPy here"
    skip "example: Python" "no python3 with NumPy here"
    skip "README's Python" "no python3 with NumPy here"
    return 0
  fi
  check "example: Python" finds_the_difference "$python" \
    tools/examples/hold_my_kernel.py "$(lib_of shared)/libzeroulp.so" \
    --save "$build/examples" || true
  check "README's Python" readme_python_runs "$python" || true
  ZEROULP_PYTHON=$python check "example: a plug-in in NumPy" plugin_conforms \
    python:tools/examples/plugin_numpy.py || true
  if "$python" -c 'import torch, triton' 2>/dev/null; then
    ZEROULP_PYTHON=$python plugin_on_a_gpu "a plug-in in Triton" \
      python:tools/examples/plugin_triton.py
    ZEROULP_PYTHON=$python plugin_on_a_gpu "torch._scaled_mm as a plug-in" \
      python:tools/examples/plugin_scaled_mm.py
  else
    skip "example: plug-ins in PyTorch" "no torch and triton here"
  fi
}

stage_mutants() {
  # What builds and runs them, with a GPU: conformance/mutants/kernels.sh.
  check "mutants of the kernels: each applies" \
    python3 conformance/mutants/generate_kernels.py check || true
  gcc_build || return 0
  tap "mutants" bash conformance/mutants/run.sh "$build"
}

stage_gpu() {
  gcc_build || return 0
  local log status=0 held bad skips
  log=$(log_of gpu)
  "$build/bin/zeroulp" conform --gpu --level "$ZEROULP_LEVEL" --json \
    >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -eq 2 ]] && no_hopper; then
    skip "GPU checks" "$(cat "$log")"
  elif [[ $status -ge 2 ]] || ! grep -q '"held":' "$log"; then
    tail -n 100 "$log"
    fail "GPU checks ended with status $status"
  else
    held=$(count "$log" held)
    bad=$(($(count "$log" failed) + $(count "$log" vacuous)))
    skips=$(count "$log" skipped)
    passed=$((passed + held))
    failed=$((failed + bad))
    skipped=$((skipped + skips))
    echo "GPU checks: $held held, $bad failed, $skips skipped"
    [[ $status -eq 0 || $bad -gt 0 ]] || fail "GPU checks: nothing held"
    [[ $bad -eq 0 ]] || grep -B 6 '"first_failure":' "$log" | tail -n 100
  fi
  if [[ -x $build/bin/zeroulp_gpu_tests ]]; then
    RC_PARAMS="max_success=1000 $RC_PARAMS" googletest "GPU: RapidCheck" \
      "$build/bin/zeroulp_gpu_tests"
  else
    skip "GPU: RapidCheck" "no nvcc here"
  fi
}

# Results of other machines, and whether the sources are still those.
stage_records() {
  local name="records: fresh or stale" log
  tap "records: what makes them stale" \
    python3 conformance/records/check_edits.py
  check "READMEs' tables of proofs are those of the records" \
    python3 conformance/records/table.py --check || true
  check "cuda/PERFORMANCE.md is what the records say" \
    python3 conformance/records/performance.py --check || true
  check "$name" sh conformance/records/check.sh || return 0
  log=$(log_of "$name")
  cat "$log"
  notices=$((notices + $(grep -c '^stale' "$log" || true)))
}

# Nothing is rewritten: what differs from clang-format's layout is named.
is_formatted() {
  find include src cuda conformance fuzz tools -type f \
    '(' -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' ')' \
    -print0 | xargs -0 clang-format-14 --dry-run --Werror
}

# The parts of program.sh share its variables: it is checked, they are not.
scripts_are_clean() {
  find .ci/run conformance fuzz tools -type f \
    '(' -name '*.sh' -o -name run ')' -not -path '*/program_data/*' \
    -print0 | xargs -0 shellcheck --severity=warning
}

stage_lint() {
  check "READMEs: sentences, links" python3 tools/lint_text.py || true
  check "rooms: includes, guards, sizes" python3 tools/lint_rooms.py || true
  check "clang-format" is_formatted || true
  check "shellcheck" scripts_are_clean || true
}

stages=(gcc program clang threads fuzz digest headers compile_errors consumers examples
        mutants gpu records lint)
[[ $# -eq 0 ]] || stages=("$@")
for stage in "${stages[@]}"; do
  if ! declare -F "stage_$stage" >/dev/null; then
    echo "test.sh: there is no stage '$stage'" >&2
    exit 2
  fi
done

tools/install.sh test
mkdir -p "$logs"
clang="clang++-14"
command -v "$clang" >/dev/null || clang="clang++"
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
export ZEROULP_LEVEL=${ZEROULP_LEVEL:-1}
# The same cases in each run, and at least two threads wherever threads matter.
export RC_PARAMS=${RC_PARAMS:-seed=1} OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive

for stage in "${stages[@]}"; do
  start=$SECONDS
  "stage_$stage"
  echo "-- $stage: $((SECONDS - start)) s"
done
[[ $notices -eq 0 ]] || echo "$notices notices: stale records"
echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
