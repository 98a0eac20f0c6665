# ui-timeline.sh: the timeline in a browser: keys, wheel, drag, search and Back work, figures equal `sonde report`, a
# selected range filters the other pages, names stay text; the page merges bins as the server does, and a report in
# one file has the same timeline.
# measures: times in the page
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
known=$(target zones_known)
need_perf

run 0 "$SONDE" record -q --threads -o known.sonde -- "$known" 60
begin known known.sonde
run 0 "$SONDE" report -q -f html -o known.html known.sonde

# The page's own code for reading and merging tiles, for the comparison.
printf 'export { decode } from "%s/web/src/tiles";\nexport { Fold } from "%s/web/src/tiles_fold";\n' "$repo" "$repo" >fold.ts
run 0 node "$packages/node_modules/esbuild/bin/esbuild" --bundle --format=esm --log-level=warning --outfile=fold.mjs fold.ts
ui_node timeline.mjs "$SONDE" "$browser" "$work/known.sonde" "$(head -n 1 known.url)" "$work/fold.mjs" "$work/known.html"
