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
holds identify_names_nothing_that_chance_may_fit \
  grep -q '^named: none (these fit, as chance may: ' .out
npy write itv.npy '<f4' 1 0.015625
shows identify_takes_a_vector_of_scales '4 of 4 codes' \
  identify quantizer it.npy --codes itc.npy --scales itv.npy
npy write emptyc.npy '|u1' 0x4
npy write empty.npy '<f4' 0x4
npy write itb.npy '<u2' 2x2 0x3f80 0x4000 0xc080 0x3f00
shows identify_takes_bf16 '4 of 4 codes' \
  identify quantizer itb.npy --dtype bf16 --codes itc.npy --scales itv.npy

# One bit of one code of 256: x 0.5 by 2^-6 is 32, code 60.
npy write iw.npy '<f4' 4x64 1 2 -4 0.5
# shellcheck disable=SC2046
npy write iwc.npy '|u1' 4x64 $(printf '0x68 0x70 0xf8 0x60 %.0s' {1..63}) \
  0x68 0x70 0xf8 0x61
npy write iws.npy '<f4' 4 0.015625
run 1 identify quantizer iw.npy --codes iwc.npy --scales iws.npy --format e4m3
is identify_finds_no_definition '' "$reason"
holds identify_names_the_nearest grep -q '^named: [^(]*vllm' .out
holds identify_says_where_the_nearest_fails grep -qF \
  'first code at (3, 63), x 3f000000 (0.5): given 61 (36), expected 60 (32), 1 ulps' \
  .out
holds identify_says_what_chance_gives grep -qE \
  '^chance: 4 of 4 \(100 %\) scales in any order, 0 of 256 \(0 %\) codes' .out
run 1 identify quantizer iw.npy --codes iwc.npy --scales iws.npy --format e4m3 \
  --json
holds identify_json_has_the_first_code python3 -c \
  'import json; r = json.load(open(".out")); assert not r["exact"]
assert r["found"] and r["seconds"] >= 0 and r["codes"]["differ"] == 1
assert r["first_code"] == {"row": 3, "col": 63, "given": "61",
                           "expected": "60", "x": "3f000000"}'

# Codes of other numbers agree now and then: chance, and no finding.
npy normal other.npy 130x256 7
run 0 quantize other.npy --convention vllm --out io
run 1 identify quantizer x.npy --codes io/codes.npy --scales io/scales.npy
is identify_of_other_codes_finds_nothing '' "$reason"
holds identify_of_other_codes_names_nothing grep -qx 'named: none' .out
holds identify_of_other_codes_says_so \
  grep -q 'gives every bit, and none comes near enough to be named$' .out
holds identify_says_what_was_tried grep -qE \
  '^tried in [0-9.]+ s, values of each: format \([0-9]+\), group \(' .out
if level 2; then
  run 1 identify quantizer x.npy --codes io/codes.npy --scales io/scales.npy \
    --json
  holds identify_of_other_codes_says_so_in_json python3 -c \
    'import json; r = json.load(open(".out")); assert not r["found"]
assert r["names"] == [] and r["fields"] == {} and r["codes"]["share"] < 0.2
assert r["codes"]["chance"]["count"] > 0 and "1x128" in r["grid"]["group"]'
fi

# Q11: the layouts, unsaid, said and said wrongly; groups of 32 unasked.
npy normal ragged.npy 130x320 3
while read -r layout scale group; do
  run 0 quantize ragged.npy --layout "$layout" --scale "$scale" \
    --group "$group" --convention deepep --out il
  files='--codes il/codes.npy --scales il/scales.npy'
  # shellcheck disable=SC2086
  shows "identify_reads_${layout}_of_$group" '41600 of 41600 codes agree' \
    identify quantizer ragged.npy $files
  holds "identify_names_${layout}_of_$group" grep -q '^named: .*deepep' .out
  holds "identify_tells_the_group_of_${layout}_of_$group" \
    grep -qE "^group +$group$" .out
  holds "identify_tells_${layout}_of_$group" \
    grep -qE "^layout of scales +$layout$" .out
  # shellcheck disable=SC2086
  shows "identify_takes_${layout}_of_$group" '41600 of 41600 codes agree' \
    identify quantizer ragged.npy $files --layout "$layout"
done <<'EOT'
row_major fp32 1x128
mn_major fp32 1x128
blk128 fp32 1x128
ue8m0 pow2 1x128
mn_major fp32 128x1
ue8m0 pow2 128x1
blk128 fp32 128x128
row_major fp32 1x32
mn_major fp32 1x32
ue8m0 pow2 1x32
row_major fp32 32x1
EOT
refuses identify_refuses_another_layout 'no group fits' identify quantizer \
  ragged.npy --codes il/codes.npy --scales il/scales.npy --layout ue8m0
refuses identify_refuses_an_unknown_layout 'unknown' identify quantizer \
  ragged.npy --codes il/codes.npy --scales il/scales.npy --layout x

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
# One bit of one output of 16900.
python3 - <<'EOT'
data = bytearray(open("id.npy", "rb").read())
data[-4] ^= 1
open("idw.npy", "wb").write(data)
EOT
# shellcheck disable=SC2086
run 1 identify gemm $operands --d idw.npy
holds identify_gemm_says_where_the_nearest_fails \
  grep -qE '^first at \(129, 129\): given .*, 1 ulps$' .out
holds identify_gemm_names_the_nearest grep -q '^named: [^n].*deepgemm.1d2d' .out
holds identify_gemm_says_what_chance_gives \
  grep -qE '^chance: [0-9]+ of 16900 \(.* %\) in sums of another kind$' .out
# shellcheck disable=SC2086
run 1 identify gemm $operands --d idw.npy --json
holds identify_gemm_json_has_the_first python3 -c \
  'import json; r = json.load(open(".out")); assert r["found"]
assert r["first"]["row"] == 129 and r["outputs"]["differ"] == 1
assert r["outputs"]["chance"]["share"] < 0.1 and r["fp32_sum"] is None'

# Scales as Q11 has them.
run 0 quantize x.npy --convention deepep --scale pow2 --layout ue8m0 --out ixp
run 0 quantize w.npy --group 128x128 --layout blk128 --out iwp
run 0 gemm ixp iwp --recipe deepgemm.1d2d --out idp.npy
shows identify_gemm_takes_packed_and_padded_scales '16900 of 16900 outputs' \
  identify gemm --a ixp/codes.npy --b iwp/codes.npy --a-scales ixp/scales.npy \
  --b-scales iwp/scales.npy --d idp.npy --dtype bf16
holds identify_gemm_tells_packed_scales \
  grep -qE '^scales of A +1x128, ue8m0$' .out

# An FP32 sum of dequantized products, which no tensor core makes: 4 lanes.
npy write ia.npy '|u1' 24x512 $(seq 1 2 125)
npy write ib.npy '|u1' 32x512 $(seq 254 -3 131) $(seq 2 3 120)
python3 - <<'EOT'
import struct
def codes(name):
    data = open(name, "rb").read()
    return data[10 + struct.unpack("<H", data[8:10])[0]:]
def value(c):
    e, m = c >> 3 & 15, c & 7
    v = (m / 8 if e == 0 else 1 + m / 8) * 2.0 ** (max(e, 1) - 7)
    return -v if c & 128 else v
def fl(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]
a, b = [value(c) for c in codes("ia.npy")], [value(c) for c in codes("ib.npy")]
sums = []
for i in range(24):
    for j in range(32):
        lanes = [0.0] * 4
        for k in range(512):
            p = fl(fl(a[i * 512 + k] * 0.3) * fl(b[j * 512 + k] * 0.7))
            lanes[k % 4] = fl(lanes[k % 4] + p)
        sums.append(fl(fl(lanes[0] + lanes[1]) + fl(lanes[2] + lanes[3])))
open("isum.txt", "w").write(" ".join(map(repr, sums)))
EOT
# shellcheck disable=SC2046
npy write isum.npy '<f4' 24x32 $(cat isum.txt)
npy write isa.npy '<f4' 1x1 0.3
npy write isb.npy '<f4' 1x1 0.7
run 1 identify gemm --a ia.npy --b ib.npy --a-scales isa.npy --b-scales isb.npy \
  --d isum.npy
is identify_gemm_finds_no_name_for_an_fp32_sum '' "$reason"
holds identify_gemm_names_none grep -qx 'named: none' .out
holds identify_gemm_says_what_it_is \
  grep -q '^an FP32-accurate sum, no Hopper FP8 tensor core: ' .out
run 1 identify gemm --a ia.npy --b ib.npy --a-scales isa.npy --b-scales isb.npy \
  --d isum.npy --json
holds identify_gemm_says_what_it_is_in_json python3 -c \
  'import json; r = json.load(open(".out")); assert not r["found"]
assert r["fp32_sum"]["says"].startswith("an FP32-accurate sum, no Hopper")
assert r["fp32_sum"]["hopper"]["share"] < 0.1'
npy write ia.npy '|u1' 1x32 0x38
npy write one.npy '<f4' 1x1 33
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
  test "$(wc -l <fc/conventions.csv)" -eq 1013
holds fuzz_conventions_writes_one_page grep -q '<table>' fc/conventions.html
holds fuzz_conventions_page_needs_nothing_else \
  bash -c '! grep -qE "https?:|src=|href=" fc/conventions.html'
run 0 fuzz conventions --scale fp32 --cases 50 --out fc2
holds fuzz_conventions_is_the_same_again diff -r fc fc2
run 0 fuzz conventions --cases 50 --seed 2 --group tensor --format e5m2 --json
holds fuzz_conventions_json_has_every_pair python3 -c \
  'import json; r = json.load(open(".out"))["pairs"]
assert len(r) == 1012 and r[0]["codes"] == 50 * 64 * 64'
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

# compare --against (SPEC Q13, G10).
run 0 quantize x.npy --convention vllm --out cx
shows compare_takes_the_claimed_bits 'codes: the bits of vllm, all 33280' \
  compare cx --against vllm --input x.npy
shows compare_takes_files 'scales: the bits of vllm, all 260' compare \
  cx/codes.npy --scales cx/scales.npy --against vllm --input x.npy
run 1 compare ix --against vllm --input x.npy
is compare_says_that_bits_differ '' "$reason"
holds compare_names_the_convention grep -qE \
  '^ +as if the convention were deepseek_v3 \(convention:deepseek_v3\)' .out
holds compare_names_those_with_the_same_bits grep -qE \
  'likely +one of [0-9]+ with the same bits on this data: all [0-9]+ diff' .out
holds compare_gives_a_case_that_tells_them_apart grep -qE \
  '^  apart +this case has [0-9]+ different results of these' .out
run 1 compare ix --against vllm --input x.npy --json
holds compare_json_has_the_cause python3 -c \
  'import json; r = json.load(open(".out")); first = r["likely"][0]
assert not r["same"] and first["exact"] and r["tried"] > 50
assert "convention:deepep" in first["same_bits"], first
assert len(first["one_of"]) == 1 + len(first["same_bits"]), first
assert r["apart"]["results"] > 1, r'
run 1 compare cx --against vllm --input w.npy
holds compare_shows_the_first_element grep -qE \
  '^  element   x = .*, scale = .*, x / scale = .* ulp from the tie' .out
holds compare_names_nothing_without_a_cause grep -qE \
  '^  likely    none of [0-9]+ definitions, displacements and faults' .out
run 0 gemm ix iw --recipe deepgemm.1d2d --output fp32 --out id.npy
shows compare_takes_a_product 'd: the bits of deepgemm.1d2d, all 16900' \
  compare id.npy --against deepgemm.1d2d --a ix --b iw
run 1 compare id.npy --against cutlass.blockwise --a ix --b iw
holds compare_names_the_recipe grep -q 'recipe:deepgemm.1d2d' .out
refuses compare_needs_the_input '--input is needed' \
  compare ix --against vllm
refuses compare_needs_operands '--b is needed' \
  compare id.npy --against deepgemm.1d2d --a ix
refuses compare_knows_the_claim "unknown convention 'vlm'" \
  compare ix --against vlm --input x.npy
refuses compare_takes_one_claim 'excludes' \
  compare id.npy id.npy --against vllm
refuses compare_needs_another 'one array' \
  compare id.npy
refuses compare_needs_a_claim_for_its_input 'requires --against' \
  compare id.npy id.npy --input x.npy
refuses compare_checks_codes 'is no code of e4m3' \
  compare cx/scales.npy --against vllm --input x.npy

# Block scales: bytes, and a second level.
npy normal bx.npy 20x256 1
npy normal bw.npy 12x256 2
run 0 quantize bx.npy --convention nvfp4 --format e2m1 --out bqx
run 0 quantize bw.npy --convention nvfp4 --format e2m1 --out bqw
run 0 gemm bqx bqw --recipe nvfp4 --output fp32 --out bd.npy
in_blocks=(identify gemm --a bqx/codes.npy --b bqw/codes.npy --format-a e2m1
  --format-b e2m1 --d bd.npy)
bytes=(--a-scales bqx/scales.npy --b-scales bqw/scales.npy)
second=(--a-second bqx/second.npy --b-second bqw/second.npy)
shows identify_names_a_recipe_of_blocks '^named: .*nvfp4' \
  "${in_blocks[@]}" "${bytes[@]}" "${second[@]}"
holds identify_says_how_bytes_of_blocks_are_read \
  grep -qE '^scales +ue4m3 per 16$' .out
shows identify_json_has_a_recipe_of_blocks '"nvfp4"' \
  "${in_blocks[@]}" "${bytes[@]}" "${second[@]}" --json
run 1 "${in_blocks[@]}" "${bytes[@]}"
is identify_finds_no_product_without_its_second_level '' "$reason"
holds identify_names_the_nearest_of_blocks \
  grep -qE '^nvfp4: [0-9]+ of 240 .* outputs agree; first at' .out
run 1 "${in_blocks[@]}" "${bytes[@]}" --json
holds identify_json_has_the_nearest_of_blocks python3 -c \
  'import json; r = json.load(open(".out"))
assert r["nearest"] == "nvfp4" and not r["exact"] and r["first"]'
npy write bt.npy '<f4' 3 1 2 4
refuses identify_has_a_second_level_that_fits '3 x 1 scales of the second level' \
  "${in_blocks[@]}" "${bytes[@]}" --a-second bt.npy
npy write bs.npy '<f4' 1 1
refuses identify_has_a_second_level_of_blocks 'a byte for every 16 or 32' \
  "${in_blocks[@]}" --a-scales bs.npy --b-scales bs.npy --a-second bt.npy
