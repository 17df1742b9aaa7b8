#!/usr/bin/env bash
# What tools/examples and the READMEs show, as a user compiles and runs it:
# examples.sh BUILD FOLDER. Builds the shared library in FOLDER.
set -euo pipefail
build=$1 folder=$2
export logs=$2
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

# install_library NAME BUILD: installs what stands in BUILD as users get it;
# lib_of NAME: where the library lies then.
install_library() {
  rm -rf "${folder:?}/$1"
  cmake --install "$2" --prefix "$folder/$1"
}
lib_of() {
  dirname "$(find "$folder/$1" -name 'libzeroulp.[as]*' | head -n 1)"
}

# The objects of BUILD are those of a shared library, if the flags are the same: what
# is compiled already is not compiled once more.
take_objects() {
  local from=$build/src/CMakeFiles/zeroulp.dir
  local to=$folder/build-shared/src/CMakeFiles/zeroulp.dir
  cmp <(sed "s,$build,BUILD,g" "$from/flags.make") \
    <(sed "s,$folder/build-shared,BUILD,g" "$to/flags.make") || return 0
  (cd "$from" && find . \( -name '*.o' -o -name '*.o.d' \) -print0 |
    tar --null -T - -cf -) | tar -xf - -C "$to" --touch
}

install_shared_library() {
  cmake -S "$root" -B "$folder/build-shared" -DBUILD_SHARED_LIBS=ON \
    -DZEROULP_CUDA=OFF -DZEROULP_TESTS=OFF -DZEROULP_TOOLS=OFF \
    -DZEROULP_BATCHES=ON -DZEROULP_WERROR=ON && take_objects &&
    cmake --build "$folder/build-shared" -j "$(nproc)" &&
    install_library shared "$folder/build-shared"
}

# What it exports is what stands in a committed list.
exports_what_is_listed() {
  nm -D --defined-only --format=posix "$(lib_of shared)/libzeroulp.so" |
    cut -d ' ' -f 1 | c++filt | LC_ALL=C sort -u |
    diff "$root/conformance/compile/exports.txt" -
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
  local library=$1 source=$root/tools/examples/$2 packages=$3
  local lib flags
  shift 3
  lib=$(lib_of "$library")
  # shellcheck disable=SC2086
  flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs \
    $packages) || return 1
  # shellcheck disable=SC2086
  "$@" -o "$folder/example" "$source" $flags &&
    LD_LIBRARY_PATH=$lib finds_the_difference "$folder/example"
}

# The C++ that include/zeroulp/README.md shows.
readme_compiles() {
  readme_block include/zeroulp cpp >"$folder/readme.cpp"
  [[ -s $folder/readme.cpp ]] &&
    g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$root/include" \
      -isystem /usr/include/eigen3 "$folder/readme.cpp"
}

# The Python that tools/examples/README.md shows, on what the example's kernel
# read and wrote.
readme_python_runs() {
  readme_block tools/examples python >"$folder/readme.py"
  [[ -s $folder/readme.py ]] || return 1
  local lib
  lib=$(lib_of shared)
  (cd "$folder" && with_package "$1" readme.py) | tee "$folder/readme.txt"
  grep -Eq '^[0-9]+ of [0-9]+ elements differ, .*first at \([0-9]+, [0-9]+\): ' \
    "$folder/readme.txt"
}

# The suite as -DBUILD_SHARED_LIBS=ON makes it, of what is compiled already.
shared_suite() {
  g++ -shared -o "$folder/libzeroulp_suite.so" -fopenmp \
    -Wl,--version-script="$root/fuzz/c_abi/exports.map" \
    -Wl,-u,zeroulp_suite_text,-u,zeroulp_suite_explain,-z,defs \
    "$build/conformance/libzeroulp_suite.a" "$(lib_of shared)/libzeroulp.so" \
    "$build/src/libzeroulp.a" -lz
}

# with_package COMMAND...: where Python finds the package and the library.
with_package() {
  ZEROULP_LIBRARY=$(lib_of shared)/libzeroulp.so \
    ZEROULP_SUITE_LIBRARY=$folder/libzeroulp_suite.so \
    ZEROULP_PROGRAM=$build/bin/zeroulp \
    PYTHONPATH=$root/tools/python PYTHONDONTWRITEBYTECODE=1 "$@"
}

# The Python that tools/python/README.md shows, and the tests of the package: a
# line each.
python_package() {
  check "the package's README" package_readme_runs "$1" || true
  if ! "$1" -c 'import pytest' 2>/dev/null; then
    skip "the Python package" "no pytest for $1 here"
    return
  fi
  local log=$folder/pytest.txt kind name
  with_package "$1" -m pytest -p no:cacheprovider -q -rpfEs \
    "$root/tools/python/tests" >"$log" 2>&1 </dev/null || true
  grep -qE '^[0-9]+ passed' "$log" || tail -n 40 "$log" | sed 's/^/# /'
  while read -r kind name; do
    case $kind in
      PASSED) pass "package: $name" ;;
      SKIPPED) skip "package: $name" "${name#*: }" ;;
      *) fail "package: $name" ;;
    esac
  done < <(sed -nE 's/^(PASSED|FAILED|ERROR|SKIPPED) (.*)$/\1 \2/p' "$log")
  grep -qE '^[0-9]+ (passed|failed)' "$log" || fail "the Python package"
}
package_readme_runs() {
  readme_block tools/python python >"$folder/package.py"
  [[ -s $folder/package.py ]] &&
    (cd "$folder" && with_package "$1" package.py)
}

# Trainer and sampler have the same bits, unless one quantizes as another does.
batch_invariance() {
  local example=$root/tools/examples/batch_invariance.py status=0 text
  with_package "$1" "$example" || return 1
  text=$(with_package "$1" "$example" deepep) || status=$?
  echo "$text"
  [[ $status -eq 1 ]] && grep -Eq 'elements differ, .*first at' <<<"$text"
}

# plugin_conforms NAME [OPTION...]: holds what stands in build/plugins or, of
# Python, in tools/examples.
plugin_conforms() {
  (cd "$root" && "$build/bin/zeroulp" conform --plugin "$@" --level 0)
}

# The plug-in that conformance/plugin/README.md shows, built as it says, and that
# of plugin.h.
readme_plugin_conforms() {
  local mine=$folder/readme command
  mkdir -p "$mine" && cp "$root/conformance/tests/plugins/my_kernel.c" "$mine"
  case $1 in
    README) readme_block conformance/plugin c ;;
    plugin.h) sed -n '/^\/\/   #include/,/^\/\/   const/s,^//,,p' \
      "$root/include/zeroulp/plugin.h" ;;
  esac >"$mine/mine.c"
  cat "$mine/mine.c"
  # The command as it stands, where `include` is.
  command=$(grep -m 1 -E '^cc ' "$root/conformance/plugin/README.md")
  ln -sfn "$root/include" "$mine/include"
  (cd "$mine" && rm -f mine.so && sh -c "$command" &&
    gcc -std=c99 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only \
      -I include mine.c) &&
    plugin_conforms "$mine/mine.so" | tee /dev/stderr |
    grep -q '^1 held, 0 failed'
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
    tail -n 100 "$log" | sed 's/^/# /'
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

python_examples() {
  local python
  python=$(python_with_numpy)
  if [[ -z $python ]]; then
    skip "example: a plug-in in NumPy" "no python3 with NumPy here"
    skip "example: Python" "no python3 with NumPy here"
    skip "README's Python" "no python3 with NumPy here"
    skip "the Python package" "no python3 with NumPy here"
    return
  fi
  check "example: Python" finds_the_difference "$python" \
    "$root/tools/examples/hold_my_kernel.py" "$(lib_of shared)/libzeroulp.so" \
    --save "$folder" || true
  check "a shared suite" shared_suite || true
  check "README's Python" readme_python_runs "$python" || true
  check "example: a trainer and a sampler" batch_invariance "$python" || true
  python_package "$python"
  export ZEROULP_PYTHON=$python
  check "example: a plug-in in NumPy" plugin_conforms \
    python:tools/examples/plugin_numpy.py || true
  if "$python" -c 'import torch, triton' 2>/dev/null; then
    plugin_on_a_gpu "a plug-in in Triton" \
      python:tools/examples/plugin_triton.py
    plugin_on_a_gpu "torch._scaled_mm as a plug-in" \
      python:tools/examples/plugin_scaled_mm.py
  else
    skip "example: plug-ins in PyTorch" "no torch and triton here"
  fi
}

strict=(-pedantic-errors -Wall -Wextra -Werror)
mkdir -p "$folder"
check "README's C++ compiles" readme_compiles || true
check "installs the static library" install_library static "$build" || exit 1
check "installs the shared library" install_shared_library || exit 1
check "exports what is listed" exports_what_is_listed || true
for library in static shared; do
  check "example: C, $library library" example "$library" \
    hold_my_quantizer.c zeroulp gcc -std=c11 "${strict[@]}" || true
  check "example: C++ with Eigen, $library library" example "$library" \
    hold_my_gemm.cpp "zeroulp eigen3" g++ -std=c++20 -O2 -Wall -Wextra || true
done
# It claims everything: of level 2 all of it, else one claim of a kind.
claims=("")
[[ ${ZEROULP_LEVEL:-1} -ge 2 ]] || claims=(quantize.trt_llm retile gemm.unpromoted)
for only in "${claims[@]}"; do
  check "example: the engine as a plug-in $only" plugin_conforms \
    "$build/plugins/plugin_engine.so" ${only:+--only "$only"} || true
done
for text in README plugin.h; do
  check "$text's plug-in" readme_plugin_conforms "$text" || true
done
check "example: a wrong plug-in is caught" plugin_is_caught \
  "$build/plugins/plugin_wrong.so" || true
if [[ -e $build/plugins/plugin_cuda.so ]]; then
  plugin_on_a_gpu "a CUDA quantizer as a plug-in" "$build/plugins/plugin_cuda.so"
  plugin_on_a_gpu "cuBLASLt as a plug-in" "$build/plugins/plugin_cublaslt.so"
else
  skip "example: plug-ins on a GPU" "no nvcc here"
fi
python_examples
finish
