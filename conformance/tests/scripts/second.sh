#!/usr/bin/env bash
# The second implementation of the training step, in NumPy and from the SPEC
# alone, makes the program's tensors: second.sh PROGRAM FOLDER
set -euo pipefail
program=$1
folder=$2
export logs=$2
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

# same ARM SHARDS STEPS: every tensor of every step, and the states.
same() {
  local data=$root/conformance/SPEC.md by=$folder/second.$1.$2
  "$program" train --size tiny --arm "$1" --shards "$2" --steps "$3" \
    --data "$data" --held-out 0 --digests "$by.csv" >"$by.program" &&
    "$python" "$root/conformance/second/training_step.py" --size tiny \
      --arm "$1" --shards "$2" --steps "$3" --data "$data" \
      --digests "$by.csv" >"$by.numpy" &&
    diff <(grep '^ *[0-9]' "$by.program") <(grep '^ *[0-9]' "$by.numpy")
}

mkdir -p "$folder"
export PYTHONDONTWRITEBYTECODE=1
python=$(python_with_numpy)
if [ -z "$python" ]; then
  skip "second implementation" "no NumPy here"
  exit
fi
check "second implementation: arithmetic" \
  "$python" "$root/conformance/second/test_arithmetic.py" || true
for run in "full 2 2" "tensor_unpromoted 1 1" "bf16_split_k 1 1"; do
  # shellcheck disable=SC2086
  check "second implementation: ${run%% *}, of every tensor" same $run || true
done
finish
