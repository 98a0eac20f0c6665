# heap-plain.sh: a plain recording samples allocations where that costs nothing, says no more than it knows, and can be told
# not to.
# timeout: 120
. "$(dirname "$0")/lib.sh"
need jq
blocks=$(target blocks)
plain() { # COMMAND…
	run 0 "$SONDE" record -q -f -o a.sonde -- "$@"
}

# An estimate with its interval, of a program that says what it allocated; as many samples as there should be.
plain "$blocks" sizes 60000 7
read -r allocated _ <.out
run 0 "$SONDE" report --section heap a.sonde
matches "$out" 'one block each 512 KiB on average was recorded'
estimate=$(metric a.sonde memory.heap_allocated_b)
# each sample stands for 512 KiB or for its own size; four standard deviations
near "$estimate" "$allocated" "(4 * sqrt($allocated * (524288 + 100000)))"
equal "$(rows a.sonde heap | jq '[.[] | select(.heap? == "mappings")] | length')" 0
run 0 "$SONDE" report a.sonde
! grep -q '^Leaks' .out || fail "leaks that nobody looked for"
run 0 "$SONDE" report --section leaks a.sonde
matches "$out" 'leaks were not looked for: record with --heap'

# Small programs are not even connected: nothing is claimed of them, and nothing warned of.
plain true
equal "$(metric a.sonde memory.heap_peak_b)" null
run 0 "$SONDE" report a.sonde
! grep -q '^! heap' .out || fail "a warning of what nobody asked for"

# Every process for itself, forked ones too, and each thread.
plain sh -c "'$blocks' sizes 60000 8; '$blocks' sizes 60000 9"
awk '{ sum += $1 } END { print sum }' .out >.both
near "$(metric a.sonde memory.heap_allocated_b)" "$(cat .both)" "(4 * sqrt($(cat .both) * (524288 + 100000)))"

# Off is off; so it is where nothing may be put into the processes.
for off in --heap=off --no-inject; do
	run 0 "$SONDE" record -q -f $off -o a.sonde -- "$blocks" sizes 60000 7
	equal "$(metric a.sonde memory.heap_allocated_b)" null
done
run 0 "$SONDE" record -q -f --heap=off -o a.sonde -- env
! grep -q libsonde-heap .out || fail "preloaded all the same"
