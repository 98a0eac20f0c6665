# ui.sh: the page in a browser: its types are sound, its figures are those of `sonde report` of the same recording, links and
# Back work, nobody else is asked for anything, it is accessible, and names of the target stay text; the same in one file.
# alone: a browser fills both processors
# timeout: 240
. "$(dirname "$0")/lib.sh"
need node npm jq
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "chromium is not installed"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
page=$SONDE_BUILD/web/page
[ -s "$page/app.js" ] || skip "this build has no page (-Dweb)"
known=$(target zones_known)
need_perf

# The packages of web/package-lock.json, with those that are for tests, are kept in the build.
packages=$SONDE_BUILD/web/test
mkdir -p "$packages"
if ! cmp -s "$repo/web/package-lock.json" "$packages/complete"; then
	cp "$repo"/web/package*.json "$packages"
	(cd "$packages" && npm ci --ignore-scripts --no-audit --no-fund) >said 2>&1 || skip "npm ci failed: $(grep -m 1 'npm error [^c]' said)"
	cp "$repo/web/package-lock.json" "$packages/complete"
fi
rm -rf "$packages/src"
cp -r "$repo/web/src" "$repo/web/tsconfig.json" "$packages"
(cd "$packages" && node node_modules/typescript/bin/tsc --noEmit -p .) >said 2>&1 || fail "types: $(cat said)"
[ "$(gzip -9c "$page/app.js" "$page/app.css" | wc -c)" -le 150000 ] || fail "the page is larger than 150 kB"
grep -rn 'innerHTML\|https\?://' "$repo/web/src" && fail "the page sets markup, or names a host"

strange='<script>document.title=1<script><img src=x onerror=alert(1)>'
cp "$known" "$strange"
run 0 "$SONDE" record -q --threads -o known.sonde -- "$known" 60
LD_LIBRARY_PATH=$SONDE_BUILD/src/runtime run 0 "$SONDE" record -q -o "$strange.sonde" -- "./$strange" 20

# begin NAME FILE: serves it; its address in NAME.url.
servers=()
trap 'for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done; rm -rf "$work"' EXIT
begin() {
	"$SONDE" view -q -n --port 0 "$2" >"$1.url" 2>"$1.said" &
	servers+=($!)
	wait_for grep -q http "$1.url"
}
begin one known.sonde
begin two "$strange.sonde"
addresses=("$(head -n 1 one.url)" "$(head -n 1 two.url)")
run 0 "$SONDE" report -q -f html -o known.html known.sonde
export SONDE_UI_PACKAGES=$packages SONDE_UI_FILE=$work/known.html
run 0 node "$repo/tests/ui/ui.mjs" "$SONDE" "$browser" "$page" "$work/known.sonde" "$work/$strange.sonde" "${addresses[@]}"
