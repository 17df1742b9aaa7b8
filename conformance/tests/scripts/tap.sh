# shellcheck shell=bash disable=SC2154  # who includes it sets `logs`
# Functions of the tests that are scripts. Each test is one line of TAP:
# `ok NAME`, `not ok NAME` or `ok NAME # SKIP why`; finish() says whether all
# held. `logs` is the folder for what the tests print.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
failures=0

pass() { echo "ok $1"; }
fail() { failures=$((failures + 1)) && echo "not ok $1"; }
skip() { echo "ok $1 # SKIP $2"; }
finish() { [[ $failures -eq 0 ]]; }

# log_of NAME: the file for what the test NAME prints.
log_of() { mkdir -p "$logs" && echo "$logs/${1//[^A-Za-z0-9+-]/_}.log"; }

# check NAME COMMAND...: a test that passes iff COMMAND does. What it prints is
# shown if it fails.
check() {
  local name=$1 log
  log=$(log_of "$name")
  shift
  if "$@" >"$log" 2>&1 </dev/null; then
    pass "$name"
  else
    tail -n 100 "$log" | sed 's/^/# /'
    fail "$name"
    return 1
  fi
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

# readme_block FOLDER LANGUAGE: what the README.md of a folder shows first in it.
readme_block() {
  sed -n '/^```'"$2"'$/,/^```$/p' "$root/$1/README.md" | sed '1d;/^```$/,$d'
}

# Where there is a GPU for the kernels, status 2 is no reason to skip them.
no_hopper() {
  ! nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    grep -qx 9.0
}
