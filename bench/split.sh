# split: deviation of sampled shares from a true 60/30/10, in a program whose cycle is in lockstep with the sampler
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 3 1)
seconds=$(n 10 2)
no_perf=$(perf_missing)

# worst: reads "function samples", prints the largest distance to 60/30/10 in points.
worst() {
	awk '
		BEGIN { true_share["phase_60"] = 60; true_share["phase_30"] = 30; true_share["phase_10"] = 10 }
		$1 in true_share { hits[$1] += $2; all += $2 }
		END {
			for (name in true_share) {
				off = (all ? 100 * hits[name] / all : 0) - true_share[name]
				if (off < 0) off = -off
				if (off > most) most = off
			}
			printf "%.3f\n", most
		}'
}

ours() {
	"$SONDE" record -q -f -F 1000 -o out.sonde -- "$programs/split" "$@" >&2
	"$SONDE" report --section functions --sort total --limit 100 --json out.sonde |
		jq -r '.sections[] | select(.id == "functions") | .rows[] | "\(.function) \(.total_ns)"' | worst
}

perfs() {
	perf record -q -F 1000 -o out.perf -- "$programs/split" "$@" >&2
	perf script -F ip,sym -i out.perf | awk 'NF { hits[$2]++ } END { for (name in hits) print name, hits[name] }' | worst
}

for where in main thread; do
	for cycle_us in 500 1000 2000; do
		for ((i = 0; i < rounds; i++)); do
			say "cycle of $cycle_us µs, $where, round $((i + 1)) of $rounds"
			keep ours.$where.$cycle_us "$(ours $cycle_us "$seconds" $where)"
			[ -n "$no_perf" ] || keep perf.$where.$cycle_us "$(perfs $cycle_us "$seconds" $where)"
		done
		anchor=$no_perf
		[ -n "$no_perf" ] || anchor="perf $(text perf.$where.$cycle_us points)"
		judge "split error, cycle $(calc "$cycle_us / 1000") ms, ${where/main/main thread}, $seconds s" ours.$where.$cycle_us points \
			"${anchor}" "≤ 1.5 points" "<=" 1.5 "largest of three shares"
	done
done
