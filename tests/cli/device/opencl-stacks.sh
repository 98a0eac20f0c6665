# opencl-stacks.sh: at level full the report names the functions that submit kernels, copies and buffers, with the
# calls and device time that the program itself counted.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target opencl_stacks)
[ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] || skip "libsonde-opencl.so is not built (package opencl-c-headers)"
"$program" 1 >expected 2>/dev/null || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; fail "it fails without us"; }

# ask FILE SQL: the rows, without the heading
ask() {
	"$SONDE" query -f csv "$1" "$2" 2>"$work/.err" | tr -d "\r" | tail -n +2 || fail "no answer of $1"
}
# by function: the callers of `launch`, number of calls, ns on the device
launched() {
	rows "$1" launch-stacks | jq -r '.[] | select(.kind == "kernel") | "\(.called_from | split(" < ")[0]) \(.calls) \(.total_ns)"' | sort
}

run 0 "$SONDE" record --gpu=full --on-full block -q -o full.sonde -- "$program" 400
equal "$(cut -d ' ' -f 1,2 <<<"$out" | paste -sd ';')" 'assemble 1200;solve 400;thread_main 400;stackless 400;deep 400'
equal "$(launched full.sonde)" "$(sort <<<"$out")"
equal "$(rows full.sonde launch-stacks | jq -c 'map(select(.kind == "kernel") | .launched_in) | unique')" '["launch"]'
# the deepest chains are truncated after their innermost functions
equal "$(rows full.sonde launch-stacks | jq -r '.[] | select(.called_from | startswith("deep")) | .called_from')" 'deep < deep < deep < deep < deep'
equal "$(rows full.sonde launch-stacks | jq -c 'map(select(.kind == "copy") | [.operation, .launched_in, (.called_from | split(" < ")[0]), .calls, .size_b])')" \
	'[["clEnqueueWriteBuffer","upload","main",400,1638400]]'
equal "$(rows full.sonde launch-stacks | jq -c 'map(select(.kind == "alloc") | [.operation, .launched_in, (.called_from | split(" < ")[0]), .calls, .size_b, .total_ns])')" \
	'[["clCreateBuffer","buffer_of","prepare",2,2097152,null]]'
# each call has one complete stack in its thread; threads and outer frames tell calls apart
equal "$(ask full.sonde "select count(*), count(distinct correlation), group_concat(distinct status) from call_stacks")" '3202,3202,complete'
equal "$(ask full.sonde "select count(*) from call_stacks s join activities a on a.correlation = s.correlation and a.queue_id is not null
	where a.thread_id != s.thread_id")" 0
equal "$(ask full.sonde "select max(depth) > 200 from frames where stack_id = (select stack_id from call_stacks
	join frames using (stack_id) where function = 'deep' limit 1)")" 1
run 0 "$SONDE" report full.sonde
lacks "$out" "level full"

# a merged recording has them, too
run 0 "$SONDE" record --gpu=full --on-full block -q -o more.sonde -- "$program" 1
run 0 "$SONDE" merge -q -o merged.sonde full.sonde more.sonde
equal "$(launched merged.sonde | cut -d ' ' -f 1,2 | paste -sd ';')" 'assemble 1203;deep 401;solve 401;stackless 401;thread_main 401'

# other levels have none, and the section says so
run 0 "$SONDE" record --gpu -q -o api.sonde -- "$program" 2
equal "$(cut -d ' ' -f 1,2 <<<"$out" | paste -sd ';')" 'assemble 6;solve 2;thread_main 2;stackless 2;deep 2'
equal "$(ask api.sonde "select count(*) from call_stacks")" 0
run 0 "$SONDE" report --section launch-stacks api.sonde
has "$out" "sonde record --gpu=full"

# the stack of a process that may not be read is not copied
run 0 "$SONDE" record --gpu=full -q -o private.sonde -- "$program" 2 private
equal "$(cut -d ' ' -f 1,2 <<<"$out" | paste -sd ';')" 'assemble 6;solve 2;thread_main 2;stackless 2;deep 2'
equal "$(ask private.sonde "select count(*), sum(status like '%PR_SET_DUMPABLE%') from call_stacks")" '18,18'
equal "$(rows private.sonde launch-stacks | jq -c 'map([.kind, .launched_in])')" '[["kernel",null],["copy",null],["alloc",null]]'

# without a recorder, and when it records itself, the program runs as before
few='assemble 6;solve 2;thread_main 2;stackless 2;deep 2'
layer=$SONDE_BUILD/src/inject/libsonde-opencl.so
equal "$(env OPENCL_LAYERS="$layer" SONDE_GPU=full "$program" 2 | cut -d ' ' -f 1,2 | paste -sd ';')" "$few"
equal "$(env OPENCL_LAYERS="$layer" SONDE_GPU=full SONDE_OUT=own.sonde "$program" 2 | cut -d ' ' -f 1,2 | paste -sd ';')" "$few"

# the recorder dies: the program goes on to its end
"$SONDE" record --gpu=full -q -o dies.sonde -- "$program" 10000 >many.out 2>many.err &
recorder=$!
wait_for pgrep -P $recorder opencl_stacks
wait_for test -s dies.sonde
sleep 0.3
kill -9 $recorder
wait $recorder || true
ended() { [ "$(wc -l <many.out)" = 5 ]; }
wait_for ended
equal "$(cut -d ' ' -f 1,2 many.out | paste -sd ';')" 'assemble 30000;solve 10000;thread_main 10000;stackless 10000;deep 10000'
equal "$(cat many.err)" ""
