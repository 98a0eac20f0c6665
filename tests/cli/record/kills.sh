# kills.sh: programs killed at random times: the recording opens and has the samples from before.
# measures: response times
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq python3
need_perf
split=$(target split)
: "${ROUNDS:=50}"

# The program is killed after 1 to 120 ms of wall time; the CPU time that it had used is known then.
ran=0
for round in $(seq "$ROUNDS"); do
	after=$((1 + round * 7919 % 120))
	code=0
	"$SONDE" record -q --force --no-symbols -o a.sonde -- \
		sh -c '"$0" 5 & pid=$!; sleep '"$(printf '0.%03d' $after)"'; kill -KILL $pid; wait $pid' "$split" 2>err || code=$?
	[ $code -eq 137 ] || fail "round $round: exit code $code"
	rows a.sonde threads >threads
	read -r count sampled clock < <(jq -r '. as $all | map(select(.thread == "split")) |
		"\($all | length) \(map(.sampled_ns) | total / 1e6) \(map(.cpu_ns) | total / 1e6)"' threads)
	holds "$count >= 2"
	# One sample every millisecond or two, so the last may be this old.
	near "$sampled" "$clock" "(4 + 0.02 * $clock)"
	! is_so "$sampled > 4" || ran=$((ran + 1))
done
holds "$ran >= 0.3 * $ROUNDS" "rounds in which it was sampled"
# The command itself is killed.
for round in $(seq 10); do
	code=0
	"$SONDE" record -q --force -o a.sonde -- sh -c 'i=0; while :; do i=$((i + 1)); [ $i -ne '$((round * 9973))' ] || kill -KILL $$; done' || code=$?
	[ $code -eq 137 ] || fail "exit code $code"
	equal "$(rows a.sonde processes | jq -r '.[0].status')" "signal 9"
	holds "$(metric a.sonde samples.count) >= 1"
done
