# ui-flame: time to redraw a flame graph of 100,000 frames, in headless Chromium with software rendering
source "$(dirname "$0")/lib.bash"

build=${BENCH_PROGRAMS%/bench} packages=$work/npm
figure="flame graph of 100,000 frames redrawn" bar="≤ 16 ms"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ] || [ ! -s "$build/web/page/app.js" ]; then
	unavailable "$figure" "–" "$bar" "chromium is not installed, or the build has no page"
	exit
fi
mkdir "$packages"
cp "$repo"/web/package*.json "$packages"
if ! (cd "$packages" && npm ci --ignore-scripts --no-audit --no-fund >&2); then
	unavailable "$figure" "–" "$bar" "npm ci failed"
	exit
fi
"$SONDE" record -q --force -o small.sonde -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done' >&2
"$SONDE" report -q -f html -o small.html small.sonde >&2
for ((i = 0; i < $(n 5 1); i++)); do
	SONDE_UI_PACKAGES=$packages node "$repo/bench/flame.mjs" "$browser" "$work/small.html" "$work" >measured
	while read -r tree how frames median late; do
		keep "$tree.$how" "$median"
		keep "$tree.late" "$late"
		keep "$tree.frames" "$frames"
	done <measured
done
for tree in bushy dense; do
	what="median of redraws; $(median $tree.frames) frames, $([ $tree = dense ] && echo "all as wide as half a pixel or more" || echo "of different sizes")"
	judge "$figure, $tree, under the pointer" "$tree.point" ms "–" "$bar" "<=" 16 "$what"
	judge "$figure, $tree, by the keyboard" "$tree.walk" ms "–" "$bar" "<=" 16 "$what"
	info "$figure, $tree, 99th percentile" "$tree.late" ms "–" "of 60 redraws, of either kind"
done
