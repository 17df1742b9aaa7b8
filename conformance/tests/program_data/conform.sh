# conform: reports, records, --gpu where there is no GPU.

records=$here/../records
only=--only=Packed

# The verdicts and counts of a report, whatever its form.
reports() {
  python3 - "$1" <<'END'
import csv, json, sys, xml.etree.ElementTree as xml
folder = sys.argv[1]
with open(folder + "/conform.json") as f:
    report = json.load(f)
wanted = [(c["check"], c["verdict"], c["cases"]) for c in report["checks"]]
assert len(wanted) == report["held"] == 2, report
assert report["failed"] == report["skipped"] == 0, report
assert report["platform"]["compiler"], report
with open(folder + "/conform.csv") as f:
    rows = list(csv.DictReader(f))
assert [(r["check"], r["verdict"], int(r["cases"])) for r in rows] == wanted
suite = xml.parse(folder + "/conform.xml").getroot()
assert suite.tag == "testsuite" and suite.get("tests") == "2"
assert suite.get("failures") == suite.get("skipped") == "0"
cases = [(c.get("name"), c.find("system-out").text) for c in suite.iter("testcase")]
for (check, verdict, count), (name, text) in zip(wanted, cases, strict=True):
    assert name == check and text.endswith(f": {verdict}, {count} cases"), text
END
}

shows conform_prints_a_table 'PackedBits +P1 P2 +definition +sampled +[0-9]+' \
  conform "$only"
shows conform_counts '^2 held, 0 failed, 0 skipped$' conform "$only"
shows conform_says_proved 'EveryReciprocalIsTheRecordedOne .* proved +[0-9]+' \
  conform --level 1 --only EveryReciprocal
run 0 conform "$only" --out conformed
holds conform_writes_four_files test "$(echo conformed/*)" = \
  'conformed/conform.csv conformed/conform.html conformed/conform.json conformed/conform.xml'
holds conform_forms_of_the_report_agree reports conformed
holds conform_page_is_self_contained sh -c \
  '! grep -qE "src=|<link|<script|@import|(href|url)[^>]*https?:" \
    conformed/conform.html'
first_on_its_page conform_page_has_verdicts_first conformed/conform.html \
  '<span class="badge good">held</span></td><td>P[.] Packing of 12-bit codes'
holds conform_page_says_on_what grep -q '>compiler</td>' conformed/conform.html
shows conform_json_goes_to_stdout '"held": 2' conform "$only" --json
shows conform_list_runs_nothing 'PackedBits +P1 P2 +definition +0$' \
  conform --list "$only"
shows conform_list_as_json '"oracle": "definition"' conform --list "$only" --json
refuses conform_refuses_levels 'use 0' conform --level 4
refuses conform_refuses_unknown_names 'no check of level 0' \
  conform --only nothing_has_this_name
refuses conform_lists_no_unknown_names 'no check has this in its name' \
  conform --list --only nothing_has_this_name
refuses conform_refuses_names_of_higher_levels 'no check of level 0' \
  conform --only EveryFloatToBf16

# Records.
run 0 conform "$only" --record record.json
holds record_is_json python3 -c 'import json
r = json.load(open("record.json"))
assert r["command"] == "zeroulp conform --level 0 --seed 1 --only Packed", r
assert r["depends_on"] == "cpu" and len(r["checks"]) == 2, r
assert "include/zeroulp/core/round.hpp" in r["sources"], r'
cp record.json first.json
run 0 conform "$only" --record record.json
holds record_repeats_bit_for_bit cmp first.json record.json
is record_is_fresh 'fresh record' "$(sh "$records/check.sh" record.json)"
sed '/core\/round.hpp/s/": "..../": "0000/; /core\/pack.hpp/d' record.json \
  >old.json
is record_says_what_changed \
  'stale old: include/zeroulp/core/pack.hpp include/zeroulp/core/round.hpp' \
  "$(sh "$records/check.sh" old.json)"
of_vectors=hopper.mma.bf16.bf16.f32.txt.gz
holds digests_of_other_files_are_sha256_of_their_bytes test \
  "$(sh "$records/check.sh" --hash cpu | sed -n "s/ .*$of_vectors//p")" = \
  "$(sha256sum <"$here/../vectors/$of_vectors" | cut -c 1-16)"
holds records_have_known_sources sh -c \
  '! sh "$0" --hash unknown 2>/dev/null' "$records/check.sh"

# A run with a record that is ended goes on, and gives the same.
long='--level 0 --only Attention'
run 0 conform $long --record whole.json
holds record_leaves_no_part test ! -e whole.json.part
"$program" conform $long --record killed.json >.out 2>.err &
victim=$!
for _ in $(seq 600); do
  [ "$(wc -l <killed.json.part 2>/dev/null || echo 0)" -lt 3 ] || break
  sleep 0.05
done
kill -9 $victim 2>/dev/null
wait $victim 2>/dev/null
holds record_is_not_there_before_its_end test ! -e killed.json
holds record_keeps_checks_that_ended test -s killed.json.part
cp killed.json.part part
run 0 conform $long --record killed.json
holds record_of_an_ended_run_is_the_same cmp whole.json killed.json
holds record_of_an_ended_run_leaves_no_part test ! -e killed.json.part
head -n 2 part | head -c -9 >cut.json.part
run 0 conform $long --record cut.json
holds record_goes_on_from_a_torn_line cmp whole.json cut.json
cp part other.json.part
refuses record_of_another_run_is_not_gone_on_with \
  'other.json.part: is a part of another run: command is .*--seed 1' \
  conform $long --seed 2 --record other.json
holds record_of_another_run_stays cmp part other.json.part
sed '2s/"cases":[0-9]*/"cases":7/' part >other.json.part
refuses record_damaged_on_the_way_is_refused 'other.json.part: line 2: ' \
  conform $long --record other.json
echo nothing >other.json.part
refuses record_needs_a_part_of_its_own 'is no part of a run' \
  conform $long --record other.json
rm -f ./*.part

# A record is run again in part.
shows verified_record_is_the_same '2 of 2 checks run again, 0 differ' \
  conform --verify record.json --sample 100%
shows verified_sample_is_a_part '1 of 2 checks run again, 0 differ' \
  conform --verify record.json
sed '/PackedCodes/s/"got":"./"got":"-/' record.json >altered.json
run 1 conform --verify altered.json --sample 100
verdict altered_record_is_found "$reason"
holds altered_check_is_named grep -q '^PackedCodes: recorded {.*"got":"-' .out
sed 's/"cases":[0-9]*/"cases":7/' record.json >altered.json
run 1 conform --verify altered.json --json
verdict altered_cases_are_found "$reason"
holds verification_is_json python3 -c 'import json
r = json.load(open(".out"))
assert r["differing"] == len(r["checks"]) == 1 and len(r["origins"]) >= 4, r'
refuses verify_refuses_no_percent 'more than 0 %' \
  conform --verify record.json --sample none
refuses verify_refuses_101_percent 'at most 100 %' \
  conform --verify record.json --sample 101%
sed '/"seed"/d' record.json >no_seed.json
refuses verify_refuses_records_without_a_seed 'earlier version' \
  conform --verify no_seed.json
echo '{}' >empty.json
refuses verify_refuses_an_empty_record 'no "command"' conform --verify empty.json
refuses verify_refuses_a_level 'excludes' conform --verify record.json --level 1
sed 's/PackedCodes/Packed_Codes/' record.json >renamed.json
refuses verify_needs_the_checks_of_the_record 'this program has 1 of the 2' \
  conform --verify renamed.json --sample 100%

# --gpu: with the checks for GPUs built in, or without.
"$program" conform --gpu --list >.out 2>.err
if grep -q 'no GPU part' .err; then
  refuses conform_gpu_says_what_to_build 'DZEROULP_CUDA=ON' conform --gpu
else
  shows conform_gpu_lists_its_checks 'core.decode +F1 F2 F3 F4 F5 +host' \
    conform --gpu --list
  run 0 conform --gpu --list --json
  cp .out gpu.json
  holds conform_gpu_cites_clauses_that_exist python3 -c 'import json, re, sys
text = "".join(open(name).read() for name in sys.argv[1:])
known = set(re.findall(r"\*\*([A-Z]\d+)\*\*", text))
for check in json.load(open("gpu.json")):
    cited = check["clauses"].split()
    assert cited and known.issuperset(cited), check' \
    "$here/../SPEC.md" "$here/../SPEC_TRAINING.md"
  if ! nvidia-smi -L >/dev/null 2>&1; then
    refuses conform_gpu_needs_one 'no NVIDIA GPU here' conform --gpu --out bad
    holds refused_conform_writes_nothing test ! -e bad
  fi
fi
