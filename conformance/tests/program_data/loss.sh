# study --loss: what is ended by kill -9 goes on, with the same bits.

small_loss="study --loss --loss-size smoke"
small_files="gap.csv gradients.csv forks.csv outliers.csv loss.json"
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
  test ! -e torn/loss.json -a -e torn/state/fork.0.0.bf16
cp -r torn damaged
printf x >>damaged/state/fork.0.0.bf16
refuses measure_loss_refuses_damaged_state 'fork.0.0.bf16: it is damaged' \
  $small_loss --out damaged
refuses measure_loss_refuses_state_of_other_options 'other settings' \
  $small_loss --loss-seed 2 --out torn
refuses measure_loss_refuses_state_of_another_rate 'other settings' \
  $small_loss --loss-rate 1e-3 --out torn
holds refused_losses_write_nothing test ! -e torn/loss.json
run 1 $small_loss --loss-threads 3 --out torn
verdict measure_loss_goes_on "$reason"
for file in $small_files; do
  holds "measure_loss_goes_on_to_the_same_$file" cmp "whole/$file" "torn/$file"
done
run 1 $small_loss --loss-arm tensor \
  --loss-arm tensor+fraction_bits:9+interval:0/tensor --out armed
holds measure_loss_compares_the_arms_that_are_named grep -q \
  '^tensor+fraction_bits:9+interval:0/tensor,' armed/forks.csv
holds measure_loss_says_what_made_it grep -qF \
  -- '--loss-arm tensor+fraction_bits:9+interval:0/tensor' \
  armed/loss.json
long=tensor
for x in x w dy; do
  long+=+linear.$x.format:e4m3+linear.$x.scale:pow2+linear.$x.group:tensor
done
run 1 $small_loss --loss-arm $long+swiglu_cache.format:e5m6+attention_cache.format:e5m6 --out long
holds measure_loss_keeps_parts_of_long_names test -e long/loss.json
