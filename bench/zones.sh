# zones: the cost of a begin/end pair: recorded, self-recorded, disabled, compiled out; a histogram; page faults; LTTng, uftrace
source "$(dirname "$0")/lib.bash"
source "$repo/bench/anchors.bash"

rounds=$(n 101 11)
pairs=100000 # a round is shorter than what the rings hold

# take PREFIX: keeps what `pair` prints: page faults, and the loops as series PREFIX.loop; PREFIX.over is the time of a
# zone beyond the floor in the same turn.
take() {
	awk -F '\t' -v to="$work/series.$1." '
		NR == 1 { print $2 >>(to "faults"); next }
		NR == 2 { for (i = 1; i <= NF; i++) at[name[i] = $i] = i; next }
		{ for (i = 1; i <= NF; i++) print $i >>(to name[i]) }
		"zone" in at { printf "%.3f\n", $at["zone"] - $at["floor"] >>(to "over") }'
}

# instructions LOOP: of one pair and the loop around it.
instructions() {
	"$programs/steps" "$programs/pair" --stops "$1" |
		awk 'NR == 1 { first = $1 } NR == 2 { print ($1 - first) / 200 }'
}

say "recorded by sonde record"
"$SONDE" record -q -f -F 1 --no-symbols -o record.sonde -- "$programs/pair" "$rounds" $pairs | take record
say "recording itself"
SONDE_OUT=own.sonde "$programs/pair" "$rounds" $pairs | take own
say "not recording"
"$programs/pair" "$rounds" $pairs | take off
recording=(own.*sonde)

for mode in record own; do
	title="sonde record"
	[ $mode = own ] && title="recording itself (SONDE_OUT)"
	file=record.sonde
	[ $mode = own ] && file=${recording[0]}
	why=
	there=$(metric "$file" zones.count)
	made=$(((rounds + 5) * (pairs + 5 * 2000)))
	[ "$there" = $made ] || why="$there of $made zones are in the file, $(metric "$file" lost.count) counted as lost"
	info "pair, $title" $mode.zone "ns" "floor $(text $mode.floor ns)"
	judge "pair beyond the floor, $title" $mode.over "ns" "–" "≤ 0.5 ns" "<=" 0.5 "$why"
	judge "page faults after warm-up, $title" $mode.faults "" "–" "0" "<=" 0
done
keep empty.steps "$(instructions empty)"
keep floor.steps "$(instructions floor)"
keep zone.steps "$(SONDE_OUT=steps.sonde instructions zone)"
judge "pair, instructions" zone.steps "" "floor $(text floor.steps), empty loop $(text empty.steps)" "≤ 32" "<=" 32 "counted by stepping, the loop included"
judge "pair, not recording" off.zone "ns" "–" "≤ 0.5 ns" "<=" 0.5
keep out.steps "$(instructions compiled-out)"
judge "pair, compiled out: instructions" out.steps "" "empty loop $(text empty.steps)" "the same" "<=" "$(median empty.steps)"
judge "histogram, a record" record.histogram "ns" "–" "≤ 2 ns" "<=" 2 "random values of 1 ns to 1 s"

why=$(lttng_missing)
if [ -z "$why" ]; then
	say "LTTng-UST"
	lttng_begin "$work/trace"
	"$programs/pair-lttng" "$rounds" $pairs | take lttng
	lttng_end
	info "pair, compared with LTTng-UST" record.zone "ns" "LTTng-UST $(text lttng.lttng ns)"
else
	unavailable "pair, compared with LTTng-UST" "LTTng-UST" "–" "$why"
fi
why=$(uftrace_missing)
if [ -z "$why" ]; then
	say "uftrace"
	uftrace record --no-event --no-libcall -d "$work/uftrace" "$programs/pair-uftrace" "$rounds" $pairs | take uftrace
	info "pair, compared with uftrace" record.zone "ns" "uftrace $(text uftrace.uftrace ns)"
else
	unavailable "pair, compared with uftrace" "uftrace" "–" "$why"
fi
