# lib.bash: shared by the benchmarks. A benchmark is one file bench/NAME.sh: its first line says what it measures; it
# sources this file, runs in an empty directory of its own, and prints rows for bench/table on standard output:
#
#   figure <tab> ours <tab> anchor <tab> bar <tab> met|missed|unavailable|info <tab> why
#
# A figure is the median of interleaved runs with min–max in brackets; an anchor is measured in the same run. Nothing
# else may go to standard output; standard error goes to the log. SONDE and BENCH_PROGRAMS name what is measured;
# BENCH_QUICK=1 requests few short runs.
set -euo pipefail
export LC_ALL=C.UTF-8
: "${SONDE:?scripts/bench sets it}" "${BENCH_PROGRAMS:?}" "${BENCH_LOG:?}" "${BENCH_QUICK:=0}"
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
programs=$BENCH_PROGRAMS
work=$(mktemp -d "${BENCH_TMP:-/tmp}/sonde-bench-XXXXXX")
trap 'cleanup' EXIT
export XDG_CACHE_HOME=$work/cache
exec 4>&2 2>>"$BENCH_LOG"
cd "$work"

# Daemons that a benchmark started leave their pid in a file here.
cleanup() {
	local file
	for file in "$work"/*.pid; do
		[ -s "$file" ] && end "$(cat "$file")"
	done
	rm -rf "$work"
}

end() {
	kill "$1" 2>/dev/null || return 0
	local tries
	for ((tries = 0; tries < 50; tries++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
}

# n FULL QUICK: a number of rounds, or a size.
n() {
	[ "$BENCH_QUICK" = 1 ] && echo "$2" || echo "$1"
}

say() {
	local line
	line="$(basename "${BASH_SOURCE[-1]}" .sh): $*"
	echo "$line" >&4
	echo "$line" >&2
}

# A query that keeps sqlite3 busy for some three seconds.
sqlite_query="WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c WHERE x < $(n 3500000 800000))
	SELECT sum(x * x % 7), count(DISTINCT x % 1000) FROM c;"

# --- what programs work on -------------------------------------------------------------------------------------------

# Words in an order that partly repeats.
make_text() {
	awk -v bytes="$1" 'BEGIN {
		split("the of and to in is that for it with as was on be by at this have from or had not are but", word, " ")
		for (state = 1; written < bytes; ) {
			state = state * 16807 % 2147483647 # exact in a double
			line = state % 7 ? word[state % 24 + 1] " " word[int(state / 24) % 24 + 1] : state
			print line
			written += length(line) + 1
		}
	}'
}

# A C file of many functions with loops, switches and calls.
make_source() {
	awk -v functions="$1" 'BEGIN {
		print "struct item { int key, value; double weight; struct item *next; };"
		for (i = 0; i < functions; i++) {
			printf "double work_%d(struct item *list, const int *table, int n)\n{\n\tdouble sum = %d;\n", i, i
			printf "\tfor (int k = 0; k < n; k++) {\n\t\tswitch (table[k] %% 7) {\n"
			for (c = 0; c < 6; c++)
				printf "\t\tcase %d:\n\t\t\tsum += table[k] * %d.5 + k / (table[k] + %d);\n\t\t\tbreak;\n", c, c + i % 5, c + 1
			printf "\t\tdefault:\n\t\t\tsum -= list ? list->weight : %d;\n\t\t}\n\t}\n", i % 11
			print "\tfor (struct item *at = list; at; at = at->next)"
			printf "\t\tsum += at->key > at->value ? at->weight * %d : table[at->key %% n];\n", i % 13 + 1
			if (i)
				printf "\treturn sum + (n > 3 ? work_%d(list, table, n - 1) : 0);\n}\n", int(i / 2)
			else
				print "\treturn sum;\n}"
		}
	}'
}

# --- figures ----------------------------------------------------------------------------------------------------------

# keep KEY [VALUE…]: adds values to a series, from standard input if none is given. Values that could not be measured
# (empty, or divided by 0) are left out.
keep() {
	local key=$1
	shift
	{ [ $# -gt 0 ] && printf '%s\n' "$@" || cat; } | sed -E '/^$|inf|nan/d' >>"$work/series.$key"
}

has() {
	[ -s "$work/series.$1" ]
}

median() {
	sort -g "$work/series.$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

calc() {
	awk "BEGIN { printf(\"%.9g\", ($*)) }"
}

# Three digits, as a person reads them.
number() {
	awk -v x="$1" 'BEGIN { a = x < 0 ? -x : x; printf((a >= 100 ? "%.0f" : a >= 10 ? "%.1f" : a >= 0.995 ? "%.2f" : "%.3f"), x) }'
}

# text KEY [UNIT]: "16.9 ns (16.7–17.4)".
text() {
	local series=$work/series.$1
	[ -s "$series" ] || { echo "–"; return; }
	local low high
	low=$(number "$(sort -g "$series" | head -n 1)")
	high=$(number "$(sort -g "$series" | tail -n 1)")
	printf '%s%s' "$(number "$(median "$1")")" "${2:+ $2}"
	[ "$low" = "$high" ] || printf ' (%s–%s)' "$low" "$high"
}

row() {
	local IFS=$'\t'
	printf '%s\n' "$*"
}

# judge FIGURE KEY UNIT ANCHOR BAR OPERATOR LIMIT [WHY]: prints a row; it is met if the median satisfies the limit.
judge() {
	local verdict=missed
	if ! has "$2"; then
		row "$1" "–" "$4" "$5" unavailable "${8:-not measured}"
		return
	fi
	awk -v a="$(median "$2")" -v b="$7" "BEGIN { exit !(a $6 b) }" && verdict=met
	row "$1" "$(text "$2" "$3")" "$4" "$5" $verdict "${8:-}"
}

# info FIGURE KEY UNIT ANCHOR [WHY]: a figure without a bar.
info() {
	row "$1" "$(text "$2" "$3")" "$4" "–" info "${5:-}"
}

unavailable() {
	row "$1" "–" "$2" "$3" unavailable "$4"
}

# --- what runs cost ---------------------------------------------------------------------------------------------------

# cost KEY COMMAND…: runs it, and keeps its wall seconds, CPU seconds, peak bytes and page faults for cost_of.
cost() {
	local key=$1
	shift
	"$programs/cost" "$work/cost.$key" "$@" >&2 </dev/null
}

# cost_of KEY wall|cpu|rss|faults: one value a run.
cost_of() {
	local -A column=([wall]=1 [cpu]=2 [rss]=3 [faults]=4)
	awk -v c="${column[$2]}" '{ print $c }' "$work/cost.$1"
}

# paired SERIES KEY KEY FIELD EXPRESSION: one value per round, computed from the costs a and b of two commands in that
# round.
paired() {
	[ -s "$work/cost.$2" ] && [ -s "$work/cost.$3" ] || return 0
	paste <(cost_of "$2" "$4") <(cost_of "$3" "$4") |
		awk "NF == 2 { a = \$1; b = \$2; printf \"%.9g\\n\", $5 }" >>"$work/series.$1"
}

# --- what a recording says --------------------------------------------------------------------------------------------

# metric FILE NAME: a figure of the summary; nothing when it was not measured.
metric() {
	"$SONDE" report --section summary --json "$1" |
		jq -r --arg name "$2" '.sections[] | select(.id == "summary") | .rows[] | select(.metric == $name) | .value // empty'
}
