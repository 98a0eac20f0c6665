# view-changed.sh: a recording that is truncated, rewritten or replaced while it is served gets an error instead of
# figures, even for cached answers; one that is renamed or removed is still served, because it is open.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need curl jq
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION
known=$(target zones_known)
pid=
at_exit() { [ -z "$pid" ] || kill -9 $pid 2>/dev/null; }

# serve FILE…: serves copies of kept.sonde under these names.
serve() {
	[ -z "$pid" ] || { kill $pid && wait $pid; }
	local one
	for one; do cp kept.sonde "$one"; done
	: >.url
	"$SONDE" view -q --no-token --no-open --port 0 "$@" >.url 2>.view &
	pid=$!
	wait_for grep -q http .url
	url=$(head -n 1 .url) url=${url%/}
}
get() {
	curl -s -g -o .out -w '%{http_code}' "$url$1"
}
# tells TARGET WORDS: an error that names the file, what happened to it, and what to do.
tells() {
	equal "$(get "$1")" 500
	has "$(jq -r .error .out)" "$2"
	has "$(jq -r .error .out)" "sonde view"
}

run 0 "$SONDE" record -q -o kept.sonde -- "$known" 50
summary='/api/report?section=summary' zones='/api/report?section=zones'

serve app.sonde
equal "$(get $summary)" 200
truncate -s 1000 app.sonde
tells $summary "app.sonde: it was cut from"
tells $zones "app.sonde: it was cut from"
tells /api/recording "to 1000 bytes"
tells '/api/lanes' "app.sonde"
equal "$(get /)" 200
equal "$(get '/api/report?section=nothing')" 400

serve app.sonde
equal "$(get $summary)" 200
printf x | dd of=app.sonde bs=1 seek=900 conv=notrunc status=none
tells $summary "app.sonde: it was rewritten"

serve app.sonde
equal "$(get $summary)" 200
cp .out before
cp kept.sonde other.sonde
mv other.sonde app.sonde
tells $summary "app.sonde: another file has replaced it"
tells $zones "app.sonde: another file has replaced it"

serve app.sonde
mv app.sonde elsewhere.sonde
equal "$(get $summary)" 200
cmp .out before || fail "not what it was before it was renamed"
rm elsewhere.sonde
equal "$(get $zones)" 200

# With two recordings only the affected one fails; a comparison needs both.
serve a.sonde b.sonde
truncate -s 1000 b.sonde
equal "$(get $summary)" 200
tells "$summary&run=b" "b.sonde: it was cut from"
tells '/api/diff?section=diff' "b.sonde: it was cut from"
