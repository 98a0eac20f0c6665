# top.sh: sonde top --once says of an interval what a program with a known answer does in it, in text and as JSON; it
# leaves the program alone, and what cannot be looked at is said.
# measures: what threads do in an interval
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
states=$(target thread_states)
uses=$(target uses)
at_exit() { kill "${pids[@]}" 2>/dev/null || true; }
pids=()
background() { # COMMAND…: its pid in $pid
	"$@" >background.out 2>&1 &
	pid=$!
	pids+=($pid)
}
section() { # ID FILTER
	jq -r ".sections[] | select(.id == \"$1\") | $2" .out
}

perf=0 # whether there are functions is asked of doctor, not of what is tested
if (need_perf) 2>/dev/null; then perf=1; fi

# Two threads that want a CPU for known shares of their time: what they have of it and what they wait for it add up to more.
background "$states" schedule 60
sleep 0.2
run 0 "$SONDE" top -p $pid --once --json -d 2
equal "$(jq -r '.schema, .version' .out | tr '\n' ' ')" "sonde-report 1 "
equal "$(section threads '.rows | length')" 3
for name in most third; do
	row="[.rows[] | select(.thread == \"$name\")][0]"
	holds "$(section threads "$row | .on_cpu_share + .runnable_share + .blocked_share + .unseen_share") > 0.98"
	holds "$(section threads "$row | .on_cpu_share + .runnable_share") > 0.2"
	holds "$(section threads "$row | .time_ns") > 100000000"
done
equal "$(section threads '[.rows[] | select(.tid == '$pid')][0].thread')" thread_states
equal "$(section processes '.rows[0].pid')" $pid
# Of both threads together, by two accounts: clocks of processes, and states of threads.
near "$(section processes '.rows[0].cpu_utilization')" "$(section threads '[.rows[].on_cpu_share] | total')" 0.15
holds "$(section processes '.rows[0].rss_b') > 100000"
holds "$(section machine '.rows | length') >= 2"
if [ $perf = 1 ]; then
	equal "$(section functions '[.rows | sort_by(-.self_share)[] | select(.module == "thread_states")][0].function')" spin
	# Without the right to sample the kernel its time is in a row of its own, and in nobody's total.
	holds "$(section functions '[.rows[] | if .function == "spin" then .total_share
		elif .function == "[kernel]" then .self_share else 0 end] | add') > 0.9"
else
	has "$(section functions '.notes[].text')" "perf events"
fi
kill -0 $pid || fail "the program has ended"

# The keys are those that --help and the man page list; where no disk or network moved anything there is no such section.
jq -r '.sections[] | .id as $id | .columns[] | "\($id).\(.key)"' .out | sort >keys
jq -r '.sections[].id' .out >ids
run 0 "$SONDE" top --help
grep -oE '^  (functions|threads|processes|machine|machine-io)\.[a-z_]+' .out | tr -d ' ' | grep -E "^($(paste -sd '|' ids))\\." | sort >listed
run 0 diff keys listed

# As text it fits into 80 columns, and says whose figures these are.
run 0 env COLUMNS=80 "$SONDE" top -p $pid --once -d 300ms
has "$out" "thread_states schedule 60"
for title in Functions Threads "Memory and I/O" System; do
	matches "$out" "^$title$"
done
fits 80
lacks "$out" "/proc/self"
lacks "$out" $'\e'

# Without perf events: threads and what they use, and why there are no functions.
run 0 "$SONDE" top --no-perf -p $pid --once --json -d 1
equal "$(section functions '.rows | length')" 0
has "$(section functions '.notes[].text')" "--no-perf"
holds "$(section threads '[.rows[] | .on_cpu_share + .runnable_share] | total') > 0.2"

# Memory of a known size; the kernel counts pages by CPU while a program runs, and adds them up now and then.
background sh -c "sleep 0.7; exec '$uses' memory 60"
run 0 "$SONDE" top -p $pid --once --json -d 1.9
holds "$(section processes '[.rows[].peak_rss_b] | max') >= 50 * 1048576"
# A command: its output goes where -o says, its exit code is ours when it ends first; bytes are of the interval, a second.
run 7 "$SONDE" top --once --json -d 5 -o told -- sh -c "sleep 0.5; '$uses' writes 3000000 .; sleep 0.5; echo over; exit 7"
interval=$(jq -r '.notes[0].text | capture("^(?<s>[0-9.]+) s wall").s' .out)
near "$(section processes '[.rows[].written_all_b_per_s | numbers] | max') * $interval" 3000000 100000
has "$(jq -r '.notes[].text' .out)" "exited before the interval ended"
matches "$(cat told)" "^over$"
run 125 "$SONDE" top --once -d 5 -o told -- true
has "$err" "told exists"
run 0 "$SONDE" top --once -d 300ms -- sh -c 'echo shown; sleep 2; echo over >later'
! grep -q "^shown" .out || fail "the output of the command is in ours"
matches "$err" "^sonde top: 'sh' keeps running as process [0-9]+"
wait_for test -s later
# It is held until it is recorded: children that it starts at once are there.
run 0 "$SONDE" top --once --json -d 700ms -- sh -c "'$states' schedule 2; true"
holds "$(section threads '[.rows[] | select(.thread == "most" or .thread == "third")] | length') == 2"
run 127 "$SONDE" top --once -- ./nothing
has "$err" "./nothing"

# Children that were there before it was attached to are seen like those that come later, with what they do, by perf events
# and without; and the process that started them.
background sh -c '"$0" schedule 40 & echo $! >child; wait' "$states"
wait_for test -s child
pids+=("$(cat child)")
sleep 0.3
for how in "" --no-perf; do
	run 0 "$SONDE" top $how -p $pid --once --json -d 1.5
	holds "$(section threads '[.rows[] | select(.thread == "most" or .thread == "third")] | length') == 2"
	holds "$(section threads '[.rows[] | select(.thread == "most")][0] | .on_cpu_share + .runnable_share') > 0.2"
	equal "$(section processes "[.rows[] | select(.pid == $pid or .pid == $(cat child))] | length")" 2
done
run 0 "$SONDE" top -p $pid --once --json -d 1.5
if [ $perf = 1 ]; then
	holds "$(section functions '[.rows[] | if .function == "spin" then .total_share
		elif .function == "[kernel]" then .self_share else 0 end] | add') > 0.9"
fi

# Many threads: rows are limited, totals are whole.
run 0 "$SONDE" top --once --json -d 2.5 -n 5 -- "$states" many 2000
equal "$(section threads '.rows | length')" 5
holds "$(section threads .omitted) > 1000"

# Events of many threads need more descriptors than a shell gives: the limit that can be raised is no matter.
background "$states" many 1000
wait_for grep -qE '^Threads:.1[0-9]{3}$' /proc/$pid/status
run 0 bash -c 'ulimit -Sn 256 && exec "$@"' 0 "$SONDE" top --once --json -d 500ms -n 5 -p $pid
holds "$(section threads .omitted) > 900"
lacks "$out" "too many open files"

# What cannot be looked at.
background "$states" schedule 30
sleep 0.2
run 125 "$SONDE" top --once
has "$err" "sonde top -p PID"
run 125 "$SONDE" top --once -p 4194303
has "$err" "no process 4194303"
run 125 "$SONDE" top --once -p $pid -- true
has "$err" "exclude each other"
thread=$(ls /proc/$pid/task | tail -n 1)
run 125 "$SONDE" top --once -p "$thread"
has "$err" "$thread is a thread of process $pid: sonde top -p $pid"
run 125 "$SONDE" top --once -p $pid -d 1ms
has "$err" "the minimum is 100ms"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -x "$SONDE"; then
	run 125 setpriv --reuid=65534 --regid=65534 --clear-groups "$SONDE" top --once -p $pid
	has "$err" "belongs to another user"
fi
