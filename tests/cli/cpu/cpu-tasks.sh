# cpu-tasks.sh: threads, processes, forks and execs are followed and told apart, with their names, loads and ends; a
# running process is attached to and goes on unharmed.
# measures: shares of CPU time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
need_perf
crowd=$(target crowd)

# A user's first recording compiles the call-frame tables of libc. Beside 200 busy threads the recorder of an ordinary user
# has the CPU share of one and may lose records meanwhile, and says so; nobody else may, nor that user later.
run 0 "$SONDE" record -q -o first.sonde -- "$crowd" named 0.2

# 200 threads with loads of 1 to 4: each has its name, its time is what its own clock said, and each load has its share
# (of the time that the work took: a machine may be slower for a moment). The recorder shall not have to wait for other
# tests: what it then loses says nothing of these 200.
quietly threads.sonde ahead "$SONDE" record -q -o threads.sonde -- "$crowd" clocks 200 10
cp .out said
rows threads.sonde threads >threads
equal "$(jq '[.[].thread] | map(select(test("^w[0-9]{3}$"))) | unique | length' threads)" 200
equal "$(jq length threads)" 201
for load in 0 1 2 3; do
	group="[.[] | select((.thread | test(\"^w[0-9]\")) and (.thread[1:] | tonumber) % 4 == $load)]"
	said=$(awk -v l=$load 'substr($1, 2) % 4 == l { ns += $2 } END { printf "%.0f", ns }' said)
	all=$(awk '{ ns += $2 } END { printf "%.0f", ns }' said)
	near "$said / $all * 100" $(((load + 1) * 10)) 5
	near "$(jq "$group | map(.share) | add * 100" threads)" "$said / $all * 100" 3
	# Within 2 %, a quarter of a millisecond for what each did before and after its work, and what a hypervisor took.
	own=$(jq "$group | map(.cpu_ns) | add" threads)
	holds "$own >= 0.98 * $said && $own <= 1.02 * $said + 50 * 250000 + 1e9 * $(metric threads.sonde timing.stolen_time_s)"
done
holds "$(metric threads.sonde lost.count) == 0"

# A tree of forks with loads of 1, 2, 3, and 4 behind an exec.
run 0 "$SONDE" record -q -o family.sonde -- "$crowd" family 400
rows family.sonde processes >family
equal "$(jq length family)" 4
equal "$(jq '[.[].pid] | unique | length' family)" 4
equal "$(jq -r '[.[] | .share * 100] | sort | map(. / 10 | round) | join(" ")' family)" "1 2 3 4"
# Only the status of the command itself is known to its parent, the recorder.
equal "$(jq -r '[.[] | select(.status == "exit 0")] | length >= 1' family)" true
for part in first:10 second:20 third:30 fourth:40; do
	near "$(share family.sonde total_share ${part%:*})" ${part#*:} 5
done

# An exec in one process: both programs under their names, one pid.
run 0 "$SONDE" record -q -o exec.sonde -- "$crowd" exec 400
equal "$(rows exec.sonde processes | jq length)" 1
near "$(share exec.sonde total_share first)" 25 6
near "$(share exec.sonde total_share third)" 75 6

# A thread that names itself.
run 0 "$SONDE" record -q -o named.sonde -- "$crowd" named 0.3
equal "$(rows named.sonde threads | jq -r '.[0].thread')" renamed

# Short processes: none is lost.
run 0 "$SONDE" record -q -o short.sonde -- "$crowd" processes 1500
equal "$(metric short.sonde run.processes)" 1501
equal "$(metric short.sonde lost.count)" 0

# Attached: threads that were there and one that comes later, for as long as was asked; the process goes on.
"$crowd" steady 4 >said &
pid=$!
sleep 0.3
run 0 "$SONDE" record -q -p $pid -d 2500ms -o attached.sonde
rows attached.sonde threads >attached
for thread in crowd helper latecomer; do
	[ "$(jq --arg t $thread '[.[] | select(.thread == $t and .samples > 50)] | length' attached)" = 1 ] ||
		fail "thread $thread is not in $(jq -c '[.[].thread]' attached)"
done
holds "$(metric attached.sonde samples.complete_percent) >= 97"
near "$(metric attached.sonde timing.wall_time_s)" 2.5 1
mine=$(share attached.sonde total_share work) kernel=$(share attached.sonde total_share '[kernel]' 0)
near "$mine + $kernel" 100 5
wait $pid || fail "the process that was attached to ended with $?"
equal "$(cat said)" "steady to the end"

# Attached until it ends: the recording ends with it.
"$crowd" steady 1 >said &
run 0 "$SONDE" record -q -p $! -o attached2.sonde
holds "$(metric attached2.sonde samples.count) > 100"
