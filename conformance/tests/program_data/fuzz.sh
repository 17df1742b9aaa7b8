# fuzz: SPEC has no clause for it; issue-level promises of fuzz/README.md.

run 0 fuzz encode --cases 200
is fuzz_holds_core_against_oracle '' "$reason"
holds fuzz_says_so grep -q '^held: no mismatch' .out
digest=$(sed -n 's/.*digest \([0-9a-f]\{16\}\)$/\1/p' .out)
run 0 fuzz encode --cases 200 --threads 1
holds fuzz_digest_without_threads grep -q "digest $digest" .out
run 0 fuzz encode --cases 200 --json
holds fuzz_json_has_the_digest grep -q "\"digest\": \"$digest\"" .out
run 0 fuzz encode --cases 200 --seed 2
is fuzz_other_seed_other_digest '' "$(grep "digest $digest" .out)"
shows fuzz_prints_bins 'coverage: [0-9]+ of [0-9]+ bins' \
  fuzz step --cases 50 --bins
shows fuzz_engine '^held' fuzz gemm --cases 100 --against engine

for target in encode decode arith step quantize pack retile gemm swiglu \
  adamw dispatch combine rms_norm rms_norm_backward attention route; do
  run 0 fuzz $target --cases 20
  is "fuzz_${target}_holds" '' "$reason"
  run 0 fuzz $target --help
  is "fuzz_${target}_has_help" '' "$reason"
done

run 1 fuzz quantize --against convention:vllm --json
is fuzz_finds_another_convention '' "$reason"
token=$(sed -n 's/.*"token": "\(.*\)",/\1/p' .out | head -n 1)
run 1 fuzz quantize --against convention:vllm --replay "$token"
is fuzz_replays_a_token '' "$reason"
holds fuzz_replay_shows_ulps grep -Eq 'core .*, convention:vllm .*' .out
holds fuzz_replay_names_a_clause grep -q 'SPEC *Q' .out
run 0 fuzz quantize --against core --replay "$token"
is fuzz_replay_held '' "$reason"
run 1 fuzz step --against mutant:step.c_last
is fuzz_finds_a_mutant '' "$reason"
holds fuzz_names_the_cause grep -q 'likely *as if c were added last' .out
holds fuzz_shows_the_replay_command \
  grep -q 'zeroulp fuzz step --against mutant:step.c_last --replay 2/step/' .out
shows fuzz_fixes_settings '^held' fuzz quantize --cases 50 --to e5m6 \
  --from bf16 --convention deepseek_v3 --group 1x32 --scale pow2
shows fuzz_fixes_a_recipe '^held' fuzz gemm --cases 50 --recipe deepgemm.1d2d
shows fuzz_shard '^held' fuzz pack --cases 20 --shard 3/7
shows fuzz_seconds '^held' fuzz decode --seconds 0.2
shows fuzz_profile '^held' fuzz decode --cases 20 --profile mixed

refuses fuzz_an_unknown_target 'fuzz' fuzz nonsense
refuses fuzz_without_a_target 'fuzz --help' fuzz
refuses fuzz_an_unknown_profile 'unknown profile .x.' fuzz encode --profile x
refuses fuzz_an_unknown_opponent 'unknown opponent' fuzz encode --against x
refuses fuzz_an_unknown_mutant 'unknown mutant' fuzz encode --against mutant:x
refuses fuzz_a_mutant_of_another_target 'nothing of its own for encode' \
  fuzz encode --against mutant:step.c_last
refuses fuzz_a_bad_setting 'to: unknown format' fuzz encode --to e9
refuses fuzz_settings_without_a_case 'no case' fuzz quantize --to fp64
refuses fuzz_a_bad_shard 'I/N' fuzz encode --shard 7/7
refuses fuzz_another_shard 'I/N' fuzz encode --shard -1/2
refuses fuzz_a_token_of_another_target 'this token is of quantize' \
  fuzz encode --replay "$token"
refuses fuzz_an_empty_token 'version' fuzz encode --replay x
refuses fuzz_a_token_of_a_later_spec 'version 3 of the SPEC, this program of 2' \
  fuzz quantize --replay "3${token#2}"
refuses fuzz_a_cut_token 'replay token' \
  fuzz quantize --replay "${token%.*}"
refuses fuzz_a_token_without_its_end 'where end should' fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.7f
refuses fuzz_a_token_cut_in_its_end 'where end should' fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.7f/en
refuses fuzz_a_token_that_goes_on 'where end should' fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.7f/end/
refuses fuzz_a_dot_too_many 'x ends in a dot' fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.7f./end
refuses fuzz_a_token_cut_in_its_target 'replay token: unknown target' \
  fuzz decode --replay 2/dec
refuses fuzz_a_code_repeated_without_a_count "x: a count ''" fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.7fr/end
refuses fuzz_a_setting_too_many "'' after the last setting" fuzz decode \
  --replay 2/decode/from=e4m3,/x=1x1.7f/end
refuses fuzz_a_token_of_version_1 'begin with 2/' fuzz decode \
  --replay 1/decode/from=e4m3/x=1x1.7f
refuses fuzz_a_format_that_outputs_lack 'out_to: no codes with scales' \
  fuzz swiglu --out-to ue8m0
refuses fuzz_a_group_that_dispatch_lacks 'group is 1xC, not 2x128' \
  fuzz dispatch --group 2x128
for target in quantize swiglu rms_norm dispatch; do
  shows "fuzz_${target}_by_whole_rows" '^held' fuzz $target --group 1x0 \
    --cases 50
done
refuses fuzz_a_format_that_weights_lack 'weight is fp32, bf16 or fp16' \
  fuzz rms_norm --weight e4m3
refuses fuzz_a_place_that_rows_lack 'place is dense or padded' \
  fuzz route --place spread
refuses fuzz_more_groups_kept_than_there_are 'kept is at most' \
  fuzz route --groups 2 --kept 3
shows fuzz_a_router_as_deepseek_v3 '^held' fuzz route --cases 50 --score sigmoid \
  --groups 8 --kept 4 --group-score top2_sum --normalized yes \
  --route-scale 40200000
refuses fuzz_a_token_with_wide_codes 'beyond' fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.fff/end
refuses fuzz_a_token_of_another_shape 'fewer codes' fuzz decode \
  --replay 2/decode/from=e4m3/x=9x9.1/end
shows fuzz_replays_by_hand 'same bits' fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.7f/end
refuses fuzz_an_empty_replay '^zeroulp: --replay .*: give a value' \
  fuzz decode --replay ''
refuses fuzz_a_replay_of_other_settings 'excludes' fuzz decode \
  --replay 2/decode/from=e4m3/x=1x1.7f/end --from e5m2
refuses fuzz_no_time 'seconds' fuzz decode --seconds 0
refuses fuzz_a_time_that_is_none 'seconds' fuzz decode --seconds nan
refuses fuzz_a_time_without_end '--seconds 1e\+300: .*, up to 1e9' \
  fuzz decode --seconds 1e300
refuses fuzz_a_negative_seed 'seed' fuzz decode --seed -1
run 1 fuzz quantize --against convention:trt_llm --group 128x128 --json
holds fuzz_keeps_what_is_fixed grep -q 'group=128x128' .out
for threads in 1 3 5; do
  run 1 fuzz step --against mutant:step.c_last --threads $threads --json
  grep -E '"(digest|cases|elements)"' .out >"digest.$threads"
done
holds fuzz_of_a_mismatch_without_threads cmp digest.1 digest.3
holds fuzz_of_a_mismatch_without_threads_again cmp digest.1 digest.5
