# device-zones.sh: GPU memory in zones: how much is in use when a zone begins and ends, and the peak inside; a pool's
# reserve is listed separately.
. "$(dirname "$0")/../lib.sh"
need jq
run 0 "$SONDE" record -q -o d.sonde -- "$(target device_zones)"
zones=$(rows d.sonde device-zones)
of() {
	jq -c --arg zone "$1" '.[] | select(.zone == $zone) | [.calls, .begin_b, .peak_b, .rise_b, .end_b, .change_b, .allocated_b, .allocations]' <<<"$zones"
}
equal "$(jq length <<<"$zones")" 4
equal "$(of load)" '[2,500000,2000000,1000000,1500000,2000000,2000000,2]'
equal "$(of step)" '[1,2000000,8000000,6000000,2000000,0,6000000,2]'
equal "$(of inner)" '[1,6000000,8000000,2000000,8000000,2000000,2000000,1]'
equal "$(of after)" '[1,2000000,2000000,0,2000000,0,0,0]'
equal "$(jq -c 'map([.zone, .reserved_peak_b, .reserved_change_b]) | sort' <<<"$zones")" \
	'[["after",8000000,0],["inner",8000000,0],["load",0,0],["step",8000000,8000000]]'
# A pool's reserve is in no other figure.
equal "$(rows d.sonde device-memory | jq -c 'map([.peak_b, .end_b, .allocated_b, .allocations])')" '[[8000000,0,8000000,4]]'
# Both are in the summary of a JSON report and in the section about the GPU.
"$SONDE" report -q --json d.sonde >all.json
equal "$(jq -c '.summary.memory.devices' all.json)" '{"Own toy 0":{"peak_allocated":8000000,"peak_reserved":8000000}}'
equal "$(rows d.sonde devices | jq -c 'map([.peak_b, .reserved_b])')" '[[8000000,8000000]]'
# In a merged recording, processes stay apart.
run 0 "$SONDE" record -q -o e.sonde -- "$(target device_zones)"
run 0 "$SONDE" merge -q -o m.sonde d.sonde e.sonde
equal "$(rows m.sonde device-zones | jq -c '[.[] | select(.zone == "step") | .peak_b, .reserved_peak_b] | unique')" '[8000000]'
