# waits: the cost of an uncontended lock, of a call that reads a byte, and of starting, when waits and I/O are recorded
source "$(dirname "$0")/lib.bash"

rounds=$(n 15 3)

# round KIND COUNT: a run alone and a recorded run; the overhead is the difference of their fastest parts.
round() {
	local alone recorded
	alone=$("$programs/wait_pair" "$1" "$2")
	recorded=$("$SONDE" record -q -f -F 1 --threads --io -o "$1.sonde" -- "$programs/wait_pair" "$1" "$2")
	keep "$1.alone" "$alone"
	keep "$1.added" "$(calc "$recorded - $alone")"
}

for ((i = 0; i < rounds; i++)); do
	round lock "$(n 40000000 4000000)"
	round read "$(n 1000000 200000)"
done
# The cost of the first record: the process connects, and requests its unwind tables.
for ((i = 0; i < rounds; i++)); do
	cost first.off "$SONDE" record -q -f -F 1 -o off.sonde -- sleep 0.01
	cost first.on "$SONDE" record -q -f -F 1 --threads -o on.sonde -- sleep 0.01
done
paired first.wall first.on first.off wall "1000 * (a - b)"
paired first.cpu first.on first.off cpu "1000 * (a - b)"

# The cost of short processes: a shell's loop, alone and recorded, interleaved.
many=$(n 500 50)
# start KEY COMMAND OPTION…: a process that ends at once, under a recorder with these options.
start() {
	local key=$1 loop=(sh -c "i=0; while [ \$i -lt $many ]; do $2; i=\$((i + 1)); done")
	shift 2
	cost "start.$key.off" "${loop[@]}"
	cost "start.$key.on" "$SONDE" record -q -f -F 1 -o start.sonde "$@" -- "${loop[@]}"
}
for ((i = 0; i < $(n 5 2); i++)); do
	say "short processes, round $((i + 1))"
	start plain /bin/true
	start threads /bin/true --threads
	start io "/bin/cat /dev/null" --io
	start child "sh -c '/bin/true; :'" --threads
	start heap /bin/true --heap
done
for key in plain threads io child heap; do
	paired start.$key.ratio start.$key.on start.$key.off cpu "a / b"
	paired start.$key.added start.$key.on start.$key.off cpu "1000 * (a - b) / $many"
done

judge "an uncontended lock/unlock pair: CPU added" lock.added ns "alone $(text lock.alone ns)" "≤ 5 ns" "<=" 5
judge "read() of a byte of /dev/zero: CPU added" read.added ns "alone $(text read.alone ns)" "≤ 100 ns" "<=" 100
info "a process's first blocking call: wall time added" first.wall ms "CPU, with the recorder's: $(text first.cpu ms)"
for row in "plain:true, recorded" "threads:true, --threads" "io:cat, which makes 3 calls, --io" \
	"child:sh that waits for true, --threads" "heap:true, --heap"; do
	info "${row#*:}: CPU of program and recorder per process" "start.${row%%:*}.added" ms "$(text "start.${row%%:*}.ratio") of alone"
done
