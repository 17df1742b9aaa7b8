# measure.

shows measure_prints_a_table 'N\(0.5,1\) +96' \
  measure --m 8 --n 8 --k 96 64 --interval none 32 --out m
holds measure_csv_has_its_header test \
  "$(head -n 1 m/measure.csv)" = distribution,k,interval,metric,value
holds measure_csv_quotes_names grep -q '^"U(-1,1)",64,none,frobenius,' \
  m/measure.csv
is measure_csv_has_every_row 113 "$(wc -l <m/measure.csv)"
holds measure_json_parses python3 -c \
  'import json; assert len(json.load(open("m/measure.json"))["results"]) == 16'
# self_contained NAME FILE: a page asks for no other file.
self_contained() {
  local elsewhere='src=|<link|<script|@import|(href|url)[^>]*https?:'
  holds "$1" sh -c "! grep -qE '$elsewhere' $2"
}
self_contained measure_html_is_self_contained m/measure.html
if command -v gnuplot >/dev/null; then
  holds measure_html_has_plots grep -q '<svg' m/measure.html
fi
cp m/measure.csv first.csv
run 0 measure --m 8 --n 8 --k 96 64 --interval none 32 --out m
holds measure_repeats_bit_for_bit cmp first.csv m/measure.csv
(PATH=/nonexistent; "$program" measure --m 4 --n 4 --k 64 --out m2) >.out 2>.err
holds measure_without_gnuplot_says_so grep -q 'gnuplot was not found' \
  m2/measure.html
shows measure_example_of_its_help_works 'user +256' \
  measure --a x.npy --b w.npy --out report
shows measure_json_goes_to_stdout '"results"' \
  measure --a x.npy --b w.npy --out report --json
refuses measure_refuses_a_alone 'go together' measure --a x.npy --out bad
refuses measure_refuses_another_k 'K columns' \
  measure --a x.npy --b dy.npy --out bad
refuses measure_refuses_huge_sizes memory \
  measure --m 16777216 --n 16777216 --out bad
refuses measure_refuses_zero_rows 'use 1 to' measure --m 0 --out bad
refuses measure_refuses_negative_k 'use 1 to' measure --k -5 --out bad
refuses measure_refuses_odd_intervals "'33'" measure --interval 33 --out bad
refuses measure_refuses_text "'many'|many" measure --k many --out bad
holds refused_measures_write_nothing test ! -e bad

# measure --loss: what is ended by kill -9 goes on, with the same bits.

small_loss="measure --loss --loss-size smoke"
small_files="gap.csv gradients.csv forks.csv stress.csv loss.json"
run 1 $small_loss --out whole
verdict measure_loss_fails_where_a_verdict_does "$reason"
holds measure_loss_prints_verdicts grep -q '^FAILED full_recipe_within' .out
holds measure_loss_json_parses python3 -c \
  'import json; assert len(json.load(open("whole/loss.json"))["forks"]) == 8'
for attempt in 1 2 3 4 5; do
  rm -rf torn
  "$program" $small_loss --loss-threads 1 --out torn >.out 2>.err &
  torn=$!
  while kill -0 $torn 2>/dev/null &&
    [ "$(ls torn/state 2>/dev/null | wc -l)" -lt 6 ]; do
    sleep 0.01
  done
  kill -9 $torn 2>/dev/null
  wait $torn 2>/dev/null
  [ -e torn/loss.json ] || break
done
find torn -name '.zeroulp-*' -delete  # a killed process may leave one
holds measure_loss_was_ended \
  test ! -e torn/loss.json -a -e torn/state/fork.0.bf16
cp -r torn damaged
printf x >>damaged/state/fork.0.bf16
refuses measure_loss_refuses_damaged_state 'fork.0.bf16: damaged' \
  $small_loss --out damaged
refuses measure_loss_refuses_state_of_other_options 'other options' \
  $small_loss --loss-seed 2 --out torn
holds refused_losses_write_nothing test ! -e torn/loss.json
run 1 $small_loss --loss-threads 3 --out torn
verdict measure_loss_goes_on "$reason"
for file in $small_files; do
  holds "measure_loss_goes_on_to_the_same_$file" cmp "whole/$file" "torn/$file"
done
refuses measure_loss_refuses_unknown_sizes 'use one of smoke' \
  measure --loss --loss-size huge --out bad
refuses measure_loss_refuses_odd_widths 'use 128' \
  measure --loss --loss-width 100 --out bad
refuses measure_loss_refuses_matrices 'excludes' \
  measure --loss --a x.npy --out bad
refuses measure_refuses_loss_options_alone 'requires' \
  measure --loss-seed 2 --out bad
holds refused_loss_studies_write_nothing test ! -e bad

# Its questions.
small='--with m=32 n=32'
shows measure_answers_a_question 'held: Without promotion' \
  measure --question combinations $small k=512 --out q
holds measure_csv_has_a_row_a_cell python3 - q/study.csv <<'EOF'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 30, len(rows)
marked = [r for r in rows if r["impossible"]]
assert len(marked) == 12, len(marked)
for r in rows:
    assert r["question"] == "combinations" and r["k"] == "512"
    assert (r["total.frobenius"] == "") == (r["impossible"] != "")
assert {r["interval"] for r in rows} == {"32", "64", "128", "512", "none"}
EOF
holds measure_verdicts_are_json python3 - q/study.json <<'EOF'
import json, sys
study = json.load(open(sys.argv[1]))
(q,) = study["questions"]
assert q["verdict"]["held"] is True and q["verdict"]["text"]
assert q["command"].startswith("zeroulp measure --preset quick --question comb")
assert study["throughput_tflops"] == study["loss"] == "absent"
EOF
holds measure_page_is_well_formed python3 - q/measure.html <<'EOF'
import html.parser, sys
class page(html.parser.HTMLParser):
    open, seen = [], []
    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag != "meta": self.open.append(tag)
    def handle_startendtag(self, tag, attributes): self.seen.append(tag)
    def handle_endtag(self, tag): assert self.open.pop() == tag, tag
text = open(sys.argv[1]).read()
p = page()
p.feed(text)
assert not p.open and "table" in p.seen
assert "@media print" in text and "prefers-color-scheme" in text
assert "Impossible: scales along K need promotion" in text
assert "--question combinations" in text
EOF
self_contained measure_page_of_questions_is_self_contained q/measure.html
if command -v gnuplot >/dev/null; then
  holds measure_figures_are_xml python3 -c \
    'import xml.dom.minidom as x; x.parse("q/combinations.svg")'
fi
cp q/study.csv first.csv
run 0 measure --question combinations $small k=512 --out q --reference
holds measure_question_has_the_definitions_bits cmp first.csv q/study.csv
shows measure_runs_cells_of_ones_own 'k=96 a.input=U\(0,1\) +[0-9.]+' \
  measure --cells 'k=64,96' 'a.input=N(0,1),U(0,1)' m=8 n=8 --out c
is measure_cells_have_a_row_each 5 "$(wc -l <c/study.csv)"
shows measure_marks_impossible_cells 'interval=none +impossible' \
  measure --cells interval=128,none m=8 n=8 k=128 --out c
run 1 measure --question same_sign_bias --with m=4 n=4 k=32 --out f
verdict measure_says_1_where_a_verdict_fails "$reason"
holds measure_says_which_verdict_failed grep -q '"held": false' f/study.json
# One's own matrices: x.npy and w.npy are 130 x 256.
sha() { sha256sum "$1" | cut -d ' ' -f 1; }
run 0 measure --cells a.input=x.npy b.input=w.npy \
  group=tensor interval=none,128 --out own
verdict measure_takes_ones_own_matrices "$reason"
holds measure_names_matrices_and_digests python3 - own "$(sha x.npy)" \
  "$(sha w.npy)" <<'EOF'
import csv, json, sys
out, x, w = sys.argv[1:]
rows = list(csv.DictReader(open(out + "/study.csv")))
assert len(rows) == 2
cells = json.load(open(out + "/study.json"))["questions"][0]["cells"]
for r in rows + cells:
    assert r["a.input"] == "x.npy@" + x and r["b.input"] == "w.npy@" + w, r
assert {(r["m"], r["n"], r["k"]) for r in rows} == {("130", "130", "256")}
assert float(rows[0]["accumulation.frobenius"]) > 0
EOF
npy write x64.npy '<f8' 2x3 1 2 -4 0.5 1e-3 3
npy write x16.npy '<u2' 2x3 0x3f80 0x4000 0xc080 0x3f00 0x3a83 0x4040
run 0 measure --cells input=x64.npy,x16.npy:bf16 group=tensor --out own
verdict measure_takes_fp64_and_bf16 "$reason"
holds measure_rounds_matrices_to_bf16_first python3 - own/study.csv <<'EOF'
import csv, sys
a, b = csv.DictReader(open(sys.argv[1]))
for name in ("total.frobenius", "quantization.max", "zeroed", "m", "n", "k"):
    assert a[name] == b[name], name
EOF
npy write u16.npy '<u2' 2x2 1
npy write nan.npy '<f4' 2x2 1 nan
npy write wide.npy '<f8' 2x2 1 1e39
npy write line.npy '<f4' 4 1
npy write none.npy '<f4' 0x4 1
refused_matrix() {  # NAME PATTERN SETTING...
  local name=$1 pattern=$2
  shift 2
  refuses "measure_refuses_a_matrix_$name" "$pattern" \
    measure --cells "$@" --out bad
}
refused_matrix that_is_missing 'input=nowhere.npy: .*nowhere.npy' \
  a.input=nowhere.npy
refused_matrix of_codes 'u16.npy:bf16' a.input=u16.npy
refused_matrix that_is_no_bf16 'needs uint16' a.input=x.npy:bf16
refused_matrix with_nan 'element \(0, 1\) is nan' a.input=nan.npy
refused_matrix beyond_bf16 'beyond bf16' a.input=wide.npy
refused_matrix of_one_dimension 'dimensions' a.input=line.npy
refused_matrix of_no_elements 'no elements' a.input=none.npy
refused_matrix of_another_k 'x.npy has 256 columns, x64.npy has 3' \
  a.input=x.npy b.input=x64.npy
refused_matrix of_another_m 'x.npy is 130 x 256' m=8 a.input=x.npy
refused_matrix that_changed 'SHA-256' "a.input=x.npy@$(sha w.npy)"
refused_matrix with_a_space 'no spaces' 'a.input=x y.npy'
refuses measure_refuses_a_dtype_of_cells 'x.npy:bf16' \
  measure --cells a.input=x.npy --dtype bf16 --out bad
refuses measure_refuses_to_move_k_by_a_matrix 'k: question error_vs_k' \
  measure --question error_vs_k --with b.input=w.npy --out bad
printf 'interval,tflops\n32,700\n128,1283.5\nnone,1341\n' >t.csv
run 0 measure --question interval --with m=32 n=32 --throughput t.csv --out t
verdict measure_reads_a_throughput "$reason"
holds measure_shows_the_throughput grep -q '128: 1284 TFLOP/s' t/study.json
echo '{"verdicts": [{"held": true, "text": "within"}],
  "forks": [{"arm": "full", "mean": 0.001, "low90": 0, "high90": 0.002}]}' \
  >t/loss.json
run 0 measure --question combinations $small k=128 --out t
holds measure_takes_the_loss_in grep -q '"arm": "full"' t/study.json
holds measure_page_shows_the_loss grep -q 'held: within' t/measure.html
holds measure_page_shows_its_intervals grep -q 'full</td>.*0.2</td>' \
  t/measure.html
echo '{' >t/loss.json
refuses measure_refuses_a_broken_loss 'loss.json' \
  measure --question combinations $small k=128 --out t
echo '{"verdicts": [3]}' >t/loss.json
refuses measure_refuses_another_loss 'loss.json' \
  measure --question combinations $small k=128 --out t
refuses measure_refuses_an_unknown_question 'error_vs_k' \
  measure --question why --out bad
refuses measure_refuses_an_unknown_preset 'quick full' \
  measure --preset slow --out bad
refuses measure_refuses_an_unknown_field 'no field' \
  measure --cells kk=3 --out bad
refuses measure_refuses_a_field_without_value 'FIELD=VALUE' \
  measure --cells k --out bad
refuses measure_refuses_a_bad_value 'k=0' measure --cells k=0 --out bad
refuses measure_refuses_a_bad_with 'FIELD=VALUE' \
  measure --question interval --with m --out bad
refuses measure_refuses_cells_and_questions 'without --question' \
  measure --cells k=64 --question interval --out bad
refuses measure_refuses_the_tables_options 'with k=4096' \
  measure --preset quick --m 8 --out bad
refuses measure_refuses_to_move_what_is_asked 'k: question error_vs_k' \
  measure --question error_vs_k --with k=128 --out bad
refuses measure_refuses_a_question_without_cells 'k up to' \
  measure --question interval --with k=65536 --out bad
refuses measure_refuses_a_field_twice 'there twice' \
  measure --cells k=64 k=128 --out bad
refuses measure_refuses_negative_seeds 'seed' measure --seed -1 --out bad
refuses measure_refuses_with_alone 'goes with' measure --with m=8 --out bad
printf '128;3\n' >bad.csv
refuses measure_refuses_a_bad_throughput 'line 1' \
  measure --question interval --throughput bad.csv --out bad
refuses measure_refuses_a_missing_throughput 'cannot be read' \
  measure --question interval --throughput none.csv --out bad
refuses measure_refuses_cells_beyond_memory memory \
  measure --cells m=16384 n=16384 k=1048576 --out bad
holds refused_questions_write_nothing test ! -e bad
