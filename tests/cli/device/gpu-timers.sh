# gpu-timers.sh: GPU timers on OpenCL queues agree with the kernels' own times, nest, exclude the warm-up, never wait,
# and appear as histograms in a recording.
# measures: times of kernels and copies
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
timed=$SONDE_BUILD/tests/targets/gpu_timed
[ -e "$timed" ] || skip "gpu_timed is not built (packages ocl-icd-opencl-dev, opencl-c-headers)"
"$timed" plain >.out 2>.err || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; fail "it fails"; }

# A queue without profiling, and an API that the program has not loaded: a message says what is missing.
run 0 "$timed" plain
matches "$out" "^-4: the queue records no times: create it with CL_QUEUE_PROFILING_ENABLE"
matches "$out" "^-3: the program has not loaded CUDA"

# Each value includes its kernel and (in a busy queue) little else.
run 0 "$timed" one
equal "$(jq -s '[.[:10][] | .timer_ns >= .event_ns] | all' .out)" true
equal "$(jq -s '.[:10] | (map(.timer_ns) | add) < 1.25 * (map(.event_ns) | add)' .out)" true
equal "$(jq -sc '.[10] as $s | .[:10] | map(.timer_ns) | [$s.count, $s.lost, $s.total_ns == add, $s.min_ns == min, $s.max_ns == max]' .out)" \
	'[10,0,true,true,true]'

# Nested scopes, and an end without a begin.
run 0 "$timed" nested
equal "$(head -n 1 .out)" -2
equal "$(tail -n 1 .out | jq '.outer_ns >= (.inner_ns | add) + .rest_ns and .outer_ns < 1.25 * ((.inner_ns | add) + .rest_ns)')" true

# No work can finish before the program itself opens the gate: a timer that waited would wait for ever.
run 0 timeout 60 "$timed" under-way
equal "$(head -n 1 .out)" '{"full": 88, "early": -3, "untouched": 1, "left": 512, "stats": -3}'
equal "$(tail -n 1 .out | jq -c '[.count, .lost]')" '[512,88]'

# Two of seven iterations are the warm-up, by far the slowest; they are reported, but excluded from the statistics.
# The second loop has no warm-up.
run 0 "$timed" warmup
equal "$(head -n 1 .out | jq -c '[.rounds, .again, .none, .beyond]')" '[7,5,1,-5]'
equal "$(jq -sc '[.[1].count, .[1].max_ns < .[0].first_ns]' .out)" '[10,true]'

run 0 "$timed" fork
equal "$(head -n 1 .out)" 7
equal "$(tail -n 1 .out | jq .count)" 1

# In a recording each name is a histogram, with and without the layer that records the commands themselves.
for gpu in "" --gpu; do
	rm -f d.sonde
	run 0 "$SONDE" record -q $gpu -o d.sonde -- "$timed" warmup
	equal "$(rows d.sonde histograms | jq -c 'map([.histogram, .unit, .count])')" '[["loop","ns",10]]'
	equal "$(rows d.sonde histograms | jq '.[0].max')" "$(tail -n 1 .out | jq .max_ns)"
	run 0 "$SONDE" record -q $gpu -o p.sonde -- "$timed" plain
	matches "$out" "^-4: the queue records no times"
	rm -f p.sonde
done
