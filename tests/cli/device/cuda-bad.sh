# cuda-bad.sh: other profilers in a CUDA program, and unusual programs, drivers and versions: the program prints and
# exits as without sonde, and the recording opens and says what is missing. All devices are stand-ins.
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target cuda_driver)
new=$(target cupti_stand_in.so)
object=$SONDE_BUILD/src/inject/libsonde-cuda.so
[ -e "$object" ] || skip "libsonde-cuda.so is not built"
mkdir -p cuda13 cuda14 cuda11
cp "$new" cuda13/libcupti.so.13
cp "$new" cuda14/libcupti.so.14
cp "$new" cuda11/libcupti.so.11.8
for major in 11.0 14; do cp "$(target nvtx_client.so)" cuda${major%.0}/libcudart.so.$major; done

# same LIBRARIES LIKE ARGUMENTS…: runs the program alone and recorded; except for its thread it must print the same.
same() {
	local libraries=$1 like=$2 alone
	shift 2
	alone=$(LD_LIBRARY_PATH=$work/$libraries STAND_IN=$like "$program" "$@") && code=0 || code=$?
	run "$code" env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/$libraries" SONDE_GPU=full STAND_IN="$like" \
		"$SONDE" record -q -f -o c.sonde -- "$program" "$@"
	equal "$(grep -v -x '[0-9]*' <<<"$out" || true)" "$(grep -v -x '[0-9]*' <<<"$alone" || true)"
	[ -z "$err" ] || fail "it says something: $err"
	"$SONDE" report c.sonde | tr -s ' \n' ' ' >report
}
kernels() {
	rows c.sonde kernels | jq -c 'map([.kernel, .calls])'
}
# lost CAUSE: number of events lost for causes that match.
lost() {
	grep -o -E "! gpu: [0-9,]+ lost: [^!]*$1" report | sed -E 's/^! gpu: ([0-9]+) .*/\1/'
}
once='[["alpha(float*, int)",10],["beta",1]]'
twice='[["alpha(float*, int)",20],["beta",2]]'

# --- a profiler that the program starts itself ----------------------------------------------------------------------------
# All of its events in the first session; in later ones a kernel less, with or without sonde: CUPTI's clock is set
# again, and its records have times of the previous clock. Buffers of one profiler are never passed to the other.
session='2 of kind 1, 1 of kind 2, 1 of kind 4, 12 of kind 5, 12 of kind 10, 1 of kind 17, 0 outside, 0 foreign, 0 not returned'
export STAND_IN_LOG=$work/calls
for profiler in cuda_profiler cuda_profiler_now; do # slots that are read when called, and at once
	for how in "" silent; do                    # a profiler that subscribes, and one that does not
		export STAND_IN_PROFILER=$how
		for when in profiled late; do
			rm -f calls
			same cuda13 "" $when "$(target $profiler.so)"
			equal "$(head -n 1 <<<"$out")" "$session"
			equal "$(kernels)" "$once"
			equal "$(lost "taken by another profiler: $profiler.so \(from [0-9]+\.[0-9]+ s on\)")" 1
			matches "$(cat report)" 'from [0-9.]+ s on, another profiler traced the GPUs of a process: shares of time are too low'
			# CUPTI is restored before anything else is requested
			sed -n '/^unsubscribe/q;p' calls >ours
			equal "$(grep '^disable' ours | sort -n -k 2 | paste -sd ' ')" "$(grep '^enable' ours | sed s/en/dis/ | sort -n -k 2 | paste -sd ' ')"
			equal "$(grep '^thread ids' calls | tail -n 1)" 'thread ids 0'
			equal "$(grep -c -e ' call .*: 0' ours)" "$(grep -c -e ' call .*: 1' ours)"
			equal "$(sed '1,/^unsubscribe/d' calls | grep -c -e '^flush' -e '^subscribe sonde' -e '^thread ids')" 2
		done
	done
done
unset STAND_IN_PROFILER
# While kernels run: each goes to one profiler or the other, except for those in between, and no buffer to the wrong
# one.
for ((i = 0; i < 3; i++)); do
	run 5 env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/cuda13" SONDE_GPU=kernels "$SONDE" record -q -f -o c.sonde -- \
		"$program" busy "$(target cuda_profiler.so)"
	matches "$out" '^[0-9]+ kernels, 0 not let, 0 foreign, 0 not returned$'
	both=$(($(rows c.sonde kernels | jq '[.[].calls] | total') + ${out%% *}))
	[ "$both" -gt 0 ] && [ "$both" -le 200000 ] || fail "$both of 200000 kernels"
done
# A profiler that is there first keeps CUPTI.
for profiler in cuda_profiler cuda_profiler_now; do
	same cuda13 "" early "$(target $profiler.so)"
	equal "$(head -n 1 <<<"$out")" "$session"
	equal "$(kernels)" '[]'
	equal "$(lost 'another tool traces them already: it has no name')" 1
done
unset STAND_IN_LOG
# Without a recorder the object does not interfere.
run 5 env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/cuda13" "$program" profiled "$(target cuda_profiler.so)"
equal "$(head -n 1 <<<"$out")" "$session"

# The recorder is killed before the program starts CUPTI.
CUDA_INJECTION64_PATH=$object LD_LIBRARY_PATH=$work/cuda13 "$SONDE" record -q -f -o c.sonde -- sh -c \
	'"$0" profiled "$1" & sleep 0.1; kill -9 $PPID; wait $!; echo "it exited with $?"' "$program" "$(target cuda_profiler.so)" \
	>alone.out 2>alone.err || true
for ((i = 0; i < 100; i++)); do
	grep -q "it exited with" alone.out && break
	sleep 0.1
done
has "$(cat alone.out)" "it exited with 5"
equal "$(head -n 1 alone.out)" "$session"

# --- drivers and versions ---------------------------------------------------------------------------------------------------
same cuda13 fails work # CUPTI without a driver
equal "$(kernels)" '[]'
equal "$(lost 'CUPTI cannot be subscribed to: CUPTI_ERROR_UNKNOWN .999.')" 1
same cuda13 "" nothing # no device did anything
equal "$(kernels)" '[]'
same cuda14 version=140000 work
equal "$(kernels)" "$once"
same cuda11 version=18 work # its CUPTI is one that sonde does not load
equal "$(kernels)" '[]'
[ -e /dev/nvidiactl ] || equal "$(lost '(libcupti.so.13 or .12 is not found|CUPTI cannot be subscribed to)')" 1

# --- no device: why there is nothing of one -------------------------------------------------------------------------------
if [ ! -e /dev/nvidiactl ]; then
	mkdir -p nothing
	commands=("true" "python3 -c pass" "$program nothing")
	[ -x "$SONDE_BUILD/tests/targets/opencl_known" ] && commands+=("$SONDE_BUILD/tests/targets/opencl_known")
	for command in "${commands[@]}"; do # the last one finds no implementation of OpenCL
		alone=$(OCL_ICD_VENDORS=$work/nothing $command) && code=0 || code=$?
		run "$code" env OCL_ICD_VENDORS="$work/nothing" "$SONDE" record --gpu -q -f -o c.sonde -- $command
		equal "$(grep -v -x '[0-9]*' <<<"$out" || true)" "$(grep -v -x '[0-9]*' <<<"$alone" || true)"
		"$SONDE" report c.sonde | tr -s ' \n' ' ' >report
		has "$(cat report)" '! gpu: not recorded: no process used a GPU'
		has "$(cat report)" 'CUDA is recorded if the program initialises it.'
		matches "$(cat report)" '! nvml: not recorded: (no NVIDIA driver|.*driver)'
		equal "$(rows c.sonde devices 2>/dev/null || echo '[]')" '[]'
		for section in devices kernels launch-stacks; do # each section says why it has no rows
			"$SONDE" report -q --section $section c.sonde | tr -s ' \n' ' ' >report
			has "$(cat report)" 'not recorded: GPU activity: no process used a GPU'
		done
	done
fi

# --- what programs do --------------------------------------------------------------------------------------------------------
same cuda13 "" device-reset
equal "$(kernels)" "$twice"
equal "$(rows c.sonde streams | jq -c 'map([.queue, .activities])')" \
	'[["default stream",14],["default stream",14],["queue 13",1],["queue 13",1]]'
for how in fork fork-work; do # a child has no CUDA
	same cuda13 "" $how
	has "$out" "the child exited with 3"
	equal "$(kernels)" "$once"
done
same cuda13 "" fork-exec # this one has
has "$out" "the child exited with 5"
equal "$(kernels)" "$twice"
for how in quick killed; do
	same cuda13 "" $how
	equal "$(kernels)" "$once"
	equal "$(lost 'processes that exited without flushing their last 0.2 s')" 1
done
same cuda13 "" work
equal "$(lost 'processes that exited without flushing')" ""

# --- what our own thread waits for is none of the program's waiting -----------------------------------------------------------
run 5 env LD_LIBRARY_PATH="$work/cuda13" "$SONDE" record --gpu --threads -q -f -o c.sonde -- "$program"
equal "$(rows c.sonde waits | jq -c 'map([.function, .module]) | unique')" '[["pause_ms","cuda_driver"]]'
"$SONDE" report -q --section launch-stacks c.sonde >report # nor are stacks recorded at this level
has "$(cat report)" 'no stack of a GPU call was recorded: use sonde record --gpu=full'
# A child that is forked while our thread reads the loader's list runs on.
run 0 env CUDA_INJECTION64_PATH="$object" LD_LIBRARY_PATH="$work/cuda13" "$SONDE" record -q -f -o c.sonde -- "$(target cuda_forks)"
equal "$out" "20 of 20 children"
matches "$err" '^looked [1-9][0-9]* times$'
