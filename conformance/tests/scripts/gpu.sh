#!/usr/bin/env bash
# The checks that need a GPU, a line each: gpu.sh PROGRAM
set -euo pipefail
program=$1 status=0
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"$program" conform --gpu --level "${ZEROULP_LEVEL:-1}" --json >"$report" 2>&1 ||
  status=$?
if [[ $status -eq 2 ]] && no_hopper; then
  skip "GPU checks" "$(cat "$report")"
elif ! python3 - "$report" <<'PYTHON'
import json
import sys

checks = json.load(open(sys.argv[1]))["checks"]
for check in checks:
    said = check["status"]
    line = "ok" if said in ("held", "skipped") else "not ok"
    why = f" # SKIP {check.get('reason', '')}" if said == "skipped" else ""
    print(f"{line} {check['name']}{why}")
    if line == "not ok":
        print(f"# {said}: {check.get('first_failure', '')}")
held = sum(check["status"] == "held" for check in checks)
print("ok" if held else "not ok", "GPU checks: some held")
PYTHON
then
  tail -n 100 "$report"
  fail "GPU checks ended with status $status"
fi
finish && [[ $status -ne 1 ]]
