# Plug-ins: what lies, crashes and hangs is said so; what is honest holds. Which
# lie liar.so tells is in ZEROULP_LIE, of which operation in ZEROULP_CLAIM.

liar=$plugins/liar.so
engine=$plugins/plugin_engine.so
wrong=$plugins/plugin_wrong.so
target=quantize

# lie HOW: sets the lie of what follows.
lie() { export ZEROULP_LIE=$1; }

# caught LIE PATTERN ARGUMENT...: a finding that says so, and that replays.
caught() {
  local name=$1 pattern=$2
  shift 2
  lie "$name"
  run 1 fuzz $target --against "$liar" --cases 2000 "$@"
  if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
    reason="no '$pattern' in: $out"
  fi
  verdict "plugin_that_lies_${name}_in_$target" "$reason"
  local token
  token=$(sed -n 's/.* --replay \(.*\)$/\1/p' .out | head -n 1)
  run 1 fuzz $target --against "$liar" "$@" --replay "${token:-none}"
  if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
    reason="no '$pattern' in: $out"
  fi
  verdict "plugin_that_lies_${name}_in_${target}_replays" "$reason"
}

# turned_away LIE PATTERN: what cannot be called.
turned_away() {
  lie "$1"
  refuses "plugin_turned_away_$1" "$2" fuzz quantize --against "$liar" \
    --cases 2000
}

lie none
shows plugin_that_is_honest '^held' fuzz quantize --against "$liar"
few plugin_of_which_one_case_is_asked_is_not_held \
  '^VACUOUS: claim 0, .*: 1 of the 20000 cases' \
  fuzz quantize --against "$liar" --cases 1
few plugin_says_how_many_were_answered 'liar answered [0-9]+ requests' \
  fuzz quantize --against "$liar" --cases 50
for attempt in begun finished; do
  run_few fuzz quantize --against "$liar" --cases 50 --journal honest.jsonl
  verdict "plugin_has_a_journal_$attempt" "$reason"
done
caught crash 'died of signal 11'
holds plugin_that_crashes_is_shrunk grep -q 'x  *1x3' .out
caught abort 'died of signal 6'
caught exit 'ended its process with status 3'
caught hang 'gave no answer in 0.1 s' --limit 0.1
caught fail 'returned 7'
caught behind 'wrote [0-9]+ bytes behind the end of codes'
caught before 'wrote 3 bytes in front of codes'
caught between 'wrote between the elements of codes'
caught input 'wrote into its input x'
caught unwritten 'left codes\(1, .*\) unwritten'
caught unsteady 'codes\(0, 5\) .* when called again'
# Far from every matrix: what x86 says, and others.
caught far '(wrote|reached) [0-9]{7} bytes behind the end of scales'
caught far_before '(wrote|reached) 33554432 bytes in front of x'
caught far_read '(read|reached) [0-9]{7} bytes behind the end of scales'
caught near '(wrote|reached) [0-9]+ bytes behind the end of codes'
lie none
run 1 fuzz quantize --against "$wrong" --json
holds plugin_finding_is_json python3 -c 'import json
f = json.load(open(".out"))["findings"][0]
assert f["causes"] and f["token"].startswith("2/quantize/"), f'

turned_away version 'built for version 99'
turned_away size 'its table has 8 bytes'
turned_away odd 'its table has 36 bytes'
turned_away long 'its table has 136 bytes: the whole of version 3 has 128'
ZEROULP_CLAIM=swiglu turned_away short 'swiglu, but its function is NULL'
turned_away null 'returned NULL'
turned_away nameless 'its name'
turned_away memory 'its memory is 5'
turned_away claims 'claims at NULL'
turned_away operation '77 is no operation'
turned_away function 'its function is NULL'
turned_away convention 'unknown convention'
turned_away setting 'no setting .fro.'
turned_away multiple 'multiples of -1'
turned_away load 'while it was loaded, it died of signal 11'
lie short
few plugin_whose_table_ends_early 'liar answered [1-9][0-9]* requests' \
  fuzz quantize --against "$liar" --cases 100
lie refuse
run 1 fuzz quantize --against "$liar" --cases 2000
is plugin_that_refuses_everything '' "$reason"
holds plugin_that_refuses_everything_is_vacuous \
  grep -qE 'VACUOUS: claim 0, .*: ([0-9]+) of \1 requests refused' .out
if ! nvidia-smi -L >/dev/null 2>&1; then
  turned_away device 'device memory'
fi
lie none
refuses plugin_of_another_operation 'claims nothing of gemm' \
  fuzz gemm --against "$liar"
refuses plugin_that_nobody_can_probe 'claims no gemm whose output is FP32' \
  probe "$liar"
refuses plugin_that_is_not_there 'no such file' \
  fuzz quantize --against ./nothing.so
touch empty.so
refuses plugin_that_is_no_library 'empty.so' fuzz quantize --against ./empty.so
refuses plugin_that_claims_other_settings 'none of these cases' \
  fuzz quantize --against "$liar" --convention deepep --cases 2000
refuses plugin_as_the_reference 'use --against' \
  fuzz quantize --reference "$liar"
refuses plugin_with_no_time 'limit' \
  fuzz quantize --against "$liar" --limit 0

for target in quantize retile gemm swiglu adamw combine rms_norm_backward \
  route attention; do
  few "plugin_engine_agrees_in_$target" 'answered [1-9][0-9]* requests' \
    fuzz $target --against "$engine" --cases 400
done
run 1 fuzz quantize --against "$wrong"
holds plugin_example_is_named \
  grep -Eq 'likely +as if .*(mutant|convention):' .out
unset ZEROULP_LIE
