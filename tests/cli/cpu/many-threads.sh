# many-threads.sh: of 10,000 threads that are alive at once, and of 100,000 that come one after another, each of which
# says little, every call that waits and every block is recorded.
# measures: times of waiting, against those that the program measures
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq
many=$(target many_threads)
timeout 60 "$many" meet 10000 || skip "there may not be 10,000 threads here"

# calls KIND FUNCTION: so many are in a.sonde.
calls() {
	rows a.sonde waits | jq "[.[] | select(.kind == \"$1\" and .function == \"$2\").calls] | add"
}
# blocks: how many were allocated by the threads, and how many of these are left.
blocks() {
	rows a.sonde heap | jq -r '[.[] | select(.function == "take")] | "\(map(.allocations) | add) \(map(.left_blocks) | add)"'
}

# At a barrier all are let go at once.
run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$many" meet 10000
equal "$(calls barrier meet) $(calls join all)" "30000 10000"
lacks "$("$SONDE" report -q --section waits a.sonde)" " of calls w"

# Those that say more, in their time, do not keep room from each other.
run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$many" stay 2000
equal "$(calls sleep rest) $(calls barrier stay) $(calls join all)" "300000 2000 2000"

# Who waits for room in the ring does not wait for long, since nobody holds more than what is said.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$many" meet 10000
equal "$(blocks)" "200000 0"

run 0 "$SONDE" record -q --threads --heap=full --force -o a.sonde -- "$many" relay 100000
sleeps=$(calls sleep rest) joins=$(calls join relay)
# Where the recorder is given no CPU for most of a second some are lost, and these are said.
lost=$("$SONDE" report -q --section waits a.sonde | sed -n 's/^! \([0-9]*\) events* of calls w.*/\1/p')
equal $((sleeps + joins + ${lost:-0})) 200000
[ "$sleeps" -ge 99000 ] || fail "$sleeps of 100000"
equal "$(blocks)" "100000 0"
