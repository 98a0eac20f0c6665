# memory-interval.sh: resident memory is read at --interval, or each TIME of --memory; details each half second
. "$(dirname "$0")/lib.sh"

series=$SONDE_BUILD/tests/targets/series

# points METRIC: how many there are of the command
points() {
	"$series" run.sonde | awk -v metric="$1" '$1 && $2 == metric && !count { count = $4 } END { print count + 0 }'
}

# 3 s: seven details, with the first and the last; fewer where the machine was busy with others.
run 0 "$SONDE" record -q -f -o run.sonde -- sleep 3
details=$(points memory.pss)
resident=$(points memory.rss)
[ "$details" -ge 3 ] && [ "$details" -le 9 ] || fail "$details proportional sizes in 3 s: each half second was to be read"
[ "$resident" -ge $((2 * details)) ] && [ "$resident" -le 34 ] || fail "$resident resident sizes beside $details details"

# What --interval asks for moves the one, and not the other.
run 0 "$SONDE" record -q -f -o run.sonde --interval 500ms -- sleep 3
slow=$(points memory.rss)
[ "$slow" -ge 3 ] && [ "$slow" -le 9 ] || fail "$slow resident sizes in 3 s, each 500 ms"

run 0 "$SONDE" record -q -f -o run.sonde --memory=50ms -- sleep 3
fine=$(points memory.rss)
[ "$fine" -gt "$resident" ] && [ "$fine" -le 100 ] || fail "$fine resident sizes with --memory=50ms, $resident without"
details=$(points memory.pss)
[ "$details" -ge 3 ] && [ "$details" -le 9 ] || fail "$details proportional sizes with --memory=50ms"

# The kernel tells one mark, of the command and of what it waited for: it is not called the shell's.
need jq
run 0 "$SONDE" record -q -f -o run.sonde --memory=20ms -- sh -c 'dd if=/dev/zero of=/dev/null bs=32M count=8 2>&1; sleep 0.1'
of_shell=$(rows run.sonde memory | jq '.[] | select(.process | startswith("sh ("))')
equal "$(jq .peak_rss_b <<<"$of_shell")" null
holds "$(jq .rss_peak_b <<<"$of_shell") < 16000000"
holds "$(metric run.sonde memory.peak_process_rss_b) > 32000000"

# What is of the whole recording though a part was chosen says so.
run 0 "$SONDE" record -q --memory -o part.sonde -- sleep 0.1
for part in "--thread sleep" "--from 10ms"; do
	# shellcheck disable=SC2086
	run 0 "$SONDE" report part.sonde --section memory $part
	has "$out" "of the whole recording, not of the selected time or threads alone"
done
run 0 "$SONDE" report part.sonde --section memory
lacks "$out" "of the whole recording"
