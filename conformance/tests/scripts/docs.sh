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

# blocks PYTHON PAGE...: without a page, all. What a page prints hangs on no
# thread count; the machine may do much else.
blocks() {
  local python=$1
  shift
  ZEROULP_PROGRESS=0 OMP_NUM_THREADS=2 "$python" -B "$docs/blocks.py" --folder "$folder" \
    --program "$build/bin/zeroulp" --libraries "$folder" "$@" </dev/null
}

# A page that shows other bits than are printed fails, and so does a lost link.
finds_a_wrong_output() {
  sed 's/^D = 48440000/D = 48440001/' "$docs/pages/fourteen_bits.md" \
    >"$folder/wrong.md"
  ! blocks "$1" "$folder/wrong.md" >"$folder/wrong.tap" &&
    grep -q '^not ok docs: pages/wrong.md:.* console' "$folder/wrong.tap"
}
finds_a_lost_link() {
  ! (cd "$docs" && python3 -B -c '
import stage, sys
site = stage.Site(sys.argv[1])
site.rewrite("[lost](../lost.md)", "tools/docs/pages/index.md", "index.md")
' "$folder/lost") 2>"$folder/lost.txt" && grep -q 'link to no file' "$folder/lost.txt"
}

mkdir -p "$folder"
rm -rf "$folder/pages"
check "docs: links, included parts, the API's reference" \
  python3 -B "$docs/stage.py" "$folder/pages" || true
check "docs: tables are what the program lists" \
  python3 -B "$docs/conventions.py" "$build/bin/zeroulp" --check || true
check "fault: docs: a lost link" finds_a_lost_link || true
if check "docs: libraries for the blocks" libraries; then
  python=$(python_with_numpy)
  python=${python:-python3}
  check "fault: docs: a wrong output" finds_a_wrong_output "$python" || true
  blocks "$python" || failures=$((failures + 1))
fi
finish
