# export-perfetto.sh: traces for Perfetto: every packet is valid, slices nest and end, zones and samples equal the
# report's in number and time, arrows have two ends. The same holds for a part of a recording, and for programs without
# zones.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3
known=$(target zones_known)
validate=$repo/tests/validate
cat >figures.py <<'PYTHON'
"""figures.py VALIDATE TRACE REPORT.json: samples and sampled ns against the call tree; zones, of each name how many and how long."""
import json
import sys

sys.path.insert(0, sys.argv[1])
import perfetto_check as perfetto

ns, samples = perfetto.check_perfetto(sys.argv[2])
sections = {section["id"]: section for section in json.load(open(sys.argv[3]))["sections"]}
root = (sections.get("calltree", {}).get("nodes") or [{"total": 0, "count": 0}])[0]
assert (ns, samples) == (root["total"], root["count"]), (ns, samples, root["total"], root["count"])
found = {}
for track, name, begin, end in perfetto.slices(sys.argv[2]):
    if track == "":  # the thread's own track
        calls, total = found.get(name, (0, 0))
        found[name] = calls + 1, total + end - begin
wanted = {}
for row in sections.get("zones", {"rows": []})["rows"]:
    calls, total = wanted.get(row["zone"], (0, 0))
    wanted[row["zone"]] = calls + row["calls"], total + row["total_ns"]
assert found == wanted, (found, wanted)
print(samples, len(found))
PYTHON
# figures OPTION…: trace and report of a.sonde agree under the same options.
figures() {
	run 0 "$SONDE" export -q --force -f perfetto -o a.pftrace "$@" a.sonde
	run 0 "$SONDE" report -q --json -n 1000000 --section calltree,zones "$@" a.sonde
	mv .out report.json
	run 0 python3 figures.py "$validate" a.pftrace report.json
}

run 0 "$SONDE" record -q --threads -o a.sonde -- "$known" 40
figures
equal "${out#* }" 3
holds "${out% *} > 10"
figures --thread second
equal "${out#* }" 3
figures --from 30ms --to 120ms
cp a.pftrace first
figures --from 30ms --to 120ms
cmp a.pftrace first || fail "the same recording is another trace"
figures
if command -v protoc >/dev/null; then
	protoc --decode_raw <a.pftrace >raw || fail "protoc cannot read it"
	grep -q '"compute"' raw || fail "protoc sees no zone"
fi

# Waits have tracks of their own; arrows lead from the thread that unlocked.
rm a.sonde
run 0 "$SONDE" record -q --threads -o a.sonde -- "$(target waits)" convoy
run 0 "$SONDE" export -q -f perfetto -o waits.pftrace a.sonde
python3 - "$validate" waits.pftrace <<'PYTHON' || fail "calls or arrows are missing"
import sys

sys.path.insert(0, sys.argv[1])
import perfetto_check as perfetto

perfetto.check_perfetto(sys.argv[2])
names = [name for track, name, begin, end in perfetto.slices(sys.argv[2]) if track == "blocking calls"]
assert "mutex" in names, names
data = open(sys.argv[2], "rb").read()
assert b"unlock" in data and b"locked" in data
PYTHON

# Programs without instrumentation.
rm a.sonde
run 0 "$SONDE" record -q -o a.sonde -- python3 -c 'sum(hash(str(i)) for i in range(300000))'
figures
equal "${out#* }" 0
holds "${out% *} > 10" "samples"
