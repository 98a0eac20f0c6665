# critical-devices.sh: the critical path goes through what devices did while threads waited for them: of a program that says when
# its device did what, to the ns, and of a real OpenCL program.
# measures: times on the critical path
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target device_waits)

# on FILE KIND NAME: ns that an element has on the path.
on() {
	rows "$1" critical-path | jq --arg k "$2" --arg n "$3" '[.[] | select(.kind == $k and .name == $n).time_ns] | total'
}

# Elements and steps alike are the span, and so is the run once more with nothing faster.
whole() {
	local steps
	steps=$(rows "$1" critical-steps | jq '[.[].duration_ns] | add')
	equal "$(rows "$1" critical-path | jq '[.[].time_ns] | add')" "$steps"
	equal "$("$SONDE" advise -q --json --what-if "$2,speed=1" "$1" | jq -r '.sections[0].rows[0].predicted_ns')" "$steps"
}

# saved FILE WHAT: ns by which the run would be shorter.
saved() {
	"$SONDE" advise -q --json --what-if "$2" "$1" | jq '.sections[0].rows[0] | .span_ns - .predicted_ns'
}

# path FILE: what the program printed (.out) of its device is what the path has of it.
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
	# What the host did beside the device is not on it, and would save nothing; the device is, and would.
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
# Who waited for nothing is on the path with all of its work; so is the thread that asked for what the main thread waited for.
if [ "$(rows waits.sonde critical-path | jq 'map(.state == "running") | any')" = true ]; then
	for zone in before late after; do
		holds "$(on waits.sonde zone $zone) > 5000000" "zone $zone"
	done
fi
# Without privileges nothing says when threads ran: the device's part is the same.
run 0 as_user "$SONDE" record -q --no-perf --threads -o calls.sonde -- "$program"
cp .out .told
path calls.sonde
# A trace of events has the track in full.
run 0 "$SONDE" export -q -f chrome -o waits.json waits.sonde
equal "$(jq -c '[.traceEvents[] | select(.cat == "critical path" and .args.state == "device") | .name]' waits.json)" \
	'["alone","up","behind","other"]'

# OpenCL: ten kernels of two queues, of which each waits for the one before it in the other queue. The host does nothing but wait.
queues=$(target opencl_queues)
[ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] || skip "libsonde-opencl.so is not built (package opencl-c-headers)"
"$(target opencl_known)" >.out 2>.err || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; fail "it fails without us"; }
# In µs since the beginning: kernels but for the first of all, which is waited for before the others are asked for.
kernels_of() {
	jq '[.traceEvents[] | select(.cat == "device")] | sort_by(.ts) | .[1:] | map({tid, dur, from: .ts, to: (.ts + .dur), asked: (.ts - .args.delay_ns / 1000)})' "$1"
}
# Whether each was asked for before the one before it in its queue had ended: not where the host had no processor meanwhile.
in_time() {
	jq -e 'group_by(.tid) | map(. as $of | [range(1; length) | $of[.].asked < $of[. - 1].to] | all) | all' kernels.json >.in_time
}
for mode in overlap apart; do
	for try in 1 2 3 4 5; do
		run 0 "$SONDE" record --gpu --threads -q -f -o $mode.sonde -- "$queues" $mode
		run 0 "$SONDE" export -q -f chrome -o $mode.$try.json $mode.sonde
		kernels_of $mode.$try.json >kernels.json
		equal "$(jq length kernels.json)" 10
		! in_time || break
	done
	in_time || fail "five times the host came too late to ask, in $mode"
	whole $mode.sonde kernel=spin
	# One queue is on it from its first kernel to its last, with all that they took; the other one is not.
	rows $mode.sonde critical-steps | jq --argjson from "$(jq 'map(.from) | min * 1000 | round' kernels.json)" \
		'map(select(.state == "device" and .start_ns >= $from))' >steps.json
	equal "$(jq -c '[length, (map(.thread) | unique | length)]' steps.json)" '[5,1]'
	queue=$(jq -r '.[0].thread | split(" on ")[0]' steps.json)
	track=$(jq --arg q "$queue" '.traceEvents[] | select(.ph == "M" and .name == "thread_name" and .args.name == $q).tid' $mode.$try.json)
	kernels=$(jq --argjson t "$track" '[.[] | select(.tid == $t).dur * 1000 | round] | add' kernels.json)
	equal "$(jq 'map(.duration_ns) | add' steps.json)" "$kernels"
	holds "$(saved $mode.sonde kernel=spin,speed=2) > 0.4 * $kernels" "faster kernels, $mode"
done
