# cpu-timer-sandbox.sh: programs that lock themselves in by seccomp, so that a system call that is not theirs kills them,
# live on where timers inside the processes take samples, and are sampled until then.
# timeout: 120
. "$(dirname "$0")/lib.sh"
need jq
sandbox=$(target sandbox)

detail() { rows t.sonde summary >/dev/null; "$SONDE" report --section summary t.sonde | tr -s ' \n' ' '; }

# The same output and exit code with and without.
same() { # WAY: how it locks itself in
	local code=0
	"$sandbox" "$1" >expected 2>expected.err </dev/null || code=$?
	run "$code" "$SONDE" record -q --force --no-perf -o t.sonde -- "$sandbox" "$1"
	cmp expected .out || fail "another output: $1"
	cmp expected.err .err || fail "other errors: $1"
}

for way in filter strict threads forks vforks bare asks; do
	same $way
	holds "$(metric t.sonde samples.count) >= 1" "($way)"
done

# A question is no sandbox, nor is a child's; who is in one is sampled until then.
for way in vforks bare asks; do
	same $way
	holds "$(metric t.sonde samples.cpu_time_s) > 0.9 * $(metric t.sonde timing.cpu_time_s) - 0.012" "($way)"
done
for way in filter strict threads; do
	same $way
	holds "$(share t.sonde total_share before) > 60" "($way)"
	holds "$(metric t.sonde samples.cpu_time_s) < 0.7 * $(metric t.sonde timing.cpu_time_s)" "($way)"
	has "$(detail)" "s of CPU time were not sampled"
done
