# opencl-streams.sh: the GPU sections on real OpenCL programs: overlapping and serial queues are told apart, gaps add
# up, memory returns to its start value, and a flow arrow leads from each call to its kernel.
# measures: times of kernels and copies
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
known=$(target opencl_known)
queues=$(target opencl_queues)
[ -e "$SONDE_BUILD/src/inject/libsonde-opencl.so" ] || skip "libsonde-opencl.so is not built (package opencl-c-headers)"
"$known" >.out 2>.err || { [ $? -ne 77 ] || skip "no OpenCL device (package pocl-opencl-icd)"; fail "it fails without us"; }

run 0 "$SONDE" record --gpu -q -o apart.sonde -- "$queues" apart
equal "$(rows apart.sonde streams | jq -c '[length, (map(.activities > 4) | all), (map(.overlap_share | figure) | max) < 0.01]')" '[2,true,true]'
equal "$(rows apart.sonde devices | jq -c 'map([.queues, (.concurrency | figure) < 1.01])')" '[[2,true]]'
if [ "$(nproc)" -gt 1 ]; then # one CPU runs one kernel at a time
	run 0 "$SONDE" record --gpu -q -o overlap.sonde -- "$queues" overlap
	equal "$(rows overlap.sonde streams | jq -c '[length, (map(.overlap_share > 0.01) | all)]')" '[2,true]'
	equal "$(rows overlap.sonde devices | jq -c 'map(.concurrency > 1.01)')" '[true]'
fi

run 0 "$SONDE" record --gpu -q -o known.sonde -- "$known"
# The gap has the host's calls during it; the idle time of the only queue is that of its device.
gaps=$(rows known.sonde device-gaps)
equal "$(jq '[.[] | .asked_share + .sync_share + .build_share + .api_share + .io_share + .wait_share + .running_share + .unknown_share
	| . > 0.999999 and . < 1.000001] | all' <<<"$gaps")" true
equal "$(jq 'map(.gap_ns) | add' <<<"$gaps")" "$(rows known.sonde streams | jq '.[0].idle_ns')"
equal "$(rows known.sonde device-memory | jq -c 'map([.memory, .peak_b, .end_b, .allocations]) | sort')" \
	'[["device",5242880,0,2],["host",1048576,0,1]]'
equal "$(rows known.sonde devices | jq '.[0].peak_b')" 5242880
equal "$(rows known.sonde device-calls | jq -c 'map(select(.kind == "build") | .calls)')" '[1]'
run 0 "$SONDE" export -q -f chrome -o known.json known.sonde
# each arrow ends at the kernel with the same correlation as the call
equal "$(jq -c '[.traceEvents[] | select(.bind_id)] | group_by(.bind_id) | map((map(.args.correlation) | unique | length), (map(select(.flow_out)) | length)) | unique' known.json)" '[1]'
equal "$(jq '[.traceEvents[] | select(.cat == "device" and .flow_in) | .bind_id] | length >= 67' known.json)" true
if command -v python3 >.which; then
	run 0 python3 "$repo/tests/validate/check.py" chrome known.json
fi
