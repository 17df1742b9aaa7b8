# zeroulp checkpoint: families, faults, conversions to the bit. Checkpoints and
# expected numbers are checkpoints.py's, which shares nothing with the program.
checkpoints() { python3 -S -E "$here/program_data/checkpoints.py" "$@"; }
same_numbers() { checkpoints expect "$@" | grep -q '^same '; }

kinds='deepseek_v3 deepseek_v31 bf16_scales deepseek_v4 compressed_tensors
  modelopt mistral mxfp8 gpt_oss experts expert_scales row_groups'
for kind in $kinds; do
  checkpoints make "$kind" "$kind"
  shows "checkpoint_verify_holds_$kind" '^held: .* 0 faults$' \
    checkpoint verify "$kind"
  while read -r to type; do
    run 0 checkpoint dequantize "$kind" --to "$to" --out "$kind.$to"
    is "checkpoint_dequantizes_${kind}_to_$to" '' "$reason"
    holds "checkpoint_has_the_bits_of_${kind}_in_$to" \
      same_numbers "$kind" "$kind.$to" "$type"
  done <<'EOT'
bf16 BF16
fp32 F32
fp16 F16
EOT
done
run 0 checkpoint dequantize deepseek_v3 --via fp32 --out via
holds checkpoint_rounds_twice_if_asked same_numbers deepseek_v3 via BF16 via
holds checkpoint_rounds_once_else \
  bash -c '! cmp -s via/model-00001-of-00002.safetensors \
    deepseek_v3.bf16/model-00001-of-00002.safetensors'
run 0 checkpoint dequantize deepseek_v3 --threads 1 --out one_thread
holds checkpoint_bits_do_not_depend_on_threads diff -r one_thread deepseek_v3.bf16
holds checkpoint_writes_what_it_reads grep -q '^held' <("$program" checkpoint \
  verify deepseek_v3.bf16)
holds checkpoint_config_declares_no_more \
  bash -c '! grep -q quantization_config deepseek_v3.bf16/config.json'
run 0 checkpoint dequantize deepseek_v3 --only 'layers[.]1' --out part
holds checkpoint_leaves_what_is_not_asked_for grep -q ' 4 quantized weights' \
  <("$program" checkpoint list part)

holds checkpoint_declares_what_became_numbers \
  grep -q '"model.layers.1.q_proj"' part/config.json
shows checkpoint_verify_holds_part '^held' checkpoint verify part

# list and hash.
shows checkpoint_list_names_scale_and_group \
  'experts.0.w1.weight +I8 +\[32, 64\] +1x32 +scale F8_E8M0 \[32, 4\] +deepseek_v4_fp4' \
  checkpoint list deepseek_v4
shows checkpoint_list_takes_a_file '^3 tensors in 1 files' \
  checkpoint list modelopt/model.safetensors
shows checkpoint_list_takes_an_index '^17 tensors in 2 files' \
  checkpoint list deepseek_v3/model.safetensors.index.json
run 0 checkpoint hash deepseek_v3 --json
holds checkpoint_hashes_bytes_and_numbers \
  env PYTHONPATH="$here/program_data" "$interpreter" -B - <<'EOT'
import hashlib, json, struct
from checkpoints import read_all, words
tensors = read_all("deepseek_v3")
r = json.load(open(".out"))
for t in r["tensors"]:
    assert t["bytes"] == hashlib.sha256(tensors[t["name"]][2]).hexdigest()
    if t["name"].endswith("norm.weight"):
        k, shape, _ = tensors[t["name"]]
        h = hashlib.sha256(f"zeroulp values 1\n{shape}\n".encode())
        for w in words(tensors[t["name"]]):
            h.update(struct.pack("<I", w << 16))
        assert t["values"] == h.hexdigest()
EOT
values_of() { "$program" checkpoint hash "$1" | awk '$1 == "all" { print $3 }'; }
run 0 checkpoint dequantize deepseek_v31 --to fp32 --out v31
is checkpoint_values_are_those_of_any_format "$(values_of deepseek_v31)" \
  "$(values_of v31)"

# What is wrong, by verify (1) and by the reader (2): file, tensor, expected,
# found, in one line; dequantize refuses it and writes nothing.
while read -r how status pattern; do
  checkpoints damage "$how" "bad_$how"
  run "$status" checkpoint verify "bad_$how"
  file=.out
  [ "$status" = 1 ] || file=.err
  if [ -z "$reason" ] && ! grep -E 'expected .*, found ' $file |
      grep -qE -- "$pattern"; then
    reason="no '$pattern' in: $(cat $file)"
  fi
  verdict "checkpoint_finds_$how" "$reason"
  refuses "checkpoint_dequantize_refuses_$how" 'expected .*, found ' \
    checkpoint dequantize "bad_$how" --out none
  holds "checkpoint_writes_nothing_of_$how" test ! -e none
done <<'EOT'
scale_lost 1 -00002-.*tensor model.layers.1.q_proj.weight: expected a scale model.layers.1.q_proj.weight_scale_inv, found none
weight_lost 1 q_proj.weight_scale_inv: expected a weight .*, found none
weight_unquantized 1 q_proj.weight_scale_inv: expected a weight .*, found one of BF16
grid 1 expected 2 x 3 for groups of 128x128 of \[256, 384\], found \[1, 6\]
grid_of_another_block 1 expected 4 x 3 for groups of 64x128
scale_type 1 q_proj.weight_scale_inv: expected 256 x 12 for groups of 1x32 .*found \[2, 12\]
scale_nan 1 expected finite scales, found nan \(7fc00000\) at group \(0, 0\)
scale_zero 1 expected positive scales, found 0 .* at group \(1, 0\)
scale_negative 1 expected positive scales, found -0.00012.* at group \(1, 2\)
scale_no_power 1 expected powers of two, as scale_fmt ue8m0 says, found 0.000.* and 5 more
kept_module 1 expected it unquantized, as 'model.layers.1.q_proj' of .*config.json
two_scales 1 expected one scale, found two
overlap 2 -00001-.*tensor model.*: expected data from byte 0 on, found a hole
out_of_range 2 embed_tokens.weight: expected data_offsets within 195608 bytes of data, found \[1000000000000
lying_shape 2 expected 32896 bytes for \[64, 257\] of BF16, found 32768
overflow 2 below 2\^63, found \[1099511627776, 1099511627776\]
unknown_type 2 expected dtype one of .* found 'F8_E4M4'
hole 2 found a hole at byte 8
no_shape 2 found data_offsets, dtype
truncated 2 norm.weight: expected data_offsets within 195603 bytes
longer 2 expected the data to end at byte 195611, with the file
huge_header 2 expected a header of at most 100000000 bytes, found 1152921504606846976
header_beyond 2 expected a header of [0-9]+ bytes, found a file
not_json 2 expected an object of tensors
empty 2 found 5 bytes
duplicate 2 embed_tokens.weight: expected one of this name, found two
deep 2 tensor a: expected dtype, shape and data_offsets, found 'a'
index_other_file 2 index.json: tensor .*q_proj.weight: expected file model-00002.*, found model-00001
index_lacks 2 q_proj.weight: expected it in weight_map
index_has_more 2 model-00001.*: tensor model.ghost.weight: expected it, .* found no such tensor
index_missing_file 2 expected file model-00003-of-00003.safetensors beside it
index_leads_out 2 expected the name of a .safetensors file beside it, found "../model
EOT
# These have numbers that are odd, in files that are not.
while read -r how pattern; do
  checkpoints damage "$how" "bad_$how"
  run 1 checkpoint verify "bad_$how"
  [ -n "$reason" ] || grep -qE -- "$pattern" .out || reason="no '$pattern' in: $out"
  verdict "checkpoint_finds_$how" "$reason"
done <<'EOT'
code_nan q_proj.weight: expected codes that are numbers, found 1 that are not, the first at \(2, 9\)
scale_too_large q_proj.weight: expected mean .* found .*: [45][0-9]+ times that
scale_of_one q_proj.weight: expected mean .* times that
EOT
checkpoints damage index_total bad_index_total
shows checkpoint_notes_another_total '^note: .*total_size is 554129' \
  checkpoint verify bad_index_total
shows checkpoint_takes_unscaled_codes_if_allowed '^6 weights' checkpoint \
  dequantize bad_scale_lost --allow-unscaled --out unscaled
run 1 checkpoint verify bad_scale_lost --json
holds checkpoint_verify_json_has_the_fault python3 -c \
  'import json; r = json.load(open(".out")); f = r["faults"][0]
assert not r["held"] and f["check"] == "scale" and f["found"] == "none"'

# Arrays.
npy write ra.npy '<f4' 2x3 1 2 3 4 5 6
shows checkpoint_list_takes_npy 'ra +F32 +\[2, 3\]' checkpoint list ra.npy
python3 - <<'EOT'
import zipfile
for name, how in (("r.npz", zipfile.ZIP_STORED), ("c.npz", zipfile.ZIP_DEFLATED)):
    with zipfile.ZipFile(name, "w", how) as z:
        z.write("ra.npy", "x.npy")
EOT
shows checkpoint_list_takes_npz 'x +F32 +\[2, 3\]' checkpoint list r.npz
refuses checkpoint_refuses_a_compressed_npz 'stored member' checkpoint list c.npz

# Runs that were killed go on, to the same bytes.
run 0 checkpoint dequantize deepseek_v3 --out again
holds checkpoint_finished_is_the_checkpoint_alone \
  test "$(cd again && echo *)" = "$(cd deepseek_v3 && echo *)"
refuses checkpoint_needs_a_free_folder 'expected a new or an empty folder' \
  checkpoint dequantize deepseek_v3 --out again
rm -r again
mkdir begun && touch begun/.zeroulp-1-0.tmp  # killed before the journal was
run 0 checkpoint dequantize deepseek_v3 --out begun
holds checkpoint_takes_a_folder_that_was_hardly_begun \
  diff -r begun deepseek_v3.bf16
checkpoints sparse large 400000000
cp modelopt/model.safetensors large/first.safetensors
"$program" checkpoint dequantize large --out killed --threads 1 &
killed=$!
for _ in {1..2000}; do
  [ ! -e killed/first.safetensors ] || [ ! -e killed/model.safetensors.partial ] ||
    break
  sleep 0.001
done
kill -STOP $killed
refuses checkpoint_lets_one_run_write 'no other run that writes there' \
  checkpoint dequantize large --out killed
kill -9 $killed 2>/dev/null
wait $killed 2>/dev/null
holds checkpoint_killed_leaves_a_whole_shard test -e killed/first.safetensors
holds checkpoint_killed_leaves_no_half_shard test ! -e killed/model.safetensors
refuses checkpoint_goes_on_with_the_same_request_alone 'the same request' \
  checkpoint dequantize large --to fp16 --out killed
cp -r killed all_written
shows checkpoint_goes_on '^1 shards written, 1 kept' \
  checkpoint dequantize large --out killed
# Killed between the last shard and the end.
rm all_written/*.partial
cp killed/*.safetensors all_written
shows checkpoint_says_that_all_is_there '^all is there: 2 shards' \
  checkpoint dequantize large --out all_written
holds checkpoint_that_had_all_ends diff -r killed all_written
run 0 checkpoint dequantize large --out unkilled
holds checkpoint_goes_on_to_the_same_bytes diff -r killed unkilled

# A disk that is full, or a limit: one line, and nothing half written.
limited() {
  # shellcheck disable=SC2317
  (ulimit -f 2000 && "$program" checkpoint dequantize large --out full 2>&1)
}
is checkpoint_says_that_it_cannot_write 1 "$(limited | grep -c 'cannot write: File too large')"
holds checkpoint_keeps_whole_shards_alone \
  test "$(cd full && echo *)" = 'first.safetensors zeroulp-checkpoint.journal'
head -c 100 full/first.safetensors >cut && mv cut full/first.safetensors
refuses checkpoint_refuses_a_shard_that_was_cut 'first.safetensors: expected [0-9]+ bytes .*, found 100' \
  checkpoint dequantize large --out full

# Memory: one tile a thread, whatever the file. The large file where asked for.
size=2000000000
! level 2 || size=20000000000
rm -rf large killed unkilled
checkpoints sparse large $size
for command in verify 'dequantize --out large_out'; do
  # shellcheck disable=SC2086
  set -- $command
  peak=$(python3 - "$program" "$@" <<'EOT'
import resource, subprocess, sys
program, command, *rest = sys.argv[1:]
subprocess.run([program, "checkpoint", command, "large", *rest], check=True,
               stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000)
EOT
)
  echo "# $1 of $size bytes: peak $peak MB"
  holds "checkpoint_${1}_needs_little_memory" test "$peak" -lt 200
done
rm -rf large large_out

mkdir unused
while read -r name pattern arguments; do
  # shellcheck disable=SC2086
  refuses "checkpoint_refuses_$name" "$pattern" checkpoint $arguments
done <<'EOT'
nothing subcommand
a_missing_folder cannot.open list nope
an_empty_folder found.none list unused
an_unknown_target bf16,.fp16.or.fp32 dequantize deepseek_v3 --to e4m3 --out none
no_expression regular.expression dequantize deepseek_v3 --only ( --out none
no_folder --out dequantize deepseek_v3
a_file_as_a_folder expected.a.new.or.an.empty.folder dequantize deepseek_v3 --out ra.npy
EOT
