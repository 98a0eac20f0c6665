# heap-stacks.sh: stacks of allocations are complete on stacks of all sizes, and no memory outside them is read.
. "$(dirname "$0")/../lib.sh"
need jq
stacks=$(target heap_stacks)
run 0 "$stacks"
equal "$out" "done"
for option in "" --no-perf; do # with the other injected object's hooks inside ours, or ours inside its
	run 0 "$SONDE" record -q --heap=full $option --force -o a.sonde -- "$stacks"
	equal "$out" "done"
	run 0 "$SONDE" export -q -f folded --metric allocations -o - a.sonde
	# frames PLACE: number of frames of deep() that lead to it, and whether the root of its stack is a thread's or
	# the program's.
	frames() {
		grep ";$1 [0-9]*\$" .out | awk -F ';' '{ n = 0; root = "none"
			for (i = 1; i < NF; i++) { n += $i == "deep"; if ($i ~ /^(clone3?|__clone.*|_start)$/) root = $i }
			print n, root }' | sort -rn | head -n 1
	}
	for place in in_small in_large in_given in_unseen; do
		matches "$place $(frames $place)" "^$place 301 (clone|clone3|__clone.*)$"
	done
	equal "in_main $(frames in_main)" "in_main 301 _start"
	equal "in_coroutine $(frames in_coroutine)" "in_coroutine 0 none"
	equal "$(rows a.sonde heap | jq '[.[] | select(.function | startswith("in_")) | .allocations] | add')" 70
done
