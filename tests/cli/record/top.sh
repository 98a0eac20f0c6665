# top.sh: sonde top --once reports what a program with a known answer does in an interval, as text and JSON. It leaves
# the program alone, and says what it cannot see.
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

perf=0 # doctor says whether there are functions, not the command under test
if (need_perf) 2>/dev/null; then perf=1; fi

# Two threads that want a CPU for known shares of their time: running and waiting for a CPU add up to at least those.
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
# Of both threads together, from two sources: process clocks and thread states.
near "$(section processes '.rows[0].cpu_utilization')" "$(section threads '[.rows[].on_cpu_share] | total')" 0.15
holds "$(section processes '.rows[0].rss_b') > 100000"
holds "$(section machine '.rows | length') >= 2"
if [ $perf = 1 ]; then
	equal "$(section functions '[.rows | sort_by(-.self_share)[] | select(.module == "thread_states")][0].function')" spin
	# Without permission to sample the kernel, its time is a row of its own and in no function's total.
	holds "$(section functions '[.rows[] | if .function == "spin" then .total_share
		elif .function == "[kernel]" then .self_share else 0 end] | add') > 0.9"
else
	has "$(section functions '.notes[].text')" "perf events"
fi
kill -0 $pid || fail "the program has ended"

# The keys are those in --help and the man page; if no disk or network moved anything, that section is missing.
jq -r '.sections[] | .id as $id | .columns[] | "\($id).\(.key)"' .out | sort >keys
jq -r '.sections[].id' .out >ids
run 0 "$SONDE" top --help
grep -oE '^  (functions|threads|processes|machine|machine-io)\.[a-z_]+' .out | tr -d ' ' | grep -E "^($(paste -sd '|' ids))\\." | sort >listed
run 0 diff keys listed

# The text fits in 80 columns and names the process.
run 0 env COLUMNS=80 "$SONDE" top -p $pid --once -d 300ms
has "$out" "thread_states schedule 60"
for title in Functions Threads "Memory and I/O" System; do
	matches "$out" "^$title$"
done
fits 80
lacks "$out" "/proc/self"
lacks "$out" $'\e'

# Without perf events: threads and resource use, and why there are no functions.
run 0 "$SONDE" top --no-perf -p $pid --once --json -d 1
equal "$(section functions '.rows | length')" 0
has "$(section functions '.notes[].text')" "--no-perf"
holds "$(section threads '[.rows[] | .on_cpu_share + .runnable_share] | total') > 0.2"

# Memory of a known size; the kernel counts pages per CPU while a program runs, and adds them up now and then.
background sh -c "sleep 0.7; exec '$uses' memory 60"
run 0 "$SONDE" top -p $pid --once --json -d 1.9
holds "$(section processes '[.rows[].peak_rss_b] | max') >= 50 * 1048576"
# A command: its output goes to the file of -o, and its exit code is sonde's if it ends first; bytes are per second of
# the interval.
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
# The command is held until it is being recorded, so children that it starts at once are seen.
run 0 "$SONDE" top --once --json -d 700ms -- sh -c "'$states' schedule 2; true"
holds "$(section threads '[.rows[] | select(.thread == "most" or .thread == "third")] | length') == 2"
run 127 "$SONDE" top --once -- ./nothing
has "$err" "./nothing"

# Children that existed before attaching are seen like later ones, with and without perf events, and so is the process
# that started them.
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

# Many threads: the number of rows is limited, totals are complete.
run 0 "$SONDE" top --once --json -d 2.5 -n 5 -- "$states" many 2000
equal "$(section threads '.rows | length')" 5
holds "$(section threads .omitted) > 1000"

# Events of many threads need more descriptors than a shell allows: sonde raises the soft limit.
background "$states" many 1000
wait_for grep -qE '^Threads:.1[0-9]{3}$' /proc/$pid/status
run 0 bash -c 'ulimit -Sn 256 && exec "$@"' 0 "$SONDE" top --once --json -d 500ms -n 5 -p $pid
holds "$(section threads .omitted) > 900"
lacks "$out" "too many open files"

# Processes that cannot be observed.
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
