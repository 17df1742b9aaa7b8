# The seal of a plug-in: what hostile.so tries as it is loaded ($ZEROULP_DEED,
# to $ZEROULP_TARGET) fails, unless --trust lifts the seal; its name says so.

hostile=$plugins/hostile.so
export TMPDIR=$work/folders
export ZEROULP_HOME=$work/home
mkdir "$TMPDIR" "$ZEROULP_HOME"
skipped() { echo "ok $1 # SKIP $2"; }

# What this kernel can do, asked without zeroulp.
read -r landlock seccomp <<END
$(python3 "$here/program_data/seals.py")
END
asan=
! grep -q __asan_init "$program" || asan=yes

# deed NAME ARGUMENT...: runs it; the plug-in's name is in .out.
deed() {
  export ZEROULP_DEED=$1 ZEROULP_TARGET=$work/target
  shift
  rm -f target
  echo "the user's" >target
  chmod 600 target
  touch -d 2001-01-01 target
  $asks fuzz swiglu --against "$hostile" --cases 20 "$@"
}
asks=run_few

# prevented NAME NEEDS [WHY]: by default it is, and the file is as it was.
prevented() {
  local name=plugin_is_prevented_from_$1
  case $2.$landlock.$seccomp in
    landlock.0.*) skipped "$name" 'no Landlock here'; return ;;
    seccomp.*.none) skipped "$name" 'no seccomp here'; return ;;
  esac
  deed "$1"
  if [ -z "$reason" ] &&
    ! grep -q "^prevented: ${3-.*} answered" .out; then
    reason="not prevented: $out"
  fi
  verdict "$name" "$reason"
  is "${name}_and_the_file_is_whole" "the user's 600 978307200" \
    "$(cat target) $(stat -c '%a %Y' target)"
  is "${name}_and_nothing_is_there" '' "$(find . -name hostile_was_here)"
}

# allowed NAME: with --trust.
allowed() {
  deed "$1" --trust
  if [ -z "$reason" ] && ! grep -q '^did it answered' .out; then
    reason="it could not: $out"
  fi
  verdict "plugin_may_with_trust_$1" "$reason"
  rm -rf hostile_was_here "$TMPDIR/hostile_was_here" "$ZEROULP_HOME"/*
}

for name in write_here write_home overwrite erase move make_folder \
            through_a_link; do
  prevented $name landlock
done
for name in empty_by_reading empty_by_neither cut set_mode set_time; do
  prevented $name seccomp
done
for name in inet inet6 local local_pair service \
            signal_parent stop_parent signal_all signal_by_file \
            trace_parent write_parent limit_parent \
            slow_parent move_parent idle_parent \
            shared_segment new_user ring; do
  prevented $name seccomp 'Operation not permitted'
done
for name in write_here overwrite erase make_folder cut set_mode \
            set_time inet local limit_parent write_home; do
  allowed $name
done

# The environment: the user's secrets are not in it, zeroulp's own words are.
export HOSTILE_SECRET=s3cret
prevented secret nothing
prevented secret_of_parent landlock
allowed secret
unset HOSTILE_SECRET

# The folder of its own is its home, and is gone afterwards.
deed own_folder
if [ -z "$reason" ] && ! grep -q "^$TMPDIR/zeroulp-plugin-.* answered" .out; then
  reason="it could not write there: $out"
fi
verdict plugin_has_a_folder_of_its_own "$reason"
prevented large_file nothing
export TMPDIR=$work/target  # which is a file
refuses plugin_without_a_place_for_its_folder 'set TMPDIR to one' \
  fuzz swiglu --against "$hostile"
export TMPDIR=$work/folders

# Limits.
if [ -n "$asan" ]; then
  skipped plugin_is_limited_in_memory 'AddressSanitizer has terabytes'
else
  deed memory
  most=$(awk '/MemTotal/ {print int($2 / 4194304)}' /proc/meminfo)
  got=$(sed -n 's/^allocated \([0-9]*\) GiB answered.*/\1/p' .out)
  holds plugin_is_limited_in_memory \
    test "${got:-999999}" -le $((most > 4 ? most : 4))
fi
if [ $seccomp != supervised ]; then
  skipped plugin_is_limited_in_processes 'no supervisor for seccomp here'
  skipped plugin_that_is_a_fork_bomb_ends 'no supervisor for seccomp here'
else
  asks='run 1'
  deed processes
  got=$(sed -n 's/^forked \([0-9]*\) left .*/\1/p' .out)
  holds plugin_is_limited_in_processes \
    test "${got:-9999}" -le $((256 + 16 * $(nproc)))
  deed bomb
  verdict plugin_that_is_a_fork_bomb_ends "$reason"
  asks=run_few
fi

# What is its own it may signal, and name; and what CUDA needs it may do.
for name in signal_own begin_as_cuda; do
  if [ $name.$seccomp = signal_own.alone ]; then
    skipped plugin_may_signal_own 'no supervisor for seccomp here'
    continue
  fi
  deed $name
  if [ -z "$reason" ] && ! grep -q '^did it answered' .out; then
    reason="it could not: $out"
  fi
  verdict "plugin_may_$name" "$reason"
done

# Where the kernel cannot do all of it, this is said in one line.
whole=whole
[ "$landlock" -ge 1 ] || whole='all but .*no Landlock here'
[ $seccomp = supervised ] || whole='all but .*seccomp'
[ -z "$asan" ] || whole='all but its memory'
export ZEROULP_DEED=nothing
few plugin_seal_is_told_in_json "\"seal\": \"$whole" \
  fuzz swiglu --against "$hostile" --cases 20 --json
few plugin_that_is_trusted_is_told_in_json '"seal": "none: --trust"' \
  fuzz swiglu --against "$hostile" --cases 20 --trust --json
if level 2; then
  shows plugin_seal_is_told_by_conform "^seal: $whole" \
    conform --plugin "$hostile" --only Claim
  shows plugin_that_is_trusted_is_told_by_conform '^seal: none: --trust$' \
    conform --plugin "$hostile" --only Claim --trust
fi

# Killed processes leave marks of LLVM's OpenMP behind, and numbers come again.
last=$(cut -d ' ' -f 5 /proc/loadavg)
marks=$(seq -f "/dev/shm/__KMP_REGISTERED_LIB_%.0f_$(id -u)" $((last + 1)) \
  $((last + 200)))
for mark in $marks; do
  [ -e "$mark" ] || printf '0x10-cafe0000-libomp.so\0' >"$mark"
done
few plugin_is_not_stopped_by_marks_of_others 'answered [0-9]+ requests' \
  fuzz swiglu --against "$hostile" --cases 20 --limit 5
for mark in $marks; do
  ! grep -q '^0x10-cafe0000-' "$mark" 2>/dev/null || rm -f "$mark"
done

# Nothing is left: no process, no folder, no mark of OpenMP's.
deed tell_process
process=$(sed -n 's/^process \([0-9]*\) answered.*/\1/p' .out)
holds plugin_leaves_no_mark \
  test ! -e "/dev/shm/__KMP_REGISTERED_LIB_${process:-none}_$(id -u)"
is plugin_leaves_no_folder '' "$(ls "$TMPDIR")"
is plugin_leaves_no_process '' \
  "$(grep -ls 'plugins/hostile[.]so' /proc/[0-9]*/cmdline | head -n 3)"
unset ZEROULP_DEED ZEROULP_TARGET ZEROULP_HOME TMPDIR
