# Plug-ins that leave their process otherwise than they found it, that leave
# others behind, that hang and that attack what they share with zeroulp.

liar=$plugins/liar.so
unset ZEROULP_CLAIM

# found NAME PATTERN ARGUMENT...: a finding that says so. With runs=N one of so
# many: of what is a race with the plug-in.
found() {
  local name=$1 pattern=$2 n
  shift 2
  export ZEROULP_LIE=$name
  for ((n = 0; n < ${runs:-1}; ++n)); do
    run 1 fuzz quantize --against "$liar" --cases 2000 "$@"
    if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
      reason="no '$pattern' in: $(grep -v '^  x ' .out)"
    fi
    [ -n "$reason" ] || break
  done
  verdict "plugin_is_found_$name" "$reason"
}

# How the processor rounds; what loading changes shows in the first call.
if [ "$(uname -m)" = x86_64 ]; then
  found mxcsr 'changed MXCSR: 1f80 became 9fc0 .flush to zero, denormals'
  found x87 'changed the x87 control word: 037f became 027f .precision'
fi
found rounding 'changed (MXCSR: 1f80 became 5f80 .rounding|FPCR: )'
found load_rounding 'changed (MXCSR: 1f80 became 5f80 .rounding|FPCR: )'
found handler 'replaced the handler of SIGSEGV'

# Threads may stay, as those of a pool; they may not go on, nor come with each
# call.
found thread 'left [0-9]+ threads? running'
found threads 'left [0-9]+ threads behind'
runs=3 found late \
  'left a thread running that (wrote|reached) memory after the call'
few plugin_may_keep_a_pool 'answered' \
  fuzz swiglu --against "$plugins/pool.so" --cases 1000
OMP_WAIT_POLICY=active few plugin_may_keep_a_pool_that_waits_actively \
  'answered' fuzz swiglu --against "$plugins/pool.so" --cases 1000

# Processes are ended, and this is said, whoever their parents are by now.
found fork 'left 1 process running'
export ZEROULP_LIE=none ZEROULP_DEED=daemon
for how in '' --trust; do
  # shellcheck disable=SC2086
  run 1 fuzz swiglu --against "$plugins/hostile.so" --cases 20 $how
  verdict "plugin_daemon_is_a_finding$how" "$reason"
  holds "plugin_daemon_is_named$how" \
    grep -q 'left 1 process running, which were ended' .out
  holds "plugin_daemon_is_not_held$how" test -z "$(grep '^held' .out)"
done
if level 2; then
  run 1 conform --plugin "$plugins/hostile.so" --only Claim
  holds plugin_daemon_does_not_conform grep -q '^Ends .*FAILED' .out
fi
run 1 fuzz swiglu --against "$plugins/hostile.so" --cases 20 --json
holds plugin_daemon_is_json grep -q '"left_running": ".* left 1 process' .out
unset ZEROULP_DEED
is plugin_daemon_is_ended '' \
  "$(grep -ls 'plugins/hostile[.]so' /proc/[0-9]*/cmdline | head -n 3)"

# The memory that is shared keeps its size.
export ZEROULP_LIE=truncate
few plugin_cannot_cut_the_memory 'answered' fuzz quantize --against "$liar" \
  --cases 500

# A worker that is stopped ends with a zeroulp that is killed.
cp "$liar" stopped.so
running() { grep -ls 'stopped[.]so' /proc/[0-9]*/cmdline; }
stopped() {
  local file
  for file in $(running); do
    grep -q '^State:.T' "${file%cmdline}status" 2>/dev/null && return
  done
  return 1
}
ZEROULP_LIE=stop "$program" fuzz quantize --against ./stopped.so \
  --limit 100 >stopped.out 2>&1 &
victim=$!
disown $victim
for _ in $(seq 100); do stopped && break; sleep 0.1; done
holds plugin_worker_is_stopped stopped
kill -9 $victim
for _ in $(seq 50); do [ -n "$(running)" ] || break; sleep 0.1; done
is plugin_worker_that_is_stopped_ends_with_zeroulp '' "$(running)"

# Who always hangs takes three times --limit at most, whoever asks, and starts
# of its process.
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
began=$(milliseconds)
export ZEROULP_LIE=none
run_few fuzz quantize --against "$liar" --cases 1
one_start=$(($(milliseconds) - began))
hangs() {
  local name=$1 times=$2 status=$3 began took
  shift 3
  began=$(milliseconds)
  run "$status" "$@" --limit 2
  took=$(($(milliseconds) - began))
  if [ -z "$reason" ] &&
    [ $took -gt $((2000 * times + 5 * one_start + 1000)) ]; then
    reason="zeroulp $*: took $took ms"
  fi
  verdict "plugin_that_hangs_takes_its_time_in_$name" "$reason"
}
export ZEROULP_LIE=hang_always
hangs fuzz 3 1 fuzz quantize --against "$liar"
hangs fuzz_of_all 3 1 fuzz quantize --against "$liar" --keep-going
hangs a_journal 3 1 fuzz quantize --against "$liar" --journal hangs.jsonl
holds plugin_that_hangs_leaves_cases grep -q 'cases are left' .out
hangs conform 3 1 conform --plugin "$liar" --json
holds plugin_that_hangs_is_not_asked_again \
  grep -q '"why": "it hung, and is not asked again"' .out
hangs identify 1 2 identify plugin "$liar"
export ZEROULP_LIE=load_forever
began=$(milliseconds)
refuses plugin_that_loads_for_ever 'took more than 1.5 s .--load-limit' \
  conform --plugin "$liar" --load-limit 1.5
took=$(($(milliseconds) - began))
holds plugin_that_loads_for_ever_takes_its_time \
  test $took -lt $((3000 + 5 * one_start))

# Who fails to be identified is named.
export ZEROULP_LIE=crash
refuses plugin_that_crashes_is_named \
  'liar.so: asked for quantize as vllm: .*, it died of signal 11' \
  identify plugin "$liar"
unset ZEROULP_LIE

# The same from Python.
for python in python3 /usr/bin/python3 none; do
  "$python" -c 'import numpy' 2>/dev/null && break
done
if [ "$python" = none ]; then
  echo "ok plugin_faults_in_python # SKIP no python3 with NumPy here"
else
  export ZEROULP_PYTHON=$python
  cat >faults.py <<'END'
import ctypes, os, socket, subprocess, tempfile, threading, time
import numpy as np
import zeroulp_plugin

def daemon():
    if os.fork() == 0:
        os.setsid()
        os.fork()
        time.sleep(1000)

def spin():
    while True:
        pass

def helper():
    subprocess.run(["true"], check=True)
    with tempfile.TemporaryFile() as file:
        file.write(b"mine")
    open(os.path.expanduser("~/mine"), "w").close()

FAULTS = {
    "pool": lambda: np.ones((300, 300)) @ np.ones((300, 300)),
    "helper": helper,
    "rounding": lambda: ctypes.CDLL("libm.so.6").fesetround(0x800),
    "thread": lambda: threading.Thread(target=spin, daemon=True).start(),
    "fork": daemon,
    "socket": socket.socket,
    "write": lambda: open("hostile_was_here", "w"),
    "secret": lambda: os.environ["HOSTILE_SECRET"],
}

@zeroulp_plugin.claim("dequantize", None, "to=e4m3,group=1x128,place=dense")
def dequantize(r):
    FAULTS[os.environ["ZEROULP_LIE"]]()
    groups = np.repeat(r.scales, 128, axis=1)[:, : r.x.shape[1]]
    c = r.codes.astype(np.int32)
    e, m = (c >> 3) & 15, c & 7
    value = np.where(e == 0, m * 2.0**-9, (8 + m) * 2.0 ** (e - 10.0))
    value = np.where((c & 127) == 127, np.nan, np.where(c > 127, -value, value))
    r.x[:] = np.float32(value) * groups

np.seterr(all="ignore")
zeroulp_plugin.serve("faults")
END
  for lie in pool helper; do
    export ZEROULP_LIE=$lie
    run_few fuzz quantize --against python:faults.py --cases 20
    verdict "plugin_in_python_may_have_a_$lie" \
      "$(grep -E 'left|changed|Error' .out .err)"
  done
  export HOSTILE_SECRET=s3cret
  while read -r lie pattern; do
    export ZEROULP_LIE=$lie
    run 1 fuzz quantize --against python:faults.py --cases 20
    if [ -z "$reason" ] && ! grep -qE -- "$pattern" .out; then
      reason="no '$pattern' in: $out"
    fi
    verdict "plugin_in_python_is_found_$lie" "$reason"
  done <<'END'
rounding changed (MXCSR: 1f80 became 5f80|FPCR)
thread left [0-9]+ threads? running
fork left [0-9]+ process(es)? running
secret KeyError: 'HOSTILE_SECRET'
END
  unset ZEROULP_LIE HOSTILE_SECRET
fi
