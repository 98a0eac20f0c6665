# waits-namespaces.sh: a program in its own network namespace is recorded like any other: lock waits, I/O,
# allocations.
# measures: wait times, against the program's own
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq unshare
waits=$(target waits)
unshare -n true 2>/dev/null || skip "unshare -n is not allowed here (it needs root)"

said() {
	awk -v name="$1" '$1 == name { print $2 }' "$work/.out"
}

run 0 "$SONDE" record -q --threads --io --heap=full --force -o a.sonde -- unshare -n "$waits" convoy 40
locks=$(rows a.sonde locks | jq 'map({key: (.waits_in | split(" ")[0]), value: .}) | from_entries')
for which in outer inner; do
	near_time "$(jq ".with_$which.waited_ns" <<<"$locks")" "$(said ${which}_waited)" 0.05 "waited for the $which lock"
	near_time "$(jq ".with_$which.held_ns" <<<"$locks")" "$(said ${which}_held)" 0.05 "held the $which lock"
done
equal "$(rows a.sonde waits | jq '[.[] | select(.kind == "join") | .calls] | add')" 4
equal "$(rows a.sonde waits | jq '[.[] | select(.kind == "sleep") | .calls] | add')" 320

# The same allocations of the same functions as outside a namespace.
allocations() {
	rows a.sonde heap | jq -c '[.[] | select(.function | test("pthread_create")) | [.function, .allocations, .left_blocks, .allocated_b]]'
}
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- unshare -n "$waits" convoy 40
inside=$(allocations)
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$waits" convoy 40
equal "$inside" "$(allocations)"

# The same with another /tmp: the socket is reached through /proc.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- \
	unshare -nm sh -c 'mount --bind /dev/null "/tmp/$SONDE_SOCKET" && exec "$@"' sh "$waits" convoy 40
equal "$inside" "$(allocations)"

# Without a wait for a lock there are no rows; the advice to use --threads appears only if it was not used.
run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$waits" sleep 10
run 0 "$SONDE" report a.sonde --section locks
has "$out" "no lock contention"
run 0 "$SONDE" record -q --io --force -o a.sonde -- "$waits" uncontended 10
run 0 "$SONDE" report a.sonde --section locks
has "$out" "not recorded: waits for locks, time and tasks (record with --threads)"
