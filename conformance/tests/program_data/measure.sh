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
holds measure_html_is_self_contained sh -c \
  '! grep -qE "src=|<link|<script|@import|(href|url)[^>]*https?:" m/measure.html'
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
holds measure_loss_was_ended test ! -e torn/loss.json -a -e torn/state/fork.0.bf16
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
