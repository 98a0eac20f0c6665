# heap-forked.sh: forked processes of which the hooks know little are recorded like others and leave nothing behind; a
# process that disables the cycle counter for itself is recorded until then.
# timeout: 60
. "$(dirname "$0")/../lib.sh"
need jq
forked=$(target heap_forked)
# calls FUNCTION
calls() { rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f).allocations] | total'; }

for mode in --heap=light --heap --heap=full; do
	for command in vforks lines clock; do
		run 0 "$SONDE" record -q $mode --force -o a.sonde -- "$forked" $command
		equal "$mode $out$err" "$mode $command"
		[ "$mode $command" != "--heap=full vforks" ] || equal "$(calls child_keeps)" 100
	done
done
equal "$(calls after) $(calls turns)" "100 0"
run 0 "$SONDE" report --section leaks a.sonde
has "$(tr -s ' \n' ' ' <<<"$out")" "recorded until it disabled the cycle counter (PR_SET_TSC)"
