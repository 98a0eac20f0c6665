# streams: bytes per zone in memory and in the file for three streams; the rate that two producers sustain; loading 10 M zones
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 5 2)
zones=$(n 2000000 100000)
load_zones=$(n 10000000 1000000)
burst=100000 # of LTTng and uftrace, which lose what comes faster than they write

# record FILE ARGUMENTS…: makes zones under a recorder that may block the program but lose nothing; prints "zones
# threads seconds".
record() {
	local file=$1
	shift
	"$SONDE" record -q -f -F 1 --no-symbols --on-full block -o "$file" -- "$programs/streams" "$@"
}

# absent FILE MADE: prints a sentence if not every zone that was made is in the recording.
absent() {
	local there
	there=$(metric "$1" zones.count)
	[ "$there" = "$2" ] || echo "$there of $2 zones are in the file, $(metric "$1" lost.count) events counted as lost, two a zone"
}

# --- bytes ----------------------------------------------------------------------------------------------------------

keep memory.bytes "$(awk '/define SONDE_RING_CHUNK_B/ { chunk = $3 + 0 } /define SONDE_RING_HEAD_B/ { head = $3 + 0 }
	END { print 16 * chunk / (chunk - head) }' "$repo/src/format/ring.h")"
judge "bytes a zone in memory" memory.bytes B "–" "≤ 16 B and the chunk's head" "<=" 16.05 "by layout: two words of 8 bytes"
tracy="Tracy is not packaged; 1.33 B for a tight loop with 0.14, measured elsewhere"
for stream in tight nested machine; do
	for ((i = 0; i < rounds; i++)); do
		say "$stream, round $((i + 1)) of $rounds"
		read -r made _ _ <<<"$(record out.sonde $stream "$zones")"
		keep $stream.bytes "$(calc "$(stat -c %s out.sonde) / $(metric out.sonde zones.count)")"
	done
	why=$(absent out.sonde "$made")
	if [ $stream = tight ]; then
		judge "bytes a zone in the file: tight" tight.bytes B "$tracy" "≤ 1.33 B" "<=" 1.33 "$why"
	else
		row "bytes a zone in the file: ${stream/machine/interpreter}" "$(text $stream.bytes B)" "Tracy" "≤ Tracy's" unavailable \
			"${why:+$why; }Tracy is not packaged"
	fi
done

# --- sustained ------------------------------------------------------------------------------------------------------

for ((i = 0; i < rounds; i++)); do
	say "two producers, round $((i + 1)) of $rounds"
	read -r made _ seconds <<<"$(record out.sonde tight "$(n 50000000 2000000)" 2)"
	keep sustained "$(calc "$(metric out.sonde zones.count) / $seconds / 1e6")"
done
judge "zones sustained by two producers, blocking" sustained "M/s" "–" "≥ 50 M/s, none lost" ">=" 50 "$(absent out.sonde "$made")"

# --- loading --------------------------------------------------------------------------------------------------------

record load.sonde tight "$load_zones" >&2
loaded=$(metric load.sonde zones.count)
for ((i = 0; i < rounds; i++)); do
	cost load "$SONDE" report --section zones load.sonde
	keep load "$(calc "$(cost_of load wall | tail -n 1) * 10000000 / $loaded")"
done

no_lttng=$(lttng_missing)
if [ -z "$no_lttng" ]; then
	say "LTTng-UST"
	lttng_begin "$work/trace"
	"$programs/pair-lttng" $((rounds - 1)) $burst >/dev/null
	lttng_end
	events=$(babeltrace2 "$work/trace" | wc -l)
	keep lttng.bytes "$(calc "$(du -sb "$work/trace" | cut -f 1) / ($events / 2)")"
	for ((i = 0; i < rounds; i++)); do
		cost lttng babeltrace2 -o dummy "$work/trace"
		keep lttng.load "$(calc "$(cost_of lttng wall | tail -n 1) * 10000000 / ($events / 2)")"
	done
fi
no_uftrace=$(uftrace_missing)
if [ -z "$no_uftrace" ]; then
	say "uftrace"
	uftrace record --no-event --no-libcall -d uftrace "$programs/pair-uftrace" $((rounds - 1)) $burst >&2
	calls=$(uftrace report -d uftrace | awk '$NF == "instrumented" { print $(NF - 1) }')
	keep uftrace.bytes "$(calc "$(du -sb uftrace | cut -f 1) / $calls")"
	for ((i = 0; i < rounds; i++)); do
		cost uftrace uftrace report -d uftrace
		keep uftrace.load "$(calc "$(cost_of uftrace wall | tail -n 1) * 10000000 / $calls")"
	done
fi
scaled="scaled to 10 M zones; sonde measured on $(calc "$loaded / 1e6") M"
anchor="LTTng-UST (babeltrace2, read only) ${no_lttng:-$(text lttng.load s)}; uftrace report ${no_uftrace:-$(text uftrace.load s)}"
judge "10 M zones loaded, with statistics" load s "$anchor" "≤ 0.15 s" "<=" 0.15 "$scaled"
info "bytes a zone in the file: tight, compared with others" tight.bytes B \
	"LTTng-UST ${no_lttng:-$(text lttng.bytes B)}; uftrace ${no_uftrace:-$(text uftrace.bytes B)}"
