# stat.sh: the figures of sonde stat equal those of getrusage() and /usr/bin/time for the same run. It exits the way the
# program does, and does not disturb the program even if its own output fails.
# measures in part: number of readings in an interval, times compared with other readings
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
uses=$(target uses)
behave=$(target behave)
# used COMMAND…: writes the command's output to .out, and what it used to used.json.
used() {
	run 0 "$SONDE" stat -f --json -o used.json "$@"
	[ ! -s .err ] || fail "it says something beside -o"
}
figure() {
	jq ".$1" used.json
}
said() { # by getrusage() in the program
	awk -v name="$1" '$1 == name { print $2 }' .out
}

# The figures of getrusage() at the program's end, and those that the kernel gives to the process that waits for the
# program, differ only by the exit itself.
used -- "$uses" faults 20000
holds "$(figure memory.faults_minor) >= 20000 && $(figure memory.faults_minor) >= $(said minor)"
near "$(figure memory.faults_minor)" "$(said minor)" 100
near "$(figure memory.faults_major)" "$(said major)" 5
# The kernel counts pages by CPU while a program runs, and adds them up at its end.
cpus=$(getconf _NPROCESSORS_ONLN)
near "$(figure memory.peak_rss_b)" "$(said rss_kib) * 1024" "((64 + 4 * $cpus) * $cpus * $(getconf PAGESIZE))"
holds "$(figure memory.peak_rss_b) >= 20000 * $(getconf PAGESIZE)"
used -- "$uses" sleeps 500
holds "$(figure waiting.switches_voluntary) >= 500"
near "$(figure waiting.switches_voluntary)" "$(said voluntary)" 10
measured near "$(figure waiting.switches_involuntary)" "$(said involuntary)" 10
used -- "$uses" spins 400
measured near "$(figure timing.cpu_s)" "($(said user_us) + $(said system_us)) / 1e6" 0.02
holds "$(figure timing.cpu_s) >= 0.4 && $(figure timing.wall_s) >= 0.2"
near "$(figure timing.cpu_s)" "$(figure timing.user_s) + $(figure timing.system_s)" 0.000001
near "$(figure compute.cpu_utilization)" "$(figure timing.cpu_s) / $(figure timing.wall_s)" 0.0001
near "$(figure compute.cpu_machine_share)" "$(figure compute.cpu_utilization) / $(figure compute.cores)" 0.0001
equal "$(figure compute.cores)" "$cpus"

# FLOP from the processor's counters: a figure if they are available and were requested, else the reason, and never 0.
matches "$(figure compute.absent.flop)" "were not used: --flop"
used --flop -- "$uses" spins 200
if [ "$(figure compute.flop)" = null ]; then
	equal "$(figure compute.flop_per_s)" null
	run 0 "$SONDE" stat --flop -r 2 -- true
	has "$(tr -s '\n ' ' ' <.err)" "FLOP are unknown: $(figure compute.absent.flop | tr -d '"')"
	run 0 "$SONDE" stat -r 2 -- true
	lacks "$err" "FLOP"
	equal "$(figure compute.absent.flop)" "$("$SONDE" doctor --json | jq '.sections[0].rows[] | select(.check == "flop") | .found')"
else
	holds "$(figure compute.flop) > 0"
fi

# Figures of a whole tree, also if children start and exit faster than they can be read.
used -- "$uses" storm 300
measured near "$(figure timing.cpu_s)" "($(said user_us) + $(said system_us) + $(said children_us)) / 1e6" 0.03
holds "$(figure memory.faults_minor) >= 10 * $(said forks)"
used -- "$uses" forks 3
holds "$(figure timing.cpu_s) >= 0.06 && $(figure processes.count) >= 2"

# If nobody else forks, it is known whether all children were seen: those that live on, and those that start and exit.
if unshare -pf --mount-proc true 2>said; then
	run 0 unshare -pf --mount-proc "$SONDE" stat -f --json -o used.json -- "$uses" crowd 5
	equal "$(jq -c '[.process_count_is_at_least, .processes.count]' used.json)" '[false,6]'
	run 0 unshare -pf --mount-proc "$SONDE" stat -f --json -o used.json -- "$uses" storm 300
	equal "$(figure process_count_is_at_least)" true
	holds "$(figure processes.count) < $(said forks)"
	run 0 unshare -pf --mount-proc "$SONDE" stat -- sh -c "'$uses' storm 300; exec '$uses' crowd 3"
	has "$(tr -s '\n ' ' ' <.err)" "were seen; there may have been more"
	matches "$err" 'all processes, [0-9]+ seen'
else
	echo "no PID namespaces: not known whether all processes were seen"
fi

# Two threads want the only CPU that they may use: each waits while the other has it. How long a thread waited after its
# last reading, a tenth of a second or more before its end, is not known.
if command -v taskset >said && taskset -c 0 true 2>said; then
	used -- taskset -c 0 "$uses" spins 1200
	measured holds "$(figure waiting.runnable_s) >= 0.4 && $(figure waiting.runnable_s) <= 2 * $(figure timing.wall_s)"

	# Attached processes: of three processes with two threads each on one CPU, five threads wait at a time. How long
	# they waited before is not included.
	taskset -c 0 sh -c 'for child in 1 2 3; do "$0" spins 20000 >said & done; wait' "$uses" &
	parent=$!
	sleep 2
	used -p $parent -d 1s
	measured holds "$(figure waiting.runnable_s) >= 0.4 && $(figure waiting.runnable_s) <= 6 * $(figure timing.wall_s)"
	measured holds "$(figure timing.wall_s) <= 2"
	{ kill $(cat /proc/$parent/task/$parent/children) && wait $parent; } 2>said || true
fi

# Attached processes that sleep waited before, but do not wait now; the memory that they hold is also their mean.
sh -c 'for child in 1 2 3; do
		sh -c "i=0; while [ \$i -lt 100000 ]; do i=\$((i + 1)); done; echo >slept-$child; exec sleep 60" &
	done
	wait' >said 2>&1 &
parent=$!
wait_for test -e slept-1 -a -e slept-2 -a -e slept-3
sleep 0.5
used -p $parent -d 1s
measured holds "$(figure waiting.runnable_s) <= 0.1 && $(figure timing.wall_s) <= 2"
holds "$(figure memory.mean_rss_b) >= 0.9 * $(figure memory.initial_rss_b)"
holds "$(figure memory.mean_rss_b) <= 1.1 * $(figure memory.final_rss_b)"
{ kill $(cat /proc/$parent/task/$parent/children) && wait $parent; } 2>said || true

# Figures that are polled while the program runs. It runs until a reading does not include the memory that it freed,
# however late that reading is.
has_given_back() {
	"$SONDE" report -q --json --section resources growing.sonde |
		jq -e ".sections[0].rows | any(.rss_max_b >= 60 * 1048576 and .rss_last_b < 30 * 1048576)"
}
"$SONDE" stat -f --json -o used.json --record growing.sonde -- sh -c "sleep 0.5; exec '$uses' gives 60 ." >.out 2>.err &
stat=$!
wait_for has_given_back >said
touch seen
wait $stat
[ ! -s .err ] || fail "it says something beside -o"
holds "$(figure memory.peak_rss_b) >= 60 * 1048576 && $(figure memory.initial_rss_b) < 30 * 1048576"
holds "$(figure memory.final_rss_b) < 30 * 1048576" "(it gave them back)"
# The program had them for 1.2 s, and the time between two readings may be missed twice.
measured holds "$(figure memory.mean_rss_b) * $(figure timing.wall_s) >= 60 * 1048576 * (1.2 - 2 * $(figure sampling.interval_max_s))"
holds "$(figure memory.mean_rss_b) < $(figure memory.peak_rss_b)"
measured holds "$(figure sampling.readings) >= 3 && $(figure sampling.interval_s) > 0 && $(figure sampling.jitter_s) >= 0"
equal "$(figure sampling.interval_asked_s)" 0.1
used -- "$uses" threads 20
equal "$(figure processes.threads_peak)" "$(said threads)"
used -- "$uses" files 50
holds "$(figure io.files_peak) >= 53 && $(figure io.files_peak) <= 60"
used -- "$uses" writes 3000000 .
holds "$(figure io.written_all_b) >= 3000000 && $(figure io.written_all_b) <= 3010000"

# Memory of a process from before its exec does not belong to the program, although the kernel's high-water mark
# includes it; here a program prints its own peak. The high-water mark lacks pages that the kernel has not added up yet.
# If the mark shows nothing about the program, a bound is reported.
if [ -x "$SONDE_BUILD/tests/targets/small" ]; then
	unsure=$(((64 + 4 * cpus) * cpus * $(getconf PAGESIZE)))
	for kib in 0 600; do
		run 0 "$SONDE" stat -f --json -o used.json -- "$SONDE_BUILD/tests/targets/small" $kib
		bound=$(figure memory.absent.peak_rss_b | sed -nE 's/.*less than the ([0-9]+) kB that the process had before its program started.*/\1/p')
		if [ "$(figure memory.peak_rss_b)" = null ]; then
			holds "$bound > 0 && $bound * 1000 >= $out - $unsure" "the bound of a peak that is not known"
		else
			holds "$(figure memory.peak_rss_b) <= $out + 150000 && $(figure memory.peak_rss_b) >= $out - $unsure"
		fi
	done
	run 0 "$SONDE" stat -q -- "$SONDE_BUILD/tests/targets/small" 0
	matches "$err" '^Peak RAM: (< )?[0-9.]+ [kM]B, Wall Time: '
fi

# /usr/bin/time on the same run: it waits for the program as sonde waits for /usr/bin/time.
if [ -x /usr/bin/time ]; then
	used -- /usr/bin/time -v -o timed "$uses" memory 80
	timed() { sed -n "s/^\s*$1.*: //p" timed; }
	most=$(($(timed 'Maximum resident set size') * 1024)) # of the largest process; sonde adds time's own
	holds "$(figure memory.peak_rss_b) >= $most && $(figure memory.peak_rss_b) < $most + 4194304"
	near "$(figure memory.faults_minor)" "$(timed 'Minor (reclaiming a frame)')" 500
	measured near "$(figure timing.cpu_s)" "$(timed 'User time') + $(timed 'System time')" 0.05
fi

# Every figure that is null has a reason next to it; the keys are those that --help lists.
used -- true
equal "$(jq '[.. | objects | select(has("absent")) | . as $group | .absent | to_entries[] |
	select($group[.key] != null or (.value | length) == 0)] | length' used.json)" 0
equal "$(jq '[to_entries[] | select(.value | type == "object") | .value | . as $group | to_entries[] |
	select(.value == null and ($group.absent[.key] // "") == "")] | length' used.json)" 0
equal "$(jq -r '.schema, .version, .exit_code, .signal, .command' used.json | tr '\n' ' ')" "sonde-stat 1 0 null true "
run 0 "$SONDE" stat --help
for key in $(grep -oE '^  [a-z]+\.[a-z_]+ ' .out); do
	equal "$key $(jq "[paths | map(tostring) | join(\".\")] | any(. == \"$key\")" used.json)" "$key true"
done

# For people: the table and the line, which stands alone with -q, and nothing on standard output.
run 0 "$SONDE" stat -- "$uses" memory 40
has "$(tail -n 1 .err)" "Peak RAM: "
matches "$err" '^Peak RAM: [0-9.]+ MB, Wall Time: [0-9.]+ m?s, CPU Util: [0-9.]+ %$'
for group in Timing Memory Waiting I/O Processes "System" Readings; do
	matches "$err" "^$group$"
done
fits 120 .err
lacks "$out" "Peak RAM"
run 0 env COLUMNS=80 "$SONDE" stat -- "$uses" memory 1
fits 80 .err
lacks "$err" "swap"
run 0 "$SONDE" stat -q -- true
equal "$(wc -l <.err)" 1
matches "$err" '^Peak RAM: .*, Wall Time: '

# Many processes: the largest have rows, and the totals cover all of them.
run 0 env COLUMNS=80 "$SONDE" stat -- "$uses" crowd 60
matches "$err" '^By process$'
matches "$err" 'all (61 processes|processes, 61 seen)'
matches "$err" '\([0-9]+ more rows\)'

# Intervals, attaching, and recordings that are kept.
used --interval 20ms -- sleep 0.5
equal "$(figure sampling.interval_asked_s)" 0.02
run 125 "$SONDE" stat --interval 1ms -- true
has "$err" "the minimum is 10ms"
sleep 20 &
sleeper=$!
used -p $sleeper -d 500ms
equal "$(jq -r .attached_pid used.json)" $sleeper
equal "$(jq -r .exit_code used.json)" null
measured holds "$(figure timing.wall_s) >= 0.5 && $(figure timing.cpu_s) < 0.1"
kill -0 $sleeper || fail "it did not survive"
if [ "$(id -u)" -eq 0 ]; then
	run 125 as_user "$SONDE" stat -p $sleeper -d 100ms
	matches "$err" "^sonde stat: cannot attach to process $sleeper: Operation not permitted"
fi
{ kill $sleeper && wait $sleeper; } 2>said || true
run 0 "$SONDE" stat -q --record kept.sonde -- "$uses" memory 5
run 0 "$SONDE" report --section resources,machine kept.sonde
has "$out" "Resources of processes"
has "$out" "System"
matches "$out" 'readings .every 100 ms requested.: '

# It ends as the program ends.
for code in 1 42 255; do
	run $code "$SONDE" stat -- sh -c "exit $code"
	has "$err" "exit code $code"
done
run 143 "$SONDE" stat -f --json -o used.json -- sh -c 'kill -TERM $$'
equal "$(jq -c '[.exit_code, .signal]' used.json)" "[null,15]"
run 127 "$SONDE" stat -- ./no-such-program
has "$err" "sonde stat: cannot run './no-such-program': No such file"
echo 'exit 0' >plain
run 126 "$SONDE" stat -- ./plain
run 125 "$SONDE" stat
has "$err" "sonde stat -- ./app"
run 125 "$SONDE" stat -p 1 -- true
run 125 "$SONDE" stat -o - -- true
has "$err" "the program writes to standard output"
"$SONDE" stat -q -- "$behave" waits >ready 2>.err &
stat=$!
wait_for test -s ready
kill -TERM $stat
code=0
{ wait $stat; } 2>said || code=$?
equal $code 143
matches "$(cat .err)" '^Peak RAM: '

# The program gets Ctrl-C once; what it used is reported all the same.
if command -v python3 >said; then
	cat >type.py <<'P'
import os, pty, select, sys, time
pid, terminal = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
said, typed, deadline = b"", False, time.time() + 30
while time.time() < deadline:
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            said += os.read(terminal, 65536)
        except OSError:
            break
    if b"ready" in said and not typed:
        time.sleep(0.3)
        typed = os.write(terminal, b"\x03")
status = os.waitpid(pid, 0)[1]
print("signal" if os.WIFSIGNALED(status) else "exit", os.WTERMSIG(status) or os.WEXITSTATUS(status))
print(said.decode(errors="replace").replace("\r", ""))
P
	python3 type.py "$SONDE" stat -q -- "$behave" counts >typed
	equal "$(head -n 1 typed)" "exit 0"
	matches "$(cat typed)" '^(\^C)?1$'
	matches "$(cat typed)" '^(\^C)?Peak RAM: '
	python3 type.py "$SONDE" stat -q -- "$behave" waits >typed
	equal "$(head -n 1 typed)" "signal 2"
	matches "$(cat typed)" '^(\^C)?Peak RAM: '
fi

# The program has its own streams and no other descriptors, and does not notice sonde.
head -c 100000 /dev/urandom >bytes
"$SONDE" stat -q -- cat <bytes >copy 2>said || fail "cat failed"
cmp bytes copy
# shellcheck disable=SC2016
sees='ls /proc/self/fd | tr "\n" " "; env | grep -E "LD_PRELOAD|SONDE_" | grep -v -E "^SONDE(_BUILD)?="; exit 9'
for closed in "" "2>&-" "<&-" "2>&- <&-"; do
	plain=$(eval "sh -c '$sees' $closed" || true)
	code=0
	recorded=$(eval "'$SONDE' stat -- sh -c '$sees' $closed" 2>.err) || code=$?
	equal "$closed: $recorded" "$closed: $plain"
	equal $code 9
done

# Repeated runs: as many as requested, each from the same initial state, and their statistics.
echo 0 >times
count='n=$(($(cat times) + 1)); echo $n >times; echo "run $n"; trap "" PIPE; ulimit -n; exit $((n == 4 ? 3 : 0))'
limit=$(ulimit -n)
run 3 "$SONDE" stat -f -r 5 -w 2 --prepare 'cat; echo prepared; echo x >>prepared' --json -o used.json -- sh -c "$count"
equal "$(cat times)" 7
equal "$(grep -c . prepared)" 7
equal "$out" "$(for n in 1 2 3 4 5 6 7; do echo "run $n"; echo "$limit"; done)"
equal "$(jq -c '[.schema, .exit_code, .warmups, (.runs | length)]' used.json)" '["sonde-stat",3,2,5]'
equal "$(jq -c '[.runs[].exit_code]' used.json)" '[0,3,0,0,0]'
equal "$(jq '[.runs[].timing.wall_s] | sort | .[2]' used.json)" "$(figure summary.timing.wall_s.median)"
near "$(jq '[.runs[].timing.wall_s] | add / 5' used.json)" "$(figure summary.timing.wall_s.mean)" 1e-9
holds "$(figure summary.timing.wall_s.min) <= $(figure summary.timing.wall_s.median)"
holds "$(figure summary.timing.wall_s.ci95_low) <= $(figure summary.timing.wall_s.mean)"
# 2.77645: Student's t for 4 degrees of freedom.
near "$(figure summary.timing.wall_s.ci95_high)" \
	"$(figure summary.timing.wall_s.mean) + 2.77645 * $(figure summary.timing.wall_s.std) / sqrt(5)" 1e-9
equal "$(jq -c '[.summary.timing.wall_s.count, .summary.memory.faults_minor.count]' used.json)" '[5,5]'
equal "$(jq -c '[.runs[0].timing | keys[]] == [.summary.timing | keys[]]' used.json)" true
equal "$(jq -c '.runs[0].system.disks' used.json)" null
run 3 env COLUMNS=80 "$SONDE" stat -r 3 -- sh -c 'exit 3'
matches "$err" '^3 runs$'
matches "$err" '^ +mean +±95 % +deviation +least +median +most$'
matches "$err" '^! run 1 \(exit code 3\), 2 \(exit code 3\), 3 \(exit code 3\) failed'
matches "$err" '^Peak RAM: .*, Wall Time: [0-9.]+ .s ± [0-9.]+ .s \(3 runs\), CPU Util: '
fits 80 .err
run 0 env LC_ALL=C COLUMNS=80 "$SONDE" stat -q -r 2 -- true
matches "$err" '^Peak RAM: .* \+- '
! LC_ALL=C grep -qP '[^\x00-\x7f]' .err || fail "not ASCII"
# A run that takes far longer than the others is named.
echo 0 >times
run 0 "$SONDE" stat -r 6 -- sh -c 'n=$(($(cat times) + 1)); echo $n >times; [ $n -ne 5 ] || sleep 3'
measured matches "$err" "^! outliers in wall time: .*5 \\(3\\.[0-9]+ s\\)"
# In each run, the program's signal dispositions are the ones that sonde inherited.
cat >ignored.sh <<'EOF'
grep SigIgn /proc/self/status
EOF
run 0 "$SONDE" stat -q -r 3 -- sh ignored.sh
equal "$(sort -u .out | wc -l)" 1
equal "$(sort -u .out)" "$(sh ignored.sh)"
# An interrupted run does not count, and no run follows it; a failure before the program starts is reported as sonde's
# own.
run 130 timeout --foreground --preserve-status -s INT 1.3 "$SONDE" stat -r 100 -- sleep 0.5
measured matches "$err" '^! interrupted: [12] of 100 runs were made$'
run 125 "$SONDE" stat -f -r 3 --prepare 'exit 4' -o used.json -- sh -c 'echo run'
has "$err" "--prepare 'exit 4' failed (exit code 4): the command was not run"
equal "$out" ""
run 127 "$SONDE" stat -r 3 -o none.json -- ./no-such-program
equal "$(grep -c "cannot run" .err)" 1
[ ! -e none.json ] || fail "an empty file is left"
run 125 "$SONDE" stat -r 3 -p $$
has "$err" "need a command"
run 125 "$SONDE" stat -r 3 --record kept.sonde -- true
has "$err" "--record keeps one recording"
run 125 "$SONDE" stat --heap -- true
has "$err" "unknown option --heap; 'sonde record' has it"

# Disks that are full or not writable.
run 6 "$SONDE" stat -o /dev/full -- sh -c 'echo out; exit 6'
equal "$out" out
has "$err" "/dev/full: No space left on device"
for way in "" "--json" "-q" "--json -r 2"; do
	# shellcheck disable=SC2086
	run 125 "$SONDE" stat $way -o /dev/full -- sh -c 'echo out >>ran'
	has "$err" "sonde stat: /dev/full: No space left on device"
done
equal "$(wc -l <ran)" 5
run 143 "$SONDE" stat -o /dev/full -- sh -c 'kill -TERM $$'
run 125 "$SONDE" stat -o /dev/full -p $$ -d 100ms
run 125 "$SONDE" stat -o /proc/none/used -- sh -c 'echo out'
equal "$out" ""
echo precious >old
run 125 "$SONDE" stat -o old -- sh -c 'echo out'
equal "$out$(cat old)" precious
mkdir closed
chmod 555 closed
[ "$(id -u)" -ne 0 ] || chown root closed
run 7 as_user env TMPDIR="$work/closed" sh -c "cd closed; '$SONDE' stat -q -- sh -c 'exit 7'"
matches "$err" '^Peak RAM: '
code=0
bash -c 'ulimit -f 1; exec "$@" 2>&1' 0 "$SONDE" stat -q -- sh -c 'sleep 0.3; exit 7' | cat >.out || code=$?
equal $code 7
measured matches "$(cat .out)" 'Wall Time: [3-9][0-9]{2} ms|Wall Time: .* s'

# Without /proc/pressure, where the kernel or a container leaves it out.
if [ "$(id -u)" -eq 0 ] && unshare -m sh -c 'mount -t tmpfs none /proc/pressure' 2>.err; then
	run 0 unshare -m sh -c 'mount -t tmpfs none /proc/pressure && exec "$@"' 0 "$SONDE" stat -f --json -o used.json -- sleep 0.3
	equal "$(figure pressure.cpu_some)" null
	matches "$(figure pressure.absent.cpu_some)" '/proc/pressure'
	run 0 unshare -m sh -c 'mount -t tmpfs none /proc/pressure && exec "$@"' 0 "$SONDE" stat -- sleep 0.3
	matches "$(tr -s '\n ' ' ' <.err)" 'Not measured: CPU pressure, mem pressure, I/O pressure: the kernel has no pressure figures \(/proc/pressure\)'
fi

# Without /proc: the figures from wait(2) are reported, and all other figures are unknown, with the reason.
if [ "$(id -u)" -eq 0 ] && unshare -m sh -c 'mount -t tmpfs none /proc' 2>.err; then
	bare() { # CODE COMMAND…
		run "$1" unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' 0 "${@:2}"
	}
	bare 0 "$SONDE" stat -f --json -o used.json -- "$uses" faults 20000
	near "$(figure memory.faults_minor)" "$(said minor)" 100
	measured near "$(figure timing.cpu_s)" "($(said user_us) + $(said system_us)) / 1e6" 0.02
	holds "$(figure memory.peak_rss_b) >= 20000 * $(getconf PAGESIZE)"
	equal "$(jq -c '[.memory.mean_rss_b, .waiting.runnable_s, .io.read_all_b, .system.cpu, .pressure.cpu_some]' used.json)" \
		'[null,null,null,null,null]'
	equal "$(jq '[.memory, .waiting, .io, .system, .network, .pressure | .absent[]] | map(select(startswith("/proc is not mounted") | not)) | length' used.json)" 0
	equal "$(figure process_count_is_at_least)" true
	# The memory of the process before its exec cannot be read either: a small program's peak is not reported.
	bare 0 "$SONDE" stat -f --json -o used.json -- "$uses" faults 1
	equal "$(figure memory.peak_rss_b)" null
	matches "$(figure memory.absent.peak_rss_b)" 'less than the [0-9]+ kB that the process had before its program started'
	bare 3 "$SONDE" stat -- sh -c 'exit 3'
	equal "$(tr -s '\n ' ' ' <.err | grep -o '/proc is not mounted: process use is unknown' | wc -l)" 1
	bare 0 "$SONDE" stat -q -r 2 -- true
	bare 0 "$SONDE" top --json -d 1 -- "$uses" spins 300
	has "$out" "/proc is not mounted: process use is unknown"
fi
