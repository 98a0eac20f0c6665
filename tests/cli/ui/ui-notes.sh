# ui-notes.sh: where a note names command-line options, the page suggests clicks instead: every kind of action that a
# report can have goes through web/src/said.ts.
. "$(dirname "$0")/../lib.sh"
need node
esbuild=$SONDE_BUILD/web/npm/node_modules/esbuild/bin/esbuild
[ -e "$esbuild" ] || skip "this build has no page (-Dweb)"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
run 0 node "$esbuild" "$repo/web/src/said.ts" --bundle --format=esm --outfile=said.mjs --log-level=warning
for file in sampled heap waits; do
	"$SONDE" report -q --json --section callers,heap,waits,energy "$repo/tests/golden/$file.sonde" > "$file.json"
done
run 0 node "$repo/tests/ui/notes.mjs" "$work/said.mjs" "$repo/tests/validate/report.schema.json" sampled.json heap.json waits.json
matches "$out" '^8 kinds of advice, [0-9]+ notes with advice in reports$'
