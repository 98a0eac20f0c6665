# memory-interval.sh: RSS is read every --interval or every TIME of --memory; details (PSS) every half second.
# measures: number of readings in an interval
. "$(dirname "$0")/../lib.sh"

series=$SONDE_BUILD/tests/targets/series

# points METRIC: number of readings for the command; gap METRIC: the shortest time between two of them, in ms
points() {
	"$series" run.sonde | awk -v metric="$1" '$1 && $2 == metric && !n++ { print $4 }'
}
gap() {
	"$series" run.sonde | awk -v metric="$1" '$1 && $2 == metric && !n++ { printf "%.0f", $11 / 1e6 }'
}

# 3 s: seven detailed readings, including the first and the last. A busy machine loses readings and adds none, and
# some readings still follow each other on time.
run 0 "$SONDE" record -q -f -o run.sonde -- sleep 3
details=$(points memory.pss)
resident=$(points memory.rss)
holds "$details >= 3 && $details <= 9" "proportional sizes in 3 s: each half second was to be read"
holds "$resident >= 2 * $details && $resident <= 34" "resident sizes beside $details details"
holds "$(gap memory.rss) <= 130" "resident sizes are read each 100 ms"

# --interval changes one rate and not the other.
run 0 "$SONDE" record -q -f -o run.sonde --interval 500ms -- sleep 3
slow=$(points memory.rss)
holds "$slow >= 3 && $slow <= 9" "resident sizes in 3 s, each 500 ms"

run 0 "$SONDE" record -q -f -o run.sonde --memory=50ms -- sleep 3
fine=$(points memory.rss)
holds "$fine > $resident && $fine <= 64" "resident sizes with --memory=50ms, $resident without"
holds "$(gap memory.rss) <= 70" "resident sizes are read each 50 ms"
details=$(points memory.pss)
holds "$details >= 3 && $details <= 9" "proportional sizes with --memory=50ms"

# The kernel has one peak for the command and the children that it waited for: it is not reported as the shell's.
need jq
run 0 "$SONDE" record -q -f -o run.sonde --memory=20ms -- sh -c 'dd if=/dev/zero of=/dev/null bs=32M count=8 2>&1; sleep 0.1'
of_shell=$(rows run.sonde memory | jq '.[] | select(.process | startswith("sh ("))')
equal "$(jq -c '[.peak_rss_b, (.absent.peak_rss_b | length > 0)]' <<<"$of_shell")" "[null,true]"
holds "$(jq .rss_peak_b <<<"$of_shell") < 16000000"
holds "$(metric run.sonde memory.peak_process_rss_b) > 32000000"

# Figures of the whole recording, shown although a part was selected, are marked.
run 0 "$SONDE" record -q --memory -o part.sonde -- sleep 0.1
for part in "--thread sleep" "--from 10ms"; do
	# shellcheck disable=SC2086
	run 0 "$SONDE" report part.sonde --section memory $part
	has "$out" "of the whole recording, ignoring the selection"
done
run 0 "$SONDE" report part.sonde --section memory
lacks "$out" "of the whole recording"
