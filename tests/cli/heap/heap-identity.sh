# heap-identity.sh: large programs behave the same when their allocations are recorded, all or sampled: output,
# errors, exit code and files of CPython's own tests, SQLite, compilers, and programs with their own allocators.
# timeout: 1800
. "$(dirname "$0")/../lib.sh"
need jq
: "${SONDE_LONG:=}"
export PYTHONHASHSEED=0 GIT_CONFIG_GLOBAL=/dev/null

# Differs from run to run anyway: how long tests took, addresses.
same_words() {
	sed -E -e 's/ in [0-9.]+s$/ in TIME/' -e 's/0x[0-9a-f]+/ADDR/g' "$1"
}

# go NAME COMMAND…: saves output, errors, exit code and the content of `made` as NAME.*
go() {
	local name=$1 code=0
	shift
	rm -f made "$name".*
	{ "$@" >.out 2>.err <text || code=$?; } 2>/dev/null
	same_words .out >"$name.out"
	same_words .err >"$name.err"
	echo $code >"$name.code"
	[ ! -e made ] || mv made "$name.made"
}

alike() {
	local part
	for part in code out err made; do
		{ [ ! -e "$1.$part" ] && [ ! -e "$2.$part" ]; } || cmp -s "$1.$part" "$2.$part" || return 1
	done
}

# same LEAST COMMAND…: at least LEAST of its allocations are recorded, and none is lost.
same() {
	local least=$1 mode
	shift
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 0; }
	go alone "$@"
	for mode in --heap=full --heap=light ${SONDE_LONG:+--heap}; do
		go recorded "$SONDE" record -q $mode --force -o "a$mode.sonde" -- "$@"
		alike alone recorded && continue
		go again "$@"
		alike alone again || { echo "not the same by itself: $*"; return 0; }
		diff -a alone.out recorded.out >&2 || true
		diff -a alone.err recorded.err >&2 || true
		fail "$mode: something else: $* ($(cat alone.code) $(cat recorded.code))"
	done
	holds "$(rows a--heap=full.sonde heap | jq '[.[].allocations] | total') >= $least" "allocations of $*"
	equal "$(metric a--heap=full.sonde lost.count)" 0
}

seq 1 60000 | awk '{ print $1, $1 * 7919 % 10007, "line of text" }' >text
cat >many.c <<'C'
#define F(n) int f##n(int *a, int b) { int s = n; for (int i = 0; i < b; i++) s += a[i] * (s ^ n); return s; }
#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
T(1) T(2) T(3) T(4)
C
cat >many.cc <<'C'
#include <map>
#include <string>
template <int N> int f(std::map<std::string, int> &m) { m[std::to_string(N)] = N; return f<N - 1>(m); }
template <> int f<0>(std::map<std::string, int> &m) { return (int)m.size(); }
int main() { std::map<std::string, int> m; return f<20>(m); }
C
cat >many.sql <<'S'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into t select i, 'text' || (i * 7919 % 10007), i / 7.0 from n;
create index i on t(b);
select b, count(*) from t group by b order by 2 desc, 1 limit 20;
update t set b = upper(b) where a % 3 = 0;
delete from t where a % 5 = 0;
select json_group_array(b) from (select b from t where a < 100);
select no_such_function(1);
pragma integrity_check;
vacuum;
S
for i in $(seq 100); do
	echo "select avg(a + $i), group_concat(b) from t where a between $i and $i + 20;"
done >>many.sql

# --- programs ---------------------------------------------------------------------------------------------------------

same 50000 sqlite3 -init many.sql :memory: "select count(*) from t"
same 1000 gcc -O2 -g -c many.c -o made
same 50000 g++ -std=c++17 -g -c many.cc -o made
same 50000 jq -R -c 'split(" ") | {a: .[0], b: (.[1] | tonumber)} | select(.b > 9990)'
same 20 zstd -9 -T2 -q -c
# shellcheck disable=SC2016
same 5000 perl -e 'my %h; $h{$_ % 1000} .= "x" . ($_ * 7919 % 97) for 1 .. 50000; print length $_, "\n" for map { $h{$_} } sort keys %h;
	fork or exit 3; wait; print $? >> 8, "\n"; die "end\n"'
same 500 curl -s "file://$work/text"
same 500 curl -sS file:///nonexistent
git init -q repository 2>/dev/null && git -C repository -c user.name=n -c user.email=e commit -q --allow-empty -m "$(head -n 500 text)" &&
	same 100 git -C repository log --stat -p
same 100 sh -c 'sort -k 2 -n | tail -n 5; awk "BEGIN { exit 3 }"; echo $?; kill -TERM $$'

# Allocators preloaded before or after the hooks.
shopt -s nullglob
for library in /usr/lib/*/lib{jemalloc,tcmalloc,mimalloc}.so.[0-9]; do
	# shellcheck disable=SC2016
	same 0 sh -c 'LD_PRELOAD=$LD_PRELOAD${LD_PRELOAD:+:}$0 exec sqlite3 -init many.sql :memory: "select count(*) from t"' "$library"
	# shellcheck disable=SC2016
	same 0 sh -c 'LD_PRELOAD=$0${LD_PRELOAD:+:}$LD_PRELOAD exec sqlite3 -init many.sql :memory: "select count(*) from t"' "$library"
done

# --- CPython's own tests ----------------------------------------------------------------------------------------------

python=/usr/bin/python3
modules="dict generators array memoryview mmap re"
modules_long="list json gc struct bytes set threading subprocess ctypes fork1 posix thread threadsignals faulthandler
	exceptions coroutines asyncgen pickle io codecs unicode decimal zlib bz2 lzma hashlib weakref sys tracemalloc itertools
	functools descr float long heapq deque contextlib dataclasses enum ast compile inspect wait3 wait4 resource"
if "$python" -c "import test.test_dict" 2>/dev/null; then
	for module in $modules ${SONDE_LONG:+$modules_long}; do
		same 10000 env PYTHONMALLOC=malloc "$python" -m unittest "test.test_$module"
	done
	same 1000 "$python" -m unittest test.test_dict
	for module in ${SONDE_LONG:+$modules $modules_long}; do
		same 1000 "$python" -m unittest "test.test_$module"
	done
else
	echo "no tests of CPython: its package (libpython3.11-testsuite or so) is not installed"
fi
