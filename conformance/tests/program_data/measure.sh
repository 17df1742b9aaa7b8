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
first_on_its_page measure_page_has_verdicts_first m/measure.html \
  '<span class="badge good">smaller</span>'
cp m/measure.csv first.csv
run 0 measure --m 8 --n 8 --k 96 64 --interval none 32 --out m
holds measure_repeats_bit_for_bit cmp first.csv m/measure.csv
(PATH=/nonexistent; "$program" measure --m 4 --n 4 --k 64 --out m2) >.out 2>.err
holds measure_without_gnuplot_says_so grep -q 'gnuplot was not found' \
  m2/measure.html
shows measure_example_of_its_help_works 'user +256' \
  measure --a x.npy --b w.npy --out report
# A user's matrices have scales: those that each interval allows (G2).
npy write tiny.npy '<f4' 2x256 1e-5 3e-5 -2e-5 1e-7
shows measure_quantizes_matrices_by_groups \
  'interval 128 with a scale for each 1x128 of A and 128x128 of B \(0 and 0' \
  measure --a tiny.npy --b tiny.npy --out report
shows measure_quantizes_by_rows_where_no_promotion_is \
  'none, 256, 512, 1024 with a scale for each row .*0 and 0 became zero' \
  measure --a tiny.npy --b tiny.npy --out report
shows measure_takes_matrices_as_they_are_if_told \
  'scale 1, as they are \(0 and 0 elements saturated at 448, 512 and 512' \
  measure --a tiny.npy --b tiny.npy --scales none --out report
for scales in rows tensor; do
  shows "measure_takes_scales_of_$scales" '0 and 0 became zero' \
    measure --a tiny.npy --b tiny.npy --scales $scales --out report
done
refuses measure_refuses_unknown_scales "'blocks': use one of groups" \
  measure --a x.npy --b w.npy --scales blocks --out bad
refuses measure_refuses_scales_of_drawn_inputs 'your matrices' \
  measure --scales rows --out bad
shows measure_json_goes_to_stdout '"results"' \
  measure --a x.npy --b w.npy --out report --json
refuses measure_refuses_a_alone 'go together' measure --a x.npy --out bad
refuses measure_refuses_sizes_of_given_matrices 'are yours' \
  measure --a x.npy --b w.npy --m 7 --out bad
echo kept >ordinary_file
refuses measure_looks_at_its_directory_first 'cannot make the directory' \
  measure --m 1024 --n 1024 --k 65536 --out ordinary_file
refuses questions_look_at_their_directory_first 'cannot make the directory' \
  study --question error_vs_k --preset full --out ordinary_file
is refused_directories_stay_files kept "$(cat ordinary_file)"
refuses measure_refuses_another_k 'K columns' \
  measure --a x.npy --b dy.npy --out bad
refuses measure_refuses_huge_sizes memory \
  measure --m 16777216 --n 16777216 --out bad
refuses measure_refuses_zero_rows 'use 1 to' measure --m 0 --out bad
refuses measure_refuses_negative_k 'use 1 to' measure --k -5 --out bad
refuses measure_refuses_odd_intervals "'33'" measure --interval 33 --out bad
refuses measure_refuses_text "'many'|many" measure --k many --out bad
holds refused_measures_write_nothing test ! -e bad

# study --loss: see loss.sh for what trains.

refuses measure_loss_refuses_unknown_sizes 'use one of smoke' \
  study --loss --loss-size huge --out bad
refuses measure_loss_refuses_unknown_arms "did you mean 'tensor'" \
  study --loss --loss-size smoke --loss-arm tensr --out bad
refuses measure_loss_refuses_fields_that_cannot_be \
  "fraction_bits is '40': use a whole number from 8 to 34" \
  study --loss --loss-size smoke --loss-arm full+fraction_bits:40 --out bad
refuses measure_loss_refuses_odd_widths 'width' \
  study --loss --loss-model T+width:100 --out bad
refuses measure_loss_refuses_matrices 'unknown argument --a' \
  study --loss --a x.npy --out bad
refuses measure_refuses_loss_options_alone 'requires' \
  study --loss-seed 2 --out bad
holds refused_loss_studies_write_nothing test ! -e bad

refuses study_refuses_to_guess_what_is_asked 'say what' study --out bad

# study --real: products that a script captured.
mkdir real
npy write real/a.npy '<u2' 2x256 16256 16000 49000 16128
npy write real/b.npy '<u2' 3x256 16256 15900 16300 48900 16200
echo '[{"name": "up fprop", "a": "a.npy", "b": "b.npy", "more": 1}]' \
  >real/products.json
run 0 study --real real --out asked
verdict study_asks_about_real_products "$reason"
holds study_real_has_a_row_for_each_product grep -q '^up fprop' .out
holds study_real_says_its_verdict grep -q '^held: Promoted every 128' .out
echo '[{"name": "up fprop", "a": "a.npy"}]' >real/products.json
refuses study_real_refuses_half_a_product "a product has no 'b'" \
  study --real real --out bad
echo '{}' >real/products.json
refuses study_real_refuses_what_is_no_list 'no list of products' \
  study --real real --out bad
refuses study_real_refuses_an_empty_folder 'products.json' \
  study --real t --out bad
refuses study_real_is_a_question 'without --question' \
  study --real real --question interval --out bad
# study --question paper: the numbers of DeepSeek-V3's report.
paper='study --question paper --with m=256 n=256'
mkdir -p rates empty beyond/train/campaign
cp "$here"/../records/perf_h?00.json rates
run 0 $paper --records rates --out paper
verdict study_asks_about_the_report "$reason"
holds study_paper_counts_its_verdicts grep -q \
  '^19 numbers: holds 16, partly 2, DIFFERS 0, not measured yet 1$' .out
is study_paper_has_a_row_for_each_number 20 "$(wc -l <paper/paper.csv)"
holds study_paper_names_its_records grep -q \
  '^  how      rates/perf_h200.json, rates/perf_h100.json$' .out
holds study_paper_has_no_loss_yet grep -q \
  'nothing in rates/train/campaign' .out
holds study_paper_json_parses python3 -S -E -c '
import json
rows = {r["row"]: r for r in json.load(open("paper/paper.json"))["rows"]}
assert rows["parameters"]["ours"].startswith("671.03B; 37.55B"), rows
assert rows["two_percent"]["verdict"] == "partly", rows'
run 0 $paper --records empty --out paper
holds study_paper_says_what_no_record_has grep -q \
  'not measured yet: More time than without promotion' .out
cat >beyond/train/campaign/parity.json <<'EOF'
{"size": "lite4", "steps": 1000, "bound": 0.0025, "is_sensitive": true,
 "own": [{"arm": "full", "mean": 0.004, "low": 0.003, "high": 0.005,
          "verdict": "beyond"}]}
EOF
run 1 $paper --records beyond --out paper
verdict study_paper_fails_where_a_number_differs "$reason"
holds study_paper_takes_the_loss_of_the_campaign grep -q \
  'DIFFERS: beyond +-0.25 %, 1000 steps of lite4' .out
# Another plan of the same steps may have the positive control.
mkdir -p sensitive/train
cp -r "$here"/../records/train/campaign sensitive/train
run 0 $paper --records sensitive --out paper
verdict study_paper_reads_the_campaigns "$reason"
holds study_paper_has_the_loss_of_full grep -q \
  'within +-0.25 %, 500 steps of lite4+sequences:16 after 700 of BF16' .out
rm sensitive/train/campaign/*sensitivity.parity.json
run 0 $paper --records sensitive --out paper
holds study_paper_asks_for_a_positive_control grep -q \
  'No positive control is beyond' .out
echo '{"size": "lite4"}' >beyond/train/campaign/parity.json
refuses study_paper_refuses_a_broken_record 'parity.json' \
  $paper --records beyond --out bad
refuses study_paper_is_asked_alone 'asked alone' \
  study --question paper interval --out bad
refuses study_refuses_records_of_nothing 'is for --question paper' \
  study --question interval --records rates --out bad
# Earlier spellings.
"$program" measure --question combinations --with m=32 n=32 k=128 --out old \
  >.out 2>.err
is measure_still_asks_questions '0 study.csv' "$? $(ls old | grep study.csv)"
is measure_says_where_questions_are \
  'zeroulp: measure --question is now `zeroulp study --question`' "$(cat .err)"

# Its questions.
small='--with m=32 n=32'
shows measure_answers_a_question 'held: Without promotion' \
  study --question combinations $small k=512 --out q
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
assert q["command"].startswith("zeroulp study --preset quick --question comb")
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
assert '<a href="#combinations">' in text and 'id="combinations"' in text
assert "The verdict held." in text and "What the measures are" in text
EOF
self_contained measure_page_of_questions_is_self_contained q/measure.html
if command -v gnuplot >/dev/null; then
  holds measure_figures_are_xml python3 -c \
    'import xml.dom.minidom as x; x.parse("q/combinations.svg")'
fi
cp q/study.csv first.csv
run 0 study --question combinations $small k=512 --out q --reference
holds measure_question_has_the_definitions_bits cmp first.csv q/study.csv
shows measure_runs_cells_of_ones_own 'k=96 a.input=U\(0,1\) +[0-9.]+' \
  study --cells 'k=64,96' 'a.input=N(0,1),U(0,1)' m=8 n=8 --out c
is measure_cells_have_a_row_each 5 "$(wc -l <c/study.csv)"
shows measure_marks_impossible_cells 'interval=none +impossible' \
  study --cells interval=128,none m=8 n=8 k=128 --out c
run 1 study --question same_sign_bias --with m=4 n=4 k=32 --out f
verdict measure_says_1_where_a_verdict_fails "$reason"
holds measure_says_which_verdict_failed grep -q '"held": false' f/study.json
refuses measure_of_impossible_cells \
  'cells: there is nothing to measure: an interval of 7 crosses groups' \
  study --cells interval=7 k=128 --out none
holds measure_of_impossible_cells_writes_nothing test ! -e none
holds measure_cells_say_what_computed_them python3 - q/study.json <<'EOF'
import json, re, sys
study = json.load(open(sys.argv[1]))
assert study["device"] == {"name": "CPU"}
for c in study["questions"][0]["cells"]:
    if "impossible" in c: continue
    assert c["by"] == "CPU" and re.fullmatch("[0-9a-f]{64}", c["sha256"])
EOF
# --preset gpu: both computed each cell; without a GPU a line says so.
if [ -e /dev/nvidia0 ]; then
  shows measure_on_the_gpu_has_the_cpus_bits '^held: 18 cells were computed' \
    study --preset gpu --question combinations \
    --with m=200 n=130 k=512 --out g
  holds measure_on_the_gpu_names_it grep -q '"name": "NVIDIA' g/study.json
else
  refuses measure_preset_gpu_says_why_not \
    '^zeroulp: study --preset gpu: (no NVIDIA GPU|this build)' \
    study --preset gpu --out bad
  refuses measure_cells_on_a_gpu_need_one \
    '^zeroulp: study --preset gpu: (no NVIDIA GPU|this build)' \
    study --cells k=64 --preset gpu --out bad
fi
# One's own matrices: x.npy and w.npy are 130 x 256.
sha() { sha256sum "$1" | cut -d ' ' -f 1; }
run 0 study --cells a.input=x.npy b.input=w.npy \
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
run 0 study --cells input=x64.npy,x16.npy:bf16 group=tensor --out own
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
    study --cells "$@" --out bad
}
refused_matrix that_is_missing 'input=nowhere.npy: .*nowhere.npy' \
  a.input=nowhere.npy
refused_matrix of_codes 'u16.npy:bf16' a.input=u16.npy
refused_matrix that_is_no_bf16 'needs uint16' a.input=x.npy:bf16
refused_matrix of_another_type \
  "input 'x.npy:fp8': a file is FILE.npy, or FILE.npy:bf16" a.input=x.npy:fp8
refused_matrix with_nan 'element \(0, 1\) is nan' a.input=nan.npy
refused_matrix beyond_bf16 'beyond bf16' a.input=wide.npy
refused_matrix of_one_dimension 'dimensions' a.input=line.npy
refused_matrix of_no_elements 'no elements' a.input=none.npy
refused_matrix of_another_k 'x.npy has 256 columns, x64.npy has 3' \
  a.input=x.npy b.input=x64.npy
refused_matrix of_another_m 'x.npy is 130 x 256' m=8 a.input=x.npy
refused_matrix that_changed 'SHA-256' "a.input=x.npy@$(sha w.npy)"
refused_matrix with_a_space 'no spaces' 'a.input=x y.npy'
refuses measure_refuses_a_dtype_of_cells 'unknown argument --dtype' \
  study --cells a.input=x.npy --dtype bf16 --out bad
refuses measure_refuses_to_move_k_by_a_matrix 'k: question error_vs_k' \
  study --question error_vs_k --with b.input=w.npy --out bad
# What `zeroulp bench gpu gemm.interval --json` writes: another benchmark, a
# row that failed, the limit, and rates at two sizes.
cat >rates.json <<'EOF'
[
  {"name": "gemm.limit", "size": "8192x8192x8192",
   "who": "wgmma m64n256k32 alone", "value": 1500.5, "unit": "TFLOP/s",
   "min": 1490.1, "max": 1510, "runs": 20, "microseconds": 733},
  {"name": "gemm.interval", "size": "4096x4096x7168",
   "who": "never promoted", "value": 1341.2, "unit": "TFLOP/s", "min": 1330,
   "max": 1350, "runs": 20, "microseconds": 179.3, "clock_mhz": 1755.0,
   "power_w": 690.5},
  {"name": "gemm.interval", "size": "4096x4096x7168",
   "who": "promoted every 128", "value": 1283.5, "unit": "TFLOP/s",
   "min": 1270, "max": 1290, "runs": 20, "microseconds": 187.4,
   "ratio": 1.045, "ratio_min": 1.04, "ratio_max": 1.05},
  {"name": "gemm.interval", "size": "4096x4096x7168",
   "who": "wgmma m64n256k32 alone", "value": 1500, "unit": "TFLOP/s"},
  {"name": "gemm.interval", "size": "4096x4096x7168", "absent": "wgmma"},
  {"name": "gemm.interval", "size": "8192x8192x8192", "failed": "no memory"}
]
EOF
run 0 study --question interval --with m=32 n=32 --throughput rates.json \
  --out t
verdict measure_reads_a_throughput "$reason"
holds measure_shows_the_throughput grep -q \
  '4096x4096x7168 promoted every 128: 1284 TFLOP/s, 95.7 % of the 1341' \
  t/study.json
holds measure_keeps_the_throughput python3 - t/study.json <<'EOF'
import json, sys
rates = json.load(open(sys.argv[1]))["throughput_tflops"]
assert [(r["interval"], r["tflops"]) for r in rates] == [
    ("none", 1341.2), ("128", 1283.5)], rates
EOF
holds measure_page_shows_the_throughput grep -q \
  'Throughput against the promotion interval' t/measure.html
# The bench itself, where there is a GPU.
if [ -e /dev/nvidia0 ]; then
  run 0 bench gpu gemm.interval --quick --json
  cp .out gpu_rates.json
  run 0 study --question interval --with m=32 n=32 \
    --throughput gpu_rates.json --out t
  verdict measure_reads_the_throughput_of_this_gpu "$reason"
fi
echo '{"command": "zeroulp study --loss --loss-size smoke --loss-seed 1",
  "options": {"width": 128, "fork_steps": 4, "stress_exponents": [0, 8]},
  "verdicts": [{"held": true, "text": "within"}],
  "forks": [{"arm": "full", "mean": 0.001, "low90": 0, "high90": 0.002}]}' \
  >t/loss.json
run 0 study --question combinations $small k=128 --out t
holds measure_takes_the_loss_in grep -q '"arm": "full"' t/study.json
holds measure_page_says_what_made_the_loss grep -qF \
  'smoke --loss-seed 1, with width 128, fork steps 4, stress exponents [0,8].' \
  t/measure.html
holds measure_page_shows_the_loss grep -q \
  '<span class="badge good">held</span></td><td>.*</td><td>within</td>' \
  t/measure.html
if command -v gnuplot >/dev/null; then
  holds measure_page_shows_the_loss_with_its_interval grep -q \
    'aria-label="Paired forks: the loss beside BF16"' t/measure.html
fi
holds measure_page_shows_its_intervals grep -q 'full</td>.*0.2</td>' \
  t/measure.html
echo '{' >t/loss.json
refuses measure_refuses_a_broken_loss 'loss.json' \
  study --question combinations $small k=128 --out t
echo '{"verdicts": [3]}' >t/loss.json
refuses measure_refuses_another_loss 'loss.json' \
  study --question combinations $small k=128 --out t
refuses measure_refuses_an_unknown_question 'error_vs_k' \
  study --question why --out bad
refuses measure_refuses_an_unknown_preset 'quick, full, gpu' \
  study --preset slow --out bad
refuses measure_refuses_an_unknown_field 'no field' \
  study --cells kk=3 --out bad
refuses measure_refuses_a_field_without_value 'FIELD=VALUE' \
  study --cells k --out bad
refuses measure_refuses_a_bad_value 'k=0' study --cells k=0 --out bad
refuses measure_refuses_a_bad_with 'FIELD=VALUE' \
  study --question interval --with m --out bad
refuses measure_refuses_cells_and_questions 'without --question' \
  study --cells k=64 --question interval --out bad
refuses measure_refuses_the_tables_options 'unknown argument --m' \
  study --preset quick --m 8 --out bad
refuses measure_refuses_to_move_what_is_asked 'k: question error_vs_k' \
  study --question error_vs_k --with k=128 --out bad
refuses measure_refuses_a_question_without_cells 'k up to' \
  study --question interval --with k=65536 --out bad
refuses measure_refuses_a_field_twice 'there twice' \
  study --cells k=64 k=128 --out bad
refuses measure_refuses_negative_seeds 'seed' measure --seed -1 --out bad
refuses measure_refuses_with_alone 'say what' study --with m=8 --out bad
refuses measure_refuses_with_of_what_cells_decide \
  'question cells decides it cell by cell; name it in --cells' \
  study --cells k=128 --with k=256 --out bad
for text in 'interval,tflops' '[]' '{}' '[{"name": "gemm.interval"}]' \
  '[{"name": "gemm.interval", "unit": "TFLOP/s", "who": 3, "value": 4}]'; do
  echo "$text" >bad.json
  refuses measure_refuses_a_bad_throughput 'bench gpu gemm.interval --json' \
    study --question interval --throughput bad.json --out bad
done
# bad_row FIELD JSON PATTERN: what the third row of rates.json has instead.
bad_row() {
  sed "/promoted every 128/s|\"$1\": [^,]*|\"$1\": $2|" rates.json >bad.json
  refuses "measure_refuses_a_throughput_whose_$1_is_$2" \
    "^zeroulp: bad.json: row 3: its $1 is $3: make it by zeroulp bench gpu" \
    study --question interval --throughput bad.json --out bad
}
bad_row value '"fast"' '"fast", not a number above 0'
bad_row value -3 '-3, not a number above 0'
bad_row value null 'null, not a number above 0'
bad_row who 128 '128, not a text'
bad_row who '"promoted every other"' "'promoted every other', no interval"
bad_row unit '"GFLOP/s"' "'GFLOP/s', not TFLOP/s"
refuses measure_refuses_a_missing_throughput 'nowhere.json' \
  study --question interval --throughput nowhere.json --out bad
refuses measure_refuses_cells_beyond_memory memory \
  study --cells m=16384 n=16384 k=1048576 --out bad
holds refused_questions_write_nothing test ! -e bad
