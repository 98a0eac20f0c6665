# heap-long.sh: a billion events: the memory of recorder and report does not grow with the number of events, and no
# event is lost.
# tier: long
# timeout: 3600
. "$(dirname "$0")/../lib.sh"
need jq python3
steps=$(target heap_steps)
: "${PAIRS:=500000000}" # pairs of malloc and free

cat >most.py <<'P'
import resource, subprocess, sys
code = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w")).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(code)
P

# memory EVENTS OPTION…: peak memory in B of the recorder ($recorder) and of a report ($reader).
memory() {
	run 5 python3 most.py said "$SONDE" record -q -F 1 --heap=full --force -o a.sonde -- "$steps" "$@"
	recorder=$out
	run 0 python3 most.py report.json "$SONDE" report -q --json -n 1000000 --section heap,peak,sizes,timeline,leaks a.sonde
	reader=$out
	echo "$*: $recorder B to record, $reader B to report, $(stat -c %s a.sonde) B of file" >&2
	equal "$(metric a.sonde lost.count)" 0
}

# row FUNCTION: allocations, bytes, temporary and live blocks, summed over all its lines.
row() {
	jq -r --arg f "$1" '[.sections[] | select(.id == "heap").rows[] | select(.function == $f)] |
		[(map(.allocations) | add), (map(.allocated_b) | add), (map(.temporary) | add), (map(.left_blocks) | add)] |
		map(tostring) | join(" ")' report.json
}

# Blocks that are freed at once, at ten times the rate that can be written: rings and queues are full.
memory pairs 20000000
few_recorder=$recorder few_reader=$reader
memory pairs "$PAIRS"
equal "$(row pairs)" "$PAIRS $((PAIRS * 72)) $PAIRS 0"
holds "$recorder <= 2 * $few_recorder + 64e6" "memory of the recorder"
holds "$reader <= 1.5 * $few_reader + 32e6" "memory of a report"

# A thousand blocks of many sizes that live for a while; the runs compared are long enough to fill the queues, too.
memory 10000000
few_recorder=$recorder few_reader=$reader
memory $((PAIRS / 20))
equal "$(row steps | cut -d ' ' -f 1,4)" "$((PAIRS / 20)) 1000"
holds "$recorder <= 1.5 * $few_recorder + 32e6" "memory of the recorder"
holds "$reader <= 1.5 * $few_reader + 32e6" "memory of a report"
