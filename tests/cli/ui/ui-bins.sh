# ui-bins.sh: a page without a server merges timeline bins as the server does: random tracks go through
# src/tiles/bins.c and through web/src/tiles_fold.ts.
. "$(dirname "$0")/../lib.sh"
need node
esbuild=$SONDE_BUILD/web/npm/node_modules/esbuild/bin/esbuild
[ -e "$esbuild" ] || skip "this build has no page (-Dweb)"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
run 0 "$(target bins)" lanes.sonde
mv .out bins.json
run 0 node "$esbuild" "$repo/web/src/tiles_fold.ts" --bundle --format=esm --outfile=fold.mjs --log-level=warning
run 0 node "$repo/tests/ui/bins.mjs" "$work/fold.mjs" "$work/bins.json"
matches "$out" '^[0-9]{4,} bins are alike, of which [0-9]{4,} are of several slices'
