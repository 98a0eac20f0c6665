# cpu-storm.sh: ten thousand short processes: none lost, and the recorder's memory stays small.
# timeout: 120
. "$(dirname "$0")/lib.sh"
need jq
need_perf
crowd=$(target crowd)

# Peak memory of the recorder in KB: the processes that it records are smaller.
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
	holds "$(metric $count.sonde samples.cpu_time_s) <= 1.1 * $(metric $count.sonde timing.cpu_time_s) + 0.05"
done
echo "1000: $peak_1000 KB, 10000: $peak_10000 KB"
# Some hundred bytes for each process that is in the recording, not a buffer for each that ended.
holds "$peak_10000 - $peak_1000 < 9000 * 2"
