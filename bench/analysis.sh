# analysis: findings, critical path and statistics of zones over recordings of ten million events, on one core
source "$(dirname "$0")/lib.bash"

rounds=$(n 5 2)
zones=$(n 5000000 500000) # two events each
turns=$(n 300000 30000)   # of each of eight threads: some 4.3 events a turn
one_core=(taskset -c "$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')")

# Zones: an interpreter at work in two threads. Waits: pairs of threads that take turns by locks, conditions and pipes.
say "recording"
"$SONDE" record -q -f -F 1 --no-symbols --on-full block -o zones.sonde -- "$programs/streams" machine $((zones / 2)) 2 >&2
"$SONDE" record -q -f --threads --io --buffer 256M -o waits.sonde -- "$programs/turns" "$turns" 4 >&2

count() { # FILE TABLE
	"$SONDE" query -q -f csv "$1" "SELECT count(*) AS n FROM $2" | tail -n 1 | tr -d '\r'
}

zone_events=$((2 * $(metric zones.sonde zones.count)))
switches=$(count waits.sonde switches)
calls=$(count waits.sonde waits)
declare -A events=([zones]=$zone_events [waits]=$((switches + calls))) whys
whys[zones]="$(calc "$zone_events / 1e6") M begins and ends in two threads, $(metric zones.sonde lost.count) lost"
whys[waits]="$(calc "$switches / 1e6") M switches and $(calc "$calls / 1e6") M calls in eight threads, $(metric waits.sonde lost.count) lost"

# measure FILE SECTION: seconds of process start to end, for ten million events.
measure() {
	cost "$1.$2" "${one_core[@]}" "$SONDE" report --section "$2" "$1.sonde"
	keep "$1.$2" "$(calc "$(cost_of "$1.$2" wall | tail -n 1) * 10000000 / ${events[$1]}")"
}

for ((i = 0; i < rounds; i++)); do
	say "round $((i + 1)) of $rounds"
	for file in zones waits; do
		measure $file findings
		measure $file critical-path
	done
	measure zones zones
done

peak() { # KEY
	echo "peak $(number "$(calc "$(cost_of "$1" rss | sort -g | tail -n 1) / 1e6")") MB"
}
bar() { # FIGURE FILE SECTION
	judge "$1" "$2.$3" s "–" "≤ 3 s" "<=" 3 "${whys[$2]}; $(peak "$2.$3")"
}
bar "findings, 10 M events of zones, one core" zones findings
bar "critical path, 10 M events of zones, one core" zones critical-path
bar "statistics of zones, 10 M events, one core" zones zones
bar "findings, 10 M switches and calls that wait, one core" waits findings
bar "critical path, 10 M switches and calls that wait, one core" waits critical-path
