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
  ${2-env --default-signal=INT,TERM,HUP} "$program" quantize signals.npy \
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

for signal in INT TERM HUP; do
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
