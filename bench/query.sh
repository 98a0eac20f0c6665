# query: SQL queries over a recording of ten million zones: sums kept in summaries, and scans of all zones
source "$(dirname "$0")/lib.bash"

rounds=$(n 5 2)
zones=$(n 10000000 1000000)

say "recording"
"$SONDE" record -q -f -F 1 --no-symbols --on-full block -o zones.sonde -- "$programs/streams" machine $((zones / 2)) 2 >&2
made=$(metric zones.sonde zones.count)
if ! "$SONDE" query -q zones.sonde 'SELECT 1' >&2; then
	unavailable "questions in SQL over 10 M zones" "–" "≤ 0.2, 2 and 5 s" "SQLite is not installed"
	exit 0
fi

# ask KEY SQL: seconds of process start to end. `scan` is scaled to ten million zones; the time of sums is not scaled.
ask() {
	cost "$1" "$SONDE" query -q -f csv zones.sonde "$2"
	keep "$1" "$(calc "$(cost_of "$1" wall | tail -n 1) * ${3:-1}")"
}

scan=$(calc "10000000 / $made")
sums="sum(calls), sum(total_ns), 1.0 * sum(total_ns) / sum(calls)"
all="count(*), sum(dur_ns), 1.0 * sum(dur_ns) / count(*)"
for ((i = 0; i < rounds; i++)); do
	say "round $((i + 1)) of $rounds"
	ask by_zone "SELECT zone, $sums FROM zone_stats GROUP BY zone ORDER BY 3 DESC"
	ask by_thread "SELECT thread_id, thread, $sums FROM zone_stats GROUP BY thread_id ORDER BY 4 DESC"
	ask by_id "SELECT site_id, $all FROM zones GROUP BY site_id" "$scan"
	ask by_name "SELECT zone, $all FROM zones GROUP BY zone" "$scan"
	ask by_avg "SELECT site_id, $all, avg(dur_ns) FROM zones GROUP BY site_id" "$scan"
	ask of_site "SELECT $all FROM zones WHERE site_id = 1" "$scan"
	ask of_name "SELECT $all FROM zones WHERE zone = 'call'" "$scan"
done

why="$(calc "$made / 1e6") M zones"
judge "calls, total and mean by zone" by_zone s "–" "≤ 0.2 s" "<=" 0.2 "$why, by zone_stats"
judge "calls, total and mean by thread" by_thread s "–" "≤ 0.2 s" "<=" 0.2 "$why, by zone_stats"
judge "calls, total and mean of 10 M zones, by id" by_id s "–" "≤ 2 s" "<=" 2 "$why, all read"
judge "calls, total and mean of 10 M zones, by name" by_name s "–" "≤ 5 s" "<=" 5 "$why, all read"
info "the same by id, and avg() once more" by_avg s "–" "each aggregate reads its column once per row"
info "10 M zones: those of one site, by id" of_site s "–" "$why, all read"
info "10 M zones: those of one name" of_name s "–" "$why, all read"
