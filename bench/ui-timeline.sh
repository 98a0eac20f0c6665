# ui-timeline: how soon a timeline of millions of zones appears, and how smoothly it moves, in headless Chromium with software rendering
source "$(dirname "$0")/lib.bash"

build=${BENCH_PROGRAMS%/bench} packages=$work/npm
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
figure="timeline of 10 M zone events" bar="≤ 1 s"
if [ -z "$browser" ] || [ ! -s "$build/web/page/app.js" ]; then
	unavailable "$figure opens" "–" "$bar" "chromium is not installed, or the build has no page"
	exit
fi
mkdir "$packages"
cp "$repo"/web/package*.json "$packages"
if ! (cd "$packages" && npm ci --ignore-scripts --no-audit --no-fund >&2); then
	unavailable "$figure opens" "–" "$bar" "npm ci failed"
	exit
fi
export SONDE_UI_PACKAGES=$packages
rounds=$(n 5 1)

# look KEY ADDRESS: keeps what timeline.mjs prints.
look() {
	local key=$1 what first second
	node "$repo/bench/timeline.mjs" "$browser" "$2" >measured
	while read -r what first second _; do
		keep "$key.$what" "$first"
		[ -z "$second" ] || keep "$key.$what.late" "$second"
	done <measured
}

# of NAME ZONES-PER-THREAD: records four threads; each zone has a begin and an end.
of() {
	"$SONDE" record -q -f --on-full block -o "$1.sonde" -- "$programs/streams" nested "$2" 4 >&2
}

# serve NAME: starts a server; its address is in $address. Each run has a new server, so that the first request is
# measured, too.
serve() {
	"$SONDE" view -q -n --port 0 "$1.sonde" >"$1.url" &
	echo $! >server.pid
	local tries
	for ((tries = 0; tries < 100; tries++)); do
		grep -q http "$1.url" && break
		sleep 0.1
	done
	address=$(head -n 1 "$1.url")
}

say "recording"
of ten "$(n 1250000 125000)"
of one "$(n 125000 12500)"
"$SONDE" report -q -f html -o one.html one.sonde >&2
keep file "$(calc "$(stat -c %s one.html) / 1e6")"
for ((i = 0; i < rounds; i++)); do
	serve ten
	look ten "$address"
	end "$(cat server.pid)"
	look one "file://$work/one.html"
done
why="four threads, 8 depths; from the address to a complete picture"
judge "$figure opens" ten.open ms "–" "$bar" "<=" 1000 "$why"
for how in zoom pan; do
	judge "$figure, a frame of a $how" "ten.$how" ms "–" "≤ 16 ms" "<=" 16 "median of 240 frames"
	judge "$figure, a frame of a $how, 99th percentile" "ten.$how.late" ms "–" "≤ 33 ms" "<=" 33 "of 240 frames"
done
info "$figure, from one frame to the next" ten.late ms "–" "60 Hz is 16.7 ms"
judge "$figure, heap of the page" ten.heap MB "–" "≤ 300 MB" "<=" 300 "with its arrays, when all was done"
judge "report in one file, 1 M zone events" file MB "–" "≤ 6 MB" "<=" 6 "the page, all sections and every zone"
judge "report in one file, 1 M zone events, opens on the timeline" one.open ms "–" "≤ 1 s" "<=" 1000 "$why"

if [ "$BENCH_QUICK" != 1 ]; then
	of hundred 12500000
	for ((i = 0; i < 3; i++)); do
		serve hundred
		look hundred "$address"
		end "$(cat server.pid)"
	done
	judge "timeline of 100 M zone events opens" hundred.open ms "–" "≤ 2 s" "<=" 2000 "$why"
fi
