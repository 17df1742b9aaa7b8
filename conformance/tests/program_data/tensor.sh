# quantize, dequantize, retile (SPEC Q, W).

bits() { npy bits "$1"; }
npy normal x.npy 130x256 1
npy normal w.npy 130x256 2
npy write t.npy '<f4' 2x2 1 2 -4 0.5
npy write h.npy '<f2' 2x2 1 2 -4 0.5
npy write b.npy '<u2' 2x2 0x3f80 0x4000 0xc080 0x3f00

shows quantize_example_of_its_help_works '130 x 256 e4m3 codes, 260 fp32' \
  quantize x.npy --format e4m3 --group 1x128 --out qx
shows dequantize_example_of_its_help_works '130 x 256 float32' \
  dequantize qx --out x2.npy
shows retile_example_of_its_help_works '256 x 130 e4m3 codes, 512 fp32' \
  retile qx --to e4m3 --out qxt

# Powers of two: amax 4 gives 2^ceil(log2(4 / 448)) = 2^-6.
run 0 quantize t.npy --group tensor --scale pow2 --out q
is quantize_tensor_codes '|u1 2x2 68 70 f8 60' "$(bits q/codes.npy)"
holds quantize_tensor_keeps_its_scale_in_meta \
  grep -q '"scale_bits": "3c800000"' q/meta.json
holds quantize_tensor_writes_no_scales test ! -e q/scales.npy
run 0 dequantize q --out t2.npy
is dequantize_inverts_quantize "$(bits t.npy)" "$(bits t2.npy)"
# 1.5 (0x3c) times 0x3fb0aaab is 2.0703125 + 2^-24: just above a tie of BF16, on
# it in FP32.
npy write tie.npy '|u1' 1x1 0x3c
npy write up.npy '<f4' 1x1 1.3802083730697632
run 0 import --codes tie.npy --scales up.npy --format e4m3 --group 1x1 --out qup
run 0 dequantize qup --to bf16 --out d.npy
is dequantize_to_bf16_rounds_once '<u2 1x1 4005' "$(bits d.npy)"
run 0 dequantize qup --out d.npy
is dequantize_to_fp32_is_on_the_tie '<f4 1x1 40048000' "$(bits d.npy)"
refuses dequantize_refuses_a_format_of_64_bits '--to' \
  dequantize qup --to fp64 --out d.npy
run 0 quantize t.npy --group 1x128 --scale pow2 --out q
is quantize_rows_have_their_scales '<f4 2x1 3c000000 3c800000' \
  "$(bits q/scales.npy)"
is quantize_rows_have_their_codes '|u1 2x2 70 78 f8 60' "$(bits q/codes.npy)"
run 0 quantize h.npy --group 1x128 --scale pow2 --out qh
is quantize_reads_float16 '|u1 2x2 70 78 f8 60' "$(bits qh/codes.npy)"
run 0 quantize b.npy --dtype bf16 --group 1x128 --scale pow2 --out qb
is quantize_reads_bf16 '|u1 2x2 70 78 f8 60' "$(bits qb/codes.npy)"
run 0 quantize t.npy --group 128x1 --scale pow2 --out qc
is quantize_column_tiles_have_k_along_rows '<f4 2x1 3c800000 3c000000' \
  "$(bits qc/scales.npy)"
# Q1: 0 is the whole dimension.
run 0 quantize x.npy --group 1x0 --out qr
is quantize_whole_rows_have_a_scale_each '<f4 130x1' \
  "$(bits qr/scales.npy | cut -d ' ' -f 1,2)"
shows quantize_whole_rows_read_back '130 x 256 float32' \
  dequantize qr --out x2.npy
shows retile_of_whole_rows_has_whole_rows '256 x 130 .*, 256 fp32 scales of 1x0' \
  retile qr --out qrt
run 0 quantize t.npy --group 0x1 --scale pow2 --out qv
is quantize_whole_columns_have_k_along_rows '<f4 2x1 3c800000 3c000000' \
  "$(bits qv/scales.npy)"
run 0 retile qv --out qvt
is retile_turns_whole_columns_into_whole_rows '|u1 2x2 70 78 f8 60' \
  "$(bits qvt/codes.npy)"
run 0 quantize t.npy --group 0x0 --scale pow2 --out qz
is quantize_by_0x0_is_by_tensor '|u1 2x2 68 70 f8 60' "$(bits qz/codes.npy)"
holds quantize_calls_0x0_tensor grep -q '"group": "tensor"' qz/meta.json
run 0 quantize t.npy --group 1x128 --scale pow2 --layout ue8m0 --out qu
is quantize_packs_ue8m0_scales '<u4 1x4 7f7f7f78 7f7f7f79 7f7f7f7f 7f7f7f7f' \
  "$(bits qu/scales.npy)"
run 0 quantize t.npy --group 1x128 --scale pow2 --layout mn_major --out qm
is quantize_pads_mn_major '<f4 1x4 3c000000 3c800000 00000000 00000000' \
  "$(bits qm/scales.npy)"
run 0 quantize t.npy --group 128x128 --scale pow2 --layout blk128 --out qk
is quantize_pads_blk128 '<f4 1x4 3c800000 00000000 00000000 00000000' \
  "$(bits qk/scales.npy)"
for dir in q qh qb qc qv qu qm qk; do
  run 0 dequantize $dir --out t2.npy
  is "dequantize_reads_the_layout_of_$dir" "$(bits t.npy)" "$(bits t2.npy)"
done
run 0 quantize t.npy --format e5m6 --group tensor --scale pow2 --out q6
is quantize_writes_e5m6_as_uint16 '<u2 2x2' "$(bits q6/codes.npy | cut -c1-7)"
for c in zeroulp deepseek_v3 deepseek_v3_first vllm deepgemm_host \
  deepgemm_device tile_kernels deepep transformer_engine torchao trt_llm \
  sglang vllm.per_token vllm.ue8m0 vllm.indexer vllm.fnuz huggingface \
  torch_bf16; do
  for s in fp32 pow2 pow2_down pow2_nearest ocp; do
    run 0 quantize x.npy --convention $c --scale $s --out qq
    [ -z "$reason" ] && run 0 dequantize qq --out x2.npy
    verdict "quantize_${c}_with_${s}_scales_reads_back" "$reason"
  done
done
# Rules of few conventions (Q4 to Q6). 0x1.e2a9dep0 / 256 and 1 / 256: exponent
# byte 77; a group of zeros: 2^ceil(log2(1e-10)).
npy write r.npy '<f4' 2x2 1.88468456 0 1 0
run 0 quantize r.npy --group 1x2 --scale ocp --layout ue8m0 --out qr
is quantize_by_ocp_floors_both_logarithms '<u4 1x4 7f7f7f77 7f7f7f77 7f7f7f7f 7f7f7f7f' \
  "$(bits qr/scales.npy)"
npy write r.npy '<f4' 1x2 0 0
run 0 quantize r.npy --convention vllm.ue8m0 --out qr
is quantize_by_vllm_ue8m0_has_a_least_scale '<f4 1x1 2f000000' \
  "$(bits qr/scales.npy)"
# 448 / 4.28125 = 104.64 is 104.5 in BF16, and 2 times that 209, in E4M3 208.
npy write r.npy '<u2' 1x2 0x4089 0x4000
run 0 quantize r.npy --dtype bf16 --convention torch_bf16 --out qr
is quantize_by_torch_bf16_rounds_the_factor '|u1 1x2 7e 75' "$(bits qr/codes.npy)"
# fl(log2(s)) of s = 1024 (1 + 2^-23) is 10: log2f takes the last bit away.
npy write r.npy '<f4' 1x1 458752.03125
run 0 quantize r.npy --convention vllm.indexer --out qr
is quantize_by_log2f_is_one_binade_down '<f4 1x1 44800000' "$(bits qr/scales.npy)"
run 0 quantize r.npy --convention vllm --scale pow2 --out qr
is quantize_by_the_exact_ceiling_is_not '<f4 1x1 45000000' "$(bits qr/scales.npy)"
# The scale of vLLM's tokens is at least 1 / (448 * 512).
npy write r.npy '<f4' 1x1 1e-4
run 0 quantize r.npy --convention vllm.per_token --out qr
is quantize_by_token_has_a_scale_floor '<f4 1x1 36924925' "$(bits qr/scales.npy)"
# 224 of e4m3fnuz's 240.
npy write r.npy '<f4' 1x2 1 -1
run 0 quantize r.npy --format e4m3fnuz --convention vllm.fnuz --out qr
is quantize_by_fnuz_goes_to_224 '|u1 1x2 7e fe' "$(bits qr/codes.npy)"

# Codes and scales of one's own.
run 0 quantize x.npy --group 1x128 --out qx
run 0 import --codes qx/codes.npy --scales qx/scales.npy --format e4m3 --out qi
run 0 dequantize qx --out x1.npy
run 0 dequantize qi --out x2.npy
is import_keeps_codes_and_scales "$(bits x1.npy)" "$(bits x2.npy)"
npy write c.npy '|u1' 2x2 0x38 0x40 0xb8 0x01
npy write s.npy '|u1' 2x1 128 126
run 0 import --codes c.npy --scales s.npy --format e4m3 --group 1x2 --out qi
run 0 dequantize qi --out x2.npy
is import_reads_exponents '<f4 2x2 40000000 40800000 bf000000 3a800000' \
  "$(bits x2.npy)"
run 0 retile qi --out qit
verdict retile_reads_what_import_wrote "$reason"
npy write s2.npy '<u2' 2x1 0x4000 0x3f00
run 0 import --codes c.npy --scales s2.npy --scale-dtype bf16 --format e4m3 \
  --group 1x2 --out qi
run 0 dequantize qi --out x3.npy
is import_reads_bf16 "$(bits x2.npy)" "$(bits x3.npy)"
refuses import_refuses_too_few_scales '2 x 1 scales: 2 x 2 codes in groups 1x1' \
  import --codes c.npy --scales s.npy --format e4m3 --group 1x1 --out qi
refuses import_refuses_wide_codes 'e2m1 codes have 4 bits' \
  import --codes c.npy --scales s.npy --format e2m1 --group 1x2 --out qi
refuses import_refuses_codes_as_scales 'scales are <u2: use float32' \
  import --codes c.npy --scales s2.npy --format e4m3 --group 1x2 --out qi
npy write s3.npy '<f4' 2x1 3 1
refuses import_refuses_no_power_of_two 'expected a power of two' \
  import --codes c.npy --scales s3.npy --scale pow2 --format e4m3 --group 1x2 \
  --out qi
npy write s3.npy '<f4' 2x1 -1 1
refuses import_refuses_a_negative_scale 'not negative' \
  import --codes c.npy --scales s3.npy --format e4m3 --group 1x2 --out qi
refuses import_refuses_numbers_as_codes 'codes are unsigned integers' \
  import --codes x.npy --scales s.npy --format e4m3 --group 1x2 --out qi

# Conventions as JSON: what one command prints the other reads.
for c in vllm torch_bf16 vllm.ue8m0 transformer_engine; do
  run 0 conventions $c --json
  cp .out own.json
  run 0 quantize x.npy --convention $c --out qq
  run 0 quantize x.npy --convention own.json --out qj
  is "quantize_reads_${c}_as_json" "$(bits qq/codes.npy) $(bits qq/scales.npy)" \
    "$(bits qj/codes.npy) $(bits qj/scales.npy)"
done
echo '{"name": "mine", "like": "vllm", "fields": {"pre_rounding": "fp16"}}' >own.json
run 0 quantize x.npy --convention own.json --out qj
holds quantize_writes_the_own_convention grep -q '"pre_rounding": "fp16"' qj/meta.json
run 0 dequantize qj --out x2.npy
verdict dequantize_reads_an_own_convention "$reason"
for bad in '[' '{}' '{"fields": {"scal": 1}}' '{"fields": {"scale": "half"}}' \
  '{"fields": {"scale_floor": -1}}' '{"fields": {"largest": "1e39"}}' \
  '{"fields": {"bf16_scale": 1}}' '{"fields": {"conversion": "none"}}' \
  '{"like": "me", "fields": {}}' '{"name": 7, "fields": {}}'; do
  echo "$bad" >bad.json
  refuses "quantize_refuses_the_convention_$bad" '' quantize x.npy \
    --convention ./bad.json --out qj
done
echo '{"fields": {"scale_floor": -1}}' >bad.json
refuses quantize_names_the_field 'bad.json: scale_floor is -1: use a number' \
  quantize x.npy --convention bad.json --out qj

# Conventions as text: a name and fields that differ.
echo '{"like": "vllm", "fields": {"scale_floor": 1e-7, "amax": "keep_nan"}}' >own.json
run 0 quantize x.npy --convention own.json --out qj
run 0 quantize x.npy --convention vllm+scale_floor:1e-7+amax:keep_nan --out qq
is quantize_reads_fields_after_a_name "$(bits qj/codes.npy) $(bits qj/scales.npy)" \
  "$(bits qq/codes.npy) $(bits qq/scales.npy)"
holds quantize_writes_the_altered_name \
  grep -q '"convention": "vllm+scale_floor:1e-07+amax:keep_nan"' qq/meta.json
run 0 dequantize qq --out x2.npy
verdict dequantize_reads_an_altered_name "$reason"
refuses quantize_names_the_altered_field "'vllm.amax:none': amax is 'none': use finite_only" \
  quantize x.npy --convention vllm+amax:none --out qj

# Scales that are given (Q14): 3 / 0.01 of FP32 is 300 (tie of 288 and 320: the
# scale is below 0.01), 1 is a cast.
npy write g.npy '<f4' 1x4 3 -0.01 nan 1000
run 0 quantize g.npy --scales 0.01 --convention vllm --out qg
is quantize_takes_a_scale '|u1 1x4 79 b8 fe 7e, <f4 1x1 3c23d70a' \
  "$(bits qg/codes.npy), $(bits qg/scales.npy)"
run 0 quantize g.npy --scales 1 --convention vllm --out qg
is quantize_by_1_is_a_cast '|u1 1x4 44 85 fe 7e, <f4 1x1 3f800000' \
  "$(bits qg/codes.npy), $(bits qg/scales.npy)"
npy write gs.npy '<f4' 1x2 0.5 2
run 0 quantize g.npy --group 1x2 --scales gs.npy --scale pow2 --out qg
is quantize_takes_a_scale_a_group '|u1 1x4 4c 8a 7f 7e, <f4 1x2 3f000000 40000000' \
  "$(bits qg/codes.npy), $(bits qg/scales.npy)"
run 0 quantize g.npy --group tensor --scales 2 --out qg
run 0 dequantize qg --out x2.npy
verdict quantize_takes_a_scale_for_a_tensor "$reason"
refuses quantize_needs_a_scale_a_group 'gs.npy: 1 x 2 scales, but 1 x 1 groups' \
  quantize g.npy --scales gs.npy --out qg
refuses quantize_needs_scales_of_their_kind '.*-scales 0.3: scale .0, 0. is 0.3.*: expected a power of two' \
  quantize g.npy --scales 0.3 --scale pow2 --out qg
refuses quantize_needs_numbers_as_scales "value 'x': use a decimal number" \
  quantize g.npy --scales x --out qg
refuses quantize_needs_scales_that_are_not_negative 'expected a number that is not' \
  quantize g.npy --scales -1 --out qg
run 0 quantize g.npy --scales nan --scale pow2 --out qg
run 0 dequantize qg --out x2.npy
verdict quantize_takes_a_scale_of_nan "$reason"
refuses quantize_takes_scales_or_a_history 'excludes' \
  quantize g.npy --scales 1 --history gs.npy --group tensor --out qg

# NaN and Inf as kernels treat them: what their authors' users see (Q12, Q13).
# gives NAME CODES SCALE ARGUMENT...: what quantize writes, and dequantize reads.
gives() {
  local name=$1 codes=$2 scale=$3
  shift 3
  run 0 quantize "$@" --out qe
  is "$name" "$codes, $scale$reason" "$(bits qe/codes.npy |
    cut -d' ' -f3-), $(bits qe/scales.npy | cut -d' ' -f3-)"
  run 0 dequantize qe --out e.npy
  verdict "${name}_and_reads_back" "$reason"
}
# NaN is dropped by fmaxf, so that it is -448; so is Inf / Inf.
npy write e1.npy '<f4' 1x4 1 nan 2 -4
npy write e2.npy '<f4' 1x4 1 inf -inf -0.0
npy write e3.npy '<u2' 1x4 0xffc0 0x3f80 0x4000 0xc080
npy write e4.npy '<u2' 1x4 0x3f80 0x7f80 0xffc0 0x8000
gives vllm_makes_nan_minus_448 '6e fe 76 fe' 3c124925 e1.npy --convention vllm
gives vllm_makes_infinity_minus_448 '00 fe fe 80' 7f800000 e2.npy \
  --convention vllm
gives vllm_makes_a_nan_of_bf16_minus_448 'fe 6e 76 fe' 3c124925 e3.npy \
  --dtype bf16 --convention vllm
gives vllm_makes_an_infinity_of_bf16_minus_448 '00 fe fe 80' 7f800000 e4.npy \
  --dtype bf16 --convention vllm
# 448 / amax is Inf; 0 * Inf is NaN; of amax Inf it is 0, and Inf * 0 is NaN.
npy write e5.npy '<u2' 1x5 0x0208 0x8188 0x00da 0x0021 0
npy write e6.npy '<u2' 1x3 0x3f80 0x4000 0x7f80
npy write e7.npy '<f4' 1x3 1e-37 0 5e-38
npy write e8.npy '<f4' 1x2 0 0
gives trt_llm_has_scale_0_for_a_tiny_amax '7e fe 7e 7e 7f' 00000000 e5.npy \
  --dtype bf16 --convention trt_llm
gives trt_llm_has_scale_infinity_for_infinity '00 00 7f' 7f800000 e6.npy \
  --dtype bf16 --convention trt_llm
gives trt_llm_has_scale_1_for_zeros '00 00' 3f800000 e8.npy --convention trt_llm
# There Inf is the largest number of the input format: 1 / 0x1.fep127 here.
gives transformer_engine_divides_by_the_largest_bf16 '60 d8 4e 38 00' 00202020 \
  e5.npy --dtype bf16 --convention transformer_engine --scale fp32
gives transformer_engine_divides_by_the_largest_fp32 '61 00 59' 00200000 \
  e7.npy --convention transformer_engine --scale fp32
gives transformer_engine_has_scale_1_for_infinity '38 40 7e' 3f800000 e6.npy \
  --dtype bf16 --convention transformer_engine
# Scales that are no numbers go through every reader.
for c in torchao vllm deepseek_v3_first trt_llm; do
  for x in e1 e2 e8; do
    for s in fp32 pow2; do
      run 0 quantize $x.npy --convention $c --scale $s --out qe
      for read in 'dequantize qe --out e.npy' 'retile qe --out qet' \
        'gemm qe qe --recipe deepgemm.1d1d --c zero.npy --out e.npy'; do
        npy write zero.npy '<f4' 1x1 0
        [ -z "$reason" ] && run 0 $read
      done
      verdict "the_scales_of_${c}_for_${x}_with_${s}_are_read" "$reason"
    done
  done
done
run 0 quantize e1.npy --convention torchao --scale pow2 --out qe
is a_scale_is_nan_where_amax_is '<f4 1x1 7fffffff' "$(bits qe/scales.npy)"
run 0 dequantize qe --out e.npy
is codes_under_a_nan_scale_are_nan \
  '<f4 1x4 7fffffff 7fffffff 7fffffff 7fffffff' "$(bits e.npy)"
shows quantize_says_how_many_scales_ue8m0_stores_as_nan '1 stored as ff, NaN' \
  quantize e1.npy --convention torchao --scale pow2 --layout ue8m0 --out qe
is ue8m0_stores_a_nan_scale_as_ff '<u4 1x4 7f7f7fff 7f7f7f7f 7f7f7f7f 7f7f7f7f' \
  "$(bits qe/scales.npy)"
run 0 quantize e8.npy --convention deepseek_v3_first --scale pow2 --layout ue8m0 \
  --out qe
is ue8m0_stores_a_scale_of_0_as_ff \
  '<u4 1x4 7f7f7fff 7f7f7f7f 7f7f7f7f 7f7f7f7f' "$(bits qe/scales.npy)"
for s in fp32 pow2; do
  run 0 quantize e1.npy --convention torchao --group tensor --scale $s --out qe
  [ -z "$reason" ] && run 0 dequantize qe --out e.npy
  verdict "a_nan_scale_of_a_tensor_with_${s}_reads_back" "$reason"
done
for past in nan:7fffffff inf:7f800000; do
  npy write past2.npy '<f4' 2 1 ${past%:*}
  run 0 quantize t.npy --group tensor --convention vllm --history past2.npy \
    --out qd
  is "quantize_takes_a_history_with_${past%:*}" "${past#*:}" \
    "$(sed -n 's/.*"scale_bits": "\(.*\)".*/\1/p' qd/meta.json)"
  run 0 dequantize qd --out e.npy
  verdict "dequantize_takes_a_history_with_${past%:*}" "$reason"
done

npy write past.npy '<f4' 2 1 16
npy write none.npy '<f4' 0
scale_of() { sed -n 's/.*"scale_bits": "\(.*\)".*/\1/p' "$1/meta.json"; }
run 0 quantize t.npy --group tensor --scale pow2 --history past.npy --out qd
is quantize_delayed_takes_the_largest_amax 3d800000 "$(scale_of qd)"
# 1 + (16 - 1) * ... : decay 1 keeps the oldest, decay 0 the newest.
run 0 quantize t.npy --group tensor --scale pow2 --history past.npy \
  --history-rule ema --decay 1 --out qd
is quantize_delayed_ema_keeps_the_oldest 3b800000 "$(scale_of qd)"
run 0 quantize t.npy --group tensor --scale pow2 --history none.npy --out qd
is quantize_without_history_takes_its_own_amax 3c800000 "$(scale_of qd)"

run 0 retile q --out qt
is retile_transposes_with_new_tiles '|u1 2x2 68 f8 78 68' "$(bits qt/codes.npy)"
is retile_chooses_new_scales '<f4 2x1 3c800000 3c000000' \
  "$(bits qt/scales.npy)"
run 0 retile q --rule max_scale --out qt
is retile_max_scale_keeps_the_largest_scale '<f4 2x1 3c800000 3c800000' \
  "$(bits qt/scales.npy)"
is retile_max_scale_has_its_codes '|u1 2x2 68 f8 70 60' "$(bits qt/codes.npy)"
run 0 quantize t.npy --format e5m6 --group 1x128 --scale pow2 --out q56
run 0 retile q56 --to e4m3 --out qt
is retile_narrows_e5m6_to_e4m3 '|u1 2x2 68 f8 78 68' "$(bits qt/codes.npy)"
run 0 retile qc --out qt
is retile_turns_column_tiles_into_row_tiles '|u1 2x2 70 78 f8 60' \
  "$(bits qt/codes.npy)"
run 0 retile qk --out qt
is retile_only_transposes_weight_codes '|u1 2x2 68 f8 70 60' \
  "$(bits qt/codes.npy)"
run 0 retile qu --out qt
is retile_keeps_the_layout '<u4 1x4 7f7f7f79 7f7f7f78 7f7f7f7f 7f7f7f7f' \
  "$(bits qt/scales.npy)"

# Memory: at most twice what is read and written, codes as the files have them.
if grep -q __asan_init "$program"; then
  echo 'ok tensor_memory # SKIP AddressSanitizer keeps what is freed'
else
  python3 -S -E - "$program" >.memory 2>&1 <<'END'
import os, resource, subprocess, struct, sys

program = sys.argv[1]
rows = cols = 4096
with open("large.npy", "wb") as f:
    text = "{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d)}" % (
        rows, cols)
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    row = os.urandom(2 * cols)
    for _ in range(rows):  # this process stays small: a child begins as large
        f.write(row)

def peak(*arguments):
    child = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, arguments
    return usage.ru_maxrss * 1024

def size(*names):
    return sum(os.path.getsize(os.path.join(d, f)) for n in names for d, _, fs in
               (os.walk(n) if os.path.isdir(n) else [(".", [], [n])]) for f in fs)

base = peak("--version")
for files, arguments in (
        (("large.npy", "large"),
         ("quantize", "large.npy", "--dtype", "bf16", "--out", "large")),
        (("large", "back.npy"), ("dequantize", "large", "--out", "back.npy")),
        (("large", "turned"), ("retile", "large", "--out", "turned"))):
    used = peak(*arguments) - base
    print(arguments[0], round(used / size(*files), 2))
    assert used <= 2 * size(*files), (arguments[0], used, size(*files))
END
  is tensor_memory_is_twice_the_operands_at_most \
    "$(printf 'quantize\ndequantize\nretile')" "$(cut -d ' ' -f 1 .memory)"
  rm -rf large large.npy turned back.npy
fi

# Blocks (Q15 to Q18). amax 2 and 4 give 2^(1 - 8) and 2^(2 - 8).
shows quantize_in_blocks_says_so '2 x 2 e4m3 codes, 2 ue8m0 scales of 1x32' \
  quantize t.npy --convention mx.floor --out qm
is quantize_in_blocks_has_bytes '|u1 2x1 78 79' "$(bits qm/scales.npy)"
is quantize_in_blocks_has_codes '|u1 2x2 70 78 f8 60' "$(bits qm/codes.npy)"
run 0 dequantize qm --out t2.npy
is dequantize_inverts_blocks "$(bits t.npy)" "$(bits t2.npy)"
run 0 quantize t.npy --convention mx.floor --layout 128x4 --out ql
is quantize_lays_bytes_out_in_tiles '|u1 512' \
  "$(bits ql/scales.npy | cut -d ' ' -f 1,2)"
run 0 dequantize ql --out t2.npy
is dequantize_reads_bytes_in_tiles "$(bits t.npy)" "$(bits t2.npy)"
run 0 import --codes ql/codes.npy --scales ql/scales.npy --format e4m3 \
  --group 1x32 --scale ue8m0 --layout 128x4 --out qi
run 0 dequantize qi --out t2.npy
is import_takes_block_scales "$(bits t.npy)" "$(bits t2.npy)"
# amax 448 * 6 gives t = 1; by 256, 1.75.
npy write n.npy '<f4' 1x2 2688 224
for most in 448 256; do
  run 0 quantize n.npy --convention nvfp4 --scale-max $most --out qn
  is "quantize_to_nvfp4_has_codes_by_$most" '|u1 1x2 07 01' \
    "$(bits qn/codes.npy)"
  is "quantize_to_nvfp4_has_scales_by_$most" \
    "$([ $most = 448 ] && echo '|u1 1x1 7e <f4 1x1 3f800000' ||
      echo '|u1 1x1 78 <f4 1x1 3fe00000')" \
    "$(bits qn/scales.npy) $(bits qn/second.npy)"
  run 0 dequantize qn --out t2.npy
  is "dequantize_inverts_nvfp4_by_$most" "$(bits n.npy)" "$(bits t2.npy)"
done
run 0 quantize n.npy --convention nvfp4 --second none --out qn
holds quantize_leaves_no_second_level_of_before test ! -e qn/second.npy
refuses quantize_in_blocks_has_its_own_groups '--group' \
  quantize t.npy --convention nvfp4 --group 1x32 --out q
refuses nvfp4_is_of_e2m1 'nvfp4 quantizes to e2m1' \
  quantize t.npy --convention nvfp4 --format e4m3 --out q
refuses mx_has_one_level 'no second level' \
  quantize t.npy --convention mx.floor --second row --out q
refuses groups_have_one_level '--second' quantize t.npy --second row --out q
# Rows that share a scale.
npy write n2.npy '<f4' 2x2 2688 224 1 448
run 0 quantize n2.npy --convention nvfp4 --block-rows 16 --out qn
is quantize_gives_rows_one_scale '|u1 2x1 7e 7e |u1 2x2 07 01 00 02' \
  "$(bits qn/scales.npy) $(bits qn/codes.npy)"
holds quantize_says_how_many_rows grep -q '"block_rows": 16' qn/meta.json
refuses rows_that_share_have_no_level_of_their_own 'no second level' \
  quantize n2.npy --convention nvfp4 --block-rows 16 --second row --out q
refuses quantize_needs_a_row 'use 1 to 1024' \
  quantize n2.npy --convention nvfp4 --block-rows 0 --out q
# Stochastic: 560 / 448 is half way between 1 and 1.5.
npy write n.npy '<f4' 1x2 2688 560
npy write up.npy '<u4' 1x2 0 2147483648
npy write down.npy '<u4' 1x2 0 2147483647
for way in up down; do
  run 0 quantize n.npy --convention nvfp4 --random $way.npy --out qn
  is "quantize_rounds_$way" "|u1 1x2 07 $([ $way = up ] && echo 03 || echo 02)" \
    "$(bits qn/codes.npy)"
done
seeded='quantize x.npy --convention nvfp4 --random-bits 8 --random-seed'
run 0 $seeded 1 --out qs
run 0 $seeded 1 --out qt
run 0 $seeded 2 --out qn
holds quantize_rounds_by_a_seed cmp qs/codes.npy qt/codes.npy
is quantize_rounds_otherwise_by_another 1 \
  "$(cmp -s qs/codes.npy qn/codes.npy; echo $?)"
holds quantize_says_what_it_drew grep -q \
  '"rounding": "stochastic, 8 bits of philox4x32_10, seed 2"' qn/meta.json
refuses quantize_takes_words_of_its_shape 'takes uint32, 1 x 2' \
  quantize n.npy --convention nvfp4 --random n.npy --out q
refuses quantize_knows_its_sources 'philox4x32_10 or splitmix64' \
  quantize n.npy --convention nvfp4 --random-seed 1 --random-source mt --out q
refuses quantize_draws_32_bits_at_most 'use 1 to 32' quantize x.npy \
  --convention nvfp4 --random-bits 33 --random-seed 1 --out q
refuses quantize_draws_with_a_seed '--random-bits' \
  quantize n.npy --convention nvfp4 --random-bits 8 --out q
refuses groups_are_not_rounded_by_words '--random-seed' \
  quantize n.npy --random-seed 1 --out q
# hadamard: sums and differences.
npy write pair.npy '<f4' 1x2 3 1
run 0 hadamard pair.npy --size 2 --scale 1 --out sums.npy
is hadamard_adds_and_subtracts '<f4 1x2 40800000 40000000' "$(bits sums.npy)"
run 0 hadamard pair.npy --size 2 --signs=+- --scale 1 --to bf16 --out sums.npy
is hadamard_changes_signs '<u2 1x2 4000 4080' "$(bits sums.npy)"
run 0 hadamard sums.npy --dtype bf16 --size 2 --scale 0.5 --to fp32 \
  --path hopper.wgmma.bf16.bf16.f32 --out back.npy
is hadamard_is_made_by_a_tensor_core '<f4 1x2 40400000 bf800000' \
  "$(bits back.npy)"
refuses hadamard_has_powers_of_two '--size' \
  hadamard pair.npy --size 3 --out back.npy
refuses hadamard_has_a_scale '--scale 0' \
  hadamard pair.npy --size 2 --scale 0 --out back.npy
refuses hadamard_wants_whole_blocks 'no multiple of 16' \
  hadamard pair.npy --out back.npy
refuses hadamard_has_a_sign_each '--signs: 3, but blocks of 2' \
  hadamard pair.npy --size 2 --signs=+-+ --out back.npy
refuses hadamard_reads_signs 'use \+ and -' \
  hadamard pair.npy --size 2 --signs=+0 --out back.npy
refuses hadamard_takes_what_the_path_takes 'the path takes bf16' \
  hadamard pair.npy --size 2 --path hopper.wgmma.bf16.bf16.f32 --out back.npy
refuses retile_takes_no_blocks 'a tensor with block scales' retile qm --out q
printf '%s' '{"block": 0}' >qi/meta.json
refuses dequantize_refuses_damaged_blocks 'qi/meta.json' \
  dequantize qi --out t2.npy
