# million: from a million CPU samples of a program with debug information to a report with inlined functions and lines
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 5 2)
samples=$(n 1000000 100000)
size=$(calc "1000000 / $samples")
no_perf=$(perf_missing)

# The program is sonde itself while it reports: an optimised build of our own, with debug information.
"$SONDE" record -q -f -F 1 --no-symbols --on-full block -o zones.sonde -- "$programs/streams" machine "$(n 3000000 300000)" >&2
reporting=(sh -c "for i in 1 2 3; do '$SONDE' report --section zones -f json zones.sonde; '$SONDE' export -f chrome -o - zones.sonde; done
	>/dev/null")
say "recording"
"$SONDE" record -q -f -F 10000 -o real.sonde -- "${reporting[@]}" >&2
say "$(metric real.sonde samples.count) samples recorded, multiplied to $("$programs/multiply" real.sonde many.sonde "$samples")"

for ((i = 0; i < rounds; i++)); do
	rm -rf "$XDG_CACHE_HOME"
	cost cold "$SONDE" report --section functions,lines many.sonde
	cost warm "$SONDE" report --section functions,lines many.sonde
done
cost_of cold wall | awk -v s="$size" '{ print $1 * s }' | keep cold
cost_of warm wall | awk -v s="$size" '{ print $1 * s }' | keep warm

anchor=$no_perf
if [ -z "$no_perf" ]; then
	say "perf"
	perf record -q -F 10000 -g -o real.perf -- "${reporting[@]}" >&2
	taken=$(perf_samples real.perf)
	cost perf perf report --no-inline --no-children --stdio -i real.perf
	cost inlines timeout 120 perf report --inline --no-children --stdio -i real.perf || true
	keep perf "$(calc "$(cost_of perf wall | tail -n 1) * 1000000 / $taken")"
	keep inlines "$(calc "$(cost_of inlines wall | tail -n 1) * 1000000 / $taken")"
	anchor="perf fp, no inlines $(text perf s), with inlines $(text inlines s), scaled from $taken samples"
fi
why="$(metric many.sonde samples.count) samples, no symbols in the file"
judge "1 M samples to a report, cold" cold s "$anchor" "≤ 1 s" "<=" 1 "$why"
judge "1 M samples to a report, warm" warm s "$anchor" "≤ 0.2 s" "<=" 0.2 "symbol cache filled"
