# heap-walks.sh: stacks of allocations that were unwound only as far as they had changed equal completely unwound ones,
# in programs of all kinds.
# timeout: 200
. "$(dirname "$0")/../lib.sh"
check=$SONDE_BUILD/tests/targets/libheap-check.so
[ -e "$check" ] || skip "tests/targets/libheap-check.so is not built"

# A copy of sonde whose injected object checks each walk.
mkdir -p own/cli own/inject
cp "$SONDE" own/cli/sonde
cp "$check" own/inject/libsonde-heap.so

# same LEAST COMMAND…: at least LEAST walks are checked, and all of them agree.
same() {
	local least=$1 checked differ
	shift
	run 0 "$work/own/cli/sonde" record -q --heap=full --force -o a.sonde -- "$@"
	checked=$(sed -n 's/^heap walks: \([0-9]*\),.*/\1/p' .err | awk '{ n += $1 } END { print n + 0 }')
	differ=$(sed -n 's/^heap walks: .* \([0-9]*\) differ,.*/\1/p' .err | awk '{ n += $1 } END { print n + 0 }')
	holds "$checked >= $least" "walks of $1"
	equal "$differ of $checked differ" "0 of $checked differ"
}

same 1000 "$(target blocks)" known
same 8000 "$(target blocks)" threads
same 100 "$(target heap_odd)" loads "$SONDE_BUILD"/tests/targets/heap_{a,b}.so
same 100 "$(target heap_odd)" forks
same 100 "$(target heap_odd_bump)" handlers
# Deeper than the part of a stack that is kept.
same 1000 "$(target heap_odd)" overflow
matches "$err" " 480 deep$"
[ -x "$SONDE_BUILD/tests/targets/operators" ] && same 1000 "$SONDE_BUILD/tests/targets/operators"

[ -x /usr/bin/python3 ] && same 10000 env PYTHONMALLOC=malloc /usr/bin/python3 -c '
import json, re, decimal, collections, textwrap
data = [{"id": i, "name": "n%d" % i, "tags": [str(j) for j in range(i % 7)]} for i in range(2000)]
assert json.loads(json.dumps(data)) == data
re.sub("n[0-9]+", lambda m: m.group().upper(), json.dumps(data))
decimal.Decimal(2) ** 500
collections.Counter(textwrap.wrap(json.dumps(data), 40))
def deep(n):
    return [n] + (deep(n - 1) if n else [])
deep(400)'
command -v sqlite3 >/dev/null && same 10000 sqlite3 :memory: "create table t(a, b);
	with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000) insert into t select x, 'text' || x from c;
	create index i on t(b); select count(distinct upper(b)) from t where b like 'text1%' order by a;"
command -v jq >/dev/null && same 10000 jq -n '[range(20000) | {a: ., b: "x\(.)"}] | group_by(.a % 7) | map(length)'
if command -v gcc >/dev/null; then
	awk 'BEGIN { for (i = 0; i < 100; i++) printf "int f%d(int *a, int n) { int s = %d; for (int k = 0; k < n; k++) s += a[k] * %d; return s; }\n", i, i, i }' >a.c
	same 10000 gcc -O2 -c a.c -o a.o
fi
