# ui-lib.sh: shared by the tests of the page in a browser; sourced after lib.sh. Sets browser, page and packages.
# `ui_node SCRIPT ARGUMENT…` runs a script of tests/ui. `begin NAME FILE…` serves one or two recordings until the test
# ends, without a token (view.sh and ui.sh use one), with the address in NAME.url.
need node npm jq
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "chromium is not installed"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "node is older than 18"
page=$SONDE_BUILD/web/page
[ -s "$page/app.js" ] || skip "this build has no page (-Dweb)"

# The packages of web/package-lock.json, including those for tests, are kept in the build directory. Tests run in
# parallel.
packages=$SONDE_BUILD/web/test
mkdir -p "$packages"
exec {lock}>"$packages/lock"
flock "$lock"
if ! cmp -s "$repo/web/package-lock.json" "$packages/complete"; then
	cp "$repo"/web/package*.json "$packages"
	(cd "$packages" && npm ci --ignore-scripts --no-audit --no-fund) >said 2>&1 || skip "npm ci failed: $(grep -m 1 'npm error [^c]' said)"
	cp "$repo/web/package-lock.json" "$packages/complete"
fi
exec {lock}>&-
export SONDE_UI_PACKAGES=$packages

servers=()
at_exit() { for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done; }
begin() {
	"$SONDE" view -q -n --no-token --port 0 "${@:2}" >"$1.url" 2>"$1.said" &
	servers+=($!)
	wait_for grep -q http "$1.url"
}

ui_node() {
	local script=$1
	shift
	run 0 node "$repo/tests/ui/$script" "$@"
}
