# opencl-rest.sh: OpenCL images, rectangles, sub-buffers, tasks, barriers and shared virtual memory are recorded once
# each; so is the work of a forked child.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
rest=$(target opencl_rest)
[ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] || skip "libsonde-opencl.so is not built (package opencl-c-headers)"
"$rest" >expected || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; skip "not all of it is to be had here"; }

ask() {
	"$SONDE" query -f csv "$1" "$2" 2>"$work/.err" | tr -d "\r" | tail -n +2 || fail "no answer of $1"
}

run 0 "$SONDE" record --gpu -q -o rest.sonde -- "$rest"
equal "$out" "$(cat expected)"
ask rest.sonde "select a.kind || ' ' || a.operation, o.from_memory, o.to_memory, a.size_b from activities a join operations o on o.id = operation_id
	where a.queue_id is not null and a.kind != 'sync' order by a.correlation" >commands
sed '/^$/d' >wanted <<'END'
copy clEnqueueWriteImage,pageable,array,2048
copy clEnqueueCopyImage,array,array,1024
fill clEnqueueFillImage,,array,1024
copy clEnqueueCopyImageToBuffer,array,device,1024
copy clEnqueueCopyBufferToImage,device,array,1024
map clEnqueueMapImage,array,,1024
map clEnqueueUnmapMemObject,,array,0
copy clEnqueueReadImage,array,pageable,2048
copy clEnqueueWriteBufferRect,pageable,device,32
copy clEnqueueCopyBufferRect,device,device,32
copy clEnqueueReadBufferRect,device,pageable,32
fill clEnqueueFillBuffer,,device,128
kernel once,,,0
marker clEnqueueBarrierWithWaitList,,,0
copy clEnqueueMigrateMemObjects,,host,4096
copy clEnqueueReadBuffer,device,pageable,256
END
managed=
if grep -q "shared 1" expected; then
	managed=$'\nalloc,managed,2,8192\nfree,managed,2,8192'
	cat >>wanted <<'END'
fill clEnqueueSVMMemFill,,managed,4096
copy clEnqueueSVMMemcpy,managed,managed,2048
map clEnqueueSVMMap,managed,,4096
map clEnqueueSVMUnmap,,managed,0
marker clEnqueueSVMFree,,,0
END
fi
diff wanted commands || fail "other commands than those"
# an image's size is the driver's: at least that of its elements
equal "$(ask rest.sonde "select a.kind, to_memory, count(*), sum(a.size_b) from activities a join operations o on o.id = operation_id
	where a.kind in ('alloc', 'free') and to_memory != 'array' group by 1, 2 order by 2, 1")" "alloc,device,1,4096
free,device,1,4096$managed"
equal "$(ask rest.sonde "select count(*), sum(a.size_b) >= 4096, (select sum(f.size_b) from activities f join operations o on o.id = f.operation_id
	where f.kind = 'free' and to_memory = 'array') = sum(a.size_b) from activities a join operations o on o.id = operation_id
	where a.kind = 'alloc' and to_memory = 'array'")" 2,1,1

# a child forked before any of this is a process of its own
run 0 "$SONDE" record --gpu -q -o parent.sonde -- "$rest" parent
equal "$out" "$(cat expected expected)"
equal "$(ask parent.sonde "select count(distinct process_id), count(*) from activities where queue_id is not null and kind != 'sync'")" "2,$((2 * $(wc -l <wanted)))"
