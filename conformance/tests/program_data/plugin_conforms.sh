# Plug-ins that are honest conform, whole; those in Python, too. Which lie
# liar.so tells is in ZEROULP_LIE, of which operation in ZEROULP_CLAIM.

# The training path, by the same engine.
first_of() { sed -n 's/.*"'"$1"'": "\([^"]*\)".*/\1/p' .out | head -n 1; }
for target in swiglu adamw combine rms_norm_backward route attention; do
  export ZEROULP_CLAIM=$target
  lie none
  run_few fuzz $target --against "$liar" --cases 300 --json
  verdict "plugin_that_is_honest_in_$target" "$reason"
  digest=$(first_of digest)
  for i in 0 1; do
    run 0 fuzz $target --against "$liar" --cases 300 --shard $i/2 --block 40 \
      --journal $target$i.jsonl
  done
  holds "plugin_shard_of_${target}_is_not_the_whole" \
    grep -q '^held: no mismatch in this shard; of all 2 zeroulp fuzz merge' .out
  run_few fuzz merge ${target}0.jsonl ${target}1.jsonl --json
  is "plugin_has_shards_of_$target" "$digest" "$(first_of digest)"
  shows "plugin_conforms_in_$target" '^[1-9][0-9]* held, 0 failed, 0 skipped$' \
    conform --plugin "$liar"
  case $target in
    swiglu) caught wrong 'h\(0, 0\): core .*, 1 ulp' ;;
    adamw)
      caught far '(wrote|reached) [0-9]{7} bytes behind the end of copy'
      caught wrong '[mv]\(0, 0\): core'
      ;;
    combine) caught wrong 'sums\(0, 0\): core' ;;
    rms_norm_backward) caught wrong 'dx\(0, 0\): core' ;;
    route) caught wrong 'experts\(0, 0\): core' ;;
    attention) caught wrong '(largest|inverse)\([0-9]+, 0\): core' ;;
  esac
  run 1 conform --plugin "$liar" --only Claim
  holds "plugin_that_does_not_conform_in_$target" \
    grep -q "replay  *zeroulp fuzz $target --against .* --replay 2/" .out
  [ $target != adamw ] || holds plugin_that_does_not_conform_is_named_in_adamw \
    grep -q 'likely .*mutant:training.adamw_next_bits' .out
  refuses "plugin_that_claims_$target" 'claims nothing of quantize' \
    fuzz quantize --against "$liar"
done
unset ZEROULP_CLAIM

# conform --plugin and identify plugin.
lie none
shows plugin_conforms '^1 held, 0 failed, 0 skipped$' conform --plugin "$liar"
shows plugin_conforms_in_json '"implementation": "liar"' \
  conform --plugin "$liar" --json
run 1 conform --plugin "$wrong" --out plugged
is plugin_that_does_not_conform '' "$reason"
holds plugin_that_does_not_conform_is_shrunk grep -q ' x  *1x2 ' .out
holds plugin_that_does_not_conform_is_named \
  grep -q 'likely .*mutant:quantizer.reciprocal_for_division' .out
holds plugin_that_does_not_conform_can_be_replayed \
  grep -q 'replay  *zeroulp fuzz quantize --against .* --replay 2/' .out
holds plugin_command_is_repeated grep -q -- '--plugin .*wrong.so --level 0' .out
holds plugin_report_is_written test -s plugged/conform.xml
first_on_its_page plugin_page_has_verdicts_first plugged/conform.html \
  'badge bad">FAILED</span></td><td><a href="#check-0">Claim0[.]quantize[.]vllm'
# Where it differs, and in which bits.
holds plugin_page_shows_the_failure_as_a_map grep -Eq \
  'aria-label="Map of [0-9]+ x [0-9]+ elements: another value: [1-9]' \
  plugged/conform.html
holds plugin_page_shows_the_bits_that_differ grep -q \
  '>plug-in</th>.*<td class="\(begins \)\?differs">[01]</td>' \
  plugged/conform.html
lie crash
run 1 conform --plugin "$liar"
holds plugin_that_crashes_does_not_conform grep -q 'died of signal 11' .out
lie nothing
shows plugin_that_claims_nothing_is_identified '^named: vllm$' \
  conform --plugin "$liar"
shows plugin_that_claims_nothing_is_held_to_that \
  'Claim0.quantize .* sampled' conform --plugin "$liar"
few plugin_is_identified_before_it_is_held 'identified as vllm' \
  fuzz quantize --against "$liar" --cases 200
shows plugin_is_identified '^named: vllm$' identify plugin "$liar"
shows plugin_is_identified_in_json '"exact": true' identify plugin "$liar" \
  --json
# AddressSanitizer's way to throw does not lead out of a library that the
# program loads: there the engine refuses nothing.
conformed="Swiglu Adamw Combined QuantizedMatrices Dequantized TransposedW \
  RmsNormGradients Router AttentionForward AttentionBackward"
if grep -q __asan_init "$program"; then
  conformed="Swiglu Adamw Combined Dequantized TransposedW RmsNormGradients"
fi
# Claims of other names for the same recipe are asked each.
claims=.gemm.deepgemm
! level 2 || claims=.gemm
shows plugin_engine_is_asked_under_each_claim \
  '^[1-9][0-9]* held, 0 failed, 0 skipped$' \
  conform --plugin "$engine" --only $claims
for only in $conformed; do
  shows "plugin_engine_conforms_$only" "$only.* sampled" \
    conform --plugin "$engine" --only "$only"
done
refuses plugin_with_gpu 'excludes' conform --plugin "$liar" --gpu
refuses plugin_that_is_none 'use LIB.so' conform --plugin core
refuses plugin_without_a_file 'names no file: use python:FILE.py' \
  conform --plugin python:
refuses plugin_that_cannot_be_identified 'no such file' identify plugin x.so
unset ZEROULP_LIE

# Plug-ins in Python.
examples=$here/../../tools/examples
for python in python3 /usr/bin/python3 none; do
  "$python" -c 'import numpy' 2>/dev/null && break
done
if [ "$python" = none ]; then
  echo "ok plugin_in_python # SKIP no python3 with NumPy here"
else
  export ZEROULP_PYTHON=$python
  shows plugin_in_python '^2 held, 0 failed, 0 skipped$' \
    conform --plugin "python:$examples/plugin_numpy.py" --only 0.quantize
  shows plugin_in_python_is_identified '^named: vllm$' \
    identify plugin "python:$examples/plugin_numpy.py"
  cat >broken.py <<END
import zeroulp_plugin

@zeroulp_plugin.claim("gemm", "unpromoted")
def gemm(r):
    raise KeyError("sorry")

zeroulp_plugin.serve("broken")
END
  run 1 fuzz gemm --against python:broken.py
  holds plugin_in_python_that_raises grep -q "KeyError: 'sorry'" .out
  sed -i 's/raise.*/import ctypes; ctypes.memset(r.d.ctypes.data + 2**23, 1, 1)/' \
    broken.py
  token=$(sed -n 's/.* --replay \(.*\)$/\1/p' .out)
  run 1 fuzz gemm --against python:broken.py --replay "${token:-none}"
  holds plugin_in_python_that_writes_far grep -q 'died of signal 11' .out
  sed -i 's/^    import.*/    raise ValueError("one\\n\\x1btwo")/' broken.py
  run 1 fuzz gemm --against python:broken.py
  holds plugin_in_python_that_raises_lines grep -q 'ValueError: one  two$' .out
  # zeroulp_plugin.py, from another folder than its own; a user's comes first.
  cp "$examples/plugin_numpy.py" far_away.py
  shows plugin_in_python_lies_elsewhere '^named: vllm$' \
    identify plugin python:far_away.py
  echo 'import zeroulp_plugin as z; raise ValueError(z.__file__)' >where.py
  mkdir own && echo >own/zeroulp_plugin.py
  PYTHONPATH=$work/own
  export PYTHONPATH
  refuses plugin_in_python_of_the_users_own "ValueError: $work/own/zeroulp_" \
    identify plugin python:where.py
  unset PYTHONPATH
  echo 'raise ValueError("at once")' >broken.py
  refuses plugin_in_python_that_ends 'ValueError: at once' \
    fuzz gemm --against python:broken.py
  for line in 'import zeroulp_plugin' 'print("all well")'; do
    echo "$line" >broken.py
    refuses "plugin_in_python_that_ends_after_its_${line%%[ (]*}" \
      'status 0.*: a plug-in in Python ends with zeroulp_plugin.serve' \
      conform --plugin python:broken.py
  done
fi
