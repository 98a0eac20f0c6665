# json-summary.sh: the `summary` object of a JSON report equals the report's sections: durations of zones, memory,
# throughput. Figures that were not measured are null, with the reason.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
known=$(target zones_known)

run 0 "$SONDE" record -q --heap=full -o a.sonde -- "$known" 20
run 0 "$SONDE" report -q --json -n 1000 a.sonde
mv .out report.json
holds_in report.json '(.summary.timing | keys | sort) == ["compute", "inner", "rest"]'
holds_in report.json '. as $r | [.sections[] | select(.id == "zones").rows[] | . as $z | $r.summary.timing[$z.zone] |
	[.count == $z.calls, .mean == $z.mean_ns / 1e6, .std == $z.std_ns / 1e6, .min == $z.min_ns / 1e6, .max == $z.max_ns / 1e6,
	.p50 == $z.p50_ns / 1e6, .p95 == $z.p95_ns / 1e6, .p99 == $z.p99_ns / 1e6, .total == $z.total_ns / 1e6]] |
	length == 3 and (flatten | all)'
equal "$(jq .summary.timing.compute.count report.json)" 30
holds "$(jq .summary.timing.rest.min report.json) >= 2"
equal "$(jq .summary.memory.peak_allocated report.json)" "$(metric a.sonde memory.heap_peak_b)"
equal "$(jq .summary.memory.peak_reserved report.json)" "$(metric a.sonde memory.peak_process_rss_b)"
holds "$(jq .summary.memory.peak_reserved report.json) > 1000000"
equal "$(jq .summary.throughput.samples_per_sec report.json)" null
has "$(jq -r '.summary.absent["throughput.samples_per_sec"]' report.json)" "no iterations"
equal "$(jq .summary.timing_omitted report.json)" 0
run 0 "$SONDE" report -q --json -n 1 a.sonde # fewer rows than zones: the number of omitted ones is given
equal "$(jq -c '.summary | [(.timing | length), .timing_omitted]' .out)" "[1,2]"

# What was not recorded is null; a report without any of these sections has no summary.
rm a.sonde
run 0 "$SONDE" record -q -o a.sonde -- "$known" 5
run 0 "$SONDE" report -q --json a.sonde
equal "$(jq .summary.memory.peak_allocated .out)" null
has "$(jq -r '.summary.absent["memory.peak_allocated"]' .out)" "sonde record --heap"
run 0 "$SONDE" report -q --json --section functions a.sonde
equal "$(jq .summary .out)" null

# Iterations: the rates equal those of the section.
shares=$(target shares) # the zones are alpha, beta and iterations
rm a.sonde
run 0 "$SONDE" record -q -o a.sonde -- "$shares" 3 2 8
run 0 "$SONDE" report -q --json --section iterations a.sonde
holds_in .out '.summary.throughput as $t | .sections[0].rows[0] | .iterations_per_sec == $t.iterations_per_sec and
	(.samples_per_sec | figure) == $t.samples_per_sec and $t.iterations_per_sec > 0'
