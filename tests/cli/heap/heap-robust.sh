# heap-robust.sh: recording allocations changes nothing under difficult conditions: signal handlers, stack overflows,
# hooks left by longjmp, threads and processes that start and end in all ways, no memory.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need jq
odd=$(target heap_odd)
bump=$(target heap_odd_bump)

# row FUNCTION COLUMN: from the heap table of a.sonde, summed over all lines of the function.
row() {
	rows a.sonde heap | jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total'
}
# is FUNCTION CALLS ALLOCATED BLOCKS-LIVE LIVE
is() {
	equal "$1 $(rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f)] |
		"\(map(.allocations) | total) \(map(.allocated_b) | total) \(map(.left_blocks) | total) \(map(.left_b) | total)"')" "$*"
}
# goes CODE PROGRAM ARGUMENT…: alone and in both modes: output, errors and exit code are the same.
goes() {
	local code=$1 mode
	shift
	run "$code" "$@"
	cp .out plain.out
	cp .err plain.err
	for mode in --heap --heap=full; do
		run "$code" "$SONDE" record -q $mode --force -o a.sonde -- "$@"
		cmp -s plain.out .out || fail "$mode: other output: $*"
		cmp -s plain.err .err || fail "$mode: other errors: $*"
	done
}

# A stopped recorder costs one wait of half a minute; the other checks run in that time.
"$SONDE" record -q --heap=full --force -o stalls.sonde -- "$odd" stalls >stalls.out 2>&1 </dev/null &
stalls=$!

# What comes afterwards is recorded to the last block.
for command in overflow cancels forks starves keys spawns; do
	goes 0 "$odd" $command
	equal "$out" $command
	is after 100 100000 100 100000
done
goes 0 "$odd" keys
is uses_keys 1040 38800 0 0 # 20 threads: 50 × 30 B, what they are noted in, and one block of 40 B
goes 0 "$bump" jumps
is after 100 100000 100 100000

# The program crashes as it does without sonde.
goes 134 "$odd" doubles
has "$err" "double free"
is after 100 100000 100 100000
goes 134 "$odd" aborts
is after 100 100000 100 100000

# Each block that a signal handler allocates is recorded, or was requested inside a hook and counts as lost.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$bump" handlers
handled=${out%% *}
holds "$handled >= 300"
is after 100 100000 100 100000
equal "$(($(row on_timer allocations) + $(metric a.sonde lost.count)))" "$handled"
run 0 "$SONDE" report --section heap a.sonde
has "$out" "lost: signal handler inside the slow path"

# Code that is loaded and unloaded at the same addresses.
goes 0 "$odd" loads "$SONDE_BUILD"/tests/targets/heap_{a,b}.so
is heap_a 100 3300 0 0
is heap_b 100 330000 0 0
is after 100 100000 100 100000

# With sampling, each child has a random sequence of its own: 600 samples per run, so the mean of 10 runs is off by
# 1.3 %.
sum=0
for _ in $(seq 10); do
	run 0 "$SONDE" record -q --heap=64K --force -o a.sonde -- "$odd" children
	sum=$(calc "$sum + $(row child_keeps allocated_b) / 4e7 / 10")
done
near "$sum" 1 0.06

# C++ in a program without C++: the library with the operators is visible only to the object that needs it.
for object in "$SONDE_BUILD"/tests/targets/heap_news{,_static}.so; do
	[ -e "$object" ] || continue
	goes 0 "$odd" borrows "$object"
	is heap_news 1200 62400 0 0
	is after 100 100000 100 100000
done

# The gap in the recording is reported.
wait $stalls || fail "stalls: $(cat stalls.out)"
equal "$(cat stalls.out)" stalls
run 0 "$SONDE" report --section heap stalls.sonde
has "$out" "lost: ring full"
