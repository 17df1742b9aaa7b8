# A signal while files are written leaves what was there before, or all that is
# new: no temporary file, no half a directory.

npy header signals.npy \
  "{'descr': '<f4', 'fortran_order': False, 'shape': (1024, 4096), }"
truncate -s $((128 + 4 * 1024 * 4096)) signals.npy

# stopped SIGNAL [HOW]: quantizes, sends the signal once a temporary file is
# there, and prints how the program ended. HOW starts it: with its signals as
# they are for a user, since background jobs of a script ignore SIGINT.
stopped() {
  rm -rf signals
  ${2-env --default-signal} "$program" quantize signals.npy \
    --scale pow2 --out signals >.out 2>.err &
  local victim=$!
  while kill -0 $victim 2>/dev/null; do
    compgen -G 'signals/.zeroulp-*' >/dev/null || continue
    kill "-$1" $victim 2>/dev/null
    break
  done
  wait $victim
  echo $?
}

# Once all is in place, a signal may still end the program.
none_or_all() {
  [ ! -e signals ] ||
    [ -e signals/meta.json -a -e signals/codes.npy -a -e signals/scales.npy ]
}

# All that end a process and can be caught, but those of a sanitizer.
own='ILL BUS FPE SEGV'
! grep -q __asan_init "$program" || own=
for signal in INT TERM HUP QUIT TRAP ABRT USR1 USR2 PIPE ALRM STKFLT XCPU XFSZ \
  VTALRM PROF IO PWR SYS RTMIN RTMAX $own; do
  number=$(kill -l $signal)
  ends=0
  for ((round = 0; round < 20 && ends == 0; ++round)); do
    status=$(stopped $signal 2>/dev/null)
    left=$(find . -name '.zeroulp-*')
    [ -z "$left" ] || break
    [ "$status" -ne $((128 + number)) ] || ends=1
  done
  is "sig${signal,,}_leaves_no_temporary_file" '' "$left"
  is "sig${signal,,}_ends_the_program" 1 $ends
  holds "sig${signal,,}_leaves_none_or_all" none_or_all
done
is an_ignored_signal_stays_ignored 0 \
  "$(stopped TERM 'env --ignore-signal=TERM')"

# What SIGKILL left, the next run that writes there removes; not what another
# process still writes.
left() { find "$1" -name '.zeroulp-*' | wc -l; }
for ((round = 0; round < 20; ++round)); do
  status=$(stopped KILL 2>/dev/null)
  [ "$(left signals)" -eq 0 ] || break
done
is sigkill_leaves_a_temporary_file "137 1" "$status $(left signals)"
touch signals/.zeroulp-1-7.tmp
flock -o signals/.zeroulp-1-7.tmp sleep 20 &
holder=$!
while flock -n signals/.zeroulp-1-7.tmp true; do sleep 0.02; done
run 0 quantize signals.npy --scale pow2 --out signals
verdict the_next_run_succeeds "$reason"
is the_next_run_removes_what_nobody_writes signals/.zeroulp-1-7.tmp \
  "$(find signals -name '.zeroulp-*')"
kill $holder
wait $holder 2>/dev/null
run 0 quantize x.npy --out signals
is a_run_after_that_removes_the_rest 0 "$(left signals)"

# The same of a study that goes on, where nothing is left to be written.
study="study --loss --loss-size smoke --out study_state"
run 1 $study
verdict a_study_is_done "$reason"
touch study_state/state/.zeroulp-1-0.tmp study_state/.zeroulp-1-0.tmp
run 1 $study
is a_study_that_goes_on_removes_temporary_files 0 "$(left study_state)"

# A file that may not grow so far is an error, and leaves nothing.
(
  ulimit -f 1
  "$program" quantize signals.npy --out too_large >.out 2>.err
)
is a_limit_of_files_is_said "2 1" "$? $(wc -l <.err)"
holds a_limit_of_files_says_so grep -q 'cannot write: File too large' .err
holds a_limit_of_files_leaves_nothing test ! -e too_large
