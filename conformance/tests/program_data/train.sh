# train.

shows train_prints_a_step '^ +1 +6\.06[0-9]+ .* 017d40d75647[0-9a-f]{52}$' \
  train --size tiny --steps 1 --held-out 0
shows train_tells_what_is_held_out '^held out: 5\.' \
  train --size tiny --arm bf16 --steps 1 --digests d.csv
is train_digests_have_a_line_a_tensor 77 "$(grep -c '^1,' d.csv)"
shows train_again_has_the_same_tensors '^77 tensors, 0 differences$' \
  train --size tiny --arm bf16 --steps 1 --held-out 0 --compare d.csv
run 1 train --size tiny --arm full --steps 1 --held-out 0 --compare d.csv
if [ -z "$reason" ] && ! grep -q 'first difference: 1,layer0.norm1.codes,' .out
then
  reason="names no tensor: $out"
fi
verdict train_names_the_first_tensor_that_differs "$reason"

head -n 70 d.csv >cut.csv
run 1 train --size tiny --arm bf16 --steps 1 --held-out 0 --compare cut.csv
if [ -z "$reason" ] && ! grep -q 'before which cut.csv ends' .out; then
  reason="says something else: $out"
fi
verdict train_tells_that_a_file_ends_too_early "$reason"
(cat d.csv; echo '2,x,4,0') >more.csv
run 1 train --size tiny --arm bf16 --steps 1 --held-out 0 --compare more.csv
if [ -z "$reason" ] && ! grep -q 'the run ends before 2,x,' .out; then
  reason="says something else: $out"
fi
verdict train_tells_which_tensors_are_missing "$reason"

# A run that goes on writes and compares the tensors of its own steps.
few_steps=(train --size tiny --steps 8 --held-out 0)
run 0 "${few_steps[@]}" --digests whole.csv
"$program" "${few_steps[@]}" --every 1 --out parts --digests parts.csv \
  >/dev/null 2>&1 &
until [ -e parts/run.zeroulp ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
{ kill -KILL $! && wait $!; } 2>/dev/null
shows train_compares_the_steps_that_are_left '[0-9]+ tensors, 0 differences' \
  "${few_steps[@]}" --every 1 --out parts --digests parts.csv \
  --compare whole.csv
holds train_keeps_the_digests_of_steps_that_were_done cmp whole.csv parts.csv
run 1 "${few_steps[@]}" --out parts --compare whole.csv
if [ -z "$reason" ] && ! grep -q '^VACUOUS' .out; then
  reason="says something else: $out"
fi
verdict train_tells_that_no_step_was_left "$reason"

# A run that is killed goes on, byte for byte.
run 0 train --size tiny --steps 4 --held-out 0
cp .out whole.txt
for _ in 1 2 3; do
  timeout -s KILL 1 "$program" train --size tiny --steps 4 --held-out 0 \
    --every 1 --out run >/dev/null 2>&1
done
run 0 train --size tiny --steps 4 --held-out 0 --every 1 --out run
holds train_goes_on_byte_for_byte cmp .out whole.txt
refuses train_refuses_the_run_of_other_settings 'of a run with other settings' \
  train --size tiny --steps 4 --seed 2 --out run
printf '\1' | dd of=run/run.zeroulp bs=1 seek=100000 conv=notrunc 2>/dev/null
refuses train_refuses_a_damaged_run 'it is damaged' \
  train --size tiny --steps 4 --out run

refuses train_names_the_sizes "unknown size 'X': use one of tiny, T" \
  train --size X
refuses train_names_the_arms "unknown arm 'ful': did you mean 'full'" \
  train --arm ful
refuses train_needs_shards_that_divide 'shards is 3: use a power of two' \
  train --size tiny --shards 3
refuses train_needs_steps 'steps: at least one' train --steps 0
printf 'abc' >short.bin
refuses train_needs_a_corpus 'short.bin: 3 bytes; a step takes' \
  train --size tiny --data short.bin
refuses train_needs_its_file 'nothing.bin' train --data nothing.bin

# Arms and sizes of one's own.

run 0 arms hybrid --json
cp .out hybrid.json
run 0 train --size tiny --arm hybrid --steps 1 --held-out 0
cp .out named.txt
run 0 train --size tiny --arm hybrid.json --steps 1 --held-out 0
holds train_reads_the_arm_that_is_printed cmp .out named.txt
run 0 train --size tiny --arm full+linear.dy.format:e5m2 --steps 1 --held-out 0
holds train_changes_fields_of_an_arm cmp .out named.txt
run 0 sizes tiny --json
cp .out tiny.json
run 0 train --size tiny.json --arm hybrid --steps 1 --held-out 0
holds train_reads_the_size_that_is_printed cmp .out named.txt
echo '{"name": "mine", "like": "tiny", "fields": {"sequences": 4}}' >mine.json
shows train_takes_a_size_of_ones_own '^size mine [0-9a-f]{16} arm bf16 ' \
  train --size mine.json --arm bf16 --steps 1 --held-out 0
echo '{"like": "tiny", "fields": {"width": 192}}' >bad.json
refuses train_names_the_field_of_a_size 'bad.json: width is 192: use a mult' \
  train --size bad.json
echo '{"name": "full", "fields": {"linear.dy.format": "e5m2", "linear.fprop.splits": 2}}' >bad.json
refuses train_refuses_the_name_of_another_arm "bad.json: name is 'full'" \
  train --arm bad.json
echo '{"fields": {"linear.fprop.interval": 64.5}}' >bad.json
refuses train_names_the_field_of_an_arm \
  'bad.json: linear.fprop.interval is 64.5: use a whole number' \
  train --arm bad.json
echo '{"fields": {"linear.y.format": "e4m3"}}' >bad.json
refuses train_names_an_unknown_field "unknown field 'linear.y.format'" \
  train --arm bad.json
run 0 train --size tiny --arm full --steps 2 --held-out 0 --out arms
refuses train_refuses_the_run_of_another_arm 'of a run with other settings' \
  train --size tiny --arm full+splits:2 --steps 2 --out arms

# A module of multi-token prediction (N31) is a size of its own; it goes on from
# its checkpoint, and a run without one is what it was.
with_module=(train --size tiny+mtp:1 --steps 8 --held-out 0)
run 0 "${with_module[@]}" --digests module.csv
verdict train_runs_with_a_module "$reason"
holds a_module_has_a_loss grep -q '^1,mtp.losses,' module.csv
"$program" "${with_module[@]}" --every 1 --out mtp >/dev/null 2>&1 &
until [ -e mtp/run.zeroulp ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
{ kill -KILL $! && wait $!; } 2>/dev/null
shows a_module_goes_on_byte_for_byte '[0-9]+ tensors, 0 differences' \
  "${with_module[@]}" --every 1 --out mtp --compare module.csv
refuses train_refuses_the_run_of_a_module 'of a run with other settings' \
  train --size tiny --steps 8 --held-out 0 --out mtp
refuses train_has_one_module_at_most "mtp is '2': use a whole number from 0 to 1" \
  train --size tiny+mtp:2

# tensors: the report's table, of each arm.

shows tensors_keep_attention_in_e5m6 \
  "attention's output, kept +e5m6 +1x128 +pow2" tensors
shows tensors_dispatch_by_powers_of_two 'dY of experts. down +e4m3 +1x128 +pow2' \
  tensors --arm full
shows tensors_of_one_scale 'X +e4m3 +tensor +fp32 .*FP8 sums, unpromoted' \
  tensors --arm te
shows tensors_of_bf16_have_no_scales '^ *X +bf16 +- +- .*K in 2 ranges' \
  tensors --arm bf16_split_k
run 0 tensors --json
holds tensors_json_has_every_row python3 -c \
  'import json; assert len(json.load(open(".out"))["tensors"]) == 23'
refuses tensors_names_the_arms "unknown arm 'fp4': use one of bf16, " \
  tensors --arm fp4

# An audit: a step again, from what the run kept.
kept_steps=(train --size tiny --steps 4 --held-out 0)
run 0 "${kept_steps[@]}" --keep 2 --every 100 --out kept
cp .out kept.txt
shows train_audits_a_step_that_was_kept '^equal: computed [0-9a-f]{64}' \
  train --audit kept --step 2
holds an_audit_that_held_leaves_nothing test ! -e kept/audit.2
shows train_audits_in_one_go '^equal: computed [0-9a-f]{64}' \
  train --audit kept --step 2 --in-one-go
shows train_audits_the_first_step '^audited step 1: ' \
  train --audit kept --step 0
holds the_receipt_is_a_chain python3 -S -E - <<'END'
import hashlib
settings = open("kept/settings.json").read().rstrip("\n")
chain = hashlib.sha256(settings.encode()).hexdigest()
rows = open("kept/receipt.csv").read().splitlines()[1:]
table = [line.split() for line in open("kept.txt")][3:7]
assert len(rows) == 4
for row, shown in zip(rows, table):
    rest, last = row.rsplit(",", 1)
    chain = hashlib.sha256((chain + rest).encode()).hexdigest()
    assert chain == last, row
    step, loss, norm, rate, state = rest.split(",")
    assert [step, f"{float.fromhex(loss):.6f}", state] == \
        [shown[0], shown[1], shown[4]], row
END
refuses train_names_the_checkpoint_that_is_not_there 'with --keep 1' \
  train --audit kept --step 1
refuses train_names_the_last_step_of_an_audit 'steps 0 to 3' \
  train --audit kept --step 4
refuses train_audits_a_run 'settings.json' train --audit no_run
refuses train_audits_with_the_settings_of_the_run 'excludes' \
  train --audit kept --step 2 --size T
refuses train_names_the_data_of_the_run "the data are 'source': leave out --data" \
  train --audit kept --step 2 --data .out
refuses train_keeps_steps_that_there_are 'use a step, 1 to 4' \
  "${kept_steps[@]}" --keep 5 --out kept5
refuses train_keeps_steps_in_a_folder 'with --out' "${kept_steps[@]}" --keep 2
refuses train_refuses_a_plan_that_is_not_there 'no_plan' \
  "${kept_steps[@]}" --plan no_plan
echo plan >plan.json
refuses train_refuses_the_run_of_another_plan 'with other settings' \
  "${kept_steps[@]}" --plan plan.json --out kept

# A receipt whose last state is another, its chain mended.
cp -r kept forged
python3 -S -E - <<'END'
import hashlib
lines = open("forged/receipt.csv").read().splitlines()
before = lines[2].rsplit(",", 1)[1]
cells = lines[3].split(",")
cells[4] = cells[4][:-1] + ("0" if cells[4][-1] != "0" else "1")
rest = ",".join(cells[:5])
lines[3] = rest + "," + hashlib.sha256((before + rest).encode()).hexdigest()
open("forged/receipt.csv", "w").write("\n".join(lines[:4]) + "\n")
END
run 1 train --audit forged --step 2
if [ -z "$reason" ] && ! grep -q '^DIFFERENT: computed' .out; then
  reason="says something else: $out"
fi
verdict train_tells_that_an_audited_step_differs "$reason"

# The report of a campaign: what is not of its plan is named.
small='tiny+sequences:1+length:32'
cat >plan.json <<'END'
{"size": "tiny+sequences:1+length:32", "data": "source", "steps": 2,
 "base": "bf16", "control": "full", "arms": ["full"], "positive_controls": [],
 "pairs": [], "seeds": [1, 2], "looks": [2], "level": 0.9, "bound": 0.9}
END
for arm in bf16 full; do
  for seed in 1 2; do
    run 0 train --size $small --arm $arm --seed $seed --steps 2 \
      --plan plan.json --held-out 1 --held-out-by bf16 --out runs/$arm.$seed
    verdict "train_runs_$arm.${seed}_of_a_plan" "$reason"
  done
done
report=(train --report runs --plan plan.json)
# A campaign makes what is not there; the same run has the same bytes.
shows train_campaign_has_nothing_left '^0 runs made, 0 left' \
  train --campaign plan.json --out runs
mv runs/full.2 made_by_hand
shows train_campaign_makes_what_is_left '^1 runs made, 0 left' \
  train --campaign plan.json --out runs
for file in settings.json receipt.csv held_out.csv; do
  holds "train_campaign_makes_the_same_$file" cmp made_by_hand/$file \
    runs/full.2/$file
done
refuses train_campaign_has_a_folder 'name the folder' \
  train --campaign plan.json
sed 's/"source"/"sha256:0"/' plan.json >other.json
refuses train_campaign_has_the_plans_data 'source, in the plan sha256:0' \
  train --campaign other.json --out runs
refuses train_campaign_has_looks 'looks 1 to 1' \
  train --campaign plan.json --out runs --look 2
# Several processes share a plan by its seeds.
shows train_campaign_makes_a_seed '^2 runs made, 0 left' \
  train --campaign plan.json --out by_seed --seeds 2
shows train_campaign_makes_the_other_seed '^2 runs made, 0 left' \
  train --campaign plan.json --out by_seed
holds train_campaign_of_seeds_has_the_same_bytes cmp \
  by_seed/full.2/held_out.csv runs/full.2/held_out.csv
refuses train_campaign_has_these_seeds "seeds are 1, 2, not 3" \
  train --campaign plan.json --out runs --seeds 1 3
# GPUs have as many shards each.
refuses train_gpus_are_a_power_of_two 'gpu:N, N a power of two' \
  train --on gpu:3
refuses train_gpus_divide_the_shards '1 shards: use a multiple of 2, --shards 2' \
  train --on gpu:2
fixed='"settings": {"rate": 1e-3, "warmup": 0, "hold": 2}, "held_out": 2'
sed "s/\"bound\"/$fixed, \"bound\"/" plan.json >rated.json
shows train_campaign_has_the_plans_rate '1 +[0-9.]+ +[0-9.]+ +1.000e-03' \
  train --campaign rated.json --out rated
shows train_reports_runs_of_its_rate '^full +bf16 +2 ' \
  train --report rated --plan rated.json
sed 's/"rate"/"speed"/' rated.json >other.json
refuses train_campaign_knows_its_settings "settings: 'speed'" \
  train --campaign other.json --out rated
# Runs that share the base's first steps, whether they are made again or not.
sed 's/"held_out": 2/"held_out": 1, "shared": 1/' rated.json >shared.json
shows train_campaign_shares_first_steps '^4 runs made, 0 left' \
  train --campaign shared.json --out shared
by_hand=(train --size $small --arm full --seed 2 --steps 2 --plan shared.json
  --rate 1e-3 --warmup 0 --hold 2 --held-out 1 --held-out-by bf16
  --every 0 --first-steps 1)
run 0 "${by_hand[@]}" --first-arm bf16 --out unshared
verdict train_makes_first_steps_itself "$reason"
for file in settings.json receipt.csv held_out.csv; do
  holds "train_shares_the_same_$file" cmp unshared/$file shared/full.2/$file
done
holds first_steps_are_the_bases cmp <(sed -n 2p shared/bf16.2/receipt.csv |
  cut -d, -f1-5) <(sed -n 2p unshared/receipt.csv | cut -d, -f1-5)
shows train_reports_runs_that_share '^full +bf16 +2 ' \
  train --report shared --plan shared.json
run 0 train --size $small --arm full --seed 1 --steps 2 --plan shared.json \
  --rate 1e-3 --warmup 0 --hold 2 --held-out-by bf16 --out alone/full.1
refuses train_reports_no_runs_that_share_nothing 'first is null, in the plan' \
  train --report alone --plan shared.json
refuses train_has_an_arm_of_the_first_steps 'say both' "${by_hand[@]}"
refuses train_begins_after_the_first_steps 'of a run with other settings' \
  "${by_hand[@]}" --first-arm tensor --from shared/bf16.2 --out other
refuses train_begins_at_a_checkpoint 'there is no checkpoint of step 1' \
  "${by_hand[@]}" --first-arm bf16 --from shared/full.2 --out other
run 0 "${by_hand[@]}" --first-arm bf16 --keep 1 --out twice
shows train_audits_a_step_of_another_arm '^equal: ' train --audit twice --step 0
shows train_audits_a_step_behind_the_change '^equal: ' \
  train --audit twice --step 1
shows train_reports_a_verdict '^full +bf16 +2 .* within$' "${report[@]}"
shows train_reports_that_nothing_was_sensitive '^No positive control' \
  "${report[@]}" --out report
holds train_reports_in_files test -s report/parity.json -a \
  -s report/gaps.csv -a -s report/losses.csv
if command -v gnuplot >/dev/null; then
  holds train_reports_in_figures grep -q '>Held-out loss beside bf16<' \
    report/held_out.svg
  holds train_reports_the_losses_by_step test -s report/curves.svg
fi
refuses train_reports_by_a_plan 'name the plan' train --report runs
refuses train_reports_what_there_is 'no such|name the folder' \
  train --report nowhere --plan plan.json
sed 's/"steps": 2/"steps": 3/' plan.json >other.json
refuses train_reports_runs_of_the_plan 'settings.json: plan is .*, in the plan' \
  train --report runs --plan other.json
for field in size looks bound arms; do
  sed "s/\"$field\"/\"x$field\"/" plan.json >other.json
  refuses "train_reports_by_a_plan_with_$field" "other.json: .*$field" \
    train --report runs --plan other.json
done
echo '[[[[[[[[[[[[]]]]]]]]]]]]' >other.json
refuses train_reports_by_a_plan_that_is_one 'other.json: nested too deep' \
  train --report runs --plan other.json
cp -r runs/full.1 runs/twice
refuses train_reports_a_run_once 'two runs of arm .full., seed 1' "${report[@]}"
rm -r runs/twice
sed -i '2s/0x1/0x2/' runs/full.2/held_out.csv
refuses train_reports_losses_of_the_chain 'held_out.csv: line 2 is damaged' \
  "${report[@]}"
rm runs/full.2/held_out.csv
refuses train_reports_runs_that_ended 'full.2/held_out.csv' "${report[@]}"
# The runs that are committed are those of their plans.
campaign=$here/../records/train/campaign
for runs in "$campaign"/*.runs.tar.xz; do
  rate=$(basename "$runs" .runs.tar.xz)
  python3 -m tarfile -e "$runs" "committed.$rate"
  run 0 train --report "committed.$rate/runs" --plan "$campaign/$rate.json" \
    --out "committed.$rate"
  if [ -z "$reason" ] && ! { cmp -s .out "$campaign/$rate.report.txt" &&
    cmp -s "committed.$rate/parity.json" "$campaign/$rate.parity.json"; }; then
    reason="not the report that is committed: $out"
  fi
  verdict "train_reports_the_campaign_at_$rate" "$reason"
done
if command -v gnuplot >/dev/null; then
  holds train_draws_the_loss_by_the_accumulator grep -q \
    "Hopper's 13 bits, unpromoted: 1.9 %" committed.cliff/accumulator_max.svg
  holds train_draws_no_accumulator_of_one_kind \
    test ! -e report/accumulator_max.svg
fi
