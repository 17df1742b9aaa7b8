# fuzz --mpi: one campaign over ranks, one of them killed. Sourced by
# campaign.sh, with its whole.jsonl.

mpi_options=
ranks() {  # ranks COUNT ARGUMENT...: the program under mpirun
  local count=$1
  shift
  # shellcheck disable=SC2086
  timeout 120 mpirun $mpi_options --allow-run-as-root --oversubscribe \
    -n "$count" "$program" "$@"
}
# The same records, in any order: which the chain of digests has in it.
records_in() { tail -n +2 "$1" | sed 's/,"sha256":.*/}/' | sort; }
same_records() { cmp <(records_in "$1") <(records_in "$2"); }

for count in 1 2 4; do
  ranks $count $campaign --mpi --journal ranks$count.jsonl --threads 1 --json \
    >.out 2>.err
  is "fuzz_mpi_of_${count}_status" 0 $?
  is "fuzz_mpi_of_$count" "$whole" "$(digest_in .out)"
  holds "fuzz_mpi_of_${count}_records" same_records whole.jsonl \
    ranks$count.jsonl
done
# Rank 0 is the one writer: of a journal that another holds, none.
flock -o ranks2.jsonl sleep 60 &
holder=$!
while flock -n ranks2.jsonl true; do sleep 0.02; done
ranks 2 $campaign --mpi --journal ranks2.jsonl >.out 2>.err
is fuzz_mpi_of_two_writers 2 $?
is fuzz_mpi_says_who_writes 1 \
  "$(grep -c '^zeroulp: ranks2.jsonl: .* writes to it: wait for its end' .err)"
kill $holder
wait $holder 2>/dev/null
ranks 2 $wrong --block 50 --mpi --journal wrong_ranks.jsonl >.out 2>.err
is fuzz_mpi_finds_a_mismatch 1 $?
holds fuzz_mpi_shows_it grep -q '^MISMATCH in case' .out

# A rank is killed: the launcher ends the job; the same command goes on.
kill_a_rank() {  # kill_a_rank FILE: when FILE has some records
  local pid
  for ((i = 0; i < 400; ++i)); do
    [ -f "$1" ] && [ "$(wc -l <"$1")" -gt 4 ] && break
    sleep 0.01
  done
  for pid in $(pgrep -f -- "--journal $1 --threads 1"); do
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
      grep -q '^OMPI_COMM_WORLD_RANK=2$' && kill -9 "$pid" && return
  done
  return 1
}
ranks 4 $campaign --mpi --journal lost.jsonl --threads 1 >.out 2>.err &
job=$!
kill_a_rank lost.jsonl
is fuzz_mpi_kills_a_rank 0 $?
wait $job
ended=$?
[ $ended -ne 0 ] || echo "# the job outlived its rank"
ranks 4 $campaign --mpi --journal lost.jsonl --threads 1 --json >.out 2>.err
is fuzz_mpi_goes_on_status 0 $?
is fuzz_mpi_goes_on "$whole" "$(digest_in .out)"
holds fuzz_mpi_loses_nothing same_records whole.jsonl lost.jsonl

# Where the launcher lets the others live, they do the lost rank's work.
if mpirun --allow-run-as-root --enable-recovery -n 1 true 2>/dev/null; then
  mpi_options=--enable-recovery
  ranks 4 $campaign --mpi --journal left.jsonl --threads 1 --json >.out 2>.err &
  job=$!
  kill_a_rank left.jsonl
  is fuzz_mpi_kills_another_rank 0 $?
  wait $job
  is fuzz_mpi_without_a_rank_status 0 $?
  is fuzz_mpi_without_a_rank "$whole" "$(digest_in .out)"
  holds fuzz_mpi_without_a_rank_loses_nothing same_records whole.jsonl \
    left.jsonl
fi
