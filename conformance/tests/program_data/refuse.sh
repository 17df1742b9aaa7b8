# Bad input and output that cannot be written: one line, exit status 2, no
# partial file.

refuses no_arguments_are_refused subcommand
refuses an_unknown_subcommand_is_named bogus bogus
refuses an_unknown_option_is_named --bogus --bogus
refuses a_subcommand_that_is_near_is_named \
  "^zeroulp: unknown argument qantize: did you mean 'quantize'[?] see zeroulp " \
  qantize
refuses an_option_that_is_near_is_named \
  "argument --conventoin=x: did you mean '--convention'[?] see zeroulp quantize" \
  quantize x.npy --conventoin=x
refuses a_convention_that_is_near_is_named \
  "unknown convention 'VLM': did you mean 'vllm'[?] use one of zeroulp, " \
  quantize x.npy --convention VLM --out bad
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

# Values that nest 70000 levels deep, wherever JSON is read.
python3 -c 'print("[" * 70000 + "]" * 70000)' >deep_lists.json
python3 -c 'print("{\"a\":" * 70000 + "1" + "}" * 70000)' >deep.json
mkdir deep
for file in deep_lists.json deep.json; do
  too_deep="is JSON nested deeper than 64 levels"
  cp $file deep/meta.json
  cp $file deep/loss.json
  refuses "dequantize_refuses_$file" "^zeroulp: deep/meta.json: $too_deep" \
    dequantize deep --out bad.npy
  refuses "measure_refuses_${file}_as_loss" \
    "^zeroulp: deep/loss.json: $too_deep: remove it" \
    study --question interval --with m=32 n=32 --out deep
  refuses "measure_refuses_${file}_as_throughput" "^zeroulp: $file: $too_deep" \
    study --question interval --throughput $file --out bad
  refuses "fuzz_merge_refuses_$file" "^zeroulp: $file: line 1: $too_deep" \
    fuzz merge $file
  refuses "fuzz_goes_not_on_with_$file" "^zeroulp: $file: line 1: $too_deep" \
    fuzz encode --journal $file
done

# Pipes and folders in the place of files: nobody waits for them.
mkfifo pipe
mkdir folder
for odd in pipe folder; do
  this_is="^zeroulp: $odd: this is"
  refuses "vectors_check_refuses_a_$odd" "$this_is" vectors check $odd
  refuses "fuzz_merge_refuses_a_$odd" "$this_is" fuzz merge $odd
  refuses "compare_refuses_a_$odd" "$this_is" compare x.npy $odd
  refuses "quantize_refuses_a_$odd" "$this_is" quantize $odd --out bad
  refuses "quantize_refuses_a_${odd}_as_history" "$this_is" \
    quantize x.npy --group tensor --history $odd --out bad
  refuses "gemm_refuses_a_${odd}_as_c" "$this_is" \
    gemm qx qw --c $odd --out bad.npy
  refuses "identify_refuses_a_$odd" "$this_is" identify quantizer $odd \
    --codes qx/codes.npy --scales qx/scales.npy
  refuses "measure_refuses_a_${odd}_as_throughput" "$this_is" \
    study --question interval --throughput $odd --out bad
  refuses "measure_refuses_a_${odd}_as_input" "$this_is" \
    measure --a $odd --b x.npy --out bad
  refuses "fuzz_refuses_a_${odd}_as_journal" "^zeroulp: $odd: .*(is no|Is a)" \
    fuzz encode --cases 10 --journal $odd
  for piece in meta.json codes.npy scales.npy; do
    rm -rf qodd
    cp -r qx qodd
    rm qodd/$piece
    cp -r $odd qodd/$piece
    refuses "dequantize_refuses_a_${odd}_as_$piece" \
      "^zeroulp: qodd/$piece: this is" dequantize qodd --out bad.npy
  done
done
# taken NAME ARGUMENT...: what stands where NAME is to be written, in folder
# --out, is no file. Said at once.
taken() {
  local name=$1 odd
  shift
  for odd in pipe folder; do
    rm -rf odd
    mkdir odd
    cp -r $odd "odd/$name"
    refuses "${1}_refuses_a_${odd}_called_$name" \
      "^zeroulp: odd/$name: .*this is (a directory|not a regular file)" \
      "$@" --out odd
    is "${1}_leaves_the_${odd}_called_$name" "$name" "$(ls -A odd)"
  done
}
for name in codes.npy scales.npy meta.json; do
  taken $name quantize x.npy
  taken $name quantize x.npy --group tensor
done
for name in measure.csv measure.json measure.html; do taken $name measure; done
for name in study.csv study.json measure.html interval.svg loss.json; do
  taken $name study --question interval --with m=32 n=32
done
for name in gap.csv gradients.csv forks.csv outliers.csv loss.json; do
  taken $name study --loss
done
for name in conform.json conform.csv conform.xml conform.html; do
  taken $name conform --level 3
done
for name in conventions.csv conventions.html; do
  taken $name fuzz conventions --cases 1000000
done
for odd in pipe folder; do
  for command in "dequantize qx" "gemm qx qw" \
    "vectors generate hopper.wgmma.e4m3.e4m3.f32 --count 1000000"; do
    refuses "${command%% *}_refuses_to_write_to_a_$odd" \
      "^zeroulp: .*$odd: .*this is not a regular file" $command --out $odd
  done
  refuses "conform_refuses_to_record_to_a_$odd" \
    "^zeroulp: $odd: .*not a regular file" conform --level 3 --record $odd
done

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
run 0 quantize x.npy --out qm
npy write t2.npy '<f4' 2x2 2
npy write t3.npy '<f4' 2x2 3
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
full fuzz encode --cases 100

# Neither has the one line that says so: the status is the same.
"$program" encode e4m3 1x 2>/dev/full
is a_bad_request_with_stderr_full 2 $?
"$program" encode e4m3 1x 2>&-
is a_bad_request_with_stderr_closed 2 $?
"$program" quantize x.npy --out qstreams <&- >&- 2>&-
is a_result_without_any_stream 2 $?
# No file that was opened took the place of a stream.
for piece in meta.json codes.npy scales.npy; do
  holds "without_streams_${piece%.*}_is_whole" cmp qm/$piece qstreams/$piece
done
SLURM_PROCID=0 SLURM_NTASKS=2 "$program" fuzz encode --cases 100 >.out 2>&-
is a_note_with_stderr_closed 0 $?
SLURM_PROCID=0 SLURM_NTASKS=2 "$program" fuzz encode --cases 100 >.out \
  2>/dev/full
is a_note_with_stderr_full 0 $?
"$program" compare t2.npy t3.npy >.out 2>&-
is a_mismatch_with_stderr_closed 1 $?

# What the runtime of OpenMP says against its variables is one line, and ours.
for value in -3 0 x 99999999999999999999 ''; do
  OMP_NUM_THREADS=$value refuses "a_number_of_threads_of_'$value'" \
    '^zeroulp: the environment: .*O(pen)?MP.*correct or unset' encode e4m3 1
done
# What one runtime refuses, another takes: without a word.
for pair in OMP_PROC_BIND=maybe OMP_PLACES={ OMP_STACKSIZE=x OMP_DYNAMIC=x \
  OMP_SCHEDULE=x OMP_WAIT_POLICY=x OMP_THREAD_LIMIT=-1 GOMP_SPINCOUNT=x \
  KMP_AFFINITY=x KMP_BLOCKTIME=x; do
  env "$pair" "$program" encode e4m3 1 >.out 2>.err
  answer="$? $(cat .out) $(sed 's/^\(zeroulp: the environment\): .*/\1/' .err)"
  case $answer in
    '0 38 ' | '2  zeroulp: the environment') reason= ;;
    *) reason="$pair: $answer" ;;
  esac
  verdict "a_bad_${pair%=*}_is_one_line_or_none" "$reason"
done
OMP_DISPLAY_ENV=true "$program" encode e4m3 1 >.out 2>.err
holds a_wanted_word_of_openmp_is_shown grep -q OMP_NUM_THREADS .err
is a_wanted_word_of_openmp_is_no_complaint 38 "$(cat .out)"

# Where no thread can be started beside the first, one does it all.
alone() {  # alone ARGUMENT...: the program, as a user who may have one process
  local as=
  [ "$(id -u)" -ne 0 ] ||
    as='setpriv --reuid=64999 --regid=64999 --clear-groups'
  (ulimit -u 1 && exec $as "$program" "$@")
}
mkdir -p open/alone
chmod -R 777 open
npy write many.npy '<f4' 300x512
run 0 quantize many.npy --scale pow2 --out many
run 0 gemm many many --recipe deepgemm.1d1d --out many.npy
if ! alone --version >.out 2>.err; then
  echo "# one process: $(head -n 1 .err)"
else
  # All checks take minutes of one thread under sanitizers.
  conform='conform --level 0'
  level 1 || conform+=' --only QuantizedMatrices'
  for command in 'fuzz gemm --cases 200' "$conform" \
    'identify quantizer x.npy --codes qm/codes.npy --scales qm/scales.npy' \
    'quantize x.npy --out open/alone/qm' \
    'gemm many many --recipe deepgemm.1d1d --out open/alone/many.npy' \
    'measure --m 64 --n 64 --k 128 --out open/alone/table' \
    'study --question interval --with m=32 n=32 --out open/alone/study' \
    'fuzz conventions --cases 100'; do
    # shellcheck disable=SC2086
    alone $command >.out 2>.err
    is "${command%% -*}_with_one_process" '0 ' "$? $(cat .err)"
  done
  if level 1; then  # two minutes of CPU under sanitizers; see loss.sh
    alone study --loss --loss-size smoke --out open/alone/loss >.out 2>.err
    is measure_loss_with_one_process '1 ' "$? $(cat .err)"
    alone study --loss --loss-size smoke --loss-threads 999 --loss-seed 2 \
      --out open/alone/loss999 >.out 2>.err
    is measure_loss_of_999_threads_with_one_process '1 ' "$? $(cat .err)"
  fi
  holds gemm_with_one_process_gives_the_same_bits \
    cmp many.npy open/alone/many.npy
  # A plug-in that gets no process is not wrong.
  for command in conform\ --plugin 'fuzz quantize --against'; do
    alone $command "$plugins/plugin_engine.so" >.out 2>.err
    is "${command%% *}_of_a_plugin_with_one_process" '2 1' "$? $(wc -l <.err)"
  done
fi

# Where memory runs out, at whatever moment: the result, or one line.
if ! grep -q __asan_init "$program"; then
  least=$(($(stat -c %s "$program") / 1024 + 5600))  # it is mapped itself
  for command in 'encode e4m3 1' 'fuzz gemm --cases 50' \
    'conform --level 0 --only RecordedSteps' \
    'gemm many many --recipe deepgemm.1d1d --out small.npy' \
    'study --question interval --with m=32 n=32 --out small'; do
    answers=
    for ((size = least; size < least + 25000; size += 1900)); do
      # shellcheck disable=SC2086
      (ulimit -v $size && exec "$program" $command) >.out 2>.err
      case "$? $(wc -l <.err)" in
        '0 0' | '2 1' | '127 '*) ;;  # 127: the loader had no room
        *) answers+="with $size KiB: $? $(cat .err) " ;;
      esac
    done
    is "${command%% -*}_of_a_small_address_space" '' "$answers"
  done
fi

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
sed -i 's/"spec": 2/"spec": 3/' qm/meta.json
refuses meta_json_of_a_later_spec 'version 3 of the SPEC, this program of 2' \
  dequantize qm --out bad.npy
sed -i 's/"zeroulp": 1/"zeroulp": 2/; s/"e4m3"/"e4m4t"/' qm/meta.json
refuses meta_json_of_another_version 'unknown version' \
  dequantize qm --out bad.npy
