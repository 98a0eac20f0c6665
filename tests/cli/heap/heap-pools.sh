# heap-pools.sh: blocks of a program's own pools: known blocks of several threads and a child. With --heap, these blocks
# have stacks; under plain record, and if the process records itself, they have none. The program can query live blocks,
# and behaves the same in all cases.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
pools=$(target pools)

# heap PROCESS-INDEX NAME: "peak blocks live live-blocks allocated calls unknown" of a pool; processes by pid
heap() {
	rows a.sonde heaps | jq -r --argjson i "$1" --arg n "$2" '([.[].pid] | unique | .[$i]) as $pid |
		.[] | select(.kind == "pool" and .name == $n and .pid == $pid) |
		[.peak_b, .peak_blocks, .left_b, .left_blocks, .allocated_b, .allocations, .unknown] | map(tostring) | join(" ")'
}
# row FUNCTION COLUMN: from the heap table
row() {
	rows a.sonde heap | jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total'
}
# What is known about the pools, however it was recorded.
check() {
	equal "$(heap 0 arena)" "100000 100 49500 50 100500 101 1"
	equal "$(heap 0 ring)" "64 1 0 0 64000 1000 0"
	equal "$(heap 0 shared)" "200000 1000 0 0 200000 1000 0"
	equal "$(heap 1 arena)" "70 7 70 7 70 7 1" # blocks that it inherited are its parent's
	equal "$(rows a.sonde heaps | jq '[.[] | select(.kind == "pool")] | length')" 4
}

run 0 "$pools"
plain=$out
equal "$plain" "pools: 0 errors, child 0"
for mode in "" --heap=light --heap --heap=full; do
	run 0 "$SONDE" record -q $mode --force -o a.sonde -- "$pools"
	equal "$out" "$plain"
	equal "$err" ""
	check
	if [ -z "$mode" ]; then
		equal "$(row "(no stack)" peak_b)" 300134 # each pool at its own peak
		continue
	fi
	equal "$(row shares peak_b) $(row shares left_b) $(row shares allocations)" "200000 0 1000"
	equal "$(row turns allocations) $(row turns temporary)" "1000 1000"
	equal "$(row fills left_blocks) $(row errs left_b) $(row inherits allocated_b)" "49 500 70"
done

# Statically linked, the program's own functions come first: no stacks, but the same pools.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$(target pools_static)"
equal "$out" "$plain"
check
equal "$(row shares allocations)" 0

# A program that does not use the pool API has no such heap.
run 0 "$SONDE" record -q --force -o a.sonde -- true
run 0 "$SONDE" report -q --section heaps a.sonde
has "$out" "not recorded: allocations"

# Recording itself: one recording per process; the child's pid is the larger one.
run 0 env SONDE_OUT=own.sonde "$pools"
equal "$out" "$plain"
own=$(printf '%s\n' own.*.sonde | sort -t. -k2n)
equal "$(wc -l <<<"$own")" 2
cp "$(head -1 <<<"$own")" a.sonde
equal "$(heap 0 arena)" "100000 100 49500 50 100500 101 1"
equal "$(heap 0 ring)" "64 1 0 0 64000 1000 0"
equal "$(heap 0 shared)" "200000 1000 0 0 200000 1000 0"
equal "$(rows a.sonde heaps | jq length)" 3
equal "$(row "(no stack)" peak_b)" 300064
cp "$(tail -1 <<<"$own")" a.sonde
equal "$(heap 0 arena)" "70 7 70 7 70 7 1"

# With the hooks off, the functions behind them are reached: the process is connected, or records itself.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- env -u SONDE_HEAP "$pools"
equal "$out" "$plain"
check
rm -f own.*.sonde
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- env -u SONDE_HEAP -u SONDE_SOCKET SONDE_OUT=own.sonde "$pools"
equal "$out" "$plain"
cp "$(printf '%s\n' own.*.sonde | sort -t. -k2n | head -1)" a.sonde
equal "$(heap 0 arena)" "100000 100 49500 50 100500 101 1"

# However fast events come, none is left out, whether the recorder or the program records them.
for mode in "" --heap=full; do
	run 0 "$SONDE" record -q $mode --force -o a.sonde -- "$pools" burst
	equal "$out" "burst: 2000000 taken, 0, 0 B of 10000000 in 1000000"
	equal "$(heap 0 burst)" "10 1 0 0 10000000 1000000 0"
	equal "$(metric a.sonde lost.count)" 0
done
rm -f own.*.sonde
run 0 env SONDE_OUT=own.sonde "$pools" burst
equal "$out" "burst: 2000000 taken, 0, 0 B of 10000000 in 1000000"
cp own.*.sonde a.sonde
equal "$(heap 0 burst)" "10 1 0 0 10000000 1000000 0"

# malloc's live blocks are known only if they are recorded.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$pools" malloc
equal "$out" "malloc: 0, 1048576 B in 1, then 0 in 0, 1 allocated, peak right"
run 0 "$SONDE" record -q --force -o a.sonde -- "$pools" malloc
has "$out" "malloc: -3, 0 B" # SONDE_ERR_UNKNOWN
run 0 "$pools" malloc
has "$out" "malloc: -1, 0 B" # SONDE_ERR_OFF
