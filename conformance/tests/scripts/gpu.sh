#!/usr/bin/env bash
# The checks that need a GPU, a line each: gpu.sh PROGRAM
set -euo pipefail
program=$1 status=0
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"
report=$(mktemp)
trap 'rm -f "$report" "$report.err"' EXIT
"$program" conform --gpu --level "${ZEROULP_LEVEL:-1}" --json >"$report" \
  2>"$report.err" || status=$?
if [[ $status -eq 2 ]] && no_hopper; then
  skip "GPU checks" "$(cat "$report.err")"
elif ! python3 - "$report" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1]))
for check in report["checks"]:
    verdict = check["verdict"]
    bad = verdict in ("FAILED", "VACUOUS")
    why = f" # SKIP {check['why']}" if verdict == "skipped" else ""
    print("not ok" if bad else "ok", check["check"] + why)
    if bad:
        print(f"# {verdict}: {check.get('first_failure', check.get('why'))}")
print("ok" if report["held"] > 0 else "not ok", "GPU checks: some held")
PYTHON
then
  cat "$report.err"
  tail -n 100 "$report"
  fail "GPU checks ended with status $status"
fi
finish && [[ $status -ne 1 ]]  # its lines say which
