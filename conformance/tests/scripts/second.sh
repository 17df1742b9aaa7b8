#!/usr/bin/env bash
# The second implementation of the training step, in NumPy and from the SPEC
# alone, makes the program's tensors, and that of a campaign's report its
# numbers: second.sh PROGRAM FOLDER
set -euo pipefail
program=$1
folder=$2
export logs=$2
# shellcheck source=conformance/tests/scripts/tap.sh
. "$(dirname "$0")/tap.sh"

# same SIZE ARM SHARDS STEPS DATA: every tensor of every step, and the states.
same() {
  local by=$folder/second.$1.$2.$3.$4
  local run=(--size "$1" --arm "$2" --shards "$3" --steps "$4" --data "$5"
    --digests "$by.csv")
  "$program" train "${run[@]}" --held-out 0 >"$by.program" &&
    "$python" "$root/conformance/second/training_step.py" "${run[@]}" \
      >"$by.numpy" &&
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
spec=$root/conformance/SPEC.md
# Powers of two hide whether X^T comes from X's values or from its codes; with
# FP32 scales another answer is another digest.
fp32=+linear.x.scale:fp32+dispatched:fp32
for run in "tiny full 2 2" "tiny tensor_unpromoted 1 1" \
  "tiny bf16_split_k 1 1" "tiny te_blockwise 1 1" "tiny mx 1 1" \
  "tiny te_blockwise$fp32 1 1" "tiny mx$fp32+linear.w.scale:fp32 1 1" \
  "tiny+mtp:1 full 2 2" "tiny+mtp:1 mx 1 1"; do
  # shellcheck disable=SC2086
  check "second implementation: $run, of every tensor" same $run "$spec" || true
done
if [[ ${ZEROULP_LEVEL:-1} -ge 2 ]]; then
  for arm in $("$python" "$root/conformance/second/training_step.py" --arms); do
    for size in T T+mtp:1; do
      check "second implementation: three steps of $size in $arm" \
        same $size "$arm" 1 3 "$spec" || true
    done
  done
fi

# Tokens that are all alike go to the same experts: others have no rows, and no
# gradient.
empty_experts() {
  same tiny full 1 2 "$folder/alike.bin" || return
  local gradients zero=0 sha
  gradients=$(grep 'gradient.layer1.expert[0-9].up' \
    "$folder/second.tiny.full.1.2.csv")
  sha=$(head -c 131072 /dev/zero | sha256sum | cut -d ' ' -f 1)
  zero=$(grep -c "$sha" <<<"$gradients")
  echo "$zero gradients of experts are zero"
  [[ $zero -gt 0 ]]
}
head -c 200000 /dev/zero | tr '\0' a >"$folder/alike.bin"
check "second implementation: experts without rows" empty_experts || true
# A row of E is read so often that the order of its gradient's sum shows.
check "second implementation: a module's gradient of the embedding" \
  same tiny+mtp:1 full 1 2 "$folder/alike.bin" || true
# Step 11 of 12 is the first of a falling rate.
check "second implementation: a rate that falls" \
  same tiny bf16 1 12 "$spec" || true
check "second implementation: four shards" same T full 4 1 "$spec" || true

# A campaign's report: one that was drawn, with verdicts of every kind, and one
# that ran.
same_report() {
  "$program" train --report "$1/runs" --plan "$1/plan.json" --out "$1/report" \
    >"$1/report.txt" || [ $? -eq 1 ] || return
  "$python" "$root/conformance/second/parity.py" "$1/plan.json" "$1/report"
}
drawn() {
  "$python" "$root/conformance/tests/scripts/make_campaign.py" "$1" &&
    same_report "$1" || return
  local said
  for said in "control .* within" "near .* 6 .* within" "far .* beyond" \
    "wide .* 12 .* undecided" "second_look .* 12 .* within" \
    "few .* 5 .* too few seeds" "^Sensitive:"; do
    grep -qE "$said" "$1/report.txt" || { echo "no '$said'"; return 1; }
  done
}
ran() {
  mkdir -p "$1"
  local small='tiny+sequences:1+length:32' arm seed
  echo '{"size": "'$small'", "data": "source", "steps": 3, "base": "bf16",
    "control": "bf16_split_k", "arms": ["bf16_split_k", "full"],
    "positive_controls": [], "pairs": [], "seeds": [3, 1], "looks": [2],
    "level": 0.9, "bound": 0.0025}' >"$1/plan.json"
  for arm in bf16 bf16_split_k full; do
    for seed in 1 3; do
      "$program" train --size "$small" --arm $arm --seed $seed --steps 3 \
        --plan "$1/plan.json" --held-out 2 --held-out-by bf16 \
        --out "$1/runs/$arm.$seed" >/dev/null || return
    done
  done
  same_report "$1"
}
# The runs on GPUs that are committed: same_runs PLAN.
same_runs() {
  local plan=$root/conformance/records/train/campaign/$1 own=$folder/$1
  mkdir -p "$own" && cp "$plan.json" "$own/plan.json" &&
    "$python" -m tarfile -e "$plan.runs.tar.xz" "$own" && same_report "$own"
}
rm -rf "$folder/drawn" "$folder/ran"
check "second implementation: the report of a campaign that was drawn" \
  drawn "$folder/drawn" || true
check "second implementation: the report of a campaign that ran" \
  ran "$folder/ran" || true
for runs in "$root"/conformance/records/train/campaign/*.runs.tar.xz; do
  name=$(basename "$runs" .runs.tar.xz)
  check "second implementation: the report of the campaign $name" \
    same_runs "$name" || true
done
finish
