# waits.sh: where threads wait and for which locks, as the program itself measured it: a convoy of two locks, a semaphore,
# a condition, readers, a barrier, sleeping; results of all calls are what they are without us.
# timeout: 120
. "$(dirname "$0")/lib.sh"
need jq
waits=$(target waits)

# record MODE…: what the program said is in $out, the recording in a.sonde.
record() {
	run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$waits" "$@"
}
said() {
	awk -v name="$1" '$1 == name { print $2 }' "$work/.out"
}
column() { # SECTION COLUMN FILTER: the sum of the rows that the filter leaves
	rows a.sonde "$1" | jq -r "[.[] | select($3) | .$2 // 0] | add // 0"
}
# near MEASURED KNOWN SHARE WHAT
near() {
	awk -v a="$1" -v b="$2" -v share="$3" 'BEGIN { d = a > b ? a - b : b - a; exit !(d <= share * b + 200000) }' ||
		fail "$4: $1, the program measured $2"
}

# Two locks, held 3 ms and 1 ms at a time by four threads: waits and holds within 5 %.
record convoy 20
locks=$(rows a.sonde locks)
equal "$(jq length <<<"$locks")" 2
near "$(jq '.[0].waited_ns' <<<"$locks")" "$(said outer_waited)" 0.05 "waited for the outer lock"
near "$(jq '.[1].waited_ns' <<<"$locks")" "$(said inner_waited)" 0.05 "waited for the inner lock"
equal "$(jq '.[0].waiters' <<<"$locks")" 4
has "$(jq -r '.[0].waits_in' <<<"$locks")" with_outer
has "$(jq -r '.[0].held_in' <<<"$locks")" with_outer
has "$(jq -r '.[1].held_in' <<<"$locks")" with_inner
# Nearly all of the time somebody waits; what is not seen is the holding before the first waiter came.
near "$(jq '.[0].held_ns' <<<"$locks")" "$(said outer_held)" 0.1 "the outer lock was held"
[ "$(jq '.[0].held_mean_ns' <<<"$locks")" -ge 3000000 ] || fail "held for 3 ms at least"
equal "$(column waits calls '.kind == "join"')" 4
[ "$(column waits calls '.kind == "sleep"')" -eq 160 ] || fail "160 rests"

record semaphore 50
near "$(column waits total_ns '.kind == "semaphore"')" "$(said waited)" 0.05 "waited for the semaphore"
has "$(rows a.sonde locks | jq -r '.[0].waits_in')" consume

record condition 50
near "$(column waits total_ns '.kind == "condition"')" "$(said waited)" 0.05 "waited for the condition"
equal "$(column waits calls '.kind == "condition"')" "$(said calls)"

record readers 30
near "$(column waits total_ns '.kind == "read lock"')" "$(said waited)" 0.05 "waited to read"

record sleep 20
near "$(column waits total_ns '.kind == "sleep"')" "$(said waited)" 0.02 "slept"
equal "$(column waits calls '.kind == "sleep"')" 20
equal "$(rows a.sonde waits | jq -r '.[0].function')" rest

record barrier 100
equal "$(column waits calls '.kind == "barrier"')" "$(said calls)"

# A lock that nobody waits for has no row.
record uncontended 100
equal "$(column waits calls '.kind == "mutex"')" 0

# A forked child's waits are its own.
record fork 10
equal "$(awk '/^child/ { print $2 }' .out)" 0
equal "$(rows a.sonde processes | jq length)" 2
near "$(column locks waited_ns true)" "$(($(said outer_waited) + $(said inner_waited) + $(said parent_waited)))" 0.05 \
	"parent and child"

# Every result, and what cancelled threads leave, is what it is without us.
for mode in results robust cancel; do
	plain=$("$waits" "$mode")
	record "$mode"
	equal "$out" "$plain"
done

run 0 "$SONDE" report --section waits,locks,wait-kinds a.sonde
has "$out" "Where threads wait"
