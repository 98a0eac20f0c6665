# heap.sh: every allocation of a program with known answers is recorded, with the peak and the blocks live at exit;
# estimates from samples agree with the truth; real programs run as without sonde.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
need jq
blocks=$(target blocks)

# row FUNCTION COLUMN: from the heap table of a.sonde, summed over all lines of the function.
row() {
	rows a.sonde heap | jq -r --arg f "$1" --arg c "$2" '[.[] | select(.function == $f)[$c]] | total'
}
# is FUNCTION CALLS ALLOCATED BLOCKS-LIVE LIVE
is() {
	equal "$1 $(rows a.sonde heap | jq -r --arg f "$1" '[.[] | select(.function == $f)] |
		"\(map(.allocations) | total) \(map(.allocated_b) | total) \(map(.left_blocks) | total) \(map(.left_b) | total)"')" "$*"
}

# Every call, with its figures.
run 0 "$SONDE" record -q --heap=full -o a.sonde -- "$blocks" known
equal "$out" known
is keeps 100 100000 100 100000
is churns 1000 64000 0 0
is peaks 50 100000 0 0
is moves 1000 5005000 0 0
is aligned 5 541 0 0
is zeroed 2 168 0 0
equal "$(row fails left_blocks)" 0
equal "$(row churns temporary)" 1000
equal "$(row peaks temporary)" 1 # only the last one: nothing was allocated between it and its free
equal "$(row keeps peak_b) $(row peaks peak_b)" "100000 100000"
# The values of all call sites at the peak add up to the peak.
near "$(rows a.sonde heap | jq '[.[].peak_share] | total')" 1 0.001

# Blocks that other threads free, many of them at once.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$blocks" threads
equal "$out" threads
is gives 8000 256000 0 0
equal "$(row gives peak_blocks)" 8000

# A child's frees of inherited blocks do not count as its parent's.
run 0 "$SONDE" record -q --heap=full --force -o a.sonde -- "$blocks" forks
is before 100 1000 100 1000
is inside 10 5000 10 5000

# C++: programs with their own operators and programs that call malloc have the same figures.
shopt -s nullglob
for library in "" /usr/lib/*/lib{jemalloc,tcmalloc_minimal,mimalloc}.so.[0-9]; do
	[ -x "$SONDE_BUILD/tests/targets/operators" ] || break
	code=0 # mimalloc, in C, cannot throw bad_alloc and aborts: that stays so, and everything until then is recorded
	{ plain=$(LD_PRELOAD=$library "$SONDE_BUILD/tests/targets/operators" 2>/dev/null) || code=$?; } 2>/dev/null
	run $code "$SONDE" record -q --heap=full --force -o a.sonde -- \
		sh -c 'LD_PRELOAD=$LD_PRELOAD${1:+:$1} exec "$0"' "$SONDE_BUILD/tests/targets/operators" "$library"
	equal "$out" "$plain"
	is "plain()" 1000 4000 0 0
	is "arrays()" 100 4000 0 0
	is "lines()" 10 1280 0 0
	is "nothrow()" 7 700 7 700
done

# Sampled: for sizes up to 100 KB at one sample per 64 KB, the variance of the estimate is 4e9 B² per block. The truth
# lies within 4.5 standard errors (except in 1 of 100,000 runs), and the mean of 20 runs is close.
sum=0
for seed in $(seq 20); do
	run 0 "$SONDE" record -q --heap=64K --force -o a.sonde -- "$blocks" sizes 3000 $seed
	read -r all live <<<"$out"
	estimate=$(row sizes allocated_b) left=$(row sizes left_b)
	holds "($estimate - $all)^2 < 4.5^2 * 4e9 * 3000" "allocated: $estimate of $all"
	holds "($left - $live)^2 < 4.5^2 * 4e9 * 1000" "left: $left of $live"
	sum=$(calc "$sum + $estimate / $all / 20")
done
near "$sum" 1 0.03

# Real programs: the same output and exit code.
same() {
	local code=0 mode
	"$@" >plain.out 2>plain.err </dev/null || code=$?
	for mode in --heap --heap=full; do
		run $code "$SONDE" record -q $mode --force -o a.sonde -- "$@"
		cmp -s plain.out "$work/.out" || fail "$mode: other output: $*"
		cmp -s plain.err "$work/.err" || fail "$mode: other errors: $*"
	done
	holds "$(rows a.sonde heap | jq '[.[].allocations] | add') > 100"
}
command -v sqlite3 >/dev/null && same sqlite3 :memory: \
	"with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) select count(*), sum(x) from c"
[ -x /usr/bin/python3 ] && same /usr/bin/python3 -c 'import json; print(len(json.dumps(list(range(10000)))))'
same jq -n '[range(10000)] | add'
same sh -c 'for i in 1 2 3; do jq -n $i; done; exit 7'
command -v gcc >/dev/null && echo 'int main(void) { return 0; }' >a.c && same gcc -O2 -c a.c -o a.o
