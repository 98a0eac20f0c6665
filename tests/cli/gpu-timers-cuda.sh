# gpu-timers-cuda.sh: timers for programs on CUDA's events: a driver that stands in for it knows every time, counts who waits,
# and ends the program when an event is used that it should not.
. "$(dirname "$0")/lib.sh"
need jq
timed=$(target cuda_timed)
stand_in=$SONDE_BUILD/tests/targets/cuda_stand_in.so
run 0 "$timed" "$stand_in"
equal "$out" "early -3
loaded 0
early -3 -3, left 3
after 8 ms -3 3000000, left 2
in the end 10000000 3000000 20000000, left 0
waits 0
alive 0
many 300, total 600000000, min 1000000, max 3000000, mean 2000000, std 817861, warm-up 100000000
events 2, waits 303
captured -4: the stream is being captured into a graph: time the launch of the graph
beside it 4000000, broken 0
without -4: no CUDA context is current in this thread: make that of the stream current
context 1: 0 0 6000000
context 2: 0 0 6000000
gone -3, left 0, lost 2"
known=$out
# Recorded, it does the same, and each name is a histogram of what it read.
run 0 "$SONDE" record -q -o t.sonde -- "$timed" "$stand_in"
equal "$out" "$known"
equal "$(rows t.sonde histograms | jq -c 'map([.histogram, .count, .min, .max, .unit]) | sort')" \
	'[["beside",1,4000000,4000000,"ns"],["each",2,6000000,6000000,"ns"],["inner",2,3000000,20000000,"ns"],["outer",1,10000000,10000000,"ns"],["step",300,1000000,3000000,"ns"]]'
