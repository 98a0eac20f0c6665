# html.sh: a report as one file: the figures in it are those of `sonde report --json`, it names nobody to ask, and names of the
# target stay in the JSON that they are in.
. "$(dirname "$0")/lib.sh"
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
import html.parser
import sys


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.data, self.asks, self.inside, self.scripts, self.policy = "", [], False, 0, ""

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.inside = tag == "script" and found.get("id") == "sonde-data"
        self.scripts += tag == "script"
        self.asks += [value for key, value in attributes if key in ("src", "href")]
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"]

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        self.data += data if self.inside else ""


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert not page.asks, page.asks
assert page.scripts == 2, page.scripts
assert page.policy.startswith("default-src 'none'"), page.policy
print(page.data)
PYTHON
python3 inside.py known.html >data.json
run 0 "$SONDE" report -q --json --section all -n 1000 known.sonde
equal "$(jq -S .report data.json | md5sum)" "$(jq -S . .out | md5sum)"
has "$(jq -r .recording.command data.json)" '<!--<script>'
equal "$(jq '.recording.sections == [.report.sections[].id]' data.json)" true
holds "$(jq .recording.duration_ns data.json) > 0"
# Only what is asked for; others refuse it.
run 0 "$SONDE" report -q -f html --section functions,zones -o - known.sonde
equal "$(python3 inside.py .out | jq -c .recording.sections)" '["functions","zones"]'
run 2 "$SONDE" doctor -f html
run 2 "$SONDE" report -f html --from 1ms known.sonde
has "$err" "html is of the whole run"
