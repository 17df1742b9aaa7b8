# identify and fuzz conventions (SPEC Q13, G10).

npy normal x.npy 130x256 1
npy normal w.npy 130x256 2
run 0 quantize x.npy --convention deepep --out ix
run 0 quantize w.npy --group 128x128 --out iw
shows identify_example_of_its_help_works '33280 of 33280 codes agree' \
  identify quantizer x.npy --codes ix/codes.npy --scales ix/scales.npy
holds identify_names_the_convention grep -qE '^named: .*deepep' .out
holds identify_says_what_the_data_decide \
  grep -qE '^scale +fl\(amax\*fl\(1/max\)\)$' .out
holds identify_says_what_the_data_do_not grep -qE \
  '^  floor of amax: none \| 1e-4 \| 1e-10 \| 1e-12$' .out
shows identify_json_has_the_class '"exact": true' \
  identify quantizer x.npy --codes ix/codes.npy --scales ix/scales.npy --json
holds identify_json_lists_fields python3 -c \
  'import json; r = json.load(open(".out"))
assert r["fields"]["group"] == ["1x128"] and "deepep" in r["names"]'
shows identify_takes_a_format_and_a_group '260 of 260 scales' identify \
  quantizer x.npy --codes ix/codes.npy --scales ix/scales.npy --format e4m3 \
  --group 1x128

# Powers of two as exponents: 2^-6 is 0x79. amax 4 over 448.
npy write it.npy '<f4' 2x2 1 2 -4 0.5
npy write itc.npy '|u1' 2x2 0x68 0x70 0xf8 0x60
npy write its.npy '|u1' 1x1 0x79
shows identify_reads_exponents '1 of 1 scales and 4 of 4 codes agree' \
  identify quantizer it.npy --codes itc.npy --scales its.npy
holds identify_names_the_group grep -qE 'group: .*128x128 \| tensor' .out
npy write itv.npy '<f4' 1 0.015625
shows identify_takes_a_vector_of_scales '4 of 4 codes' \
  identify quantizer it.npy --codes itc.npy --scales itv.npy
npy write emptyc.npy '|u1' 0x4
npy write empty.npy '<f4' 0x4
npy write itb.npy '<u2' 2x2 0x3f80 0x4000 0xc080 0x3f00
shows identify_takes_bf16 '4 of 4 codes' \
  identify quantizer itb.npy --dtype bf16 --codes itc.npy --scales itv.npy

# One bit of one code: x 0.5 by 2^-6 is 32, code 60.
npy write itc.npy '|u1' 2x2 0x68 0x70 0xf8 0x61
run 1 identify quantizer it.npy --codes itc.npy --scales itv.npy --format e4m3
is identify_finds_no_definition '' "$reason"
holds identify_says_where_the_nearest_fails grep -qF \
  'first code at (1, 1), x 3f000000 (0.5): given 61 (36), expected 60 (32), 1 ulps' \
  .out
run 1 identify quantizer it.npy --codes itc.npy --scales itv.npy --format e4m3 \
  --json
holds identify_json_has_the_first_code python3 -c \
  'import json; r = json.load(open(".out")); assert not r["exact"]
assert r["first_code"] == {"row": 1, "col": 1, "given": "61",
                           "expected": "60", "x": "3f000000"}'

while read -r name pattern arguments; do
  # shellcheck disable=SC2086
  refuses "identify_refuses_$name" "$pattern" identify quantizer $arguments
done <<'EOT'
no_codes --codes x.npy --scales ix/scales.npy
codes_of_other_elements it.npy x.npy --codes it.npy --scales ix/scales.npy
other_shapes itc.npy x.npy --codes itc.npy --scales ix/scales.npy
scales_that_fit_no_group 128x128 it.npy --codes itc.npy --scales ix/scales.npy
another_group 2x2 it.npy --codes itc.npy --scales ix/scales.npy --group 2x2
integer_scales exponents it.npy --codes itc.npy --scales itb.npy
codes_beyond_the_format e2m1 it.npy --codes itc.npy --scales itv.npy --format e2m1
a_scale_format sign it.npy --codes itc.npy --scales itv.npy --format ue8m0
an_unknown_format unknown it.npy --codes itc.npy --scales itv.npy --format x
a_format_wider_than_its_codes 8.bits,.codes.of.bf16.16 it.npy --codes itc.npy --scales itv.npy --format bf16
a_missing_file nope.npy nope.npy --codes itc.npy --scales itv.npy
uint16_without_a_dtype dtype itb.npy --codes itc.npy --scales itv.npy
an_empty_matrix elements empty.npy --codes emptyc.npy --scales itv.npy
EOT
refuses identify_refuses_nothing 'subcommand' identify

run 0 gemm ix iw --recipe cublaslt.1x128_128x128 --output fp32 --out id.npy
operands='--a ix/codes.npy --b iw/codes.npy --a-scales ix/scales.npy
  --b-scales iw/scales.npy'
# shellcheck disable=SC2086
refuses identify_gemm_refuses_a_format_wider_than_its_codes \
  'ix/codes.npy: elements have 8 bits, codes of bf16 16' \
  identify gemm $operands --d id.npy --format-a bf16
# shellcheck disable=SC2086
shows identify_gemm_finds_the_recipe '16900 of 16900 outputs agree' \
  identify gemm $operands --d id.npy
holds identify_gemm_names_it grep -q '^named: .*deepgemm.1d2d' .out
holds identify_gemm_tells_the_update \
  grep -qE '^update +fma\(p, fl\(sa\*sb\), acc\)$' .out
holds identify_gemm_tells_the_interval grep -qE '^interval +128$' .out
run 0 gemm ix iw --recipe deepgemm.1d2d --out id16.npy
# shellcheck disable=SC2086
shows identify_gemm_takes_bf16 '16900 of 16900 outputs agree' \
  identify gemm $operands --d id16.npy --dtype bf16
npy write ia.npy '|u1' 1x32 0x38
npy write one.npy '<f4' 1x1 32
shows identify_gemm_example_of_its_help_works '1 of 1 outputs agree' \
  identify gemm --a ia.npy --b ia.npy --d one.npy
npy write one.npy '<f4' 1x1 33
run 1 identify gemm --a ia.npy --b ia.npy --d one.npy
holds identify_gemm_says_where_the_nearest_fails grep -qF \
  'first at (0, 0): given 42040000 (33), expected 42000000 (32)' .out
run 1 identify gemm --a ia.npy --b ia.npy --d one.npy --json
holds identify_gemm_json_has_the_first grep -q '"expected": "42000000"' .out
npy write ic.npy '<f4' 1x1 1
shows identify_gemm_takes_c '1 of 1 outputs agree' \
  identify gemm --a ia.npy --b ia.npy --d one.npy --c ic.npy
holds identify_gemm_tells_the_epilogue grep -qE '^epilogue +fl\(acc\+C\)$' .out
while read -r name pattern arguments; do
  # shellcheck disable=SC2086
  refuses "identify_gemm_refuses_$name" "$pattern" identify gemm $arguments
done <<'EOT'
another_k same --a ia.npy --b ix/codes.npy --d one.npy
another_shape_of_d id.npy --a ia.npy --b ia.npy --d id.npy
another_shape_of_c C --a ia.npy --b ia.npy --d one.npy --c id.npy
float_codes unsigned --a x.npy --b ia.npy --d one.npy
scales_that_fit_no_shape ix/scales.npy --a ia.npy --b ia.npy --d one.npy --a-scales ix/scales.npy
codes_beyond_the_format bits --a ia.npy --b ia.npy --d one.npy --format-a e2m1
float16_results float32 --a ia.npy --b ia.npy --d h.npy
no_d --d --a ia.npy --b ia.npy
EOT

shows fuzz_conventions_example_of_its_help_works \
  'zeroulp +vllm +0 +0' fuzz conventions --scale fp32 --cases 50 --out fc
holds fuzz_conventions_writes_a_row_a_pair_and_data \
  test "$(wc -l <fc/conventions.csv)" -eq 221
holds fuzz_conventions_writes_one_page grep -q '<table>' fc/conventions.html
holds fuzz_conventions_page_needs_nothing_else \
  bash -c '! grep -qE "https?:|src=|href=" fc/conventions.html'
run 0 fuzz conventions --scale fp32 --cases 50 --out fc2
holds fuzz_conventions_is_the_same_again diff -r fc fc2
run 0 fuzz conventions --cases 50 --seed 2 --group tensor --format e5m2 --json
holds fuzz_conventions_json_has_every_pair python3 -c \
  'import json; r = json.load(open(".out"))["pairs"]
assert len(r) == 220 and r[0]["codes"] == 50 * 64 * 64'
while read -r name pattern arguments; do
  # shellcheck disable=SC2086
  refuses "fuzz_conventions_refuses_$name" "$pattern" \
    fuzz conventions --out bad $arguments
done <<'EOT'
no_cases cases --cases 0
an_unknown_format unknown --format x
a_format_without_sign sign --format ue8m0
an_unknown_group group --group 0x
a_huge_group elements --group 1048576x1048576
an_unknown_scale unknown --scale x
EOT
refuses fuzz_conventions_refuses_to_write_to_a_file . \
  fuzz conventions --cases 1 --out x.npy/deep
