# heap-valgrind.sh: valgrind's massif and DHAT report the same peak as sonde, and the same blocks and bytes for each
# function of a program.
. "$(dirname "$0")/../lib.sh"
need jq valgrind
blocks=$(target blocks)

run 0 "$SONDE" record -q --heap=full -o a.sonde -- "$blocks" simple
rows a.sonde heap >heap.json
# of FUNCTION COLUMN
of() {
	jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total' heap.json
}
! grep -q fsanitize "$SONDE_BUILD/compile_commands.json" || skip "valgrind does not run sanitized programs"

valgrind --tool=massif --peak-inaccuracy=0.0 --max-snapshots=1000 --massif-out-file=massif "$blocks" simple \
	>/dev/null 2>&1 || fail "massif fails"
equal "$(sed -n 's/^mem_heap_B=//p' massif | sort -n | tail -n 1)" "$(metric a.sonde memory.heap_peak_b)"
valgrind --tool=dhat --dhat-out-file=dhat "$blocks" simple >/dev/null 2>&1 || fail "DHAT fails"
for function in keeps churns peaks moves; do
	# bytes and blocks: in total, at the peak, at the end
	theirs=$(jq -r --arg f ": $function (" '. as $all | [.pps[] | select(any(.fs[]; $all.ftbl[.] | contains($f)))] |
		[(map(.tb) | add), (map(.tbk) | add), (map(.gb) | add), (map(.gbk) | add), (map(.eb) | add), (map(.ebk) | add) | figure] |
		join(" ")' dhat)
	ours=
	for column in allocated_b allocations peak_b peak_blocks left_b left_blocks; do
		ours="$ours $(of $function $column)"
	done
	equal "$function $theirs" "$function$ours"
done
