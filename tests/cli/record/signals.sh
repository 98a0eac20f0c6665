# signals.sh: Ctrl-C once, twice, and to one process only; SIGTERM; children that ignore signals; attached processes;
# a killed recorder: the command gets exactly the signals sent, ends as it should, and the recording is readable.
# measures: response times
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3
behave=$(target behave)

# play SIGNALS COMMAND…: runs it on a terminal of its own. SIGNALS, 0.4 s apart, start when the command has printed
# "ready": ^C is typed, NAME goes to the recorder only. Prints how it ended, then its output.
cat >play.py <<'P'
import os, pty, select, signal, sys, time
signals, command = sys.argv[1].split(), sys.argv[2:]
pid, terminal = pty.fork()
if not pid:
    os.execvp(command[0], command)
said, next_at, status, deadline = b"", None, None, time.time() + 30
while status is None and time.time() < deadline:
    if select.select([terminal], [], [], 0.02)[0]:
        try:
            said += os.read(terminal, 65536)
        except OSError:
            pass
    if next_at is None and b"ready" in said:
        next_at = time.time() + 0.2
    if next_at and signals and time.time() >= next_at:
        name = signals.pop(0)
        if name == "^C":
            os.write(terminal, b"\x03")
        else:
            os.kill(pid, getattr(signal, "SIG" + name))
        next_at = time.time() + 0.4
    done, code = os.waitpid(pid, os.WNOHANG)
    if done:
        status = code
if status is None:
    os.kill(pid, signal.SIGKILL)
    sys.exit("never ended; said " + repr(said))
try:
    said += os.read(terminal, 65536)
except OSError:
    pass
print("signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit %d" % os.WEXITSTATUS(status))
sys.stdout.write(said.decode(errors="replace").replace("\r", ""))
P
play() {
	local expected=$1
	shift
	python3 play.py "$@" >played || fail "$(cat played)"
	[ "$(head -n 1 played)" = "$expected" ] || fail "$(head -n 1 played) instead of $expected: $* ($(tail -n +2 played))"
}
record=("$SONDE" record -q --force -o a.sonde --)
readable() {
	run 0 "$SONDE" report a.sonde
	lacks "$out" "recording is incomplete"
}

# Typed: the terminal sends it to both, and the command sees it once.
play "exit 0" "^C" "${record[@]}" "$behave" counts
matches "$(cat played)" "^(\^C)?1$"
readable
play "signal 2" "^C" "${record[@]}" "$behave" waits
readable
matches "$(rows a.sonde processes | jq -r '.[0].status')" 'signal 2|SIGINT'

# A command that ignores it runs to its end; a second one kills it.
play "exit 7" "^C" "${record[@]}" "$behave" ignores
matches "$(cat played)" 'ended by itself'
readable
play "signal 9" "^C ^C" "${record[@]}" "$behave" ignores
lacks "$(cat played)" "ended by itself"
readable

# A command that handles it is not ended, however many come.
play "exit 0" "^C ^C" "${record[@]}" "$behave" counts
matches "$(cat played)" "^(\^C)*2$"
readable

# Sent only to the recorder, it is forwarded once.
play "exit 0" "INT" "${record[@]}" "$behave" counts
matches "$(cat played)" "^(\^C)?1$"
readable
play "signal 15" "TERM" "${record[@]}" "$behave" waits
readable
matches "$(rows a.sonde processes | jq -r '.[0].status')" 'signal 15|SIGTERM'
for name in 10:USR1 12:USR2 14:ALRM; do
	play "signal ${name%:*}" "${name#*:}" "${record[@]}" "$behave" waits
	readable
done

# An attached process is not ended: the recording ends, and the process goes on.
rm -f beats a.sonde
"$behave" beats beats &
pid=$!
wait_for test -s beats
"$SONDE" record -q --force -o a.sonde -p $pid &
recorder=$!
wait_for test -s a.sonde
sleep 0.7
kill -INT $recorder
code=0
wait $recorder || code=$?
equal "$code" 0
readable
wait $pid || fail "the attached process ended with $?"
equal "$(stat -c %s beats)" 300

# The recorder is killed: the command runs to its end, and what was written is readable.
rm -f beats a.sonde
"$SONDE" record -q --force -o a.sonde -- "$behave" beats beats &
recorder=$!
wait_for test -s beats
sleep 2
until [ "$(stat -c %s beats)" -ge 100 ]; do sleep 0.05; done # the same amount of work, also on a busy machine
sleep 1
{ kill -KILL $recorder && wait $recorder; } 2>/dev/null || true
run 0 "$SONDE" report --section summary a.sonde
has "$out" "! recording is incomplete: the recorder was killed, or the file was cut off, after "
if "$SONDE" doctor -f json | jq -e '[.sections[].rows[] | select(.check == "perf events" and .verdict == "green")] | length == 1' >.doctor; then
	holds "$(metric a.sonde samples.count) > 100 && $(metric a.sonde timing.wall_time_s) > 0.8" # flushed every second
fi
for _ in $(seq 100); do [ "$(stat -c %s beats)" -eq 300 ] || sleep 0.1; done
equal "$(stat -c %s beats)" 300
