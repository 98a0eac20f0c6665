# critical-devices.sh: the critical path goes through what devices did while threads waited for them: of a program that says when
# its device did what, to the ns, and of a real OpenCL program.
# timeout: 180
. "$(dirname "$0")/lib.sh"
need jq
program=$(target device_waits)

# on FILE KIND NAME: ns that an element has on the path.
on() {
	rows "$1" critical-path | jq --arg k "$2" --arg n "$3" '[.[] | select(.kind == $k and .name == $n).time_ns] | add // 0'
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
		equal "$name $(on "$1" 'wait for a device' "$name")" "$name $waited_ns"
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
	has "$err" "the recording has no kernel called 'up'"
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
for mode in overlap apart; do
	run 0 "$SONDE" record --gpu --threads -q -o $mode.sonde -- "$queues" $mode
	whole $mode.sonde kernel=spin
	# One queue is on it from its first long kernel to its last, with all that they took; the other one is not.
	run 0 "$SONDE" export -q -f chrome -o $mode.json $mode.sonde
	steps=$(rows $mode.sonde critical-steps | jq 'map(select(.state == "device" and .duration_ns > 1000000))')
	equal "$(jq 'map(.thread) | unique | length' <<<"$steps")" 1
	queue=$(jq -r '.[0].thread | split(" on ")[0]' <<<"$steps")
	track=$(jq --arg q "$queue" '.traceEvents[] | select(.ph == "M" and .name == "thread_name" and .args.name == $q).tid' $mode.json)
	kernels=$(jq --argjson t "$track" '[.traceEvents[] | select(.cat == "device" and .tid == $t and .dur > 1000).dur * 1000 | round] | add' $mode.json)
	equal "$(jq 'map(.duration_ns) | add' <<<"$steps")" "$kernels"
	equal "$(jq length <<<"$steps")" 5
	holds "$(saved $mode.sonde kernel=spin,speed=2) > 0.4 * $kernels" "faster kernels, $mode"
done
