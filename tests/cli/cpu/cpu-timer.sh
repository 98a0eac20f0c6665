# cpu-timer.sh: where perf events are forbidden, timers inside processes give the same results: 60/30/10 in every
# thread, complete stacks of Debian's programs, all the CPU time that the kernel counted. Nothing else changes.
# measures: shares of CPU time
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq

# Within 2 % of the kernel's account of the process, plus three of its ticks.
total() {
	local sampled cpu
	sampled=$(metric "$1" samples.cpu_time_s) cpu=$(metric "$1" timing.cpu_time_s)
	near "$sampled" "$cpu" "(0.02 * $cpu + 0.012)"
}

# Five standard errors at 60 % of the samples.
split=$(target split)
run 0 "$SONDE" record -q --no-perf -o split.sonde -- "$split" 3 2
total split.sonde
holds "$(metric split.sonde samples.complete_percent) >= 97"
tolerance=$(calc "5 * 49 / sqrt($(metric split.sonde samples.count))")
near "$(share split.sonde total_share alpha)" 60 "$tolerance"
near "$(share split.sonde total_share beta)" 30 "$tolerance"
near "$(share split.sonde total_share gamma_)" 10 "$tolerance"
equal "$(rows split.sonde threads | jq length)" 2
near "$(rows split.sonde threads | jq '.[0].share * 100')" 50 3
lacks "$(rows split.sonde functions | jq -r '.[].module')" libsonde

# The report says which rate was requested, which was reached, and why.
run 0 "$SONDE" report --section summary split.sonde
has "$out" "CPU timers inside the processes"
has "$out" "switched off by --no-perf"
matches "$out" 'asked for 1000 samples/s, got [0-9]+/s'

# However the kernel refuses perf events.
nope=$(target nope)
for code in EPERM EACCES ENOSYS; do
	run 0 "$nope" "$code" "$SONDE" record -q -o "$code.sonde" -- "$split" 0.3
	total "$code.sonde"
	holds "$(metric "$code.sonde" samples.count) >= 50 * $(metric "$code.sonde" timing.cpu_time_s)"
	holds "$(metric "$code.sonde" samples.complete_percent) >= 97"
	run 0 "$SONDE" report --section summary "$code.sonde"
	has "$out" "CPU timers inside the processes"
	has "$out" "perf_event"
done
run 0 "$nope" EPERM,process_vm_readv "$SONDE" record -q --no-perf -o fiber.sonde -- "$(target ticks)" fiber 300
holds "$(share fiber.sonde total_share in_fiber) > 90"

# Debian's programs, unmodified.
compare() { # NAME COMMAND…
	local name=$1
	shift
	"$@" >expected 2>expected.err </dev/null
	run 0 "$SONDE" record -q --no-perf -o "$name.sonde" -- "$@"
	cmp expected .out || fail "$name writes something else when it is recorded"
	cmp expected.err .err || fail "$name says something else when it is recorded"
	holds "$(metric "$name.sonde" samples.complete_percent) >= 97"
	total "$name.sonde"
}
sed 's/i < 400000/i < 150000/' "$repo/examples/orders.sql" >orders.sql # enough samples for a meaningful share, also below
[ -x /usr/bin/sqlite3 ] && compare sqlite /usr/bin/sqlite3 :memory: ".read orders.sql"
if [ -x /usr/bin/zstd ]; then
	cat "$SONDE" >input
	compare zstd /usr/bin/zstd -q -15 -B4M -T2 -c input # in parts of 4 MB, so that both threads compress
fi
[ -x /usr/bin/python3 ] && compare python /usr/bin/python3 -c 'import json
rows = [{"a": i, "b": str(i)} for i in range(100000)]
for _ in range(2): text = json.dumps(json.loads(json.dumps(rows)))
print(len(text))'
if [ -x /usr/bin/gcc ]; then
	for i in $(seq 150); do echo "int f$i(int a, int b) { int s = $i; for (int i = 0; i < a; i++) s += i % (b + 1) * s; return s; }"; done >many.c
	compare gcc /usr/bin/gcc -O3 -c many.c -o many.o
fi

# An ordinary user, with a uid and a home directory of its own.
[ "$(id -u)" -eq 0 ] && chmod -R a+rX "$work"
as_user "$nope" EPERM "$SONDE" record -q -o user.sonde -- "$split" 0.3 || fail "not as an ordinary user"
holds "$(metric user.sonde samples.count) >= 15"

# The stack of a process that does not let itself be read (PR_SET_DUMPABLE) is not copied to memory that others of the
# same user can read; its time is recorded, and the report says why it has no stacks. Root's recorder cannot be read
# by others.
secret=$(target sample_secret)
for order in open before raw; do
	rm -f secret.sonde
	run 0 as_user "$SONDE" record -q --no-perf -o secret.sonde -- "$secret" $order
	if [ $order = open ]; then
		matches "$out" '^[1-9][0-9]* words at most, 0 left'
		holds "$(metric secret.sonde samples.complete_percent) >= 97"
	else
		equal "$out" "0 words at most, 0 left"
		run 0 "$SONDE" report --section summary secret.sonde
		has "$(tr -s ' \n' ' ' <<<"$out")" "process not readable (PR_SET_DUMPABLE)"
	fi
	total secret.sonde
done
# Children do not inherit the sample rings either: they may have given up privileges of their parents.
run 0 "$SONDE" record -q --no-perf -o forked.sonde -- "$secret" forked
equal "$out" "1 rings, 0 in the child"
if [ "$(id -u)" -eq 0 ]; then
	run 0 "$SONDE" record -q --no-perf -o secret-root.sonde -- "$secret" raw
	holds "$(share secret-root.sonde total_share burn_secret) > 0"
	holds "$(metric secret-root.sonde samples.complete_percent) >= 97"
fi
