# resources.sh: the reported resource use of processes and the system agrees with programs that use known amounts, with
# getrusage(), with time -v, and with cgroups.
# measures: number of readings in an interval
# timeout: 180
. "$(dirname "$0")/../lib.sh"

uses=$SONDE_BUILD/tests/targets/uses
series=$SONDE_BUILD/tests/targets/series

# use WHAT…: records the program with $options; its output is in .said, its series in .series, its pid in $pid.
options=()
use() {
	run 0 "$SONDE" record -q -f -o run.sonde "${options[@]}" -- "$uses" "$@"
	cp .out .said
	"$series" run.sonde >.series
	pid=$(awk '$1 { print $1; exit }' .series)
}

# of METRIC COLUMN [OBJECT [PID]]: a column of a series: 4 count, 5 first, 6 last, 7 minimum, 8 maximum.
of() {
	figure_of "$(awk -v metric="$1" -v column="$2" -v object="${3:--}" -v pid="${4:-$pid}" \
		'$1 == pid && $2 == metric && $3 == object { print $column; exit }' .series)" "$1 of ${4:-$pid}"
}

said() {
	figure_of "$(awk -v name="$1" '$1 == name { print $2 }' .said)" "$1, as the program says"
}

end() {
	figure_of "$(awk -v name="end.$1" -v pid="$pid" '$1 == pid && $2 == name { print $3 }' .series)" "$1 at the end"
}

# between NAME VALUE LEAST MOST
between() {
	[ -n "$2" ] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || fail "$1: '$2' is not between $3 and $4"
}

# --- one process ------------------------------------------------------------------------------------------------------

use memory 64
peak=$(of memory.rss 8)
between "resident at most" "$peak" $((64 << 20)) $((68 << 20))
between "the kernel's peak" "$(of memory.peak_rss 8)" $((64 << 20)) $((68 << 20))
between "resident at the end" "$(of memory.rss 6)" 1 $((5 << 20))
between "swapped out" "$(of memory.swap 5)" 0 $((1 << 20))
between "proportional" "$(of memory.pss 8)" 1 $((68 << 20))
# The first reading is taken before the program has done much, the last after it has ended.
[ "$(of cpu.user 4)" -ge 5 ] || fail "only $(of cpu.user 4) points in 1.4 s"
between "faults up to the end" "$(of faults.minor 6)" "$(said minor)" $(($(said minor) + 100))
equal "$(of threads 8)" 1

use faults 5000
between "minor faults" "$(of faults.minor 6)" 5000 5500
equal "$(of faults.minor 6)" "$(end minor_faults)"
equal "$(of faults.major 6)" "$(end major_faults)"

use sleeps 300
between "voluntary switches" "$(of switches.voluntary 6)" 300 330
equal "$(of switches.voluntary 6)" "$(end voluntary_switches)"
equal "$(of switches.involuntary 6)" "$(end involuntary_switches)"

# Both threads count, also the one that has ended; one thread alone would have half the time.
use handovers 2000
total=$(($(of switches.voluntary 6) + $(of switches.involuntary 6)))
between "switches of two threads" "$total" 2000 $(($(end voluntary_switches) + $(end involuntary_switches)))
equal "$(of threads 8)" 2

use files 50
equal "$(($(of files 8) - $(of files 5)))" 50

use writes 1234567 "$PWD"
words=$(stat -c %s .said) # it writes this when its work is done, and reads nothing afterwards
equal "$(of io.written_all 6)" $((1234567 + words))
between "written to storage" "$(of io.written 6)" 0 1400000

use spins 400
total=$((($(of cpu.user 6) + $(of cpu.system 6)) / 1000))
rusage=$((($(end user_ns) + $(end system_ns)) / 1000))
between "CPU time of two threads, us" "$total" 400000 $((rusage + 2)) # user and system time are each rounded down to a µs
between "CPU time by rusage, us" "$rusage" $((total - 2)) $((total + 5000))
equal "$(of threads 8)" 2

# --- a tree: each process apart, and one that is found without perf events -------------------------------------------

for options in "" "--no-perf"; do
	[ "$options" ] && options=("$options") || options=()
	use forks 3
	children=$(awk -v pid="$pid" '$1 && $1 != pid && $2 == "cpu.user" { print $1 }' .series)
	equal "$(wc -w <<<"$children")" 3
	for child in $children; do
		total=$((($(of cpu.user 6 - "$child") + $(of cpu.system 6 - "$child")) / 1000))
		used=$(said "child_${child}_us")
		between "CPU time of a child, us" "$total" $((used - 2000)) $((used + 2000))
	done
	total=$((($(of cpu.user 6) + $(of cpu.system 6)) / 1000))
	between "CPU time of the parent alone, us" "$total" 0 20000
	between "CPU time of all, us" "$((($(end user_ns) + $(end system_ns)) / 1000))" 60000 120000
done
options=()

# Resources of children that a process waited for belong to the children: nothing in a tree is counted twice. Children
# that start and end between readings are not lost.
all_of() { awk -v metric="$1" '$1 && $2 == metric { sum += $6 } END { printf "%.0f", sum }' .series; }
for options in "" "--no-perf"; do
	[ "$options" ] && options=("$options") || options=()
	use family 200000 "$PWD"
	parent=$pid
	words=$(stat -c %s .said)
	for times in 2 3 4; do
		child=$(said child_$times)
		line=$(grep "^child_$times " .said | wc -c)
		equal "$(of io.written_all 6 - "$child")" $((times * 200000 + line))
		equal "$(of io.read_all 6 - "$child")" 0
		between "a child's minor faults" "$(of faults.minor 6 - "$child")" $((times * 200)) $((times * 200 + 150))
		between "a child's waits" "$(of switches.voluntary 6 - "$child")" $((times * 20)) $((times * 20 + 40))
	done
	equal "$(all_of io.written_all)" $((10 * 200000 + words))
	equal "$(of io.written_all 6 - "$parent")" $((200000 + words - $(grep '^child_' .said | wc -c)))
	between "the parent's own minor faults" "$(of faults.minor 6 - "$parent")" 100 700
	between "minor faults of all" "$(all_of faults.minor)" $((950 * 200 / 100)) "$(end minor_faults)"
	between "waits of all" "$(all_of switches.voluntary)" 190 "$(end voluntary_switches)"
	pid=$parent
	use litter 300 "$PWD"
	equal "$(all_of io.written_all)" $((300 * 1000 + $(stat -c %s .said)))
done
options=()

# A reused pid is another process. The bytes written to choose that pid are the parent's.
for options in "" "--no-perf"; do
	code=0
	"$SONDE" record -q -f -o run.sonde $options -- "$uses" reuse 100000 "$PWD" >.out 2>.err || code=$?
	[ $code -ne 3 ] || break
	equal $code 0
	"$series" run.sonde >.series
	again=$(awk '$1 == "child_1" { print $2 }' .out)
	line=$(grep '^child_1 ' .out | wc -c)
	equal "$(awk -v pid="$again" '$1 == pid && $2 == "io.written_all" { print $6 }' .series | sort -n | xargs)" \
		"$((100000 + line)) 200000"
done
options=()

# --- totals are those of time -v --------------------------------------------------------------------------------------

if [ -x /usr/bin/time ]; then
	run 0 "$SONDE" record -q -f -o run.sonde -- /usr/bin/time -v "$uses" faults 3000
	"$series" run.sonde >.series
	time_of() { sed -nE "s/^\s*$1[^:]*: ([0-9.]+).*/\1/p" .err; }
	# time(1) reports the children that it waited for; the recording also has its own use.
	pid=$(awk '$1 { print $1; exit }' .series)
	between "minor faults" "$(end minor_faults)" "$(time_of Minor)" $(($(time_of Minor) + 400))
	between "voluntary switches" "$(end voluntary_switches)" "$(time_of Voluntary)" $(($(time_of Voluntary) + 10))
	run 0 /usr/bin/time -v -o timed "$SONDE" record -q -f -o run.sonde -- "$uses" faults 20000
	"$series" run.sonde >.series
	pid=$(awk '$1 { print $1; exit }' .series)
	between "peak, KiB" $(($(end peak_rss_b) / 1024)) 80000 "$(sed -nE 's/.*Maximum resident.*: ([0-9]+)/\1/p' timed)"
fi

# --- the machine ------------------------------------------------------------------------------------------------------

use sleeps 10
pid=0
equal "$(of memory.total 5)" "$(of memory.total 6)"
between "memory that is left" "$(of memory.available 6)" 1 "$(of memory.total 6)"
[ "$(of cpu.user 6)" -ge "$(of cpu.user 5)" ] || fail "CPU time went down"
[ "$(of threads 6)" -ge 2 ] || fail "no threads"
if [ -r /proc/pressure/memory ] && read -r first </proc/pressure/memory; then
	[ -n "$(of pressure.some 6 memory)" ] || fail "no pressure: $first"
else
	has "$(cat .series)" "/proc/pressure"
fi
[ -z "$(awk '$2 ~ /^disk/ { print $3 }' .series | grep -E '^(loop|ram|zram)')" ] || fail "a disk that is none"

# If the cgroup has a memory limit, that limit is the machine's memory size.
group=/sys/fs/cgroup/memory/sonde-test-$$
limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || { group=/sys/fs/cgroup/sonde-test-$$ limit=memory.max; }
if [ "$(id -u)" -eq 0 ] && mkdir "$group" 2>.err && echo 300000000 >"$group/$limit" 2>.err; then
	at_exit() { rmdir "$group" 2>/dev/null; }
	bytes=$(cat "$group/$limit")
	"$SONDE" record -q -f -o run.sonde -- sh -c "echo \$\$ >$group/cgroup.procs && exec $uses memory 50" >.out 2>.err
	"$series" run.sonde >.series
	name=/${group##*/}
	equal "$(of memory.total 7)" "$bytes"
	name=$(awk '$2 == "cgroup.memory_limit" { print $3 }' .series | tail -n 1)
	has "$name" "/sonde-test-$$"
	equal "$(of cgroup.memory_limit 6 "$name")" "$bytes"
	between "what the group uses" "$(of cgroup.memory 8 "$name")" $((50 << 20)) "$bytes"
	between "memory that is left" "$(of memory.available 7)" 1 $((bytes - (50 << 20)))
fi

# --- how often --------------------------------------------------------------------------------------------------------

options=(--interval 20ms)
use memory 1
points=$(of cpu.user 4)
options=(--interval 400ms)
use memory 1
[ "$points" -gt $((3 * $(of cpu.user 4))) ] || fail "$points points each 20 ms, $(of cpu.user 4) each 400 ms"
run 125 "$SONDE" record --interval 5ms -- true
has "$err" "the minimum is 10ms"

# With many processes, readings become less frequent to stay within the budget, and the report says so.
options=(--interval 10ms)
use crowd 300
cost=$(awk '$2 == "cost.resources.cpu_ns" { print $3 }' .series)
rounds=$(awk '$2 == "cost.resources.rounds" { print $3 }' .series)
matches "$(cat .series)" 'source.resources 2 .*read every .* ms instead of 10 ms: .* 0.2 % of a core'
[ "$rounds" -ge 1 ] && [ "$rounds" -lt 100 ] || fail "$rounds rounds of 300 processes took $cost ns"

# Short-lived processes and thousands of threads do not disturb it.
options=(--no-perf)
use storm 500
[ "$(said forks)" -gt 10 ] || fail "only $(said forks) forks"
options=()
use threads 3000
[ "$(of threads 8)" -gt 1 ] || fail "one thread of 3000"

# --- an ordinary user, and one who may not see --------------------------------------------------------------------------

mkdir -m 777 theirs
run 0 as_user "$SONDE" record -q -f -o user.sonde -- "$uses" writes 5000 "$PWD/theirs"
"$series" user.sonde >.series
pid=$(awk '$1 { print $1; exit }' .series)
[ "$(of io.written_all 6)" -ge 5000 ] || fail "an ordinary user's own writes are not known"
[ -n "$(of memory.pss 5)" ] || fail "an ordinary user's own memory is not known"

# --- counters of a trace ------------------------------------------------------------------------------------------------

if command -v jq >/dev/null; then
	options=()
	use spins 600
	run 0 "$SONDE" export -f chrome -o trace.json run.sonde
	cpu=$(jq --argjson pid "$pid" '[.traceEvents[] | select(.ph == "C" and .name == "cpu %" and .pid == $pid) | .args.user + .args.system] | max | floor' trace.json)
	between "CPU %" "$cpu" 1 250
	holds_in trace.json '[.traceEvents[] | select(.ph == "C" and .pid == 0) | .name] | contains(["cpu %", "load", "memory.available"])'
	equal "$(jq -r '[.traceEvents[] | select(.name == "process_name" and .pid == 0) | .args.name][0]' trace.json)" machine
fi

# --- descriptors run out: this is reported, and no figure is invented for what was not read --------------------------

few() { # LIMIT ARGUMENT…: sonde with so many descriptors
	bash -c 'ulimit -n "$1"; shift; exec "$@"' few "$1" "$SONDE" "${@:2}"
}
for limit in 16 20 24 30 32; do
	run 0 few "$limit" record -q -f -o few.sonde -- sh -c 'sleep 0.4 & sleep 0.4 & wait'
	run 0 "$SONDE" report --json few.sonde
	python3 -c '
import json, re, sys
report, limit = json.load(open(".out")), int(sys.argv[1])
summary = [section for section in report["sections"] if section["id"] == "summary"][0]
rows = {row["metric"]: row["value"] for row in summary["rows"]}
stolen = rows["timing.stolen_time_s"]
assert stolen is None or stolen < 60, f"stolen {stolen}"
words = open(".out").read()
assert "hidepid" not in words and "of other users" not in words, "a wrong reason"
said = re.search(r"hard limit of (\d+) open files was reached: raise it to ulimit -Hn (\d+)", words)
read = [section for section in report["sections"] if section["id"] == "resources"]
rows = [row for row in read[0]["rows"] if row["pid"]] if read else []
whole = len([row for row in rows if row["rss_last_b"] and row["written_all_b"] is not None]) == 3
assert said or whole, "not all was read, and no word of the limit"
assert not said or (int(said[1]) == limit and limit < int(said[2]) <= 512), said[0]
' "$limit" || fail "with $limit descriptors"
done

# The number of descriptors kept open is a share of the limit, so with 64 descriptors all of many processes are read,
# although reading them needs more in total.
for options in "" --no-perf --memory=20ms --threads; do
	# shellcheck disable=SC2086
	few 64 record -q -f -o more.sonde $options -- "$uses" crowd 20 >.more 2>&1 &
	more=$!
	# shellcheck disable=SC2086
	run 0 few 32 record -q -f -o few.sonde $options -- "$uses" crowd 20
	wait $more || fail "with 64 descriptors: $options: $(<.more)"
	"$series" more.sonde >.series
	! grep 'open files' .series || fail "with 64 descriptors: $options"
	equal "$(awk '$1 && $2 == "memory.rss" && $6' .series | wc -l)" 21
	"$series" few.sonde >.series
	grep -q 'open files' .series || equal "$(awk '$1 && $2 == "memory.rss" && $6' .series | wc -l)" 21
done

# If no process started or ended, there is no note about unseen processes.
run 0 "$SONDE" stat -- sleep 0.2
! grep -q 'living between two readings' .err || fail "a process alone: $(cat .err)"

# Time waiting for a CPU is known per thread. Two threads spin on one CPU: while one runs, the other waits.
if command -v taskset >.said && taskset -c 0 true 2>.said; then
	run 0 "$SONDE" record -q -f -o waited.sonde -- taskset -c 0 "$uses" spins 1200
	run 0 "$SONDE" report --json waited.sonde
	python3 -c '
import json
sections = {section["id"]: section for section in json.load(open(".out"))["sections"]}
rows = sections["resources"]["rows"]
threads = sections["threads"]["rows"]
assert len(rows) == 1 and len(threads) >= 2, rows
waited = rows[0]["runnable_ns"]
assert waited is not None and waited > 0.3 * rows[0]["cpu_ns"], (waited, rows[0]["cpu_ns"])
	' || fail "how long a process waited for a CPU"
fi

# --- attached: the CPU time of the run is that of the whole tree, over the recorded time -----------------------------

sh -c '"$0" spins 60000 & one=$!; "$0" spins 60000 & trap "kill $one $!; exit" TERM; wait' "$uses" >.said &
tree=$!
children() {
	[ "$(wc -w </proc/$tree/task/$tree/children)" = 2 ]
}
wait_for children
children_ms() { # CPU time of both by /proc/PID/stat
	cat $(printf '/proc/%s/stat ' $(cat /proc/$tree/task/$tree/children)) |
		awk -v hz="$(getconf CLK_TCK)" '{ sum += $14 + $15 } END { printf "%d", sum * 1000 / hz }'
}
before=$(children_ms)
run 0 "$SONDE" record -q -f -o tree.sonde -p $tree -d 1s
most=$(($(children_ms) - before))
kill $tree
wait $tree || true
run 0 "$SONDE" report --json tree.sonde
python3 -c '
import json, sys
most_s = int(sys.argv[1]) / 1000
sections = {section["id"]: section for section in json.load(open(".out"))["sections"]}
rows = {row["metric"]: row["value"] for row in sections["summary"]["rows"]}
read = sections["resources"]["rows"][0]["cpu_ns"] / 1e9
cpu, sampled, wall = rows["timing.cpu_time_s"], rows["samples.cpu_time_s"], rows["timing.wall_time_s"]
assert abs(cpu - read) < 0.001 + 0.001 * read, (cpu, read)
assert cpu <= most_s + 0.06, (cpu, most_s)
assert sampled is None or cpu > 0.8 * sampled - 0.05, (cpu, sampled)
assert cpu > 0.05 and rows["compute.cpu_utilization_percent"] > 0, cpu
' "$most" || fail "the CPU time of an attached tree"
