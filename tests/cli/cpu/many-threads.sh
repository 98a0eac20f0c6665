# many-threads.sh: 10,000 threads alive at once, and 100,000 one after another, each with few events: every blocking
# call and every block is recorded.
# measures: times of waiting, against those that the program measures
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq
many=$(target many_threads)
timeout 60 "$many" meet 10000 || skip "there may not be 10,000 threads here"

# calls KIND FUNCTION: this number is in a.sonde.
calls() {
	rows a.sonde waits | jq "[.[] | select(.kind == \"$1\" and .function == \"$2\").calls] | add"
}
# blocks: number of blocks that the threads allocated, and how many of them are live.
blocks() {
	rows a.sonde heap | jq -r '[.[] | select(.function == "take")] | "\(map(.allocations) | add) \(map(.left_blocks) | add)"'
}

# A barrier releases all threads at once.
run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$many" meet 10000
equal "$(calls barrier meet) $(calls join all)" "30000 10000"
lacks "$("$SONDE" report -q --section waits a.sonde)" " of calls w"

# Threads that write more over time do not take space from each other.
run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$many" stay 2000
equal "$(calls sleep rest) $(calls barrier stay) $(calls join all)" "300000 2000 2000"

# A thread that waits for space in the ring does not wait long, because no thread holds more than it has written.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$many" meet 10000
equal "$(blocks)" "200000 0"

run 0 "$SONDE" record -q --threads --heap=full --force -o a.sonde -- "$many" relay 100000
sleeps=$(calls sleep rest) joins=$(calls join relay)
# If the recorder gets no CPU for most of a second, events may be lost, and are reported.
lost=$("$SONDE" report -q --section waits a.sonde | sed -n 's/^! \([0-9]*\) events* of calls w.*/\1/p')
equal $((sleeps + joins + ${lost:-0})) 200000
[ "$sleeps" -ge 99000 ] || fail "$sleeps of 100000"
equal "$(blocks)" "100000 0"
