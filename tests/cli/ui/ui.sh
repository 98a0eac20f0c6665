# ui.sh: the page in a browser, served and in one file: its code type-checks, its figures equal `sonde report`, links
# and Back work, it makes no requests to other hosts, it is accessible, and names from the target stay text.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
. "$repo/tests/cli/ui-lib.sh"
known=$(target zones_known)
need_perf

rm -rf "$packages/src"
cp -r "$repo/web/src" "$repo/web/tsconfig.json" "$packages"
(cd "$packages" && node node_modules/typescript/bin/tsc --noEmit -p .) >said 2>&1 || fail "types: $(cat said)"
[ "$(gzip -9c "$page/app.js" "$page/app.css" | wc -c)" -le 150000 ] || fail "the page is larger than 150 kB"
grep -rn 'innerHTML\|https\?://' "$repo/web/src" && fail "the page sets markup, or names a host"

strange='<script>document.title=1<script><img src=x onerror=alert(1)>'
cp "$known" "$strange"
run 0 "$SONDE" record -q --threads -o known.sonde -- "$known" 60
LD_LIBRARY_PATH=$SONDE_BUILD/src/runtime run 0 "$SONDE" record -q -o "$strange.sonde" -- "./$strange" 20

begin one known.sonde
begin two "$strange.sonde"
addresses=("$(head -n 1 one.url)" "$(head -n 1 two.url)")
run 0 "$SONDE" report -q -f html -o known.html known.sonde
export SONDE_UI_FILE=$work/known.html
ui_node ui.mjs "$SONDE" "$browser" "$page" "$work/known.sonde" "$work/$strange.sonde" "${addresses[@]}"
