# diff.sh: sonde diff finds which function got slower between two recordings and which iterations take longer, finds
# nothing if nothing changed, and rejects recordings that cannot be compared. Several recordings per side are compared
# run by run; two results of sonde bench are compared as well.
# measures: how long runs take
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need jq
shares=$(target shares)
shows() {
	holds_in diff.json "$1"
}
row() { # SECTION KEY TEXT
	echo "(.sections[] | select(.id == \"$1\") | .rows[] | select(.$2 == \"$3\"))"
}

# Iterations of 5 + 10 and of 5 + 20 units: neither is as long as a sampling period.
quietly a.sonde "$SONDE" record -q -o a.sonde -- "$shares" 5 10 120
quietly b.sonde "$SONDE" record -q -o b.sonde -- "$shares" 5 20 120
quietly same.sonde "$SONDE" record -q -o same.sonde -- "$shares" 5 10 120

# gate VERDICT A B: compares by iterations and checks verdict and exit code. On a noisy machine the verdict may be
# 'inconclusive', with a reason; at the end at least one comparison must have reached a verdict.
decided=0
gate() {
	local code=0
	"$SONDE" diff --gate --force -f json -o diff.json "$2" "$3" 2>.err || code=$?
	verdict=$(jq -r .verdict diff.json)
	[ "$verdict" = "$1" ] || {
		equal "$verdict" inconclusive
		jq -e '[.notes[].text, .sections[].notes[].text, .sections[].rows[].absent.speedup?] |
			any(strings | test("is not steady|needs 8 independent means|^noisy run: |: more iterations would "))' \
			diff.json >/dev/null || fail "inconclusive without a reason"
	}
	case $verdict in regressed) equal $code 1 ;; inconclusive) equal $code 3 ;; *) equal $code 0 ;; esac
	[ "$verdict" = inconclusive ] || decided=$((decided + 1))
}
gate regressed a.sonde b.sonde
shows '.comparable == 1 and .metric == "iterations of turn"'
if [ "$verdict" != inconclusive ]; then
	shows '.speedup > 0.38 and .speedup < 0.77'
	shows '(.ci95_low | figure) < .speedup and .ci95_high > .speedup and (.p | figure) < 0.01'
	shows "$(row diff-iterations iteration turn) | (.ci95_low | figure) <= .speedup and .ci95_high >= (.speedup | figure)"
fi
shows "$(row diff-functions function beta) | .share_change > 0.08 and .share_change < 0.19 and (.p | figure) < 0.01"
shows "$(row diff-functions function alpha) | .share_change < -0.08 and .share_change > -0.19 and (.p | figure) < 0.01"
shows "$(row diff-functions function beta) | .candidate_ns > 1.7 * (.baseline_ns | figure) and .baseline_ns > 0"
gate improved b.sonde a.sonde
[ "$verdict" = inconclusive ] || shows '.speedup > 1.3 and .speedup < 2.6'

# The same program twice: no function has changed.
run 0 "$SONDE" diff --force -f json -o diff.json a.sonde same.sonde
shows "$(row diff-functions function alpha) | .p > 0.001 and (.share_change | fabs) < 0.1"
verdict=$(jq -r .verdict diff.json)
case $verdict in
unchanged) shows '.speedup > 0.97 and .speedup < 1.03' ;;
inconclusive) ;;
*) # the machine was faster in one of the runs: the same work took the wall times another time
	shows ".speedup / ($(metric a.sonde timing.wall_time_s) / $(metric same.sonde timing.wall_time_s)) | . > 0.9 and . < 1.1" ;;
esac
run 0 "$SONDE" diff a.sonde same.sonde
has "$out" turn

# Recordings that cannot be compared are rejected, and so are files that are not recordings.
quietly other.sonde "$SONDE" record -q -o other.sonde -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
run 4 "$SONDE" diff --gate a.sonde other.sonde
has "$out" "different programs"
run 0 "$SONDE" diff a.sonde other.sonde
run 2 "$SONDE" diff a.sonde
run 2 "$SONDE" diff a.sonde b.sonde same.sonde
run 2 "$SONDE" diff -f svg a.sonde b.sonde
run 2 "$SONDE" diff --section functions a.sonde b.sonde
has "$err" "unknown section"
run 4 "$SONDE" diff --section diff-calltree a.sonde same.sonde -- b.sonde
has "$err" "compares two recordings"
run 0 "$SONDE" diff --section diff-calltree,diff -f json a.sonde b.sonde
equal "$(jq -c '[.sections[].id]' .out)" '["diff","diff-calltree"]'
run 0 "$SONDE" diff --section diff-zones a.sonde same.sonde -- b.sonde
lacks "$out" "Functions by"
run 4 "$SONDE" diff a.sonde nosuch.sonde
has "$err" "nosuch.sonde"
echo no >broken.sonde
run 4 "$SONDE" diff a.sonde broken.sonde
head -c $(($(stat -c %s a.sonde) * 2 / 3)) a.sonde >cut.sonde
run 0 "$SONDE" diff a.sonde cut.sonde
has "$out" "is incomplete"

# Several interleaved recordings per side: run against run.
for i in 1 2 3 4 5 6; do
	run 0 "$SONDE" record -q -o "short$i.sonde" -- "$shares" 5 10 80
	run 0 "$SONDE" record -q -o "long$i.sonde" -- "$shares" 5 20 80
done
code=0
"$SONDE" diff --gate --force -f json -o diff.json short*.sonde -- long*.sonde || code=$?
verdict=$(jq -r .verdict diff.json)
case $verdict in regressed) equal $code 1; decided=$((decided + 1)) ;; inconclusive) equal $code 3 ;; *) fail "$verdict, of more work" ;; esac
shows '.comparable == 1 and (.speedup | figure) < 0.8 and (.ci95_low | figure) <= .speedup and .ci95_high >= .speedup and .p > 0'
shows 'any(.notes[].text; test("one after the other")) | not'
shows "$(row diff metric wall) | .baseline_count == 6 and .candidate_count == 6 and (.baseline | figure) < .candidate"
shows "$(row diff-functions function beta) | .share_change > 0.06 and .share_change < 0.22 and (.p | figure) < 0.1"
shows "$(row diff-functions function alpha) | (.share_change | figure) < -0.06 and (.p | figure) < 0.1"
shows "$(row diff-iterations metric turn) | (.speedup | figure) < 0.8"
run 3 "$SONDE" diff --gate short1.sonde short2.sonde -- short3.sonde short4.sonde
has "$out" "use at least 6"
has "$out" "one after the other"
run 4 "$SONDE" diff --gate short1.sonde short2.sonde -- other.sonde
has "$out" "different programs"
run 4 "$SONDE" diff short1.sonde short1.sonde -- long1.sonde
has "$err" "is named twice"
cp short1.sonde copy.sonde
run 4 "$SONDE" diff short1.sonde copy.sonde -- long1.sonde
has "$err" "hold the same recording"
run 4 "$SONDE" diff short1.sonde -- long1.sonde long2.sonde long1.sonde
run 4 "$SONDE" diff short1.sonde short2.sonde -- long1.sonde nosuch.sonde
run 0 env COLUMNS=80 "$SONDE" diff short*.sonde -- long*.sonde
fits 80

# Zones: with one run per side there is no verdict.
known=$SONDE_BUILD/tests/targets/zones_known
if [ -x "$known" ]; then
	run 0 "$SONDE" record -q -o zones.sonde -- "$known" 60
	run 0 "$SONDE" diff --force -f json -o diff.json zones.sonde zones.sonde
	shows '.sections[] | select(.id == "diff-zones") | (.rows | length) > 0 and all(.rows[]; .verdict == null and
		.self_p == null and (.baseline_calls | figure) == .candidate_calls and (.baseline_total_ns | figure) == .candidate_total_ns)'
fi

[ $decided -gt 0 ] || fail "no comparison of 5 + 10 with 5 + 20 units came to a verdict"

# Results of sonde bench are compared if they are from the same machine.
run 0 "$SONDE" bench --json -r 6 -o few.json -- sleep 0.1
run 0 "$SONDE" bench --json -r 7 -o more.json --vs 'sleep 0.2' -- 'sleep 0.3'
run 1 "$SONDE" diff --gate --force -f json -o diff.json few.json more.json
shows '.verdict == "regressed" and .speedup > 0.2 and .speedup < 0.45 and .metric == "wall_s" and .comparable == 1'
shows "$(row diff metric wall) | .baseline_count == 6 and .candidate_count == 7 and .candidate >= 300000"
run 0 "$SONDE" bench --json -r 2 -o two.json -- true
run 3 "$SONDE" diff --gate two.json few.json
has "$out" "! 2 and 6 runs are too few for an interval: more would give one"
sed 's/"host.cpu": *"[^"]*"/"host.cpu": "another"/' more.json >elsewhere.json
run 4 "$SONDE" diff --gate few.json elsewhere.json
has "$out" "the processors differ"
sed 's/"sonde-bench"/"other"/' more.json >broken.json
run 4 "$SONDE" diff few.json broken.json
has "$err" "not a result of sonde bench"
head -c 300 more.json >broken.json
run 4 "$SONDE" diff few.json broken.json
has "$err" "broken.json: line"
run 4 "$SONDE" diff few.json a.sonde
run 4 "$SONDE" diff few.json more.json -- few.json

# The text fits in 80 columns.
run 0 env COLUMNS=80 "$SONDE" diff a.sonde b.sonde
matches "$out" '^ +[0-9.]+ ±[0-9.]+ % .* beta'
fits 80
