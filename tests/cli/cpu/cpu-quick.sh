# cpu-quick.sh: the shortest check of CPU figures: one second of 60/30/10, complete stacks, names and lines.
# measures: shares of CPU time
# tier: quick
. "$(dirname "$0")/../lib.sh"
need jq
need_perf

# Four standard errors; one is 1.6 points at 1000 samples.
program=$(target split)
run 0 "$SONDE" record -q -o a.sonde -- "$program" 1
near "$(share a.sonde total_share alpha)" 60 7
near "$(share a.sonde total_share beta)" 30 7
near "$(share a.sonde total_share gamma_)" 10 5
holds "$(metric a.sonde samples.complete_percent) >= 97"
equal "$(rows a.sonde functions | jq -r '.[] | select(.function == "beta") | (.file | sub(".*/"; "")) + " " + .module')" \
	"split.c split"
run 0 "$SONDE" export -f folded -o - a.sonde
matches "$out" '^split;.*;main;run;alpha;burn [0-9]+$'
