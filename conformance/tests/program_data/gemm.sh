# gemm and compare (SPEC G, M5).

npy normal dy.npy 130x130 3
run 0 quantize x.npy --group 1x128 --out qx
run 0 quantize w.npy --group 128x128 --out qw
shows gemm_example_of_its_help_works '130 x 130 bf16 .uint16., K = 256' \
  gemm qx qw --recipe deepgemm.1d2d --out d.npy
cp d.npy mine.npy
shows compare_example_of_its_help_works 'equal: 16900 elements' \
  compare mine.npy d.npy --dtype bf16

# 1 * 1 + 2 * 2 and so on, exactly: t t^T = [5 -3; -3 16.25].
run 0 quantize t.npy --group 1x128 --scale pow2 --out ta
run 0 quantize t.npy --group 128x128 --scale pow2 --out tb
run 0 quantize t.npy --group 1x128 --scale pow2 --out tt
run 0 quantize t.npy --group tensor --scale pow2 --out tt
holds quantize_leaves_no_scales_of_before test ! -e tt/scales.npy
exact='<f4 2x2 40a00000 c0400000 c0400000 41820000'
for recipe in cublaslt.1x128_128x128 deepgemm.1d2d deepseek_v3.inference \
  cutlass.blockwise cutlass.blockwise_one_scale; do
  run 0 gemm ta tb --recipe $recipe --output fp32 --out d.npy
  is "gemm_${recipe}_is_exact_on_small_numbers" "$exact" "$(bits d.npy)"
done
for recipe in cublaslt.1x128_1x128 deepgemm.1d1d; do
  run 0 gemm ta ta --recipe $recipe --output fp32 --out d.npy
  is "gemm_${recipe}_is_exact_on_small_numbers" "$exact" "$(bits d.npy)"
done
for recipe in unpromoted cublaslt.tensorwise cutlass.fast_accumulation; do
  run 0 gemm tt tt --recipe $recipe --out d.npy
  is "gemm_${recipe}_is_exact_on_small_numbers" "$exact" "$(bits d.npy)"
done
npy write c.npy '<f4' 2x2 1
run 0 gemm ta tb --c c.npy --output fp32 --out d.npy
is gemm_accumulates_into_c '<f4 2x2 40c00000 c0000000 c0000000 418a0000' \
  "$(bits d.npy)"
run 0 gemm ta tb --out d.npy
is gemm_writes_bf16 '<u2 2x2 40a0 c040 c040 4182' "$(bits d.npy)"
run 0 gemm ta tb --interval 32 --splits 2 --output fp32 --out d.npy
is gemm_takes_an_interval_and_splits "$exact" "$(bits d.npy)"

# Recipes as JSON (G2): what recipes prints is read.
for recipe in deepgemm.1d2d cublaslt.1x128_1x128.k128 unpromoted; do
  run 0 recipes $recipe --json
  printf '%s' "$out" >recipe.json
  a=ta b=ta
  [ $recipe != unpromoted ] || a=tt b=tt
  [ $recipe != deepgemm.1d2d ] || b=tb
  run 0 gemm $a $b --recipe recipe.json --output fp32 --out d.npy
  is "gemm_reads_the_recipe_$recipe" "$exact" "$(bits d.npy)"
done
run 0 quantize t.npy --group 1x32 --scale pow2 --out t32
run 0 quantize t.npy --group 32x32 --scale pow2 --out tb32
run 0 quantize t.npy --group 1x0 --scale pow2 --out trow
recipe() {  # recipe FIELDS: its fields, else deepgemm.1d2d's
  printf '{"like": "deepgemm.1d2d", "fields": {"output": "fp32", %s}}' "$1" >own.json
}
recipe '"a": "1x32", "b": "32x32", "interval": 32'
run 0 gemm t32 tb32 --recipe own.json --out d.npy
is gemm_takes_groups_of_32 "$exact" "$(bits d.npy)"
recipe '"a": "1x0", "b": "1x0", "update": "add"'
run 0 gemm trow trow --recipe own.json --out d.npy
is gemm_takes_rows_by_rows "$exact" "$(bits d.npy)"
recipe '"a": "1x256", "b": "128x256"'
run 0 quantize x.npy --group 1x256 --out q256
run 0 quantize w.npy --group 128x256 --out w256
shows gemm_takes_groups_of_256_along_k 'K = 256, own.json' \
  gemm q256 w256 --recipe own.json --out d.npy
recipe '"a": "1x32", "interval": 128'
refuses gemm_needs_a_valid_recipe 'own.json: no valid recipe: .*SPEC G2' \
  gemm t32 tb --recipe own.json --out d.npy
while read -r field what; do
  recipe "$field"
  refuses "recipe_with_$field" "own.json: $what" \
    gemm ta tb --recipe own.json --out d.npy
done <<'EOF'
"splits":0 splits is 0: use a whole number from 1
"splits":"2" splits is "2": use a whole number
"update":"late" update is "late": use add, product_of_scales
"a":"1x" a is "1x": unknown group
"accumulator":"none" accumulator is "none": unknown path
"accumulator":"hopper.mma.e4m3.e4m3.f32" accumulator is .*: use a path to f32 of which
"output":"e4m3" output is "e4m3": use fp32 or bf16
"intervals":1 unknown field 'intervals': did you mean 'interval'[?] use one of accumulator, interval
EOF

# One row: groups of 1 and of 128 rows are the same (G10 (d)).
npy write t1.npy '<f4' 1x2 1
run 0 quantize t1.npy --scale pow2 --out t1
run 0 gemm t1 ta --recipe cublaslt.1x128_1x128.m1 --output fp32 --out d.npy
is gemm_takes_one_row_as_a_block '<f4 1x2 40400000 c0600000' "$(bits d.npy)"
refuses gemm_does_not_take_two_rows_as_a_block 'ta: scales of 1x128, but' \
  gemm ta ta --recipe cublaslt.1x128_1x128.m1 --out d.npy

# As a library did, by a record.
cat >record.json <<'EOF'
{"platform": {"library": "cuBLASLt 13.1.0", "device": "NVIDIA H100"}, "rows": [
{"m": 2, "n": 2, "k": 2, "a": "e4m3", "b": "e4m3", "scaling": "1x128_1x128",
 "output": "fp32", "algorithm": "algorithm 66", "splits": 3,
 "recipe": "cublaslt.1x128_1x128.k128", "differing": 0},
{"m": 2, "n": 2, "k": 2, "a": "e4m3", "b": "e4m3", "scaling": "tensor.fast",
 "output": "fp32", "algorithm": "algorithm 1", "splits": 1,
 "recipe": "unpromoted", "differing": 0},
{"m": 2, "n": 2, "k": 2, "a": "e4m3", "b": "e4m3", "scaling": "tensor.precise",
 "output": "fp32", "refused": "not served"},
{"m": 2, "n": 2, "k": 2, "a": "e4m3", "b": "e4m3", "scaling": "1x128_128x128",
 "output": "fp32", "algorithm": "", "splits": 1,
 "recipe": "cublaslt.1x128_128x128", "differing": 2}]}
EOF
shows gemm_follows_a_record 'cublaslt.1x128_1x128.k128 --splits 3' \
  gemm ta ta --like ./record.json --output fp32 --out d.npy
is gemm_of_a_record_has_its_bits "$exact" "$(bits d.npy)"
shows gemm_says_whose_record '"like": "cuBLASLt 13.1.0 on NVIDIA H100, alg' \
  gemm tt tt --like ./record.json --recipe unpromoted --output fp32 \
  --out d.npy --json
refuses gemm_follows_no_refusal 'cuBLASLt 13.1.0 refuses 2 x 2 x 2, .*not served' \
  gemm tt tt --like ./record.json --output fp32 --out d.npy
refuses gemm_follows_no_unknown_bits 'is not known: no recipe gives its bits' \
  gemm ta tb --like ./record.json --output fp32 --out d.npy
refuses gemm_follows_no_other_output 'no record of cuBLASLt 13.1.0 for 2 x 2' \
  gemm ta ta --like ./record.json --out d.npy
refuses gemm_follows_no_other_groups 'scales of 1x32 and 1x32: cuBLASLt takes' \
  gemm t32 t32 --like ./record.json --out d.npy
refuses gemm_follows_no_other_file './own.json: no record: use what' \
  gemm ta ta --like ./own.json --out d.npy
refuses gemm_follows_a_record_alone 'like excludes --splits' \
  gemm ta ta --like ./record.json --splits 2 --out d.npy
refuses gemm_knows_its_records '.*-like cublaslt-1.0:h100: no such record: use' \
  gemm ta ta --like cublaslt-1.0:h100 --out d.npy

# Fprop X W^T; Dgrad dY W; Wgrad dY^T X, tokens along K.
shows fprop_shapes_work '130 x 130' gemm qx qw --out y.npy
run 0 quantize dy.npy --out qdy
run 0 retile qw --out qwt
shows dgrad_shapes_work '130 x 256' gemm qdy qwt --out dx.npy
run 0 quantize dy.npy --group 128x1 --out qdyt
run 0 quantize x.npy --group 128x1 --out qxt
shows wgrad_shapes_work '130 x 256 float32, K = 130' \
  gemm qdyt qxt --recipe deepgemm.1d1d --out dw.npy
shows wgrad_accumulates '130 x 256' \
  gemm qdyt qxt --recipe deepgemm.1d1d --c dw.npy --out dw2.npy
shows gemm_json_has_the_shape '"k": 256' gemm qx qw --out y.npy --json
for setting in '"c": "dy.npy"' '"interval": 64' '"splits": 2'; do
  shows "gemm_json_has_$setting" "$setting" \
    gemm qx qw --c dy.npy --interval 64 --splits 2 --out y.npy --json
done
shows gemm_says_what_it_was_asked_besides \
  'deepgemm.1d2d --interval 64 --splits 2 --c dy.npy' \
  gemm qx qw --c dy.npy --interval 64 --splits 2 --out y.npy
shows gemm_json_says_no_interval '"interval": "none"' \
  gemm tt tt --recipe unpromoted --interval none --out y.npy --json
ln -s qx/codes.npy link.npy
for file in qx/codes.npy qw/../qx/scales.npy qw/meta.json tt/scales.npy \
  link.npy; do
  refuses "gemm_keeps_$file" "--out $file: this is a part of the tensor" \
    gemm qx qw --out $file
  refuses "dequantize_keeps_$file" "--out $file: this is a part of the tensor" \
    dequantize qx --out $file
done
shows gemm_writes_beside_a_tensor '130 x 130' gemm qx qw --out qx/y.npy
refuses gemm_needs_a_directory_before_it_multiplies \
  'none/y.npy: cannot write: there is no directory .*/none' \
  gemm qx qw --out none/y.npy
cp dy.npy sum.npy
refuses gemm_keeps_c_of_float32 '--out ./sum.npy: this is C, .* D is bf16' \
  gemm qx qw --c sum.npy --out ./sum.npy
shows gemm_adds_in_place '130 x 130 float32' \
  gemm qx qw --c sum.npy --output fp32 --out sum.npy
mkdir own && cp x.npy own/codes.npy
refuses quantize_keeps_its_input '--out own: this would replace own/codes.npy' \
  quantize own/codes.npy --out own
refuses gemm_refuses_groups_of_another_recipe 'needs 1x128' \
  gemm qx qw --recipe deepgemm.1d1d --out bad.npy
refuses gemm_refuses_rows_for_tensors 'needs tensor' \
  gemm qx qw --recipe unpromoted --out bad.npy
refuses gemm_refuses_another_k 'qx is 130 x 256, tb is .* same K' \
  gemm qx tb --out bad.npy
refuses gemm_refuses_an_unknown_recipe "unknown recipe 'x'" \
  gemm qx qw --recipe x --out bad.npy
refuses gemm_refuses_an_odd_interval interval \
  gemm qx qw --interval 100 --out bad.npy
refuses gemm_refuses_text_after_a_number "'128abc'" \
  gemm qx qw --interval 128abc --out bad.npy
refuses gemm_refuses_negative_splits splits gemm qx qw --splits -3 --out bad.npy
refuses gemm_refuses_no_splits 'splits 0: use 1 or more' \
  gemm qx qw --splits 0 --out bad.npy
refuses gemm_says_which_intervals_there_are \
  '--interval 256: deepgemm.1d2d takes multiples of its step, 32, that divide' \
  gemm qx qw --interval 256 --out bad.npy
refuses gemm_says_that_there_are_no_intervals '--interval 64: exact takes none' \
  gemm tt tt --recipe exact --interval 64 --out bad.npy
refuses gemm_refuses_the_gpu_by_the_reference 'excludes' \
  gemm qx qw --gpu --reference --out bad.npy
refuses gemm_refuses_another_output fp32 gemm qx qw --output e4m3 --out bad.npy
npy write c16.npy '<u2' 130x130
refuses gemm_refuses_c_in_bf16 'c16.npy: elements are <u2: only float32' \
  gemm qx qw --c c16.npy --out bad.npy
refuses gemm_refuses_c_of_another_shape 'C must be 130 x 130' \
  gemm qx qw --c c.npy --out bad.npy
refuses gemm_refuses_e5m6 'tensor core' gemm q6 q6 --recipe unpromoted \
  --out bad.npy
holds refused_gemms_write_nothing test ! -e bad.npy

# --gpu: the same bits, by kernels and by the emulator; else why not, in a line.
run 0 gemm qx qw --gpu --out gpu.npy
if [ -z "$reason" ]; then
  gemm_on_gpu() {  # NAME BY ARGUMENT...
    local name=$1 by=$2
    shift 2
    shows "gemm_gpu_says_by_what_$name" ", by $by\$" gemm "$@" --gpu \
      --out gpu.npy
    run 0 gemm "$@" --out cpu.npy
    holds "gemm_gpu_has_the_bits_of_$name" cmp cpu.npy gpu.npy
  }
  gemm_on_gpu fprop 'the tensor core' qx qw
  gemm_on_gpu dgrad 'the tensor core' qdy qwt
  gemm_on_gpu wgrad 'the tensor core' qdyt qxt --recipe deepgemm.1d1d --c dw.npy
  gemm_on_gpu c_of_zeros 'the tensor core' qdyt qxt --recipe deepgemm.1d1d
  gemm_on_gpu tensors 'the tensor core' tt tt --recipe unpromoted
  gemm_on_gpu splits 'the emulator' qx qw --splits 2
  gemm_on_gpu short_intervals 'the emulator' ta tb --interval 32
else
  refuses gemm_gpu_says_why_not \
    '^zeroulp: gemm --gpu: ' \
    gemm qx qw --gpu --out bad.npy
  holds refused_gemm_gpu_writes_nothing test ! -e bad.npy
fi

npy write u.npy '<f4' 3 1 0 -1
npy write v.npy '<f4' 3 1 -0.0 -1.00000012
run 1 compare u.npy v.npy
is compare_finds_a_mismatch '' "$reason"
holds compare_counts grep -q '2 of 3 elements differ; at most 1 ulps' .out
holds compare_shows_the_first \
  grep -q 'first at (1): 00000000 (0) against 80000000 (-0)' .out
holds compare_has_a_histogram grep -qE '^ +1 +1$' .out
holds compare_says_where grep -q '^where: 2 of 3 columns (1, 2)$' .out
# M1, M4: 2^-23 beside a norm of sqrt(2), beside 1, and as a mean of three.
holds compare_says_how_far grep -q '^relative error, of B: 8.43e-08 by norms, '\
'3.97e-08 on average, at most 1.19e-07; cosine 1 - [0-9.e-]*$' .out
run 1 compare u.npy v.npy --json
is compare_json_finds_a_mismatch '' "$reason"
holds compare_json_has_the_bits grep -q '"b": "80000000"' .out
holds compare_json_says_where_and_how_far python3 -c 'import json
r = json.load(open(".out"))
assert r["where"]["columns"] == {"different": 2, "of": 3, "first": 1, "last": 2,
                                 "pattern": "1, 2"}, r
assert abs(r["errors"]["frobenius"] - 8.43e-8) < 1e-10, r'
npy write tile.npy '<f4' 4x300 1
python3 -c 'import struct
data = bytearray(open("tile.npy", "rb").read())
for row in (1, 2):
    for column in range(256, 300):
        at = len(data) - 4 * (1200 - 300 * row - column)
        data[at:at + 4] = struct.pack("<f", 2)
open("edge.npy", "wb").write(data)'
run 1 compare tile.npy edge.npy
holds compare_sees_a_block grep -q \
  '^where: 2 of 4 rows (1, 2), 44 of 300 columns (256 to 299), a whole block$' \
  .out
npy write u1.npy '|u1' 2 0x7e 0x38
npy write u2.npy '<u2' 2 0x7e 0x38
npy write v1.npy '|u1' 2 0xfe 0x38
run 1 compare u1.npy v1.npy --format e4m3
holds compare_counts_codes_of_a_format grep -q 'at most 252 ulps' .out
refuses compare_refuses_types 'one type' compare u.npy u1.npy
refuses compare_refuses_shapes 'one shape' compare u.npy t.npy
refuses compare_refuses_floats_as_codes 'not codes' \
  compare u.npy v.npy --format e4m3
refuses compare_refuses_a_wide_format '8 bits' \
  compare u1.npy v1.npy --format bf16
refuses compare_refuses_bytes_as_bf16 'u1.npy: elements are .u1: .* uint16' \
  compare u1.npy v1.npy --dtype bf16
refuses compare_refuses_another_dtype "--dtype 'e4m3': only bf16" \
  compare u1.npy v1.npy --dtype e4m3
refuses compare_refuses_two_formats '--dtype bf16 and --format e5m6: use one' \
  compare u2.npy u2.npy --dtype bf16 --format e5m6

# What is accepted: ulps (M5: zeros of either sign are one place), classes.
npy write near.npy '<f4' 4 1.00000012 1 -0.0 3
npy write far.npy '<f4' 4 1.00000048 1 0 3
run 1 compare near.npy far.npy --ulps 2
is compare_finds_what_is_beyond '' "$reason"
holds compare_says_how_many_are_within \
  grep -q '^3 of 4 elements are within 2 ulps$' .out
holds compare_shows_the_first_beyond grep -q 'first at (0): 3f800001' .out
shows compare_accepts_ulps '^4 of 4 elements are within 3 ulps$' \
  compare near.npy far.npy --ulps 3
holds compare_says_that_it_accepts grep -q '^held: no other difference$' .out
shows compare_accepts_nothing_that_is_there '^equal: 4 elements' \
  compare near.npy near.npy --ulps 0
run 0 compare near.npy far.npy --ulps 3 --json
holds compare_json_says_what_is_within python3 -c 'import json
r = json.load(open(".out"))
assert r["held"] and not r["equal"] and r["ulps"] == r["max_ulps"] == 3, r
assert r["within"] == 4 and "first" not in r, r'
npy write huge.npy '<u4' 1 0x7f7fffff
npy write infinite.npy '<u4' 1 0x7f800000
run 1 compare huge.npy infinite.npy --format fp32 --ulps 1
is compare_has_no_ulps_between_infinity_and_a_number '' "$reason"
holds compare_has_no_relative_error_of_infinity \
  grep -q '^no relative error: 1 elements are infinite' .out
shows compare_takes_infinity_for_itself '^equal: 1 elements' \
  compare infinite.npy infinite.npy --format fp32 --ulps 1
refuses compare_refuses_negative_ulps 'ulps' compare near.npy far.npy --ulps -1
npy write nan.npy '<u4' 3 0x7fc00000 0x7fffffff 0x3f800000
npy write nan2.npy '<u4' 3 0xffc00001 0x7fffffff 0x3f800000
npy write number.npy '<u4' 3 0x7fc00000 0x7f800000 0x3f800000
nans="compare nan.npy nan2.npy --format fp32"
run 1 $nans
is compare_tells_nans_apart '' "$reason"
run 1 $nans --ulps 4000000000
is compare_has_no_ulps_between_nans '' "$reason"
shows compare_takes_nans_for_equal \
  '^ignored: 1 elements that differ in nan-bits$' $nans --ignore nan-bits
run 1 compare nan.npy number.npy --format fp32 --ulps 4000000000 \
  --ignore nan-bits,zero-sign
is compare_has_no_ulps_between_nan_and_a_number '' "$reason"
holds compare_shows_the_first_not_ignored \
  grep -q 'first at (1): 7fffffff (nan) against 7f800000 (inf)' .out
run 0 compare --ignore nan --ignore nan-bits,zero-sign nan.npy number.npy \
  --format fp32 --json
holds compare_json_counts_what_is_ignored python3 -c 'import json
r = json.load(open(".out"))
assert r["ignored"] == {"nan": 1, "nan-bits": 0, "zero-sign": 0}, r'
refuses compare_refuses_an_unknown_class \
  "unknown class of differences 'nans': did you mean 'nan'[?] use values, nan" $nans --ignore nans
refuses compare_of_nothing_but_what_is_ignored 'nothing would be compared' \
  $nans --ignore values,nan,nan-bits,zero-sign
npy write empty.npy '<f4' 0x3
refuses compare_of_empty_arrays 'shape \(0, 3\): there is no element' \
  compare empty.npy empty.npy

# Block scales (G14).
npy write n.npy '<f4' 1x2 2688 224
run 0 quantize t.npy --convention mx.floor --out qm
run 0 quantize t.npy --group 1x32 --scale ocp --out qo
for operands in 't.npy t.npy' 'qm t.npy' 'qo qm'; do
  # shellcheck disable=SC2086
  run 0 gemm $operands --recipe mxfp8 --out d.npy
  is "gemm_mxfp8_is_exact_on_${operands// /_by_}" "$exact" "$(bits d.npy)"
done
run 0 gemm b.npy b.npy --dtype bf16 --recipe mxfp8 --output bf16 --out d.npy
is gemm_mxfp8_takes_and_gives_bf16 '<u2 2x2 40a0 c040 c040 4182' "$(bits d.npy)"
run 0 gemm t.npy t.npy --recipe mxf8f6f4 --c c.npy --out d.npy
is gemm_with_block_scales_accumulates \
  '<f4 2x2 40c00000 c0000000 c0000000 418a0000' "$(bits d.npy)"
# 36.25 * 448^2, whatever the second level.
for second in none tensor row; do
  run 0 gemm n.npy n.npy --recipe nvfp4 --second $second --out d.npy
  is "gemm_nvfp4_is_exact_with_second_$second" '<f4 1x1 4ade0800' \
    "$(bits d.npy)"
done
refuses gemm_with_block_scales_wants_its_own 'needs ue4m3 of 1x16' \
  gemm qm qm --recipe nvfp4 --out d.npy
refuses gemm_with_block_scales_has_no_interval '--interval' \
  gemm t.npy t.npy --recipe mxfp8 --interval 32 --out d.npy
refuses gemm_without_block_scales_quantizes_nothing '--convention' \
  gemm ta tb --convention nvfp4 --out d.npy
refuses gemm_says_which_formats_a_recipe_takes 'it takes e2m1' \
  gemm qm qm --recipe mxfp4 --out d.npy
