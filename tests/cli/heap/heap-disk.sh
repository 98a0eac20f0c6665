# heap-disk.sh: recording every allocation while the disk fills up, the file may not grow, or the recorder is killed or
# out of memory: the program runs on, the report says what is missing, and the recorded events are an unbroken sequence
# from the start.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need jq prlimit
steps=$(target heap_steps)
count=1200000 # a chunk holds a million events, and a step is two events
said="^sonde record: .*\.sonde: cannot be written at byte [0-9]+: (No space left on device|File too large): what was written before can be read$"

# holds_steps FILE LEAST MOST: the recorded sums equal those of the program before or after some allocator call in the
# step that follows $recorded complete ones (a step is defined in tests/targets/heap_steps.c).
holds_steps() {
	local found
	found=$(rows "$1" heap | tee steps.json | jq -r '[.[] | select(.function == "steps")] | [(map(.allocations) | total),
		(map(.allocated_b) | total), (map(.left_blocks) | total), (map(.left_b) | total)] | join(" ")')
	equal "$found: $(awk -v found="$found" 'BEGIN {
		split(found, is, " ")
		for (x = 1; n < is[1]; n++) {
			place = int(x / 1048576) % 1000
			blocks += !(place in at)
			left += 1 + int(x / 65536) % 5000 - at[place]
			at[place] = 1 + int(x / 65536) % 5000
			all += at[place]
			x = (x * 69069 + 1) % 4294967296
		}
		place = int(x / 1048576) % 1000
		is_freed = place in at && is[3] == blocks - 1 && is[4] == left - at[place]
		print (is[2] == all + 0 && (is_freed || (is[3] == blocks + 0 && is[4] == left + 0))) ? "steps" : "none"
	}')" "$found: steps"
	recorded=${found%% *}
	holds "$recorded >= $2 && $recorded <= $3" "(steps in $1)"
}

# is_cut FILE: the report says that the recording is incomplete.
is_cut() {
	run 0 "$SONDE" report --section heap "$1"
	has "$out" "recording is incomplete: "
	lacks "$out" "these figures are exact"
}

# Both outputs go through a pipe, which has no size limit.
piped() {
	"$@" 2>&1 | cat
	return "${PIPESTATUS[0]}"
}

# spoiled FILE PREFIX…: there is space for the first chunk, but not for all.
spoiled() {
	local file=$1
	shift
	run 5 piped "$@" "$SONDE" record -q -F 1 --no-symbols --heap=full --force -o "$file" -- "$steps" $count
	matches "$out" "^done$"
	matches "$out" "$said"
	equal "$(wc -l <.out)" 2
	holds_steps "$file" 500000 1000000
	is_cut "$file"
}

# halted FILE: records into it until step 600,000, with the recorder's pid in $recorder; the program goes on when the
# file `go` is removed.
halted() {
	"$SONDE" record -q -F 1 --no-symbols --heap=full --force -o "$1" -- "$steps" $count 600000 go >.out 2>.err </dev/null &
	recorder=$!
	wait_for [ -e go ]
}

# ends CODE: waits for the recorder.
ends() {
	local code=0
	wait "$recorder" || code=$?
	equal $code "$1"
}

run 5 "$SONDE" record -q -F 1 --heap=full -o whole.sonde -- "$steps" $count
holds_steps whole.sonde $count $count
run 0 "$SONDE" report --section heap whole.sonde
has "$out" "these figures are exact"

# The limit also applies to rings.
run 5 bash -c 'ulimit -f 3000; exec "$@"' 0 "$SONDE" record -q -F 1 --no-symbols --heap=full -o a.sonde -- "$steps" $count
equal "$out" "done"
holds_steps a.sonde 0 0
run 0 "$SONDE" report --section heap a.sonde
matches "$out" "^! heap: 1 lost: processes .*: File too large"
lacks "$out" "these figures are exact"

halted late.sonde
prlimit --pid $recorder --fsize=3000000:3000000
rm go
ends 5
matches "$(cat .err)" "$said"
holds_steps late.sonde 500000 1000000
is_cut late.sonde

if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=3m none full 2>said; then
	at_exit() { umount "$work/full" 2>/dev/null; }
	spoiled full/a.sonde
	rm full/a.sonde
	mount -o remount,size=8m full
	halted full/a.sonde
	head -c 8m /dev/zero >full/filling 2>/dev/null || true
	rm go
	ends 5
	matches "$(cat .err)" "$said"
	holds_steps full/a.sonde 0 1000000
	is_cut full/a.sonde
	rm full/*

	# No space for the first chunk.
	mount -o remount,size=64k full
	run 5 "$SONDE" record -q -F 1 --no-symbols --heap=full -o full/a.sonde -- "$steps" $count
	matches "$err" "$said"
	holds_steps full/a.sonde 0 0
	is_cut full/a.sonde
	has "$out" "no allocation was written before the recording broke off"
	umount full
	at_exit() { :; }
else
	echo "not root, or tmpfs cannot be mounted: no full disk"
fi

# A recorder that is killed: everything older than a few seconds is recorded.
halted killed.sonde
sleep 7
kill -KILL $recorder
rm go
ends 137
holds_steps killed.sonde 600000 600000
is_cut killed.sonde

# A recorder that runs out of memory.
if ! grep -q fsanitize "$SONDE_BUILD/compile_commands.json"; then
	partly=0
	for limit in 30000 100000 140000 150000 155000 160000 162000 165000 1000000; do
		run 5 bash -c 'ulimit -S -v "$1"; exec "${@:2}"' 0 $limit "$SONDE" record -q -F 1 --no-symbols --heap=full --force \
			-o a.sonde -- bash -c 'ulimit -S -v unlimited; exec "$@"' 0 "$steps" $count
		equal "$out" "done"
		holds_steps a.sonde 0 $count
		[ "$recorded" -ne $count ] || continue
		partly=$((partly + 1))
		run 0 "$SONDE" report --section heap a.sonde
		matches "$out" "^! heap: [0-9]+ lost: .*([Nn]o memory|Cannot allocate memory)"
		lacks "$out" "these figures are exact"
	done
	equal "$recorded" $count # with the last limit
	[ $partly -gt 0 ] || fail "none of these limits was reached"
fi
