# devices.sh: GPU work that a program reports through the API is recorded: kernels with their times and names, whichever
# thread reports them.
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target device_told)
run 0 "$SONDE" record -q -o d.sonde -- "$program"
asker=$(cat .out)
kernels=$(rows d.sonde kernels)
equal "$(jq -c 'map([.kernel, .calls, .total_ns, .mean_ns, .min_ns, .max_ns, .mean_delay_ns, .share])' <<<"$kernels")" \
	'[["alpha(float*, int)",10,50000000,5000000,5000000,5000000,1000000,0.625],["beta",1,30000000,30000000,30000000,30000000,1000000,0.375]]'
equal "$(jq -r '.[0].device' <<<"$kernels")" "Own toy <b> 0"
# --thread selects the threads that submitted the work, not those that reported it.
"$SONDE" report -q --json --section kernels --thread "$asker" d.sonde >chosen.json
equal "$(jq '[.sections[0].rows[].calls] | add' chosen.json)" 11
# In a merged recording, the parts keep their devices.
run 0 "$SONDE" record -q -o e.sonde -- "$program"
run 0 "$SONDE" merge -q -o m.sonde d.sonde e.sonde
equal "$(rows m.sonde kernels | jq -c 'map([.kernel, .calls, .total_ns])')" \
	'[["alpha(float*, int)",10,50000000],["alpha(float*, int)",10,50000000],["beta",1,30000000],["beta",1,30000000]]'
equal "$(rows m.sonde devices | jq -c 'map([.busy_share, .kernel_ns, .concurrency])')" \
	"$(for part in d e; do rows $part.sonde devices; done | jq -cs 'add | map([.busy_share, .kernel_ns, .concurrency])')"
for section in devices streams; do # shares are of each device's or queue's own time, and labelled so
	run 0 env COLUMNS=400 "$SONDE" report -q --section $section m.sonde
	matches "$out" 'busy: .* ÷ [0-9.]+ s of wall time in the row.s own recording'
	run 0 env COLUMNS=400 "$SONDE" report -q --section $section d.sonde
	matches "$out" 'busy: .* ÷ [0-9.]+ s of wall time'
done
# A process that records itself says that it left GPU work out.
run 0 env SONDE_OUT=self.sonde "$program"
run 0 "$SONDE" report --section kernels self*.sonde
matches "$out" "13 .*GPU activities"
# A query gives the report's figures (if SQLite is installed).
sql="SELECT operation, count(*), sum(dur_ns) FROM activities WHERE kind = 'kernel' GROUP BY 1"
if "$SONDE" query d.sonde "SELECT 1" >.one 2>.err; then
	equal "$("$SONDE" query -q -f csv d.sonde "$sql" | tr -d '\r' | tail -n +2)" \
		'"alpha(float*, int)",10,50000000
beta,1,30000000'
fi
# Work in the queues: 62 ms in which one of them was busy, and a copy of 2 ms.
devices=$(rows d.sonde devices)
equal "$(jq -c 'map([.kernel_ns, .copy_ns, .copied_b, .queues, (.concurrency * 64 | round)])' <<<"$devices")" '[[80000000,2000000,4000000,2,82]]'
equal "$(rows d.sonde copies | jq -c 'map([.from, .to, .copies, .b_per_s])')" '[["pageable","device",1,2000000000]]'
equal "$(rows d.sonde streams | jq -c 'map([.queue, .activities, .gaps, .idle_ns, (.overlap_share * 100 | round)])')" \
	'[["first",11,10,44000000,35],["queue 8",1,0,0,60]]'
equal "$(rows d.sonde device-calls | jq -c 'map([.call, .kind, .total_ns])')" '[["wait","sync",20000000]]'
# Exchange formats have a track for each queue, below its device.
run 0 "$SONDE" export -q -f chrome -o d.json d.sonde
equal "$(jq -c '[.traceEvents[] | select(.cat == "device") | [.name, .dur]] | unique' d.json)" \
	'[["alpha(float*, int)",5000],["beta",30000],["upload",2000]]'
equal "$(jq -c '[.traceEvents[] | select(.ph == "M" and .pid > 4194304) | .args.name] | unique' d.json)" '["Own toy <b> 0","first","queue 8"]'
equal "$(jq -c '[.traceEvents[] | select(.cat == "device" and .name == "upload") | .args | [.kind, .bytes, .delay_ns]]' d.json)" '[["copy",4000000,1000000]]'
equal "$(jq -c '[.traceEvents[] | select(.cat == "device" and .name == "alpha(float*, int)") | .args | [.grid, .block, .registers, .grid_x]] | unique' d.json)" \
	'[[[64,1,1],[256,1,1],32,null]]'
run 0 "$SONDE" export -q -f perfetto -o d.pftrace d.sonde
if command -v python3 >.which; then
	run 0 python3 "$repo/tests/validate/check.py" chrome d.json
	"${PYTHON:-python3}" "$repo/tests/validate/check.py" perfetto d.pftrace || [ $? -eq 77 ] || fail "the perfetto trace is not right"
fi
# A device that two processes use under different numbers is one device in all formats, with the number that the
# sections give it.
run 0 "$SONDE" record -q -o two.sonde -- sh -c '"$0" 3; "$0" 1' "$program"
equal "$(rows two.sonde devices | jq -c 'map([.device, .kernel_ns, .queues])')" '[["Own toy <b> 3",160000000,4]]'
run 0 "$SONDE" export -q -f chrome -o two.json two.sonde
equal "$(jq -c '[.traceEvents[] | select(.cat == "device") | .pid] | unique | length' two.json)" 1
equal "$(jq -c '[.traceEvents[] | select(.ph == "M" and .name == "process_name" and .pid > 4194304) | .args.name] | unique' two.json)" \
	'["Own toy <b> 3"]'
tracks='[.traceEvents[] | select(.ph == "M" and .name == "thread_name" and .pid > 4194304) | .args.name | sub("[(][0-9]+[)]"; "(PID)")]'
equal "$(jq -c "$tracks" two.json)" '["first","queue 8","first of device_told (PID)","queue 8 of device_told (PID)"]'
run 0 "$SONDE" export -q -f perfetto -o two.pftrace two.sonde
equal "$(grep -ao 'Own toy <b> [0-9]' two.pftrace)" 'Own toy <b> 3'
equal "$(grep -ao 'queue 8 of device_told' two.pftrace | wc -l)" 1
run 0 "$SONDE" export -q -f firefox -o two.firefox two.sonde
equal "$(zcat -f two.firefox | jq -c '[.. | objects | select(has("samples")) | .name | select(test("toy"))] | sort')" \
	'["first of Own toy <b> 3","first of Own toy <b> 3","queue 8 of Own toy <b> 3","queue 8 of Own toy <b> 3"]'
# In a merged recording each part has its own device: nothing says that it is the same machine's.
run 0 "$SONDE" export -q -f chrome -o merged.json m.sonde
equal "$(jq -c '[.traceEvents[] | select(.cat == "device")] | group_by(.pid) | map(length)' merged.json)" '[12,12]'
equal "$(jq -c '[.traceEvents[] | select(.ph == "M" and .name == "process_name" and .pid > 4194304) | .args.name] | unique' merged.json)" \
	"$(rows m.sonde devices | jq -c 'map(.device) | unique')"
# The summary of a JSON report has the memory allocated on each device; for this one it is unknown.
"$SONDE" report -q --json d.sonde >all.json
equal "$(jq -c '.summary.memory.devices' all.json)" '{"Own toy <b> 0":{"peak_allocated":null,"peak_reserved":null}}'
equal "$(jq -r '.summary.absent["memory.devices.Own toy <b> 0.peak_allocated"]' all.json)" "no allocation of its memory was recorded"
# The program ends right after it submitted the copy, so sometimes its mappings are read too late.
for i in 1 2 3 4 5 6 7 8; do
	run 0 "$SONDE" record -q --gpu=full --force -o ends.sonde -- "$program"
	equal "$(rows ends.sonde launch-stacks | jq -c 'map(select(.launched_in) | [.operation, .launched_in])')" '[["upload","tell_all"]]'
done
# In a merged recording, which is longer than each part, findings give the device's own time.
run 0 "$SONDE" merge -q -o apart.sonde d.sonde ends.sonde
equal "$(rows apart.sonde devices | jq -c 'map([.busy_ns, .idle_ns, .gaps, .copy_alone_ns])')" '[[64000000,32000000,6,2000000],[64000000,32000000,6,2000000]]'
run 0 "$SONDE" report --json --section findings --threshold device-starved.share=0.0001 apart.sonde
matches "$(jq -r '.sections[0].rows[] | select(.rule == "device-starved") | .evidence' <<<"$out")" "0.012 s in 6 gaps .*busy for 0.064 s"
