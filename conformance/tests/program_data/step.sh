# step (SPEC T).

wgmma=hopper.wgmma.e4m3.e4m3.f32
d() { run 0 step "$@" --json; echo "$out" | sed -n 's/^  "d": "\(.*\)",$/\1/p'; }

shows step_example_of_its_help_works 'D = 48440000 .200704.' \
  step $wgmma --a 7e38 --b 7e01 --c 3f800000
# 448 * 448: places 8 + 8 = 16, so the unit is 2^3; 1 * 2^-9 has place -6 and
# significand 0.125; c = 1 has place 0: both are cut to nothing.
shows step_prints_the_largest_place 'largest place 16: .* 2\^3$' \
  step $wgmma --a 7e38 --b 7e01 --c 3f800000
shows step_prints_what_c_loses '^c +0 +1 +0 +1$' \
  step $wgmma --a 7e38 --b 7e01 --c 3f800000
# 08 is 2^-6, 04 the subnormal 2^-7: products 2^-12, 2^-13, 2^-14 against 1.
is step_keeps_2_to_the_-13 3f800400 "$(d $wgmma --a 04 --b 08 --c 3f800000)"
is step_drops_2_to_the_-14 3f800000 "$(d $wgmma --a 04 --b 04 --c 3f800000)"
is step_with_12_bits_drops_2_to_the_-13 3f800000 \
  "$(d whatif.f12.e4m3.e4m3.f32 --a 04 --b 08 --c 3f800000)"
is step_with_14_bits_keeps_2_to_the_-14 3f800200 \
  "$(d whatif.f14.e4m3.e4m3.f32 --a 04 --b 04 --c 3f800000)"
is step_cuts_toward_zero 3f800000 "$(d $wgmma --a 84 --b 04 --c 3f800000)"
is sign_fill_cuts_toward_minus_infinity 3f7ff800 \
  "$(d whatif.sign_fill.e4m3.e4m3.f32 --a 84 --b 04 --c 3f800000)"
# 1.5 * 1.5 has place 0 on Hopper, but its highest bit has place 1.
is step_does_not_renormalise_products 39000000 \
  "$(d $wgmma --a 3cbc --b 3c3c --c 39000000)"
is top14_hangs_from_the_highest_bit 00000000 \
  "$(d whatif.top14.e4m3.e4m3.f32 --a 3cbc --b 3c3c --c 39000000)"
is step_aligns_c_with_the_products 00000000 \
  "$(d $wgmma --a 7efe --b 7e7e --c 3f800000)"
is c_last_adds_c_to_the_sum 3f800000 \
  "$(d whatif.c_last.e4m3.e4m3.f32 --a 7efe --b 7e7e --c 3f800000)"
is step_gives_plus_zero 00000000 "$(d $wgmma --a 80 --b 38 --c 80000000)"
is step_gives_one_nan 7fffffff "$(d $wgmma --a ff --b 38 --c 80000000)"
is step_gives_one_nan_in_fp16 7fff \
  "$(d hopper.wgmma.e4m3.e4m3.f16 --a ff --b 38 --c 0000)"
is step_gives_infinity_beyond_fp16 7c00 \
  "$(d hopper.wgmma.e4m3.e4m3.f16 --a 7e --b 7e)"
is step_truncates_c_alone 7f7ffc00 "$(d $wgmma --a 00 --b 00 --c 7f7fffff)"
# 16 times 1 * 1.5 by the scales 2 and 1.125 of a block, and c.
nvfp4=blackwell.tcgen05.mxf4nvf4.e2m1.e2m1.f32
sixteen() { printf "$1%.0s" {1..16}; }
is step_takes_block_scales 425a0000 "$(d $nvfp4 --a "$(sixteen 2)" \
  --b "$(sixteen 3)" --scale-a 40 --scale-b 39 --c 3f000000)"
shows step_prints_sums_of_products '^sum 0 of 16 products.scales +1 +54 +54 +0$' \
  step $nvfp4 --a "$(sixteen 2)" --b "$(sixteen 3)" --scale-a 40 --scale-b 39
# 2^-10 by 2^10: the place is that of 1, and c stays.
is step_moves_places_by_scales 40000000 \
  "$(d blackwell.tcgen05.mxf8f6f4.e4m3.e4m3.f32 --a 38 --b 38 --scale-a 75 \
    --scale-b 89 --c 3f800000)"
refuses step_refuses_missing_scales '0 hexadecimal digits' \
  step $nvfp4 --a 2 --b 3
refuses step_refuses_more_scales 'have 1 scales of 2 digits' \
  step $nvfp4 --a 2 --b 3 --scale-a 3838 --scale-b 38
refuses step_refuses_scales_of_other_paths 'unknown path with block scales' \
  step $wgmma --a 38 --b 38 --scale-a 7f --scale-b 7f
is step_ignores_13_bits_of_tf32 3f800000 \
  "$(d hopper.wgmma.tf32.tf32.f32 --a 3f801fff --b 3f801fff)"
is step_of_mixed_formats_works 3f800000 \
  "$(d hopper.wgmma.e4m3.e5m2.f32 --a 38 --b 3c)"
is sequential_rounds_one_fma 3f800000 \
  "$(d sequential.e4m3.e4m3.f32 --a 38 --b 38)"
is exact_takes_any_length 40400000 \
  "$(d exact.e4m3.e4m3.f32 --a 383838 --b 383838)"
# FP8 mma.sync of sm_100 is FP16's, whose last sum rounds; its FP8 unit, and
# sm_120, truncate (T16).
for path in blackwell.mma:3f800001 blackwell.tcgen05:3f800000 \
  rtx_blackwell.mma:3f800000; do
  is "step_of_${path%:*}_has_its_lowering" "${path#*:}" \
    "$(d ${path%:*}.e4m3.e4m3.f32 --a 38 --b 38 --c 33c00000)"
done
# Ampere's floor of -132: with 2^-134, a term of -2^-157 is cut, -2^-156 is not.
is step_of_ampere_cuts_below_its_floor 00008000 \
  "$(d ampere.mma.bf16.bf16.f32 --a 1e001880 --b 1e009800 --c 0)"
is step_of_ampere_keeps_what_its_floor_keeps 00007fff \
  "$(d ampere.mma.bf16.bf16.f32 --a 1e001880 --b 1e009880 --c 0)"
# Floors of FP16 results: 2^-25 is a tie between 0 and 2^-24, and what the unit of
# the floor keeps decides it: 2^-42 of Volta, 2^-44 of Ampere.
is step_of_volta_cuts_below_its_floor 0000 \
  "$(d volta.mma.fp16.fp16.f16 --a 0c000001 --b 08000020 --c 0)"
is step_of_volta_keeps_what_its_floor_keeps 0001 \
  "$(d volta.mma.fp16.fp16.f16 --a 0c000001 --b 08000040 --c 0)"
for gpu in turing ampere ada; do
  is "step_of_${gpu}_cuts_below_its_floor_of_fp16" 0000 \
    "$(d $gpu.mma.fp16.fp16.f16 --a 0c000001 --b 08000008 --c 0)"
  is "step_of_${gpu}_keeps_what_its_floor_of_fp16_keeps" 0001 \
    "$(d $gpu.mma.fp16.fp16.f16 --a 0c000001 --b 08000010 --c 0)"
done
# 1 + 2^-11 is a tie of FP16, and of 13 bits 2^-13 is the last.
is step_of_ada_to_fp16_keeps_13_bits 3c01 \
  "$(d ada.mma.e4m3.e4m3.f16 --a 0804 --b 1008 --c 3c00)"
is step_of_ada_to_fp16_keeps_no_more 3c00 \
  "$(d ada.mma.e4m3.e4m3.f16 --a 0804 --b 1004 --c 3c00)"
refuses step_of_ampere_takes_4_of_tf32 'at most 4' step \
  ampere.mma.tf32.tf32.f32 --a "$(printf '00000000%.0s' {1..5})" \
  --b "$(printf '00000000%.0s' {1..5})"
# 6 * 6 + 6 * 0.5 of FP4, a digit each; 28 * 6 of both kinds of FP6.
is step_takes_fp4 421c0000 \
  "$(d blackwell.tcgen05.e2m1.e2m1.f32 --a 77 --b 71 --c 0)"
is step_takes_fp6 5940 \
  "$(d rtx_blackwell.mma.e3m2.e2m3.f16 --a 1f --b 1c --c 0)"
refuses step_has_no_mma_zero_of_f16 'H200 refute it; theirs is hopper.mma.e4m3' \
  step hopper.mma_zero.e4m3.e4m3.f16 --a 38 --b 38
shows step_says_when_nothing_is_aligned 'NaN or infinite' \
  step $wgmma --a 7f --b 38
shows step_says_when_a_path_has_two_steps 'only the result' \
  step hopper.mma.e4m3.e4m3.f32 --a 38 --b 38

refuses step_refuses_an_unknown_path "unknown path 'x'" step x --a 38 --b 38
refuses step_refuses_35_bits "unknown path" \
  step whatif.f35.e4m3.e4m3.f32 --a 38 --b 38
refuses step_refuses_unequal_operands 'give as many' \
  step $wgmma --a 3838 --b 38
refuses step_refuses_half_an_operand 'hexadecimal digits' \
  step $wgmma --a 383 --b 383
refuses step_refuses_33_operands 'at most 32' step $wgmma \
  --a "$(printf '38%.0s' {1..33})" --b "$(printf '38%.0s' {1..33})"
refuses step_refuses_what_is_not_hexadecimal "'g8'" step $wgmma --a g8 --b 38
refuses step_refuses_a_wide_c '--c' step $wgmma --a 38 --b 38 --c 100000000
refuses step_refuses_no_operands '--b' step $wgmma --a 38

# probe: the path again, from its outputs alone.
shows probe_names_the_path \
  '^The same bits as hopper.wgmma.e4m3.e4m3.f32' probe $wgmma --steps 500
shows probe_says_how_many_bits_in_words \
  'keeps 13 fraction bits .* cut off .toward zero.\. The sum is rounded once, toward_zero, to 13' \
  probe $wgmma --steps 500
shows probe_shows_the_step_that_says_so \
  'fraction bits: 13$' probe $wgmma --steps 500
shows probe_sees_steps_within_an_instruction '2 steps of 16 products' \
  probe ada.mma.e4m3.e4m3.f32 --length 32 --steps 500
run 0 probe $wgmma --steps 500 --json
is probe_in_json_names_it_too '"hopper.wgmma.e4m3.e4m3.f32"' \
  "$(echo "$out" | tr -d ' \n' | sed 's/.*"paths":\[\([^],]*\).*/\1/')"
refuses probe_of_no_path 'unknown path' probe hopper.wgmma
refuses probe_of_no_products '^zeroulp: --length: use 1 to 128' \
  probe $wgmma --length 129
refuses probe_of_less_than_no_steps '^zeroulp: --steps: 0 or more' \
  probe $wgmma --steps -1
refuses probe_by_mma_of_a_gpu 'requires --gpu' probe $wgmma --mma
refuses probe_of_a_path_by_recipe '^zeroulp: --recipe: for a plug-in' \
  probe $wgmma --recipe unpromoted
