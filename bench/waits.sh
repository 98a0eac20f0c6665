# waits: what a lock that is free, and a call that reads a byte, cost a program whose waits and I/O are recorded
source "$(dirname "$0")/lib.bash"

rounds=$(n 15 3)

# round KIND COUNT: a run alone and one recorded; what is added is the difference of their fastest parts.
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
# What the first record costs: the process connects, and asks for what its stacks are walked by.
for ((i = 0; i < rounds; i++)); do
	cost first.off "$SONDE" record -q -f -F 1 -o off.sonde -- sleep 0.01
	cost first.on "$SONDE" record -q -f -F 1 --threads -o on.sonde -- sleep 0.01
done
paired first.wall first.on first.off wall "1000 * (a - b)"
paired first.cpu first.on first.off cpu "1000 * (a - b)"

judge "a lock/unlock pair that nobody waits for: CPU added" lock.added ns "alone $(text lock.alone ns)" "≤ 5 ns" "<=" 5
judge "read() of a byte of /dev/zero: CPU added" read.added ns "alone $(text read.alone ns)" "≤ 100 ns" "<=" 100
info "the first call of a process that waits: wall time added" first.wall ms "CPU, with the recorder's: $(text first.cpu ms)"
