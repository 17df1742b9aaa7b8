# Bad input and output that cannot be written: one line, exit status 2, no
# partial file.

refuses no_arguments_are_refused subcommand
refuses an_unknown_subcommand_is_named bogus bogus
refuses an_unknown_option_is_named --bogus --bogus
shows help_works Subcommands --help
shows version_works '^[0-9]+\.[0-9]+\.[0-9]+$' --version
npy write empty.npy '<f4' 0x4
for group in 1x128 128x1 128x128 tensor; do
  shows "quantize_takes_an_empty_matrix_in_$group" '0 x 4' \
    quantize empty.npy --group $group --out qe
  shows "dequantize_takes_an_empty_matrix_in_$group" '0 x 4' \
    dequantize qe --out e.npy
done
refuses measure_refuses_an_empty_matrix 'no elements' \
  measure --a empty.npy --b empty.npy --out bad

npy write f8.npy '<f8' 2x2
npy write i4.npy '<i4' 2x2
npy write big.npy '>f4' 2x2
npy write r1.npy '<f4' 4
npy write r3.npy '<f4' 1x2x2
npy write r0.npy '<f4' ''
npy write u2.npy '<u2' 2x2
f="'fortran_order': False"
npy header lying.npy "{'descr': '<f4', $f, 'shape': (2, 3), }" 00000000
npy header huge.npy "{'descr': '<f4', $f, 'shape': (9999999999, 9999999999), }"
npy header wide.npy "{'descr': '<f4', $f, 'shape': (4294967296, 0), }"
npy header minus.npy "{'descr': '<f4', $f, 'shape': (-1, 2), }"
npy header object.npy "{'descr': '|O', $f, 'shape': (1, 1), }" 00
npy header text.npy "not a dictionary"
head -c 9 x.npy >h9.npy
head -c 50 x.npy >h50.npy
head -c 500 x.npy >h500.npy
head -c 0 x.npy >h0.npy
cat x.npy t.npy >tail.npy
printf 'PK\003\004' >zip.npy
for file in f8 i4 big r0 r1 r3 u2 lying huge wide minus object text h9 h50 \
  h500 h0 tail zip nope; do
  refuses "quantize_refuses_$file" "$file.npy" quantize $file.npy --out bad
done
refuses quantize_refuses_a_directory directory quantize . --out bad
refuses quantize_refuses_float32_as_bf16 uint16 \
  quantize x.npy --dtype bf16 --out bad
while read -r name pattern arguments; do
  # shellcheck disable=SC2086
  refuses "quantize_refuses_$name" "$pattern" \
    quantize x.npy --out bad $arguments
done <<'EOF'
an_unknown_format unknown --format e4mx
a_scale_format sign --format ue8m0
a_wide_format 32 --format fp64
an_unknown_group group --group 1xx
half_a_group group --group 0x
a_negative_group group --group -1x128
an_unknown_scale unknown --scale fp64
an_unknown_convention unknown --convention none
an_unknown_layout unknown --layout x
an_unknown_dtype dtype --dtype fp16
ue8m0_of_fp32_scales pow2 --layout ue8m0
history_of_groups tensor --history past.npy
a_missing_history nope.npy --group tensor --history nope.npy
a_history_of_rank_2 dimension --group tensor --history x.npy
an_unknown_history_rule history-rule --history-rule mean
a_nan_decay decay --group tensor --history past.npy --history-rule ema --decay nan
a_decay_above_1 decay --group tensor --history past.npy --history-rule ema --decay 2
an_unknown_option --foo --foo
EOF
refuses quantize_refuses_no_out --out quantize x.npy
for value in -inf -1; do
  npy write past2.npy '<f4' 1 $value
  refuses "quantize_refuses_a_history_of_$value" 'not negative' \
    quantize t.npy --group tensor --history past2.npy --out bad
done
for to in fp64 ue8m0 nope; do
  refuses "retile_refuses_$to" "$to" retile qx --to $to --out bad
done
refuses retile_refuses_an_unknown_rule unknown retile qx --rule x --out bad
refuses retile_only_transposes_weights transposed retile qw --to e5m2 --out bad
refuses retile_refuses_its_own_place 'name another' retile qx --out ./qx
run 0 quantize x.npy --group 2x4 --out q24
refuses retile_refuses_other_groups 're-tiled' retile q24 --out bad

damaged() {  # damaged NAME PATTERN FILE: qt with FILE replaced from stdin
  rm -rf qbad
  cp -r tpl qbad
  cat >"qbad/$3"
  refuses "dequantize_refuses_$1" "$2" dequantize qbad --out bad.npy
  refuses "retile_refuses_$1" "$2" retile qbad --out bad
  refuses "gemm_refuses_$1" "$2" gemm qbad tb --out bad.npy
}
run 0 quantize t.npy --group 1x128 --scale pow2 --out tpl
damaged an_empty_meta JSON meta.json </dev/null
damaged half_a_meta JSON meta.json < <(head -c 40 tpl/meta.json)
damaged an_array_as_meta JSON meta.json <<<'[]'
damaged a_deep_meta JSON meta.json < <(printf '[%.0s' {1..100000})
damaged a_meta_without_format "'format'" meta.json <<<'{"zeroulp": 1}'
damaged a_number_as_format "'format'" meta.json <<<'{"format": 1}'
for change in s/e4m3/e4m9x/ s/1x128/axb/ s/pow2/fp9/ s/row_major/x/ \
  's/"zeroulp": 1/"zeroulp": 2/' 's/^    2/    3/' s/1x128/1x1/; do
  damaged "a_meta_changed_by_${change//[^a-z0-9]/_}" . meta.json \
    < <(sed "$change" tpl/meta.json)
done
for scale in -1 3 -inf; do
  npy write s.npy '<f4' 2x1 $scale
  damaged "a_scale_of_$scale" 'expected a' scales.npy <s.npy
done
npy write s.npy '<f4' 1x2 1
damaged scales_of_another_shape '1 x 2 scales' scales.npy <s.npy
npy write s.npy '<u4' 2x1 1
damaged scales_of_another_type float32 scales.npy <s.npy
npy write s.npy '<u2' 2x2 0x100
damaged codes_beyond_the_format '8 bits' codes.npy <s.npy
npy write s.npy '<f4' 2x2 1
damaged codes_that_are_floats unsigned codes.npy <s.npy
damaged truncated_codes codes.npy codes.npy < <(head -c 129 tpl/codes.npy)
rm tpl/scales.npy
refuses dequantize_refuses_missing_scales scales.npy \
  dequantize tpl --out bad.npy
refuses dequantize_refuses_a_missing_directory nope dequantize nope --out b.npy

for place in x.npy/deep /dev/full/d /proc/nope /proc/version/d; do
  refuses "quantize_refuses_to_write_to_$place" . \
    quantize t.npy --out "$place"
  refuses "measure_refuses_to_write_to_$place" . \
    measure --m 2 --n 2 --k 32 --out "$place"
  refuses "dequantize_refuses_to_write_to_$place" . dequantize qx --out "$place"
  refuses "gemm_refuses_to_write_to_$place" . gemm qx qw --out "$place"
done
refuses dequantize_refuses_to_write_to_a_device 'regular' \
  dequantize qx --out /dev/full
refuses dequantize_refuses_to_write_to_a_directory 'regular' \
  dequantize qx --out qw
mkdir taken taken/meta.json
refuses quantize_refuses_a_taken_name 'meta.json' quantize t.npy --out taken
is a_refused_quantize_leaves_nothing meta.json "$(ls -A taken)"
holds refused_commands_write_nothing test ! -e bad -a ! -e bad.npy
run 0 quantize t.npy --out -1
holds a_directory_may_start_with_a_minus test -e ./-1/meta.json

# The results themselves may have nowhere to go.
full() {
  "$program" "$@" >/dev/full 2>.err
  is "${1#--}_says_that_stdout_is_full" "2 1" "$? $(wc -l <.err)"
  "$program" "$@" >&- 2>.err
  is "${1#--}_says_that_stdout_is_closed" "2 1" "$? $(wc -l <.err)"
}
full encode e4m3 1
full formats
full compare x.npy x.npy
full --help

# Options that would be ignored, values that are none, the right help.
refuses encode_refuses_random_bits_unread 'add --round stochastic' \
  encode e4m3 1.5 --random 7
for command in 'conform --level 0' 'fuzz encode' 'fuzz mutants' \
  'fuzz conventions' 'vectors generate hopper.wgmma.e4m3.e4m3.f32'; do
  # shellcheck disable=SC2086
  refuses "${command%% -*}_refuses_a_negative_seed" \
    "^zeroulp: --seed: '-1' is no whole number from 0" $command --seed -1
done
refuses an_empty_value_is_refused "^zeroulp: --format '': give a value" \
  quantize x.npy --format '' --out bad
refuses decay_needs_a_history '--decay requires --history' \
  quantize x.npy --group tensor --decay 0.5 --out bad
refuses a_tensor_has_no_layout 'mn_major: a whole tensor has one scale' \
  quantize x.npy --group tensor --layout mn_major --out bad
refuses the_help_is_that_of_the_subcommand 'see zeroulp fuzz encode --help' \
  fuzz encode --bogus
refuses conform_list_refuses_a_bad_level 'level 9' conform --list --level 9
run 0 quantize x.npy --out qm
for field in format group scale layout convention; do
  cp qm/meta.json meta.json
  sed -i "s/\"$field\": \"[^\"]*\"/\"$field\": \"nope\"/" qm/meta.json
  refuses "meta_json_of_an_unknown_$field" "^zeroulp: qm/meta.json: .*'nope'" \
    dequantize qm --out bad.npy
  mv meta.json qm/meta.json
done
sed -i 's/"zeroulp": 1/"zeroulp": 2/; s/"e4m3"/"e4m4t"/' qm/meta.json
refuses meta_json_of_another_version 'unknown version' \
  dequantize qm --out bad.npy
