# heap-limits.sh: under limits on address space (ulimit -v) or writable memory (ulimit -d), programs run as without
# sonde at every limit that leaves them a little room; a process that is not recorded because of a limit is reported.
# timeout: 300
. "$(dirname "$0")/../lib.sh"
need jq prlimit

# goes LIMIT-KB MODE: true if $command prints its output under that limit of $kind. MODE: alone, or an option of
# record.
goes() {
	local limited=(prlimit "--$kind=$(($1 * 1024))" "${command[@]}")
	[ "$2" = alone ] || limited=("$SONDE" record -q "$2" --no-perf --no-symbols --force -o a.sonde -- "${limited[@]}")
	timeout 60 "${limited[@]}" >.got 2>&1 </dev/null && cmp -s .got wanted
}

# least: the smallest limit in KB under which it runs alone, to 1 %.
least() {
	local low=100 high=100000 middle
	while ! goes $high alone; do
		low=$high
		high=$((2 * high))
	done
	while [ $((high - low)) -gt $((low / 100 + 100)) ]; do
		middle=$(((low + high) / 2))
		if goes $middle alone; then high=$middle; else low=$middle; fi
	done
	echo $high
}

# check KIND: as or data. sonde needs a few MB and at most an eighth of what the program has left.
check() {
	local alone mode limit kind=$1
	"${command[@]}" >wanted 2>&1 </dev/null
	alone=$(least)
	echo "${command[0]##*/} $kind: $alone KB"
	for mode in --heap --heap=full; do
		for limit in 1.13 1.3 1.6 2 3 5 10 30; do
			limit=$(calc "int($alone * $limit + 4096)")
			goes $limit $mode || fail "$kind, $mode, $limit KB: $(head -c 200 .got)"
		done
	done
}

# Under a limit on writable memory, our tables are of a kind that it does not count: the program gets what it gets alone.
if [ "$(getconf PAGESIZE)" -eq 4096 ]; then
	used() { "$@" prlimit --data=1048576 sed -nE 's/^VmData:[^0-9]*([0-9]+) kB/\1/p' /proc/self/status; }
	alone=$(used)
	for mode in --heap --heap=full; do
		holds "$(used "$SONDE" record -q $mode --force -o a.sonde --) <= $alone + 40" "($mode, KB)"
	done
fi

command=("$(target blocks)" known)
check as
check data
if command -v sqlite3 >/dev/null; then
	command=(sqlite3 :memory: "create table t(a); with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
		insert into t select x || 'text' from c; select count(distinct a) from t;")
	check as
fi
if [ -x /usr/bin/python3 ]; then
	command=(/usr/bin/python3 -c 'print(sum(len(str(i)) for i in range(20000)))')
	check as
	check data
	# The same in every run: all eight threads wait for each other, and no arena is reserved where there happens
	# to be space.
	command=(env MALLOC_ARENA_MAX=1 /usr/bin/python3 -c '
import threading
held = bytearray(150 << 20), [bytes(1000) for i in range(20000)]
together = threading.Barrier(8, timeout=10)
threads = [threading.Thread(daemon=True, target=lambda: (together.wait(), [bytes(100) for i in range(1000)])) for i in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(len(held[0]))')
	check as
fi

# What is recorded under a limit is exact; a process with too little memory is named.
command=("$(target blocks)" known)
"${command[@]}" >wanted 2>&1
figures() { rows a.sonde heap | jq -c '[.[] | select(.function | test("^(keeps|churns|peaks|moves)$")) | [.function, .allocations, .left_b]] | sort'; }
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "${command[@]}"
expected=$(figures)
lacks "$expected" "[]"
for kind in as data; do
	goes 200000 --heap=full
	equal "$(figures)" "$expected"
	lacks "$("$SONDE" report --section summary a.sonde)" "address space"
done
for kind in as data; do
	goes 40000 --heap=full
	equal "$(figures)" "[]"
	has "$("$SONDE" report --section summary a.sonde | tr -s ' \n' ' ')" \
		"1 process (blocks) was low on address space (ulimit -v, ulimit -d)"
done
