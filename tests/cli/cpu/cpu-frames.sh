# cpu-frames.sh: unusual frame rules give complete stacks, and wrong rules give stacks that say where and why they
# end.
# measures: shares of stacks by how they were unwound
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
need_perf

[ "$(uname -m)" = x86_64 ] || skip "the target's assembly is x86-64"
frame_rules=$(target frame_rules)

# The share of CPU time with this status, among stacks whose innermost function is NAME.
share_of() { # NAME FUNCTION STATUS
	"$SONDE" query -f json "$1.sonde" "SELECT s.status AS status, sum(s.weight_ns) AS ns FROM samples s, stacks k
		WHERE k.id = s.stack_id AND k.function = '$2' GROUP BY s.status" |
		jq -r --arg status "$3" '([.[].ns] | add) as $all | if $all > 20000000
			then 100 * ([.[] | select(.status | IN($status | split("|")[])) | .ns] | total) / $all else "too few" end'
}

expect() { # KIND FUNCTION STATUS
	run 0 "$SONDE" record -q -f -F 1000 -o "$1.sonde" -- "$frame_rules" "$1"
	holds "$(share_of "$1" "$2" "$3") >= 97"
}

expect saved saved complete
expect in-register in_register complete
expect indexed indexed complete
expect kept callee complete
run 0 "$SONDE" export -f folded -o kept.folded kept.sonde
matches "$(cat kept.folded)" 'main;work;kept;callee'

lost="unwind rule needs an unknown register, or a word below the stack"
expect not-kept clobber "$lost"
# That word is read after the thread has run on or ended.
expect below below "complete|$lost"
expect below-stale below_stale "$lost"
expect odd odd "impossible frame address"
expect backwards backwards "impossible frame address"
expect unknown unknown "unsupported unwind rule"
