# plot.sh: plots show the report's figures in SVG and PNG alike; unavailable plots give the reason, names from the
# target stay text, and SVG works without a renderer.
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq python3
known=$(target zones_known)

cat >figures.py <<'PYTHON'
"""figures.py FILE.svg REPORT.json SECTION FROM COLUMN=KEY…: what the picture's intervals say is what the section's rows say."""
import json
import sys
import xml.etree.ElementTree as tree

svg, report, section, start = sys.argv[1:5]
pairs = [pair.split("=") for pair in sys.argv[5:]]
root = tree.parse(svg).getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg"
hits = [node for node in root.iter() if node.attrib.get("class") == "hit"]
assert hits and all(node[0].tag.endswith("}title") and node[0].text for node in hits)
rows = next(one["rows"] for one in json.load(open(report))["sections"] if one["id"] == section)
for column, key in pairs:
    got = {float(node.attrib["data-from"]): float(node.attrib["data-" + key]) for node in hits if "data-" + key in node.attrib}
    want = {float(row[start]) if start != "-" else float(at): float(row[column]) for at, row in enumerate(rows) if row[column] is not None}
    assert got == want, (column, got, want)
    assert got, column
labels = [node for node in root.iter() if node.tag.endswith("}text")]
assert any(node.attrib.get("class") == "title" and node.text for node in labels)
assert sum(node.attrib.get("class") == "axis" for node in labels) >= 3  # the title and both axes
numbers = [node.text for node in labels if node.text and node.text[:1].isdigit()]
assert len(numbers) >= 4, numbers
for node in root.iter():
    assert not any(key.startswith("on") or "href" in key for key in node.attrib) and not node.tag.endswith("}script")
print(len(hits))
PYTHON
cat >pixels.py <<'PYTHON'
"""pixels.py FILE.png: its size, and how many of its pixels are coloured: neither white nor grey."""
import struct
import sys
import zlib

data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, packed, head = 8, b"", None
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
    head = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else head
    packed += body if kind == b"IDAT" else b""
    at += 12 + size
width, height, depth, colour = head[:4]
assert depth == 8 and colour in (2, 6)
raw, channels = zlib.decompress(packed), 3 if colour == 2 else 4
line, before, coloured = width * channels, bytearray(width * channels), 0
for row in range(height):
    kind, now = raw[row * (line + 1)], bytearray(raw[row * (line + 1) + 1:(row + 1) * (line + 1)])
    now[:0] = before[:0] = bytes(channels)  # what is left of the row
    if kind == 1:
        for i in range(channels, len(now)):
            now[i] = (now[i] + now[i - channels]) & 255
    elif kind == 2:
        now = bytearray([(a + b) & 255 for a, b in zip(now, before)])
    elif kind == 3:
        for i in range(channels, len(now)):
            now[i] = (now[i] + (now[i - channels] + before[i]) // 2) & 255
    elif kind == 4:
        for i in range(channels, len(now)):
            left, up, corner = now[i - channels], before[i], before[i - channels]
            if left == corner:  # the nearest to up
                now[i] = (now[i] + up) & 255
            elif up == corner:
                now[i] = (now[i] + left) & 255
            else:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
                now[i] = (now[i] + near) & 255
    del now[:channels]
    if row % 16 == 0:
        coloured += sum(max(now[i:i + 3]) - min(now[i:i + 3]) > 60 for i in range(0, line, channels))
    before = now
print(width, height, coloured)
PYTHON

# plot NAME FILE OPTION…: writes both; the PNG must have coloured pixels, unless no renderer is installed.
plot() {
	local name=$1 file=$2 code=0 width height coloured
	shift 2
	run 0 "$SONDE" report -q --force --plot "$name" -o "$name.svg" "$@" "$file"
	"$SONDE" report -q --force --plot "$name" -o "$name.png" "$@" "$file" 2>.err || code=$?
	if [ $code != 0 ]; then
		has "$(<.err)" "a PNG needs"
		return 0
	fi
	case $name in
	cpu | zones) ;;
	*) return 0 ;; # taken as it is: reading one takes seconds
	esac
	read -r width height coloured <<<"$(python3 pixels.py "$name.png")"
	equal "$width $height" "1920 1080"
	holds "$coloured > 50" "$name has $coloured"
}
json() { # FILE SECTION OPTION…
	run 0 "$SONDE" report -q --json --section "$2" "${@:3}" "$1"
	mv .out report.json
}

run 0 "$SONDE" record -q --heap=full -o a.sonde -- python3 -c "
import time
blocks, end = [], time.time() + 0.5
while time.time() < end:
    blocks.append(bytearray(100000)); sum(range(3000))
open('/dev/null', 'wb').write(bytes(10000000))"
json a.sonde usage -n 120
plot cpu a.sonde
run 0 python3 figures.py cpu.svg report.json usage from_ns user_cpus=user system_cpus=system
equal "$out" 120
plot io a.sonde
run 0 python3 figures.py io.svg report.json usage from_ns read_b_per_s=read written_b_per_s=written
plot memory a.sonde
run 0 python3 figures.py memory.svg report.json usage from_ns rss_b=resident
json a.sonde timeline -n 120
run 0 python3 figures.py memory.svg report.json timeline from_ns peak_b=alive
peak=$(jq '[.sections[].rows[].peak_b] | max' report.json)
matches "$(<memory.svg)" "allocated: peak [0-9.]+ MB"
drawn=$(sed -n 's/.*allocated: peak \([0-9.]*\) MB.*/\1/p' memory.svg)
near "$drawn" "$peak / 1e6" "0.005 * $peak / 1e6" # three digits are shown

# The peak of allocated memory does not depend on the number of intervals. RSS is a mean for each interval, so its highest
# value is labelled as such.
for intervals in 7 60; do
	run 0 "$SONDE" report -q --force --plot memory -o memory.svg -n $intervals a.sonde
	grep -o 'allocated: peak [0-9.]*[0-9] [kMG]*B' memory.svg
	has "$(<memory.svg)" "RSS: highest mean of an interval"
	lacks "$(<memory.svg)" "RSS: peak"
done >peaks
equal "$(sort peaks | uniq -c | awk '{ print $1 }')" 2

json a.sonde usage --from 100ms --to 300ms -n 10
run 0 "$SONDE" report -q --force --plot cpu -o cpu.svg --from 100ms --to 300ms -n 10 a.sonde
run 0 python3 figures.py cpu.svg report.json usage from_ns user_cpus=user
equal "$out" 10
json a.sonde latency
plot parallelism a.sonde
run 0 python3 figures.py parallelism.svg report.json parallelism - share=share

# A curve adds up to what the whole run used, as far as it was polled.
json a.sonde usage -n 1000
jq '[.sections[0].rows[] | (.user_cpus + .system_cpus) * (.to_ns - .from_ns)] | add / 1e9' report.json >curve
sum=$(jq -r '.sections[0].notes[].text | capture("cover (?<s>[0-9.]+) s").s' report.json)
near "$(<curve)" "$sum" 0.002

# A plot of a part of that use says so: children that ended before they were read are missing.
run 0 "$SONDE" record -q -o short.sonde -- bash -c 'for i in {1..300}; do (:; for k in {1..400}; do :; done); done'
json short.sonde usage -n 120
warning=$(jq -r '[.sections[0].notes[] | select(.warning) | .text] | first // ""' report.json)
[ -n "$warning" ] || fail "no warning"
for name in cpu io memory; do
	run 0 "$SONDE" report -q --force --plot $name -o $name.svg short.sonde
	has "$(<$name.svg)" "${warning:0:60}"
	has "$(<$name.svg)" "${warning: -20}"
done

# Names from the target stay text; a zone's plot has its percentiles.
strange='<script>&"'
cp "$known" "$strange"
LD_LIBRARY_PATH=$SONDE_BUILD/src/runtime run 0 "$SONDE" record -q -o z.sonde -- "./$strange" 20
json z.sonde zone-histogram --focus inner -n 120
plot zones z.sonde --focus inner
run 0 python3 figures.py zones.svg report.json zone-histogram from_ns count=count
has "$(<zones.svg)" "inner: duration of 30 instances"
has "$(<zones.svg)" "./&lt;script&gt;&amp;"
for point in p50 p95 p99 max; do
	matches "$(<zones.svg)" "$point [0-9.]+ [mµn]?s"
done

# Iterations: drawn one by one while they fit, else in groups that together contain all of them.
run 0 "$SONDE" record -q -o i.sonde -- "$(target shares)" 1 1 50
json i.sonde turns -n 120
plot iterations i.sonde
run 0 python3 figures.py iterations.svg report.json turns first mean_ns=mean
equal "$out" 49
lacks "$(<iterations.svg)" longest
json i.sonde turns,iterations -n 10
plot iterations i.sonde -n 10
run 0 python3 figures.py iterations.svg report.json turns first mean_ns=mean min_ns=least max_ns=most
equal "$out" 10
holds_in report.json '.sections as [$turns, $all] | $all.rows[0] as $loop |
	([$turns.rows[] | .mean_ns * (.last - .first + 1)] | add | round) == (($loop.mean_ns * ($loop.marks - 1)) | round) and
	([$turns.rows[].min_ns | figure] | min) == $loop.min_ns and ([$turns.rows[].max_ns | figure] | max) == $loop.max_ns and
	([$turns.rows[].items] | add) == $loop.items - 1'
run 4 "$SONDE" report -q --plot iterations --focus nothing -o never.svg i.sonde
has "$err" "no iterations named nothing; there are "
lacks "$err" "no two iteration marks"

# `--plot list` shows which plots are available, and for others the reason and what to do.
run 0 "$SONDE" export --plot list a.sonde # only printed; no file is written
list=$out
[ ! -e a.txt ] || fail "a list was written beside the recording"
run 0 "$SONDE" report -q --plot list a.sonde
equal "$out" "$list"
matches "$out" "^cpu +CPU utilisation over time$"
has "$out" "no zones: mark scopes"
fits 80
run 4 "$SONDE" report -q --plot zones -o never.svg a.sonde
has "$err" "no plot zones of this recording: no zones: mark scopes"
[ ! -e never.svg ] || fail "a picture of nothing"
run 2 "$SONDE" report -q --plot cpus -o never.svg a.sonde
has "$err" "did you mean cpu?"
run 2 "$SONDE" report -q --plot cpu -o never.txt a.sonde
has "$err" "a plot is svg or png"
run 2 "$SONDE" report -q --plot cpu --section usage -o never.svg a.sonde
has "$err" "leave one of them out"
run 2 "$SONDE" report -q --plot cpu -f png -o never.svg a.sonde
has "$err" "-f png contradicts -o never.svg"
run 2 "$SONDE" report -q --plot cpu -n 1001 -o never.svg a.sonde
has "$err" "at most 1000 intervals"
for option in --json "-f csv"; do
	run 2 "$SONDE" report -q --plot list $option a.sonde
	has "$err" "--plot list prints text"
done
[ ! -e never.svg ] || fail "a picture of what was refused"
run 0 "$SONDE" report -q --force --plot cpu -o whole.svg a.sonde
run 0 "$SONDE" report -q --force --plot cpu -o whole.svg.gz a.sonde
gzip -dc whole.svg.gz | cmp - whole.svg || fail "compressed it is another picture"
