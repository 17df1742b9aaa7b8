#!/usr/bin/env bash
# Holds the checks of the kernels against deliberate faults in them:
#
#   kernels.sh build DIR [BUILD [NAME]]
#                                  where there is nvcc: every mutant, or those
#                                  whose names match NAME (a regular expression
#                                  of awk), to DIR/kernel_mutants.tar.xz. BUILD:
#                                  a build to take the libraries from as they
#                                  are; else build/ is brought up to date
#   kernels.sh run DIR [NAME]      where there is a GPU: the checks on the
#                                  kernels as they are, then on each mutant, or
#                                  on those whose names match NAME (a regular
#                                  expression of awk). Needs no more than
#                                  DIR/kernel_mutants.tar.xz
#
# Mutants: kernel_mutants.py. Each unit of cuda/ is a shared library, and the
# mutated one takes its place: one program runs all. What is compiled, JOBS at a
# time, is kept in DIR.objects for the next build.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
seconds=20 # that a check may take

usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}

# flag_of NAME: a variable of the build's flags for kernels, of Make or Ninja.
flag_of() {
  local folder=cuda/CMakeFiles/zeroulp_cuda.dir
  if [[ -f $build/build.ninja ]]; then
    awk -v object="^build $folder/.*[.]cu[.]o:" -v name="$1" \
      '$0 ~ object {of_kernels = 1}
       of_kernels && $0 == "" {exit}
       of_kernels && $1 == name {sub(/^[^=]*= */, ""); print; exit}' \
      "$build/build.ninja"
  else
    sed -n "s/^CUDA_$1 = //p" "$build/$folder/flags.make"
  fi
}

# source_of TREE UNIT: the unit, as TREE has it if it does.
source_of() {
  local source=$1/cuda/$2
  [[ -f $source ]] || source=$root/cuda/$2
  echo "$source"
}

# text_of TREE UNIT: the hash of what is compiled.
text_of() {
  # shellcheck disable=SC2086,SC2046
  "$nvcc" $(flag_of DEFINES) $(flag_of FLAGS) -w -x cu -E -I"$1" -I"$root" \
    -I"$root/include" "$(source_of "$1" "$2")" | grep -v '^#' | sha256sum
}

# compile TREE UNIT OBJECT: with what TREE has in place of the sources, the unit
# itself or what it includes, unless that was done before, from the same text.
# Ends all if the text is that without TREE.
compile() {
  local tree=$1 unit=$2 object=$3 key flags source
  source=$(source_of "$tree" "$unit")
  flags="$(flag_of DEFINES) $(flag_of FLAGS)"
  key=$(text_of "$tree" "$unit")
  if [[ $key == "$(cat "$objects/${unit//\//_}.text")" ]]; then
    echo "in $tree there is no mutant of $unit" >&2
    exit 2
  fi
  key="$key $flags"
  if [[ ! -f $object || $(cat "$object.key" 2>/dev/null) != "$key" ]]; then
    flags=${flags//-Werror=all-warnings/}
    # shellcheck disable=SC2086
    "$nvcc" ${flags//-Xptxas=-warn-spills,-Werror/} -w -x cu -I"$tree" -I"$root" \
      -I"$root/include" -c "$source" -o "$object"
    echo "$key" >"$object.key"
  fi
}

# link_library OBJECT OUT: bound to itself, as templates are in several.
link_library() {
  g++ -shared -Wl,-Bsymbolic -Wl,-soname="$(basename "$2")" -s -o "$2" "$1" \
    -L"$cuda/lib64" -lcudart
}

# All libraries that the program needs but the C library's.
copy_libraries() {
  local needed
  needed=$(LD_LIBRARY_PATH=$out/lib:$cuda/lib64 ldd "$out/program" |
    awk '$3 ~ "^/" {print $3}' |
    grep -Ev '/(lib_.*|lib(c|m|dl|rt|pthread))\.so')
  # shellcheck disable=SC2086
  cp -L $needed "$out/lib/"
}

link_program() {
  local object=$objects/program.o
  "$nvcc" -std=c++20 -O2 -w -I"$root" -I"$root/include" \
    -DZEROULP_HAVE_CUDA_HEADERS -o "$object" \
    -c "$root/conformance/mutants/kernel_mutants.cu"
  g++ -s -o "$out/program" "$object" -Wl,--no-as-needed "$out"/lib/lib_*.so \
    -Wl,--start-group \
    "$build/conformance/libzeroulp_device.a" \
    "$build/conformance/libzeroulp_peers.a" \
    "$build/conformance/libzeroulp_conformance.a" \
    "$build/conformance/libzeroulp_suite.a" "$build/src/libzeroulp.a" \
    -Wl,--end-group -L"$cuda/lib64" -lcudart -lmpfr -lgmp -lgomp -lpthread
  copy_libraries
}

build_mutant() {
  local name=$1 unit object
  mkdir -p "$out/mutants/$name"
  rm -rf "$objects/$name/cuda"
  python3 "$root/conformance/mutants/generate_kernels.py" write "$name" \
    "$objects/$name"
  for unit in $2; do
    object=$objects/$name/${unit//\//_}.o
    compile "$objects/$name" "$unit" "$object"
    link_library "$object" "$out/mutants/$name/lib_${unit//\//_}.so"
  done
  echo "built $name"
}

build_all() {
  local dir=$1 only=${3:-} unit name units
  build=${2:-}
  if [[ -z $build ]]; then
    build=$root/build
    [[ -f $build/CMakeCache.txt ]] || cmake -S "$root" -B "$build"
    cmake --build "$build" -j "$(nproc)" --target zeroulp_device
  fi
  mkdir -p "$dir" "$dir.objects"
  dir=$(cd "$dir" && pwd)
  build=$(cd "$build" && pwd)
  objects=$dir.objects
  out=$objects/packed
  rm -rf "$out"
  mkdir -p "$out/lib"
  nvcc=$(sed -n 's/^CMAKE_CUDA_COMPILER:[^=]*=//p' "$build/CMakeCache.txt")
  cuda=$(dirname "$(dirname "$nvcc")")
  python3 "$root/conformance/mutants/generate_kernels.py" list |
    awk -F'\t' -v name="$only" '$1 ~ name' >"$out/mutants.txt"

  for unit in "$root"/cuda/*/*.cu "$root"/cuda/*/*.cpp; do
    unit=${unit#"$root/cuda/"}
    [[ $unit != c_abi/* ]] || continue
    link_library "$build/cuda/CMakeFiles/zeroulp_cuda.dir/$unit.o" \
      "$out/lib/lib_${unit//\//_}.so"
    text_of "$root" "$unit" >"$objects/${unit//\//_}.text"
  done
  link_program
  while IFS=$'\t' read -r name units _; do
    while [[ $(jobs -rp | wc -l) -ge ${JOBS:-1} ]]; do wait -n; done
    build_mutant "$name" "$units" &
  done <"$out/mutants.txt"
  while [[ -n $(jobs -p) ]]; do wait -n; done
  # Alike ones side by side.
  find "$out" -type f -printf '%f\tpacked/%P\n' | sort | cut -f 2 |
    tar -C "$objects" -cf - -T - |
    xz -T1 --lzma2=preset=6,dict=64MiB >"$dir/kernel_mutants.tar.xz"
  ls -l "$dir/kernel_mutants.tar.xz"
}

# holds LIBRARIES CHECK LEVEL: status 0: it held; 1: not, with the reason in
# $log; 124 or 137: it took too long.
holds() {
  LD_LIBRARY_PATH=$1:$packed/lib timeout -k 5 "$seconds" \
    "$packed/program" "$2" "$3" >"$log" 2>&1 </dev/null
}

# is_held CHECK LEVEL: whether the kernels as they are hold, in half of the time
# that mutants get. Ends all if they do not.
is_held() {
  local status=0 start
  start=$(date +%s%N)
  seconds=$((seconds / 2)) holds "$packed/none" "$1" "$2" || status=$?
  echo "baseline: $1, level $2: status $status," \
    "$((($(date +%s%N) - start) / 1000000)) ms"
  if [[ $status -ne 0 && $status -ne 124 && $status -ne 137 ]]; then
    head -c 600 "$log"
    echo "the kernels do not hold"
    exit 2
  fi
  return "$status"
}

# is_quick CHECK LEVEL: the same, asked once.
is_quick() {
  local at="$1 $2"
  if [[ -z ${quick[$at]:-} ]]; then
    quick[$at]=0
    is_held "$1" "$2" || quick[$at]=1
  fi
  [[ ${quick[$at]} -eq 0 ]]
}

# kill_it NAME CHECKS: the quick level of each, then the other. Sets `slow` to
# the checks that were not asked, as they are slow here.
kill_it() {
  local check level status why
  slow=
  for level in 0 1; do
    for check in $2; do
      if ! is_quick "$check" "$level"; then
        slow+=" $check (level $level)"
        continue
      fi
      status=0
      holds "$packed/mutants/$1" "$check" "$level" || status=$?
      [[ $status -ne 0 ]] || continue
      why=$(head -c 160 "$log" | tr '\n' ' ')
      case $status in
        2 | 126 | 127) echo "cannot run $1: $why" && exit 2 ;;
      esac
      if [[ $status -ne 1 ]] && ! is_held "$check" "$level"; then
        echo "the GPU is slow after $1"
        exit 2
      fi
      echo "killed $1 by $check, level $level, status $status: $why"
      return
    done
  done
  return 1
}

run_all() {
  local name units checks reason rest slow
  local killed=0 equivalent=0 survived=0 undecided=0
  local -A quick=()
  packed=$(mktemp -d)
  log=$packed/log
  trap 'rm -rf "$packed"' EXIT
  if command -v xz >/dev/null; then
    xz -dc "$1/kernel_mutants.tar.xz" | tar -C "$packed" -xf -
  else
    python3 -c 'import sys, tarfile
tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
      "$1/kernel_mutants.tar.xz" "$packed"
  fi
  packed=$packed/packed
  awk -F'\t' -v name="${2:-}" '$1 ~ name' \
    "$packed/mutants.txt" >"$packed/chosen.txt"
  mv "$packed/chosen.txt" "$packed/mutants.txt"
  [[ -s $packed/mutants.txt ]] || {
    echo "no mutant has '${2:-}' in its name" >&2
    exit 2
  }
  while IFS=$'\t' read -r name units checks reason rest; do
    if kill_it "$name" "$checks"; then
      killed=$((killed + 1))
    elif [[ $reason != - ]]; then
      equivalent=$((equivalent + 1))
      echo "equivalent $name: $reason"
    elif [[ -n $slow ]]; then
      undecided=$((undecided + 1))
      echo "UNDECIDED $name ($rest): too slow here:$slow"
    else
      survived=$((survived + 1))
      echo "SURVIVED $name ($rest)"
    fi
  done <"$packed/mutants.txt"
  echo "$killed killed, $equivalent equivalent, $survived survived," \
    "$undecided undecided"
  [[ $((survived + undecided)) -eq 0 ]]
}

case "${1:-} $#" in
"build 2" | "build 3" | "build 4") build_all "$2" "${3:-}" "${4:-}" ;;
"run 2" | "run 3") run_all "$2" "${3:-}" ;;
*) usage ;;
esac
