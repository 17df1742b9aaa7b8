#!/usr/bin/env bash
# Rooms, language and layout of the sources, and whether the records of other
# machines are still theirs: lint.sh [FOLDER], needs no build.
set -euo pipefail
export logs=${1:-build/logs}
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"
cd "$root"

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
    -print0 | xargs -0 shellcheck -x --severity=warning
}

python_is_clean() {
  "$@" check --no-cache --select E4,E7,E9,F,W --ignore E731 conformance fuzz tools
}
lint_python() {
  local ruff
  for ruff in "ruff" "python3 -m ruff"; do
    # shellcheck disable=SC2086
    if $ruff --version >/dev/null 2>&1; then
      check "ruff" python_is_clean $ruff || true
      return
    fi
  done
  skip "ruff" "not here: pip install ruff"
}

spec_has_the_version() {
  local version
  version=$(sed -n 's/.* spec_version = \(.*\);/\1/p' \
    include/zeroulp/spec_version.hpp)
  [ "$(head -n 1 conformance/SPEC.md)" = \
    "# The zeroulp specification, version $version" ]
}

check "READMEs: sentences, links" python3 tools/lint_text.py || true
check "rooms: includes, guards, sizes" python3 tools/lint_rooms.py || true
check "SPEC.md: the version of spec_version.hpp" spec_has_the_version || true
check "clang-format" is_formatted || true
check "shellcheck" scripts_are_clean || true
lint_python
python3 conformance/records/check_edits.py || failures=$((failures + 1))
check "READMEs' tables of proofs are those of the records" \
  python3 conformance/records/table.py --check || true
check "cuda/PERFORMANCE.md is what the records say" \
  python3 conformance/records/performance.py --check || true
check "mutants of the kernels: each applies" \
  python3 conformance/mutants/generate_kernels.py check || true
check "records: fresh or stale" sh conformance/records/check.sh || true
sed -n 's/^stale/# &/p' "$(log_of "records: fresh or stale")"
finish
