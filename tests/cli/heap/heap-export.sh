# heap-export.sh: exports of allocations in the formats of other tools have the known sums: folded stacks, pprof,
# speedscope, callgrind, trace events, single events, call tree, flame graph. A recording without allocations gets a
# message.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
need jq
blocks=$(target blocks)

run 0 "$SONDE" record -q --heap=full -o a.sonde -- "$blocks" known
equal "$out" known

# folded VIEW FUNCTION: sum of the lines that end in the function, one line per call site.
folded() {
	"$SONDE" export -q -f folded --metric "$1" -o - a.sonde >"$1.folded"
	awk -v f=";$2" '{ line = $0; sub(/ [0-9]+$/, "", line); if (substr(line, length(line) - length(f) + 1) == f) sum += $NF }
		END { print sum + 0 }' "$1.folded"
}
equal "$(folded allocated keeps) $(folded allocated churns) $(folded allocated moves)" "100000 64000 5005000"
equal "$(folded allocations keeps) $(folded allocations peaks)" "100 50"
equal "$(folded peak keeps) $(folded peak peaks) $(folded peak churns)" "100000 100000 0"
equal "$(folded left keeps) $(folded left peaks)" "100000 0"
equal "$(folded temporary churns)" 1000
matches "$(cat peak.folded)" '^blocks;.*main.*;do_known;keeps 100000$'

# whole VIEW: the value that is 100 % in the call tree.
whole() {
	"$SONDE" report -q --json --metric "$1" a.sonde >.tree
	jq -r '.sections[0] | "\(.nodes[0].total) \(.unit)"' .tree
}
sum() {
	awk '{ sum += $NF } END { printf "%.0f", sum }' "$1.folded"
}
for view in allocated peak left; do
	equal "$(whole $view)" "$(sum $view) bytes"
done
equal "$(whole allocations)" "$(sum allocations) count"
peak=$(sum peak)
equal "$(rows a.sonde heap | jq '[.[].peak_b] | add')" "$peak"

# The same sums in the other formats.
run 0 "$SONDE" export -q -f speedscope --metric peak -o - a.sonde
equal "$(jq -r '[.profiles[] | .unit, (.weights | add)] | @csv' <<<"$out")" "\"bytes\",$peak"
run 0 "$SONDE" export -q -f callgrind --metric peak -o - a.sonde
matches "$out" "^events: Blocks Bytes$"
matches "$out" "^totals: [0-9]+ $peak$"
run 0 "$SONDE" export -q -f callgrind --metric allocations -o - a.sonde
matches "$out" "^totals: $(sum allocations)$"
# The counter rises to the peak and ends when the process does.
run 0 "$SONDE" export -q -f chrome -o a.trace.json a.sonde
live='[.traceEvents[] | select(.ph == "C" and .name == "heap live") | .args.bytes]'
equal "$(jq "$live | max" a.trace.json) $(jq "$live | last" a.trace.json)" "$peak 0"

# Single events: each has time, size and stack, and they add up to the same sums.
run 0 "$SONDE" export -q -o a.jsonl a.sonde
# of TYPE FUNCTION: bytes of the events whose stack ends there
of() {
	jq -s --arg type "$1" --arg f "$2" '(map(select(.type == "stack" and .frames[0].function == $f).id)) as $ids |
		[.[] | select(.type == $type and (.stack | IN($ids[]))).size_b] | total' a.jsonl
}
equal "$(of alloc keeps) $(of free keeps)" "100000 0"
equal "$(of alloc churns) $(of free churns)" "64000 64000"
equal "$(of alloc moves) $(of free peaks)" "5005000 100000"
equal "$(jq -s 'map(select(.type == "alloc")) | length' a.jsonl)" "$(sum allocations)"
heap=$(jq 'select(.type == "heap" and .kind == "malloc").id' a.jsonl | sort -u)
running='map(select(.heap == $heap)) | reduce .[] as $e ({live: 0, peak: 0, last: 0, late: 0};
	.live += (if $e.type == "alloc" then $e.size_b else -$e.size_b end) | .peak = ([.peak, .live] | max) |
	.late += (if $e.time_ns < .last then 1 else 0 end) | .last = $e.time_ns) | "\(.peak) \(.live) \(.late)"'
equal "$(jq -rs --argjson heap "$heap" "$running" a.jsonl)" "$peak $(sum left) 0"
equal "$(jq -s '[.[0].type, .[0].format, .[0].version] == ["recording", "sonde-events", 1]' a.jsonl)" true
equal "$(jq -s 'map(select(.type == "alloc" or .type == "free").thread) - map(select(.type == "thread").id)' a.jsonl)" "[]"
run 0 "$SONDE" export -q -f jsonl --to 1ns -o - a.sonde
equal "$(jq -r .type <<<"$out")" recording

run 0 "$SONDE" report -q -f svg --metric peak -o a.svg a.sonde
matches "$(cat a.svg)" "<title>.*: memory live at the peak</title>"
matches "$(cat a.svg)" "Memory live at the peak: [0-9.]+ kB in all"
[[ $(tr -d '\n' <a.svg) == *'<title>keeps (blocks)total 100 kB, '* ]] || fail "no keeps in the flame graph"

# go tool pprof reads the heap profile like one of Go's.
go=
for try in "$(command -v go || true)" /usr/lib/go/bin/go /usr/lib/go-*/bin/go; do
	[ -z "$go" ] && [ -x "$try" ] || continue
	"$try" tool pprof -h >.pprof 2>&1 || true # it ends with 2
	! grep -q pprof .pprof || go=$try
done
if [ "$go" ]; then
	run 0 "$SONDE" export -q --metric peak -o a.pb.gz a.sonde
	run 0 "$go" tool pprof -raw a.pb.gz
	has "$out" "PeriodType: space bytes"
	has "$out" "Period: 1"
	has "$out" "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]"
	# flat INDEX FUNCTION: the value in its own unit, unscaled.
	flat() {
		"$go" tool pprof -unit="$1" -sample_index="$2" -nodefraction=0 -top a.pb.gz 2>/dev/null |
			awk -v f="$3" '$6 == f { print $1 + 0 }'
	}
	equal "$(flat B inuse_space keeps) $(flat B inuse_space peaks)" "100000 100000"
	equal "$(flat B alloc_space moves)" 5005000
	equal "$(flat count alloc_objects churns)" 1000
	equal "$(flat count inuse_objects keeps)" 100
fi

# At a given time: everything is live at the end of the run, nothing before its start.
run 0 "$SONDE" export -q -f folded --at 0s -o - a.sonde
equal "$out" ""
run 0 "$SONDE" record -q --heap=full -o b.sonde -- sh -c '"$0" known; sleep 0.3' "$blocks"
run 0 "$SONDE" export -q -f folded --metric live --at 0s -o - b.sonde
equal "$out" ""

# Sampled: the period is the mean distance between samples, and the sums are those of the heap section.
run 0 "$SONDE" record -q --heap=64K --force -o a.sonde -- "$blocks" sizes 3000 7
equal "$(folded left sizes)" "$(rows a.sonde heap | jq '[.[] | select(.function == "sizes").left_b] | add')"
if [ "$go" ]; then
	run 0 "$SONDE" export -q --force --metric left -o a.pb.gz a.sonde
	run 0 "$go" tool pprof -raw a.pb.gz
	has "$out" "Period: 65536"
fi
run 0 "$SONDE" report -q --metric allocated a.sonde
has "$out" "estimated, one sample per"

# What cannot be shown gives the reason and what to do.
run 0 "$SONDE" record -q --force -o plain.sonde -- true
run 2 "$SONDE" report -f svg --metric peak plain.sonde
has "$err" "plain.sonde holds no allocations: record them with sonde record --heap -- COMMAND"
run 2 "$SONDE" report --at 9h a.sonde
has "$err" "--at 9h is past the end of the recording ("
run 2 "$SONDE" report --metric live a.sonde
has "$err" "--metric live needs a time"
run 2 "$SONDE" report --metric peak --at 1ms a.sonde
has "$err" "--at is for --metric live"
run 2 "$SONDE" report --metric pek a.sonde
has "$err" "unknown metric 'pek'; did you mean peak?"
run 2 "$SONDE" report --metric peak --section functions a.sonde
has "$err" "--section calltree"
run 2 "$SONDE" export --metric peak -f chrome a.sonde
has "$err" "chrome is none"
run 2 "$SONDE" report --metric peak --heap-of lake a.sonde
has "$err" "no blocks of lake in a.sonde; --heap-of takes one of: malloc"

# Old option names still work, and are not listed anywhere.
run 0 "$SONDE" export -q -f folded --weigh left -o - a.sonde
equal "$out" "$("$SONDE" export -q -f folded --metric live-at-exit -o - a.sonde)"
[ -n "$out" ] || fail "an empty profile"
for list in "report --help" "export --help" "completion bash" "completion zsh" "completion fish" man; do
	run 0 "$SONDE" $list
	lacks "$out" "-weigh"
done
run 0 "$SONDE" man
matches "$out" "live.*exit"
