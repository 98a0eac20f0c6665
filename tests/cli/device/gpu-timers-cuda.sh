# gpu-timers-cuda.sh: GPU timers on CUDA events: a stand-in driver knows every time, counts threads that wait, and
# aborts the program if an event is misused.
. "$(dirname "$0")/../lib.sh"
need jq
timed=$(target cuda_timed)
stand_in=$SONDE_BUILD/tests/targets/cuda_stand_in.so
run 0 "$timed" "$stand_in"
equal "$out" "early -3
memory early: -3, 7 of 0, 0
loaded 0
early -3 -3, left 3
after 8 ms -3 3000000, left 2
in the end 10000000 3000000 20000000, left 0
waits 0
self of outer 7000000, of inner 23000000
alive 0
many 300, total 600000000, min 1000000, max 3000000, mean 2000000, std 817861, warm-up 100000000
events 2, waits 303
self 3000000 6000000, 9000000 2000000 4000000
captured -4: the stream is being captured into a graph: time the launch of the graph
beside it 4000000, broken 0
thread 0 1000
thread 1 1000
thread 2 1000
thread 3 1000
without -4: no CUDA context is current in this thread: make the stream's context current
context 1: 0 0 6000000
context 2: 0 0 6000000
gone -3, left 0, lost 2
misused 0 -4 -4 -4 -2 -2 -3 -4 6 -4 0
memory without: -3, 7 of 0, 0
memory with one: 0, 10737418240 of 42949672960, 0.25
memory of none -4, of OpenCL -3, of -3"
known=$out
# Recorded, it does the same, and each timer's name is a histogram of its values.
run 0 "$SONDE" record -q -o t.sonde -- "$timed" "$stand_in"
equal "$out" "$known"
equal "$(rows t.sonde histograms | jq -c 'map(select(.histogram | test("^name ") | not) | [.histogram, .count, .min, .max, .unit]) | sort')" \
	'[["a",1,15000000,15000000,"ns"],["b",1,6000000,6000000,"ns"],["beside",1,4000000,4000000,"ns"],["c",1,4000000,4000000,"ns"],["each",2,6000000,6000000,"ns"],["inner",2,3000000,20000000,"ns"],["left",1,3000000,3000000,"ns"],["outer",1,10000000,10000000,"ns"],["right",1,6000000,6000000,"ns"],["step",300,1000000,3000000,"ns"],["thread 0",1000,0,0,"ns"],["thread 1",1000,0,0,"ns"],["thread 2",1000,0,0,"ns"],["thread 3",1000,0,0,"ns"]]'
