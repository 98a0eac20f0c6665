# keep.sh: the flight recorder (--keep) saves the data that each source in src/source/sources.def recorded before the
# event, and shows what made one request slow.
# measures: wait times of a request, and whether it is saved in time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
server=$(target slow_request)

# count FILE SQL: the single figure of the answer.
count() {
	"$SONDE" query -q -f csv "$1" "$2" 2>"$work/.err" | tr -d '\r' | tail -n 1 || fail "no answer: $2"
}
# some FILE SQL: the answer has at least one row.
some() {
	local n
	n=$(count "$1" "$2")
	[ "${n:-0}" -gt 0 ] || fail "source $source: nothing was kept: $2"
}
points() {
	some "$1" "SELECT count(*) FROM points WHERE series LIKE '$2'"
}
# unavailable FILE: this machine lacks what the source reads, and the recording says so.
unavailable() {
	[ "$(count "$1" "SELECT count(*) FROM sources WHERE name = '$source' AND state = 'unavailable' AND detail <> ''")" -gt 0 ]
}

# One recording of all that can be recorded at once. The server runs on after the save, so nothing is flushed at its
# end.
mkdir -p driver
cp "$(target libnvidia-ml-nvml_new.so)" driver/libnvidia-ml.so.1
mkdir -p machine/proc machine/sys/class/powercap/intel-rapl:0
cp /proc/cpuinfo machine/proc/
echo package-0 >machine/sys/class/powercap/intel-rapl:0/name
echo 65532610987 | tee machine/sys/class/powercap/intel-rapl:0/{max_energy_range_uj,energy_uj} >/dev/null
run 0 env SONDE_ENERGY_ROOT="$work/machine" LD_LIBRARY_PATH="$work/driver" NVML_STAND_IN= "$SONDE" record -q --threads --io --heap=4K --blas --energy \
	--memory=20ms --flop --gpu --keep 2s --when 'zone=request>50ms' -o all.sonde -- "$server" 1500 400
run 0 "$SONDE" record -q --no-perf --keep 2s --when 'span=request>50ms' -o timers.sonde -- "$server" 900 300

# Attached: saved by a signal, then the recorder is killed, so that nothing can be added later.
"$server" 100000 100 &
pid=$!
at_exit() { kill -KILL $pid 2>/dev/null; }
"$SONDE" record -q -p $pid --threads --keep 2s -o attached.sonde &
recorder=$!
has_waits() {
	kill -USR2 $recorder
	sleep 0.5
	[ "$(count attached.sonde 'SELECT count(*) FROM waits')" -gt 0 ]
}
sleep 0.5
wait_for has_waits
disown -a
kill -KILL $recorder $pid
at_exit() { :; }

# A source without a case here fails: the case checks that its data is kept, or says why it cannot be.
kept() {
	source=$1
	case $source in
	zones)
		some all.sonde "SELECT count(*) FROM zones WHERE dur_ns > 50000000"
		some all.sonde "SELECT count(*) FROM spans WHERE dur_ns > 50000000"
		some all.sonde "SELECT count(*) FROM messages"
		;;
	cpu)
		unavailable all.sonde && return
		some all.sonde "SELECT count(*) FROM samples"
		some all.sonde "SELECT count(*) FROM switches"
		;;
	cpu_timer) some timers.sonde "SELECT count(*) FROM samples" ;;
	heap) # not held in memory: all of it is written at once, because live blocks are the sum of all events
		some all.sonde "SELECT count(*) FROM allocations"
		;;
	waits)
		some all.sonde "SELECT count(*) FROM waits WHERE kind = 'mutex' AND dur_ns > 50000000 AND object = 'log_lock'"
		some all.sonde "SELECT count(*) FROM waits WHERE kind = 'sync'"
		;;
	blocked) some attached.sonde "SELECT count(*) FROM waits WHERE is_estimated" ;;
	blas) # its calls are zones
		run 0 "$SONDE" record -q --blas --keep 2s -o blas.sonde -- "$(target blas_names)" "$(target blas_fake.so)" global
		some blas.sonde "SELECT count(*) FROM zones"
		;;
	nvtx) # its ranges are zones and spans
		run 0 "$SONDE" record -q --keep 2s -o nvtx.sonde -- "$(target nvtx_told)" names 1
		some nvtx.sonde "SELECT count(*) FROM zones"
		;;
	gpu)
		[ -e "$SONDE_BUILD/src/inject/libsonde-cuda.so" ] || return 0
		mkdir -p cuda
		cp "$(target cupti_stand_in.so)" cuda/libcupti.so.13
		run 5 env LD_LIBRARY_PATH="$work/cuda" "$SONDE" record -q --gpu=full --keep 9s -o gpu.sonde -- "$(target cuda_stacks)" 100
		some gpu.sonde "SELECT count(*) FROM activities"
		some gpu.sonde "SELECT count(*) FROM call_stacks"
		;;
	threads) some all.sonde "SELECT count(*) FROM points JOIN series s ON s.id = series_id WHERE s.thread_id > 0" ;;
	nvml) points all.sonde 'device.%' ;;
	resources) points all.sonde 'cpu.user' ;;
	memory) # more frequent than readings of resources
		holds "$(count all.sonde "SELECT count(*) FROM points WHERE series = 'memory.rss'") >= \
			2 * $(count all.sonde "SELECT count(*) FROM points WHERE series = 'cpu.user'")"
		;;
	energy) points all.sonde 'energy%' ;;
	flop_counters)
		source=flop
		unavailable all.sonde || points all.sonde 'flop.%'
		;;
	*) fail "source $source: say here what --keep keeps of it" ;;
	esac
}
sources=$(sed -n 's/^SONDE_SOURCE(\([a-z_]*\),.*/\1/p' "$repo/src/source/sources.def")
for source in $sources; do
	kept "$source"
done

# The trigger is there, and what happened long before is not: 400 requests of 2 ms each, the first of which are more
# than 0.3 s old.
run 0 "$SONDE" record -q --threads --keep 300ms --when 'zone=request>50ms' -o short.sonde -- "$server" 700 400
some short.sonde "SELECT count(*) FROM waits WHERE kind = 'mutex' AND dur_ns > 50000000"
all=$(count short.sonde "SELECT count(*) FROM waits")
[ "$all" -lt 690 ] || fail "$all calls were kept of a run of 700"
