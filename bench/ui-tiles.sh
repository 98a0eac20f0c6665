# ui-tiles: the timeline of 10 M and 100 M zone events: time from `sonde view` to all tracks, tiles while panning and zooming, memory
source "$(dirname "$0")/lib.bash"

# The server's side: what a browser waits for. Lanes of two threads, up to 8 deep.
small=$(n 10000000 1000000)
large=$(n 100000000 4000000)
rounds=$(n 5 2)

# serve FILE: starts `sonde view`; its pid in view.pid, its address in $address.
serve() {
	: >view.out
	"$SONDE" view --no-open --port 0 "$1" >view.out &
	echo $! >view.pid
	until address=$(grep -o 'http://127.0.0.1:[0-9]*' view.out); do
		kill -0 "$(cat view.pid)" || return 1
		sleep 0.002
	done
}

stop() {
	end "$(cat view.pid)"
	wait "$(cat view.pid)" || true
	rm view.pid
}

# ask KEY MOVES: sends requests like a page, over one connection; keeps KEY.quick and KEY.whole in ms: tiles of all
# lanes of zones at 2000 pixels, at MOVES positions at each of 9 scales, first with a time limit and then complete.
ask() {
	python3 - "$address" "$2" "$work/series.$1" <<-'PYTHON'
		import http.client, json, random, sys, time
		from urllib.parse import urlparse

		address, moves, series = sys.argv[1], int(sys.argv[2]), sys.argv[3]
		connection = http.client.HTTPConnection(urlparse(address).netloc)

		def get(path):
		    begun = time.perf_counter()
		    connection.request("GET", path)
		    answer = connection.getresponse()
		    body = answer.read()
		    assert answer.status == 200, body
		    return body, 1e3 * (time.perf_counter() - begun)

		lanes = json.loads(get("/api/lanes")[0])
		ids = ",".join(str(lane["id"]) for lane in lanes["lanes"] if lane["kind"] == "zones")
		random.seed(1)
		places = []
		for zoom in [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536]:
		    for _ in range(moves):
		        length = lanes["duration_ns"] / zoom
		        start = random.random() * (lanes["duration_ns"] - length)
		        places.append((int(start), int(start + length) + 1))
		for name, more in (("quick", "&quick=1"), ("whole", "")):
		    with open(f"{series}.{name}", "a") as out:
		        for start, end in places:
		            _, ms = get(f"/api/tiles?lanes={ids}&from={start}&to={end}&width=2000{more}")
		            out.write(f"{ms:.3f}\n")
	PYTHON
}

# A page: all lanes, then all of them over the whole time.
open_page() {
	serve "$1"
	curl -sf "$address/api/lanes" >lanes.json
	local ids
	ids=$(grep -o '"id":[0-9]*' lanes.json | cut -d : -f 2 | paste -sd ,)
	curl -sf "$address/api/tiles?lanes=$ids&width=2000&quick=1" >tiles.bin
}

percentile() { # KEY SHARE
	sort -g "$work/series.$1" | awk -v p="$2" '{ v[NR] = $1 } END { i = int(NR * p + 0.999999); print v[i < 1 ? 1 : i] }'
}

for size in small large; do
	events=${!size}
	title="$((events / 1000000)) M zone events"
	say "$title: recording them"
	"$SONDE" record -q -f -F 1 --no-symbols --on-full block -o zones.sonde -- "$programs/streams" nested $((events / 4)) 2 >&2
	there=$(metric zones.sonde zones.count)
	for ((i = 0; i < rounds; i++)); do
		say "$title, round $((i + 1)) of $rounds"
		begun=$(date +%s%N)
		open_page zones.sonde
		keep $size.open "$(calc "($(date +%s%N) - $begun) / 1e9")"
		ask $size "$(n 20 5)"
		keep $size.memory "$(awk '/VmHWM/ { print $2 / 1024 }' "/proc/$(cat view.pid)/status")"
		stop
	done
	keep $size.last "$(percentile $size.quick 0.99)"
	limit=1
	[ $size = large ] && limit=2
	judge "server ready, $title" $size.open s "–" "≤ $limit s" "<=" $limit "the program, all tracks, and all of them over the whole run; $there zones in $(calc "$(stat -c %s zones.sonde) / 1e6") MB"
	judge "a tile, $title" $size.quick ms "–" "≤ 5 ms" "<=" 5 "all tracks of zones, 2000 pixels, 9 scales; data not yet decoded may be coarse"
	judge "a tile, $title: 99th percentile" $size.last ms "–" "≤ 5 ms" "<=" 5
	info "a tile, $title: full detail" $size.whole ms "–"
	info "memory of the server, $title" $size.memory MB "–" "bounded: 256 MB of decoded zones, 40 B for 256 others"
	rm zones.sonde
done
