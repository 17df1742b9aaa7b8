# encode and decode (SPEC F, R, C).

prints encode_example_of_its_help_works '7e bc 00 fe 7f' \
  encode e4m3 448 -1.5 0.0009765625 -inf nan
prints encode_takes_negative_and_special_values 'bc b0 fe 7f 80 ff 7e' \
  encode e4m3 -1.5 -.5 -inf nan -0 -nan inf
prints encode_takes_them_after_two_dashes 'bc b0 fe 7f 80 ff 7e' \
  encode e4m3 -- -1.5 -.5 -inf nan -0 -nan inf
prints encode_takes_values_on_both_sides_of_two_dashes '38 c4' \
  encode e4m3 1 -- -3
prints encode_takes_options_in_front_of_two_dashes '38 c4 bc' \
  encode e4m3 1 --round up -- -3 -1.5
refuses encode_takes_no_option_for_one_behind_two_dashes "value '--round'" \
  encode e4m3 1 -- --round up
prints decode_takes_codes_on_both_sides_of_two_dashes '1 -2' \
  decode e4m3 38 -- c0
# What torch, ml_dtypes and NumPy call formats.
prints encode_takes_a_name_of_torch 7e encode torch.float8_e4m3fn 448
prints encode_takes_a_name_of_ml_dtypes 7f encode ml_dtypes.float8_e8m0fnu 1
prints encode_takes_a_name_of_numpy 3c00 encode float16 1
prints encode_takes_a_name_with_fnuz 40 encode float8_e4m3fnuz 1
refuses encode_names_the_format_that_is_near \
  "'float8_e4m3f': did you mean 'float8_e4m3fn'[?] use one of e4m3, e5m2" \
  encode float8_e4m3f 1
# 17 is midway between 16 (even) and 18 in e4m3.
above=17.000000000000000000000000000000000000000000000000000000000001
below=16.999999999999999999999999999999999999999999999999999999999999
prints encode_rounds_decimal_text_once '58 59 58 d9' \
  encode e4m3 17 $above $below -$above
prints encode_rounds_once_from_long_integers '4b000002 4b000002' \
  encode fp32 8388609.5 8388609.50000000000000000000000000000000000000000001
prints encode_sees_digits_beyond_a_double_below_a_tie 4b800000 \
  encode fp32 16777216.9999999999999999999999999999999999999999
# 2^53 + 1 is midway between two FP64 numbers; so is 2^-1075 from 0.
prints encode_breaks_fp64_ties_away '4340000000000001' \
  encode fp64 9007199254740993 --round nearest_away
prints encode_breaks_fp64_ties_to_even '4340000000000000' \
  encode fp64 9007199254740993
prints encode_rounds_tiny_text_up '0000000000000001 8000000000000000' \
  encode fp64 1e-999999999999 -1e-400 --round up
prints encode_reads_hexadecimal_values '50 d0 58 59' \
  encode e4m3 0x1p3 -0x1p3 0x11 0x11.000000000000000000000000000000000000001
prints encode_takes_a_huge_hexadecimal_value_for_finite '7e 7f' \
  encode e4m3 0x1p5000 inf --overflow keep_specials
prints encode_takes_huge_values_for_infinite \
  '7ff0000000000000 7ff0000000000000 8000000000000000' \
  encode fp64 1e999 0x1p5000 -0x1p-5000 --overflow ocp_nonsaturate
prints encode_rounds_nearest_even '58 5a d8' encode e4m3 17 19 -17
prints encode_rounds_nearest_away '59 5a d9' \
  encode e4m3 17 19 -17 --round nearest_away
prints encode_rounds_toward_zero '58 d8' \
  encode e4m3 17.9 -17.9 --round toward_zero
prints encode_rounds_up '59 d8' encode e4m3 16.1 -17.9 --round up
prints encode_rounds_down '58 d9' encode e4m3 17.9 -16.1 --round down
prints encode_rounds_to_odd '59 d9 58' encode e4m3 16.1 -17.9 16 --round to_odd
# 17.5 is 3/4 of the gap above 16: away iff 0xc0000000 + r overflows 32 bits.
prints encode_rounds_stochastically_below 58 \
  encode e4m3 17.5 --round stochastic --random 0x3fffffff
prints encode_rounds_stochastically_above 59 \
  encode e4m3 17.5 --round stochastic --random 0x40000000
# R7 takes 32 random bits: none are made up.
refuses encode_asks_for_the_random_bits 'random bits it takes: --random BITS' \
  encode e4m3 17.5 --round stochastic
prints encode_saturates_by_default '7e fe 7e fe 7f ff' \
  encode e4m3 1e9 -1e9 inf -inf nan -nan
prints encode_ocp_nonsaturate '7f ff 7f 7f ff' \
  encode e4m3 1e9 -1e9 inf nan -nan --overflow ocp_nonsaturate
prints encode_ocp_nonsaturate_e5m2 '7c fc 7c 7e fe' \
  encode e5m2 1e9 -1e9 inf nan -nan --overflow ocp_nonsaturate
prints encode_cuda_satfinite_e5m2 '7b fb 7b 7f 7f' \
  encode e5m2 1e9 -1e9 inf nan -nan --overflow cuda_satfinite
prints encode_cuda_nosat_e5m2 '7c fc 7c 7f 7f' \
  encode e5m2 1e9 -1e9 inf nan -nan --overflow cuda_nosat
prints encode_keep_specials_e5m2 '7b fb 7c 7f 7f' \
  encode e5m2 1e9 -1e9 inf nan -nan --overflow keep_specials
while read -r format one minus_two; do
  wanted="$one $minus_two"
  prints "encode_${format}_prints_its_full_width" "$wanted" \
    encode "$format" 1 -2
done <<'EOF'
e4m3 38 c0
e5m2 3c c0
e5m6 3c0 c00
bf16 3f80 c000
fp16 3c00 c000
tf32 1fc00 60000
fp32 3f800000 c0000000
fp64 3ff0000000000000 c000000000000000
ue8m0 7f ff
e8m13 0fe000 300000
e2m1 2 c
e2m3 08 30
e3m2 0c 30
e4m3fnuz 40 c8
e5m2fnuz 40 c4
e6m9 3e00 c000
EOF
shows encode_json_has_bits_and_value '"bits": "3f800000"' encode --json fp32 1
prints decode_example_of_its_help_works '65024 9.5367431640625e-7 2' \
  decode e5m6 7bf 001 0x400
prints decode_prints_the_exact_decimal '-0.001953125 448 nan nan -0 0' \
  decode e4m3 81 7e 7f FF 80 0X00
prints decode_chooses_the_shorter_notation '1.40129846432481707092372958328991613128026194187651577175706828388979108268586060148663818836212158203125e-45 inf -inf 16777216 0.5' \
  decode fp32 1 7f800000 ff800000 4b800000 3f000000
prints decode_reads_scales '5.8774717541114375398436826861112283890933277838604376075437585313920862972736358642578125e-39 1 nan' \
  decode ue8m0 00 7f ff
shows decode_json_has_the_value '"value": "1.5"' decode e4m3 3c --json

refuses encode_refuses_text "value 'abc'" encode e4m3 abc
refuses encode_refuses_half_a_number "value '1e'" encode e4m3 1e
refuses encode_refuses_spaces "value ' 1'" encode e4m3 ' 1'
refuses encode_refuses_an_empty_value "value ''" encode e4m3 ''
refuses encode_refuses_an_unknown_format "unknown format 'e9'.*e4m3" encode e9 1
refuses encode_refuses_an_oversized_format 'eXmY' encode e12m3 1
# e4m3:b11:finite goes to 1.875 * 2^(15 - 11).
prints encode_takes_bias_and_specials '7f 48' encode e4m3:b11:finite 30 0.25
refuses encode_refuses_another_name_of_e4m3 'it is called e4m3' \
  encode e4m3:fn 1
prints encode_takes_an_ieee_e4m3 '77' encode e4m3:ieee 240
refuses encode_refuses_the_usual_bias 'it is called e6m9' encode e6m9:b31 1
refuses encode_refuses_unknown_specials "'inf' is no bias .b8. and none of" \
  encode e4m3:inf 1
refuses encode_refuses_a_bias_beyond_fp64 "beyond FP64's" encode e4m3:b2000 1
refuses encode_refuses_a_second_name "unknown format 'e04m3'" encode e04m3 1
refuses encode_refuses_an_unknown_rounding "unknown rounding '-1'" \
  encode e4m3 1 --round -1
refuses encode_refuses_an_unknown_policy 'unknown overflow policy' \
  encode e4m3 1 --overflow wrap
refuses encode_refuses_33_random_bits random \
  encode e4m3 1 --random 4294967296
refuses encode_refuses_no_value VALUE encode e4m3
refuses encode_names_the_unknown_option "'--foo'|--foo" encode e4m3 1 --foo
refuses decode_refuses_a_wide_code "code '100'.*2 hex" decode e4m3 100
refuses decode_refuses_a_negative_code "code '-1'" decode e4m3 -1
refuses decode_refuses_a_bare_prefix "code '0x'" decode e4m3 0x
refuses decode_refuses_letters "code 'xyz'" decode e5m6 xyz
