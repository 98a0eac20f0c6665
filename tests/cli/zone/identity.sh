# identity.sh: Debian's programs write the same bytes and exit the same way with and without sonde, with perf events
# and as an ordinary user.
# timeout: 180
. "$(dirname "$0")/../lib.sh"

chmod 777 "$work"
seq 1 60000 | awk '{ print $1, $1 * 7919 % 10007, "line of text" }' >text
cat >many.py <<'P'
import json, os, sys, threading
rows = [{"id": i, "text": "x" * (i % 50)} for i in range(20000)]
kept = json.loads(json.dumps(rows))
thread = threading.Thread(target=lambda: kept.sort(key=lambda row: (len(row["text"]), row["id"])))
thread.start()
thread.join()
print(sum(row["id"] * len(row["text"]) for row in kept[:9999]))
print(len(os.listdir("/proc/self/fd")), sorted(k for k in os.environ if k.startswith("LD_")), file=sys.stderr)
sys.exit(3)
P
cat >many.c <<'C'
#define F(n) int f##n(int *a, int b) { int s = n; for (int i = 0; i < b; i++) s += a[i] * (s ^ n); return s; }
#define T(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
T(1) T(2) T(3) T(4) T(5) T(6) T(7) T(8)
C

# same NAME COMMAND…: run twice alone and once recorded; compares output, errors, exit code, and the file "made".
same() {
	local name=$1 alone=0 recorded=0
	shift
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 0; }
	rm -f made
	"$@" <text >alone.out 2>alone.err || alone=$?
	[ ! -e made ] || mv made alone.made
	"$SONDE" record -q --force -o "$name.sonde" -- "$@" <text >recorded.out 2>recorded.err || recorded=$?
	equal "$recorded" "$alone"
	cmp alone.out recorded.out || fail "$name writes something else"
	cmp alone.err recorded.err || fail "$name says something else"
	[ ! -e made ] || cmp alone.made made || fail "$name makes something else"
	run 0 "$SONDE" report "$name.sonde"
	echo "$name: $(sed -n 4p .out) exit $recorded"
}

same sqlite sqlite3 :memory: "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
	select count(*), sum(i * i % 7) from n; select raise;"
same zstd zstd -9 -T2 -c
same zstd-file zstd -q -f -5 text -o made
same python python3 many.py
same debian-python /usr/bin/python3 many.py
same jq jq -R -c 'split(" ") | {a: .[0], b: (.[1] | tonumber? // 0)} | select(.b > 9990)'
same gcc gcc -O2 -g -c many.c -o made
same gcc-wrong gcc -c no-such-file.c
same sort sort -k 2 -n
same shell sh -c 'read line; echo "$line"; ls /proc/self/fd | wc -l; umask; exit 42'
same missing sh -c 'no-such-command-at-all; echo $?'
for shape in inlined deep large; do
	same "$shape" "$(target stacks)" "$shape" 0.05
done
same throwing "$(target throwing)" 0.05
same facts "$(target behave)" facts
