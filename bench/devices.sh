# devices: records of what devices did, from CUPTI's buffers to what is told of them
source "$(dirname "$0")/lib.bash"

rounds=$(n 9 3)
count=$(n 1000000 200000)
for ((i = 0; i < rounds; i++)); do
	"$programs/cuda_decode" "$count" >decoded
	sed -n 1p decoded | awk -v c="$count" '{ print $1 * 1000000 / c }' | keep kernels
	sed -n 2p decoded | awk -v c="$count" '{ print $1 * 1000000 / c }' | keep calls
done
judge "1 M kernel records of CUPTI decoded" kernels s "–" "≤ 0.1 s" "<=" 0.1 "one core; 40 kernels with names of 200 bytes in turn, 12 streams"
info "the same, with a record of the call that launched each" calls s "–" "2 M records"
