# storms: how much longer 2,000 vforks with exec, and forks of a threaded program, take under recording
source "$(dirname "$0")/lib.bash"

rounds=$(n 7 1)
count=$(n 2000 40)

# Each round runs the program alone and under each recording, one after the other.
for ((i = 0; i < rounds; i++)); do
	say "round $((i + 1)) of $rounds"
	for storm in vforks forks; do
		cost $storm.alone "$programs/storms" $storm "$count"
		cost $storm.default "$SONDE" record -q -f -o out.sonde -- "$programs/storms" $storm "$count"
		cost $storm.heap "$SONDE" record -q -f --heap -o out.sonde -- "$programs/storms" $storm "$count"
		cost $storm.full "$SONDE" record -q -f --heap=full -o out.sonde -- "$programs/storms" $storm "$count"
	done
done

for storm in vforks forks; do
	cost_of $storm.alone wall | keep $storm.alone.wall
	what="$count vforks with exec"
	[ $storm = vforks ] || what="$count forks of a threaded program"
	for how in default heap full; do
		paired $storm.$how.ratio $storm.$how $storm.alone wall "a / b"
		paired $storm.$how.each $storm.$how $storm.alone wall "1000 * (a - b) / $count"
	done
	info "$what: time with recording" $storm.default.ratio × "alone $(text $storm.alone.wall s)" "added to each: $(text $storm.default.each ms)"
	info "$what: time with --heap" $storm.heap.ratio × "alone $(text $storm.alone.wall s)" "added to each: $(text $storm.heap.each ms)"
	info "$what: time with --heap=full" $storm.full.ratio × "alone $(text $storm.alone.wall s)" "added to each: $(text $storm.full.each ms)"
done
