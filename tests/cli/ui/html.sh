# html.sh: a report as one HTML file: its figures equal `sonde report --json`, it makes no network requests, and names
# from the target stay inside the embedded JSON.
. "$(dirname "$0")/../lib.sh"
need jq python3
known=$(target zones_known)
strange='<!--<script>'
cp "$known" "$strange"
LD_LIBRARY_PATH=$SONDE_BUILD/src/runtime run 0 "$SONDE" record -q -o known.sonde -- "./$strange" 20
if [ ! -s "$SONDE_BUILD/web/page/app.js" ]; then
	run 4 "$SONDE" report -f html -o known.html known.sonde
	has "$err" "this build has no web page"
	skip "this build has no page (-Dweb): what a report says then was tested"
fi
run 0 "$SONDE" report -o known.html known.sonde
cat >inside.py <<'PYTHON'
import base64
import gzip
import html.parser
import json
import struct
import sys


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.data, self.asks, self.inside, self.scripts, self.policy = {}, [], "", 0, ""

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.inside = found.get("id", "") if tag == "script" else ""
        self.scripts += tag == "script"
        self.asks += [value for key, value in attributes if key in ("src", "href")]
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]

    def handle_endtag(self, tag):
        self.inside = "" if tag == "script" else self.inside

    def handle_data(self, data):
        self.data[self.inside] = self.data.get(self.inside, "") + data


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert not page.asks, page.asks
assert page.scripts == 3, page.scripts
assert page.policy.startswith("default-src 'none'"), page.policy


def unpacked(name):
    return gzip.decompress(base64.b64decode(page.data.get(name, "")))


def lanes(data):
    """The JSON about the lanes, each with its rows as columns."""
    assert data[:4] == b"SLF1", data[:4]
    size, = struct.unpack("<I", data[4:8])
    head, at = json.loads(data[8 : 8 + size]), 8 + size
    for lane in head["lanes"]:
        size, lane["rows"] = struct.unpack("<II", data[at : at + 8])
        lane["columns"], to, at = [], at + 8 + size, at + 8
        while at < to:
            width, planes = data[at], at + 1
            at = planes + width * lane["rows"]
            lane["columns"].append([sum(data[planes + byte * lane["rows"] + i] << 8 * byte for byte in range(width)) for i in range(lane["rows"])])
        assert at == to, lane
    assert at == len(data)
    return head


if len(sys.argv) > 2 and sys.argv[2] == "lanes":
    json.dump(lanes(unpacked("sonde-lanes")), sys.stdout)
else:
    print(page.data["sonde-data"] if "sonde-data" in page.data else unpacked("sonde-data-gzip").decode())
PYTHON
python3 inside.py known.html >data.json
run 0 "$SONDE" report -q --json --section all -n 1000 known.sonde
equal "$(jq -S .report data.json | md5sum)" "$(jq -S . .out | md5sum)"
has "$(jq -r .recording.command data.json)" '<!--<script>'
equal "$(jq '.recording.sections == [.report.sections[].id]' data.json)" true
holds "$(jq .recording.duration_ns data.json) > 0"
equal "$(jq -c '[.recording.timeline, (.recording.threads | length), (.recording.processes | length)]' data.json)" '[true,2,1]'
# The timeline: every zone with its duration, as the report sums them.
python3 inside.py known.html lanes >lanes.json
run 0 "$SONDE" report -q --json --section zones known.sonde
equal "$(jq .thinned_ns lanes.json)" 0
for zone in compute inner rest; do
	equal "$(jq -c --arg zone "$zone" '(.names | map(.name) | index($zone)) as $name
		| [.lanes[] | select(.kind == "zones") | .columns as $columns | range(.rows) | select($columns[2][.] == $name) | $columns[1][.]] | [length, add]' lanes.json)" \
		"$(jq -c --arg zone "$zone" '.sections[0].rows[] | select(.zone == $zone) | [.calls, .total_ns]' .out)"
done
# A timeline that exceeds the size limit is thinned, and says so; merged bins lose nothing. A timeline that cannot fit
# at all is left out.
zones=$SONDE_BUILD/tests/unit/zone_target
if [ -x "$zones" ]; then
	run 0 "$SONDE" record -q --on-full block -o many.sonde -- "$zones" pairs 100000
	run 0 "$SONDE" report -q -o many.html many.sonde
	python3 inside.py many.html lanes >many.json
	equal "$(jq .thinned_ns many.json)" 0
	count() { jq '[.lanes[] | select(.kind == "zones") | .columns[3] | map(. + 1) | add] | add' "$1"; }
	equal "$(count many.json)" 300000
	lanes_b=$(grep -o 'id="sonde-lanes">[^<]*' many.html | wc -c)
	run 0 "$SONDE" report -q -o small.html --max-size $(($(wc -c <many.html) - lanes_b / 2)) many.sonde
	python3 inside.py small.html lanes >small.json
	holds "$(jq .thinned_ns small.json) > 0"
	holds "$(jq '[.lanes[].rows] | add' small.json) * 2 < $(jq '[.lanes[].rows] | add' many.json)"
	holds "$(wc -c <small.html) < $(wc -c <many.html) - $lanes_b / 3"
	equal "$(count small.json)" 300000
	run 0 "$SONDE" report -q -o none.html --max-size 64K many.sonde
	equal "$(grep -c 'id="sonde-lanes"></script>' none.html)" 1
fi
# Only the requested sections; other formats reject the option.
run 0 "$SONDE" report -q -f html --section functions,zones -o - known.sonde
equal "$(python3 inside.py .out | jq -c .recording.sections)" '["functions","zones"]'
run 2 "$SONDE" doctor -f html
run 2 "$SONDE" report -f html --from 1ms known.sonde
has "$err" "html always shows the whole run"
