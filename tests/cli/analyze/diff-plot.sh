# diff-plot.sh: plots of a comparison (SVG and PNG) show the figures of `sonde diff -f json`; a plot that cannot be
# drawn gives the reason.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3
need_perf
known=$(target zones_known)

cat >figures.py <<'PYTHON'
"""figures.py FILE.svg DIFF.json SECTION NAME: names, changes and intervals of the picture are the rows of the section."""
import json
import sys
import xml.etree.ElementTree as tree

svg, diff, section, name = sys.argv[1:5]
rows = next(one["rows"] for one in json.load(open(diff))["sections"] if one["id"] == section)
root = tree.parse(svg).getroot()
nodes = list(root.iter())
hits = [node for node in nodes if node.attrib.get("class") == "hit"]
bars = [node for node in nodes if node.attrib.get("class") == "bar"]
axis = [float(node.attrib["y"]) + 4 - 8 for node in nodes if node.tag.endswith("}text") and node.text in ("0", "0.0", "0.00")]
assert rows and hits and bars and axis
if section == "diff-functions":
    assert len(hits) == len(bars) == len(rows), (len(hits), len(bars), len(rows))
    for hit, bar, row in zip(hits, bars, rows):
        title = hit[0].text.split("\n")
        assert title[0] == row[name], (title, row[name])
        assert float(hit.attrib["data-change"]) == row["share_change"]
        low, high = float(hit.attrib["data-change-low"]), float(hit.attrib["data-change-high"])
        if "ci95_low" in row:
            assert (low, high) == (row["ci95_low"], row["ci95_high"])
        else:
            half = row["plus_minus"]["share_change"]
            assert abs(row["share_change"] - half - low) < 1e-12 and abs(row["share_change"] + half - high) < 1e-12
        # Increases are drawn above 0, decreases below; all bars share one scale.
        top, height = float(bar.attrib["y"]), float(bar.attrib["height"])
        assert (top + height <= axis[0] + 0.2) if row["share_change"] >= 0 else (top >= axis[0] - 0.2), (top, height, axis)
    tall = max(zip(bars, rows), key=lambda pair: abs(pair[1]["share_change"]))
    scale = float(tall[0].attrib["height"]) / abs(tall[1]["share_change"])
    for bar, row in zip(bars, rows):
        assert abs(float(bar.attrib["height"]) - scale * abs(row["share_change"])) < 0.3
else:
    got = {key: [float(hit.attrib["data-" + key]) for hit in hits if "data-" + key in hit.attrib] for key in ("baseline", "candidate")}
    for key in got:
        assert got[key], key
        assert got[key] == [row[key + "_self_ns"] for row in rows if row[key + "_self_ns"] is not None], key
    assert [hit[0].text.split("\n")[0] for hit in hits if "data-baseline" in hit.attrib] == [row[name] for row in rows if row["baseline_self_ns"] is not None]
print(len(hits))
PYTHON

run 0 "$SONDE" record -q -o a.sonde -- "$known" 30
run 0 "$SONDE" record -q -o b.sonde -- "$known" 60
run 0 "$SONDE" record -q -o c.sonde -- "$known" 60
run 0 "$SONDE" record -q -o d.sonde -- "$known" 30
run 0 "$SONDE" diff -f json -n 12 -o diff.json a.sonde b.sonde
for name in functions zones; do
	run 0 "$SONDE" diff --plot $name -o $name.svg a.sonde b.sonde
done
run 0 python3 figures.py functions.svg diff.json diff-functions function
run 0 python3 figures.py zones.svg diff.json diff-zones zone
equal "$out" 6 # three zones, each in both recordings
has "$(<zones.svg)" "compute"
has "$(<functions.svg)" "burn"

# With several runs per side the interval is computed from the runs, if there are at least six per side.
for i in 1 2 3 4 5 6; do
	run 0 "$SONDE" record -q -o less$i.sonde -- "$known" 10
	run 0 "$SONDE" record -q -o more$i.sonde -- "$known" 20
done
run 0 "$SONDE" diff -f json -n 5 -o several.json less?.sonde -- more?.sonde
holds_in several.json '[.sections[] | select(.id == "diff-functions") | .rows[]] | length == 5 and
	all((.ci95_low | figure) <= (.share_change | figure) and .share_change <= (.ci95_high | figure))'
run 0 "$SONDE" diff --force --plot functions -n 5 -o functions.svg less?.sonde -- more?.sonde
run 0 python3 figures.py functions.svg several.json diff-functions function
equal "$out" 5
run 0 "$SONDE" diff --force -f json -n 5 -o few.json a.sonde d.sonde -- b.sonde c.sonde
holds_in few.json '[.sections[] | select(.id == "diff-functions") | .rows[]] | length > 0 and all(.ci95_low == null and .absent.ci95_low == "too few runs")'

# As PNG, unless no renderer is installed.
"$SONDE" diff --plot functions -o functions.png --force a.sonde b.sonde 2>.err && code=0 || code=$?
if [ $code = 0 ]; then
	equal "$(head -c 8 functions.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a
else
	has "$(<.err)" "a PNG needs"
fi

# `--plot list` fits in 80 columns and says why a plot is unavailable. Contradictory options are rejected and leave no
# file.
run 0 "$SONDE" record -q -o none.sonde -- true
for files in "a.sonde b.sonde" "none.sonde none.sonde"; do
	read -r one two <<<"$files"
	run 0 "$SONDE" diff --plot list "$one" "$two"
	matches "$out" "^functions "
	fits 80
done
run 0 "$SONDE" diff --plot list a.sonde b.sonde
matches "$out" "^functions +change of CPU shares"
run 2 "$SONDE" diff --plot function -o never.svg a.sonde b.sonde
has "$err" "did you mean functions?"
run 2 "$SONDE" diff --plot functions a.sonde b.sonde
has "$err" "a plot is svg or png"
run 2 "$SONDE" diff --plot functions -f png -o never.svg a.sonde b.sonde
has "$err" "the format is png or svg"
run 2 "$SONDE" diff --plot functions -s diff-zones -o never.svg a.sonde b.sonde
has "$err" "leave one of them out"
run 2 "$SONDE" diff --plot list -f json a.sonde b.sonde
has "$err" "--plot list prints text"
run 2 "$SONDE" diff --plot functions -n 61 -o never.svg a.sonde b.sonde
has "$err" "at most 60 rows"
run 4 "$SONDE" diff --plot zones -o never.svg none.sonde none.sonde
has "$err" "no plot zones of these recordings"
[ ! -e never.svg ] || fail "a picture of what was refused"
