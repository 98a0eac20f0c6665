# cpu-tasks.sh: threads and processes are followed through forks and execs and kept apart, each with its name, CPU time
# and exit; attaching leaves a running process unharmed.
# measures: shares of CPU time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
need_perf
crowd=$(target crowd)

# A user's first recording compiles libc's call-frame tables. With 200 busy threads, an ordinary user's recorder gets
# the CPU share of one thread, and may lose records in that time, which it reports; no other recording may.
run 0 "$SONDE" record -q -o first.sonde -- "$crowd" named 0.2

# 200 threads with loads of 1 to 4: each has its name and the time of its own clock, and each load has its share (of
# the time that the work took, since a machine may be slower for a moment). The recorder must not wait for other
# tests: its losses would say nothing about these 200.
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
	# Within 2 %, plus 0.25 ms for what each thread did before and after its work, plus the hypervisor's time.
	own=$(jq "$group | map(.cpu_ns) | add" threads)
	holds "$own >= 0.98 * $said && $own <= 1.02 * $said + 50 * 250000 + 1e9 * $(metric threads.sonde timing.stolen_time_s)"
done
holds "$(metric threads.sonde lost.count) == 0"

# A tree of forks with loads of 1, 2, 3, and 4 after an exec.
run 0 "$SONDE" record -q -o family.sonde -- "$crowd" family 400
rows family.sonde processes >family
equal "$(jq length family)" 4
equal "$(jq '[.[].pid] | unique | length' family)" 4
equal "$(jq -r '[.[] | .share * 100] | sort | map(. / 10 | round) | join(" ")' family)" "1 2 3 4"
# Only the exit status of the command itself is known: the recorder is its parent.
equal "$(jq -r '[.[] | select(.status == "exit 0")] | length >= 1' family)" true
for part in first:10 second:20 third:30 fourth:40; do
	near "$(share family.sonde total_share ${part%:*})" ${part#*:} 5
done

# An exec in one process: both programs under their names, with one pid.
run 0 "$SONDE" record -q -o exec.sonde -- "$crowd" exec 400
equal "$(rows exec.sonde processes | jq length)" 1
near "$(share exec.sonde total_share first)" 25 6
near "$(share exec.sonde total_share third)" 75 6

# A thread that sets its own name.
run 0 "$SONDE" record -q -o named.sonde -- "$crowd" named 0.3
equal "$(rows named.sonde threads | jq -r '.[0].thread')" renamed

# Short processes: none is lost.
run 0 "$SONDE" record -q -o short.sonde -- "$crowd" processes 1500
equal "$(metric short.sonde run.processes)" 1501
equal "$(metric short.sonde lost.count)" 0

# Attached: existing threads and one that starts later, for the requested time; the process goes on.
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

# Attached until the process ends: the recording ends with it.
"$crowd" steady 1 >said &
run 0 "$SONDE" record -q -p $! -o attached2.sonde
holds "$(metric attached2.sonde samples.count) > 100"
