# nvml.sh: GPU figures from NVIDIA's library, here a stand-in with known values: utilisation, memory, energy and bytes
# are recorded, and missing figures are reported.
# measures: times of kernels and copies
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need python3 jq
for age in new old; do
	[ -e "$SONDE_BUILD/tests/targets/libnvidia-ml-nvml_$age.so" ] || skip "the stand-in is not built"
	mkdir -p "$age"
	cp "$SONDE_BUILD/tests/targets/libnvidia-ml-nvml_$age.so" "$age/libnvidia-ml.so.1"
done
unset NVML_STAND_IN NVML_STAND_IN_PID
sources="SELECT method, detail FROM sources WHERE name = 'nvml'"
one='GPU 0 Stand-in one' two='GPU 1 Stand-in <b>two'

# gpu NAME WORDS COMMAND…: records with a driver, new or old
gpu() {
	local name=$1 age=$2 words=$3
	shift 3
	run 0 env LD_LIBRARY_PATH="$work/$age" NVML_STAND_IN="$words" "$SONDE" record "${how[@]}" -f -o "$name.sonde" -- "$@"
	said=$err
	run 0 "$SONDE" report --json --section machine,energy,summary "$name.sonde"
	echo "$out" >"$name.json"
}
# used FILE WHAT OBJECT COLUMN: a figure of the section machine
used() {
	jq -r --arg what "$2" --arg object "$3" --arg column "$4" '.sections[] | select(.id == "machine") | .rows[] |
		select(.what == $what and .object == $object) | .[$column] // "none"' "$1.json"
}
# cell FILE SECTION KEY ROW COLUMN
cell() {
	jq -r --arg id "$2" --arg key "$3" --arg row "$4" --arg column "$5" \
		'.sections[] | select(.id == $id) | .rows[] | select(.[$key] == $row) | .[$column] // "none"' "$1.json"
}
# within VALUE EXPECTED PART: the difference is at most PART of EXPECTED
within() {
	near "$1" "$2" "$3 * sqrt(($2) ^ 2)"
}

# two GPUs, two seconds
how=(--gpu)
gpu both new '' sleep 2
within "$(used both 'GPU busy' "$one" mean)" 0.4 1e-9
equal "$(used both 'GPU busy' "$two" mean)" 0
within "$(used both 'GPU memory' "$one" max)" 0.95 1e-9
equal "$(used both 'GPU memory' "$one" whole)" '80 GB'
within "$(used both 'GPU memory' "$two" mean)" 0.1 1e-9
within "$(used both 'GPU power' "$one" mean)" 0.25 1e-9
equal "$(used both 'GPU power' "$two" whole)" '400 W, its limit (mean 50 W)'
within "$(used both 'GPU clock' "$one" mean)" 0.75 1e-9
within "$(used both 'SMs active' "$one" mean)" 0.8 0.01
within "$(used both 'SMs active' "$one" max)" 0.8 0.01
within "$(used both 'SM occupancy' "$one" mean)" 0.5 0.01
within "$(used both 'tensor cores' "$one" mean)" 0.25 0.01
within "$(used both 'GPU bandwidth' "$one" mean)" 0.4 0.01
equal "$(used both 'SMs active' "$two" mean)" ''
within "$(used both 'throttled: power' "$one" mean)" 0.5 0.15
equal "$(used both 'throttled: heat' "$one" mean)" ''
# joules from the GPU's counter; 100 W and 50 W
equal "$(cell both energy meter "$one (not added)" how)" measured
within "$(cell both energy meter "$one (not added)" mean_w)" 100 0.01
within "$(cell both energy meter "$two (not added)" mean_w)" 50 0.01
within "$(cell both energy meter "$one (not added)" energy_j)" 200 0.1
# bytes from 64-bit counters, not from GPM; none for the second GPU, whose counters have 32 bits
within "$(jq -r '.sections[] | select(.id == "machine-io") | .rows[] | select(.kind == "PCIe") | .in_per_s_b' both.json)" 2e9 0.02
within "$(jq -r '.sections[] | select(.id == "machine-io") | .rows[] | select(.kind == "PCIe") | .out_per_s_b' both.json)" 1e9 0.02
within "$(jq -r '.sections[] | select(.id == "machine-io") | .rows[] | select(.kind == "NVLink") | .in_per_s_b' both.json)" 1073741824 0.02
equal "$(jq -r '[.sections[] | select(.id == "machine-io") | .rows[] | select(.name | startswith("GPU 1"))] | length' both.json)" 0
run 0 "$SONDE" query -f csv both.sonde "SELECT DISTINCT s.name, p.value FROM series s JOIN points p ON p.series_id = s.id
	WHERE s.object = '$one' AND s.name IN ('device.clock.memory', 'device.temperature') ORDER BY 1"
equal "$(tail -n +2 <<<"${out//$'\r'/}")" $'device.clock.memory,2600000000\ndevice.temperature,60'
# memory above 90 %: reported once, during the run and in the report
equal "$(grep -c 'warning: GPU 0 Stand-in one: 9[1-5] % of its memory is in use' <<<"$said")" 1
lacks "$said" 'GPU 1'
run 0 "$SONDE" report --section machine both.sonde
has "$out" "$one: up to 95 % of its memory was used (76 of 80 GB)"
lacks "$out" "$two: up to"
# a GPU can have any name
gpu named new named sleep 1.2
has "$said" 'warning: GPU 0 Stand-in \x1b[31m\n\xff: 9'
run 0 "$SONDE" report --section machine named.sonde
lacks "$out$said" $'\e'
# on a narrow terminal, rows of different GPUs can be told apart
run 0 env COLUMNS=80 "$SONDE" report -q --section machine both.sonde
for device in 'GPU 0' 'GPU 1'; do
	matches "$out" "GPU power +$device"
done
run 0 "$SONDE" query -f csv both.sonde "$sources"
has "$out" 'driver 999.1: 2 GPUs'
# markup in a name stays text
run 0 "$SONDE" report -f html -o both.html both.sonde
lacks "$(cat both.html)" 'Stand-in <b>two'

# the same during a live run
run 0 env LD_LIBRARY_PATH="$work/new" "$SONDE" live --gpu --no-open --once -o live.sonde -- sleep 1.5
has "$err" 'warning: GPU 0 Stand-in one: 9'

# GPU memory of one process of the run
cat >holds.sh <<'END'
echo $$ >pid
sleep 1.3
END
export NVML_STAND_IN_PID=$work/pid
gpu holds new '' sh holds.sh
unset NVML_STAND_IN_PID
run 0 "$SONDE" query -f csv holds.sonde "SELECT DISTINCT s.object, p.value FROM series s JOIN points p ON p.series_id = s.id
	WHERE s.name = 'device.memory.used' AND s.process_id IS NOT NULL"
equal "$(tail -n +2 <<<"${out//$'\r'/}")" "$one,1000000000"

# a running process: utilisation belongs to the system, so all of it is read; submitted work is not seen
sleep 4 &
export NVML_STAND_IN_PID=$work/pid
echo $! >pid
run 0 env LD_LIBRARY_PATH="$work/new" "$SONDE" record --gpu -f -o attached.sonde -p $!
unset NVML_STAND_IN_PID
has "$err" 'warning: GPU 0 Stand-in one: 9'
run 0 "$SONDE" report --json --section machine,energy attached.sonde
echo "$out" >attached.json
within "$(used attached 'GPU busy' "$one" mean)" 0.4 1e-9
within "$(used attached 'SMs active' "$one" mean)" 0.8 0.01
within "$(cell attached energy meter "$one (not added)" mean_w)" 100 0.01
run 0 "$SONDE" query -f csv attached.sonde "SELECT DISTINCT s.object, p.value FROM series s JOIN points p ON p.series_id = s.id
	WHERE s.name = 'device.memory.used' AND s.process_id IS NOT NULL"
equal "$(tail -n +2 <<<"${out//$'\r'/}")" "$one,1000000000"
run 0 "$SONDE" report attached.sonde
has "$(tr -s ' \n' ' ' <<<"$out")" 'gpu: not recorded: kernels and copies are recorded inside programs that sonde starts'

# an old driver: fewer functions, one of them under its older name
gpu old old '' sleep 1.5
within "$(used old 'GPU busy' "$one" mean)" 0.4 1e-9
within "$(used old 'throttled: power' "$one" mean)" 0.33 0.3
within "$(cell old energy meter "$one (not added)" mean_w)" 100 0.01
equal "$(used old 'SMs active' "$one" mean)" ''
run 0 "$SONDE" query -f csv old.sonde "$sources"
has "$out" 'PCIe bytes'
has "$out" 'the driver is too old for it'

# what a GPU does not support is missing, with the reason
gpu less new unsupported sleep 1.2
equal "$(used less 'GPU busy' "$two" mean)" ''
within "$(used less 'GPU memory' "$two" mean)" 0.1 1e-9
equal "$(cell less energy meter "$two (not added)" how)" ''
run 0 "$SONDE" query -f csv less.sonde "$sources"
has "$out" "$two does not report: utilisation"

# a GPU that is lost during the run: the other one goes on, and the loss is reported
gpu lost new lost sleep 1.5
within "$(cell lost energy meter "$one (not added)" energy_j)" 150 0.15
equal "$(cell lost energy meter "$two (not added)" how)" unavailable
run 0 "$SONDE" report lost.sonde
has "$out" "$two: the GPU is lost"

# counters that restart during the run neither subtract nor add anything
gpu again new again sleep 2
within "$(cell again energy meter "$one (not added)" energy_j)" 195 0.1
within "$(used again 'SMs active' "$one" mean)" 0.8 0.01
equal "$(used again 'GPU bandwidth' "$one" mean)" '' # it was not a number

# a driver that hangs blocks nothing
how=(--gpu -q)
begun=$SECONDS
gpu stuck new stuck sleep 1
[ $((SECONDS - begun)) -lt 20 ] || fail "waited for a driver that does not answer"
run 0 "$SONDE" report stuck.sonde
has "$out" 'the driver stopped answering'

# expensive readings become less frequent
gpu dear new dear sleep 2
run 0 "$SONDE" report dear.sonde
has "$out" 'nvml: limited: read every'

# less than a second: no energy, with the reason
gpu brief new '' sleep 0.4
run 0 env COLUMNS=200 "$SONDE" report -q --section energy brief.sonde
has "$out" "$one: too short to measure: read for less than a second"

# a command that ends before the driver has started
gpu short new slow true
run 0 "$SONDE" report short.sonde
matches "$out" 'nvml: not recorded: the (driver had not answered|recording ended before)'

# initialisations that fail: the reason
for case in 'nodriver:not loaded' 'mismatch:versions differ' 'nodevice:shows no GPU'; do
	gpu fails new "${case%%:*}" sleep 0.3
	run 0 "$SONDE" report fails.sonde
	has "$out" "${case#*:}"
	equal "$(used fails 'GPU busy' "$one" mean)" ''
done

# --energy alone reads power and energy
how=(--energy -q)
gpu joules new '' sleep 1.5
within "$(cell joules energy meter "$one (not added)" mean_w)" 100 0.01
equal "$(used joules 'GPU busy' "$one" mean)" ''
within "$(used joules 'GPU power' "$one" mean)" 0.25 1e-9

# no library, no driver: reported only with --gpu; also as an ordinary user
how=(--gpu -q)
if [ -z "$(ldconfig -p 2>/dev/null | grep libnvidia-ml.so.1)" ]; then
	run 0 as_user "$SONDE" record --gpu -q -o none.sonde -- true
	run 0 "$SONDE" report none.sonde
	has "$out" 'nvml: not recorded: no NVIDIA driver: libnvidia-ml.so.1 cannot be loaded'
	run 0 "$SONDE" record --energy -q -o mute.sonde -- sleep 1.2
	run 0 "$SONDE" report mute.sonde
	lacks "$out" nvml:
	run 0 "$SONDE" report --section energy mute.sonde
	has "$out" 'GPUs: unavailable'
	run 0 "$SONDE" doctor
	has "$out" 'no NVIDIA driver: libnvidia-ml.so.1'
	run 0 "$SONDE" stat --gpu -f --json -o used.json -- true
	matches "$(jq -r .device.absent.utilization used.json)" 'libnvidia-ml.so.1'
fi
run 0 env LD_LIBRARY_PATH="$work/new" "$SONDE" doctor
lacks "$out" 'no NVIDIA driver'

# sonde stat: the same figures next to the program's, for each GPU and in the last line; and the GPU memory of a
# process
used() {
	run 0 env LD_LIBRARY_PATH="$work/new" "$SONDE" stat -f "$@"
}
sleep 2 &
export NVML_STAND_IN_PID=$work/pid
echo $! >pid
used --gpu --json -o used.json -p $!
unset NVML_STAND_IN_PID
equal "$(jq -c '.device | [.count, .utilization, .utilization_max, .memory_peak_b, .process_memory_peak_b]' used.json)" \
	'[2,0.2,0.4,76000000000,1000000000]'
equal "$(jq -c '.device.devices | map([.name, .utilization, .memory_total_b, .process_memory_peak_b])' used.json)" \
	"[[\"$one\",0.4,80000000000,1000000000],[\"$two\",0,80000000000,null]]"
used --gpu -- sleep 0.5
matches "$err" '^  GPU 0 +40\.0 %  of the time a kernel ran'
matches "$err" 'GPU Util: 20\.0 % of 2$'
used --gpu -r 2 -- sleep 0.4
matches "$err" '^  GPU busy +20\.0 %'
used --json -o used.json -- true
equal "$(jq -r '.device.count, .device.absent.count' used.json)" $'null\nGPUs were not read: --gpu'
