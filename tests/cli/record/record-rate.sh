# record-rate.sh: --rate is the number of samples per second of CPU time, from a few to 10,000.
# measures: samples a second
. "$(dirname "$0")/../lib.sh"
need jq
need_perf
program=$(target split)

for rate in 100 1000 10000; do
	run 0 "$SONDE" record -q --rate $rate -o $rate.sonde -- "$program" 2
	samples=$(metric $rate.sonde samples.count) cpu=$(metric $rate.sonde timing.cpu_time_s)
	lost=$(metric $rate.sonde lost.count)
	echo "$rate: $samples samples, $lost lost of $cpu s"
	holds "$cpu >= 1" "the program uses 2 s"
	holds "$lost <= 0.1 * $samples" "lost of $samples"
	near "($samples + $lost)" "($rate * $cpu)" "(0.2 * $rate * $cpu)"
	near "$(metric $rate.sonde samples.cpu_time_s)" "$cpu" "(0.1 * $cpu + $(metric $rate.sonde timing.stolen_time_s))"
done
