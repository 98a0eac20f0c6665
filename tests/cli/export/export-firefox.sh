# export-firefox.sh: profiles for the Firefox Profiler: every column and row is valid, CPU time and zones equal the
# report's, memory ends at the right value. So are profiles of a part of a recording, and of programs without zones.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3
known=$(target zones_known)
validate=$repo/tests/validate
cat >figures.py <<'PYTHON'
"""figures.py VALIDATE PROFILE REPORT.json: sampled ns against the call tree; zones, of each name how many and how long."""
import json
import sys

sys.path.insert(0, sys.argv[1])
import firefox_check as firefox

ns, _ = firefox.check_firefox(sys.argv[2])
sections = {section["id"]: section for section in json.load(open(sys.argv[3]))["sections"]}
nodes = sections.get("calltree", {}).get("nodes")
assert ns == (nodes[0]["total"] if nodes else 0), (ns, nodes and nodes[0]["total"])
found, wanted = {}, {}
for thread in firefox.load(sys.argv[2])["threads"]:
    markers = thread["markers"]
    for name, start, end, data in zip(markers["name"], markers["startTime"], markers["endTime"], markers["data"]):
        if data["type"] == "zone":
            calls, total = found.get(thread["stringArray"][name], (0, 0))
            found[thread["stringArray"][name]] = calls + 1, total + firefox.ns(end) - firefox.ns(start)
for row in sections.get("zones", {"rows": []})["rows"]:
    calls, total = wanted.get(row["zone"], (0, 0))
    wanted[row["zone"]] = calls + row["calls"], total + row["total_ns"]
assert found == wanted, (found, wanted)
print(ns, len(found))
PYTHON
# figures OPTION…: profile and report of a.sonde agree under the same options.
figures() {
	run 0 "$SONDE" export -q --force -o a.firefox.json "$@" a.sonde
	run 0 "$SONDE" report -q --json -n 1000000 --section calltree,zones "$@" a.sonde
	mv .out report.json
	run 0 python3 figures.py "$validate" a.firefox.json report.json
}

run 0 "$SONDE" record -q --threads -o a.sonde -- "$known" 40
figures
equal "${out#* }" 3
holds "${out% *} > 10000000"
figures --thread second
equal "$(jq -r '.threads | map(.name) | join(",")' a.firefox.json)" second
figures --from 30ms --to 120ms
cp a.firefox.json first
figures --from 30ms --to 120ms
cmp a.firefox.json first || fail "the same recording is another profile"

# All segments of the critical path are there or counted as left out; with --thread, too.
for chosen in "" second; do
	run 0 "$SONDE" export -q --force -o b.firefox.json ${chosen:+--thread $chosen} a.sonde
	run 0 "$SONDE" report -q --json -n 100000 --section critical-steps ${chosen:+--thread $chosen} a.sonde
	steps=$(jq '[.sections[] | select(.id == "critical-steps") | (.rows | length) + (.omitted)] | total' .out)
	shown=$(jq '[.threads[].markers.data[] | select(.type? == "step")] | length' b.firefox.json)
	left=$(jq '.meta.extra[].entries[] | select(.label == "Critical path segments left out").value' b.firefox.json)
	equal "$((shown + left))" "$steps"
	[ "$steps" -gt 0 ] || fail "no step to count"
done

# A heap is a counter of changes: it ends at 0, because the process ended, and its maximum is the report's peak.
rm a.sonde
run 0 "$SONDE" record -q --heap=full -o a.sonde -- python3 -c "blocks = [bytearray(1 << 20) for _ in range(64)]"
figures
peak=$(rows a.sonde heaps | jq '[.[].peak_b] | max')
run 0 jq -r '[.counters[] | select(.name == "heap live").samples.count | . as $c | reduce range(length) as $i ([0, 0];
	[.[0] + $c[$i], ([.[1], .[0] + $c[$i]] | max)])] | "\(map(.[0]) | max) \(map(.[1]) | max)"' a.firefox.json
equal "$out" "0 $peak"

# A directory without space for temporary files, and one that does not exist.
TMPDIR=$work/nowhere run 0 "$SONDE" export -q --force -o b.firefox.json a.sonde
cmp a.firefox.json b.firefox.json || fail "without TMPDIR it is another profile"

# Programs without instrumentation.
rm a.sonde
run 0 "$SONDE" record -q -o a.sonde -- python3 -c 'sum(hash(str(i)) for i in range(300000))'
figures
equal "${out#* }" 0
holds "${out% *} > 10000000" "sampled ns"

# GPU work: a thread for each queue of the process; markers with times, the submitting thread and launch parameters.
rm a.sonde
run 0 "$SONDE" record -q -o a.sonde -- "$(target device_told)"
asker=$(cat .out)
figures
# of THREAD FILTER: the thread's markers as [name, type, start, length in ms, data]
of() {
	jq -c --arg thread "$1" '[.threads[] | select(.name == $thread) | . as $t | .markers | range(.length) as $i |
		[$t.stringArray[.name[$i]], .data[$i].type, .startTime[$i], ((.endTime[$i] - .startTime[$i]) * 1e6 | round / 1e6), .data[$i]]] | '"$2" a.firefox.json
}
first="first of Own toy <b> 0"
equal "$(of "$first" "map([.[0], .[1], .[3]]) | group_by(.) | map([length] + .[0])")" \
	'[[10,"alpha(float*, int)","device",5],[1,"upload","device",2]]'
equal "$(of "$first" '[.[:10] | .[1:][] as $next | $next[2]] as $later | [.[:9] | to_entries[] | $later[.key] - .value[2] | . * 1e6 | round / 1e6] | unique')" '[8]'
equal "$(of "$first" '.[0][4] | .delay += 0')" \
	'{"type":"device","kind":"kernel","delay":1,"asked_by":'"$asker"',"correlation":1,"grid":"64","block":"256","registers":32}'
equal "$(of "$first" '.[10][4] | [.kind, .bytes, .delay + 0]')" '["copy",4000000,1]'
equal "$(of "queue 8 of Own toy <b> 0" 'map([.[0], .[3]])')" '[["beta",30]]'
equal "$(of device_told 'map(select(.[1] == "device") | [.[0], .[3], .[4].kind])')" '[["wait",20,"sync"]]'
equal "$(jq -c '[.threads[] | .pid] | unique | length' a.firefox.json)" 1
# The first part of the run has only what lies in it; with a thread that submitted nothing there is no queue.
at=$(rows a.sonde device-gaps | jq 'map(select(.gap_ns == 17000000))[0].at_ns')
figures --to "${at}ns"
equal "$(of "$first" length)" 10
