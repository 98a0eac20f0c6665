# tiles.sh: the timeline's requests to the server: tracks and bins have the counts of reports, also in merged and
# truncated recordings; slices are found by name and duration; invalid requests get a message.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need curl jq python3
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
pid=
at_exit() { [ -z "$pid" ] || kill -9 $pid 2>/dev/null; }
known=$(target zones_known)

serve() {
	[ -z "$pid" ] || { kill $pid; wait $pid || true; }
	: >.url
	"$SONDE" view -q --no-token --no-open --port 0 "$1" >.url 2>.view &
	pid=$!
	wait_for grep -q / .url
	url=$(head -n 1 .url)
	url=${url%/}
}

get() {
	curl -s -g -o .out -D .head -w '%{http_code}' "$url$1"
}

refused() {
	equal "$(get "$1")" 400
	holds "$(jq -r '.error | length' .out) > 10" "$(cat .out)"
}

cat >read.py <<'P'
# read.py BINS: a line per track: id, form, rows, sum of counts, sum of busy time in ns; fails if rows are out of
# order or have no duration.
import struct, sys
data = open(sys.argv[1], "rb").read()
magic, lanes, begin, end, width, coarse = struct.unpack_from("<4sIddII", data)
assert magic == b"STL1" and coarse == 0, (magic, coarse)
at = 32
def column(code, count):
    global at
    values = struct.unpack_from(f"<{count}{code}", data, at)
    at += (struct.calcsize(code) * count + 7) // 8 * 8
    return values
for _ in range(lanes):
    lane, form, count, zero = struct.unpack_from("<IIII", data, at)
    at += 16
    starts = column("d", count)
    lengths = column("d", count) if form != 3 else [0] * count
    many, busy = count, 0
    if form == 2:
        least, most = column("d", count), column("d", count)
        assert all(a <= b for a, b in zip(least, most))
    else:
        shares = column("f", count) if form == 1 else [0] * count
        names, each = column("I", count), column("I", count)
        many, busy = sum(each), sum(share * length for share, length in zip(shares, lengths))
        assert all(n > 0 for n in each) and all(0 <= s <= 1 for s in shares)
    assert list(starts) == sorted(starts) and all(length >= 0 for length in lengths)
    assert count <= 3 * width + 3, (count, width)
    print(lane, form, count, many, round(busy))
assert at == len(data), (at, len(data))
P

# expect_counts: at every width, the view of the whole run contains every slice.
expect_counts() {
	local ids width
	equal "$(get /api/lanes)" 200
	cp .out lanes.json
	holds_in lanes.json '.version == 1 and .duration_ns > 0 and ([.lanes[].id] == [range(.lanes | length)])'
	ids=$(jq -r '[.lanes[].id] | join(",")' lanes.json)
	for width in 1 7 300 2000 16384; do
		equal "$(get "/api/tiles?lanes=$ids&width=$width")" 200
		grep -qi '^content-type: application/octet-stream' .head || fail "not bytes: $(cat .head)"
		python3 read.py .out >bins || fail "bins are not as they should be"
		jq -r '.lanes[] | select(.form != "curve") | "\(.id) \(.count)"' lanes.json >expected
		awk '$2 != 2 { print $1, $4 }' bins >got
		cmp expected got || fail "not all slices are there at $width pixels"
	done
}

count_of() { # NAME: of slices of a name, by /api/find
	local names
	names=$(jq -r --arg name "$1" '[.names | to_entries[] | select(.value.name == $name) | .key] | join(",")' lanes.json)
	equal "$(get "/api/find?names=$names&limit=2")" 200
	jq .count .out
}

run 0 "$SONDE" record -q --threads -o a.sonde -- "$known" 30
run 0 "$SONDE" record -q --threads -o b.sonde -- "$known" 20
rows a.sonde zones | jq -r '.[] | "\(.calls) \(.zone)"' >zones
holds "$(wc -l <zones) > 1" "$(cat zones)"

serve a.sonde
expect_counts
equal "$(jq '[.lanes[] | select(.kind == "zones") | .count] | add' lanes.json)" "$(awk '{ n += $1 } END { print n }' zones)"
while read -r count zone; do
	equal "$(count_of "$zone") $zone" "$count $zone"
done <zones

# A minimum duration, and an order.
equal "$(get "/api/find?names=$(jq -r '[.names | keys[]] | join(",")' lanes.json)&shortest=1000000&limit=50")" 200
holds_in .out '(.slices | length) > 0 and all(.slices[]; .length >= 1000000) and
	([.slices[].start | figure] | . == sort)'

# Segments of the critical path follow one another; arrows lead from track to track.
if jq -e 'any(.lanes[]; .kind == "path")' lanes.json >/dev/null; then
	equal "$(get '/api/path?limit=100000')" 200
	holds_in .out '.omitted == 0 and (.steps | length > 0) and
		(.steps as $s | all(range(1; $s | length); $s[.].start == $s[. - 1].start + $s[. - 1].length))'
	equal "$(get /api/arrows)" 200
	holds_in .out '(.arrows | length > 0) and all(.arrows[]; (.from | figure) <= (.to | figure) and (.kind == "wake-up" or .kind == "lock"))'
fi

# Within a time limit: complete at once, or marked as incomplete.
equal "$(get "/api/tiles?lanes=0&width=100&quick=1")" 200

refused '/api/lanes?from=0'
refused '/api/tiles'
refused '/api/tiles?lanes='
refused '/api/tiles?lanes=0,'
refused '/api/tiles?lanes=-1'
refused '/api/tiles?lanes=99999999'
refused '/api/tiles?lanes=99999999999999999999999'
refused '/api/tiles?lanes=0&width=0'
refused '/api/tiles?lanes=0&width=1000000000'
refused '/api/tiles?lanes=0&width=NaN'
refused '/api/tiles?lanes=0&from=5&to=4'
refused '/api/tiles?lanes=0&from=-5'
refused '/api/tiles?lanes=0&from=1e9'
refused '/api/tiles?lanes=0&to=99999999999999999999'
refused '/api/tiles?lanes=0&quick=2'
refused '/api/tiles?lanes=0&other=1'
refused '/api/find'
refused '/api/find?names=99999999'
refused '/api/find?names=0&limit=100001'
refused '/api/path?limit=x'
refused '/api/arrows?from=2&to=1'
equal "$(get '/api/tiles?lanes=0&from=7&to=7&width=16384')" 200
equal "$(get '/api/tiles?lanes=0&from=9223372036854775807&to=9223372036854775807')" 200

# A merged recording has everything of both parts.
one=$(jq '[.lanes[] | select(.kind == "zones") | .count] | add' lanes.json)
serve b.sonde
expect_counts
two=$(jq '[.lanes[] | select(.kind == "zones") | .count] | add' lanes.json)
run 0 "$SONDE" merge -q -o both.sonde a.sonde b.sonde
serve both.sonde
expect_counts
equal "$(jq '[.lanes[] | select(.kind == "zones") | .count] | add' lanes.json)" $((one + two))

# Truncated within its last chunks: the remainder is shown.
head -c $(($(stat -c %s a.sonde) * 9 / 10)) a.sonde >cut.sonde
serve cut.sonde
expect_counts
kill $pid
wait $pid || true
pid=
