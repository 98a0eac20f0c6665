# user-namespaces.sh: programs in user namespaces (rootless containers) are recorded like any other, by root and by an
# ordinary user: lock waits, file calls, allocations. Whatever separates such a program from the recorder is reported.
# measures: wait times, against the program's own
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq unshare
waits=$(target waits)
chmod 755 .
as_user unshare -Ur true 2>/dev/null || skip "user namespaces are not allowed here"
mkdir user
[ "$(id -u)" -ne 0 ] || chown 65534:65534 user
directory=$work

as_who() { # root or user
	if [ "$1" = root ]; then "${@:2}"; else as_user "${@:2}"; fi
}
said() {
	awk -v name="$1" '$1 == name { print $2 }' "$directory/.out"
}
calls() {
	rows user/a.sonde waits | jq --arg k "$1" '[.[] | select(.kind == $k) | .calls] | add'
}
allocations() {
	rows user/a.sonde heap | jq -c '[.[] | select(.function | test("pthread_create")) | [.function, .allocations, .left_blocks, .allocated_b]]'
}
record() { # WHO OPTIONS… -- COMMAND…
	rm -f user/a.sonde
	run 0 as_who "$1" "$SONDE" record -q -o user/a.sonde "${@:2}"
}

users=(user)
[ "$(id -u)" -ne 0 ] || users=(root user)
for who in "${users[@]}"; do
	record "$who" --heap=full -- "$waits" convoy 10
	outside=$(allocations)
	for how in "-Ur" "-U" "-Urn" "-Urmpf --mount-proc" "-Urnmpf --mount-proc"; do
		# shellcheck disable=SC2086
		record "$who" --threads --io --heap=full -- unshare $how "$waits" convoy 40
		locks=$(rows user/a.sonde locks | jq 'map({key: (.waits_in | split(" ")[0]), value: .}) | from_entries')
		for which in outer inner; do
			near_time "$(jq ".with_$which.waited_ns" <<<"$locks")" "$(said ${which}_waited)" 0.05 "$who, unshare $how: waited for the $which lock"
			near_time "$(jq ".with_$which.held_ns" <<<"$locks")" "$(said ${which}_held)" 0.05 "$who, unshare $how: held the $which lock"
		done
		equal "$how: $(calls join)" "$how: 4"
		case $how in *p*) others=1 ;; *) others=0 ;; esac # the process that created the pid namespace
		equal "$how: $(rows user/a.sonde threads | jq length) threads" "$how: $((5 + others)) threads"
		# The thread that held a lock is known by its id in its own namespace.
		run 0 "$SONDE" export -f chrome -o a.json --force user/a.sonde
		arrows=$(jq '[.traceEvents[] | select(.ph == "s" and .name == "unlock")] | length' a.json)
		holds "$arrows >= 0.9 * $(jq '[.[].waits] | add' <<<"$locks")" "($who, unshare $how: arrows of unlocking)"
		equal "$how: $(calls sleep)" "$how: 320"
		run 0 "$SONDE" report user/a.sonde
		lacks "$out" "not recorded"
	done
	record "$who" --heap=full -- unshare -Urn "$waits" convoy 10
	equal "$(allocations)" "$outside"
	# CPU time through timers inside the processes, too.
	record "$who" --no-perf -- unshare -Urnmpf --mount-proc "$(target split)" 0.5
	holds "$(share user/a.sonde total_share alpha) > 40"
done

# If nobody may create a file in /tmp, the socket is elsewhere.
closed='mount --rbind /tmp /tmp && cd . && mount --bind user user && mount -o remount,bind,ro /tmp && exec "$@"'
run 0 as_who user unshare -Urm sh -c "cd / && cd '$directory' && $closed" sh \
	"$SONDE" record -q --force -o user/a.sonde --threads -- unshare -Urn bash -c 'ls {/tmp,/var/tmp,/dev/shm}/"$SONDE_SOCKET" 2>/dev/null; exec "$@"' bash "$waits" convoy 10
matches "$out" "^(/var/tmp|/dev/shm)/sonde-"
equal "$(calls join)" 4

# A program that cannot reach the recorder is polled from outside, and the report says so.
hidden='for socket in {/tmp,/var/tmp,/dev/shm}/"$SONDE_SOCKET"; do [ ! -S "$socket" ] || mount --bind /dev/null "$socket"; done; exec "$@"'
record user --threads --heap=full -- unshare -Urnm bash -c "$hidden" sh "$waits" convoy 80
run 0 "$SONDE" report user/a.sonde --section locks
matches "$out" '^! waits: .*1 process.* not recorded: in namespaces of their own'
matches "$out" '^! heap: .*1 process.* not recorded: in namespaces of their own'
has "$out" "polls found a thread waiting"
has "$out" inner_lock
lacks "$out" "no lock contention"

# Nor does it trust a recorder whose user its namespace does not map.
if [ "$(id -u)" -eq 0 ]; then
	record root --threads -- setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Ur "$waits" convoy 80
	run 0 "$SONDE" report user/a.sonde --section locks
	matches "$out" '^! waits: .*1 process.* not recorded: in namespaces of their own'
	has "$out" "polls found a thread waiting"
fi

# The socket's path is removed with the recorder, or by the next one that starts a minute later.
record user -- bash -c 'ls {/tmp,/var/tmp,/dev/shm}/"$SONDE_SOCKET" 2>/dev/null || true'
case $out in /tmp/* | /var/tmp/* | /dev/shm/*) ;; *) fail "no socket where it is looked for: '$out'" ;; esac
[ ! -e "$out" ] || fail "$out is left"
as_user "$SONDE" record -q -o user/b.sonde -- bash -c 'ls {/tmp,/var/tmp,/dev/shm}/"$SONDE_SOCKET" >user/name.new 2>/dev/null; mv user/name.new user/name; until [ -e user/over ]; do sleep 0.05; done' &
wait_for test -e user/name
left=$(cat user/name)
recorder=${left%.*}
kill -KILL "${recorder##*.}"
touch user/over
{ wait || true; } 2>/dev/null
[ -S "$left" ] || fail "$left is gone: nothing is tested"
record user -- true
[ -S "$left" ] || fail "$left was removed within a minute"
touch -d "2 minutes ago" "$left"
record user -- true
[ ! -e "$left" ] || fail "$left was not removed"
