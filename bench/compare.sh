# compare: how often sonde bench reports a change where there is none, and how often it finds a change of 2 %
source "$(dirname "$0")/lib.bash"

# Some 5 ms of work: twenty pairs take a fifth of a second. Comparisons with a slower command use more work, because the
# start of a command does not get slower.
work_rounds=4000000
slower_rounds=16000000
same=$(n 1000 20)
slower=$(n 100 10)

# verdicts COUNT BASELINE CANDIDATE: verdict, metric and speed-up of each comparison
verdicts() {
	local i
	for ((i = 0; i < $1; i++)); do
		"$SONDE" bench --json -w 1 -r 20 --vs "exec $programs/rounds $2" -- "exec $programs/rounds $3" |
			jq -r '[.verdict, .metric, .speedup, .metrics.wall_s.verdict, .metrics.cpu_s.verdict] | @tsv'
	done
}

say "$same comparisons of a program with itself"
verdicts "$same" $work_rounds $work_rounds >same.tsv
say "$slower comparisons with 2 % more work"
verdicts "$slower" $slower_rounds $((slower_rounds + slower_rounds / 50)) >slower.tsv

share() { # FILE VERDICTS [COLUMN]: of 100
	awk -v wanted="$2" -v column="${3:-1}" -F '\t' '$column ~ wanted { hits++ } END { printf "%.3g\n", 100 * hits / NR }' "$1"
}
share same.tsv 'improved|regressed' | keep flagged
share same.tsv 'improved|regressed' 4 | keep flagged.wall
share same.tsv unchanged | keep unchanged
share slower.tsv regressed | keep found
share slower.tsv regressed 4 | keep found.wall
cut -f 3 slower.tsv | keep speedup

judge "$same comparisons of a program with itself, 20 pairs: reported as different" flagged % "–" "≤ 1 %" "<=" 1
judge "the same, by wall time" flagged.wall % "–" "≤ 1 %" "<=" 1
info "the same: called unchanged within 1 %" unchanged % "–"
judge "$slower comparisons with 2 % more work, 20 pairs: found" found % "–" "≥ 85 %" ">=" 85
info "the same, by wall time" found.wall % "–"
info "the same: speed-up" speedup "" "0.980"
