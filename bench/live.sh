# live: the overhead of watching an idle run, by CPU time of server, recorder and browser page
source "$(dirname "$0")/lib.bash"

build=${BENCH_PROGRAMS%/bench} packages=$work/npm
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
figure="a live page of a program that sleeps" bar="≤ 1 % of a core"
seconds=$(n 30 10)
ticks=$(getconf CLK_TCK)

# spent PID…: CPU seconds of these processes together.
spent() {
	local pid
	for pid; do
		sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null || true
	done | awk -v ticks="$ticks" '{ all += $12 + $13 } END { printf "%.6f", all / ticks }'
}

# family PID: the process and its descendants.
family() {
	local pid
	echo "$1"
	for pid in $(pgrep -P "$1" || true); do
		family "$pid"
	done
}

"$SONDE" live -q --no-open --port 0 -f -o idle.sonde -- sleep 600 2>said &
server=$!
echo $server >server.pid
for ((i = 0; i < 100; i++)); do
	grep -q '^http' said && break
	sleep 0.1
done
url=$(grep -m 1 '^http' said)
recorder=$(pgrep -P $server)

# over KEY PID…: CPU use in percent of a core, over some seconds.
over() {
	local key=$1 before
	shift
	before=$(spent "$@")
	sleep "$seconds"
	keep "$key" "$(calc "100 * ($(spent "$@") - $before) / $seconds")"
}

over alone.recorder "$recorder"
judge "$figure: recording, no page open" alone.recorder % "–" "$bar" "<=" 1

curl -sN "${url}api/events" >events &
echo $! >reader.pid
sleep 2
before=($(spent $server) $(spent "$recorder"))
sleep "$seconds"
keep told.server "$(calc "100 * ($(spent $server) - ${before[0]}) / $seconds")"
judge "$figure: serving its events" told.server % "–" "$bar" "<=" 1 "$(grep -c '^data:' events) events in $((seconds + 2)) s"
kill "$(cat reader.pid)"
rm reader.pid

if [ -z "$browser" ] || [ ! -s "$build/web/page/app.js" ]; then
	unavailable "$figure: all of it" "–" "$bar" "chromium is not installed, or the build has no page"
	exit
fi
mkdir "$packages"
cp "$repo"/web/package*.json "$packages"
if ! (cd "$packages" && npm ci --ignore-scripts --no-audit --no-fund >&2); then
	unavailable "$figure: all of it" "–" "$bar" "npm ci failed"
	exit
fi
for page in overview zones functions timeline; do
	SONDE_UI_PACKAGES=$packages node "$repo/bench/live.mjs" "$browser" "$url#/$page" $((seconds + 12)) >shown &
	shower=$!
	for ((i = 0; i < 200; i++)); do
		grep -q shown shown && break
		sleep 0.1
	done
	sleep 5 # the page has been drawn, and what it costs is what it costs later
	mapfile -t pages < <(family $shower)
	before=($(spent $server) $(spent "$recorder") $(spent "${pages[@]}"))
	sleep "$seconds"
	after=($(spent $server) $(spent "$recorder") $(spent "${pages[@]}"))
	wait $shower || true
	keep $page.server "$(calc "100 * (${after[0]} - ${before[0]}) / $seconds")"
	keep $page.recorder "$(calc "100 * (${after[1]} - ${before[1]}) / $seconds")"
	keep $page.browser "$(calc "100 * (${after[2]} - ${before[2]}) / $seconds")"
	keep $page.ours "$(calc "100 * (${after[0]} + ${after[1]} - ${before[0]} - ${before[1]}) / $seconds")"
	judge "$figure: sonde, $page in view" $page.ours % "–" "$bar" "<=" 1 "serving $(text $page.server %), recording $(text $page.recorder %)"
	info "$figure: the browser, $page in view" $page.browser % "–" "all processes of a headless Chromium"
done
