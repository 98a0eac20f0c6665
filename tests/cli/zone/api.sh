# api.sh: data that a program reports through the C API appears in the report and in exports, figure by figure.
# tier: quick
. "$(dirname "$0")/../lib.sh"
need jq python3

program=$SONDE_BUILD/tests/unit/zone_target
[ -x "$program" ] || skip "the unit tests are not built"
run 0 "$SONDE" record -q -o a.sonde -- "$program" everything

# cell SECTION KEY NAME COLUMN
cell() {
	rows a.sonde "$1" | jq -r --arg k "$2" --arg n "$3" --arg c "$4" '.[] | select(.[$k] == $n)[$c]'
}

for zone in work first second; do
	equal "$(cell zones zone $zone calls)" 1
done
equal "$(cell zones zone work flop)" 1
equal "$(cell counters name bytes value)" 1000
equal "$(cell counters name "by name" value)" 20
equal "$(cell counters name calls value)" 10
for column in value min max mean; do
	equal "$(cell counters name level $column)" 0.5
done
equal "$(cell histograms histogram sizes count)" 1001
equal "$(cell histograms histogram sizes mean)" 501000
equal "$(cell histograms histogram sizes min)" 1000
equal "$(cell histograms histogram sizes max)" 1001000
near "$(cell histograms histogram sizes p50)" 501000 "(501000 / 256)"
equal "$(cell spans span request count)" 1
equal "$(cell iterations iteration epoch items)" 32

# A thread has the name that the program gave it, also if the program records itself.
run 0 env SONDE_OUT=self.sonde "$program" everything
for file in a.sonde self*.sonde; do
	equal "$(rows "$file" threads | jq -r '[.[] | select(.thread == "chief")] | length')" 1
done

# As metrics.
run 0 "$SONDE" report --section counters,histograms -o a.prom a.sonde
grep -qxF 'sonde_counters_value{name="bytes",kind="counter",unit=""} 1000' a.prom || fail "no counter in a.prom"
grep -qxF 'sonde_counters_mean{name="level",kind="gauge",unit=""} 0.5' a.prom || fail "no gauge in a.prom"
grep -qxF 'sonde_histograms_count{histogram="sizes",unit=""} 1001' a.prom || fail "no histogram in a.prom"
equal "$(tail -n 1 a.prom)" "# EOF"

# In the trace: the zone's own name with its keys and values, the instant event, the message, counters and the span.
run 0 "$SONDE" export -f chrome -o a.json a.sonde
event() {
	jq -c --arg n "$1" '.traceEvents[] | select(.name == $n)' a.json
}
equal "$(event "select 1" | jq -r '.ph + " " + .args.site + " \(.args.flop) \(.args.bytes) \(.args.items)"')" "X work 1 2 3"
equal "$(event "select 1" | jq -r '"\(.args.file) \(.args.ratio)"')" "a.c 0.25"
equal "$(event "select 1" | jq -r '.args["sonde.file"] | split("/") | last')" zone_target.c
python3 - <<'END' || fail "a key stands twice in an object"
import json
def once(pairs):
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)
json.load(open("a.json"), object_pairs_hook=once)
END
equal "$(event tock | jq -r '.ph + " " + .args.text')" "i why"
equal "$(event message | jq -r .args.text)" hello
equal "$(event level | jq -r '.ph + " \(.args.value)"')" "C 0.5"
equal "$(event request | jq -r '.ph + " " + (.args.path // "")' | tr '\n' ,)" "b /,e ,"
