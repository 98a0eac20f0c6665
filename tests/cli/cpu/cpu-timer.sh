# cpu-timer.sh: where perf events are forbidden, timers inside the processes find the same answer: 60/30/10 in every
# thread, whole stacks of Debian's programs, all the CPU time that the kernel counted; and nothing else changes.
# measures: shares of CPU time
# timeout: 180
. "$(dirname "$0")/../lib.sh"
need jq

# The kernel's account of the process within 2 %, and three of its ticks.
total() {
	local sampled cpu
	sampled=$(metric "$1" samples.cpu_time_s) cpu=$(metric "$1" timing.cpu_time_s)
	near "$sampled" "$cpu" "(0.02 * $cpu + 0.012)"
}

# Standard error of 60 % among the samples; five of them.
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

# What was asked for, what came, and why, in words.
run 0 "$SONDE" report --section summary split.sonde
has "$out" "CPU timers inside the processes"
has "$out" "switched off by --no-perf"
matches "$out" 'asked for 1000 samples/s, got [0-9]+/s'

# However the kernel says no.
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

# Debian's programs, as they are.
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
[ -x /usr/bin/sqlite3 ] && compare sqlite /usr/bin/sqlite3 :memory: ".read $repo/examples/orders.sql"
if [ -x /usr/bin/zstd ]; then
	for _ in 1 2 3 4 5 6 7 8; do cat "$SONDE"; done >input # enough samples for a share of them to mean something
	compare zstd /usr/bin/zstd -q -15 -T2 -c input
fi
[ -x /usr/bin/python3 ] && compare python /usr/bin/python3 -c 'import json
rows = [{"a": i, "b": str(i)} for i in range(100000)]
for _ in range(4): text = json.dumps(json.loads(json.dumps(rows)))
print(len(text))'
if [ -x /usr/bin/gcc ]; then
	for i in $(seq 400); do echo "int f$i(int a, int b) { int s = $i; for (int i = 0; i < a; i++) s += i % (b + 1) * s; return s; }"; done >many.c
	compare gcc /usr/bin/gcc -O3 -c many.c -o many.o
fi

# An ordinary user, who has a uid and a home of his own.
[ "$(id -u)" -eq 0 ] && chmod -R a+rX "$work"
as_user "$nope" EPERM "$SONDE" record -q -o user.sonde -- "$split" 0.3 || fail "not as an ordinary user"
holds "$(metric user.sonde samples.count) >= 15"

# What lies on the stack of a process that does not let itself be read gets nowhere where others of the user can read it;
# its time is recorded all the same, and why it has no stacks is said. Root's recorder can be read by nobody else.
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
# Nor are rings of samples inherited by children, which may have given up rights of their parents.
run 0 "$SONDE" record -q --no-perf -o forked.sonde -- "$secret" forked
equal "$out" "1 rings, 0 in the child"
if [ "$(id -u)" -eq 0 ]; then
	run 0 "$SONDE" record -q --no-perf -o secret-root.sonde -- "$secret" raw
	holds "$(share secret-root.sonde total_share burn_secret) > 0"
	holds "$(metric secret-root.sonde samples.complete_percent) >= 97"
fi
