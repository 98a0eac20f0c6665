# top-screen.sh: the screen of sonde top on a pseudo-terminal of 80×24: content, keys, resizing, pausing, the end of
# the process, colours, overhead. Afterwards the terminal is restored, and the program runs on.
# measures: what threads do in an interval
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need python3
states=$(target thread_states)
"$states" schedule 150 >/dev/null &
busy=$!
at_exit() { kill $busy 2>/dev/null || true; }
screen() {
	python3 "$repo/tests/cli/screen.py" "$@"
}
# Without ncurses or its terminal descriptions a message says so, and the rest of this file is skipped.
probe=$(screen key=q wait=0.5 print -- "$SONDE" top -p $busy)
[[ $probe != *"needs ncurses"* ]] || skip "libncursesw6 is not installed"
[[ $probe != *"does not know"* ]] || skip "the terminfo of a vt100 is not installed"

# Overhead, as a share of one CPU: both processes, by their clocks, over ten seconds in which the screen changes, while the
# rest is tested. The bar is 1 %; on a shared machine the same work takes more CPU time.
used_ns() { # PID: its CPU time and that of its children
	local child sum=0
	for child in "$1" $(cat /proc/"$1"/task/*/children); do
		sum=$((sum + $(cut -d ' ' -f 1 /proc/"$child"/schedstat)))
	done
	echo $sum
}
screen "see=  in " wait=13 key=q end=0 -- sh -c 'echo $$ >top.pid; exec "$0" top -p "$1"' "$SONDE" $busy &
shown=$!
wait_for test -s top.pid
{
	sleep 3
	before=$(used_ns "$(cat top.pid)")
	sleep 10
	echo $(($(used_ns "$(cat top.pid)") - before)) >used
} &
measuring=$!

# Everything on 80×24: every view, help, sorting, moving, pausing; keys as in htop.
screen "see=  in " "see=[Functions]" "see=sonde top  $busy" "see=machine:  CPU" "see=F10 Quit" \
	key=t "see=[Threads]" see=third see=most "see=row 1 of 3" key=down "see=row 2 of 3" key=up "see=row 1 of 3" \
	key=N "see=by name" key='>' "see=by CPU" key=T "see=by time" key=P "see=by CPU" \
	key=M "see=[Memory and I/O]" "see=by memory" see="$busy" \
	key=tab "see=[Machine]" "see=100 % is" key=tab "see=[Functions]" key=left "see=[Machine]" key=right "see=[Functions]" \
	key=f1 "see=the program keeps running" key=x "lack=the program keeps running" key='?' "see=the program keeps running" key=x "see=[Functions]" \
	key=space see=PAUSED key=space lack=PAUSED key=q end=0 -- "$SONDE" top -d 1 -p $busy || fail "keys"

# Sizes: a wider screen shows more, a narrow one stays within its edge, a tiny one does not crash.
screen "see=  in " key=3 "lack=peak RSS  " size=140x40 "see=peak RSS  " size=60x10 "lack=peak RSS  " "see=F1 Help" \
	size=20x4 wait=0.5 size=1x1 wait=0.5 size=80x24 "see=[Memory and I/O]" "see=F10 Quit" \
	key=f10 end=0 -- "$SONDE" top -p $busy || fail "sizes"

# Ctrl-C and SIGTERM also restore the terminal.
screen "see=[Functions]" key=ctrl-c end=0 -- "$SONDE" top -p $busy || fail "Ctrl-C"
screen "see=[Functions]" end=124 -- timeout --foreground -s TERM 2 "$SONDE" top -p $busy || fail "SIGTERM"
kill -0 $busy || fail "the program has ended"

# A command: its output is not on the screen; when it has ended this is shown, and its exit code is sonde's.
screen "see=has ended" lack=shown key=q end=7 -- "$SONDE" top -d 1 -- sh -c 'echo sho""wn; sleep 2; exit 7' || fail "a command"
screen "see=[Functions]" key=q end=0 "see=keeps running as process" -- "$SONDE" top -- sh -c 'sleep 3; echo over >later' || fail "it goes on"
wait_for test -s later
rm later
screen "see=[Functions]" key=ctrl-c end=0 "see=keeps running as process" -- "$SONDE" top -- sh -c 'sleep 2; echo over >later' || fail "it goes on"
wait_for test -s later

screen end=127 -- "$SONDE" top -- ./nothing || fail "nothing to run"

# Colours: only the foreground changes, and not with NO_COLOR. If there is no terminal for the screen, the command is
# not started.
colours() { # NO_COLOR: its escapes in raw
	timeout 20 python3 - "$SONDE" "$busy" "$1" <<'PYTHON' >raw
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm-256color", NO_COLOR=sys.argv[3])
    os.execv(sys.argv[1], ["sonde", "top", "-p", sys.argv[2]])
end, typed, out = time.monotonic() + 15, False, b""
while time.monotonic() < end:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            out += os.read(fd, 65536)
        except OSError:
            break
    if b"[Functions]" in out and not typed:
        typed = os.write(fd, b"q") > 0
os.waitpid(pid, 0)
sys.stdout.write(out.decode(errors="replace"))
PYTHON
}
colours ""
grep -q $'\e\\[[0-9;]*32' raw || fail "no colour"
! grep -qE $'\e\\[([0-9]+;)*4[0-7]m' raw || fail "a background"
colours 1
! grep -qE $'\e\\[([0-9]+;)*3[0-7]m' raw || fail "a colour with NO_COLOR"
run 125 "$SONDE" top -- sh -c 'echo >vain'
has "$err" "the screen needs a terminal; --once"
[ ! -e vain ] || fail "the command was started"
# ncurses leaks then.
ASAN_OPTIONS=detect_leaks=0 SCREEN_TERM=nonsense screen end=125 "see=does not know" -- "$SONDE" top -p $busy || fail "an unknown terminal"

wait $measuring || fail "it ended too early"
wait $shown || fail "it did not end well"
echo "top: $(calc "$(<used) / 1e8") % of a core"
holds "$(<used) < 0.02 * 10e9" "(2 % of a core on a machine that others use)"
