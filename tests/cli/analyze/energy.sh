# energy.sh: the reported energy equals that of counters whose steps are known to the µJ; if there are no counters, it
# comes from the model. It is also reported in grams of CO2e.
# measures: number of readings in an interval
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need python3 jq
export SONDE_ENERGY_ROOT=$work/machine

# zone NAME LABEL µJ: a counter that wraps at 65,532,610,987 µJ; written in place, because the recorder has it open
zone() {
	mkdir -p "machine/sys/class/powercap/$1"
	echo "$2" >"machine/sys/class/powercap/$1/name"
	echo 65532610987 >"machine/sys/class/powercap/$1/max_energy_range_uj"
	printf '%-20s\n' "$3" >"machine/sys/class/powercap/$1/energy_uj"
}
# cell FILE SECTION ROW COLUMN: a cell of the JSON report; the row is found by its first column
cell() {
	jq -r --arg id "$2" --arg row "$3" --arg column "$4" \
		'.sections[] | select(.id == $id) | .columns[0].key as $key | .rows[] | select(.[$key] == $row) | .[$column]' "$1"
}

mkdir -p machine/proc
printf 'processor\t: 0\nprocessor\t: 1\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n' >machine/proc/cpuinfo

# two packages, one counter of which wraps; domains inside or above them are not added
zone intel-rapl:0 package-0 65532000000
zone intel-rapl:0:0 core 65532000000
zone intel-rapl:0:1 dram 1000
zone intel-rapl:1 package-1 5
zone intel-rapl:2 psys 77
cat >steps.sh <<'END'
cd machine/sys/class/powercap
step() { printf '%-20s\n' "$2" 1<>"$1/energy_uj"; }
sleep 0.5
step intel-rapl:0 65532510987
step intel-rapl:0:0 65532510000
step intel-rapl:2 99999977
sleep 0.5
step intel-rapl:0 389013
step intel-rapl:0:1 3001000
sleep 0.5
step intel-rapl:1 250005
sleep 1
echo done
exit 7
END
run 7 "$SONDE" record --energy --country fr -q -o metered.sonde -- sh steps.sh
equal "$out" done
run 0 "$SONDE" report --json --section energy metered.sonde
echo "$out" >metered.json
equal "$(cell metered.json energy package-0 energy_j)" 1
equal "$(cell metered.json energy package-1 energy_j)" 0.25
equal "$(cell metered.json energy 'dram-0 (not added)' energy_j)" 3
equal "$(cell metered.json energy 'all packages' energy_j)" 1.25
equal "$(cell metered.json energy 'all packages' how)" measured
equal "$(cell metered.json energy_processes idle how)" estimated
python3 - <<'PYTHON' || fail "shares and idling do not make up the whole"
import json
sections = {s["id"]: s for s in json.load(open("metered.json"))["sections"]}
rows = lambda s: sections[s]["rows"]
total = sum(r["energy_j"] for r in rows("energy_processes"))
assert abs(total - 1.25) < 1e-6, total
for r in rows("energy"):
    if r["gco2e_g"] is not None:
        assert abs(r["gco2e_g"] - r["energy_j"] / 3.6e6 * 56) < 1e-9, r
assert {"meter", "how", "energy_j", "energy_low_j", "energy_high_j", "mean_w", "gco2e_g", "covered_ns", "longest_ns",
        "readings"} <= set(rows("energy")[0])
assert {"process", "how", "cpu_ns", "share", "energy_j", "energy_low_j", "energy_high_j", "gco2e_g", "pid"} <= set(
    rows("energy_processes")[0])
assert max(r["longest_ns"] or 0 for r in rows("energy")) > 0
PYTHON

run 0 "$SONDE" report --section energy metered.sonde
has "$out" "  measured"
has "$out" "mean W"

# an option of the report overrides that of the recording
run 0 "$SONDE" report --section energy --carbon-intensity 360 metered.sonde
has "$out" "360 g/kWh, as given"
has "$out" "dram is not added"
run 0 "$SONDE" report --section energy --country SE metered.sonde
has "$out" "Sweden, average of"
run 2 "$SONDE" report --country Atlantis metered.sonde
has "$err" "unknown country 'Atlantis'"
run 2 "$SONDE" report --carbon-intensity -5 metered.sonde
has "$err" "is not a carbon intensity"
run 125 "$SONDE" record --country fr -o no.sonde -- true
has "$err" "need --energy"

# a counter that disappears during the run
run 0 "$SONDE" record --energy -q -o gone.sonde -- sh -c 'sleep 0.6; : >machine/sys/class/powercap/intel-rapl:1/energy_uj; sleep 0.6'
run 0 "$SONDE" report --section energy gone.sonde
has "$out" "package-1: the meter disappeared"

# a run that is too short gives no figure
zone intel-rapl:1 package-1 5
run 0 "$SONDE" record --energy -q -o short.sonde -- true
run 0 "$SONDE" report --section energy short.sonde
has "$out" "too short to measure"
lacks "$out" "mean W"

# no counters: the model is used, and every figure says so
rm -r machine/sys
run 0 "$SONDE" record --energy -q -o model.sonde -- python3 -c '
import time
end = time.monotonic() + 1.5
while time.monotonic() < end: pass'
run 0 "$SONDE" report --section energy model.sonde
has "$out" "modelled, not measured: the processor shows no energy counter"
has "$out" "AMD EPYC, 3rd generation"
has "$(tr -s ' \n' ' ' <<<"$out")" "of this virtual machine only"
has "$out" "grams of CO2e need --country CODE"
lacks "$out" "  measured"
lacks "$out" "estimated"
run 0 "$SONDE" report --json --section energy model.sonde
echo "$out" >model.json
python3 - <<'PYTHON' || fail "the model is not idle and work by utilisation"
import json
sections = {s["id"]: s for s in json.load(open("model.json"))["sections"]}
whole, = sections["energy"]["rows"]
rows = sections["energy_processes"]["rows"]
idle, = [r for r in rows if r["process"] == "idle"]
seconds = whole["covered_ns"] / 1e9
work_j = whole["energy_j"] - idle["energy_j"]
assert abs(idle["energy_j"] - 2 * 0.424 * seconds) < 1e-6, idle  # two CPUs, as on the captured machine
assert abs(sum(r["energy_j"] for r in rows) - whole["energy_j"]) < 1e-6, rows
assert 0 < work_j <= 2 * (1.916 - 0.424) * seconds * 1.000001, work_j
assert whole["energy_low_j"] < whole["energy_j"] < whole["energy_high_j"]
PYTHON

# zones: the energy of their samples, at the process's joules per second; three of ten units are in "inner"
quietly zones.sonde "$SONDE" record --energy -q -o zones.sonde -- "$(target zones_known)" 500
run 0 "$SONDE" report --section energy,energy-zones,energy-functions zones.sonde
has "$out" "modelled, not measured"
lacks "$out" "estimated"
run 0 "$SONDE" report --json --section energy,energy-zones zones.sonde
echo "$out" >zones.json
python3 - <<'PYTHON' || fail "zones have not the share of their CPU time"
import json
sections = {s["id"]: s for s in json.load(open("zones.json"))["sections"]}
process, = [r for r in sections["energy_processes"]["rows"] if r["pid"] is not None]
zones = {r["zone"]: r for r in sections["energy-zones"]["rows"]}
compute, inner = zones["compute"], zones["inner"]
rate = process["energy_j"] / process["cpu_ns"]
for zone in compute, inner:
    assert abs(zone["total_j"] - zone["total_cpu_ns"] * rate) < 1e-6, zone
    assert zone["calls"] == 750 and zone["self_low_j"] < zone["self_j"] < zone["self_high_j"], zone
assert abs(compute["self_j"] + inner["self_j"] - compute["total_j"]) < 1e-6, zones
assert 0.25 < inner["total_j"] / compute["total_j"] < 0.35, zones  # 0.01 is one standard deviation
assert "rest" not in zones, zones  # it sleeps, so it has no samples
PYTHON

# without --energy nothing is reported
run 0 "$SONDE" record -q -o plain.sonde -- true
run 0 "$SONDE" report plain.sonde
lacks "$out" "Energy"
run 0 "$SONDE" report --section energy plain.sonde
has "$out" "record with --energy"
