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
