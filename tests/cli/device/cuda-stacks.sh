# cuda-stacks.sh: at level full, CUPTI's callbacks give the stacks of calls that submit kernels, copies and
# allocations. The device and CUPTI are stand-ins (tests/targets/cupti_stand_in.c).
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target cuda_stacks)
library=$(target cupti_stand_in.so)
object=$SONDE_BUILD/src/inject/libsonde-cuda.so
[ -e "$object" ] || skip "libsonde-cuda.so is not built"
mkdir -p cuda13
cp "$library" cuda13/libcupti.so.13

# ask SQL: the rows, without the heading
ask() {
	"$SONDE" query -f csv c.sonde "$1" 2>"$work/.err" | tr -d "\r" | tail -n +2 || fail "no answer"
}
# injected LEVEL LIKE: records the program, and checks its output and exit code.
injected() {
	run 5 env -u CUDA_INJECTION64_PATH LD_LIBRARY_PATH="$work/cuda13" STAND_IN="$2" "$SONDE" record --gpu="$1" --on-full block -q -f \
		-o c.sonde -- "$program" 100
	equal "$out" done
}

injected full ""
equal "$(rows c.sonde launch-stacks | jq -r '.[] | "\(.kind) \(.operation) \(.launched_in) \(.called_from | split(" < ")[0]) \(.calls) \(.size_b) \(.total_ns)"' | sort)" \
	"$(sort <<<'alloc device memory prepare main 2 8192 null
copy copy host to device upload main 100 409600 100000
kernel gamma(float) launch assemble 300 null 600000
kernel gamma(float) launch solve 100 null 500000
kernel gamma(float) launch thread_main 100 null 300000')"
# a driver call inside a runtime call has the same correlation and is not recorded again
equal "$(ask "select count(*), count(distinct correlation), group_concat(distinct status) from call_stacks")" '602,602,complete'
equal "$(ask "select count(*) from call_stacks s join activities a using (correlation) where a.thread_id != s.thread_id")" 0

# other levels have no stacks
injected api ""
equal "$(ask "select count(*) from call_stacks")" 0
equal "$(rows c.sonde kernels | jq -c 'map([.kernel, .calls])')" '[["gamma(float)",500]]'

# a CUPTI that never calls back: this is reported, and everything else is recorded
injected full uncalled
equal "$(ask "select count(*) from call_stacks")" 0
equal "$(rows c.sonde kernels | jq -c 'map([.kernel, .calls])')" '[["gamma(float)",500]]'
run 0 "$SONDE" report c.sonde
has "${out//$'\n' /}" "stacks of calls are not recorded: CUPTI calls nobody"
