# waits.sh: where threads wait, for which locks, and which threads held them for how long, against the program's own
# figures: a convoy on two locks, a recursive mutex, a read-write lock, a semaphore, a condition variable, a barrier,
# sleeping. All calls return the same as without sonde.
# measures: wait times, against the program's own
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
waits=$(target waits)

# record MODE…: the program's output is in $out, the recording in a.sonde.
record() {
	run 0 "$SONDE" record -q --threads --force -o a.sonde -- "$waits" "$@"
}
said() {
	awk -v name="$1" '$1 == name { print $2 }' "$work/.out"
}
column() { # SECTION COLUMN FILTER: the sum of the rows that the filter leaves
	rows a.sonde "$1" | jq -r "[.[] | select($3) | .$2] | total"
}

# waited KIND WHAT: the program's own figure.
waited() {
	near_time "$(column waits total_ns ".kind == \"$1\"")" "$(said waited)" 0.05 "$2"
}

# held LOCK NAME: the hold time in the row of `locks` equals the program's, for the time in which others waited.
held() {
	near_time "$(jq .held_ns <<<"$1")" "$(said "$2_held")" 0.05 "held $2"
	near_time "$(jq ".held_mean_ns * $(said "$2_holds")" <<<"$1")" "$(said "$2_held")" 0.05 "held $2 each time"
}

# Two locks, held alternately for 1 ms and 3 ms by four threads: wait and hold times within 5 %.
record convoy 40
locks=$(rows a.sonde locks | jq 'map({key: (.waits_in | split(" ")[0]), value: .}) | from_entries')
for which in outer inner; do
	lock=$(jq ".with_$which" <<<"$locks")
	near_time "$(jq .waited_ns <<<"$lock")" "$(said ${which}_waited)" 0.05 "waited for the $which lock"
	equal "$(jq .waiters <<<"$lock")" 4
	equal "$(jq -r .lock <<<"$lock")" "${which}_lock"
	has "$(jq -r .held_in <<<"$lock")" "with_$which"
	held "$lock" "$which"
done
equal "$(column waits calls '.kind == "join"')" 4
equal "$(column waits calls '.kind == "sleep"')" 320

record semaphore 50
waited semaphore "waited for the semaphore"
has "$(rows a.sonde locks | jq -r '.[0].waits_in')" consume

record condition 50
waited condition "waited for the condition"
equal "$(column waits calls '.kind == "condition"')" "$(said calls)"

record readers 30
waited "read lock" "waited to read"

# Held until the outermost unlock.
record nested 40
held "$(rows a.sonde locks | jq '.[0]')" outer

# Readers hold a lock together, until the last one releases it.
record read-holders 40
lock=$(rows a.sonde locks | jq '.[] | select(.lock == "table_lock")')
held "$lock" table
has "$(jq -r .held_in <<<"$lock")" read_for
run 0 "$SONDE" report --section locks a.sonde
has "$(tr -s ' \n' ' ' <<<"$out")" "shared by readers: held from the first in"

record sleep 20
waited sleep slept
equal "$(column waits calls '.kind == "sleep"')" "$(said calls)"
equal "$(rows a.sonde waits | jq -r '.[0].function')" rest

record barrier 100
equal "$(column waits calls '.kind == "barrier"')" "$(said calls)"

# A lock without waits has no row.
record uncontended 100
equal "$(column waits calls '.kind == "mutex"')" 0

# A forked child's waits are its own.
record fork 10
equal "$(awk '/^child/ { print $2 }' .out)" 0
equal "$(rows a.sonde processes | jq length)" 2
near_time "$(column locks waited_ns true)" "$(($(said outer_waited) + $(said inner_waited) + $(said parent_waited)))" 0.05 \
	"parent and child"

# Every return value, and what cancelled threads leave behind, is as without sonde.
for mode in results robust cancel; do
	plain=$("$waits" "$mode")
	record "$mode"
	equal "$out" "$plain"
done

run 0 "$SONDE" report --section waits,locks,wait-kinds a.sonde
has "$out" "Where threads wait"
