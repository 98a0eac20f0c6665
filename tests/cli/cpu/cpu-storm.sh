# cpu-storm.sh: ten thousand short processes: no process is lost, and the recorder's memory stays small.
# measures: shares of CPU time
# timeout: 120
. "$(dirname "$0")/../lib.sh"
need jq
need_perf
crowd=$(target crowd)

# Peak memory of the recorder in KB; the recorded processes are smaller.
peak() {
	python3 - "$@" <<-'P'
		import resource, subprocess, sys
		subprocess.run(sys.argv[1:], check=True, stdin=subprocess.DEVNULL)
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
	P
}
for count in 1000 10000; do
	eval "peak_$count=$(peak "$SONDE" record -q -o $count.sonde -- "$crowd" processes $count)"
	equal "$(metric $count.sonde run.processes)" $((count + 1))
	equal "$(metric $count.sonde lost.count)" 0
	# The kernel's account is covered completely, with at most the hypervisor's time in addition; time without
	# events is reported.
	cpu=$(metric $count.sonde timing.cpu_time_s) whole=$(metric $count.sonde samples.cpu_time_s)
	missing=$(metric $count.sonde samples.not_sampled_s)
	echo "$count: $whole s, $missing s of it not sampled, of $cpu s"
	holds "$whole >= 0.98 * $cpu - 0.01 && $whole <= 1.02 * $cpu + 0.01 + $(metric $count.sonde timing.stolen_time_s)"
	holds "$missing <= 0.75 * $cpu" # a process that does nothing spends most of its time exiting
	run 0 "$SONDE" report --section summary $count.sonde
	if is_so "$missing > 0.03 * $cpu + 0.01"; then
		has "$(tr -s ' \n' ' ' <<<"$out")" "s of CPU time were not sampled: events stop around context switches and at process exit"
	fi
	holds "$(metric $count.sonde samples.count) <= 1.1 * 1000 * $cpu + 20" # the others are extra samples
done
echo "1000: $peak_1000 KB, 10000: $peak_10000 KB"
# A few hundred bytes for each process in the recording, not a buffer for each that has ended.
holds "$peak_10000 - $peak_1000 < 9000 * 2"
