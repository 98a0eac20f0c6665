# java.sh: stacks go through compiled and interpreted Java code to the start of the thread, with method names.
# measures: shares of samples by how they were unwound
# timeout: 240
. "$(dirname "$0")/../lib.sh"
need jq java javac
javac -d . "$repo/tests/targets/Chain.java"

# percent FILE PATTERN: share of the time below work() in stacks that match.
percent() {
	"$SONDE" export -q -f folded -o - "$1" | grep ';Chain.work;' >.sampled || fail "$1 has no stack below Chain.work"
	{ grep -E "$2" .sampled || true; } >.some
	awk 'FILENAME == ".some" { some += $NF; next } { all += $NF } END { print 100 * some / all }' .some .sampled
}

# chain FILE: every call chain is complete, in order, and has its share; no line has its frames in another order.
chain() {
	local share
	share=$(metric "$1" samples.complete_percent)
	echo "$1: $share % of $(metric "$1" samples.count) samples are complete"
	holds "$share >= 90"
	holds "$(percent "$1" 'Chain\.work;Chain\.a;Chain\.b;Chain\.c;Chain\.burn(;| )') >= 25"
	holds "$(percent "$1" 'Chain\.work(;Chain\.descend){20};Chain\.burn(;| )') >= 10"
	holds "$(percent "$1" 'Chain\.work;.*Chain\.supply;.*Chain\.compress;.*java\.util\.zip\.Deflater\.deflate;.*;deflate') >= 8"
	holds "$(percent "$1" 'Chain\.burn;Chain\.(main|work|a|b|c|descend)') <= 0.5"
	holds "$(percent "$1" 'Chain\.(c|b);Chain\.(a|work)') <= 0.5"
}

record() {
	local name=$1
	shift
	run 0 "$SONDE" record -q "$@"
	chain "$name"
}

if "$SONDE" doctor -f json 2>/dev/null | jq -e '[.sections[].rows[] | select(.check == "perf events" and .verdict == "green")] | length == 1' >/dev/null; then
	for mode in -Xmixed -Xint -XX:TieredStopAtLevel=1 -XX:-TieredCompilation; do
		record "java$mode.sonde" -o "java$mode.sonde" -- java "$mode" Chain 1
	done
	record collectors.sonde -o collectors.sonde -- java -XX:+UseParallelGC Chain 0.5 2
	# Attached after half a second of CPU time, until it ends: at least one more second is recorded.
	java Chain 1.5 >/dev/null &
	pid=$!
	has_begun() {
		[ "$(awk '{ print $14 + $15 }' "/proc/$pid/stat")" -ge $(($(getconf CLK_TCK) / 2)) ]
	}
	wait_for has_begun
	record attached.sonde -p "$pid" -o attached.sonde
	wait "$pid"
fi
record timer.sonde --no-perf -o timer.sonde -- java Chain 1

# Lines, and the file name with the package's folder.
run 0 "$SONDE" report --json -n 1000 --section functions timer.sonde
equal "$(jq -r '[.sections[0].rows[] | select(.function == "Chain.burn").file][0]' .out)" Chain.java
equal "$(jq -r '[.sections[0].rows[] | select(.function == "Chain.burn").module][0]' .out)" '[java]'
