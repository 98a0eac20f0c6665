# record-ends.sh: a recording ends with its command or after its time, whatever signal handling was inherited.
. "$(dirname "$0")/../lib.sh"
need python3

# Started by a process that ignores SIGCHLD: the kernel keeps no exit status, and sonde waits all the same.
run 0 timeout 10 python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp(sys.argv[1], [sys.argv[1], "record", "-o", "chld.sonde", "--", "sh", "-c", "exit 0"])' "$SONDE"
[ -s chld.sonde ] || fail "no recording where SIGCHLD was ignored"

# An attached process that becomes a zombie has ended.
python3 -c '
import os, time
pid = os.fork()
if pid == 0:
    time.sleep(0.5)
    os._exit(0)
print(pid, flush=True)
time.sleep(20)' >zombie &
parent=$!
until [ -s zombie ]; do sleep 0.05; done
run 0 timeout 10 "$SONDE" record -o zombie.sonde -p "$(cat zombie)"
kill "$parent" 2>/dev/null || true

# -d: after this time the recording is complete and readable; the command runs on, and its exit code is sonde's.
timeout 20 "$SONDE" record -q -o over.sonde -d 200ms -- sh -c 'sleep 3; exit 7' &
record=$!
for _ in $(seq 100); do
	if "$SONDE" report over.sonde >report 2>&1 && ! grep -q "recording is incomplete" report; then
		break
	fi
	sleep 0.02
done
lacks "$(cat report)" "recording is incomplete"
kill -0 "$record" || fail "the command did not go on"
code=0
wait "$record" || code=$?
equal "$code" 7

# … and signals sent only to sonde still reach it.
timeout 20 "$SONDE" record -q -o term.sonde -d 200ms -- sleep 15 &
record=$!
sleep 1
pkill -TERM -P "$record" -x sonde || kill -TERM "$record"
code=0
wait "$record" || code=$?
[ "$code" -eq 143 ] || fail "exit code $code instead of SIGTERM's"

# A file that is overwritten is a valid recording from the moment that it replaces the old content, even if the
# recorder is killed.
echo precious >killed.sonde
"$SONDE" record -q --force -o killed.sonde -- sleep 5 &
record=$!
differs() { ! grep -q precious killed.sonde; }
wait_for differs
{ kill -KILL "$record" && wait "$record"; } 2>/dev/null || true
code=0
"$SONDE" report killed.sonde >.out 2>.err || code=$?
[ $code -eq 0 ] || [ $code -eq 4 ] || fail "a killed recorder's file: exit code $code"
equal "$(echo killed.sonde*)" killed.sonde

# After '--' come files, too.
cp over.sonde -- -odd.sonde
touch -d '1 hour ago' ./-odd.sonde
run 0 "$SONDE" report --section summary -- -odd.sonde
has "$out" "-odd.sonde"
run 125 "$SONDE" record -o - -- true
has "$err" "a recording is a file"

# Few descriptors: sonde raises the limit only for itself, the command keeps its own.
few() (ulimit -S -n 10 && exec "$@")
run 0 few "$SONDE" record -q -o few.sonde -- sh -c 'ulimit -S -n'
equal "$out" 10
[ -s few.sonde ] || fail "no recording with few descriptors"

# A flight recorder takes more samples than its file keeps: it does not print their number.
run 0 "$SONDE" record --keep 1s -o keep.sonde -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
has "$err" "the last 1 s before each save"
lacks "$err" "sample"
