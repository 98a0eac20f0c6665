# heap-stopped.sh: a stopped recorder delays the program only if a ring is full; events that were not recorded for that
# reason are reported, and recording continues when the recorder does. Nothing is lost if recorder and program are
# stopped together (Ctrl-Z).
# timeout: 60
. "$(dirname "$0")/../lib.sh"
need jq setsid
stopped=$(target heap_stopped)
full() { # COMMAND…
	run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$stopped" "$@"
	equal "$out$err" "$1"
}
section() { "$SONDE" report --section "$1" a.sonde | tr -s ' \n' ' '; }
# calls FUNCTION
calls() { rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f).allocations] | total'; }

# A process that starts in the meantime is not recorded; others are.
full connects
equal "$(calls after) $(calls child_keeps) $(calls turns)" "100 0 20000"
has "$(section summary)" "1 process (heap_stopped) was not recorded: the recorder was stopped or too busy when it started"

# The recorder cannot provide unwind rules for newly loaded code: stacks through it end there, and are complete once
# it continues. 100 of each.
full asks "$SONDE_BUILD/tests/targets/heap_a.so"
equal "$(calls after) $(calls heap_a) $(calls turns)" "100 200 20000"
run 0 "$SONDE" export -q -f folded -o - --metric allocated a.sonde
whole=$(awk '/main;.*heap_a /{ sum += $NF } END { print sum + 0 }' .out)
cut=$(awk '/heap_a /&&!/main;/{ sum += $NF } END { print sum + 0 }' .out)
equal "$whole $cut" "3300 3300"
lacks "$(section summary)" "! heap"

# A process that ends in the meantime is recorded to its end; only its leaks are unknown.
full exits
equal "$(calls after) $(calls child_keeps) $(calls turns)" "100 100 20000"
equal "$(rows a.sonde leaks | jq -r '[.[] | select(.function == "child_keeps") | "\(.class) \(.blocks)"] | join(",")')" \
	"not known 100"
has "$(section leaks)" "the recorder was stopped or too busy while it waited"
lacks "$(section summary)" "! heap"

# Both are stopped together repeatedly, at any point.
setsid "$SONDE" record -q --heap=full --force -o a.sonde -- "$stopped" forks >.out 2>.err </dev/null &
group=$!
for rest in 0.05 0.11 0.17 0.23 0.31; do
	sleep $rest
	kill -STOP -- -$group
	sleep 0.5
	kill -CONT -- -$group
done
wait $group || fail "not recorded"
equal "$(cat .out .err)" forks
equal "$(calls after) $(calls child_keeps) $(calls turns)" "100 6000 20000"
equal "$(rows a.sonde leaks | jq '[.[] | select(.function == "child_keeps" and .class != "not known").blocks] | add')" 6000
lacks "$(section summary)" "! heap"
equal "$(metric a.sonde lost.count)" 0
