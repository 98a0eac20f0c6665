# opencl.sh: unmodified OpenCL programs: kernels, copies, memory, builds and waits are recorded, and nothing else
# changes.
# measures: times of kernels and copies
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq
known=$(target opencl_known)
queues=$(target opencl_queues)
[ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] || skip "libsonde-opencl.so is not built (package opencl-c-headers)"
"$known" >expected 2>/dev/null || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; fail "it fails without us"; }

# ask FILE SQL: the rows, without the heading
ask() {
	"$SONDE" query -f csv "$1" "$2" 2>"$work/.err" | tr -d "\r" | tail -n +2 || fail "no answer of $1"
}

# everything that the program does is recorded with its sizes, and its results are unchanged
run 0 "$SONDE" record --gpu -q -o known.sonde -- "$known"
elapsed=$(cat .err)
equal "$out" "$(cat expected)"
has "$out" "flags 0, list 0 of 0 bytes, times -7" # it does not see the properties that sonde adds
kernels=$(rows known.sonde kernels)
equal "$(jq -c 'map([.kernel, .calls]) | sort' <<<"$kernels")" '[["scale",50],["sums",10],["tiny",7]]'
has "$(jq -r '.[0].device' <<<"$kernels")" "OpenCL "
equal "$(ask known.sonde "select name, grid_x, grid_y, grid_z, block_x, static_shared_b from operations where kind = 'kernel' order by name")" \
	$'scale,4096,1,1,64,0\nsums,3,1,1,32,4000\ntiny,4,2,2,,0'
equal "$(ask known.sonde "select a.operation, from_memory, to_memory, a.size_b from activities a join operations o on o.id = operation_id
	where a.kind in ('copy', 'fill', 'map') and a.size_b != 4 order by a.start_ns")" 'clEnqueueWriteBuffer,pageable,device,4194304
clEnqueueFillBuffer,,device,1048576
clEnqueueCopyBuffer,device,device,262144
clEnqueueReadBuffer,device,pageable,4194304
clEnqueueMapBuffer,host,,1048576
clEnqueueWriteBuffer,host,device,65536
clEnqueueUnmapMemObject,,host,0'
equal "$(ask known.sonde "select a.kind, to_memory, count(*), sum(a.size_b) from activities a join operations o on o.id = operation_id
	where a.kind in ('alloc', 'free') group by 1, 2 order by 1, 2")" 'alloc,device,2,5242880
alloc,host,1,1048576
free,device,2,5242880
free,host,1,1048576'
equal "$(ask known.sonde "select operation, count(*) from activities where kind = 'sync' group by 1 order by 1")" 'clEnqueueMapBuffer,1
clEnqueueReadBuffer,1
clEnqueueWriteBuffer,1
clFinish,4
clWaitForEvents,1'
# the accuracy of times is reported
error=$(ask known.sonde "select max(value) from counters where counter like 'opencl.%.clock_error_ns'")
holds "$error > 0 && $error < 1000000" "ns by which times may be wrong"
# each command has a call that started before it in the same thread; nothing else has one
equal "$(ask known.sonde "select count(*) from activities where queue_id is not null and kind != 'sync'")" 76 # 67 kernels, and 9
# clFinish names the queue that it waits for; calls that wait for events or submit a command of their own do not
equal "$(ask known.sonde "select operation, count(*), count(queue_id) from activities where kind = 'sync' group by 1 having count(queue_id)")" 'clFinish,4,4'
equal "$(ask known.sonde "select count(*), sum(d.delay_ns > 0 and d.start_ns - d.delay_ns != c.start_ns or c.start_ns > d.start_ns + $error)
	from activities d join activities c
	on c.correlation = d.correlation and c.queue_id is null and c.thread_id = d.thread_id where d.queue_id is not null")" 76,0
# times are within the run, in order, and no longer than the program waited
read -r first last sum <<<"$(ask known.sonde "select min(start_ns - delay_ns), max(end_ns), sum(dur_ns) from activities where operation = 'scale'" | tr , ' ')"
holds "$last - $first <= $elapsed + 2 * $error && $sum <= $elapsed && $sum > 0" "($first $last $sum of $elapsed, error $error)"
equal "$(ask known.sonde "select count(*) from activities a join activities b on a.queue_id = b.queue_id and a.correlation < b.correlation
	where b.start_ns + 2 * $error < a.end_ns")" 0

# two queues that overlap, and two that do not. shared FILE: share in % of the first queue's time in which the other
# one also runs kernels
shared() {
	ask "$1" "select 100.0 * (select total(min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)) from activities a, activities b
		where a.kind = 'kernel' and b.kind = 'kernel' and a.queue_id < b.queue_id and a.start_ns < b.end_ns and b.start_ns < a.end_ns)
		/ sum(dur_ns) from activities where kind = 'kernel' and queue_id = 1"
}
for how in overlap apart; do
	run 0 "$SONDE" record --gpu=kernels -q -o $how.sonde -- "$queues" $how
	equal "$out" "times 1"
	equal "$(ask $how.sonde "select queue_id, count(*) from activities where operation = 'spin' group by 1")" $'1,6\n2,5'
	equal "$(ask $how.sonde "select count(*) from activities where queue_id is null")" 0 # --gpu=kernels
done
# each of three waits is for its own queue
run 0 "$SONDE" record --gpu -q -o waits.sonde -- "$queues" overlap
equal "$(ask waits.sonde "select queue_id from activities where operation = 'clFinish' order by start_ns" | paste -sd ' ')" "1 1 2"
equal "$(rows waits.sonde device-calls | jq -c '[.[] | select(.call == "clFinish") | .calls]')" '[3]'
holds "$(shared overlap.sonde) > 30"
holds "$(shared apart.sonde) < 1"

# out-of-order queues are reported as such, and the command that waited for another one came after it
run 0 "$SONDE" record --gpu -q -o unordered.sonde -- "$queues" unordered
equal "$(ask unordered.sonde "select is_out_of_order from queues")" 1
equal "$(ask unordered.sonde "select count(*), (select b.start_ns - a.start_ns >= 0.99 * a.dur_ns from activities a, activities b
	where a.kind = 'kernel' and a.correlation = 4294967297 and b.kind = 'kernel' and b.correlation = 4294967298) from activities where kind = 'kernel'")" 4,1

# builds are listed separately
run 0 "$SONDE" record --gpu -q -o build.sonde -- "$queues" build
elapsed=$err
built=$(ask build.sonde "select max(dur_ns) from activities where kind = 'build'")
holds "$built <= $elapsed && $built >= 0.8 * $elapsed"

# messages if there is nothing to record, or not everything
run 0 "$SONDE" record --gpu -q -o none.sonde -- true
run 0 "$SONDE" report none.sonde
has "${out//$'\n' /}" "gpu: not recorded: no process used a GPU"
run 0 "$SONDE" record --gpu=full -q -o full.sonde -- "$known"
run 0 "$SONDE" report full.sonde
lacks "$out" "call stacks"
run 125 "$SONDE" record --gpu=all -q -o no.sonde -- true
has "$err" "'all' is not kernels, api or full"
run 125 "$SONDE" record --gpu --no-inject -q -o no.sonde -- true
has "$err" "leave --no-inject out"
# nothing is injected into a process that is already running, and the report says so
sleep 1 &
run 0 "$SONDE" record --gpu -q -o running.sonde -p $!
run 0 "$SONDE" report running.sonde
has "${out//$'\n' /}" "gpu: not recorded: kernels and copies are recorded inside programs that sonde starts"
# a layer that is already set stays, in front of ours
run 0 env OPENCL_LAYERS=/its/own.so "$SONDE" record --gpu -q -o layers.sonde -- sh -c 'echo "$OPENCL_LAYERS"'
matches "$out" '^/its/own.so:/[^:]*/libsonde-opencl.so$'
