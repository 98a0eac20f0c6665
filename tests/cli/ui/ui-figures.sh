# ui-figures.sh: the page formats figures and names as reports do: one table of values goes through
# src/export/text/figure.c and clean.c, and through web/src/figure.ts.
. "$(dirname "$0")/../lib.sh"
need node
esbuild=$SONDE_BUILD/web/npm/node_modules/esbuild/bin/esbuild
[ -e "$esbuild" ] || skip "this build has no page (-Dweb)"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
run 0 "$(target figures)"
mv .out written.json
run 0 node "$esbuild" "$repo/web/src/figure.ts" --bundle --format=esm --outfile=figure.mjs --log-level=warning
run 0 node "$repo/tests/ui/figures.mjs" "$work/figure.mjs" "$work/written.json"
matches "$out" '^6[0-9]{4} figures and names, 8[0-9]{5} escaped characters'
