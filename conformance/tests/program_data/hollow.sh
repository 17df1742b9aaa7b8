# Passes that would be hollow: plug-ins that refuse, or answer without
# computing. What hollow.so does is in ZEROULP_HOLLOW, of which operation in
# ZEROULP_CLAIM. And one finding for each class of differences.

hollow=$plugins/hollow.so
does() { export ZEROULP_HOLLOW=$1; }
first_of() { sed -n 's/.*"'"$1"'": "\{0,1\}\([^",]*\).*/\1/p' .out | head -n 1; }

# What it does is said: fails NAME PATTERN.
fails() {
  does "$1"
  run 1 fuzz $target --against "$hollow" --cases 2000
  if [ -z "$reason" ] && ! grep -qE -- "$2" .out; then
    reason="no '$2' in: $out"
  fi
  if [ -z "$reason" ] && grep -q '^held' .out; then reason="held: $out"; fi
  verdict "hollow_${1}_in_$target" "$reason"
}
# By conform, too, which takes ten seconds each: below level 2 only two of them.
conforms_not() {
  fails "$@"
  case $1 in
    picky | zeros) ;;
    *) level 2 || return 0 ;;
  esac
  run 1 conform --plugin "$hollow"
  if [ -z "$reason" ] && ! grep -qE -- "$2" .out; then
    reason="no '$2' in: $out"
  fi
  if [ -z "$reason" ] && ! grep -qE '^0 held, ' .out; then reason="held: $out"; fi
  verdict "hollow_${1}_in_${target}_conforms_not" "$reason"
}

picky='VACUOUS: .*[0-9]+ of [0-9]+ requests refused; .*bins not reached'
small='VACUOUS: .*it answers only small sizes: up to [0-9]+ '
zeros='likely +answers zeros whatever is asked \('
same='likely +answers the same whatever is asked \('
copy='likely +copies its input [a-z]+'
late='answers the outputs of the call before: made .* when called again'
later='likely +answers the outputs of the call before \('
tiny='likely +answers only small sizes: right up to [0-9]+ elements of'
target=quantize
conforms_not picky "$picky"
conforms_not small "$small"
conforms_not zeros "$zeros"
conforms_not constant "$same"
conforms_not once "$same"
conforms_not copy "$copy"
conforms_not late "$late"
conforms_not later "$later"
conforms_not tiny "$tiny"
! level 2 || conforms_not large "$tiny"
conforms_not refuse 'VACUOUS: .*([0-9]+) of \1 requests refused'
targets='quantize retile gemm combine'
! level 2 || targets="$targets swiglu"
for target in $targets; do
  export ZEROULP_CLAIM=$target
  does nothing
  shows "hollow_that_is_honest_in_$target" '^held: no mismatch$' \
    fuzz $target --against "$hollow"
  [ $target != quantize ] || continue
  fails picky "$picky"
  fails small "$small"
  fails zeros "$zeros"
  fails later "$later"
done
target=gemm
export ZEROULP_CLAIM=gemm
fails copy "$copy"
fails tiny "$tiny"
unset ZEROULP_CLAIM
target=quantize

# Only what both computed is counted, wherever it is written down.
counting="fuzz quantize --against $hollow --cases 2000"
does nothing
run_few $counting --json
honest=$(first_of elements) digest=$(first_of digest)
does picky
run 1 $counting --json
holds hollow_elements_are_those_answered test "$(first_of elements)" -lt \
  $((honest / 50))
holds hollow_digest_is_of_what_was_answered test "$(first_of digest)" != "$digest"
is hollow_verdict_is_json vacuous "$(first_of verdict)"
is hollow_json_counts_refusals 1916 "$(first_of refused)"
elements=$(first_of elements) digest=$(first_of digest)
for i in 0 1; do
  run 1 $counting --shard $i/2 --block 300 --journal picky$i.jsonl
  is "hollow_journal_of_shard_$i" '' "$reason"
done
run 1 fuzz merge picky0.jsonl picky1.jsonl --json
is hollow_merge_is_vacuous vacuous "$(first_of verdict)"
is hollow_merge_counts_elements "$elements" "$(first_of elements)"
is hollow_merge_has_the_digest "$digest" "$(first_of digest)"
run 1 fuzz merge picky0.jsonl picky1.jsonl
holds hollow_merge_says_why grep -qE \
  '^VACUOUS: claim 0: 1916 of 1968 requests refused; .*; 39 of 55 bins not' .out
for i in 0 1; do cp picky$i.jsonl uncounted$i.jsonl; done
python3 - uncounted0.jsonl uncounted1.jsonl <<'END'
import hashlib, json, sys
for name in sys.argv[1:]:
    lines = []
    digest = ""
    for line in open(name):
        record = json.loads(line)
        record.pop("claims", None)
        record.pop("sha256", None)
        content = json.dumps(record, separators=(",", ":"))
        digest = hashlib.sha256((digest + content).encode()).hexdigest()
        lines.append(f"{content[:-1]},\"sha256\":\"{digest}\"}}\n")
    open(name, "w").writelines(lines)
END
refuses hollow_merge_that_counts_no_answers 'does not count its answers' \
  fuzz merge uncounted0.jsonl uncounted1.jsonl
run 1 $counting --shard 0/2 --block 300 --journal picky0.jsonl
is hollow_journal_that_is_done_is_vacuous '' "$reason"
run 1 fuzz quantize --against "$hollow" --replay \
  2/quantize/from=bf16,to=e4m3,convention=deepgemm_device,scale=fp32,group=1x128,history=maximum,decay=3f000000,place=dense/x=1x1.3f80/history=1x0/current=1x1.0/end
holds hollow_replay_of_what_is_refused grep -q 'VACUOUS: .* refuses the' .out
run 1 conform --plugin "$hollow" --out vacuous
holds hollow_conform_counts_it grep -q '^0 held, 0 failed, 0 skipped, 1 vacuous$' \
  .out
holds hollow_reports_agree python3 -c 'import json, xml.etree.ElementTree as xml
report = json.load(open("vacuous/conform.json"))
assert report["vacuous"] == 1 and report["held"] == 0, report
assert report["checks"][0]["verdict"] == "VACUOUS", report
assert "19114 of 19727" in report["checks"][0]["why"], report
suite = xml.parse("vacuous/conform.xml").getroot()
assert suite.get("failures") == "1"
assert "VACUOUS" in suite.find("testcase/failure").get("message")'
does nothing
refuses hollow_conform_that_asks_nothing 'asks anything that .* claims' \
  conform --plugin "$hollow" --only Packed
refuses hollow_fuzz_that_asks_nothing 'none of these cases is one that it' \
  fuzz quantize --against "$hollow" --convention deepep --cases 200

# One finding a class: a NaN's sign does not hide a double rounding.
does two_faults
twice="fuzz quantize --against $hollow"
run 1 $twice --json
is classes_are_found '' "$reason"
holds classes_have_a_finding_each python3 -c 'import json
r = json.load(open(".out"))
found = [(f["class"], [c["name"] for c in f["causes"]]) for f in r["findings"]]
assert [name for name, _ in found] == ["values", "nan-bits"], found
assert "mutant:quantizer.through_fp16" in found[0][1], found'
python3 -c 'import json
for f in json.load(open(".out"))["findings"]: print(f["class"], f["token"])' >tokens
while read -r class token; do
  run 1 $twice --replay "$token"
  is "classes_replay_$class" '' "$reason"
  wanted=', 1 ulp$'
  [ "$class" = values ] || wanted='NaNs of other bits$'
  holds "classes_replay_${class}_as_such" grep -qE "$wanted" .out
done <tokens
run 1 $twice
holds classes_are_shown_values_first test "$(grep -c '^MISMATCH' .out)" = 2 -a \
  "$(grep -m 1 -o '^MISMATCH in .* (values), shrunk' .out | wc -l)" = 1
run 1 $twice --ignore nan-bits
is classes_ignored_leave_the_rest '' "$reason"
holds classes_ignored_have_no_finding test "$(grep -c '^MISMATCH' .out)" = 1
holds classes_ignored_are_counted grep -qE \
  '^ignored: nan-bits: [1-9][0-9]* elements of [1-9][0-9]* cases differ so$' .out
few classes_all_ignored_hold '^ignored: values: [1-9]' \
  $twice --cases 300 --ignore nan-bits --ignore values
shows classes_of_all_that_differs_ignored_hold \
  '^held: no mismatch but what is ignored$' fuzz decode --cases 300 \
  --against mutant:conversion.decode_no_nan --ignore nan
run 0 $twice --ignore nan-bits --replay "$(sed -n 's/^nan-bits //p' tokens)"
is classes_ignored_replay '' "$reason"
holds classes_ignored_replay_says_so grep -q 'differ in nothing but nan-bits' .out
does nothing
run_few $twice --cases 300 --profile specials --ignore nan-bits --json
digest=$(first_of digest)
does two_faults
run 1 $twice --cases 300 --profile specials --ignore nan-bits --keep-going --json
is classes_ignored_are_not_in_the_digest "$digest" "$(first_of digest)"
run 1 $twice --cases 400 --block 100 --journal twice.jsonl
run 1 fuzz merge twice.jsonl --json
holds classes_are_merged python3 -c 'import json
blocks = json.load(open(".out"))["mismatching"]
assert len(blocks) == 4, blocks
for b in blocks:
    assert [d["class"] for d in b["differing"]] == ["values", "nan-bits"], b
    assert all(d["token"].startswith("2/quantize/") for d in b["differing"]), b'
refuses classes_of_another_journal 'options is .*, not .*ignore' \
  $twice --cases 400 --block 100 --journal twice.jsonl --ignore nan-bits
refuses classes_that_are_unknown "unknown class of differences 'sign'" \
  fuzz encode --ignore sign
refuses classes_of_which_none_is_left 'nothing would be compared' \
  fuzz encode --ignore values,nan --ignore nan-bits,zero-sign
run 1 fuzz decode --against mutant:conversion.decode_no_nan --json
is classes_of_what_is_decoded nan "$(first_of class)"
unset ZEROULP_HOLLOW
