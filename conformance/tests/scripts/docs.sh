#!/usr/bin/env bash
# The documentation of tools/docs: every code block runs and prints what its page
# shows, every link and part that is included exists, tables are the program's.
# docs.sh BUILD FOLDER. Needs no package that only the site needs.
set -euo pipefail
build=$1 folder=$2
export logs=$2
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"
docs=$root/tools/docs

# As users link them: of what this tree has compiled already.
libraries() {
  cp "$build/src/libzeroulp.a" "$folder" &&
    g++ -shared -o "$folder/libzeroulp.so" -fopenmp -Wl,--whole-archive \
      "$build/src/libzeroulp.a" -Wl,--no-whole-archive -lfmt -lz &&
    g++ -shared -o "$folder/libzeroulp_suite.so" -fopenmp \
      -Wl,--version-script="$root/fuzz/c_abi/exports.map" \
      -Wl,-u,zeroulp_suite_text,-u,zeroulp_suite_explain \
      -Wl,-u,zeroulp_suite_identify,-z,defs \
      "$build/conformance/libzeroulp_suite.a" "$folder/libzeroulp.so" \
      "$build/src/libzeroulp.a" -lfmt -lz
}

mkdir -p "$folder"
rm -rf "$folder/pages"
check "docs: links, included parts, the API's reference" \
  python3 -B "$docs/stage.py" "$folder/pages" || true
check "docs: tables are what the program lists" \
  python3 -B "$docs/conventions.py" "$build/bin/zeroulp" --check || true
if check "docs: libraries for the blocks" libraries; then
  python=$(python_with_numpy)
  # What a page prints hangs on no thread count; the machine may do much else.
  OMP_NUM_THREADS=2 "${python:-python3}" -B "$docs/blocks.py" --folder "$folder" \
    --program "$build/bin/zeroulp" --libraries "$folder" </dev/null ||
    failures=$((failures + 1))
fi
finish
