# odd-places.sh: a program ends as without sonde, and its recording is readable, if the terminal is closed, the
# recorder is stopped, `sonde live` watches while the program is killed, or limits, directories and variables are
# unusual.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need python3 perl

all="--no-perf --heap=full --threads --io"
readable() {
	run 0 "$SONDE" report "$1"
}

# The terminal is closed: the kernel sends SIGHUP only to the session leader, which is sonde.
cat >closed.py <<'P'
import os, pty, sys, time
pid, terminal = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
end = time.time() + 30
while not os.path.exists("ready") and time.time() < end:
    time.sleep(0.02)
os.close(terminal)
while time.time() < end:
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        sys.exit(print(status))
    time.sleep(0.02)
os.killpg(pid, 9)
print("never ended")
P
handles='$SIG{HUP} = sub { open F, ">", "got"; print F "hung up"; close F; exit 3 }; open F, ">", "ready"; sleep 20; exit 4'
plain='open F, ">", "ready"; sleep 20; exit 4'
for program in "$handles" "$plain" "\$SIG{HUP} = 'IGNORE'; open F, '>', 'ready'; sleep 1; exit 4"; do
	rm -f ready got
	alone=$(python3 closed.py perl -e "$program")
	for options in "" "$all"; do
		rm -f ready
		# shellcheck disable=SC2086
		equal "$options: $(python3 closed.py "$SONDE" record -q --force -o a.sonde $options -- perl -e "$program")" "$options: $alone"
		readable a.sonde
	done
done
equal "$(cat got 2>/dev/null || true)" ""

# `live` forwards the signal and ends; so does `top`, whose command is in a process group of its own.
rm -f ready
equal "live: $(python3 closed.py "$SONDE" live -q --no-open --port 0 --force -o a.sonde -- perl -e "$plain")" "live: 1"
readable a.sonde
rm -f ready
"$SONDE" top -p $$ --once >.top 2>&1 || fail "no top here: $(<.top)"
python3 closed.py "$SONDE" top -- perl -e "open P, '>', 'pid'; print P \$\$; close P; $plain" >.ended
has_ended() { [ -s pid ] && ! kill -0 "$(<pid)" 2>/dev/null; }
wait_for has_ended

# same NAME SCRIPT: $RECORD is replaced by the recording command, or by nothing.
same() {
	local name=$1 script=$2 alone=0 recorded options
	rm -f made
	RECORD='' bash -c "$script" >alone.out 2>alone.err </dev/null || alone=$?
	for options in "" "$all"; do
		recorded=0
		RECORD="$SONDE record -q --force -o $work/$name.sonde $options --" bash -c "$script" >recorded.out 2>recorded.err </dev/null ||
			recorded=$?
		equal "$name $options: $recorded" "$name $options: $alone"
		diff alone.out recorded.out || fail "$name $options writes something else"
		diff alone.err recorded.err || fail "$name $options says something else"
		readable "$name.sonde"
	done
}
# shellcheck disable=SC2016
{
	same files 'ulimit -n 32; $RECORD sh -c "ulimit -n; seq 3 | sort -r; exit 3"'
	same memory 'ulimit -v 200000; $RECORD perl -e "print 1; exit 3"'
	same stack 'ulimit -s 64; $RECORD sh -c "ulimit -s; seq 3 | sort -r"'
	same signals 'ulimit -i 0; $RECORD sh -c "echo ran; exit 3"'
	same time 'ulimit -t 1; $RECORD perl -e "1 while 1"'
	same size 'ulimit -f 64; $RECORD perl -e "\$SIG{XFSZ} = sub { print qq(too large\n); exit 3 }; open F, q(>), q(made); print F q(x) x 1e6; close F"'
	same variables '$RECORD env -i /bin/sh -c "/bin/echo ran; exit 3"'
	same nothing 'exec env -i SHELL=/bin/sh PATH= /bin/sh -c "$RECORD /bin/echo ran"'
	same temporary 'export TMPDIR=/no/such HOME= XDG_CACHE_HOME=/proc/none; $RECORD sh -c "echo \$TMPDIR; seq 3 | sort -r"'
	same gone 'mkdir -p gone; cd gone; rmdir ../gone; $RECORD sh -c "echo ran; /bin/echo too"'
	same closed '$RECORD sh -c "echo ran" <&- 2>&-'
	same arguments '$RECORD sh -c "echo \$#" sh $(seq 10000)'
	same large 'for i in $(seq 90); do export "V$i=$(printf %10000s x)"; done; $RECORD perl -e "print length join q(), values %ENV > 800000, 1"'
	same nice 'nice -n 19 $RECORD sh -c "nice; seq 3 | sort -r"'
}

# The recorder is stopped while the program runs, and continued afterwards.
for options in "" --threads --io "$all"; do
	rm -f done
	# shellcheck disable=SC2086
	"$SONDE" record -q --force -o a.sonde $options -- perl -e 'open F, ">", "ready2"; close F; select undef, undef, undef, 0.7;
		for (1..20) { system "true"; $h{$_} = "x" x 1000 } open F, ">", "done"; exit 3' &
	recorder=$!
	wait_for test -e ready2
	kill -STOP $recorder
	wait_for test -e done
	kill -CONT $recorder
	code=0
	wait $recorder || code=$?
	equal "$options: $code" "$options: 3"
	readable a.sonde
	rm -f ready2
done

# The program is killed while `sonde live` is attached.
rm -f pid
"$SONDE" record -q --force -o a.sonde -- perl -e 'open F, ">", "pid.new"; print F $$; close F; rename "pid.new", "pid"; 1 while 1' &
recorder=$!
wait_for test -e pid
"$SONDE" live -q --no-open --once --force -o live.sonde --pid "$(cat pid)" >live.out 2>live.err </dev/null &
live=$!
wait_for test -s live.sonde
kill -KILL "$(cat pid)"
code=0
wait $recorder || code=$?
equal "$code" 137
for _ in $(seq 200); do kill -0 $live 2>/dev/null || break; sleep 0.05; done
kill -0 $live 2>/dev/null && { kill -KILL $live; fail "live goes on when its process is gone"; }
wait $live || true
readable a.sonde
