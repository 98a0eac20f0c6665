# cuda.sh: everything that CUPTI reports about a device is recorded unchanged, whatever goes wrong there, and the
# program behaves as without sonde. The device and CUPTI are stand-ins (tests/targets/cupti_stand_in.c).
# measures: times of kernels and copies
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target cuda_driver)
new=$(target cupti_stand_in.so)
plain=$(target cupti_stand_in_plain.so)
object=$SONDE_BUILD/src/inject/libsonde-cuda.so
[ -e "$object" ] || skip "libsonde-cuda.so is not built"
mkdir -p cuda13 cuda12 plain none home/lib64
cp "$new" cuda13/libcupti.so.13
cp "$plain" home/lib64/libcupti.so.12
# programs of CUDA 12 have the runtime library mapped
cp "$new" cuda12/libcupti.so.12
cp "$plain" plain/libcupti.so.12
for folder in cuda12 plain none; do cp "$(target nvtx_client.so)" $folder/libcudart.so.12; done

# injected LIBRARIES LEVEL LIKE ARGUMENTS…: records the program, and checks its output and exit code.
injected() {
	local libraries=$1 level=$2 like=$3
	shift 3
	run "${code:-5}" env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/$libraries" SONDE_GPU="$level" STAND_IN="$like" \
		"$SONDE" record -q -f -o c.sonde -- "$program" "$@"
	matches "$out" '^[0-9]+$'
	[ -z "$err" ] || fail "it says something: $err"
}
kernels() {
	rows c.sonde kernels | jq -c 'map([.kernel, .calls, .total_ns, .mean_ns, .mean_delay_ns])'
}
known='[["alpha(float*, int)",10,50000000,5000000,1000000],["beta",1,30000000,30000000,null]]'
undelayed='[["alpha(float*, int)",10,50000000,5000000,null],["beta",1,30000000,30000000,null]]'
nothing='[]'
# lost CAUSE: number of events lost for causes that match
lost() {
	"$SONDE" report c.sonde >.report 2>&1 || true
	sed -n -E "s/^! gpu: ([0-9,]+) lost: .*$1.*/\1/p" .report | tr -d ,
}
unended=$(printf '%s' 'it had not ended')

# --- everything that CUPTI reports --------------------------------------------------------------------------------------
export STAND_IN_LOG=$work/calls
injected cuda13 api ""
asker=$out
equal "$(kernels)" "$known"
equal "$(lost "$unended")" 1
equal "$(rows c.sonde devices | jq -c 'map([.device, .units, .clock_hz, .memory_b, .kind, .uuid, .kernel_ns, .copied_b, .peak_b, .queues])')" \
	'[["CUDA Stand-in <G1> 0",132,1980000000,80000000000,"GPU","GPU-10111213-1415-1617-1819-1a1b1c1d1e1f",80000000,7000000,1048576,2],["CUDA Stand-in <G1> 1",132,1980000000,80000000000,"GPU","GPU-20212223-2425-2627-2829-2a2b2c2d2e2f",0,0,null,0]]'
equal "$(rows c.sonde peers | jq -c 'map([.from, .to, .copies, .size_b, .b_per_s, .busy_ns])')" \
	'[["CUDA Stand-in <G1> 0","CUDA Stand-in <G1> 1",1,2000000,2000000000,1000000]]'
equal "$("$SONDE" query -q -f csv c.sonde "SELECT name, from_device_id, to_device_id FROM operations WHERE to_memory = 'peer'" | tail -n 1 | tr -d '\r')" \
	'copy device 0 to device 1,1,2'
"$SONDE" report -q --json --section roofline c.sonde >roofs.json
equal "$(jq -c '[.sections[] | select(.id == "device-roofs") | .rows[] | select(.device == "CUDA Stand-in <G1> 0") | .rate | round]' roofs.json)" \
	'[66908,33454,1070531,3352]'
# one roofline for both devices, which are alike; the machine's own ceilings were not measured
XDG_CACHE_HOME=$work/nothing run 0 "$SONDE" roofline -q -f svg c.sonde
equal "$(grep -c '<g class="device">' .out)" 1
has "$out" "CUDA Stand-in &lt;G1&gt; 0, 1"
has "$out" "66.91 TFLOP/s"
lacks "$out" "<circle"
XDG_CACHE_HOME=$work/nothing run 0 "$SONDE" roofline -q -f html c.sonde
has "$out" '<g class="device">'
has "$out" "Theoretical GPU ceilings"
# 64 × 2 blocks of 256 threads with 40 registers: 6 of the 8 blocks that 2048 threads allow
equal "$(rows c.sonde kernels | jq -c 'map(.occupancy)')" '[0.75,0.75]'
equal "$(rows c.sonde copies | jq -c 'map([.from, .to, .copies, .size_b, .total_ns]) | sort')" \
	'[["device","peer",1,2000000,1000000],["device","pinned",1,1000000,1000000],["pageable","device",1,4000000,2000000]]'
equal "$(rows c.sonde streams | jq -c 'map([.queue, .activities])')" '[["default stream",14],["queue 13",1]]'
equal "$(rows c.sonde device-calls | jq -c 'map([.call, .calls, .total_ns, .kind]) | sort')" \
	'[["cuda call 9999",1,1000000,"api"],["cudaLaunchKernel",10,1000000,"api"],["cudaStreamSynchronize",1,20000000,"api"],["device memory",1,0,"alloc"],["device memory",1,0,"free"],["flushing records",1,1000000,"overhead"],["stream synchronize",1,20000000,"sync"],["stream waits for event",1,1000000,"api"]]'
# a thread that waits for a stream names it; a stream that waits blocks no thread
equal "$("$SONDE" query -q -f csv c.sonde "SELECT operation, handle FROM activities a JOIN queues q ON q.id = a.queue_id
	WHERE kind IN ('sync', 'api')" | tail -n +2 | tr -d '\r')" 'stream synchronize,13'
# work submitted by a thread: all except what no call accounts for
"$SONDE" report -q --json --section kernels --thread "$asker" c.sonde >chosen.json
equal "$(jq -c '.sections[0].rows | map([.kernel, .calls])' chosen.json)" '[["alpha(float*, int)",10]]'
# the order of the requests to CUPTI, each of them once
equal "$(head -n 3 calls | paste -sd ';')" 'subscribe sonde;thread ids 1;callbacks'
equal "$(grep -c -e '^subscribe' calls)" 1
# settings that would change the records of a profiler that starts later are left alone
equal "$(grep -c -e '^clock' -e '^attribute' calls || true)" 0
equal "$(grep '^enable' calls | sort -n -k 2 | paste -sd ' ')" \
	'enable 1 enable 2 enable 5 enable 8 enable 9 enable 10 enable 17 enable 22 enable 38 enable 49 enable 50'
equal "$(grep -c '^runtime call .*: 0' calls)" 4
equal "$(tail -n 1 calls)" 'flush 1'
unset STAND_IN_LOG

# --- levels: without calls it is not known which thread submitted work, and when ------------------------------------------
injected cuda13 kernels ""
equal "$(kernels)" "$undelayed"
equal "$(rows c.sonde device-calls | jq '[.[] | select(.call | startswith("cuda"))] | length')" 0
"$SONDE" report -q --json --section kernels --thread "$out" c.sonde >chosen.json || true
equal "$(jq '[.sections[0].rows[]?.calls] | total' chosen.json)" 0
injected cuda13 full ""
equal "$(kernels)" "$known"
equal "$(rows c.sonde device-calls | jq -c '[.[] | select(.call == "cuLaunchKernel") | .calls]')" '[1]'

# --- versions: CUDA 12, a newer one, one whose clock cannot be set, one found by CUDA_HOME ----------------------------------
for version in 19 20 22 24 26 28 130000; do
	injected cuda12 api "version=$version"
	equal "$(kernels)" "$known"
	equal "$(rows c.sonde copies | jq '[.[].size_b] | add')" 7000000
done
injected cuda13 api "version=140000"
equal "$(kernels)" "$known"
injected plain api "version=19"
equal "$(kernels)" "$known"
CUDA_HOME=$work/home injected none api version=19
equal "$(kernels)" "$known"

# --- graphs: kernel by kernel, and each launch with the work that it submitted ----------------------------------------------
injected cuda13 api "" graph
equal "$(kernels)" '[["first",3,3000000,1000000,1000000],["second",3,3000000,1000000,2000000]]'
equal "$(rows c.sonde device-calls | jq -c 'map([.call, .calls, .total_ns, .kind]) | sort')" \
	'[["cudaGraphLaunch",3,1500000,"api"],["launch of graph 9",3,1500000,"api"]]'
equal "$("$SONDE" query -q -f csv c.sonde "SELECT count(*) FROM activities l JOIN operations o ON l.operation_id = o.id AND o.name = 'launch of graph 9'
	JOIN activities k ON k.correlation = l.correlation JOIN operations p ON k.operation_id = p.id AND p.kind = 'kernel'" | tail -n 1 | tr -d '\r')" 6
injected cuda13 kernels "" graph # without calls it is not known which thread launched it
equal "$(rows c.sonde device-calls)" '[]'

# --- what goes wrong is reported, and the program goes on ------------------------------------------------------------------
injected cuda13 api busy
has "$(rows c.sonde kernels)" "$nothing"
equal "$(lost 'another tool traces them already: CUPTI for Another Tool')" 1
injected plain api busy
equal "$(lost 'another tool traces them already: it has no name')" 1
injected cuda13 api fails
equal "$(lost 'CUPTI cannot be subscribed to: CUPTI_ERROR_UNKNOWN .999.')" 1
injected cuda13 api version=18
equal "$(lost 'older than CUDA 12.0')" 1
# this machine's own CUPTI, if there is one, without a device
if [ ! -e /dev/nvidiactl ]; then
	injected none api ""
	equal "$(lost '(libcupti.so.13 or .12 is not found|CUPTI cannot be subscribed to)')" 1
fi
injected cuda13 api copies
equal "$(kernels)" "$known"
equal "$(lost 'of which copies are not recorded: CUPTI_ERROR_NOT_SUPPORTED')" 1
injected cuda13 api dropped=1234
equal "$(kernels)" "$known"
equal "$(lost 'records that CUPTI dropped')" 1234
injected cuda13 api unknown
equal "$(kernels)" "$known"
equal "$(lost 'records of unknown kinds')" 1
injected cuda13 api cut
equal "$(kernels)" "$known"
equal "$(lost 'cut off')" 1
for version in 19 27; do # from 12.9 on buffers may be refused, and events that do not fit are counted
	injected cuda13 kernels "version=$version" many 800000
	told=$(rows c.sonde kernels | jq '[.[].calls] | add')
	"$SONDE" report c.sonde >.report
	dropped=$(sed -n -E 's/^! (gpu|zones): ([0-9]+) lost: .*/\2/p' .report | awk '{ sum += $1 } END { print sum + 0 }')
	equal "$version: $((told + dropped))" "$version: 800000"
done

# --- programs that end in unusual ways ---------------------------------------------------------------------------------------
for how in quick reset; do
	injected cuda13 api "" $how
	equal "$(kernels)" "$known"
done
code=137 injected cuda13 api "" killed
equal "$(kernels)" "$known"
for how in fork child; do
	run 5 env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/cuda13" "$SONDE" record -q -f -o c.sonde -- "$program" $how
	has "$out" "the child exited with 3"
	equal "$(kernels)" "$known"
done
# without a recorder
run 5 env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/cuda13" STAND_IN_LOG="$work/alone" "$program"
[ ! -e alone ] || fail "CUPTI was asked for what nobody wants"

# --- enabled by the option; if the variable is set already, it is left alone --------------------------------------------------
for level in "" =kernels =full; do
	run 5 env LD_LIBRARY_PATH="$work/cuda13" STAND_IN_LOG="$work/asked$level" "$SONDE" record --gpu$level -q -f -o c.sonde -- "$program"
	equal "$(rows c.sonde kernels | jq -c 'map([.kernel, .calls, .total_ns])')" '[["alpha(float*, int)",10,50000000],["beta",1,30000000]]'
done
equal "$(grep -c -e '^enable [45]$' asked) $(grep -c -e '^enable [45]$' asked=kernels || true) $(grep -c -e '^enable [45]$' asked=full)" "1 0 2"
run 5 env LD_LIBRARY_PATH="$work/cuda13" CUDA_INJECTION64_PATH=/nowhere/else.so "$SONDE" record --gpu -q -f -o c.sonde -- "$program"
has "$out" "not loaded: /nowhere/else.so"
run 0 "$SONDE" report c.sonde
has "$(tr -s ' \n' ' ' <<<"$out")" "CUDA is left to another tool (CUDA_INJECTION64_PATH is set to /nowhere/else.so)"

# the recorder is killed while the program runs
CUDA_INJECTION64_PATH=$object LD_LIBRARY_PATH=$work/cuda13 "$SONDE" record -q -f -o c.sonde -- sh -c \
	'kill -9 $PPID; "$0" quick; echo "it exited with $?"' "$program" >alone.out 2>alone.err || true
for ((i = 0; i < 100; i++)); do
	grep -q "it exited with" alone.out && break
	sleep 0.1
done
has "$(cat alone.out)" "it exited with 5"
[ ! -s alone.err ] || matches "$(cat alone.err)" 'Killed'
