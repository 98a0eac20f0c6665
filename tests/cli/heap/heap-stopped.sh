# heap-stopped.sh: a recorder that is stopped does not hold the program up but where a ring is full; what was not recorded for
# that is said, and when it goes on all is well. Nothing is lost when recorder and program are stopped together (Ctrl-Z).
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

# A process that begins meanwhile is not recorded; others are.
full connects
equal "$(calls after) $(calls child_keeps) $(calls turns)" "100 0 20000"
has "$(section summary)" "1 process (heap_stopped) was not recorded: the recorder was stopped or too busy when it started"

# Stacks through code that it was not asked for end there, and are whole as soon as it can be asked: of 100 each.
full asks "$SONDE_BUILD/tests/targets/heap_a.so"
equal "$(calls after) $(calls heap_a) $(calls turns)" "100 200 20000"
run 0 "$SONDE" export -q -f folded -o - --metric allocated a.sonde
whole=$(awk '/main;.*heap_a /{ sum += $NF } END { print sum + 0 }' .out)
cut=$(awk '/heap_a /&&!/main;/{ sum += $NF } END { print sum + 0 }' .out)
equal "$whole $cut" "3300 3300"
lacks "$(section summary)" "! heap"

# A process that ends meanwhile is recorded to its end, but for what it leaked.
full exits
equal "$(calls after) $(calls child_keeps) $(calls turns)" "100 100 20000"
equal "$(rows a.sonde leaks | jq -r '[.[] | select(.function == "child_keeps") | "\(.class) \(.blocks)"] | join(",")')" \
	"not known 100"
has "$(section leaks)" "the recorder was stopped or too busy while it waited"
lacks "$(section summary)" "! heap"

# Both are stopped, again and again, wherever they are.
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
