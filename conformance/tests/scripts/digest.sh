#!/usr/bin/env bash
# The core's results are the same bits, whatever compiler and flags:
# digest.sh FOLDER
set -euo pipefail
folder=$1
export logs=$1
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

# digest COMPILER FLAGS...: must print what the first one printed.
digest() {
  "$@" -std=c++20 -I"$root/include" -o "$folder/digest" \
    "$root/conformance/compile/digest.cpp" &&
    "$folder/digest" >"$folder/digest.txt" && cat "$folder/digest.txt" &&
    { [[ -f $folder/digest.first ]] || cp "$folder/digest."{txt,first}; } &&
    cmp "$folder/digest.first" "$folder/digest.txt"
}

mkdir -p "$folder" && rm -f "$folder/digest".*
for compiler in g++ "$(command -v clang++-14 || echo clang++)"; do
  if ! command -v "$compiler" >/dev/null; then
    skip "core digest: $compiler" "no $compiler here"
    continue
  fi
  for flags in -O0 -O3 "-O3 -ffast-math"; do
    # shellcheck disable=SC2086
    check "core digest: ${compiler##*/} $flags" digest "$compiler" $flags || true
  done
done
finish
