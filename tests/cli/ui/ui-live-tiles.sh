# ui-live-tiles.sh: the timeline of a live run: the page's tile store requests only new tiles and keeps the others.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
told=$(target told)
printf 'export { decode } from "%s/web/src/tiles";\nexport * from "%s/web/src/timeline_store";\n' "$repo" "$repo" >store.ts
run 0 node "$packages/node_modules/esbuild/bin/esbuild" --bundle --format=esm --log-level=warning --outfile=store.mjs store.ts
ui_node live_tiles.mjs "$SONDE" "$told" "$work" "$work/store.mjs"
matches "$out" "[1-9][0-9]* times from the middle of a tile"
