# devices: GPU work records: from CUPTI's buffers to the reported events
source "$(dirname "$0")/lib.bash"

rounds=$(n 9 3)
count=$(n 1000000 200000)
for ((i = 0; i < rounds; i++)); do
	"$programs/cuda_decode" "$count" >decoded
	sed -n 1p decoded | awk -v c="$count" '{ print $1 * 1000000 / c }' | keep kernels
	sed -n 2p decoded | awk -v c="$count" '{ print $1 * 1000000 / c }' | keep calls
done
judge "1 M kernel records of CUPTI decoded" kernels s "–" "≤ 0.1 s" "<=" 0.1 "one core; 40 kernels with names of 200 bytes, alternating, 12 streams"
info "the same, with a record of the call that launched each" calls s "–" "2 M records"

# A kernel that does next to nothing is put into a queue: measures how much longer the call takes with a recorder.
opencl=$programs/opencl_queues
if [ -x "$opencl" ] && "$opencl" many 10 >/dev/null 2>&1; then
	kernels=$(n 20000 2000)
	for ((i = 0; i < rounds; i++)); do
		alone=$("$opencl" many "$kernels" | tail -n 1)
		for level in kernels api; do
			recorded=$("$SONDE" record -q --force --gpu=$level -o many.sonde -- "$opencl" many "$kernels" | tail -n 1)
			echo "$alone $recorded" | awk '{ printf "%.3f\n", ($2 - $1) / 1000 }' | keep "enqueue.$level"
		done
		echo "$alone" | awk '{ printf "%.3f\n", $1 / 1000 }' | keep alone
	done
	for level in kernels api; do
		judge "OpenCL, enqueuing a kernel, level $level" "enqueue.$level" µs "alone $(text alone µs)" "≤ 2 µs" "<=" 2 "of the calling thread; pocl on the same CPUs"
	done
else
	row "OpenCL, enqueuing a kernel" "–" "–" "≤ 2 µs" unavailable "no OpenCL implementation: pocl-opencl-icd"
fi

# Not available here: a device with PyTorch, compared in one run with no profiler and with PyTorch's own.
for bar in "kernels 2" "api 5"; do
	row "CUDA, a training loop, level ${bar% *}: overhead" "–" "–" "≤ ${bar#* } %" unavailable "no CUDA GPU (docs/GPU.md)"
done
