# critical-path.sh: the critical path of programs whose threads and processes wait for each other by a known schedule, and what they would
# have taken with a part of them faster.
# measures: times on the critical path
# timeout: 240
source "$(dirname "$0")/../lib.sh"
need jq
need_perf
critical=$(target critical)

# on FILE KIND NAME: ms that an element has on the path.
on() {
	rows "$1" critical-path | jq --arg k "$2" --arg n "$3" '[.[] | select(.kind == $k and .name == $n).time_ns] | total | . / 1e6'
}

# by FILE THREAD: ms of running steps of a thread, which has to be in the recording.
by() {
	equal "$(rows "$1" threads | jq --arg t "$2" 'any(.thread == $t)')" true
	rows "$1" critical-steps | jq --arg t "$2" '[.[] | select(.thread == $t and .state == "running").duration_ns] | total | . / 1e6'
}

# wanted FILE THREAD: ms of its steps in which it ran, or waited for a CPU: who runs half as long waits half as long, too.
wanted() {
	rows "$1" critical-steps | jq --arg t "$2" '[.[] | select(.thread == $t and (.state == "running" or .state == "runnable")).duration_ns] |
		total | . / 1e6'
}

# Whatever is on it, it is the span: steps and elements alike, to the ns.
whole() {
	local elements steps
	elements=$(rows "$1" critical-path | jq '[.[].time_ns] | total')
	steps=$(rows "$1" critical-steps | jq '[.[].duration_ns] | total')
	holds "$steps > 0"
	equal "$elements" "$steps"
	equal "$("$SONDE" advise -q --json --what-if thread=critical,speed=1 "$1" | jq -r '.sections[0].rows[0].predicted_ns')" "$steps"
}

# The longer half is on the path, the shorter is not, with the main thread's own before and after.
run 0 "$SONDE" record -q --threads -o join.sonde -- "$critical" join 5 150
whole join.sonde
holds "$(by join.sonde second) >= 135" "the longer half"
holds "$(by join.sonde first) < $(by join.sonde second) / 3" "the shorter half"
holds "$(rows join.sonde threads | jq '[.[] | select(.thread == "first").cpu_ns] | total') >= 4500000" "which worked, too"
holds "$(by join.sonde critical) >= 70" "before and after"
equal "$(on join.sonde join critical)" 0

# Twice as fast it saves half of its time, never more than half of what is on the path (a hypervisor's share of the CPU
# looks like running, so that only this is known); the shorter half saves nothing; a thread that is not there is refused.
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

# A convoy: whoever has the lock is on the path, all five of them, one after the other.
run 0 "$SONDE" record -q --threads -o locks.sonde -- "$critical" locks 5 20
whole locks.sonde
holds "$(by locks.sonde critical) >= 90" "what runs in the lock"
equal "$(on locks.sonde mutex the_lock)" 0
faster=$(saved locks.sonde lock=the_lock,speed=2)
holds "$faster >= 35 && $faster <= 0.5 * $(wanted locks.sonde critical) + 0.01" "a faster holder"

# A pipeline: the slowest stage is on the path. While the last one waits for a CPU items pile up before it, which are then
# on the path in its place: how many depends on what else the machine does.
run 0 "$SONDE" record -q --threads --io -o stages.sonde -- "$critical" stages 15 1 20 1
whole stages.sonde
slow=$(on stages.sonde zone 'stage 2') fast=$(on stages.sonde zone 'stage 1') last=$(on stages.sonde zone 'stage 3')
holds "$slow > 5 * ($fast + $last)" "the slow stage"
waited=$(rows stages.sonde critical-path | jq '[.[] | select(.state == "runnable").time_ns] | total | . / 1e6')
faster=$(saved stages.sonde 'zone=stage 2,speed=2')
holds "$faster > 0.25 * $slow && $faster <= 0.5 * ($slow + $waited) + 0.01" "a faster slow stage"

# Stages do different things, as their zones say: they are no unequal shares of one.
run 0 "$SONDE" advise -q stages.sonde
[[ $out == *"Noisy run: "* ]] || has "$out" "rule " # of a noisy run nothing is said
lacks "$out" "rule imbalance"

# In a trace of events it is a track of its own, step by step, without gaps.
run 0 "$SONDE" export -q -f chrome -o stages.json stages.sonde
jq '[.traceEvents[] | select(.cat == "critical path" and .ph == "X")]' stages.json >path.json
equal "$(jq 'map(.dur * 1000 | round) | total' path.json)" "$(rows stages.sonde critical-steps | jq '[.[].duration_ns] | total')"
equal "$(jq '[range(1; length) as $i | select((.[$i].ts - .[$i - 1].ts - .[$i - 1].dur) | fabs > 0.0005)] | length' path.json)" 0
equal "$(jq '[.traceEvents[] | select(.ph == "M" and .args.name == "critical path")] | length' stages.json)" 1
equal "$(jq .otherData.critical_path_steps stages.json)" "$(jq length path.json)"

# Two threads in turn: all that they do is on the path, since who posts and who signals is told.
run 0 "$SONDE" record -q --threads -o turns.sonde -- "$critical" turns 10 8
whole turns.sonde
holds "$(by turns.sonde critical) >= 152" "both threads"
blocked=$(rows turns.sonde critical-path | jq '[.[] | select(.kind == "condition" or .kind == "semaphore").time_ns] | total | . / 1e6')
holds "$blocked < 8" "conditions and semaphores"
run 0 "$SONDE" report --section locks turns.sonde
has "$out" "lock"
lacks "$out" "explains less than half"

# Children, one after the other, by waitpid.
run 0 "$SONDE" record -q --threads -o children.sonde -- "$critical" children 60 40
whole children.sonde
holds "$(by children.sonde critical) >= 95" "both children"
equal "$(on children.sonde child critical)" 0

# Sleep is sleep, and spinning is spinning.
run 0 "$SONDE" record -q --threads -o sleep.sonde -- "$critical" sleep 100
whole sleep.sonde
holds "$(on sleep.sonde sleep critical) >= 95"
run 0 "$SONDE" record -q -o spin.sonde -- "$critical" spin 100
whole spin.sonde
holds "$(by spin.sonde critical) >= 95"

# Without privileges: calls alone. Nothing is said to have run, and the path is still the span.
run 0 as_user "$SONDE" record -q --no-perf --threads -o calls.sonde -- "$critical" join 5 150
whole calls.sonde
equal "$(by calls.sonde second)" 0
run 0 "$SONDE" report --section critical-path calls.sonde
matches "$out" "context switches do not show"
