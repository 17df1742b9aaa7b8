# Plug-ins: what lies, crashes and hangs is said so; what is honest holds. Which
# lie liar.so tells is in ZEROULP_LIE.

liar=$plugins/liar.so
engine=$plugins/plugin_engine.so

# lie HOW: sets the lie of what follows.
lie() { export ZEROULP_LIE=$1; }

# caught LIE PATTERN ARGUMENT...: a finding that says so, and that replays.
caught() {
  local name=$1 pattern=$2
  shift 2
  lie "$name"
  run 1 fuzz quantize --against "$liar" --cases 2000 "$@"
  if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
    reason="no '$pattern' in: $out"
  fi
  verdict "plugin_that_lies_$name" "$reason"
  local token
  token=$(sed -n 's/.* --replay \(.*\)$/\1/p' .out)
  run 1 fuzz quantize --against "$liar" "$@" --replay "${token:-none}"
  if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
    reason="no '$pattern' in: $out"
  fi
  verdict "plugin_that_lies_${name}_replays" "$reason"
}

# turned_away LIE PATTERN: what cannot be called.
turned_away() {
  lie "$1"
  refuses "plugin_turned_away_$1" "$2" fuzz quantize --against "$liar"
}

lie none
shows plugin_that_is_honest '^held' fuzz quantize --against "$liar" \
  --cases 3000
shows plugin_says_how_many_were_answered 'liar answered [0-9]+ requests' \
  fuzz quantize --against "$liar" --cases 50
caught crash 'died of signal 11'
holds plugin_that_crashes_is_shrunk grep -q 'x  *1x3' .out
caught abort 'died of signal 6'
caught exit 'ended its process with status 3'
caught hang 'gave no answer in 0.1 s' --limit 0.1
caught fail 'returned 7'
caught behind 'wrote [0-9]+ bytes behind the end of codes'
caught before 'wrote 3 bytes in front of codes'
caught between 'wrote between the elements of scales'
caught input 'wrote into its input x'
caught unwritten 'left codes\(1, .*\) unwritten'
caught unsteady 'codes\(0, 5\) .* when called again'
caught wrong 'codes\(0, 0\): core .*, 1 ulp'
lie wrong
run 1 fuzz quantize --against "$liar" --json
holds plugin_finding_is_json python3 -c 'import json
f = json.load(open(".out"))["finding"]
assert f["causes"] and f["token"].startswith("1/quantize/"), f'

turned_away version 'built for version 99'
turned_away size 'its table has 8 bytes'
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
turned_away refuse 'answered nothing and refused'
if ! nvidia-smi -L >/dev/null 2>&1; then
  turned_away device 'device memory'
fi
lie none
refuses plugin_of_another_operation 'claims nothing of gemm' \
  fuzz gemm --against "$liar"
refuses plugin_that_is_not_there 'no such file' \
  fuzz quantize --against ./nothing.so
touch empty.so
refuses plugin_that_is_no_library 'empty.so' fuzz quantize --against ./empty.so
refuses plugin_that_claims_other_settings 'none of these cases' \
  fuzz quantize --against "$liar" --convention deepep
refuses plugin_as_the_reference 'use --against' \
  fuzz quantize --reference "$liar"
refuses plugin_with_no_time 'limit' \
  fuzz quantize --against "$liar" --limit 0

for target in quantize retile gemm; do
  shows "plugin_engine_holds_$target" '^held' \
    fuzz $target --against "$engine" --cases 400
done
run 1 fuzz quantize --against "$plugins/plugin_wrong.so"
holds plugin_example_is_named \
  grep -Eq 'likely +as if .*(mutant|convention):' .out
