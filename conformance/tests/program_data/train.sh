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

refuses train_names_the_sizes "size 'X': there are tiny, T" train --size X
refuses train_names_the_arms "arm 'fp4': there are bf16, " train --arm fp4
refuses train_needs_shards_that_divide '3 shards: a power of two' \
  train --size tiny --shards 3
refuses train_needs_steps 'steps: at least one' train --steps 0
printf 'abc' >short.bin
refuses train_needs_a_corpus 'short.bin: 3 bytes; a step takes' \
  train --size tiny --data short.bin
refuses train_needs_its_file 'nothing.bin' train --data nothing.bin

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
refuses tensors_names_the_arms "arm 'fp4': there are bf16, " tensors --arm fp4
