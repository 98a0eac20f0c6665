# critical-path.sh: the critical path of programs whose threads and processes wait for each other on a known schedule,
# and the predicted gain if one of their parts were faster (`sonde advise --what-if`).
# measures: times on the critical path
# timeout: 240
source "$(dirname "$0")/../lib.sh"
need jq
need_perf
critical=$(target critical)

# on FILE KIND NAME: time of an element on the path, in ms.
on() {
	rows "$1" critical-path | jq --arg k "$2" --arg n "$3" '[.[] | select(.kind == $k and .name == $n).time_ns] | total | . / 1e6'
}

# by FILE THREAD: running time of a thread on the path, in ms. The thread must be in the recording.
by() {
	equal "$(rows "$1" threads | jq --arg t "$2" 'any(.thread == $t)')" true
	rows "$1" critical-steps | jq --arg t "$2" '[.[] | select(.thread == $t and .state == "running").duration_ns] | total | . / 1e6'
}

# wanted FILE THREAD: ms of the thread's segments in which it ran or waited for a CPU: a thread that runs half as long
# also waits half as long.
wanted() {
	rows "$1" critical-steps | jq --arg t "$2" '[.[] | select(.thread == $t and (.state == "running" or .state == "runnable")).duration_ns] |
		total | . / 1e6'
}

# Segments and elements each add up to the length of the path, to the ns.
whole() {
	local elements steps
	elements=$(rows "$1" critical-path | jq '[.[].time_ns] | total')
	steps=$(rows "$1" critical-steps | jq '[.[].duration_ns] | total')
	holds "$steps > 0"
	equal "$elements" "$steps"
	equal "$("$SONDE" advise -q --json --what-if thread=critical,speed=1 "$1" | jq -r '.sections[0].rows[0].predicted_ns')" "$steps"
}

# The longer half is on the path and the shorter is not; the main thread's own work before and after is.
run 0 "$SONDE" record -q --threads -o join.sonde -- "$critical" join 5 150
whole join.sonde
holds "$(by join.sonde second) >= 135" "the longer half"
holds "$(by join.sonde first) < $(by join.sonde second) / 3" "the shorter half"
holds "$(rows join.sonde threads | jq '[.[] | select(.thread == "first").cpu_ns] | total') >= 4500000" "which worked, too"
holds "$(by join.sonde critical) >= 70" "before and after"
equal "$(on join.sonde join critical)" 0

# At twice the speed the longer half saves up to half of its time on the path, never more (CPU time taken by a
# hypervisor looks like running, so no exact figure is known). The shorter half saves nothing. An unknown thread is
# rejected.
saved() {
	"$SONDE" advise -q --json --what-if "$2" "$1" | jq '.sections[0].rows[0] | (.span_ns - .predicted_ns) / 1e6'
}
second=$(by join.sonde second) faster=$(saved join.sonde thread=second,speed=2)
holds "$faster <= 0.5 * $(wanted join.sonde second) + 0.01 && $faster > 0.3 * $second" "a faster half"
holds "$(saved join.sonde thread=first,speed=inf) <= $(wanted join.sonde first) + 0.01" "a faster half that nobody waits for"
run 2 "$SONDE" advise --what-if thread=nobody,speed=2 join.sonde
has "$err" "the recording has no thread 'nobody'"
equal "$out" ""
run 2 "$SONDE" advise --what-if thread=second,speed=1e18 join.sonde
has "$err" "N is from 0.001 to 1e9, or inf"
run 2 "$SONDE" advise --what-if thread=second join.sonde
run 0 "$SONDE" advise join.sonde
has "$out" "Findings: what to fix first"

# Lock convoy: the thread that holds the lock is on the path, so all five threads are, one after the other.
run 0 "$SONDE" record -q --threads -o locks.sonde -- "$critical" locks 5 20
whole locks.sonde
holds "$(by locks.sonde critical) >= 90" "what runs in the lock"
equal "$(on locks.sonde mutex the_lock)" 0
faster=$(saved locks.sonde lock=the_lock,speed=2)
holds "$faster >= 35 && $faster <= 0.5 * $(wanted locks.sonde critical) + 0.01" "a faster holder"

# Pipeline: the slowest stage is on the path. While the last stage waits for a CPU, items pile up in front of it and
# are on the path in its place; how many depends on what else the system runs.
run 0 "$SONDE" record -q --threads --io -o stages.sonde -- "$critical" stages 15 1 20 1
whole stages.sonde
slow=$(on stages.sonde zone 'stage 2') fast=$(on stages.sonde zone 'stage 1') last=$(on stages.sonde zone 'stage 3')
holds "$slow > 5 * ($fast + $last)" "the slow stage"
waited=$(rows stages.sonde critical-path | jq '[.[] | select(.state == "runnable").time_ns] | total | . / 1e6')
faster=$(saved stages.sonde 'zone=stage 2,speed=2')
holds "$faster > 0.25 * $slow && $faster <= 0.5 * ($slow + $waited) + 0.01" "a faster slow stage"

# The stages do different things, as their zones show, so they are not reported as unequal shares of one task.
run 0 "$SONDE" advise -q stages.sonde
[[ $out == *"Noisy run: "* ]] || has "$out" "rule " # noisy runs get no time findings
lacks "$out" "rule imbalance"

# In a Chrome trace the path is a track of its own, segment by segment without gaps.
run 0 "$SONDE" export -q -f chrome -o stages.json stages.sonde
jq '[.traceEvents[] | select(.cat == "critical path" and .ph == "X")]' stages.json >path.json
equal "$(jq 'map(.dur * 1000 | round) | total' path.json)" "$(rows stages.sonde critical-steps | jq '[.[].duration_ns] | total')"
equal "$(jq '[range(1; length) as $i | select((.[$i].ts - .[$i - 1].ts - .[$i - 1].dur) | fabs > 0.0005)] | length' path.json)" 0
equal "$(jq '[.traceEvents[] | select(.ph == "M" and .args.name == "critical path")] | length' stages.json)" 1
equal "$(jq .otherData.critical_path_steps stages.json)" "$(jq length path.json)"

# Two alternating threads: all their work is on the path, because each post and signal is recorded with its thread.
run 0 "$SONDE" record -q --threads -o turns.sonde -- "$critical" turns 10 8
whole turns.sonde
holds "$(by turns.sonde critical) >= 152" "both threads"
blocked=$(rows turns.sonde critical-path | jq '[.[] | select(.kind == "condition" or .kind == "semaphore").time_ns] | total | . / 1e6')
holds "$blocked < 8" "conditions and semaphores"
run 0 "$SONDE" report --section locks turns.sonde
has "$out" "lock"
lacks "$out" "explains less than half"

# Children that run one after the other, with waitpid.
run 0 "$SONDE" record -q --threads -o children.sonde -- "$critical" children 60 40
whole children.sonde
holds "$(by children.sonde critical) >= 95" "both children"
equal "$(on children.sonde child critical)" 0

# Sleeping is reported as sleeping, spinning as running.
run 0 "$SONDE" record -q --threads -o sleep.sonde -- "$critical" sleep 100
whole sleep.sonde
holds "$(on sleep.sonde sleep critical) >= 95"
run 0 "$SONDE" record -q -o spin.sonde -- "$critical" spin 100
whole spin.sonde
holds "$(by spin.sonde critical) >= 95"

# Without privileges only calls are recorded: no time counts as running, and the path still covers the whole span.
run 0 as_user "$SONDE" record -q --no-perf --threads -o calls.sonde -- "$critical" join 5 150
whole calls.sonde
equal "$(by calls.sonde second)" 0
run 0 "$SONDE" report --section critical-path calls.sonde
matches "$out" "context switches do not show"
