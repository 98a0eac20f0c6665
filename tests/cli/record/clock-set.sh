# clock-set.sh: the wall clock is set by an hour again and again while sonde records, in its own processes and in the
# program's: no duration changes with it, and nothing waits because of it.
. "$(dirname "$0")/../lib.sh"
need jq perl
jumps=$SONDE_BUILD/tests/targets/libclock_jumps.so
[ -e "$jumps" ] || skip "libclock_jumps.so is not built"

run 0 env LD_PRELOAD="$jumps" perl -e 'print time - time + time - time ? "jumps" : "stands"'
equal "$out" jumps

# Without the jumps the same bounds hold; an hour is 60 times the largest.
recorded() { # FILE SETTINGS…
	local file=$1
	shift
	run 0 env LD_PRELOAD="$jumps" "$SONDE" record -q --force "$@" -o "$file" -- "$(target waits)" convoy 3
	holds "$(metric "$file" timing.wall_time_s) > 0.01"
	holds "$(metric "$file" timing.wall_time_s) < 60"
	holds "$(metric "$file" timing.cpu_time_s) < 60"
}
for settings in "" "--no-perf" "--threads --io" "--heap=full"; do
	# shellcheck disable=SC2086
	recorded "run.sonde" $settings
done
recorded waits.sonde --threads --io
equal "$(rows waits.sonde locks | jq length)" 2
holds "$(rows waits.sonde locks | jq '[.[].waited_ns] | add') > 0"
holds "$(rows waits.sonde locks | jq '[.[] | .waited_ns, .longest_ns, .held_ns] | max') < 60e9"
run 0 env LD_PRELOAD="$jumps" "$SONDE" report waits.sonde
run 0 env LD_PRELOAD="$jumps" "$SONDE" bench --runs 3 -- true
