# vectors check, generate and record.

a=$(printf '38%.0s' {1..32})
h='# zeroulp-vectors 1 path=hopper.wgmma.e4m3.e4m3.f32 device=x driver=y'
h16='# zeroulp-vectors 1 path=hopper.wgmma.e4m3.e4m3.f16 device=x'
good="$a $a 00000000 42000000"
{ echo "$h"; echo "$good"; echo '# a comment'; echo "$h16"
  printf '%s %s 0000 5000\r\n' "$a" "$a"; } >v.txt
shows vectors_check_holds_several_sections 'f16 +1 +0' vectors check v.txt
gzip -k v.txt
cp v.txt.gz recorded.txt.gz
shows vectors_example_of_its_help_works 'f32 +1 +0' \
  vectors check recorded.txt.gz
shows vectors_check_takes_files 'f32 +2 +0' vectors check v.txt v.txt.gz
shows vectors_check_json '"mismatches": 0' vectors check v.txt --json
{ echo "$h"; echo "$good"; echo "$a $a 00000000 42000001"; } >wrong.txt
run 1 vectors check wrong.txt
is vectors_check_finds_a_wrong_record '' "$reason"
holds vectors_check_says_where grep -q 'wrong.txt, line 3: .*42000001' .out

bad() {  # bad NAME PATTERN LINE...
  local name=$1 pattern=$2
  shift 2
  printf '%s\n' "$@" >bad.txt
  refuses "vectors_check_refuses_$name" "$pattern" vectors check bad.txt
}
bad an_unknown_path 'line 1: unknown path' '# zeroulp-vectors 1 path=x' "$good"
bad a_later_spec 'version 3 of the SPEC: this program has 2' "$h spec=3" "$good"
bad another_version 'version' '# zeroulp-vectors 2 path=x' "$good"
bad no_path 'no path=' '# zeroulp-vectors 1 device=x' "$good"
bad no_header 'line 1: .*header' "$good"
bad three_fields '3 fields' "$h" "$a $a 00000000"
bad short_operands '1 operands' "$h" "38 38 00000000 3f800000"
bad a_step_and_a_half '48 operands in A.* takes 32, or several times' "$h" \
  "$a${a:32} $a${a:32} 00000000 42400000"
bad half_an_operand 'digits' "$h" "3 $a 00000000 42000000"
bad a_wide_d "D '" "$h" "$a $a 00000000 042000000x"
bad letters 'not hexadecimal' "$h" "${a/38/zz} $a 00000000 42000000"
bad no_records 'holds no records' "$h"
bad a_section_without_records 'line 2: the section of hopper.wgmma.e4m3.* holds' \
  "$h" "$h16" "$a $a 0000 5000"
bad a_last_section_without_records 'its section of .*f16 holds no records' \
  "$h" "$good" "$h16"
bad too_long_an_exact_sum 'up to 65536' \
  '# zeroulp-vectors 1 path=exact.e4m3.e4m3.f32' \
  "$(printf '38%.0s' {1..65537}) $(printf '38%.0s' {1..65537}) 00000000 0"
: >empty.txt
refuses vectors_check_refuses_an_empty_file 'no records' \
  vectors check empty.txt
printf '\0\0\n\0\377\376 \0\n' >garbage
refuses vectors_check_refuses_garbage 'garbage' vectors check garbage
head -c 40 v.txt.gz >cut.gz
refuses vectors_check_refuses_a_truncated_gz 'damaged' vectors check cut.gz
{ head -c 30 v.txt.gz; printf 'xxxx'; tail -c +35 v.txt.gz; } >broken.gz
refuses vectors_check_refuses_a_damaged_gz 'broken.gz' vectors check broken.gz
refuses vectors_check_refuses_a_missing_file 'nope.txt: cannot open: No such file' \
  vectors check nope.txt
refuses vectors_check_refuses_a_directory 'this is a directory' vectors check .
refuses vectors_needs_a_subcommand . vectors

# Two steps in a record: D of the first is c of the second (T9). Ada takes 16
# products. Beside 1 - 1 the first step cuts c = 2^-14 away, and the second adds
# 2^-14. One step of 32 would lose both; the other order would lose neither.
ada=ada.mma.e5m2.e5m2.f32
rest=$(printf '00%.0s' {1..14})
echo "# zeroulp-vectors 1 path=$ada device=x" >two.txt
echo "3cbc${rest}0400$rest 3c3c${rest}3c00$rest 38800000 38800000" >>two.txt
shows vectors_check_chains_the_steps_of_a_record "$ada +1 +0" \
  vectors check two.txt
sed 's/38800000$/39000000/' two.txt >swapped.txt
run 1 vectors check swapped.txt
is vectors_check_finds_a_wrong_chain '' "$reason"

# Steps that others recorded, one GPU and path a file, and what `paths` says of
# them. They are no part of the project.
if [ -n "${ZEROULP_PUBLIC_VECTORS:-}" ]; then
  for file in "$ZEROULP_PUBLIC_VECTORS"/*.txt.gz; do
    shows "public_vectors_${file##*/}" '^[a-z_]+[.].* +2500 +0 *$' \
      vectors check "$file"
  done
  run 0 vectors check "$ZEROULP_PUBLIC_VECTORS"/*.txt.gz --json
  cp .out public.json
  run 0 paths --json
  holds evidence_counts_the_public_vectors python3 - <<'END'
import json
held = {p["path"]: p["records"] for p in json.load(open("public.json"))}
said = {p["name"]: e["cases"] for p in json.load(open(".out"))
        for e in p["evidence"] if e["kind"] == "public_vectors"}
assert said == held, (said, held)
END
else
  echo 'ok public_vectors # SKIP ZEROULP_PUBLIC_VECTORS is not set'
fi

# What is generated is held by the oracle, whatever the path.
for path in hopper.wgmma.e4m3.e5m2.f32 hopper.mma.tf32.tf32.f32 \
  volta.mma.fp16.fp16.f16 turing.mma.fp16.fp16.f32 ampere.mma.tf32.tf32.f32 \
  ada.mma.e4m3.e5m2.f16 blackwell.mma.bf16.bf16.f32 \
  blackwell.tcgen05.e3m2.e2m1.f32 rtx_blackwell.mma.e2m3.e5m2.f16 \
  hopper.mma.e5m2.e5m2.f16 hopper.mma_zero.e4m3.e4m3.f32 \
  whatif.f20.e4m3.e4m3.f32 whatif.top14.e5m2.e5m2.f32 \
  sequential.fp32.fp32.f32 exact.bf16.bf16.f32; do
  run 0 vectors generate $path --count 40
  verdict "vectors_generate_$path" "$reason"
  cp .out made.txt
  shows "vectors_check_holds_what_generate_made_of_$path" "$path +40 +0" \
    vectors check made.txt
done
run 0 vectors generate hopper.wgmma.e4m3.e4m3.f32 --count 3000 --out a.txt.gz
is vectors_generate_prints_nothing_besides_its_file '' "$reason$out"
run 0 vectors generate hopper.wgmma.e4m3.e4m3.f32 --count 3000 --out b.txt.gz
holds vectors_generate_gives_the_same_bytes_again cmp a.txt.gz b.txt.gz
run 0 vectors generate hopper.wgmma.e4m3.e4m3.f32 --count 3000
gunzip -c a.txt.gz >a.txt
holds vectors_generate_prints_what_it_would_compress cmp a.txt .out
holds vectors_generate_says_how_it_was_made grep -qx '# zeroulp-vectors 1 '\
'path=hopper.wgmma.e4m3.e4m3.f32 device=none oracle=core spec=2 '\
'profile=mixed generator=1 seed=1 count=3000' a.txt
holds vectors_generate_says_how_wide_its_fields_are grep -qx \
  '# A: 32 operands of 8 bits (e4m3), 2 hex digits each, k ascending' a.txt
holds vectors_generate_counts_bins grep -qE '^# bins [0-9]{3} of [0-9]{3},' \
  a.txt
holds vectors_generate_counts_the_hits_of_a_bin grep -qx \
  '# 3000 path=hopper.wgmma.e4m3.e4m3.f32' a.txt
run 0 vectors generate hopper.wgmma.e4m3.e4m3.f32 --count 9 --profile shifts \
  --seed 2
grep -v '^#' .out >shifts.txt
grep -v '^#' a.txt | head -n 9 >mixed.txt
is vectors_generate_gives_as_many_as_asked 9 "$(wc -l <shifts.txt)"
holds vectors_generate_has_seeds_and_profiles test -n \
  "$(comm -3 <(sort shifts.txt) <(sort mixed.txt))"
prints vectors_example_of_generate_works '' vectors generate \
  hopper.wgmma.e4m3.e4m3.f32 --count 5000 --out steps.txt.gz
shows vectors_generate_makes_what_check_reads 'f32 +5000 +0' \
  vectors check steps.txt.gz
refuses vectors_generate_refuses_an_unknown_path 'unknown path' \
  vectors generate hopper.wgmma
refuses vectors_generate_refuses_an_unknown_profile "profile 'x'" \
  vectors generate hopper.mma.fp16.fp16.f32 --profile x
refuses vectors_generate_refuses_no_records 'count' \
  vectors generate hopper.mma.fp16.fp16.f32 --count 0
refuses vectors_generate_refuses_an_absent_directory 'nope' \
  vectors generate hopper.mma.fp16.fp16.f32 --out nope/a/../x.txt

# On a GPU a few records; else one line that says why there is none.
refuses vectors_record_asks_for_the_gpu '--gpu' vectors record --out silicon
run 0 vectors record --gpu --out silicon --count 2 --separators 1
if [ -z "$reason" ]; then
  holds vectors_record_writes_checksums sh -c \
    'cd silicon && sha256sum -c --quiet MANIFEST'
  shows vectors_check_holds_what_was_recorded ' 0$' \
    vectors check silicon/*.gz
else
  refuses vectors_record_says_why_not '^zeroulp: vectors record: ' \
    vectors record --gpu --out silicon --count 2 --separators 1
  holds vectors_record_leaves_nothing test ! -e silicon
fi
