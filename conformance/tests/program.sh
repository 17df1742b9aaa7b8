#!/usr/bin/env bash
# End-to-end tests of the program: program.sh BINARY [CHAIN...], see `chains`
# below; without one, all.
#
# Prints `ok NAME` or `not ok NAME` with a reason for each test; the exit status
# is nonzero if any failed. Expected results are written out by hand from the
# clauses of SPEC.md that the sections name. Works in a directory of its own.
set -u
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  echo "usage: program.sh BINARY [CHAIN...]" >&2
  exit 2
fi
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2034  # its parts read it
plugins=$(cd "$(dirname "$1")/../plugins" && pwd)
# Hundreds of short runs: without what a version manager puts in front of it.
interpreter=$(python3 -c 'import sys; print(sys.executable)')
python3() { "$interpreter" "$@"; }
npy() { python3 -S -E "$here/program_data/make_npy.py" "$@"; }
# Leaks are the unit tests' to find: among hundreds of short processes the leak
# detector itself crashes now and then.
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1:detect_leaks=0}
# What a test takes for a complaint is no line of progress on a slow machine.
export ZEROULP_PROGRESS=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0
failed=0

verdict() {  # verdict NAME REASON: an empty reason is a pass
  if [ -z "$2" ]; then
    passed=$((passed + 1))
    echo "ok $1"
  else
    failed=$((failed + 1))
    echo "not ok $1"
    printf '%s\n' "$2" | head -n 8 | sed 's/^/    /'
  fi
}

# run STATUS ARGUMENT...: sets out, err and reason (empty if the status is as
# expected; for 2 also: nothing on stdout, one line on stderr).
run() {
  local wanted=$1 status
  shift
  timeout 300 "$program" "$@" >"$work/.out" 2>"$work/.err"
  status=$?
  out=$(tr -d '\0' <"$work/.out")
  err=$(tr -d '\0' <"$work/.err")
  reason=
  if [ $status -ne "$wanted" ]; then
    reason="zeroulp $*: status $status, expected $wanted: $(head -n 3 .err)"
  elif [ "$wanted" -eq 2 ] && [ "$(wc -l <.err)" -ne 1 ]; then
    reason="zeroulp $*: $(wc -l <.err) lines on stderr, expected 1: $err"
  elif [ "$wanted" -ne 2 ] && [ -n "$err" ]; then
    reason="zeroulp $*: on stderr: $err"
  fi
}

# prints NAME EXPECTED ARGUMENT...: status 0 and exactly this output, words
# separated by spaces or newlines.
prints() {
  local name=$1 expected=$2
  shift 2
  run 0 "$@"
  local words
  words=$(echo "$out" | tr '\n' ' ' | sed 's/ *$//')
  if [ -z "$reason" ] && [ "$words" != "$expected" ]; then
    reason="zeroulp $*: printed '$words', expected '$expected'"
  fi
  verdict "$name" "$reason"
}

# run_few ARGUMENT...: some cases of a plug-in: no mismatch, but too few to hold.
run_few() {
  run 1 "$@"
  local few='(: |")[0-9]+ of the 20000 cases of a standard run, which reach all'
  if [ -z "$reason" ] && grep -q '^MISMATCH' .out; then
    reason="a mismatch in: $out"
  elif [ -z "$reason" ] && ! grep -qE "$few" .out; then
    reason="no '$few' in: $out"
  fi
}

# few NAME PATTERN ARGUMENT...: the same, and output with this in it.
few() {
  local name=$1 pattern=$2
  shift 2
  run_few "$@"
  if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
    reason="zeroulp $*: no '$pattern' in: $out"
  fi
  verdict "$name" "$reason"
}

# shows NAME PATTERN ARGUMENT...: status 0 and output with this in it.
shows() {
  local name=$1 pattern=$2
  shift 2
  run 0 "$@"
  if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
    reason="zeroulp $*: no '$pattern' in: $out"
  fi
  verdict "$name" "$reason"
}

# refuses NAME PATTERN ARGUMENT...: status 2 and one line that says why.
refuses() {
  local name=$1 pattern=$2
  shift 2
  run 2 "$@"
  if [ -z "$reason" ] && ! grep -qE -- "$pattern" .err; then
    reason="zeroulp $*: no '$pattern' in: $err"
  fi
  if [ -z "$reason" ] && [ -n "$(find . -name '.zeroulp-*')" ]; then
    reason="zeroulp $*: left $(find . -name '.zeroulp-*')"
    find . -name '.zeroulp-*' -delete
  fi
  verdict "$name" "$reason"
}

# holds NAME COMMAND...: a shell condition.
holds() {
  local name=$1
  shift
  local said
  if said=$("$@" 2>&1); then
    verdict "$name" ''
  else
    verdict "$name" "$*: ${said:-false}"
  fi
}

# first_on_its_page NAME FILE PATTERN: a page shows it above its first heading.
first_on_its_page() {
  holds "$1" sh -c 'sed "/<h2/,\$d" "$1" | grep -q "$2"' sh "$2" "$3"
}

# is NAME EXPECTED GOT
is() {
  local reason=
  [ "$2" = "$3" ] || reason="got '$3', expected '$2'"
  verdict "$1" "$reason"
}

# level N: whether the level is N or above.
level() { [ "${ZEROULP_LEVEL:-1}" -ge "$1" ]; }

# Chains of parts, each named after its first part, each in a directory of its
# own, one beside the other. What a part wrote, those behind it in its chain use.
chains=('convert step tensor gemm measure identify refuse signals'
  'campaign catalog terminal vectors conform fuzz bench'
  'plugin plugin_conforms' hollow 'plugin_seal plugin_faults' loss train
  operator
  'checkpoint checkpoint_two parity')
# At level 0, which is for sanitizers, without the parts that compute for long,
# or start hundreds of processes: other parts run the same code.
if ! level 1; then
  chains=('convert step tensor gemm measure refuse signals' operator)
fi
wanted=("${@:2}")
[ ${#wanted[@]} -gt 0 ] || wanted=("${chains[@]%% *}")
for name in "${wanted[@]}"; do
  chain=
  for each in "${chains[@]}"; do
    [ "${each%% *}" != "$name" ] || chain=$each
  done
  if [ -z "$chain" ]; then
    echo "ok $name # SKIP no chain of level ${ZEROULP_LEVEL:-1} starts with it" \
      >"$work/$name.tap"
    touch "$work/$name.held"
    continue
  fi
  (
    work=$work/$name
    mkdir "$work" && cd "$work" || exit 2
    for part in $chain; do
      start=$SECONDS
      # shellcheck disable=SC1090
      . "$here/program_data/$part.sh"
      echo "# $part: $((SECONDS - start)) s"
    done
    echo "# $chain: $passed passed, $failed failed"
    [ "$failed" -eq 0 ] && touch "$work.held"
  ) >"$work/$name.tap" 2>&1 &
done
wait
for name in "${wanted[@]}"; do
  cat "$name.tap"
  [ ! -e "$name.held" ] || continue
  failed=1
  grep -q '^# .* passed, ' "$name.tap" || echo "not ok $name, to its end"
done
[ $failed -eq 0 ]
