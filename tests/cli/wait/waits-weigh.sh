# waits-weigh.sh: off-CPU flame graphs and other formats by waiting time: every format adds up to the same time, which
# the program measured itself; so does a part of a recording. A recording without waits gets a message.
# measures: wait times, against the program's own
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3
waits=$(target waits) io=$(target io)

run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$waits" convoy 20
said() {
	awk -v name="$1" '$1 == name { print $2 }' "$work/.out"
}
known=$(($(said outer_waited) + $(said inner_waited)))

# tree FILTER OPTION…: applied to the call tree in JSON
tree() {
	"$SONDE" report -q --json --section calltree "${@:2}" a.sonde | jq -r ".sections[] | select(.id == \"calltree\") | $1"
}
# folded OPTION…: the sum of all stacks
folded() {
	"$SONDE" export -q -f folded -o - "$@" a.sonde | awk '{ sum += $NF } END { printf "%.0f", sum }'
}

# Lock waits are within 5 % of the program's own figure, in the functions that lock.
locks=$(tree '.nodes[0].total' --metric locks)
near_time "$locks" "$known" 0.05 "waited for locks"
equal "$(tree .unit --metric locks)" ns
equal "$locks" "$(rows a.sonde locks | jq '[.[].waited_ns] | add')"
"$SONDE" export -q -f folded --metric locks -o - a.sonde >locks.folded
matches "$(cat locks.folded)" 'convoy_run;with_outer.* [0-9]+$'
matches "$(cat locks.folded)" 'convoy_run;with_inner.* [0-9]+$'

# All formats to the ns, and the section about waiting.
for view in waiting locks; do
	whole=$(tree '.nodes[0].total' --metric $view)
	equal "$(folded --metric $view)" "$whole"
	run 0 "$SONDE" export -q -f speedscope --metric $view -o - a.sonde
	equal "$(jq '[.profiles[].weights | add] | add' <<<"$out")" "$whole"
	equal "$(jq -r '[.profiles[].unit] | unique | .[]' <<<"$out")" nanoseconds
	run 0 "$SONDE" export -q -f callgrind --metric $view -o - a.sonde
	matches "$out" "^events: Waits Waiting$"
	matches "$out" "^totals: [0-9]+ $whole$"
done
whole=$(tree '.nodes[0].total' --metric waiting)
equal "$(rows a.sonde waits | jq '[.[].total_ns] | add')" "$whole"
run 0 "$SONDE" export -q -f chrome -o a.trace.json a.sonde
slices='[.traceEvents[] | select(.ph == "X" and .cat == "wait")]'
equal "$(jq "$slices | map(.dur * 1000 | round) | add" a.trace.json)" "$whole"
equal "$(jq "$slices | map(select(.args.kind == \"mutex\") | .args.object) | unique | length" a.trace.json)" 2
equal "$(jq "$slices | map(.tid) | unique | length" a.trace.json)" 5

# An arrow for each wait, from the other thread's unlock to the end of the wait; not for the first wait of each lock,
# whose holder locked it before anyone waited.
python3 - a.trace.json <<'PYTHON' || fail "arrows do not lead from who unlocked to who waited"
import json, sys
trace = json.load(open(sys.argv[1]))
ns = lambda event, more=0: round((event["ts"] + more) * 1000)
ends = {(e["tid"], ns(e, e["dur"])): ns(e) for e in trace["traceEvents"] if e.get("cat") == "wait" and e["name"] == "mutex"}
unlocks = {(e["tid"], ns(e)) for e in trace["traceEvents"] if e["name"] == "unlock" and e["ph"] == "X"}
begun = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "s" and e["name"] == "unlock"}
over = {e["id"]: e for e in trace["traceEvents"] if e["ph"] == "f" and e["name"] == "unlock"}
assert begun.keys() == over.keys() and len(begun) == trace["otherData"]["lock_arrows"]
assert len(ends) - 2 <= len(begun) <= len(ends), (len(ends), len(begun))
for key, start in begun.items():
    end = over[key]
    assert (start["tid"], ns(start)) in unlocks and start["tid"] != end["tid"], start
    assert ends[end["tid"], ns(end) + 1] <= ns(start) <= ns(end), (start, end)
PYTHON

# A part and the remainder add up to the whole; so do the threads.
middle=$(jq "$slices | map(.ts + .dur / 2) | add / length / 1000 | floor" a.trace.json)ms
first=$(tree '.nodes[0].total' --metric waiting --to "$middle")
second=$(tree '.nodes[0].total' --metric waiting --from "$middle")
equal $((first + second)) "$whole"
equal "$(folded --metric waiting --to "$middle")" "$first"
sum=0
for tid in $(jq "$slices | map(.tid) | unique | .[]" a.trace.json); do
	sum=$((sum + $(tree '.nodes[0].total' --metric waiting --thread "$tid")))
done
equal $sum "$whole"

run 0 "$SONDE" report -q -f svg --metric waiting -o a.svg a.sonde
matches "$(cat a.svg)" "<title>.*: time waiting</title>"
[[ $(tr -d '\n' <a.svg) =~ '<title>with_outer (waits)total '[0-9.]*' ms, ' ]] || fail "no with_outer in the flame graph"
COLUMNS=80 run 0 "$SONDE" report --section calltree --metric waiting a.sonde
has "$out" "Call tree by time waiting"
sed -n '/Call tree/,$p' .out >tree.txt
fits 80 tree.txt

# I/O: in the functions that do it, with the bytes.
mkdir d
run 0 "$SONDE" record -q --io --force -o c.sonde -- "$io" files d
"$SONDE" export -q -f folded --metric io -o - c.sonde >io.folded
matches "$(cat io.folded)" 'main;write_small.* [0-9]+$'
matches "$(cat io.folded)" 'main;write_large.* [0-9]+$'
equal "$("$SONDE" report -q --json --section calltree --metric io c.sonde | jq '.sections[] | select(.id == "calltree").nodes[0].total')" \
	"$(awk '{ sum += $NF } END { printf "%.0f", sum }' io.folded)"
run 0 "$SONDE" export -q -f chrome -o c.trace.json c.sonde
moved='[.traceEvents[] | select(.cat == "wait" and .args.kind == $kind and (.args.object // "" | endswith("/large"))).args.bytes] | add'
equal "$(jq --arg kind write "$moved" c.trace.json) $(jq --arg kind read "$moved" c.trace.json)" "4194304 8388608"

# Without I/O, and without waits.
run 0 "$SONDE" report --metric io a.sonde
has "$out" "not recorded: calls on files and sockets (record with --io)"
run 2 "$SONDE" report --metric locks --heap-of malloc a.sonde
has "$err" "--heap-of does not work with time waiting for locks"
run 0 "$SONDE" record -q --force -o b.sonde -- "$waits" sleep 1
run 2 "$SONDE" export -f folded --metric locks -o - b.sonde
has "$err" "b.sonde holds no blocking calls: record them with sonde record --threads -- COMMAND"
run 2 "$SONDE" export -f folded --metric io -o - b.sonde
has "$err" "record --io"

# If data was requested and is missing, the reason is shown instead of advice that would not help. The server waits for
# a lock, but its event does not happen; the shell waits for a child only long before the save.
run 0 "$SONDE" record -q --threads --keep 100ms --when 'zone=nope>50ms' -o unsaved.sonde -- "$(target slow_request)" 20 10
run 2 "$SONDE" report --metric locks unsaved.sonde
has "$err" "unsaved.sonde holds no blocking calls: the flight recorder (--keep) saved nothing: its event did not happen"
lacks "$err" "record them with"
run 2 "$SONDE" report --metric io unsaved.sonde
has "$err" "unsaved.sonde holds no blocking calls: record them with sonde record --io -- COMMAND"
run 2 "$SONDE" report --metric peak unsaved.sonde
has "$err" "unsaved.sonde holds no allocations: record them with sonde record --heap -- COMMAND"
run 0 "$SONDE" record -q --threads --keep 5ms -o past.sonde -- bash -c '/bin/true; i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done'
run 2 "$SONDE" report --metric locks past.sonde
has "$err" "past.sonde holds no blocking calls: there were none in the last 0.005 s before a save (--keep)"
run 0 "$SONDE" report --section locks past.sonde
has "$out" "no lock contention in what the flight recorder saved (--keep)"
run 0 "$SONDE" record -q --threads -o none.sonde -- "$(target shares)" 5 10 2
run 2 "$SONDE" report --metric locks none.sonde
has "$err" "none.sonde holds no blocking calls: no process made a blocking call"
