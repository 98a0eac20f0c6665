# heap-heaptrack.sh: heaptrack counts the same allocations, bytes and peak of each function of a program as sonde.
. "$(dirname "$0")/../lib.sh"
need jq heaptrack heaptrack_print
blocks=$(target blocks)

run 0 "$SONDE" record -q --heap=full -o a.sonde -- "$blocks" simple
rows a.sonde heap >heap.json
# of FUNCTION COLUMN
of() {
	jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total' heap.json
}

heaptrack -o theirs "$blocks" simple >/dev/null 2>&1 || fail "heaptrack fails"
for pair in allocations:allocations temporary:temporary leaked:left_b peak:peak_b; do
	heaptrack_print -f theirs.* -p 0 -a 0 -T 0 -l 0 -F stacks --flamegraph-cost-type "${pair%:*}" >/dev/null
	[ -s stacks ] || fail "heaptrack says nothing of ${pair%:*}"
	for function in keeps churns peaks moves; do
		equal "$function ${pair%:*} $(awk -v f=";$function (" 'index($0, f) { n += $NF } END { print n + 0 }' stacks)" \
			"$function ${pair%:*} $(of $function "${pair#*:}")"
	done
done
for function in keeps churns peaks moves; do
	holds "$(of $function allocations) > 0"
done
