# on-full-stopped.sh: under --on-full block a stopped recorder does not stop the program for ever: after a while events
# are dropped and counted, and the program waits again once the recorder continues.
# The program calls nothing beyond what <sonde/sonde.h> names for sandboxes.
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq mkfifo
zones=$SONDE_BUILD/tests/unit/zone_target
rounds=1000000

mkfifo go
exec 9<>go
grows() { [ "$(stat -c %s a.sonde)" -gt "$size_b" ]; }
calls() { rows a.sonde zones | jq --arg zone "$1" '[.[] | select(.zone == $zone).calls] | add'; }
for sandboxed in "" sandboxed; do
	"$SONDE" record -q --force --on-full block --buffer 1M -o a.sonde -- "$zones" halves $rounds $sandboxed >out 2>err <go &
	recorder=$!
	wait_for grep -q begun out
	kill -STOP $recorder
	echo >&9
	wait_for grep -q half out
	size_b=$(stat -c %s a.sonde)
	kill -CONT $recorder
	wait_for grows
	printf x >&9
	wait $recorder || fail "record ends with $?"
	equal "$(cat err)" ""

	run 0 "$SONDE" report --section summary a.sonde # samples are lost, too
	lost=$(figure_of "$(sed -nE 's/^! zones: ([0-9,]+) events lost.*/\1/p' .out | tr -d ,)" "events lost")
	first=$(calls first) second=$(calls second)
	holds "$first < $rounds / 2 && $second > 0.9 * $rounds" # a few are lost before anything is free
	equal "$((2 * (first + second) + lost))" $((4 * rounds))
done
