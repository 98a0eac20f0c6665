# critical-devices.sh: the critical path continues into GPU work that threads wait for: in a program that reports its
# device's times to the ns, and in a real OpenCL program.
# measures in part: CPU time of zones on the critical path; whether a host asks for kernels in time
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target device_waits)

# on FILE KIND NAME: time of an element on the path, in ns.
on() {
	rows "$1" critical-path | jq --arg k "$2" --arg n "$3" '[.[] | select(.kind == $k and .name == $n).time_ns] | total'
}

# Elements and segments each add up to the length of the path, which is also the predicted time when nothing is
# faster.
whole() {
	local steps
	steps=$(rows "$1" critical-steps | jq '[.[].duration_ns] | add')
	equal "$(rows "$1" critical-path | jq '[.[].time_ns] | add')" "$steps"
	equal "$("$SONDE" advise -q --json --what-if "$2,speed=1" "$1" | jq -r '.sections[0].rows[0].predicted_ns')" "$steps"
}

# saved FILE WHAT: predicted gain in ns.
saved() {
	"$SONDE" advise -q --json --what-if "$2" "$1" | jq '.sections[0].rows[0] | .span_ns - .predicted_ns'
}

# path FILE: the device work that the program printed (.out) equals the path's.
path() {
	local name ns waited_ns count=0
	while read -r name ns waited_ns; do
		local kind=kernel
		[ "$name" != up ] || kind=copy
		equal "$name $(on "$1" $kind "$name")" "$name $ns"
		equal "$name $(on "$1" 'wait for a GPU' "$name")" "$name $waited_ns"
		count=$((count + 1))
	done <.told
	equal "$count" 4
	equal "$(rows "$1" critical-steps | jq -c 'map(select(.state == "device") | [.kind, .name, .thread])')" \
		'[["kernel","alone","first on Own toy 0"],["copy","up","first on Own toy 0"],["kernel","behind","first on Own toy 0"],["kernel","other","first on Own toy 0"]]'
	whole "$1" kernel=alone
	# Host work that ran at the same time as the device's is not on the path and would save nothing; the device's
	# work is, and would.
	equal "$(on "$1" zone beside)" 0
	equal "$(saved "$1" zone=beside,speed=inf)" 0
	local copied
	copied=$(on "$1" copy up)
	equal "$(saved "$1" copy=up,speed=2)" $((copied / 2))
	run 2 "$SONDE" advise --what-if kernel=up,speed=2 "$1"
	has "$err" "the recording has no kernel 'up'"
}

run 0 "$SONDE" record -q --threads -o waits.sonde -- "$program"
cp .out .told
path waits.sonde
# A thread that waited for nothing is on the path with all of its work; so is the thread that submitted what the main
# thread waited for.
if [ "$(rows waits.sonde critical-path | jq 'map(.state == "running") | any')" = true ]; then
	for zone in before late after; do
		measured holds "$(on waits.sonde zone $zone) > 5000000" "zone $zone"
	done
fi
# Without privileges it is not known when threads ran; the device's part is the same.
run 0 as_user "$SONDE" record -q --no-perf --threads -o calls.sonde -- "$program"
cp .out .told
path calls.sonde
# The Chrome trace has the whole path as a track.
run 0 "$SONDE" export -q -f chrome -o waits.json waits.sonde
equal "$(jq -c '[.traceEvents[] | select(.cat == "critical path" and .args.state == "device") | .name]' waits.json)" \
	'["alone","up","behind","other"]'

# OpenCL: ten kernels in two queues, each of which waits for the previous one in the other queue. The host only waits.
queues=$(target opencl_queues)
[ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] || skip "libsonde-opencl.so is not built (package opencl-c-headers)"
"$(target opencl_known)" >.out 2>.err || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; fail "it fails without us"; }
# In µs from the start: all kernels but the first, which is waited for before the others are submitted.
kernels_of() {
	jq '[.traceEvents[] | select(.cat == "device")] | sort_by(.ts) | .[1:] | map({tid, dur, from: .ts, to: (.ts + .dur), asked: (.ts - .args.delay_ns / 1000)})' "$1"
}
# Whether each kernel was submitted before the previous one in its queue had ended: not if the host had no CPU in
# between.
in_time() {
	jq -e 'group_by(.tid) | map(. as $of | [range(1; length) | $of[.].asked < $of[. - 1].to] | all) | all' kernels.json >.in_time
}
asks_in_time() {
	in_time || fail "the host came too late to ask, in $mode"
}
for mode in overlap apart; do
	run 0 "$SONDE" record --gpu --threads -q -o $mode.sonde -- "$queues" $mode
	run 0 "$SONDE" export -q -f chrome -o $mode.json $mode.sonde
	kernels_of $mode.json >kernels.json
	equal "$(jq length kernels.json)" 10
	whole $mode.sonde kernel=spin
	measured asks_in_time
	in_time || continue # then the host is on the path between kernels
	# One queue is on the path from its first kernel to its last, with their full time; the other is not.
	rows $mode.sonde critical-steps | jq --argjson from "$(jq 'map(.from) | min * 1000 | round' kernels.json)" \
		'map(select(.state == "device" and .start_ns >= $from))' >steps.json
	equal "$(jq -c '[length, (map(.thread) | unique | length)]' steps.json)" '[5,1]'
	queue=$(jq -r '.[0].thread | split(" on ")[0]' steps.json)
	track=$(jq --arg q "$queue" '.traceEvents[] | select(.ph == "M" and .name == "thread_name" and .args.name == $q).tid' $mode.json)
	kernels=$(jq --argjson t "$track" '[.[] | select(.tid == $t).dur * 1000 | round] | add' kernels.json)
	equal "$(jq 'map(.duration_ns) | add' steps.json)" "$kernels"
	holds "$(saved $mode.sonde kernel=spin,speed=2) > 0.4 * $kernels" "faster kernels, $mode"
done
