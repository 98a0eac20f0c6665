# devices.sh: what a program says of its devices is in the recording: kernels with their times and names, whoever tells.
. "$(dirname "$0")/lib.sh"
need jq
program=$(target device_told)
run 0 "$SONDE" record -q -o d.sonde -- "$program"
asker=$(cat .out)
kernels=$(rows d.sonde kernels)
equal "$(jq -c 'map([.kernel, .calls, .total_ns, .mean_ns, .min_ns, .max_ns, .mean_delay_ns, .share])' <<<"$kernels")" \
	'[["alpha(float*, int)",10,50000000,5000000,5000000,5000000,1000000,0.625],["beta",1,30000000,30000000,30000000,30000000,1000000,0.375]]'
equal "$(jq -r '.[0].device' <<<"$kernels")" "Own toy <b> 0"
# Threads that are chosen are those that asked for it, not those that told.
"$SONDE" report -q --json --section kernels --thread "$asker" d.sonde >chosen.json
equal "$(jq '[.sections[0].rows[].calls] | add' chosen.json)" 11
# Merged with another, each keeps what it is.
run 0 "$SONDE" record -q -o e.sonde -- "$program"
run 0 "$SONDE" merge -q -o m.sonde d.sonde e.sonde
equal "$(rows m.sonde kernels | jq -c 'map([.kernel, .calls, .total_ns])')" \
	'[["alpha(float*, int)",10,50000000],["alpha(float*, int)",10,50000000],["beta",1,30000000],["beta",1,30000000]]'
# A process that records itself says that it left them out.
run 0 env SONDE_OUT=self.sonde "$program"
run 0 "$SONDE" report --section kernels self*.sonde
matches "$out" "13 .*activities of devices"
