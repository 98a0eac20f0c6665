# cpu-kernel.sh: for an ordinary user, who may not sample the kernel, every output shows kernel time as [kernel],
# measured and complete. Time that perf events cannot reach is counted as not sampled, with the reason.
# measures: shares of CPU time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] || skip "perf events may sample the kernel here"
as_user "$SONDE" doctor -f json 2>/dev/null | jq -e '[.sections[].rows[] | select(.check == "perf events" and
	.verdict == "green")] | length == 1' >/dev/null || skip "perf events are not to be had for an ordinary user"

# Here dd spends all of its time in the kernel.
run 0 as_user "$SONDE" record -q -o dd.sonde -- dd if=/dev/urandom of=/dev/null bs=1M count=200
chmod 644 dd.sonde 2>/dev/null || true
cpu=$(metric dd.sonde timing.cpu_time_s) whole=$(metric dd.sonde samples.cpu_time_s)
echo "$whole of $cpu s, $(metric dd.sonde samples.kernel_measured_s) s of it in the kernel"
holds "$whole >= 0.98 * $cpu - 0.01 && $whole <= 1.02 * $cpu + 0.01 + $(metric dd.sonde timing.stolen_time_s)"
holds "$(metric dd.sonde samples.kernel_measured_s) >= 0.95 * $whole"
holds "$(metric dd.sonde samples.count) <= 0.05 * 1000 * $whole" # measured time has no samples
holds "$(share dd.sonde self_share '[kernel]') >= 95"
holds "$(rows dd.sonde modules | jq '[.[] | select(.module == "[kernel]").self_share] | add * 100') >= 95"
holds "$(rows dd.sonde threads | jq '[.[] | select(.thread == "dd").sampled_ns] | add / 1e9') >= 0.98 * $whole"
"$SONDE" report -q --json --section calltree dd.sonde >.tree
holds "$(jq '[.. | objects | select(.name? == "[kernel]").total] | add / 1e9' .tree) >= 0.95 * $whole"
for format in functions calltree; do
	run 0 "$SONDE" report --section $format dd.sonde
	has "$(tr -s ' \n' ' ' <<<"$out")" "in the kernel from CPU clocks"
done
run 0 "$SONDE" export -f folded -o - dd.sonde
holds "$(awk '/;\[kernel\] [0-9]+$/ { sum += $NF } END { print sum + 0 }' <<<"$out") >= 0.95 * 1000 * $whole"
near "$(awk '{ sum += $NF } END { print sum }' <<<"$out")" "1000 * $whole" "(0.02 * 1000 * $whole + 3)"
for format in speedscope chrome callgrind; do
	run 0 "$SONDE" export -f $format -o - dd.sonde
	has "$out" "[kernel]"
done
run 0 "$SONDE" report --section summary dd.sonde
lacks "$out" "were not sampled"

# Work in user mode is attributed to the user's functions.
run 0 as_user "$SONDE" record -q -o split.sonde -- "$(target split)" 1
holds "$(share split.sonde self_share '[kernel]' 0) <= 10"

# The same, attached.
as_user dd if=/dev/zero of=/dev/null bs=4M 2>/dev/null &
wait_for pgrep -x dd -P $! >.pid || echo $! >.pid
sleep 0.2
run 0 as_user "$SONDE" record -q -d 500ms -o attached.sonde -p "$(head -n 1 .pid)"
kill "$(head -n 1 .pid)"
holds "$(share attached.sonde self_share '[kernel]') >= 90"

# A program that may not be read, and one with more privileges than the recorder: the kernel removes its events.
install -m 0111 "$(readlink -f "$(command -v perl || command -v bash)")" unreadable
run 0 as_user "$SONDE" record -q -o unreadable.sonde -- ./unreadable -e 'for (1 .. 6000000) { $x += $_ }'
holds "$(metric unreadable.sonde samples.not_sampled_s) >= 0.9 * $(metric unreadable.sonde timing.cpu_time_s)"
run 0 "$SONDE" report --section summary unreadable.sonde
has "$(tr -s ' \n' ' ' <<<"$out")" '"unreadable" has more rights than the recorder (setuid) or is not readable'
if [ "$(id -u)" -eq 0 ]; then
	cp "$(readlink -f "$(command -v perl || command -v bash)")" privileged
	chmod 4755 privileged
	as_user ./privileged -e 'exit($> != 0)' 2>/dev/null || skip "no setuid programs here"
	run 0 as_user "$SONDE" record -q -o privileged.sonde -- ./privileged -e 'for (1 .. 6000000) { $x += $_ }'
	cpu=$(metric privileged.sonde timing.cpu_time_s)
	near "$(metric privileged.sonde samples.cpu_time_s)" "$cpu" "(0.02 * $cpu + 0.01)"
	holds "$(metric privileged.sonde samples.not_sampled_s) >= 0.9 * $cpu"
	run 0 "$SONDE" report --section summary privileged.sonde
	has "$(tr -s ' \n' ' ' <<<"$out")" 'of CPU time were not sampled: "privileged" has more rights than the recorder (setuid)'
fi
