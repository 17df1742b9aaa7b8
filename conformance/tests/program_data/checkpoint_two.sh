# zeroulp checkpoint diff, identify, requantize, rescale: two checkpoints.
# Uses what checkpoint.sh made.

# diff: bytes, numbers of any format, roundings that have a name.
shows checkpoint_diff_of_the_same_is_the_same \
  '^same: 11 tensors: 11 same bytes$' checkpoint diff deepseek_v3 deepseek_v3
shows checkpoint_diff_names_one_rounding 'B is A dequantized by one rounding' \
  checkpoint diff deepseek_v3 deepseek_v3.bf16
shows checkpoint_diff_names_two_roundings \
  'A is B dequantized by two roundings, the first to fp32' \
  checkpoint diff via deepseek_v3
shows checkpoint_diff_knows_the_same_numbers '11 tensors: .*6 same values' \
  checkpoint diff deepseek_v31 v31
run 1 checkpoint diff deepseek_v3.bf16 via
holds checkpoint_diff_says_where_and_how_far grep -qE \
  'q_proj.weight: [0-9]+ of 98304 numbers differ, at most 1 ulps of bf16, .*first at \(0, 0\): 0.00049' \
  .out
run 1 checkpoint diff bad_scale_of_one deepseek_v3
holds checkpoint_diff_names_the_weight_of_another_scale \
  grep -qE '^DIFFERENT: 11 tensors: 10 same bytes, 1 different' .out
run 1 checkpoint diff unscaled deepseek_v3
holds checkpoint_diff_names_codes_without_scales grep -qE \
  'q_proj.weight: .*; A is B codes without their scales; first at' .out
run 1 checkpoint diff deepseek_v3 deepseek_v4
holds checkpoint_diff_says_what_is_in_one_alone grep -qE \
  '^lm_head.weight: only in A' .out
run 1 checkpoint diff deepseek_v3.bf16 via --json
holds checkpoint_diff_json_has_the_first python3 -c \
  'import json; r = json.load(open(".out")); assert not r["same"]
t = [t for t in r["tensors"] if t["like"] == "different"]
assert len(t) == 6 and t[0]["max_ulps"] == 1 and t[0]["ulps_of"] == "bf16"'

# requantize, against the definition of the convention zeroulp.
checkpoints bf16 plain
for scale in fp32 pow2; do
  shows "checkpoint_requantizes_by_$scale" '^0 of 3 weights lossless$' \
    checkpoint requantize plain --scale $scale --out "q_$scale"
  holds "checkpoint_requantizes_by_${scale}_to_the_bit" \
    bash -c "python3 -S -E '$here/program_data/checkpoints.py' \
      expect_quantized plain q_$scale $scale | grep -q '^same 192000 codes'"
  shows "checkpoint_verify_holds_q_$scale" '^held' checkpoint verify "q_$scale"
done
holds checkpoint_requantize_declares_it grep -q '"scale_fmt": "ue8m0"' \
  q_pow2/config.json
holds checkpoint_requantize_says_what_it_kept grep -q lm_head q_pow2/config.json

# identify: what was written by a convention is that one's.
while read -r convention scale group; do
  rm -rf qi
  run 0 checkpoint requantize plain --convention "$convention" --scale "$scale" \
    --group "$group" --family compressed_tensors --out qi
  shows "checkpoint_identifies_${convention}_${scale}_${group}" \
    "^every bit of 3 weights: .*$convention \($scale\)" \
    checkpoint identify plain qi
done <<'EOT'
zeroulp fp32 128x128
vllm fp32 128x128
deepseek_v3 fp32 128x128
sglang pow2 128x128
torchao fp32 1x0
huggingface fp32 tensor
vllm.ue8m0 pow2 1x128
EOT
holds checkpoint_identify_tells_conventions_apart bash -c \
  "! '$program' checkpoint identify plain q_fp32 | grep -q 'deepseek_v3 (fp32)'"
run 1 checkpoint identify plain deepseek_v3
holds checkpoint_identify_says_what_it_cannot_tell grep -qE \
  'q_proj.weight: not told: its shape is \[200, 320\], that of the codes \[256' .out
checkpoints nudge q_fp32 nudged
run 1 checkpoint identify plain nudged
holds checkpoint_identify_finds_a_code_that_is_another grep -qE \
  'layers.1.q_proj.weight: none; nearest zeroulp \(fp32\): 1 of 64000 codes and 0 scales differ' \
  .out
run 1 checkpoint identify plain nudged --json
holds checkpoint_identify_json_has_the_nearest python3 -c \
  'import json; r = json.load(open(".out")); assert not r["exact"]
t = [t for t in r["tensors"] if not t["exact"]]
assert len(t) == 1 and t[0]["nearest"]["wrong_codes"] == 1'

# MXFP4 to block FP8: proved, or the block named and nothing written.
shows checkpoint_mxfp4_is_lossless_in_fp8 'down_proj_blocks: lossless, all 2048' \
  checkpoint requantize gpt_oss --lossless --out gpt_oss_fp8
shows checkpoint_mxfp4_in_fp8_has_the_same_values '^same: 1 tensors: 1 same values' \
  checkpoint diff gpt_oss gpt_oss_fp8
checkpoints spread spread
run 1 checkpoint requantize spread --lossless --out none
holds checkpoint_names_the_block_that_is_not_lossless grep -qE \
  '^b.weight: 32 of 16384 numbers change.*first in group \(0, 1\) of 128x128 at \(33, 160\)' \
  .out
holds checkpoint_proves_the_other_weight grep -q '^a.weight: lossless' .out
holds checkpoint_writes_nothing_that_is_not_lossless test ! -e none
shows checkpoint_requantizes_to_exponents '^4 of 4 weights lossless' checkpoint \
  requantize deepseek_v4 --family deepseek_v4 --scale-type e8m0 --out v4_fp8
shows checkpoint_v4_keeps_its_values '^same: 4 tensors: 4 same values' \
  checkpoint diff deepseek_v4 v4_fp8

mkdir lone && cp plain/model.safetensors lone/x.safetensors
run 0 checkpoint requantize lone/x.safetensors --group 1x64 --out lone_fp8
shows checkpoint_requantize_declares_groups_of_its_own '^held' \
  checkpoint verify lone_fp8

# rescale: what changes is said before.
shows checkpoint_rescale_says_what_changes \
  '^[0-9]+ of 486912 codes and 486912 values change, .*nothing written' \
  checkpoint rescale deepseek_v3
shows checkpoint_rescale_of_powers_changes_nothing \
  '^0 of 486912 codes and 0 values change' checkpoint rescale deepseek_v31
run 0 checkpoint rescale deepseek_v3 --out rescaled
holds checkpoint_rescales_to_the_bit bash -c \
  "python3 -S -E '$here/program_data/checkpoints.py' expect_rescaled deepseek_v3 \
    rescaled | grep -q '^same 486912 codes'"
shows checkpoint_verify_holds_rescaled '^held' checkpoint verify rescaled
run 0 checkpoint rescale deepseek_v3 --scale-type e8m0 --out rescaled_e8m0
shows checkpoint_rescale_to_exponents_has_the_same_values \
  ' 6 same values' checkpoint diff rescaled rescaled_e8m0

# Others' packages, where they are.
if "$interpreter" -c 'import ml_dtypes, safetensors' 2>/dev/null; then
  holds checkpoint_has_the_bits_of_ml_dtypes bash -c "'$interpreter' \
    '$here/program_data/checkpoints.py' with_packages deepseek_v3 via |
    grep -q '^same 486912 numbers as ml_dtypes'"
else
  echo 'ok checkpoint_has_the_bits_of_ml_dtypes # SKIP pip install ml_dtypes safetensors'
fi

while read -r name pattern arguments; do
  # shellcheck disable=SC2086
  refuses "checkpoint_refuses_$name" "$pattern" checkpoint $arguments
done <<'EOT'
one_checkpoint_of_two B diff deepseek_v3
to_dequantize_numbers expected.quantized.weights,.found.none dequantize plain --out none
to_dequantize_nothing as.--only.says dequantize deepseek_v3 --only nothing --out none
no_fp8_to_identify expected.quantized.weights identify plain plain
no_fp8_to_rescale expected.weights.of.FP8 rescale plain
to_quantize_to_bf16 e4m3.or.e5m2 requantize plain --to bf16
groups_of_columns no.scale.of.whole.columns requantize plain --group 0x128
exponents_of_fp32_scales use.--scale.pow2 requantize plain --scale fp32 --scale-type e8m0
an_unknown_family did.you.mean.'deepseek_v3' requantize plain --family deepseek_v33
an_unknown_convention unknown.convention requantize plain --convention x
to_leave_other_groups o_proj.weight:.expected.groups.of.1x128.in.what requantize deepseek_v3 --group 1x128 --only q_proj --out none
nothing_to_quantize expected.weights requantize plain --only nothing
EOT
# What a config, a name or a code says wrongly is told in one line.
declared() {  # declared NAME PATTERN CONFIG
  rm -rf declared
  cp -r deepseek_v3 declared
  printf '%s' "$3" >declared/config.json
  refuses "checkpoint_refuses_$1" "declared/config.json: $2" \
    checkpoint list declared
}
declared a_config_that_is_no_object 'expected an object, found array' '[1]'
declared a_method_that_is_no_text 'expected a text as quant_method, found 3' \
  '{"quantization_config": {"quant_method": 3}}'
declared a_block_of_one_size 'expected two block sizes .* found "128"' \
  '{"quantization_config": {"weight_block_size": "128"}}'
rm -rf declared
mkdir alone
cp deepseek_v3/model-00001-of-00002.safetensors alone
refuses checkpoint_refuses_a_shard_alone \
  'alone: expected 2 files model-.-of-00002.safetensors, or an index, found 1' \
  checkpoint verify alone
# Codes that are no numbers, and codes without scales.
mkdir plain_codes
python3 -S -E -c '
import json, struct
text = json.dumps({"a.weight": {"dtype": "F8_E4M3", "shape": [4, 128],
                                "data_offsets": [0, 512]}}).encode()
open("plain_codes/model.safetensors", "wb").write(
    struct.pack("<Q", len(text)) + text + b"\x38\x7e\x7f" + b"\x30" * 509)'
shows checkpoint_dequantize_tells_nans \
  '^note: 1 numbers are NaN, the first in a.weight' \
  checkpoint dequantize plain_codes --allow-unscaled --out nans
run 1 checkpoint verify plain_codes --allow-unscaled
[ -n "$reason" ] || ! grep -q scales .out || reason=$(cat .out)
verdict checkpoint_says_nothing_of_scales_that_are_not_there "$reason"
mkdir nothing_to_do
npy write nothing_to_do/x.npy '<i4' 4x4 1
refuses checkpoint_speaks_of_options_that_were_given \
  'expected weights of BF16, F16, F32 or codes, found none' \
  checkpoint requantize nothing_to_do
