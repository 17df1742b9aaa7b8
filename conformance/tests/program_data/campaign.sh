# fuzz campaigns: shards, journals that survive kill -9, their merge, MPI. No
# clause of SPEC: the promises of fuzz/README.md.

campaign="fuzz arith --cases 6001 --seed 3"
digest_in() {
  sed -n 's/.*"digest": "\([0-9a-f]\{16\}\)".*/\1/p' "$1" | head -n 1
}
run 0 $campaign --json
whole=$(digest_in .out)

# Shards, as launchers ask for them.
variables='OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE
  SLURM_PROCID SLURM_NTASKS GTEST_SHARD_INDEX GTEST_TOTAL_SHARDS'
# shellcheck disable=SC2086
unset $variables
refuses fuzz_of_an_empty_shard_says_so 'no case was run, so that nothing' \
  fuzz quantize --cases 3 --shard 0/8
run 0 $campaign --shard 1/3 --json
third=$(digest_in .out)
holds fuzz_json_has_the_shard grep -q '"by": "--shard"' .out
for pair in OMPI_COMM_WORLD_RANK,OMPI_COMM_WORLD_SIZE PMI_RANK,PMI_SIZE \
  SLURM_PROCID,SLURM_NTASKS GTEST_SHARD_INDEX,GTEST_TOTAL_SHARDS; do
  env "${pair%,*}=1" "${pair#*,}=3" "$program" $campaign --json >.out 2>.err
  is "fuzz_shard_of_${pair%,*}" "$third" "$(digest_in .out)"
  holds "fuzz_says_${pair%,*}" grep -q "shard 1/3, as ${pair%,*}, ${pair#*,}" \
    .err
  export "${pair%,*}=1"
  refuses "fuzz_without_${pair#*,}" "${pair#*,} is not" $campaign
  unset "${pair%,*}"
done
# mpirun within sbatch: the innermost counts.
export OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3
export SLURM_PROCID=0 SLURM_NTASKS=4
"$program" $campaign --json >.out 2>.err
is fuzz_shard_of_the_innermost_launcher "$third" "$(digest_in .out)"
holds fuzz_says_the_innermost_launcher \
  grep -q 'shard 1/3, as OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE say' .err
export OMPI_COMM_WORLD_SIZE=1
refuses fuzz_launcher_of_nonsense \
  'OMPI_COMM_WORLD_RANK=1 and OMPI_COMM_WORLD_SIZE=1 are no shard' $campaign
run 0 $campaign --shard 1/3 --json
is fuzz_shard_before_launchers "$third" "$(digest_in .out)"
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE SLURM_PROCID SLURM_NTASKS

# A journal, without interruption and with kills at random moments.
campaign="$campaign --block 100"
run 0 $campaign --journal whole.jsonl --json
holds fuzz_json_of_a_journal_has_both_sides \
  grep -q '"left": "core"' .out
is fuzz_journal_has_the_digest "$whole" "$(digest_in .out)"
is fuzz_journal_has_every_block 62 "$(wc -l <whole.jsonl)"
cp whole.jsonl again.jsonl
run 0 $campaign --journal whole.jsonl --json
is fuzz_journal_is_done "$whole" "$(digest_in .out)"
holds fuzz_journal_does_nothing_twice cmp whole.jsonl again.jsonl
kills=0
for ((round = 0; round < 60; ++round)); do
  "$program" $campaign --journal killed.jsonl >.out 2>.err &
  victim=$!
  sleep "0.0$((RANDOM % 80 + 10))"
  kill -9 $victim 2>/dev/null && kills=$((kills + 1))
  wait $victim 2>/dev/null && break
done
[ $kills -gt 2 ] || echo "# only $kills kills"
run 0 $campaign --journal killed.jsonl --json
is fuzz_journal_after_kills "$whole" "$(digest_in .out)"
holds fuzz_journal_of_kills_is_the_same cmp whole.jsonl killed.jsonl
size=$(stat -c %s whole.jsonl)
for cut in 1 40 "$((size - 200))" "$((size - 1))" "$size"; do
  cp whole.jsonl torn.jsonl
  truncate -s -"$cut" torn.jsonl
  run 0 $campaign --journal torn.jsonl
  holds "fuzz_journal_torn_by_$cut" cmp whole.jsonl torn.jsonl
done
run 0 $campaign --journal seconds.jsonl --seconds 0.05 --json
run 0 $campaign --journal seconds.jsonl --seconds 60 --json
is fuzz_journal_in_two_times "$whole" "$(digest_in .out)"

refuses fuzz_journal_of_another_campaign 'seed is 3, not 4: use another' \
  fuzz arith --cases 6001 --block 100 --seed 4 --journal whole.jsonl
echo 'a letter' >letter.txt
refuses fuzz_journal_that_is_none 'letter.txt: line 1: is no JSON' \
  $campaign --journal letter.txt
is fuzz_journal_leaves_other_files 'a letter' "$(cat letter.txt)"
refuses fuzz_journal_in_no_folder 'cannot be written' \
  $campaign --journal nowhere/x.jsonl

# sealed LINE: what comes in, with the digests that it should have from LINE on:
# SHA-256 of the digest before and the line without its own.
sealed() {
  python3 -c 'import hashlib, re, sys
end = re.compile(r",\"sha256\":\"([0-9a-f]{64})\"}$")
digest = ""
for number, line in enumerate(sys.stdin, 1):
    line = line.rstrip("\n")
    if number >= int(sys.argv[1]):
        content = end.sub("}", line)
        digest = hashlib.sha256((digest + content).encode()).hexdigest()
        line = f"{content[:-1]},\"sha256\":\"{digest}\"}}"
    else:
        digest = end.search(line).group(1)
    print(line)' "$1"
}
for line in 1 3 62; do
  sealed $line <whole.jsonl >seal.jsonl
  holds "fuzz_journal_has_the_digests_from_line_$line" cmp seal.jsonl whole.jsonl
done
# changed NAME LINE COMMAND...: what COMMAND makes of whole.jsonl is taken by
# nobody, and LINE is named.
changed() {
  local name=$1 line=$2
  shift 2
  "$@" whole.jsonl >changed.jsonl
  local way='cut the file in front of it and run its command again'
  [ "$line" != 1 ] || way='use another file'
  local why='its digest does not follow from the lines before it'
  refuses "fuzz_journal_$name" \
    "^zeroulp: changed.jsonl: line $line: $why: .*: $way" \
    $campaign --journal changed.jsonl
  refuses "fuzz_merge_of_a_journal_$name" \
    "^zeroulp: changed.jsonl: line $line: $why: .*: $way" \
    fuzz merge changed.jsonl
}
changed whose_digest_was_changed 3 sed '3s/"digest":"./"digest":"x/'
changed whose_number_was_changed 5 \
  sed '5s/"mismatches":0/"mismatches":1,"case":300,"token":"x"/'
changed whose_seal_was_cut_off 62 sed '62s/,"sha256":"[0-9a-f]*"}$/}/'
changed whose_last_byte_was_changed 4 sed '4s/}$/} /'
changed whose_opponent_was_changed 1 sed '1s/"right":"oracle"/"right":"engine"/'
changed without_a_line 7 sed 7d
changed without_its_first_record 2 sed 2d
changed with_a_line_twice 4 sed 3p
changed with_an_empty_line 6 sed '5s/$/\n/'
changed whose_lines_were_moved 8 sed -n '8{h;d};9{p;x};p'
# Sealed anew, an edited line no longer fits the next one.
resealed() {
  sed '9s/"elements":./"elements":9/; 9q' "$1" | sealed 9
  tail -n +10 "$1"
}
changed one_line_of_which_was_sealed_anew 10 resealed
# The line of another campaign's journal, of the same cases.
run 0 fuzz arith --cases 6001 --seed 4 --block 100 --journal seed4.jsonl
foreign() { head -n 4 "$1"; sed -n 5p seed4.jsonl; tail -n +6 "$1"; }
changed with_a_line_of_another 5 foreign
# No signature: all of them sealed anew are a journal, and another one.
sed '9s/"elements":[0-9]*/"elements":9/' whole.jsonl | sealed 9 >forged.jsonl
run 0 fuzz merge forged.jsonl
verdict fuzz_merge_of_a_forged_chain "$reason"
holds fuzz_journal_of_a_forged_chain_has_another_last_digest \
  bash -c '! cmp -s <(tail -n 1 whole.jsonl) <(tail -n 1 forged.jsonl)'

# Journals of version 2: each line has a checksum of its own, and the header no
# version of the SPEC. What is there goes on as it was begun.
old_version() {
  python3 -c 'import re, sys, zlib
for line in sys.stdin:
    content = re.sub(r",.sha256.:.[0-9a-f]{64}.}$", "}", line.rstrip("\n"))
    content = content.replace("\"zeroulp_journal\":3", "\"zeroulp_journal\":2")
    content = content.replace("\"spec\":2,", "")
    print(f"{content[:-1]},\"crc32\":\"{zlib.crc32(content.encode()):08x}\"}}")'
}
old_version <whole.jsonl >whole_old.jsonl
for lines in 1 30 62; do
  head -n $lines whole_old.jsonl >old.jsonl
  "$program" $campaign --journal old.jsonl --json >.out 2>.err
  is "fuzz_journal_of_version_2_goes_on_from_line_$lines" "0 $whole" \
    "$? $(digest_in .out)"
  holds "fuzz_journal_of_version_2_is_the_same_from_line_$lines" \
    cmp old.jsonl whole_old.jsonl
  is "fuzz_says_that_a_journal_of_${lines}_lines_is_of_version_2" \
    'zeroulp: old.jsonl: a journal of version 2: its lines have checksums, and are not chained' \
    "$(cat .err)"
done
"$program" fuzz merge old.jsonl >.out 2>.err
is fuzz_merge_of_version_2 "0 1" "$? $(grep -c 'old.jsonl: .* not chained' .err)"
sed '3s/"digest":"./"digest":"x/' whole_old.jsonl >old.jsonl
refuses fuzz_journal_of_version_2_that_was_changed \
  'old.jsonl: line 3: its checksum does not fit: .*: cut the file in front' \
  $campaign --journal old.jsonl
sed '1s/"zeroulp_journal":3/"zeroulp_journal":1/' whole.jsonl >old.jsonl
refuses fuzz_journal_of_version_1 \
  'old.jsonl: line 1: is a journal of version 1: .* reads 2 to 3: use another' \
  $campaign --journal old.jsonl

# spoiled LINE FIELD VALUE PATTERN: a field that is something else, sealed.
spoiled() {
  local value='\("[^"]*"\|\[[^]]*\]\|{[^}]*}\|[0-9]*\)'
  sed "$1s/\"$2\":$value/\"$2\":$3/" whole.jsonl | sealed "$1" >spoiled.jsonl
  refuses "fuzz_journal_whose_$2_is_$3" "^zeroulp: spoiled.jsonl: line $1: $4" \
    $campaign --journal spoiled.jsonl
}
spoiled 1 spec 3 'spec is 3, not a version of the SPEC up to 2: use another'
for field in first cases elements mismatches; do
  spoiled 3 $field '"12"' "$field is .12., not a whole number: cut the file"
done
spoiled 3 elements null 'elements is null, not a whole number'
spoiled 3 elements -1 'elements is -1, not a whole number'
spoiled 3 elements 1.5 'elements is 1.5, not a whole number'
spoiled 3 elements 18446744073709551616 'elements is 1.8.*e\+19, not a whole'
spoiled 3 elements '{}' 'elements is \{\}, not a whole number'
spoiled 3 digest 7 'digest is 7, not a text'
spoiled 3 digest '"x"' 'digest is .x., not 16 hexadecimal digits'
spoiled 3 cases 0 'cases is 0, not a number of cases'
spoiled 3 bins 7 'bins is 7, not a list'
spoiled 3 bins '[1,null]' 'bins\[1\] is null, not a whole number'
spoiled 3 mismatches 1 'case is absent'
spoiled 3 mismatches '1,"case":9' 'case is 9, not one of its cases'
spoiled 3 mismatches '1,"case":100' 'token is absent'
spoiled 3 mismatches '1,"case":100,"differing":[]' 'differing is \[\], not what'
spoiled 3 mismatches '1,"case":100,"differing":[7]' 'differing is 7, not a list'
differing='1,"case":100,"differing":[{"in":"nan","cases":1,"elements":1'
spoiled 3 mismatches "$differing}]" 'case is absent'
spoiled 3 mismatches "$differing,\"case\":9}]" 'case is 9, not one of its cases'
spoiled 3 mismatches "$differing,\"case\":100,\"token\":7}]" \
  'token is 7, not a text'
spoiled 3 mismatches '1,"case":100,"differing":[{"in":"x"}]' 'in is "x", not a'
spoiled 3 mismatches '0,"claims":[7]' 'claims is 7, not a list of objects'
spoiled 3 mismatches '0,"claims":[{"answered":1,"refused":0,"sizes":[7]}]' \
  'sizes is \[7\], not 3 of them'
claims='0,"claims":[{"answered":1,"refused":0,"sizes":[[1,1,0],[1,1,0],[1,1,0]]'
spoiled 3 mismatches "$claims,\"asked\":[-1]}]" 'asked\[0\] is -1, not a whole'
spoiled 3 mismatches "$claims,\"asked\":[99999999]}]" 'asked is .*, not indices'
for field in seed cases block first count generator; do
  spoiled 1 $field '"3"' "$field is .3., not a whole number: use another file"
done
{ head -n 2 whole.jsonl
  python3 -c 'print("{\"first\":" * 70000 + "1" + "}" * 70000)'
} | sealed 3 >deep.jsonl
refuses fuzz_journal_with_a_deep_line \
  '^zeroulp: deep.jsonl: line 3: is JSON nested deeper than 64 levels' \
  $campaign --journal deep.jsonl
spoiled 1 target 1 'target is 1, not a text'
spoiled 1 target '"x"' "unknown target 'x'"
spoiled 1 shard null 'shard is null, not an object'
spoiled 1 shard '{"index":"0"}' 'index is .0., not a whole number'
spoiled 1 options '{"from":1}' 'options.from is 1, not a text'
spoiled 1 first 6002 'first is 6002, not one of the cases'
spoiled 1 zeroulp_journal '"2"' 'is a journal of version "2": this program reads 2 to 3'
refuses fuzz_merge_of_a_spoiled_journal 'spoiled.jsonl: line 1: is a journal' \
  fuzz merge spoiled.jsonl

sed 3p whole.jsonl | sealed 4 >twice.jsonl
refuses fuzz_journal_with_a_line_twice 'done twice' fuzz merge twice.jsonl

# One writer a journal: whoever comes second is told whom to wait for.
flock -o whole.jsonl sleep 20 &
holder=$!
while flock -n whole.jsonl true; do sleep 0.02; done
who='another process'
! grep -q "FLOCK .* $holder " /proc/locks || who="process $holder"
refuses fuzz_journal_of_two_writers \
  "^zeroulp: whole.jsonl: $who writes to it: wait for its end" \
  $campaign --journal whole.jsonl
kill $holder
wait $holder 2>/dev/null
"$program" fuzz arith --cases 100000000 --journal long.jsonl >.out 2>.err &
writer=$!
until [ -s long.jsonl ]; do sleep 0.02; done
refuses fuzz_journal_that_the_program_writes \
  '^zeroulp: long.jsonl: .*process.* writes to it: wait for its end' \
  fuzz arith --cases 100000000 --journal long.jsonl
kill -9 $writer
wait $writer 2>/dev/null
run 0 fuzz arith --cases 100000000 --journal long.jsonl --seconds 1
verdict fuzz_journal_whose_writer_was_killed_is_free "$reason"

# Shards and their merge.
for i in 0 1 2; do run 0 $campaign --shard $i/3 --journal shard$i.jsonl; done
cp shard1.jsonl begun.jsonl
# shellcheck disable=SC2086
holds fuzz_journal_goes_on_under_another_launcher \
  env SLURM_PROCID=1 SLURM_NTASKS=3 "$program" $campaign --journal begun.jsonl
run 0 fuzz merge shard2.jsonl shard0.jsonl shard1.jsonl --json
is fuzz_merge_holds '' "$reason"
is fuzz_merge_has_the_digest "$whole" "$(digest_in .out)"
shows fuzz_merge_says_so '^held: no mismatch' \
  fuzz merge shard0.jsonl shard1.jsonl shard2.jsonl
refuses fuzz_merge_without_a_shard \
  'cases 2000 to 3999 are missing: no file is to have them' \
  fuzz merge shard0.jsonl shard2.jsonl
head -n 8 shard1.jsonl >short.jsonl
refuses fuzz_merge_of_an_unfinished_shard \
  'cases 2700 to 3999 are missing: short.jsonl is to have them' \
  fuzz merge shard0.jsonl short.jsonl shard2.jsonl
refuses fuzz_merge_of_a_file_twice 'shard1.jsonl: is given twice' \
  fuzz merge shard0.jsonl shard1.jsonl shard2.jsonl ./shard1.jsonl
cp shard1.jsonl machine2.jsonl
refuses fuzz_merge_of_a_shard_twice \
  'cases 2000 to 2099 are in shard1.jsonl and in machine2.jsonl' \
  fuzz merge shard0.jsonl shard1.jsonl shard2.jsonl machine2.jsonl
shows fuzz_merge_of_replicas '^held' fuzz merge --replicated \
  shard0.jsonl shard1.jsonl shard2.jsonl machine2.jsonl
holds fuzz_merge_says_what_was_compared grep -q \
  '^2000 cases are in two files' .out
refuses fuzz_merge_that_compares_nothing 'nothing was compared' \
  fuzz merge --replicated shard0.jsonl shard1.jsonl shard2.jsonl
run 0 fuzz arith --cases 6001 --seed 3 --block 70 --journal seventy.jsonl
refuses fuzz_merge_of_other_blocks 'cannot be compared' \
  fuzz merge --replicated whole.jsonl seventy.jsonl
sed '4s/"digest":"./"digest":"x/; 4s/"x/"0/
  4s/"elements":\([0-9]*\)/"elements":1\1/' shard1.jsonl |
  sealed 4 >machine2.jsonl
run 1 fuzz merge --replicated shard0.jsonl shard1.jsonl shard2.jsonl \
  machine2.jsonl
is fuzz_merge_of_machines_that_disagree '' "$reason"
holds fuzz_merge_says_who_disagrees grep -q \
  'DISAGREE on cases 2200 to 2299: shard1.jsonl has .*, machine2.jsonl' .out
run 0 fuzz arith --cases 6001 --seed 4 --shard 1/3 --journal other.jsonl
refuses fuzz_merge_of_other_campaigns 'another campaign.*seed is 4, not 3' \
  fuzz merge shard0.jsonl other.jsonl shard2.jsonl
refuses fuzz_merge_of_nothing 'FILE' fuzz merge
refuses fuzz_merge_of_no_journal 'nowhere.jsonl: cannot open: No such file' \
  fuzz merge nowhere.jsonl

# What differs comes with its token, one a block, through the merge.
wrong="fuzz combine --against mutant:training.combine_in_reverse --cases 300"
for i in 0 1; do
  run 1 $wrong --block 50 --shard $i/2 --journal wrong$i.jsonl
done
run 1 fuzz merge wrong0.jsonl wrong1.jsonl
is fuzz_merge_of_mismatches '' "$reason"
replay=$(sed -n 's/^ *zeroulp \(fuzz combine .*--replay .*\)/\1/p' .out |
  tail -n 1)
# shellcheck disable=SC2086
run 1 $replay
is fuzz_merge_names_a_replay '' "$reason"
run 1 $wrong --block 50 --journal wrong.jsonl --json
count=$(sed -n 's/^  "mismatches": \([0-9]*\),/\1/p' .out)
run 1 fuzz merge wrong0.jsonl wrong1.jsonl --json
is fuzz_merge_counts_mismatches "$count" \
  "$(sed -n 's/^  "mismatches": \([0-9]*\),/\1/p' .out)"

# A finding that somebody took out is no "held".
sed 's/"mismatches":[0-9]*,"case":[0-9]*,"differing":[^]]*\]/"mismatches":0/' \
  wrong1.jsonl >right1.jsonl
refuses fuzz_merge_of_a_finding_taken_out \
  'right1.jsonl: line [0-9]+: its digest does not follow' \
  fuzz merge wrong0.jsonl right1.jsonl

# Coverage is counted of cases 0 to 19999: a shard says how many it has.
counting="fuzz decode --cases 40050 --seed 3"
shows fuzz_coverage_of_a_shard '^coverage: [1-9]' $counting --shard 0/400
shows fuzz_coverage_of_a_part '^coverage of the 76 cases below 20000: [1-9]' \
  $counting --shard 199/400
shows fuzz_coverage_of_none '^coverage: not counted: only cases below 20000' \
  $counting --shard 399/400
shows fuzz_coverage_of_a_journal '^coverage of the 76 cases below 20000: ' \
  $counting --shard 199/400 --block 30 --journal counted.jsonl
run 0 $counting --shard 399/400 --json
holds fuzz_json_counts_none grep -q '"cases_in_bins": 0$' .out
holds fuzz_json_has_no_bins_of_none sh -c '! grep -q "\"bins\"" .out'

# MPI, where the program was built with it and there is a launcher.
refuses fuzz_mpi_needs_a_journal '--mpi needs --journal|no MPI' $campaign --mpi
if "$program" $campaign --mpi --journal ranks.jsonl 2>&1 |
  grep -q 'no MPI'; then
  refuses fuzz_mpi_is_left_out 'build with -DZEROULP_MPI=ON' \
    $campaign --mpi --journal ranks.jsonl
  echo "# fuzz --mpi: this build has no MPI"
elif ! command -v mpirun >/dev/null; then
  echo "# fuzz --mpi: no mpirun here"
else
  . "$here/program_data/mpi.sh"
fi
