# heap-snapshots.sh: heap snapshots through the API, a command, an interval, a signal, and at the end; comparisons
# with exact figures; the message if there are none; RSS over time. Also as an ordinary user.
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq
program=$(target snapshots)

# listed FILE FILTER: applied to the rows of the list of snapshots.
listed() {
	rows "$1" snapshots | jq -r "$2"
}
# changed SECTION KEY VALUE COLUMNS…: columns of the row in diff.json where KEY is VALUE.
changed() {
	jq -r --arg s "$1" --arg k "$2" --arg v "$3" --args \
		'[.sections[] | select(.id == $s).rows[] | select(.[$k] | tostring == $v)][0] as $r |
		 [$ARGS.positional[] as $c | $r[$c] | tostring] | join(" ")' "${@:4}" <diff.json
}
compare() {
	"$SONDE" report -q --json --diff "$2" "$1" >diff.json 2>"$work/.err" || fail "no comparison of $2"
}

# Three through the API: live blocks are exact, and so are their changes by function, line and size.
run 0 "$SONDE" record -q --heap=full -o a.sonde -- "$program" known
equal "$(listed a.sonde 'map("\(.number) \(.label) \(.reason) \(.live_b) \(.blocks)") | join(", ")')" \
	"1 first program 100000 100, 2 second program 210000 110, 3 third program 1135000 95, 4 end end 1135000 95"
equal "$(listed a.sonde 'map(.change_b // 0) | join(" ")')" "0 110000 925000 0"
holds "$(listed a.sonde '.[0].rss_b') > 100000"
# A part of the resident memory is shared, so PSS counts it in part. If the program ran on before PSS was read, it is
# missing.
shared_in_part() { # FILE ROW
	holds "$(listed "$1" ".[$2].pss_b") > 100000 && $(listed "$1" ".[$2].pss_b") < $(listed "$1" ".[$2].rss_b")" "$1, $2"
}
for row in 0 1 2; do
	[ "$(listed a.sonde ".[$row].pss_b")" = null ] || shared_in_part a.sonde $row
done
holds "$(listed a.sonde '.[1].time_ns') > $(listed a.sonde '.[0].time_ns')"
compare a.sonde first,third
columns=(from_b to_b change_b from_blocks to_blocks change_blocks)
equal "$(changed snapshot-functions function first "${columns[@]}")" "100000 60000 -40000 100 60 -40"
equal "$(changed snapshot-functions function second "${columns[@]}")" "0 75000 75000 0 25 25"
equal "$(changed snapshot-functions function third "${columns[@]}")" "0 1000000 1000000 0 10 10"
equal "$(jq -r '[.sections[] | select(.id == "snapshot-functions").rows[]][0].function' diff.json)" third # the largest change comes first
line=$(grep -n 'KEEP(3000)' "$repo/tests/targets/snapshots.c" | cut -d: -f1)
equal "$(changed snapshot-lines line "$line" function "${columns[@]}")" "second 0 75000 75000 0 25 25"
equal "$(changed snapshot-sizes from_size_b 512 "${columns[@]}")" "100000 60000 -40000 100 60 -40"
equal "$(changed snapshot-sizes from_size_b 65536 "${columns[@]}")" "0 1000000 1000000 0 10 10"
# Bytes per second refer to the time between the two snapshots.
seconds=$(listed a.sonde '(.[2].time_ns - .[0].time_ns) / 1e9')
near "$(changed snapshot-functions function third per_sec_b)" "1000000 / $seconds" "1000000 / $seconds / 1000"
# By number, and backwards.
compare a.sonde 3,2
equal "$(changed snapshot-functions function third "${columns[@]}")" "1000000 0 -1000000 10 0 -10"

# Blocks allocated and freed close to a snapshot are on the right side of it.
run 0 "$SONDE" record -q --heap=full -o tight.sonde -- "$program" tight 300
equal "$(listed tight.sonde '[.[] | select(.reason == "program")] | [range(length) as $i | .[$i] | select(.live_b != ($i + 1) * 1000 or .blocks != $i + 1)] | length')" 0
equal "$(listed tight.sonde length)" 301

# Also while other threads allocate: their events are in time order with the snapshot.
run 0 "$SONDE" record -q --heap=full -o threads.sonde -- "$program" threads 200
for number in 1 77 150 199; do
	compare threads.sonde "$number,200"
	equal "$(changed snapshot-functions function tight from_blocks to_blocks change_b)" "$number 200 $(((200 - number) * 1000))"
done

# Without hooks, and in a program that records itself: only RSS.
run 0 "$SONDE" record -q -o b.sonde -- "$program" known
run 0 env SONDE_OUT=self.sonde "$program" known
for file in b.sonde self*.sonde; do
	equal "$(listed $file 'map("\(.label) \(.live_b)") | join(", ")')" "first null, second null, third null"
	holds "$(listed $file '.[0].rss_b') > 100000"
done
# The RSS at that time, whoever reads the ring and when.
run 0 "$SONDE" record -q -o mapped.sonde -- "$program" mapped 20
run 0 env SONDE_OUT=mapped-self.sonde "$program" mapped 20
for file in mapped.sonde mapped-self*.sonde; do
	equal "$(listed $file 'map(.label) | unique | join(" ")')" "with without"
	equal "$(listed $file '. as $all | [range(0; length; 2) | $all[.].rss_b - $all[. + 1].rss_b | select(. > 60e6 and . < 70e6)] | length')" 20
done
run 1 "$program" known # nothing is recorded, and the program runs on

# waits FILE OPTIONS…: starts the program in the background, and waits until it holds its blocks.
waits() {
	rm -rf told
	mkdir -m 777 told
	"${as[@]}" "$SONDE" record -q --force -o "$@" -- "$program" waits "$work/told" &
	recorder=$!
	wait_for test -s told/pid
	pid=$(cat told/pid)
}
more() {
	"${as[@]}" touch told/more
	wait_for test ! -e told/more
}
ends() {
	touch told/stop
	wait $recorder || fail "the recording ended with $?"
}

# A program that executes another has two ends, of which the last one is used; blocks from before the exec are gone.
run 0 "$SONDE" record -q --heap=full --force -o a2.sonde -- sh -c 'exec "$0" known' "$program"
equal "$(listed a2.sonde '[.[] | select(.reason == "program") | .live_b] | join(" ")')" "100000 210000 1135000"
compare a2.sonde first,end
equal "$(jq '[.sections[] | select(.id == "snapshot-functions").rows[].from_b] | add' diff.json)" 100000
equal "$(jq '[.sections[] | select(.id == "snapshot-sizes").rows[].from_b] | add' diff.json)" 100000
equal "$(changed snapshot-functions function second "${columns[@]}")" "0 75000 75000 0 25 25"

# By a command, with the same figures in its output and in the recording; by a signal to the recorder; at an interval.
command_and_all() {
	waits "$work/c.sonde" --heap=full --snapshot-every 100ms --snapshot-signal
	run 0 "${as[@]}" "$SONDE" snapshot -p "$pid" --label 'before, all'
	matches "$out" '^snapshot [0-9]+ "before, all" at [0-9]+\.[0-9]{3} s: [0-9.]+ MB resident.*, 8\.39 MB live in 8 blocks$'
	number=$(sed -E 's/^snapshot ([0-9]+) .*/\1/' <<<"$out")
	more
	run 0 "${as[@]}" "$SONDE" snapshot -q -p "$pid" -l after
	equal "$out" ""
	kill -USR1 $recorder
	sleep 0.5
	ends
	equal "$(listed c.sonde ".[$number - 1].label")" "before, all"
	[ ! -r /proc/self/smaps_rollup ] || shared_in_part c.sonde $((number - 1)) # the process is idle
	equal "$(listed c.sonde '[.[] | select(.label == "signal 1")] | map("\(.reason) \(.live_b)") | join(",")')" "signal 12582912"
	holds "$(listed c.sonde '[.[] | select(.reason == "interval")] | length') >= 3"
	equal "$(listed c.sonde '[.[] | select(.reason == "interval")] | (map(.label) | unique | length) == length')" true
	compare c.sonde 'before, all,after'
	equal "$(changed snapshot-functions function more "${columns[@]}")" "0 4194304 4194304 0 4 4"
	equal "$(changed snapshot-functions function holds "${columns[@]}")" "8388608 8388608 0 8 8 0"
}
as=()
command_and_all
if [ "$(id -u)" -eq 0 ]; then
	chmod 777 "$work"
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/home")
	"${as[@]}" mkdir -p "$work/home"
	rm -f c.sonde
	command_and_all
	# A process of another user is not contacted; the message says so.
	waits "$work/c.sonde"
	run 1 "$SONDE" snapshot -p "$pid"
	has "$err" "belongs to user 65534"
	ends
	equal "$("$SONDE" report c.sonde | grep -c 'of other users' || true)" 0
	as=()
fi

# An attached process, whose environment names no recorder.
sleep 60 &
sleeper=$!
"$SONDE" record -q --force -o attached.sonde -p $sleeper &
recorder=$!
answered() {
	"$SONDE" snapshot -p $sleeper --label attached >told.txt
}
wait_for answered
matches "$(cat told.txt)" '^snapshot 1 "attached" at .* resident.*; allocations are not recorded$'
kill $sleeper
wait $recorder
{ wait $sleeper || true; } 2>/dev/null
equal "$(listed attached.sonde 'map("\(.label) \(.reason)") | join(",")')" "attached command"
# RSS is read in every recording, and shown on request.
equal "$(rows attached.sonde memory | jq -c "map(.pid == $sleeper and .rss_last_b > 100000)")" "[true]"
run 0 "$SONDE" report attached.sonde
lacks "$out" "Memory of processes"

# Without --snapshot-signal the signal goes to the command, like all others.
waits "$work/d.sonde"
kill -USR1 $recorder
code=0
{ wait $recorder || code=$?; } 2>/dev/null
equal $code $((128 + 10))

# A process that is not recorded, one that does not exist, and no process given.
sleep 60 &
run 1 "$SONDE" snapshot -p $!
has "$err" "is not being recorded"
kill $!
{ wait $! || true; } 2>/dev/null
run 1 "$SONDE" snapshot -p $!
has "$err" "no process $!"
run 2 "$SONDE" snapshot
has "$err" "-p PID"
run 2 "$SONDE" snapshot -p x

# An unknown snapshot is rejected with a list of those that exist.
run 2 "$SONDE" report --diff first,fourth a.sonde
has "$err" "no snapshot 'fourth'; the recording has 1 \"first\", 2 \"second\", 3 \"third\", 4 \"end\""
run 2 "$SONDE" report --diff first a.sonde
has "$err" "separated by a comma"
run 2 "$SONDE" report -f folded --diff 1,2 a.sonde
has "$err" "--diff works only with reports"
run 0 "$SONDE" record -q -o e.sonde -- true
run 2 "$SONDE" report --diff 1,2 e.sonde
has "$err" "the recording has no snapshots"
run 0 "$SONDE" report --section snapshots e.sonde
has "$out" "no snapshots"

# RSS over time: as often as requested and not more, next to live memory.
waits "$work/f.sonde" --heap=full --memory=20ms
sleep 0.5
more
sleep 0.3
ends
row() {
	rows f.sonde memory | jq -r ".[] | select(.pid == $pid) | .$1"
}
holds "$(row samples) >= 10"
holds "$(row interval_ns) >= 19000000 && $(row jitter_ns) >= 0 && $(row longest_ns) >= $(row interval_ns)"
holds "$(row rss_growth_b) > 4 * 1048576 - 1e6" # of more(); the first sample may come late
equal "$(row live_peak_b) $(row live_last_b)" "12582912 12582912"
equal "$(row overhead_last_b)" "$(($(row rss_last_b) - $(row live_last_b)))"
# The kernel counts pages in batches per CPU: both figures are exact to about 1 MB.
holds "$(row rss_peak_b) <= $(row peak_rss_b) + 2e6 && $(row rss_peak_b) >= $(row rss_last_b)"
holds "$(row rss_at_live_peak_b) >= $(row live_peak_b)"
run 0 "$SONDE" export -q -f chrome -o f.json f.sonde
equal "$(jq "[.traceEvents[] | select(.name == \"memory.rss\" and .ph == \"C\" and .pid == $pid)] | length" f.json)" "$(row samples)"
run 0 "$SONDE" report --section memory f.sonde
has "$(tr -s '\n ' ' ' <<<"$out")" "every 20 ms requested"
